"""The tables of the prototype benchmark, their public bounds, and their folds.

They are read from `data_folder`; one that
is missing is skipped and said to be. Bounds are written down here, never read off the rows.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from benchmarks.ebm.data import DataSet
from benchmarks.kit.data_folder import read, read_pictures
from voile import Category, Number, Schema

FOLDS = 5
TRAIN_ON_ONE = ("mnist",)
"""Sets of which one fold is trained on and the others are for the test, as in the paper."""

SEGMENT_BOUNDS = {
    "region-centroid-col": (0, 255),
    "region-centroid-row": (0, 255),
    "region-pixel-count": (8, 10),  # always 9
    "short-line-density-5": (0, 0.34),
    "short-line-density-2": (0, 0.23),
    "vedge-mean": (0, 30),
    "vegde-sd": (0, 1000),
    "hedge-mean": (0, 45),
    "hedge-sd": (0, 1400),  # one value is -1.6e-8, by rounding
    "intensity-mean": (0, 150),
    "rawred-mean": (0, 140),
    "rawblue-mean": (0, 155),
    "rawgreen-mean": (0, 145),
    "exred-mean": (-50, 10),
    "exblue-mean": (-13, 82),
    "exgreen-mean": (-34, 25),
    "value-mean": (0, 155),
    "saturation-mean": (0, 1),
    "hue-mean": (-3.1, 3),
}
"""Lowest and highest values of the whole set, rounded outward."""

SEGMENT_CLASSES = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
ACTIVITIES = (
    "LAYING",
    "SITTING",
    "STANDING",
    "WALKING",
    "WALKING_DOWNSTAIRS",
    "WALKING_UPSTAIRS",
)


def mnist() -> DataSet:
    file = read_pictures("mnist")
    images = np.concatenate([file["x_train"], file["x_test"]])
    digits = np.concatenate([file["y_train"], file["y_test"]]).astype(np.int64)
    pixels = images.reshape(len(images), -1)
    names = [f"pixel_{k:03}" for k in range(pixels.shape[1])]
    schema = Schema(
        {name: Number(0, 255) for name in names}, target=Category([int(k) for k in range(10)])
    )
    frame = pd.DataFrame(pixels, columns=names)
    note = "all 70,000 digits; trained on one fold, tested on the others"
    return DataSet("mnist", "multiclass", frame, digits, schema, note)


def hapt_har561() -> DataSet:
    table = read("hapt_har561")
    frame = table.drop(columns=["subject", "activity", "split"])
    schema = Schema({name: Number(-1, 1) for name in frame}, target=Category(ACTIVITIES))
    note = (
        "stands in for the paper's Motion, which is not to be had: same 30 persons, features "
        "computed anew; one window is protected, not one person"
    )
    target = table["activity"].to_numpy(dtype=object)
    return DataSet("hapt_har561", "multiclass", frame, target, schema, note)


def segment() -> DataSet:
    table = read("segment")
    frame = table[list(SEGMENT_BOUNDS)]
    columns = {name: Number(*bounds) for name, bounds in SEGMENT_BOUNDS.items()}
    schema = Schema(columns, target=Category(SEGMENT_CLASSES))
    target = table["class"].to_numpy(dtype=object)
    return DataSet("segment", "multiclass", frame, target, schema, "UCI image segmentation")


SETS: dict[str, Callable[[], DataSet]] = {
    make.__name__: make for make in (segment, hapt_har561, mnist)
}
NAMES = tuple(SETS)


def load(name: str) -> DataSet:
    """One set by name.

    Raises
    ------
    KeyError
        If there is no such set.
    FileNotFoundError
        If it is not in the folder.
    """
    return SETS[name]()


def folds_of(
    name: str, rows: int, folds: int = FOLDS, repeat: int = 0
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to train on and rows to test on, of the first `folds` of five folds."""
    parts = KFold(FOLDS, shuffle=True, random_state=repeat).split(np.arange(rows))
    for _, (most, one) in zip(range(folds), parts, strict=False):
        yield (one, most) if name in TRAIN_ON_ONE else (most, one)


def scaled(schema: Schema, frame: pd.DataFrame) -> NDArray[np.float64]:
    """Features from their public bounds to [-1, 1], as the models see them."""
    lower = np.array([schema[name].lower for name in frame], dtype=np.float64)
    upper = np.array([schema[name].upper for name in frame], dtype=np.float64)
    middle, half = (upper + lower) / 2, (upper - lower) / 2
    return np.clip((frame.to_numpy(dtype=np.float64) - middle) / half, -1.0, 1.0)
