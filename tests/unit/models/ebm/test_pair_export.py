"""Exported pairs hold every cell, no text becomes a formula, and interpret agrees with us."""

import csv
import dataclasses
import warnings

import numpy as np
import openpyxl
import pandas as pd
import pytest
from ebm_models import COLUMNS, PAIRS, make_model, make_rows
from interpret.glassbox import merge_ebms
from scipy.special import expit

from voile import Category, Date, Number
from voile.models.ebm.edit import Editor
from voile.models.ebm.export import write_csv, write_excel
from voile.models.ebm.interpret_model import to_interpret
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.models.ebm.score_rows import HEADER, PAIR_HEADER, pair_table, score_table
from voile.privacy.public_rows import encode_public

LINKS = ["identity", "logit", "softmax"]
ALL_PAIRS = (*PAIRS, ("job", "rank"), ("pay", "flag"))
RISKY = ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", " =1", "'quoted"]


def paired(link="logit"):
    return make_model(link, pairs=ALL_PAIRS)


def turned(pair):
    """The same pair with its sides the other way round."""
    tables = ("scores", "standard_errors", "counts", "count_errors", "whole_errors")
    return dataclasses.replace(
        pair,
        first=pair.second,
        second=pair.first,
        evidence=None,
        **{name: np.swapaxes(getattr(pair, name), 0, 1) for name in tables},
    )


def edited(link="logit"):
    """Cuts that differ between pairs, levels that left their part, and a pair turned round."""
    model = paired(link)
    model = dataclasses.replace(model, pairs=(turned(model.pairs[0]), *model.pairs[1:]))
    editor = Editor(model)
    editor.set(("age", "job"), 0.7, where={"age": (33.3, 44.4), "job": ["nurse", None]})
    editor.smooth(("age", "pay"), 2.0, where={"age": (20, 50)}).drop(("job", "rank"))
    return editor.set("age", 1.5, between=(20.5, 33.3)).model


def risky():
    """Formulas wherever a name can stand."""
    columns = {"=A1": Number(0, 1), "@b": Category(RISKY)}
    base = make_model("softmax", columns=columns, target=Category(["=bad()", "good", "-"]))
    number, category = columns.values()
    groups = np.array([0, 0, *range(1, len(RISKY) - 1), 0, 0])
    axes = (
        PairAxis("=A1", number, np.array([0.5]), np.empty(0, dtype=np.int64)),
        PairAxis("@b", category, np.empty(0), groups),
    )
    shape = axes[0].parts, axes[1].parts
    cells = np.ones((*shape, 3))
    return dataclasses.replace(
        base, pairs=(PairTerm(*axes, cells, cells, np.ones(shape), np.ones(shape)),)
    )


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


# -- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
def test_every_cell_is_in_the_table_once(link):
    model = edited(link)
    rows = pair_table(model)
    assert [row.score for row in rows] == [s for pair in model.pairs for s in pair.scores.ravel()]
    assert {row.pair for row in rows} == {pair.name for pair in model.pairs}
    assert all(type(row.score) is float and type(row.count) is float for row in rows)


def test_a_row_says_everything_of_a_cell():
    model = paired()
    pair = model.pairs[0]
    rows = {(row.pair, row.label, row.second_label): row for row in pair_table(model)}
    row = rows["age & job", "[31.1, 45)", "clerk"]
    assert (row.lower, row.upper, row.levels) == (31.1, 45.0, None)
    assert (row.second_lower, row.second_upper, row.second_levels) == (None, None, "clerk")
    assert (row.score, row.count) == (pair.scores[1, 0, 0], pair.counts[1, 0])
    assert row.standard_error == pair.whole_errors[1, 0, 0]
    assert row.output == "yes"
    missing = rows["age & job", "(missing)", "(other), (missing)"]
    assert (missing.lower, missing.second_levels) == (None, "(other), (missing)")
    assert rows["flag & rank", "True", "(other)"].levels is True
    assert rows["flag & rank", "True", "(other)"].second_levels is None
    many = [row.second_levels for row in rows.values() if row.pair == "flag & rank"]
    assert "1, 2.5" in many


def test_all_levels_of_a_part_are_listed():
    columns = {"x": Number(0, 1), "c": Category(list("abcdef"))}
    base = make_model(columns=columns)
    axes = (
        PairAxis("x", columns["x"], np.empty(0), np.empty(0, dtype=np.int64)),
        PairAxis("c", columns["c"], np.empty(0), np.array([0, 0, 0, 0, 0, 0, 1, 1])),
    )
    cells = np.ones((2, 2))
    pair = PairTerm(*axes, cells[..., None], cells[..., None], cells, cells)
    row = pair_table(dataclasses.replace(base, pairs=(pair,)))[0]
    assert row.second_levels == "a, b, c, d, e, f"
    assert row.second_label == "a, b, c and 3 more"


