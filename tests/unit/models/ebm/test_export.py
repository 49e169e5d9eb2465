"""Exported scores are the model's own, no text becomes a formula, and interpret agrees with us."""

import csv
import dataclasses
import math
import sys
import warnings

import numpy as np
import openpyxl
import pandas as pd
import pytest
from ebm_models import COLUMNS, make_model, make_rows
from interpret.glassbox import (
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    merge_ebms,
)

from voile import Category, Number
from voile.errors import MissingExtra, ModelError
from voile.models.ebm.edit import Editor
from voile.models.ebm.export import write_csv, write_excel
from voile.models.ebm.interpret_model import to_interpret
from voile.models.ebm.score_rows import HEADER, ScoreRow, score_table
from voile.privacy.public_rows import encode_public

LINKS = ["identity", "logit", "softmax"]
RISKY = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "'quoted"]


def risky_model():
    """Formulas wherever a name can stand."""
    columns = {"=A1": Number(0, 1), "safe": Category([*RISKY, "-", 'a,b\n"c"', "#N/A", "x\x07y"])}
    return make_model("softmax", columns=columns, target=Category(["=bad()", "good", "-"]))


# -- the table ----------------------------------------------------------------------------------


def test_a_row_says_everything_of_a_score():
    model = make_model()
    age, rank = model["age"], model["rank"]
    rows = {(row.term, row.label): row for row in score_table(model)}
    assert rows["age", "[25, 31.1)"] == ScoreRow(
        term="age",
        label="[25, 31.1)",
        lower=25.0,
        upper=31.1,
        level=None,
        output="yes",
        score=age.scores[1, 0],
        standard_error=age.standard_errors[1, 0],
        count=age.counts[1],
    )
    assert (rows["age", "[71, 90]"].lower, rows["age", "[71, 90]"].upper) == (71.0, 90.0)
    missing = rows["age", "(missing)"]
    assert (missing.lower, missing.upper, missing.score) == (None, None, age.scores[-1, 0])
    assert rows["rank", "2.5"].level == 2.5
    assert rows["rank", "2.5"].lower is None
    other = rows["rank", "(other)"]
    assert (other.level, other.score) == (None, rank.scores[-2, 0])


@pytest.mark.parametrize(("link", "outputs"), [("identity", 1), ("logit", 1), ("softmax", 3)])
def test_every_score_is_in_the_table_once(link, outputs):
    model = make_model(link)
    rows = score_table(model)
    assert len(rows) == sum(term.bins for term in model.terms) * outputs
    assert [row.score for row in rows] == [s for t in model.terms for s in t.scores.ravel()]
    expected = {"identity": {None}, "logit": {"yes"}, "softmax": {"low", "mid", "high"}}
    assert {row.output for row in rows} == expected[link]
    assert all(type(row.score) is float and type(row.count) is float for row in rows)


# -- CSV ----------------------------------------------------------------------------------------


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("link", LINKS)
def test_csv_holds_the_scores_to_the_bit(tmp_path, link):
    model = make_model(link)
    header, *lines = read_csv(write_csv(model, tmp_path / "scores.csv"))
    assert tuple(header) == HEADER
    rows = score_table(model)
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        assert [float(text) for text in line[-3:]] == [row.score, row.standard_error, row.count]
        assert line[2:4] == ["" if end is None else repr(end) for end in (row.lower, row.upper)]
        assert line[5] == ("" if row.output is None else row.output)


def test_csv_holds_no_formula_and_the_text_can_be_had_back(tmp_path):
    model = risky_model()
    _, *lines = read_csv(write_csv(model, tmp_path / "scores.csv"))
    for line, row in zip(lines, score_table(model), strict=True):
        for text in (line[0], line[1], line[4], line[5]):
            assert text.lstrip()[:1] not in tuple("=+-@＝")
            assert text[:1] not in ("\t", "\r")
        restored = [text.removeprefix("'") for text in (line[0], line[1], line[4], line[5])]
        assert restored == [row.term, row.label, row.level or "", row.output]
    assert {line[4] for line in lines} >= {f"'{text}" for text in RISKY}


