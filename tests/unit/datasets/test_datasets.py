"""Public data sets: their schemas, what packages ship, and where files are found."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile import (
    Category,
    EBMClassifier,
    EBMRegressor,
    GLVQClassifier,
    Number,
    Schema,
    Unit,
    datasets,
)
from voile.cli.datasets import list_datasets
from voile.datasets.catalogue import find
from voile.datasets.stored_set import read_set, spell_out
from voile.errors import DataError, MissingExtra, SchemaError, SettingError

SHARED = Path(os.environ.get("VOILE_DATA") or Path(__file__).parents[4] / "shared" / "data")
BUNDLED = ("randhie", "breast_cancer", "diabetes", "wine", "iris", "digits")
STORED = [name for name in datasets.names() if name not in BUNDLED]
BY_HAND = ("hapt_har561", "fer", "blood_cells", "imdb")


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch, tmp_path):
    """No test sees the data sets of the machine it runs on."""
    monkeypatch.delenv("VOILE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


# -- what is known of every set -------------------------------------------------------------------


def test_all_sets_are_listed():
    described = {path.stem for path in (Path(datasets.__file__).parent / "sets").iterdir()}
    assert len(datasets.names()) == len(described)
    assert described == set(datasets.names())
    fetched = {name for name in datasets.names() if datasets.can_fetch(name)}
    assert fetched == described - set(BUNDLED) - set(BY_HAND)


@pytest.mark.parametrize("name", datasets.names())
def test_facts_are_complete(name):
    facts = datasets.describe(name)
    assert facts.name == name
    assert facts.task in {"classification", "regression", "text"}
    assert facts.rows > 100
    for text in (facts.title, facts.source, facts.bounds, facts.licence, facts.citation):
        assert text.strip()
    json.dumps(facts.to_dict())


@pytest.mark.parametrize("name", datasets.names())
def test_schemas_have_a_target_of_the_right_kind_and_can_be_written(name):
    facts = datasets.describe(name)
    wanted = Number if facts.task == "regression" else Category
    assert isinstance(facts.schema.target, wanted)
    assert facts.task == "regression" or facts.schema.target.known
    assert Schema.from_json(facts.schema.to_json()) == facts.schema
    assert (len(facts.schema) == 0) == (facts.task == "text")
    if facts.image_shape is not None:
        assert len(facts.schema) == np.prod(facts.image_shape)


def test_what_no_documentation_bounds_is_left_open():
    assert not datasets.describe("adult").schema["fnlwgt"].known
    assert not datasets.describe("wine_quality").schema["density"].known
    assert not datasets.describe("elevators").schema.target.known


def test_hospital_stays_are_protected_by_patient():
    assert datasets.describe("diabetes130").schema.unit == Unit("patient_nbr", rows=1)


def test_motion_has_the_published_number_of_features():
    features = list(datasets.describe("uci_har").schema)
    assert len(features) == 561
    assert features[0] == "tBodyAcc-mean()-X"
    assert features[554] == "angle(tBodyAccMean,gravityMean)"


def test_patterns_are_spelled_out_in_order():
    assert spell_out("age") == ["age"]
    assert spell_out("p_{08..10}") == ["p_08", "p_09", "p_10"]
    assert spell_out("{a{1..2}|b}-{x|y}") == ["a1-x", "a1-y", "a2-x", "a2-y", "b-x", "b-y"]
    with pytest.raises(DataError, match="not closed"):
        spell_out("{a|b")
    for wrong in ("{a}", "{1..b}", "{}"):
        with pytest.raises(DataError, match="write braces as"):
            spell_out(wrong)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rows: 150", "rows: many"),
        ("title: Iris plants", "titel: Iris plants"),
        ("package: scikit-learn", "package: 3"),
        ("voile_data_set: 1", "voile_data_set: 2"),
        ("schema:", "download: {openml: x}\nschema:"),
        ("schema:", "download: {id: 3}\nschema:"),
        ("  columns:", "  columns:\n    a: {names: [petal width (cm)], kind: number}"),
        ("  columns:", "  columns:\n    a: {names: 3, kind: number}"),
        ("kind: category", "kind: categories"),
    ],
)
def test_a_description_is_read_strictly(monkeypatch, tmp_path, before, after):
    text = (Path(datasets.__file__).parent / "sets" / "iris.yaml").read_text(encoding="utf-8")
    assert before in text
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "wrong.yaml").write_text(text.replace(before, after, 1), encoding="utf-8")
    monkeypatch.setattr("voile.datasets.stored_set.files", lambda package: tmp_path)
    with pytest.raises((DataError, SchemaError)):
        read_set("wrong")


def test_an_unknown_name_is_refused_with_a_guess():
    with pytest.raises(SettingError, match="Did you mean 'adult'"):
        datasets.load("adults")
    for call in (datasets.describe, datasets.fetch, datasets.where, datasets.can_fetch):
        with pytest.raises(SettingError, match="There is no data set"):
            call("no such thing")


# -- sets of packages -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_load(name):
    one = datasets.load(name)
    assert (one.name, one.rows, len(one.X)) == (name, one.facts.rows, one.facts.rows)
    assert one.X.shape[1] == len(one.schema)
    assert one.place == datasets.where(name)
    assert one.place in {"scikit-learn", "statsmodels"}
    if isinstance(one.X, pa.Table):
        assert one.X.column_names == list(one.schema)
    if isinstance(one.schema.target, Category):
        assert set(one.y) == set(one.schema.target.levels)
    frame = one.to_pandas()
    assert frame.shape == one.X.shape
    assert list(frame.columns) == list(one.schema)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_values_are_within_the_documented_bounds_as_printed(name):
    one = datasets.load(name)
    frame = one.to_pandas()
    for column in one.schema.numbers:
        bounds = one.schema[column]
        if bounds.known:
            slack = 0.01 * (bounds.upper - bounds.lower)  # documentation prints few digits
            assert frame[column].between(bounds.lower - slack, bounds.upper + slack).all()


def test_a_bundled_table_trains_a_model():
    one = datasets.load("breast_cancer")
    model = EBMClassifier(epsilon=8, schema=one.schema, rounds=2, random_state=0)
    assert set(model.fit(one.X, one.y).predict(one.X)) <= set(one.schema.target.levels)


def test_a_bundled_regression_trains_a_model():
    one = datasets.load("diabetes")
    model = EBMRegressor(epsilon=8, schema=one.schema, rounds=2, random_state=0)
    assert model.fit(one.X, one.y).predict(one.X).shape == (442,)


def test_bundled_pictures_train_a_model():
    one = datasets.load("digits")
    model = GLVQClassifier(
        epsilon=8, schema=one.schema, image_shape=one.image_shape, random_state=0
    )
    assert set(model.fit(one.X, one.y).predict(one.X)) <= set(range(10))


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    with pytest.raises(MissingExtra, match=r"voile\[demo\]"):
        datasets.load("randhie")


def test_pandas_that_is_missing_is_named(monkeypatch):
    one = datasets.load("iris")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"voile\[demo\]"):
        one.to_pandas()


def test_a_split_that_is_not_official_is_refused():
    with pytest.raises(SettingError, match="no official split"):
        datasets.load("iris", split="train")
    with pytest.raises(SettingError, match="'train', 'test'"):
        datasets.load("adult", split="val")


# -- where sets are found -------------------------------------------------------------------------


def small_segment(path: Path, *, drop: str = "", rows: int = 4) -> None:
    facts = datasets.describe("segment")
    columns = {name: np.arange(rows) for name in facts.schema if name != drop}
    pq.write_table(pa.table({**columns, "class": ["sky"] * rows}), path / "segment.parquet")


@pytest.mark.parametrize("name", STORED)
def test_a_set_that_is_nowhere_names_the_remedy(name):
    assert datasets.where(name) is None
    with pytest.raises(DataError, match="VOILE_DATA") as caught:
        datasets.load(name)
    assert (f"voile datasets fetch {name}" in str(caught.value)) == datasets.can_fetch(name)


def test_folders_are_looked_in_in_order(monkeypatch, tmp_path):
    places = [tmp_path / "given", tmp_path / "named", datasets.folder()]
    for rows, place in enumerate(places, 3):
        place.mkdir(parents=True)
        small_segment(place, rows=rows)
    monkeypatch.setenv("VOILE_DATA", str(places[1]))
    assert datasets.load("segment", folder=places[0]).rows == 3
    assert datasets.load("segment").rows == 4
    monkeypatch.delenv("VOILE_DATA")
    assert datasets.load("segment").rows == 5
    (places[0] / "segment.parquet").unlink()
    elsewhere = datasets.load("segment", folder=places[0])
    assert elsewhere.place == str(places[2] / "segment.parquet")


def test_a_folder_that_is_none_is_refused(monkeypatch, tmp_path):
    with pytest.raises(DataError, match="that was given"):
        datasets.load("segment", folder=tmp_path / "no")
    monkeypatch.setenv("VOILE_DATA", str(tmp_path / "no"))
    with pytest.raises(DataError, match="that VOILE_DATA names"):
        datasets.load("segment")


def test_the_cache_folder_is_the_users(monkeypatch):
    assert datasets.folder() == Path(os.environ["XDG_CACHE_HOME"]) / "voile"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.folder() == Path.home() / ".cache" / "voile"


def test_files_that_are_no_such_set_are_refused(tmp_path):
    small_segment(tmp_path, drop="hue-mean")
    with pytest.raises(DataError, match="'hue-mean'"):
        datasets.load("segment", folder=tmp_path)
    for file in ("segment.parquet", "mnist.npz"):
        (tmp_path / file).write_bytes(b"half a file")
        with pytest.raises(DataError, match="cannot be read"):
            datasets.load(file.split(".")[0], folder=tmp_path)
    arrays = {f"{axis}_{part}": np.zeros((2, 5, 5)) for axis in "xy" for part in ("train", "test")}
    np.savez(tmp_path / "mnist.npz", **arrays)
    with pytest.raises(DataError, match="shape"):
        datasets.load("mnist", folder=tmp_path)


@pytest.mark.parametrize("name", STORED)
def test_published_sets_load_from_a_folder(name):
    file = find(name).file
    if not (SHARED / file).is_file():
        pytest.skip(f"{file} is not here: set VOILE_DATA")
    one = datasets.load(name, folder=SHARED)
    assert one.rows == one.facts.rows
    assert one.X.shape[1] >= len(one.schema)
    target = one.schema.target
    if isinstance(target, Category):
        assert set(one.y) == set(target.levels)
    elif target.known:
        assert target.lower <= one.y.min() <= one.y.max() <= target.upper
    if isinstance(one.X, pa.Table):
        for column in one.schema.categories:
            levels = one.schema[column].levels
            assert levels is None or set(one.X[column].to_pylist()) <= set(levels)
    parts = [datasets.load(name, folder=SHARED, split=part).rows for part in one.facts.splits]
    assert sum(parts) in (0, one.rows)


# -- the command ----------------------------------------------------------------------------------


def test_the_list_says_where_each_set_is(capsys, monkeypatch, tmp_path):
    small_segment(tmp_path)
    monkeypatch.setenv("VOILE_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    list_datasets(as_json=False)
    lines = {line.split()[1]: line for line in capsys.readouterr().out.splitlines() if "│" in line}
    assert set(datasets.names()) <= set(lines)
    for name, word in {
        "segment": "VOILE_DATA",
        "adult": "to fetch",
        "fer": "not here",
        "iris": "scikit-learn",
    }.items():
        assert word in lines[name]


def test_the_list_as_json(capsys):
    list_datasets(as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in listed] == list(datasets.names())
    assert {one["name"] for one in listed if one["place"]} == set(BUNDLED)
