"""The tables of the EBM benchmark: public sets read from a folder, and synthetic ones.

Public sets are read from `data_folder`; one
that is missing is skipped and said to be. Bounds and levels are those of the whole set and taken to
be public, for every model alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.ebm import synthetic
from benchmarks.ebm.pair_tables import TABLES, Pairs
from benchmarks.kit.data_folder import read
from voile import Category, Number, Schema


@dataclass(frozen=True, slots=True)
class DataSet:
    """A table to learn from.

    Attributes
    ----------
    name : str
        What the benchmark calls it.
    task : str
        "binary", "multiclass" or "regression".
    frame : DataFrame of shape (n, k)
        Features only.
    target : array of shape (n,)
        0 and 1, class numbers, or real numbers.
    schema : Schema
        Public bounds, levels and target.
    note : str
        Where it comes from, and what was done to it.
    """

    name: str
    task: str
    frame: pd.DataFrame
    target: NDArray
    schema: Schema
    note: str


def describe(frame: pd.DataFrame, target: Number | Category) -> Schema:
    """Bounds of the numeric columns and levels of the others, read off the whole set."""
    columns: dict[str, Number | Category] = {}
    for name, column in frame.items():
        present = column.dropna()
        if pd.api.types.is_numeric_dtype(column):
            columns[str(name)] = Number(float(present.min()), float(present.max()))
        else:
            columns[str(name)] = Category(sorted(present.unique()))
    return Schema(columns, target=target)


def binary(name: str, frame: pd.DataFrame, positive: pd.Series, note: str) -> DataSet:
    schema = describe(frame, Category([0, 1]))
    return DataSet(name, "binary", frame, positive.to_numpy().astype(np.int64), schema, note)


def regression(name: str, frame: pd.DataFrame, target: pd.Series, note: str) -> DataSet:
    values = target.to_numpy().astype(np.float64)
    schema = describe(frame, Number(float(values.min()), float(values.max())))
    return DataSet(name, "regression", frame, values, schema, note)


def adult() -> DataSet:
    table = read("adult").query("split == 'train'").reset_index(drop=True)
    note = "UCI Adult, the 32,561 training rows, as in the paper; '?' is a level like any other"
    return binary("adult", table.drop(columns=["income", "split"]), table["income"] == ">50K", note)


def adult_all() -> DataSet:
    """All rows, as some publications have them."""
    table = read("adult").drop(columns="split")
    note = "UCI Adult, training and test rows; '?' is a level like any other"
    return binary("adult_all", table.drop(columns="income"), table["income"] == ">50K", note)


def telco_churn() -> DataSet:
    table = read("telco_churn")
    note = "IBM Telco churn; customerID dropped, 11 missing TotalCharges kept"
    frame = table.drop(columns=["customerID", "Churn"])
    return binary("telco_churn", frame, table["Churn"] == "Yes", note)


def credit_fraud() -> DataSet:
    table = read("credit_fraud")
    note = "ULB card fraud, 0.17 % positives"
    return binary("credit_fraud", table.drop(columns="Class"), table["Class"] == 1, note)


def diabetes130() -> DataSet:
    table = read("diabetes130")
    frame = table.drop(columns=["encounter_id", "patient_nbr", "readmitted"])
    for name in ("admission_type_id", "discharge_disposition_id", "admission_source_id"):
        frame[name] = frame[name].astype(str)
    note = "early readmission ('<30'); coded ids and all diagnoses as levels; one row is protected"
    return binary("diabetes130", frame, table["readmitted"] == "<30", note)


def cal_housing() -> DataSet:
    table = read("cal_housing")
    frame = table.drop(columns="medianHouseValue")
    return regression("cal_housing", frame, table["medianHouseValue"], "California housing, in USD")


def wine_quality() -> DataSet:
    table = read("wine_quality")
    frame = table.drop(columns=["quality", "color"])
    return regression("wine_quality", frame, table["quality"], "UCI wine, the 11 numbers")


def elevators() -> DataSet:
    table = read("elevators")
    return regression("elevators", table.drop(columns="Goal"), table["Goal"], "F16 elevators")


def tails(values: NDArray) -> Number:
    """Public bounds of a made-up column: quantiles of long tails, as an expert would give them."""
    low, high = np.quantile(values, [0.0005, 0.9995])
    return Number(float(low), float(high))


def made_up(name: str, rng: Generator, rows: int) -> tuple[DataSet, Pairs]:
    """A table of `pair_tables`, and pairs that do something in it; targets are cut to bounds."""
    kind, make = TABLES[name]
    one = make(rng, rows)
    frame, target, classes = one.frame, one.target, int(one.target.max()) + 1
    numbers = {k: tails(frame[k].to_numpy()) for k in frame.select_dtypes("number")}
    if kind == "classes":
        schema = describe(frame, Category(list(range(classes))))
        task = "binary" if classes == 2 else "multiclass"
    else:
        schema, task = describe(frame, wanted := tails(target)), "regression"
        target = np.clip(target, wanted.lower, wanted.upper)
    schema = Schema({**dict(schema), **numbers}, target=schema.target)
    return DataSet(name, task, frame, target, schema, f"made up: {make.__doc__}"), one.pairs


def made(make: Callable[..., synthetic.Table], target: Number | Category, n: int | None) -> DataSet:
    frame, values = make() if n is None else make(n)
    task = "regression"
    if isinstance(target, Category):
        task = "binary" if len(target.levels or ()) == 2 else "multiclass"
    note = f"synthetic: {make.__doc__}" if make.__doc__ else "synthetic: 12 features"
    return DataSet(make.__name__, task, frame, values, describe(frame, target), note)


PUBLIC: dict[str, Callable[[], DataSet]] = {
    make.__name__: make
    for make in (
        adult,
        adult_all,
        telco_churn,
        credit_fraud,
        diabetes130,
        cal_housing,
        wine_quality,
        elevators,
    )
}

SYNTHETIC: dict[str, tuple[Callable[..., synthetic.Table], Number | Category]] = {
    "wide": (synthetic.wide, Category([0, 1])),
    "survey": (synthetic.survey, Category([0, 1])),
    "few_positives": (synthetic.few_positives, Category([0, 1])),
    "flat": (synthetic.flat, Category([0, 1])),
    "wide_regression": (synthetic.wide_regression, Number(*synthetic.WIDE_TARGET_BOUNDS)),
    "skewed_regression": (synthetic.skewed_regression, Number(*synthetic.SKEWED_TARGET_BOUNDS)),
    "three_class": (synthetic.three_class, Category(list(range(3)))),
    "ten_class": (synthetic.ten_class, Category(list(range(10)))),
}

USUAL = tuple(name for name in (*PUBLIC, *SYNTHETIC) if name != "adult_all")
NAMES = (*PUBLIC, *SYNTHETIC, *TABLES)
MADE_UP_ROWS = 25_000


def load(name: str, n: int | None = None) -> DataSet:
    """One set by name; `n` rows if it is synthetic or made up.

    Raises
    ------
    KeyError
        If there is no such set.
    FileNotFoundError
        If it is public and not in the folder.
    """
    if name in SYNTHETIC:
        return made(*SYNTHETIC[name], n)
    if name in TABLES:
        return made_up(name, np.random.default_rng(0), n or MADE_UP_ROWS)[0]
    return PUBLIC[name]()


def big_schema(k: int = 14, task: str = "binary") -> Schema:
    target = Category([0, 1]) if task == "binary" else Number(*synthetic.BIG_TARGET_BOUNDS)
    return Schema({f"x{j:02}": Number(*synthetic.BIG_BOUNDS) for j in range(k)}, target=target)


def big(n: int, k: int = 14, task: str = "binary", dtype: str = "float64") -> DataSet:
    """A table of numbers for speed alone, made in pieces."""
    frames, targets = zip(*synthetic.big_pieces(n, k, task, dtype), strict=True)
    frame = pd.concat(frames, ignore_index=True)
    note = "synthetic numbers, for speed"
    return DataSet(f"big_{n}", task, frame, np.concatenate(targets), big_schema(k, task), note)