def test_numbers_in_csv_are_not_touched(tmp_path):
    _, *lines = read_csv(write_csv(make_model(), tmp_path / "scores.csv"))
    levels = [line[4] for line in lines if line[0] == "rank"]
    assert levels == ["3", "1", "-2", "2.5", "", ""]
    assert any(line[6].startswith("-") for line in lines)


# -- Excel --------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_excel_holds_the_scores(tmp_path, link):
    model = make_model(link)
    book = openpyxl.load_workbook(write_excel(model, tmp_path / "scores.xlsx"))
    assert book.sheetnames == ["Scores", "How to read this"]
    sheet = book["Scores"]
    header, *lines = sheet.iter_rows(values_only=True)
    assert [text.lower() for text in header] == list(HEADER)
    for line, row in zip(lines, score_table(model), strict=True):
        for found, expected in zip(line, dataclasses.astuple(row), strict=True):
            is_float = isinstance(expected, float)
            assert found == (pytest.approx(expected, rel=1e-15) if is_float else expected)
    assert sheet.freeze_panes == "A2"
    assert all(9 <= size.width <= 50 for size in sheet.column_dimensions.values())
    assert len(sheet.column_dimensions) == len(HEADER)


def test_excel_holds_no_formula(tmp_path):
    model = Editor(risky_model(), who="=who()").drop("=A1", why="=why()").model
    book = openpyxl.load_workbook(write_excel(model, tmp_path / "scores.xlsx"))
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    marked = {cell.value for cell in cells if cell.quotePrefix}
    assert marked >= {"=1+1", "@SUM(A1)", "=bad()", "-", "=A1", "=who()", "=why()"}
    assert "good" not in marked
    texts = {cell.value for cell in cells}
    assert {"#N/A", "x\\x07y", 'a,b\n"c"'} <= texts
    raw = (tmp_path / "scores.xlsx").read_bytes()
    assert raw[:2] == b"PK"


def test_excel_takes_what_a_sheet_cannot_hold_as_text(tmp_path):
    model = make_model(columns={"id": Category([2**60 + 1, True, -5])})
    errors = np.full((5, 1), math.inf)
    model = model.with_term(dataclasses.replace(model["id"], standard_errors=errors))
    sheet = openpyxl.load_workbook(write_excel(model, tmp_path / "s.xlsx"))["Scores"]
    lines = list(sheet.iter_rows(min_row=2, values_only=True))
    assert [line[4] for line in lines] == [str(2**60 + 1), True, -5, None, None]
    assert {line[7] for line in lines} == {"inf"}


def guide_of(model, path):
    sheet = openpyxl.load_workbook(write_excel(model, path))["How to read this"]
    return [tuple(value for value in line if value is not None) for line in sheet.values]


@pytest.mark.parametrize("link", LINKS)
def test_the_guide_has_an_example_that_is_right(tmp_path, link):
    model = make_model(link)
    lines = guide_of(model, tmp_path / "s.xlsx")
    start = lines.index(("An example: a row in the most frequent bin of every term",))
    example = {line[0]: line[1:] for line in lines[start + 2 :] if line}
    total = np.array(example["intercept"])
    np.testing.assert_allclose(total, model.intercept, rtol=1e-15)
    for term in model.terms:
        label, *scores = example[term.name]
        bin_ = term.labels.index(label)
        assert term.counts[bin_] == term.counts.max()
        np.testing.assert_allclose(scores, term.scores[bin_], rtol=1e-15)
        total = total + scores
    np.testing.assert_allclose(example["sum"], total)
    response = model.respond(total[None])[0]
    if link == "identity":
        assert example["prediction"] == (pytest.approx(response),)
    else:
        shown = [example[f"probability of {name}"][0] for name in model.classes]
        np.testing.assert_allclose(shown, response)
    assert ("Link", link) in lines


