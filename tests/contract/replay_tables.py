"""Small tables and their neighbours, for replays: every odd row that a table can have."""

from dataclasses import dataclass

import numpy as np

from voile import Category, Number, Schema, Unit

FEATURES = {
    "n": Number(-3, 3),
    "u": Number(0, 1e3),
    "c": Category(["a", "b", 1]),
}
CLASSES, THREE = Category(["no", "yes"]), Category(["no", "yes", "perhaps"])
NUMBER, COUNT = Number(-5, 5), Number(0, 5)
UNLISTED = Schema(
    {"n": Number(), "u": Number(0, 1e3), "c": Category()},
)


def schema_of(target=CLASSES, **facts):
    """All columns, and what is to be learned."""
    return Schema(FEATURES, target=target, **facts)


EXPOSED = Schema({**FEATURES, "u": Number(0.5, 1e3)}, target=COUNT)
"""Where u can be an exposure."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A table: columns, target, weights, whom a row is of and at which client it lies."""

    X: dict
    y: np.ndarray
    w: np.ndarray
    who: np.ndarray
    at: np.ndarray

    def take(self, places):
        return Rows(
            {name: one[places] for name, one in self.X.items()},
            self.y[places],
            self.w[places],
            self.who[places],
            self.at[places],
        )

    def replaced(self, place, row):
        """Another row in the place of one; ``row`` is a table of one row."""
        rows = np.arange(len(self.y))
        joined = self.joined(row)
        rows[place] = len(self.y)
        joined.at[-1] = self.at[place]  # a row is replaced where it lies
        return joined.take(rows)

    def joined(self, other):
        return Rows(
            {name: np.concatenate([one, other.X[name]]) for name, one in self.X.items()},
            np.concatenate([self.y, other.y]),
            np.concatenate([self.w, other.w]),
            np.concatenate([self.who, other.who]),
            np.concatenate([self.at, other.at]),
        )

    def without(self, place):
        return self.take(np.delete(np.arange(len(self.y)), place))

    def without_person(self, who):
        return self.take(np.flatnonzero(self.who != who))

    @property
    def numbers(self):
        """The numbers alone, as an array."""
        return np.column_stack([self.X["n"], self.X["u"]])

    @property
    def with_people(self):
        return {**self.X, "who": self.who}


def make_rows(count=24, *, target=CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    n = rng.uniform(-3, 3, count)
    if isinstance(target, Number):
        y = np.clip(n + rng.normal(0, 1, count), -5, 5)
    else:
        levels = np.array(target.levels, dtype=object)
        y = levels[np.arange(count) % len(levels)]
    return Rows(
        {
            "n": n,
            # Ties: values that many rows have, at cuts and at the ends.
            "u": np.array([0.0, 500.0, 1e3, 250.0])[np.arange(count) % 4],
            "c": np.array(["a", "b", 1], dtype=object)[np.arange(count) % 3],
        },
        y,
        rng.uniform(0.2, 1.0, count),
        np.array([f"p{i // 3}" for i in range(count)], dtype=object),
        np.arange(count) % 9 // 3,
    )


def one_row(n=0.0, u=0.0, c="a", y="yes", w=1.0, who="new"):
    return Rows(
        {"n": np.array([n]), "u": np.array([u]), "c": np.array([c], dtype=object)},
        np.array([y], dtype=object if isinstance(y, str) or y is None else float),
        np.array([w]),
        np.array([who], dtype=object),
        np.array([2]),
    )


def odd_rows(target=CLASSES):
    """Rows that something might stumble over, by name; extreme ones use up the sensitivity."""
    number = isinstance(target, Number)
    y, other = (5.0, -5.0) if number else ("yes", "no")
    missing, strange = (np.nan, 1e308) if number else (None, "unheard of")
    return {
        "in the upper corner": one_row(3.0, 1e3, "b", y),
        "in the lower corner": one_row(-3.0, 0.0, 1, other),
        "all missing": one_row(np.nan, np.nan, None, missing),
        "infinite": one_row(np.inf, -np.inf, "a", y),
        "huge": one_row(1e308, -1e308, "b", other),
        "tiny": one_row(5e-324, -0.0, "a", y),
        "of an unlisted level": one_row(0.0, 1.0, "zzz", y),
        "of another class": one_row(0.0, 500.0, "a", strange),
        "of no weight": one_row(1.0, 1.0, "a", y, 0.0),
        "of a bad weight": one_row(1.0, 1.0, "a", y, np.nan),
    }


def neighbours_of(rows, relation, target=CLASSES):
    """All neighbours, by name."""
    last = len(rows.y) - 1
    odd = odd_rows(target)
    if relation == "add_remove":
        found = {
            "without the first row": rows.without(0),
            "without the last row": rows.without(last),
            "without a row at the border of a block": rows.without(7),
            "with a row twice": rows.joined(rows.take([3])),
        }
        return found | {f"with a row {name}": rows.joined(row) for name, row in odd.items()}
    found = {"two rows alike": rows.replaced(7, rows.take([3]))}
    found |= {f"the first row {name}": rows.replaced(0, row) for name, row in odd.items()}
    corners = list(odd.values())[:2]
    return found | {"the last row in a corner": rows.replaced(last, corners[0])}


def people_of(rows, relation, target=CLASSES):
    """Neighbours in one person, who has several rows."""
    if relation == "add_remove":
        found = {
            "without the first person": rows.without_person("p0"),
            "without a person across a border": rows.without_person("p2"),
        }
        odd = odd_rows(target)["in the upper corner"]
        many = odd
        for _ in range(4):
            many = many.joined(odd)
        return found | {"with a person of five rows": rows.joined(many)}
    odd = list(odd_rows(target).values())
    other = rows
    for place in np.flatnonzero(rows.who == "p2"):
        row = odd[place % 2]
        person = np.array(["p2"], dtype=object)
        other = other.replaced(place, Rows(row.X, row.y, row.w, person, row.at))
    return {"a person replaced": other}


def clients_of(rows, relation, target=CLASSES):
    """Neighbours in one whole client: all its rows gone, or others in their place."""
    if relation == "add_remove":
        return {f"client {i} empty": rows.take(np.flatnonzero(rows.at != i)) for i in (0, 2)}
    other = rows
    for place in np.flatnonzero(rows.at == 1):
        other = other.replaced(place, list(odd_rows(target).values())[place % 10])
    return {"client 1 replaced": other}


def unit(rows):
    return Unit("who", rows=rows)
