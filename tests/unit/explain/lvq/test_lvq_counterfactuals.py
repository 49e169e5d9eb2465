"""What would have to change for another class of prototypes: single columns against a fine grid."""

import numpy as np
import pytest
from prototype_models import mixed_model, picture_model, prototype_model, tumour_model

from voile import Category, Number
from voile.errors import SettingError
from voile.explaining import Wish, suggest_changes
from voile.privacy.public_rows import encode_public

COLUMNS = {
    "a": Number(0, 10),
    "b": Number(0, 5, whole=True),
    "c": Category(["x", "y", "z"]),
}


def random_model(seed, classes=("p", "q", "r")):
    rng = np.random.default_rng(seed)
    prototypes = rng.uniform(-1, 1, (6, 5))
    prototypes[:, 2:] = rng.dirichlet(np.ones(3), 6)
    return prototype_model(
        COLUMNS,
        list(classes),
        prototypes,
        [0, 0, 1, 1, 2, 2],
        omega=rng.normal(size=(5, 5)),
        prototype_errors=np.full((6, 5), 0.02),
    )


def rows_of(seed, count=6):
    rng = np.random.default_rng(seed)
    return {
        "a": rng.uniform(0, 10, count),
        "b": rng.integers(0, 6, count),
        "c": rng.choice(["x", "y", "z"], count),
    }


def classes_of(model, rows):
    return model.class_distances(model.points(encode_public(rows, model.schema))).argmin(axis=1)


def changed_row(row, suggestion):
    return row | {change.column: [change.value] for change in suggestion.changes}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("want", [None, "p", "r"])
def test_single_changes_are_the_smallest_and_rows_get_the_class(seed, want):
    model, rows = random_model(seed), rows_of(seed)
    record = suggest_changes(model, rows, Wish(want=want, most=4))
    for i, told in enumerate(record.rows):
        row = {name: [values[i]] for name, values in rows.items()}
        now = classes_of(model, row)[0]

        def good(found, now=now):
            return found == list("pqr").index(want) if want else found != now

        if told.already:
            assert good(now)
            continue
        smallest = {}
        for name, column in COLUMNS.items():
            grid = (
                np.array(column.levels, dtype=object)
                if isinstance(column, Category)
                else np.arange(6)
                if column.whole
                else np.linspace(0, 10, 4001)
            )
            many = {key: np.repeat(value, len(grid)) for key, value in row.items()} | {name: grid}
            works = grid[good(classes_of(model, many))]
            if len(works):
                start = row[name][0]
                smallest[name] = 0 if isinstance(column, Category) else np.abs(works - start).min()
        single = {one.changes[0].column: one for one in told.suggestions if len(one.changes) == 1}
        assert set(single) == set(smallest)
        for name, one in single.items():
            assert one.exact
            if not isinstance(COLUMNS[name], Category):
                way = abs(one.changes[0].value - row[name][0])
                assert way <= smallest[name] + (0 if name == "b" else 0.11)
        for one in told.suggestions:
            assert good(classes_of(model, changed_row(row, one))[0])


def test_what_stays_stays_and_directions_hold():
    model, rows = (
        tumour_model(),
        {
            "radius": [12.0, 20.0],
            "texture": [15.0, 30.0],
            "smoothness": [0.09, 0.12],
            "concave points": [0.02, 0.15],
        },
    )
    wish = Wish(keep=["radius"], directions={"concave points": "up"})
    told = suggest_changes(model, rows, wish).rows
    assert told[0].suggestions
    for row in told:
        for one in row.suggestions:
            for change in one.changes:
                assert change.column != "radius"
                assert change.column != "concave points" or change.value > float(change.before)


def test_what_is_impossible_is_proven():
    rows = {"radius": [12.0], "texture": [15.0], "smoothness": [0.09], "concave points": [0.02]}
    record = suggest_changes(tumour_model(), rows, Wish(change=["texture", "smoothness"]))
    (told,) = record.rows
    assert told.impossible
    assert told.suggestions == ()
    assert told.nearest is None or told.nearest.after > told.before


def test_sure_changes_are_clear_and_plain_ones_are_at_the_border():
    rows = {"radius": [12.0], "texture": [15.0], "smoothness": [0.09], "concave points": [0.02]}
    plain = suggest_changes(tumour_model(), rows, Wish()).rows[0].suggestions
    sure = suggest_changes(tumour_model(), rows, Wish(sure=True)).rows[0].suggestions
    assert {one.verdict for one in plain} == {"cannot be told from nothing"}
    assert {one.verdict for one in sure} == {"clear"}
    with pytest.raises(SettingError, match="sure=True needs"):
        suggest_changes(tumour_model(error=0.0), rows, Wish(sure=True))


def test_pictures_and_probabilities_are_refused():
    with pytest.raises(SettingError, match="pictures"):
        suggest_changes(picture_model(), np.zeros((1, 64)), Wish())
    model = mixed_model()
    row = {
        name: [one.lower] if isinstance(one, Number) else [one.levels[0]]
        for name, one in model.schema.items()
    }
    with pytest.raises(SettingError, match="no probabilities"):
        suggest_changes(model, row, Wish(want={str(model.classes[0]): ">= 0.7"}))
    assert suggest_changes(model, row, Wish()).unit == "distance"