def test_ends_of_dates_are_text():
    columns = {"day": Date("2020-01-01", "2020-12-31"), "x": Number(0, 1)}
    base = make_model(columns=columns)
    axes = [
        PairAxis(name, column, np.empty(0), np.empty(0, dtype=np.int64))
        for name, column in columns.items()
    ]
    cells = np.ones((2, 2))
    pair = PairTerm(*axes, cells[..., None], cells[..., None], cells, cells)
    rows = pair_table(dataclasses.replace(base, pairs=(pair,)))
    assert rows[0].lower.startswith("2020-01-01")
    assert rows[-1].lower is None


@pytest.mark.parametrize("link", LINKS)
def test_csv_holds_pairs_to_the_bit(tmp_path, link):
    model = edited(link)
    header, *lines = read_csv(write_csv(model, tmp_path / "scores.csv"))
    assert tuple(header[: len(HEADER)]) == HEADER
    assert header[len(HEADER) :] == ["second bin", "second from", "second to", "second level"]
    columns, pairs = score_table(model), pair_table(model)
    assert len(lines) == len(columns) + len(pairs)
    assert {len(line) for line in lines} == {len(header)}
    for line in lines[: len(columns)]:
        assert line[len(HEADER) :] == [""] * 4
    for line, row in zip(lines[len(columns) :], pairs, strict=True):
        assert line[0] == row.pair
        assert [float(text) for text in line[6:9]] == [row.score, row.standard_error, row.count]
        for found, end in (
            (line[2], row.lower),
            (line[3], row.upper),
            (line[10], row.second_lower),
            (line[11], row.second_upper),
        ):
            assert found == ("" if end is None else repr(end))


def test_without_pairs_the_table_is_as_before(tmp_path):
    header, *_ = read_csv(write_csv(make_model(), tmp_path / "scores.csv"))
    assert tuple(header) == HEADER
    book = openpyxl.load_workbook(write_excel(make_model(), tmp_path / "scores.xlsx"))
    assert book.sheetnames == ["Scores", "How to read this"]


def test_no_text_of_a_pair_becomes_a_formula(tmp_path):
    model = Editor(risky()).drop(("=A1", "@b"), why="=why()").model
    for line in read_csv(write_csv(model, tmp_path / "scores.csv"))[1:]:
        for text in (*line[:6], *line[9:]):
            safe = text.lstrip()[:1] not in tuple("=+-@") and text[:1] not in ("\t", "\r")
            assert safe or text.removeprefix("-").replace(".", "").isdigit()
    book = openpyxl.load_workbook(write_excel(model, tmp_path / "scores.xlsx"))
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    marked = {cell.value for cell in cells if cell.quotePrefix}
    assert {"=A1 & @b", "=bad()", "=why()", "-1+1"} <= marked


@pytest.mark.parametrize("link", LINKS)
def test_excel_holds_pairs_on_a_sheet_of_their_own(tmp_path, link):
    model = edited(link)
    book = openpyxl.load_workbook(write_excel(model, tmp_path / "scores.xlsx"))
    assert book.sheetnames == ["Scores", "Pairs", "How to read this"]
    header, *lines = book["Pairs"].iter_rows(values_only=True)
    assert [text.lower() for text in header] == list(PAIR_HEADER)
    for line, row in zip(lines, pair_table(model), strict=True):
        for found, expected in zip(line, dataclasses.astuple(row), strict=True):
            is_float = isinstance(expected, float)
            assert found == (pytest.approx(expected, rel=1e-15) if is_float else expected)
    assert book["Pairs"].freeze_panes == "A2"
    assert len(list(book["Scores"].iter_rows())) == len(score_table(model)) + 1


def test_the_worked_example_adds_up_with_pairs(tmp_path):
    model = edited()
    book = openpyxl.load_workbook(write_excel(model, tmp_path / "scores.xlsx"))
    lines = list(book["How to read this"].iter_rows(values_only=True))
    texts = [line[0] for line in lines]
    assert any("terms and pairs" in str(text) for text in texts)
    start, end = texts.index("intercept"), texts.index("sum")
    assert texts[start + 1 : end] == list(model.parts)
    total = sum(line[2] for line in lines[start:end])
    assert lines[end][2] == pytest.approx(total)
    probability = next(line[1] for line in lines if line[0] == "probability of yes")
    assert probability == pytest.approx(expit(total))
    # The cell is the one that the row of the example is in.
    cells = dict(line[:2] for line in lines[start + 1 : end])
    row = {}
    for name, column in COLUMNS.items():
        term = model[name]
        bin_ = term.labels.index(cells[name])
        if isinstance(column, Category):
            row[name] = np.array([bin_], dtype=np.int32)
        else:
            row[name] = np.array([term.edges[bin_ : bin_ + 2].mean()])
    assert lines[end][2] == pytest.approx(model.scores(row)[0, 0])


