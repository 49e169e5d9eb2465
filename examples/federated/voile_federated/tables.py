"""Rows that are made up or come with scikit-learn, so that the example needs no download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile import Category, Number, Schema
from voile.federated.partition import split_dirichlet, split_iid

Columns = dict[str, NDArray[np.generic]]

WORK = ("office", "trade", "care", "craft", "none")
HOME = ("alone", "couple", "family")
INCOME = Schema(
    {
        "age": Number(17, 90),
        "schooling": Number(6, 20),
        "hours": Number(0, 80),
        "work": Category(WORK),
        "home": Category(HOME),
    },
    target=Category(["below", "above"]),
)
DIGITS = Schema({f"pixel_{k:02}": Number(0, 16) for k in range(64)}, target=Category(range(10)))

TARGET = "target"
_HELD_OUT = 4000


@dataclass(frozen=True, eq=False)
class Rows:
    """A table: columns of equal length, and what is to be predicted."""

    columns: Columns
    target: NDArray[np.generic]

    def take(self, numbers: NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        return Rows({n: c[numbers] for n, c in self.columns.items()}, self.target[numbers])


def schema_of(config: Mapping[str, object]) -> Schema:
    """What is public about the table that the configuration names."""
    schemas, data = {"income": INCOME, "digits": DIGITS}, str(config["data"])
    if data not in schemas:
        raise ValueError(f"data is {data!r}: it can be one of {sorted(schemas)}.")
    whole = schemas[data]
    names = [name for name in str(config["columns"]).split(",") if name] or list(whole)
    return Schema({name: whole[name] for name in names}, target=whole.target)


def make_rows(config: Mapping[str, object]) -> tuple[Rows, Rows]:
    """All rows of the pretended clients, and public ones to measure the model with."""
    seed = int(str(config["seed"]))
    if config["data"] == "digits":
        return _digits(seed)
    count = int(str(config["rows"]))
    rows = _income(count + _HELD_OUT, np.random.default_rng(seed))
    numbers = np.arange(count + _HELD_OUT)
    return rows.take(numbers[:count]), rows.take(numbers[count:])


def deal_out(rows: Rows, clients: int, config: Mapping[str, object]) -> list[Rows]:
    """Each pretended client's rows."""
    seed, partition = int(str(config["seed"])), config["partition"]
    if partition == "iid":
        parts = split_iid(len(rows.target), clients, seed)
    elif partition == "dirichlet":
        parts = split_dirichlet(rows.target, clients, float(str(config["alpha"])), seed)
    else:
        raise ValueError(f"partition is {partition!r}: it can be 'iid' or 'dirichlet'.")
    return [rows.take(part) for part in parts]


def _income(count: int, rng: np.random.Generator) -> Rows:
    """People with an income that follows from the columns, by curves that a reader can check."""
    age = np.clip(rng.gamma(8.0, 5.0, count), 17, 90).round()
    schooling = np.clip(rng.normal(12.0, 3.0, count), 6, 20).round()
    work = rng.choice(len(WORK), count, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    hours = np.where(work == 4, 0.0, np.clip(rng.normal(38.0, 10.0, count), 0, 80)).round()
    home = rng.choice(len(HOME), count, p=[0.4, 0.25, 0.35])
    score = (
        2.2 * np.exp(-(((age - 48.0) / 16.0) ** 2))
        + 0.28 * (schooling - 12.0)
        + 0.05 * (hours - 38.0)
        + np.array([0.5, -0.2, -0.4, 0.1, -1.0])[work]
        + np.array([-0.5, 0.6, 0.3])[home]
        - 2.2
    )
    above = rng.random(count) < 1.0 / (1.0 + np.exp(-score))
    columns: Columns = {
        "age": age,
        "schooling": schooling,
        "hours": hours,
        "work": np.array(WORK, dtype=object)[work],
        "home": np.array(HOME, dtype=object)[home],
    }
    return Rows(columns, np.where(above, "above", "below").astype(object))


def _digits(seed: int) -> tuple[Rows, Rows]:
    from sklearn.datasets import load_digits

    found = load_digits()
    images, classes = found.data, found.target
    order = np.random.default_rng(seed).permutation(len(classes))
    columns: Columns = {f"pixel_{k:02}": images[:, k] for k in range(64)}
    rows = Rows(columns, classes)
    return rows.take(order[400:]), rows.take(order[:400])
