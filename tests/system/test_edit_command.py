"""Pairs of columns are edited on the command line as in Python: by option and by script."""

import json
from dataclasses import replace

import numpy as np
import pytest
from command_line import run_voile
from ebm_models import PAIRS, assert_same_pair, make_model

from voile import Category, Date, Number, load
from voile.models.ebm.edit import Editor
from voile.models.ebm.files import SavedEBM
from voile.models.ebm.pair_term import PairAxis, PairTerm

PAIRED = ("edit", "m.voile", "--why", "w")


@pytest.fixture
def go(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with a model of pairs: its output, or why it was refused."""
    monkeypatch.chdir(tmp_path)
    SavedEBM.write(make_model(pairs=PAIRS), tmp_path / "m.voile")

    def run(*arguments, code=0):
        done = run_voile(arguments, monkeypatch, capsys)
        assert done.code == code, done.err
        if code:
            return done.err
        return json.loads(done.out) if "--json" in arguments else done.out

    run.folder = tmp_path
    return run


def test_pairs_are_edited_by_option(go):
    go(
        *(*PAIRED, "--set", "age & job", "--value", "0.5", "--where", "age=30..50"),
        *("--where", "job=nurse", "--where", "job=(missing)"),
    )
    go(
        *PAIRED,
        "--set",
        "rank & flag",
        "--value",
        "1",
        "--where",
        "rank=2.5",
        "--where",
        "flag=True",
    )
    go(*PAIRED, "--set", "age & pay", "--value", "-1", "--where", "age=(missing)")
    go(*PAIRED, "--smooth", "age & pay", "--strength", "3", "--where", "age=20.5..60")
    go(*PAIRED, "--drop", "age & job")
    found = load("m.voile").model_
    editor = Editor(make_model(pairs=PAIRS))
    where = {"age": (30, 50), "job": ["nurse", None]}
    editor.set(("age", "job"), 0.5, where=where)
    editor.set(("flag", "rank"), 1, where={"rank": [2.5], "flag": [True]})
    editor.set(("age", "pay"), -1, where={"age": None})
    editor.smooth(("age", "pay"), 3, where={"age": (20.5, 60)}).drop(("age", "job"))
    for pair, expected in zip(found.pairs, editor.model.pairs, strict=True):
        assert_same_pair(pair, expected)
    told = go("edit", "m.voile")
    assert "age & job: set; value: 0.5; where: age [30.0, 50.0]" in told
    assert [edit.term for edit in found.edits][:2] == ["age & job", "flag & rank"]


def test_pairs_are_edited_by_script(go):
    (go.folder / "edits.yaml").write_text(
        "- {do: set, term: [job, age], value: 0.5, where: {age: [30, 50], job: [nurse]}, why: a}\n"
        "- {do: set, term: flag & rank, value: 1, where: {rank: '2.5', flag: 'True'}}\n"
        "- {do: set, term: age & job, value: 2, where: {age: null, job: null}}\n"
        "- {do: smooth, term: age & pay, strength: 3, where: {age: [20.5, 60]}}\n"
        "- {do: scale, term: [age, pay], factor: 0.5}\n"
    )
    told = go("edit", "m.voile", "--script", "edits.yaml", "--json")
    assert [one["term"] for one in told["edits"]] == [
        *("age & job", "flag & rank", "age & job", "age & pay", "age & pay")
    ]
    editor = Editor(make_model(pairs=PAIRS))
    editor.set(("age", "job"), 0.5, where={"age": (30, 50), "job": ["nurse"]})
    editor.set(("flag", "rank"), 1, where={"rank": [2.5], "flag": [True]})
    editor.set(("age", "job"), 2, where={"age": None, "job": None})
    editor.smooth(("age", "pay"), 3, where={"age": (20.5, 60)}).scale(("age", "pay"), 0.5)
    for pair, expected in zip(load("m.voile").model_.pairs, editor.model.pairs, strict=True):
        assert_same_pair(pair, expected)


def test_a_dropped_column_takes_its_pairs_along(go):
    assert "Not used: age." in go(*PAIRED, "--drop", "age")
    model = load("m.voile").model_
    assert not model.pair("age", "job").scores.any()
    assert model.pair("flag", "rank").scores.any()
    go("edit", "m.voile", "--undo")
    assert load("m.voile").model_.unused == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "age & job", "--value", "1"), "setting 'where': which part"),
        (("--set", "age & job", "--value", "1", "--where", "pay=0..1"), "COLUMN=PART"),
        (("--set", "age & job", "--value", "1", "--where", "age"), "COLUMN=PART"),
        (("--set", "age & job", "--value", "1", "--where", "age=30"), "age=30..50"),
        (("--set", "age & job", "--value", "1", "--where", "age=30.."), "age=30..50"),
        (("--set", "age & job", "--value", "1", "--where", "age=a..b"), "finite number"),
        (("--set", "age & job", "--value", "1", "--where", "age=50..30"), "range"),
        (("--set", "age & job", "--value", "1", "--where", "job=pilot"), "no level 'pilot'"),
        (
            (
                "--set",
                "age & pay",
                "--value",
                "1",
                "--where",
                "age=20..30",
                "--where",
                "age=40..50",
            ),
            "two ranges",
        ),
        (("--set", "age & job", "--value", "1", "--between", "30", "50"), "'where'"),
        (("--set", "age", "--value", "1", "--where", "age=30..50"), "for pairs"),
        (("--drop", "age & job", "--where", "age=30..50"), "--set PAIR or --smooth PAIR"),
        (("--where", "age=30..50"), "--set PAIR or --smooth PAIR"),
        (("--drop", "age & flag"), "no term 'age & flag'"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_nothing_is_changed(go, arguments, words):
    before = (go.folder / "m.voile").read_bytes()
    told = " ".join(go(*PAIRED, *arguments, code=2).split())
    assert words in told
    assert (go.folder / "m.voile").read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "{do: set, term: [age], value: 1, where: {age: [30, 50]}}",
        "{do: set, term: [age, job, pay], value: 1, where: {age: [30, 50]}}",
        "{do: set, term: [1, 2], value: 1, where: {age: [30, 50]}}",
        "{do: set, term: {age: job}, value: 1, where: {age: [30, 50]}}",
        "{do: set, term: age & job, value: 1, where: [age]}",
        "{do: set, term: age & job, value: 1, where: {1: 2}}",
        "{do: set, term: age & job, value: 1, where: {age: {a: 1}}}",
        "{do: set, term: age & job, value: 1, where: {job: [[nurse]]}}",
        "{do: drop, term: age & job, where: {age: [30, 50]}}",
    ],
)
def test_odd_scripts_are_refused(go, line):
    (go.folder / "edits.yaml").write_text(f"- {line}\n")
    before = (go.folder / "m.voile").read_bytes()
    go("edit", "m.voile", "--script", "edits.yaml", code=2)
    assert (go.folder / "m.voile").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--monotone", "age & pay"), "curve of one column"),
        (("--smooth", "flag & rank"), "order to smooth along"),
    ],
)
def test_what_a_pair_has_not_is_refused_as_for_categories(go, arguments, words):
    assert words in go(*PAIRED, *arguments, code=5)
    go(*PAIRED, "--monotone", "job", code=5)


def test_names_with_signs_and_dates_in_a_part(go):
    columns = {
        "a": Number(0, 9),
        "a=b": Date("2020-01-01", "2020-12-31"),
        "c": Category(["x=1", "y"]),
    }
    axes = make_axes(columns)
    model = make_model(columns=columns)
    for first, second in (("a", "a=b"), ("a=b", "c")):
        model = with_pair(model, axes[first], axes[second])
    SavedEBM.write(model, go.folder / "m.voile")
    go(
        *(*PAIRED, "--set", "a & a=b", "--value", "1", "--where", "a=b=2020-03-01..2020-03-31"),
        *("--where", "a=1..2"),
    )
    go(*PAIRED, "--set", "a=b & c", "--value", "1", "--where", "c=x=1")
    edits = load("m.voile").model_.edits
    assert edits[0].settings["where"] == {"a=b": ["2020-03-01", "2020-03-31"], "a": [1.0, 2.0]}
    assert edits[1].settings["where"] == {"c": ["x=1"]}


def make_axes(columns):
    nothing = np.empty(0, dtype=np.int64)
    return {
        name: PairAxis(
            name,
            column,
            np.empty(0),
            np.arange(len(column.levels) + 2) if isinstance(column, Category) else nothing,
        )
        for name, column in columns.items()
    }


def with_pair(model, first, second):
    shape = first.parts, second.parts
    cells = np.ones((*shape, 1))
    pair = PairTerm(first, second, cells, cells, np.ones(shape), np.ones(shape))
    return replace(model, pairs=(*model.pairs, pair))
