"""Benchmarks run from where they are; the synthetic tables of the EBM benchmark are as said."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.ebm import data as ebm_data
from benchmarks.kit import record
from benchmarks.kit.data_folder import load_all
from voile import Category, Number

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = [
    path
    for path in sorted(BENCHMARKS.glob("*/*.py"))
    if path.stem != "incumbents_worker"  # runs in a Python of its own
]
ROWS = 2_000
# Name, task, numbers, categories.
SHAPES = [
    ("wide", "binary", 20, 20),
    ("survey", "binary", 7, 15),
    ("few_positives", "binary", 25, 25),
    ("flat", "binary", 20, 10),
    ("wide_regression", "regression", 20, 20),
    ("skewed_regression", "regression", 7, 3),
    ("three_class", "multiclass", 8, 4),
    ("ten_class", "multiclass", 8, 4),
]
FULL_ROWS = {"wide": 30_000, "survey": 100_000, "few_positives": 20_000, "flat": 20_000}
RATES = {"wide": 0.06, "survey": 0.14, "few_positives": 0.015, "flat": 0.2}


def same(one: ebm_data.DataSet, other: ebm_data.DataSet) -> bool:
    return (
        one.frame.equals(other.frame)
        and np.array_equal(one.target, other.target)
        and one.schema == other.schema
    )


def test_every_synthetic_set_has_a_stated_shape():
    assert {name for name, *_ in SHAPES} == set(ebm_data.SYNTHETIC)


@pytest.mark.parametrize(("name", "task", "numbers", "categories"), SHAPES)
def test_a_synthetic_set_is_the_same_each_time_and_has_its_shape(name, task, numbers, categories):
    one = ebm_data.load(name, ROWS)
    assert same(one, ebm_data.load(name, ROWS))
    assert (one.name, one.task) == (name, task)
    assert one.frame.shape == (ROWS, numbers + categories)
    assert one.target.shape == (ROWS,)
    assert (len(one.schema.numbers), len(one.schema.categories)) == (numbers, categories)
    assert list(one.schema) == list(one.frame.columns)
    assert not one.frame.isna().any(axis=None)


@pytest.mark.parametrize("name", ebm_data.SYNTHETIC)
def test_values_are_within_what_the_schema_says(name):
    one = ebm_data.load(name, ROWS)
    for column in one.schema.numbers:
        assert one.frame[column].between(one.schema[column].lower, one.schema[column].upper).all()
    for column in one.schema.categories:
        assert one.frame[column].isin(one.schema[column].levels).all()
    target = one.schema.target
    if isinstance(target, Number):
        assert target.lower <= one.target.min() < one.target.max() <= target.upper
    else:
        assert isinstance(target, Category)
        assert set(one.target) == set(target.levels)


@pytest.mark.parametrize("name", RATES)
def test_full_binary_sets_have_the_stated_rows_and_rate(name):
    one = ebm_data.load(name)
    assert len(one.frame) == FULL_ROWS[name]
    wanted = RATES[name]
    assert abs(one.target.mean() - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / len(one.target))


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_big_tables_are_the_same_each_time_and_within_their_public_bounds(task):
    one = ebm_data.big(3_000, k=5, task=task, dtype="float32")
    assert same(one, ebm_data.big(3_000, k=5, task=task, dtype="float32"))
    assert one.frame.shape == (3_000, 5)
    assert (one.frame.dtypes == "float32").all()
    assert one.frame.abs().max(axis=None) <= one.schema["x00"].upper


def test_big_tables_continue_where_a_shorter_one_ends(monkeypatch):
    monkeypatch.setattr(ebm_data.synthetic, "PIECE", 400)
    longer, shorter = ebm_data.big(1_000, k=3), ebm_data.big(500, k=3)
    pd.testing.assert_frame_equal(longer.frame.head(500), shorter.frame)
    assert np.array_equal(longer.target[:500], shorter.target)


def test_a_public_set_that_is_missing_is_skipped_and_said_to_be(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("VOILE_DATA", str(tmp_path))
    assert list(load_all(ebm_data.load, ["adult"])) == []
    said = capsys.readouterr().err
    assert "skipped adult" in said
    assert "VOILE_DATA" in said


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_part_of_a_benchmark_can_be_imported(path):
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    importlib.import_module(f"benchmarks.{path.parent.name}.{path.stem}")


def test_a_benchmark_finds_its_parts_wherever_it_is_run(tmp_path):
    script = BENCHMARKS / "ebm" / "quality.py"
    done = subprocess.run(
        [sys.executable, str(script), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--splits N" in done.stdout


def test_what_a_run_printed_is_recorded_for_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "BENCHMARKS", tmp_path)
    (tmp_path / "ebm").mkdir()
    found = record.read(
        'words\n[not JSON\n{"a": [0.123456789, 2], "roc": ' + str([0.5] * 99) + "}\n"
    )
    kept = json.loads(record.record("ebm/some", found, "python some.py").read_text())
    assert kept["figures"] == {"a": [0.123457, 2]}
    assert (kept["command"], kept["source"]) == ("python some.py", "measured")
    with pytest.raises(ValueError, match="no JSON"):
        record.read("words alone")
