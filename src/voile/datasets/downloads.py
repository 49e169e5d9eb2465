"""Downloads of data sets through scikit-learn, brought into the form of the stored files."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from voile.datasets.entry import Entry, StoredTable
from voile.datasets.motion import ACTIVITIES, feature_names
from voile.datasets.stored_files import write_pictures, write_table
from voile.errors import DataError, MissingExtra
from voile.schema import Number

Result = TypeVar("Result")

TRAINING_PICTURES = 60_000
"""Of the 70,000 pictures of a set on OpenML, the first ones are those to train on."""

ADULT_SPLITS = {"train": (32_561, 7_841), "test": (16_281, 3_846)}
"""Published number of rows, and of those with more than 50,000 dollars."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """A table on OpenML, and how it becomes the stored one.

    Attributes
    ----------
    data_id : int
        Its number on OpenML.
    types : mapping of str to str
        Arrow types of columns, where they are not those of the schema: by default numbers are
        "double", whole-number levels "int64", and everything else is "text".
    extra : mapping of str to str
        Stored columns that are no features, and their types. Where OpenML lacks one it is kept
        without values, so that all copies have the same columns.
    rename : callable
        From a column's name on OpenML to the stored one.
    missing : str or None
        How missing texts are written.
    missing_in : mapping of str to str
        The same, for single columns.
    finish : callable
        A last step, from the arrow table to the stored one.
    """

    data_id: int
    types: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    rename: Callable[[str], str] = str
    missing: str | None = None
    missing_in: Mapping[str, str] = field(default_factory=dict)
    finish: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True)
class PictureForm:
    """Pictures on OpenML, one a row with its class in the column "class"."""

    data_id: int


@dataclass(frozen=True, slots=True)
class HousingForm:
    """California housing, by scikit-learn's own loader."""


Form: TypeAlias = TableForm | PictureForm | HousingForm


def _adult_splits(table: Any) -> Any:
    """Tell the two published files apart: they follow each other, in either order."""
    import pyarrow as pa

    rich = np.array(table["income"].to_pylist(), dtype=object) == ">50K"
    for order in (("test", "train"), ("train", "test")):
        split = np.concatenate([np.full(ADULT_SPLITS[one][0], one, dtype=object) for one in order])
        if all(int(rich[split == one].sum()) == ADULT_SPLITS[one][1] for one in order):
            return table.append_column("split", pa.array(split, pa.large_string()))
    raise DataError(
        "The download of 'adult' is not the published table, for its two files cannot be told "
        "apart: set VOILE_DATA to a folder that has adult.parquet."
    )


def _activities(table: Any) -> Any:
    """Write activities by their names; OpenML has their numbers, from 1."""
    import pyarrow as pa

    meaning = {str(number): name for number, name in enumerate(ACTIVITIES, 1)}
    words = [meaning.get(one, one) for one in table["activity"].to_pylist()]
    where = table.schema.get_field_index("activity")
    return table.set_column(where, "activity", pa.array(words, pa.large_string()))


def _motion_name(name: str) -> str:
    if name.startswith("V") and name[1:].isdigit():
        return feature_names()[int(name[1:]) - 1]
    return "activity" if name.lower() == "class" else name


def _whole(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), "int64")


DOWNLOADS: Mapping[str, Form] = {
    "adult": TableForm(
        1590,
        _whole("age fnlwgt education-num capital-gain capital-loss hours-per-week"),
        rename=lambda name: "income" if name == "class" else name,
        missing="?",
        finish=_adult_splits,
    ),
    "telco_churn": TableForm(42178, _whole("tenure"), {"customerID": "text"}),
    "credit_fraud": TableForm(
        1597, {"Time": "int32", **{f"V{k}": "float" for k in range(1, 29)}, "Class": "int8"}
    ),
    "diabetes130": TableForm(
        4541,
        _whole(
            "time_in_hospital num_lab_procedures num_procedures num_medications number_outpatient "
            "number_emergency number_inpatient number_diagnoses patient_nbr"
        ),
        _whole("encounter_id"),
        missing="?",
        missing_in={"max_glu_serum": "None", "A1Cresult": "None"},
    ),
    "cal_housing": HousingForm(),
    "wine_quality": TableForm(
        287, _whole("quality"), rename=lambda name: name.replace(".", " ").replace("_", " ")
    ),
    "elevators": TableForm(216, _whole("climbRate Sgz absRoll diffClb")),
    "segment": TableForm(
        36,
        _whole("region-centroid-col region-centroid-row"),
        _whole("region-pixel-count"),
        rename=lambda name: name.replace(".", "-"),
    ),
    "uci_har": TableForm(
        1478,
        dict.fromkeys(feature_names(), "float"),
        rename=_motion_name,
        finish=_activities,
    ),
    "mnist": PictureForm(554),
    "fashion_mnist": PictureForm(40996),
}
"""What can be fetched, and from where."""


def download(entry: Entry, path: Path) -> None:
    """Download a set and write its file, whole or not at all.

    Raises
    ------
    DataError
        If there is no connection, or what came is not the published set.
    MissingExtra
        If pandas is not installed.
    """
    form = DOWNLOADS[entry.facts.name]
    match form:
        case HousingForm():
            write_table(_housing(), path)
        case PictureForm():
            write_pictures(_pictures(entry, _openml(entry, form.data_id)), path)
        case TableForm():
            write_table(_table(entry, form, _openml(entry, form.data_id)), path)


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


def _openml(entry: Entry, data_id: int) -> Any:
    """Return a set of OpenML as a pandas data frame, its target among the columns."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise MissingExtra("pandas", "demo") from None
    from sklearn.datasets import fetch_openml

    facts = entry.facts
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


def _table(entry: Entry, form: TableForm, frame: Any) -> Any:
    """Bring a data frame of OpenML into the stored form."""
    import pyarrow as pa

    assert isinstance(entry.home, StoredTable)
    schema, home = entry.facts.schema, entry.home
    frame = frame.rename(columns=lambda name: form.rename(str(name).strip().strip("'\"")))
    types = dict(form.extra)
    for name in (*home.carried, *schema, home.target):
        column = schema.target if name == home.target else schema.get(name)
        usual = "double" if isinstance(column, Number) else "text"
        levels = None if isinstance(column, Number) or column is None else column.levels
        if levels is not None and all(isinstance(level, int) for level in levels):
            usual = "int64"
        types[name] = form.types.get(name, usual)
    columns: dict[str, Any] = {}
    for name, kind in types.items():
        if name in frame:
            missing = form.missing_in.get(name, form.missing)
            columns[name] = _column(frame[name], kind, missing)
        elif name in home.optional or name in form.extra:
            columns[name] = pa.nulls(len(frame))
        else:
            raise DataError(
                f"The download of {entry.facts.name!r} has no column {name!r}: set VOILE_DATA to "
                f"a folder that has it."
            )
    table = pa.table(columns)
    return table if form.finish is None else form.finish(table)


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


def _pictures(entry: Entry, frame: Any) -> dict[str, Any]:
    """Bring rows of pixels into pictures, in the official split."""
    shape = entry.facts.image_shape
    pixels = frame.drop(columns="class").to_numpy(dtype=np.uint8)
    classes = frame["class"].astype(str).astype(np.uint8).to_numpy()
    parts = {"train": slice(TRAINING_PICTURES), "test": slice(TRAINING_PICTURES, None)}
    images = pixels.reshape(len(pixels), *(shape or ()))
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
