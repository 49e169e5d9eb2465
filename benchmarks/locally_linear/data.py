"""The pictures and tables of the benchmark of locally linear maps, with their splits.

They are read from
`data_folder`; one that is missing is skipped and said to be. Pictures come with their official
split and without a schema; tables with the public bounds and levels of `ebm_data` and `lvq_data`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.ebm import data as ebm_data
from benchmarks.ebm import quality as ebm
from benchmarks.kit.data_folder import read_pictures
from benchmarks.lvq import data as lvq_data
from voile import Schema

DELTA = 1e-5
DELTAS = {"adult": 1e-6, "diabetes130": 1e-6, "telco_churn": 1e-6, "credit_fraud": 1e-6}
"""As in the benchmark of boosting machines, so that figures can be compared."""

PICTURES = {
    "mnist": "official split; classes and mean are found privately",
    "fashion_mnist": "official split; classes and mean are found privately",
    "blood_cells": "augmented from 277 originals, so no privacy of persons is claimed; RGB",
    "fer": "happy or sad faces; trained on FER's Training, tested on its PrivateTest",
}
TABLES = ("adult", "diabetes130", "telco_churn", "hapt_har561", "segment", "credit_fraud")
NAMES = (*PICTURES, *TABLES)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on and rows to test on, with their classes."""

    rows: Any
    classes: NDArray[Any]
    test_rows: Any
    test_classes: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A set to learn from.

    Attributes
    ----------
    name, note : str
    features : int
    split : callable
        The split of a seed; pictures have but one.
    levels : tuple
        The classes, in order.
    delta : float
    image_shape : tuple of int, or None
        For pictures.
    schema : Schema or None
        For tables.
    """

    name: str
    note: str
    features: int
    split: Callable[[int], Split]
    levels: tuple[Any, ...]
    delta: float = DELTA
    image_shape: tuple[int, ...] | None = None
    schema: Schema | None = None

    @property
    def binary(self) -> bool:
        return len(self.levels) == 2


def pictures(name: str) -> Task:
    file = read_pictures(name)
    split = Split(
        file["x_train"],
        file["y_train"].astype(np.int64),
        file["x_test"],
        file["y_test"].astype(np.int64),
    )
    if "class_names" in file:
        names = file["class_names"].astype(object)
        split = Split(split.rows, names[split.classes], split.test_rows, names[split.test_classes])
    shape = split.rows.shape[1:]
    levels = tuple(np.unique(split.classes).tolist())
    return Task(
        name, PICTURES[name], math.prod(shape), lambda seed: split, levels, image_shape=shape
    )


def table(name: str) -> Task:
    one = (lvq_data if name in lvq_data.NAMES else ebm_data).load(name)
    assert one.schema.target is not None
    return Task(
        name,
        one.note,
        len(one.schema),
        lambda seed: split_of(one, seed),
        tuple(one.schema.target.levels),
        DELTAS.get(name, DELTA),
        schema=one.schema,
    )


def split_of(one: ebm_data.DataSet, seed: int) -> Split:
    """The split of `ebm/quality.py`, or the fold of `lvq/quality.py`."""
    if one.name in lvq_data.NAMES:
        repeat, fold = divmod(seed, lvq_data.FOLDS)
        train, test = list(lvq_data.folds_of(one.name, len(one.target), fold + 1, repeat))[-1]
    else:
        train, test = ebm.splits_of(one, seed + 1)[-1]
    return Split(one.frame.iloc[train], one.target[train], one.frame.iloc[test], one.target[test])


def load(name: str) -> Task:
    """One set by name.

    Raises
    ------
    KeyError
        If there is no such set.
    FileNotFoundError
        If it is not in the folder.
    """
    if name not in NAMES:
        raise KeyError(name)
    return pictures(name) if name in PICTURES else table(name)