def test_the_guide_has_receipt_and_changes(tmp_path):
    model = Editor(make_model(), who="Dr. Weber").drop("age", why="not to be used").model
    lines = guide_of(model, tmp_path / "s.xlsx")
    text = [line[0] for line in lines if line]
    for line in str(model.receipt).splitlines():
        assert line in text
    changes = lines[lines.index(("Changes made by people after training",)) + 1]
    assert changes[1:] == ("Dr. Weber", "age: drop", "not to be used")
    assert "Changes made by people after training" not in [
        line[0] for line in guide_of(make_model(), tmp_path / "t.xlsx") if line
    ]


@pytest.mark.parametrize("write", [write_csv, write_excel])
def test_a_path_that_cannot_be_written_is_an_error_of_voile(tmp_path, write):
    with pytest.raises(ModelError, match="cannot be written"):
        write(make_model(), tmp_path / "nowhere" / "scores")


@pytest.mark.parametrize(
    ("package", "use", "extra"),
    [
        ("openpyxl", lambda folder: write_excel(make_model(), folder / "s.xlsx"), "excel"),
        ("interpret", lambda folder: to_interpret(make_model()), "interpret"),
    ],
)
def test_a_missing_package_names_the_extra(tmp_path, monkeypatch, package, use, extra):
    for name in [one for one in sys.modules if one.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"voile\[{extra}\]"):
        use(tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- interpret ----------------------------------------------------------------------------------


def frame_of(rows):
    return pd.DataFrame({name: pd.Series(values) for name, values in rows.items()})


def objects_of(rows):
    return np.column_stack([np.asarray(values, dtype=object) for values in rows.values()])


@pytest.mark.parametrize("shape", [frame_of, objects_of])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("is_edited", [False, True])
def test_interpret_predicts_the_same(link, shape, is_edited):
    model = make_model(link)
    if is_edited:
        model = Editor(model).set("age", 1.5, between=(20.5, 33.3)).smooth("age").drop("job").model
    machine = to_interpret(model)
    rows = make_rows(500)
    encoded = encode_public(rows, model.schema)
    scores = model.scores(encoded)
    if link == "identity":
        assert isinstance(machine, ExplainableBoostingRegressor)
        predicted = machine.predict(shape(rows))
        np.testing.assert_allclose(predicted, scores[:, 0], atol=1e-9, rtol=0)
        clipped = np.clip(predicted, -3, 3)
        np.testing.assert_allclose(clipped, model.respond(scores), atol=1e-9, rtol=0)
    else:
        assert isinstance(machine, ExplainableBoostingClassifier)
        predicted = machine.predict_proba(shape(rows))
        np.testing.assert_allclose(predicted, model.respond(scores), atol=1e-9, rtol=0)
        best = np.array(model.classes)[model.respond(scores).argmax(axis=1)]
        assert (machine.predict(shape(rows)) == best).all()
        assert machine.classes_.tolist() == list(model.classes)


def test_rows_of_the_test_reach_every_bin():
    model = make_model()
    encoded = encode_public(make_rows(500), model.schema)
    for term in model.terms:
        assert set(term.find_bins(encoded[term.name])) == set(range(term.bins))


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 2, 5],
        [0.0, 1.0, 2.0, np.nan],
        [False, True, True],
        np.array([False, True, None], object),
        np.array([0, 1, 2.0, None, "x"], object),
    ],
)
def test_levels_mean_the_same_whatever_type_the_rows_have(values):
    model = make_model(columns={"x": Category([True, 0, 2.0])})
    rows = pd.DataFrame({"x": values})
    expected = model.respond(model.scores(encode_public(rows, model.schema)))
    np.testing.assert_allclose(to_interpret(model).predict_proba(rows), expected, atol=1e-12)


