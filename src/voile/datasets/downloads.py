"""Downloads of data sets through scikit-learn, brought into the form of the stored files."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from voile.datasets.data_set import DataSetFacts
from voile.datasets.stored_files import write_pictures, write_table
from voile.datasets.stored_set import Download, StoredSet
from voile.errors import DataError, MissingExtra
from voile.schema import Number

Result = TypeVar("Result")

TRAINING_PICTURES = 60_000
"""Of the 70,000 pictures of a set on OpenML, the first ones are those to train on."""


def download(entry: StoredSet, form: Download, path: Path) -> None:
    """Download a set and write its file, whole or not at all.

    Raises
    ------
    DataError
        If there is no connection, or what came is not the published set.
    MissingExtra
        If pandas is not installed.
    """
    if form.openml is None:
        write_table(_housing(), path)
        return
    frame = _openml(entry.facts, form.openml)
    if entry.facts.image_shape is not None:
        write_pictures(_pictures(frame, entry.facts.image_shape), path)
    else:
        write_table(_table(entry, form, frame), path)


def _reach(name: str, get: Callable[[], Result]) -> Result:
    """Call a loader; a connection that fails is said in one sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for each new try; the last failure is raised
            return get()
    # scikit-learn's error for a set that OpenML does not give is a ValueError.
    except (OSError, HTTPException, EOFError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"The data set {name!r} could not be downloaded ({reason}): check the connection and "
            f"try again, or set VOILE_DATA to a folder that has it."
        ) from error


def _openml(facts: DataSetFacts, data_id: int) -> Any:
    """Return a set of OpenML as a pandas data frame, its target among the columns."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingExtra("pandas", "demo") from None
    from sklearn.datasets import fetch_openml

    frame = _reach(
        facts.name,
        lambda: fetch_openml(data_id=data_id, as_frame=True, parser="auto", cache=False).frame,
    )
    if len(frame) != facts.rows:
        raise DataError(
            f"The download of {facts.name!r} has {len(frame):,} rows instead of the published "
            f"{facts.rows:,}: try again, or set VOILE_DATA to a folder that has it."
        )
    return frame


def _table(entry: StoredSet, form: Download, frame: Any) -> Any:
    """Bring a data frame of OpenML into the stored form."""
    import pyarrow as pa

    schema = entry.facts.schema
    assert entry.target is not None, "a table has a column to predict"
    frame = frame.rename(columns=lambda name: _stored_name(str(name), form, tuple(schema)))
    types = dict(form.extra)
    for name in (*entry.carried, *schema, entry.target):
        column = schema.target if name == entry.target else schema.get(name)
        usual = form.numbers if isinstance(column, Number) else "text"
        levels = None if isinstance(column, Number) or column is None else column.levels
        if levels is not None and all(isinstance(level, int) for level in levels):
            usual = "int64"
        types[name] = form.types.get(name, usual)
    columns: dict[str, Any] = {}
    for name, kind in types.items():
        if name in frame:
            missing = form.missing_in.get(name, form.missing)
            columns[name] = _column(frame[name], kind, missing)
        elif name in entry.optional or name in form.extra:
            columns[name] = pa.nulls(len(frame))
        else:
            raise DataError(
                f"The download of {entry.facts.name!r} has no column {name!r}: set VOILE_DATA to "
                f"a folder that has it."
            )
    if form.classes:
        words = [form.classes.get(one, one) for one in columns[entry.target].to_pylist()]
        columns[entry.target] = pa.array(words, pa.large_string())
    if form.splits:
        split = _tell_splits(columns[entry.target].to_pylist(), form.splits, entry.facts.name)
        columns["split"] = pa.array(split, pa.large_string())
    return pa.table(columns)


def _stored_name(name: str, form: Download, features: Sequence[str]) -> str:
    """Return the stored name of a column on OpenML."""
    name = name.strip().strip("'\"")
    for sign, instead in form.in_names.items():
        name = name.replace(sign, instead)
    number = name.removeprefix(form.numbered or "")
    if form.numbered and number != name and number.isdigit():
        return features[int(number) - 1]
    return form.renamed.get(name, name)


def _tell_splits(
    classes: Sequence[str | None], counts: Mapping[str, Mapping[str, int]], name: str
) -> list[str]:
    """Tell published files apart: they follow each other, in either order."""
    for order in (tuple(counts), tuple(counts)[::-1]):
        split = [part for part in order for _ in range(sum(counts[part].values()))]
        there = Counter(zip(split, classes, strict=True))
        if there == {(part, one): count for part in order for one, count in counts[part].items()}:
            return split
    raise DataError(
        f"The download of {name!r} is not the published table, for its two files cannot be told "
        f"apart: set VOILE_DATA to a folder that has {name}.parquet."
    )


def _column(values: Any, kind: str, missing: str | None) -> Any:
    """Return one column of a data frame as an arrow array of a type."""
    import pandas as pd
    import pyarrow as pa

    # OpenML has numbers as text in places (charges, classes), and quotes around some levels.
    if not pd.api.types.is_numeric_dtype(values):
        values = values.astype(object).map(
            lambda one: None if pd.isna(one) else str(one).strip().strip("'\"").strip()
        )
    if kind == "text":
        words = [_word(one, missing) for one in values.tolist()]
        return pa.array(words, pa.large_string())
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    if kind.startswith("int") and not np.isnan(numbers).any():
        return pa.array(np.rint(numbers).astype(kind))
    return pa.array(numbers, pa.type_for_alias(kind), from_pandas=True)


def _word(value: Any, missing: str | None) -> str | None:
    if value is None or value != value or value == "":
        return missing
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _pictures(frame: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """Bring rows of pixels into pictures, in the official split."""
    pixels = frame.drop(columns="class").to_numpy(dtype=np.uint8)
    classes = frame["class"].astype(str).astype(np.uint8).to_numpy()
    parts = {"train": slice(TRAINING_PICTURES), "test": slice(TRAINING_PICTURES, None)}
    images = pixels.reshape(len(pixels), *shape)
    return {f"x_{name}": images[part] for name, part in parts.items()} | {
        f"y_{name}": classes[part] for name, part in parts.items()
    }


def _housing() -> Any:
    """Undo the averages that scikit-learn makes of the raw columns."""
    import pyarrow as pa
    from sklearn.datasets import fetch_california_housing

    def get() -> Any:
        with tempfile.TemporaryDirectory() as scratch:
            return fetch_california_housing(data_home=scratch)

    bunch = _reach("cal_housing", get)
    given = dict(zip(bunch.feature_names, np.asarray(bunch.data, dtype=np.float64).T, strict=True))
    households = np.rint(given["Population"] / given["AveOccup"])
    return pa.table(
        {
            "longitude": given["Longitude"],
            "latitude": given["Latitude"],
            "housingMedianAge": given["HouseAge"],
            "totalRooms": np.rint(given["AveRooms"] * households),
            "totalBedrooms": np.rint(given["AveBedrms"] * households),
            "population": given["Population"],
            "households": households,
            "medianIncome": given["MedInc"],
            # In 100,000 dollars there.
            "medianHouseValue": np.rint(np.asarray(bunch.target) * 100_000),
        }
    )