# -- interpret ----------------------------------------------------------------------------------


def shown(rows):
    return pd.DataFrame({name: pd.Series(values) for name, values in rows.items()})


@pytest.mark.parametrize("make", [paired, edited])
@pytest.mark.parametrize("link", LINKS)
def test_interpret_predicts_the_same(link, make):
    model = make(link)
    machine = to_interpret(model)
    rows = make_rows(2000)
    scores = model.scores(encode_public(rows, model.schema))
    if link == "identity":
        np.testing.assert_allclose(machine.predict(shown(rows)), scores[:, 0], atol=1e-9, rtol=0)
    else:
        found = machine.predict_proba(shown(rows))
        np.testing.assert_allclose(found, model.respond(scores), atol=1e-9, rtol=0)
    assert list(machine.term_names_) == list(model.parts)


def test_rows_of_the_test_reach_most_cells():
    model = edited()
    encoded = encode_public(make_rows(2000), model.schema)
    for pair in model.pairs:
        cells = set(zip(*pair.find_cells(*(encoded[n] for n in pair.columns)), strict=True))
        assert len(cells) > 0.9 * pair.counts.size


def test_interpret_cannot_draw_pairs_of_three_classes():
    machine = to_interpret(paired("softmax"))
    with pytest.warns(UserWarning, match="multinomial interactions"):
        machine.explain_global()


@pytest.mark.parametrize("link", ["identity", "logit"])
def test_interpret_explains_pairs(link):
    model = paired(link)
    machine = to_interpret(model)
    expected = [term.importance.mean() for term in model.terms]
    expected += [pair.importance.mean() for pair in model.pairs]
    np.testing.assert_allclose(machine.term_importances(), expected)
    everything = machine.explain_global()
    names = everything.data()["names"]
    assert names == [*model.schema, *(pair.name for pair in model.pairs)]
    for position in range(len(names)):
        assert everything.data(position) is not None
    drawn = everything.data(len(model.terms) + 1)
    assert drawn["type"] == "interaction"
    assert np.squeeze(drawn["scores"]).shape[:2] == (4, 3)
    local = machine.explain_local(shown(make_rows(20)))
    parts = model.contributions(encode_public(make_rows(20), model.schema))
    for row in range(20):
        np.testing.assert_allclose(local.data(row)["scores"], np.squeeze(parts[row]), atol=1e-12)


def test_weights_of_split_cells_add_up():
    model = edited()
    machine = to_interpret(model)
    for pair, weights in zip(model.pairs, machine.bin_weights_[len(model.terms) :], strict=True):
        assert weights.sum() == pytest.approx(pair.counts.sum())


@pytest.mark.parametrize("link", LINKS)
def test_interpret_merges_pairs(link):
    one, two = paired(link), make_model(link, seed=4, pairs=ALL_PAIRS)
    merged = merge_ebms([to_interpret(one), to_interpret(two)])
    rows = make_rows(300)
    encoded = encode_public(rows, one.schema)
    machines = [to_interpret(model) for model in (one, two)]
    weights = [machine.bag_weights_[0] for machine in machines]
    expected = np.average([one.scores(encoded), two.scores(encoded)], axis=0, weights=weights)
    if link == "identity":
        np.testing.assert_allclose(merged.predict(shown(rows)), expected[:, 0], atol=1e-9)
    else:
        found = merged.predict_proba(shown(rows))
        np.testing.assert_allclose(found, one.respond(expected), atol=1e-9)


def test_a_machine_with_pairs_is_independent_and_can_be_stored():
    model = paired("softmax")
    before = model.pairs[0].scores.copy()
    machine = to_interpret(model)
    rows = shown(make_rows(30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its format is declared to be a draft
        stored = machine.to_jsonable()
    assert len(stored["ebm"]["terms"]) == len(model.parts)
    np.testing.assert_array_equal(machine.copy().predict_proba(rows), machine.predict_proba(rows))
    for table in (machine.term_scores_[-1], machine.bagged_scores_[5], machine.bin_weights_[5]):
        table[...] = 9.0
    np.testing.assert_array_equal(model.pairs[0].scores, before)


def test_pairs_without_counts_still_explain():
    model = paired()
    for pair in model.pairs:
        model = model.with_pair(dataclasses.replace(pair, counts=np.zeros_like(pair.counts)))
    machine = to_interpret(model)
    assert np.isfinite(machine.term_importances()).all()
    machine.explain_global()