def test_text_that_is_no_number_is_missing_in_both():
    model = make_model(columns={"age": COLUMNS["age"]})
    rows = pd.DataFrame({"age": np.array(["30", "what", "25", None], object)})
    expected = model.respond(model.scores(encode_public(rows, model.schema)))
    np.testing.assert_allclose(to_interpret(model).predict_proba(rows), expected, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_interpret_explains(link):
    model = make_model(link)
    machine = to_interpret(model)
    everything = machine.explain_global()
    age = everything.data(0)
    assert everything.data()["names"] == list(model.schema)
    np.testing.assert_allclose(np.squeeze(age["scores"]), model["age"].scores[:-1].squeeze())
    assert age["names"][1:-1] == model["age"].cuts.tolist()
    assert (age["names"][0], age["names"][-1]) == (17.0, 90.0)
    np.testing.assert_allclose(age["density"]["scores"], model["age"].counts[:-1])
    width = np.squeeze(np.array(age["upper_bounds"]) - np.array(age["scores"]))
    np.testing.assert_allclose(width, model["age"].standard_errors[:-1].squeeze())
    np.testing.assert_allclose(
        machine.term_importances(), [term.importance.mean() for term in model.terms]
    )
    job = everything.data(1)
    assert job["names"][:4] == list(COLUMNS["job"].levels)
    rows = make_rows(20)
    local = machine.explain_local(frame_of(rows))
    parts = model.contributions(encode_public(rows, model.schema))
    for row in range(20):
        np.testing.assert_allclose(local.data(row)["scores"], np.squeeze(parts[row]), atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_interpret_merges(link):
    one, two = make_model(link), make_model(link, seed=4)
    two = Editor(two).set("age", 0.5, between=(33.3, 44.4)).model
    merged = merge_ebms([to_interpret(one), to_interpret(two)])
    rows = make_rows(300)
    encoded = encode_public(rows, one.schema)
    weights = [np.mean([term.counts.sum() for term in model.terms]) for model in (one, two)]
    expected = np.average([one.scores(encoded), two.scores(encoded)], axis=0, weights=weights)
    if link == "identity":
        np.testing.assert_allclose(merged.predict(frame_of(rows)), expected[:, 0], atol=1e-9)
    else:
        found = merged.predict_proba(frame_of(rows))
        np.testing.assert_allclose(found, one.respond(expected), atol=1e-9)
    merged.explain_global()


def test_a_machine_is_independent_of_the_model():
    model = make_model()
    scores, intercept = model["age"].scores.copy(), model.intercept.copy()
    machine = to_interpret(model)
    machine.bagged_scores_[0][:] = 9.0
    np.testing.assert_array_equal(machine.term_scores_[0][1:-1], scores[:-1, 0])
    machine.scale(0, 0.0)
    machine.term_scores_[1][:] = 0.0
    machine.intercept_ += 5
    np.testing.assert_array_equal(model["age"].scores, scores)
    assert not (model["job"].scores == 0).any()
    np.testing.assert_array_equal(model.intercept, intercept)


def test_a_machine_without_counts_still_explains():
    model = make_model()
    for term in model.terms:
        model = model.with_term(dataclasses.replace(term, counts=np.zeros(term.bins)))
    machine = to_interpret(model)
    np.testing.assert_allclose(
        machine.term_importances()[1], np.abs(model["job"].scores).mean(), rtol=1e-12
    )
    machine.explain_global()


def test_a_machine_can_be_copied_and_stored_as_json():
    machine = to_interpret(make_model("softmax"))
    rows = frame_of(make_rows(30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its format is declared to be a draft
        stored = machine.to_jsonable()
    assert [feature["name"] for feature in stored["ebm"]["features"]] == list(COLUMNS)
    np.testing.assert_array_equal(machine.copy().predict_proba(rows), machine.predict_proba(rows))


def test_what_interpret_cannot_tell_apart_is_refused():
    with pytest.raises(ModelError, match="two levels with the text '1'"):
        to_interpret(make_model(columns={"x": Category([1, "1"])}))
    with pytest.raises(ModelError, match="three classes"):
        to_interpret(make_model("softmax", target=Category(["a", "b"])))


def test_classes_keep_their_types():
    for classes in ([False, True], [3, 1], ["b", "a"], ["a", 1], [0.5, 2]):
        model, rows = make_model(target=Category(classes)), make_rows(40)
        middle = np.median(model.scores(encode_public(rows, model.schema)))
        machine = to_interpret(dataclasses.replace(model, intercept=model.intercept - middle))
        found = machine.predict(frame_of(rows)).tolist()
        assert set(found) == set(classes)
        assert {type(one) for one in found} <= {type(one) for one in classes}
