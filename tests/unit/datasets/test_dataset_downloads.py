"""Public data sets: how they are fetched, with a made-up download."""

import json
import os
import urllib.error
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.datasets

from voile import Category, Number, datasets
from voile.cli.datasets import fetch_dataset
from voile.datasets.catalogue import find
from voile.errors import DataError

SHARED = Path(os.environ.get("VOILE_DATA") or Path(__file__).parents[4] / "shared" / "data")
DOWNLOADS = {name: find(name).download for name in datasets.names() if datasets.can_fetch(name)}
ADULT_SPLITS = {
    part: (sum(classes.values()), classes[">50K"])
    for part, classes in DOWNLOADS["adult"].splits.items()
}
HOUSING_NAMES = (
    "MedInc",
    "HouseAge",
    "AveRooms",
    "AveBedrms",
    "Population",
    "AveOccup",
    "Latitude",
    "Longitude",
)


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch, tmp_path):
    """No test sees the data sets of the machine it runs on."""
    monkeypatch.delenv("VOILE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def openml_frame(name: str, rows: int) -> pd.DataFrame:
    """A made-up table of the shape that OpenML documents for a set."""
    rng = np.random.default_rng(0)
    schema = datasets.describe(name).schema
    columns: dict[str, object] = {}
    for column, known in schema.items():
        if isinstance(known, Number):
            low, high = (0, 9) if known.lower is None else (known.lower, known.upper)
            columns[column] = np.round(rng.uniform(low, high, rows))
        else:
            levels = [str(level) for level in known.levels or ("a", "b")]
            columns[column] = pd.Categorical([levels[k % len(levels)] for k in range(rows)])
    return pd.DataFrame(columns)


def made(name: str) -> pd.DataFrame:
    """The same with the target, and the names, quotes and gaps of OpenML."""
    rows = datasets.describe(name).rows
    if name in ("mnist", "fashion_mnist"):
        pixels = np.zeros((rows, 784), dtype=np.uint8)
        pixels[:, 5] = np.arange(rows) % 251
        frame = pd.DataFrame(pixels, columns=[f"pixel{k}" for k in range(1, 785)])
        frame["class"] = pd.Categorical([str(k % 10) for k in range(rows)])
        return frame
    frame = openml_frame(name, rows)
    match name:
        case "adult":
            parts = []
            for part in ("test", "train"):
                count, rich = ADULT_SPLITS[part]
                parts += [">50K"] * rich + ["<=50K"] * (count - rich)
            frame["class"] = pd.Categorical(parts)
            frame["workclass"] = frame["workclass"].replace("?", np.nan)
        case "telco_churn":
            frame["SeniorCitizen"] = frame["SeniorCitizen"].astype(str).astype(float)
            frame["TotalCharges"] = frame["TotalCharges"].astype(str).where(frame.index != 0, " ")
            frame["MultipleLines"] = "'" + frame["MultipleLines"].astype(str) + "'"
            frame["Churn"] = pd.Categorical(["No", "Yes"] * (rows // 2) + ["No"])
        case "credit_fraud":
            frame = frame.drop(columns="Time")
            frame["Class"] = pd.Categorical([f"'{int(k < 492)}'" for k in range(rows)])
        case "diabetes130":
            frame["encounter_id"] = np.arange(rows, dtype=float)
            frame["patient_nbr"] = np.arange(rows, dtype=float) // 2
            frame["race"] = frame["race"].replace("?", np.nan)
            frame["A1Cresult"] = frame["A1Cresult"].replace("None", np.nan)
            for column in ("admission_type_id", "discharge_disposition_id", "admission_source_id"):
                frame[column] = frame[column].astype(str).astype(float)
            frame["readmitted"] = pd.Categorical([("NO", "<30", ">30")[k % 3] for k in range(rows)])
        case "wine_quality":
            frame = frame.drop(columns="color")
            frame = frame.rename(columns=lambda column: column.replace(" ", "."))
            frame["quality"] = np.arange(rows) % 11
        case "elevators":
            frame["Goal"] = np.linspace(0.01, 0.08, rows)
        case "segment":
            frame["region-pixel-count"] = 9.0
            names = list(datasets.describe(name).schema.target.levels)
            frame["class"] = pd.Categorical([names[k % 7] for k in range(rows)])
        case "uci_har":
            frame.columns = [f"V{k}" for k in range(1, 562)]
            frame["Class"] = pd.Categorical([str(k % 6 + 1) for k in range(rows)])
    return frame


def downloads_but(left_out):
    """Names of sets; the one of 100,000 rows with 40 columns is a slow test."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] if name == "diabetes130" else [])
        for name in DOWNLOADS
        if name != left_out
    ]


def give(monkeypatch, frame):
    """Let scikit-learn download a data frame."""

    def fetch_openml(*, data_id, as_frame, parser, cache):
        assert as_frame
        assert not cache
        assert data_id in {form.openml for form in DOWNLOADS.values()}
        return SimpleNamespace(frame=frame)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)


@pytest.mark.parametrize("name", downloads_but("cal_housing"))
def test_fetched_sets_load_as_any_other(monkeypatch, name):
    give(monkeypatch, made(name))
    path = datasets.fetch(name)
    assert path == datasets.folder() / find(name).file
    assert list(path.parent.iterdir()) == [path]
    one = datasets.load(name)
    assert one.rows == one.facts.rows
    target = one.schema.target
    if isinstance(target, Category):
        assert set(one.y) == set(target.levels)
    lacking = {"credit_fraud": {"Time"}, "wine_quality": {"color"}}.get(name, set())
    assert set(one.facts.schema) - set(one.schema) == lacking
    if isinstance(one.X, pa.Table):
        assert set(one.X.column_names) >= set(one.schema)
        for column in one.schema.categories:
            levels = one.schema[column].levels
            assert levels is None or set(one.X[column].to_pylist()) <= set(levels)
    for part in one.facts.splits:
        assert 0 < datasets.load(name, split=part).rows < one.rows


@pytest.mark.parametrize("name", downloads_but("uci_har"))
def test_fetched_sets_have_the_stored_form(monkeypatch, name):
    """Columns and types are those of the files that benchmarks read."""
    file = find(name).file
    if not (SHARED / file).is_file():
        pytest.skip(f"{file} is not here: set VOILE_DATA")
    if name == "cal_housing":
        give_housing(monkeypatch, datasets.load(name, folder=SHARED))
    else:
        give(monkeypatch, made(name))
    path = datasets.fetch(name)
    if file.endswith(".npz"):
        with np.load(path) as here, np.load(SHARED / file) as there:
            for part in there.files:
                assert here[part].shape == there[part].shape
                assert here[part].dtype == there[part].dtype
        return
    here, there = pq.read_schema(path), pq.read_schema(SHARED / file)
    assert set(here.names) == set(there.names)
    for one in here:
        if not pa.types.is_null(one.type):
            assert one.type == there.field(one.name).type, one.name


def give_housing(monkeypatch, one):
    """Let scikit-learn download California housing, averaged as it does."""
    frame = one.to_pandas()
    data = np.column_stack(
        [
            frame["medianIncome"],
            frame["housingMedianAge"],
            frame["totalRooms"] / frame["households"],
            frame["totalBedrooms"] / frame["households"],
            frame["population"],
            frame["population"] / frame["households"],
            frame["latitude"],
            frame["longitude"],
        ]
    )
    bunch = SimpleNamespace(data=data, target=one.y / 100_000, feature_names=HOUSING_NAMES)
    monkeypatch.setattr(sklearn.datasets, "fetch_california_housing", lambda data_home: bunch)


def test_the_averages_of_california_housing_are_undone(monkeypatch):
    rng = np.random.default_rng(0)
    counts = {"totalRooms": 40_000, "totalBedrooms": 7_000, "population": 36_000}
    frame = pd.DataFrame({name: np.zeros(500) for name in datasets.describe("cal_housing").schema})
    for name, most in counts.items():
        frame[name] = rng.integers(3, most, 500).astype(float)
    frame["households"] = rng.integers(1, 6_000, 500).astype(float)
    y = rng.integers(14_999, 500_002, 500).astype(float)
    give_housing(monkeypatch, SimpleNamespace(to_pandas=lambda: frame, y=y))
    datasets.fetch("cal_housing")
    back = datasets.load("cal_housing")
    pd.testing.assert_frame_equal(back.to_pandas(), frame)
    assert np.array_equal(back.y, y)


def test_details_of_openml_are_undone(monkeypatch):
    give(monkeypatch, made("telco_churn"))
    datasets.fetch("telco_churn")
    telco = datasets.load("telco_churn").X
    assert telco["TotalCharges"].null_count == 1
    assert set(telco["SeniorCitizen"].to_pylist()) == {"0", "1"}
    give(monkeypatch, made("uci_har"))
    datasets.fetch("uci_har")
    uci_har = datasets.load("uci_har")
    assert uci_har.y[:6].tolist() == list(uci_har.schema.target.levels)


def test_splits_of_adult_are_told_by_their_published_counts(monkeypatch):
    frame = made("adult")
    give(monkeypatch, frame)
    datasets.fetch("adult")
    train = datasets.load("adult", split="train")
    assert (train.rows, (train.y == ">50K").sum()) == ADULT_SPLITS["train"]
    assert "?" in train.X["workclass"].to_pylist()
    datasets.folder().joinpath("adult.parquet").unlink()
    give(monkeypatch, frame.assign(**{"class": ">50K"}))
    with pytest.raises(DataError, match="not the published table"):
        datasets.fetch("adult")
    assert list(datasets.folder().iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("Name or service not known"),
        ConnectionResetError("reset by peer"),
        ValueError("Dataset with data_id 1590 not found."),
        EOFError(),
    ],
)
def test_a_connection_that_fails_is_said_and_leaves_nothing(monkeypatch, error):
    def fail(**settings):
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    monkeypatch.setattr(sklearn.datasets, "fetch_california_housing", fail)
    for name in ("segment", "cal_housing"):
        with pytest.raises(DataError, match=r"could not be downloaded .*VOILE_DATA"):
            datasets.fetch(name)
    assert list(datasets.folder().iterdir()) == []


def test_another_table_is_refused(monkeypatch):
    give(monkeypatch, made("segment").head(10))
    with pytest.raises(DataError, match="10 rows instead of the published 2,310"):
        datasets.fetch("segment")
    give(monkeypatch, made("segment").drop(columns="hue-mean"))
    with pytest.raises(DataError, match="no column 'hue-mean'"):
        datasets.fetch("segment")
    assert list(datasets.folder().iterdir()) == []


def test_a_write_that_fails_leaves_no_half_file(monkeypatch, tmp_path):
    def half(table, path, **settings):
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", half)
    give(monkeypatch, made("segment"))
    with pytest.raises(DataError, match="No space left"):
        datasets.fetch("segment", tmp_path / "here")
    assert list((tmp_path / "here").iterdir()) == []


def test_a_file_that_is_there_is_kept(monkeypatch, tmp_path):
    (tmp_path / "segment.parquet").write_bytes(b"any")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", None)
    assert datasets.fetch("segment", tmp_path) == tmp_path / "segment.parquet"


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be made"):
        datasets.fetch("segment", tmp_path / "file" / "folder")


def test_what_cannot_be_fetched_says_why():
    for name in set(datasets.names()) - set(DOWNLOADS):
        packaged = find(name).package is not None
        with pytest.raises(DataError, match="nothing to fetch" if packaged else "VOILE_DATA"):
            datasets.fetch(name)


def test_the_fetch_command_names_the_file(capsys, monkeypatch, tmp_path):
    give(monkeypatch, made("segment"))
    fetch_dataset("segment", folder=tmp_path, as_json=True)
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == str((tmp_path / "segment.parquet").resolve())
    fetch_dataset("segment", folder=tmp_path, as_json=False)
    assert "segment.parquet" in capsys.readouterr().out
