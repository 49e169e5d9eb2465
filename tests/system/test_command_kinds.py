"""Kinds of columns in the command: dates, codes, identifiers, classes that are numbers."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from command_line import run_voile

from voile import Date, Ledger, Schema, load
from voile.privacy.noise import fixed_noise


def write_stays(folder, rows=3_000):
    """Stays in a hospital: days, visits, a postal code, and whether somebody came back."""
    rng = np.random.default_rng(1)
    days = np.datetime64("2021-01-01") + rng.integers(0, 1_096, rows)
    visits = rng.poisson(3, rows)
    back = (rng.random(rows) < np.where(days >= np.datetime64("2022-07-01"), 0.7, 0.2)).astype(int)
    plz = rng.choice([10115, 20095, 80331], rows)
    columns = {"admitted": days, "visits": visits, "plz": plz, "back": back}
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "stays.csv").write_text("\n".join([",".join(columns), *lines]) + "\n")
    pa.parquet.write_table(pa.table(columns), folder / "stays.parquet")


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    write_stays(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        done = run_voile(arguments, monkeypatch, capsys)
        assert done.code == code, done.err
        return done

    run.folder = tmp_path
    return run


def test_a_proposal_names_dates_whole_numbers_codes_and_classes(go):
    told = go("schema", "stays.parquet", "--target", "back", "--no-ask").out
    schema = Schema.from_yaml(told)
    assert schema["admitted"] == Date()
    assert schema["visits"].whole
    assert "plz: {kind: category}  # looks like a code" in told
    assert "target: {kind: category}  # whole numbers, taken for classes" in told
    told = go("schema", "stays.csv", "--target", "back", "--no-ask").out
    assert "admitted: {kind: date" in told
    assert "target: {kind: category}  # whole numbers, taken for classes" in told


def test_answers_give_dates_codes_and_classes(go, monkeypatch):
    answers = iter(["2021-01-01 2023-12-31", "0 30", "10115, 20095, 80331", "x", "c", "0, 1"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    done = go("schema", "stays.csv", "--target", "back", "--ask", "--json")
    told = json.loads(done.out)
    assert told["columns"]["admitted"]["upper"].startswith("2023-12-31")
    assert told["columns"]["plz"]["levels"] == [10115, 20095, 80331]
    assert told["target"]["levels"] == [0, 1]
    answers = iter(["-", "", "-", "a", "0 1"])
    told = json.loads(go("schema", "stays.csv", "--target", "back", "--ask", "--json").out)
    assert set(told["columns"]) == {"visits"}
    assert told["target"] == {"kind": "number", "lower": 0, "upper": 1, "whole": True}


@pytest.mark.parametrize("file", ["stays.csv", "stays.parquet"])
def test_a_training_says_what_it_takes_columns_for_before_it_spends(go, file):
    asked = go("train", file, "--target", "back", "--no-evaluate", code=2)
    assert "--task classification if its values are classes, such as 0 and 1" in asked.err
    trained = go("train", file, "--target", "back", "--task", "classification", "--epsilon", "4")
    assert "The numbers of the target 'back' are taken for classes" in trained.err
    assert "Taken for categories, as they look like codes: plz" in trained.err
    model = load(go.folder / "stays.voile")
    assert list(map(str, model.classes_)) == ["0", "1"]  # text, from a CSV file
    assert isinstance(model.model_.schema["admitted"], Date)
    shown = str(model.explain_global())
    assert "e+09" not in shown
    assert " at 202" in shown
    go("report", "stays.voile", "-o", "r.html")
    assert "2022" in (go.folder / "r.html").read_text(encoding="utf-8")
    rows = "admitted,visits,plz\n2021-05-01,3,10115\n2030-01-01,3,10115\n"
    (go.folder / "new.csv").write_text(rows)
    told = go("predict", "stays.voile", "new.csv").out
    assert "admitted = 2030-01-01, read as 202" in told


def test_a_person_is_asked_about_codes(go, monkeypatch):
    asked = []
    monkeypatch.setattr("voile.cli.train.is_watched", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda text, **_: asked.append(text) or "-")
    go("train", "stays.csv", "--target", "back", "--task", "classification", "--no-evaluate")
    assert len(asked) == 1
    assert "plz: looks like a code" in asked[0]
    assert set(load(go.folder / "stays.voile").model_.schema) == {"admitted", "visits"}


SCHEMA = """voile_schema: 1
columns:
  admitted: {kind: date, lower: 2021-01-01, upper: 2023-12-31}
  visits: {kind: number, lower: 0, upper: 30, whole: true}
target: {kind: category, levels: ["No", "Yes"]}
"""


def test_a_misspelt_class_leaves_the_ledger_nearly_whole(go):
    (go.folder / "s.yaml").write_text(SCHEMA)
    words = ("--schema", "s.yaml", "--ledger", "book.db", "--budget", "2", "--epsilon", "1")
    done = go("train", "stays.csv", "--target", "back", *words, code=8)
    assert "have none of the classes 'No', 'Yes'" in done.err
    assert "the rest was not spent" in done.err
    assert not (go.folder / "stays.voile").exists()
    assert Ledger(go.folder / "book.db").remaining().epsilon > 1.95


def test_text_cannot_be_regressed(go):
    pa.parquet.write_table(
        pa.table({"visits": np.arange(50), "back": ["yes", "no"] * 25}), go.folder / "t.parquet"
    )
    (go.folder / "s.yaml").write_text(
        "voile_schema: 1\ncolumns:\n  visits: {kind: number, lower: 0, upper: 50}\n"
        "target: {kind: number, lower: 0, upper: 1}\n"
    )
    words = ("--schema", "s.yaml", "--ledger", "book.db", "--budget", "2", "--no-evaluate")
    done = go("train", "t.parquet", "--target", "back", *words, code=2)
    assert "regression needs numbers" in done.err
    assert Ledger(go.folder / "book.db").spent().epsilon == 0
    go("train", "t.parquet", "--target", "back", "--task", "regression", code=2)


def test_a_guess_is_told_in_a_line_and_nothing_is_lost(go):
    (go.folder / "few.csv").write_text("a,cost\n" + "1.5,10.5\n2.5,20.5\n" * 6)
    with fixed_noise(0):
        done = go("train", "few.csv", "--target", "cost", "--task", "regression", "--no-evaluate")
    told = [line for line in done.err.splitlines() if line.startswith("Bounds of the target")]
    assert len(told) == 1
    assert "Warning" not in done.err
    assert (go.folder / "few.voile").exists()
