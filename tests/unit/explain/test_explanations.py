"""Explanations are the model's own numbers, in every form alike."""

import datetime as dt
import json
import math
import sys
import types
import webbrowser
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from explained_models import (
    CENSUS_ROWS,
    category_term,
    census_model,
    classes_model,
    make_model,
    number_term,
    price_model,
)

from voile.codec import decode
from voile.errors import DataError, MissingExtra, SettingError
from voile.explain import EBMExplanation, EBMLocalExplanation, ExplainedTerm, Explanation
from voile.explain.ebm.local import BASE
from voile.explain.explanation import EXPLANATION
from voile.explaining import explain_global, explain_local
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number, Unit

CLASS_ROWS = {
    "age": [50, None, 12],
    "days in hospital": [4, 600, 2001],
    "reason for admission as the referring physician wrote it": ["stroke", "fracture", "?"],
}
PRICE_ROWS = {"area": [100.123456789], "built": [1990], "town": ["Town of Saint B1 upon the River"]}
CASES = [
    pytest.param(census_model(), CENSUS_ROWS, id="two classes"),
    pytest.param(census_model(math.inf), CENSUS_ROWS, id="no noise"),
    pytest.param(classes_model(3), CLASS_ROWS, id="three classes"),
    pytest.param(classes_model(10), CLASS_ROWS, id="ten classes"),
    pytest.param(price_model(), PRICE_ROWS, id="numbers"),
]


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_contributions_add_up_to_the_scores(model, rows):
    told = explain_local(model, rows)
    columns = encode_public(rows, model.schema)
    count = len(next(iter(rows.values())))
    assert told.values.shape == (count, len(model.terms), model.outputs)
    assert told.standard_errors.shape == told.values.shape
    scores = told.base_values + told.values.sum(axis=1)
    assert np.allclose(scores, model.scores(columns), rtol=0, atol=1e-9)
    assert np.array_equal(told.scores, model.scores(columns))
    assert np.array_equal(told.predictions, model.respond(told.scores))
    squares = model.intercept_errors**2 + (told.standard_errors**2).sum(axis=1)
    assert np.allclose(told.score_errors**2, squares)
    assert len(told) == count
    assert told.receipt is model.receipt


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_global_explanation_holds_the_models_numbers(model, rows):
    whole = explain_global(model)
    assert [term.name for term in whole.terms] == [term.name for term in model.terms]
    for told, term in zip(whole.terms, model.terms, strict=True):
        for name in ("scores", "standard_errors", "counts", "count_errors", "importance"):
            assert np.array_equal(getattr(told, name), getattr(term, name))
        assert len(told.labels) == len(set(told.labels)) == term.bins
        if told.kind == "number":
            assert np.array_equal(told.edges, term.edges)
        else:
            assert told.labels == term.labels
    sizes = [float(term.importance.sum()) for term in whole.ranked]
    assert sizes == sorted(sizes, reverse=True)
    assert np.array_equal(whole.intercept, model.intercept)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_storage_changes_nothing(model, rows):
    for one in (explain_global(model), explain_local(model, rows)):
        assert isinstance(one, Explanation)
        data = one.to_dict()
        for read in (type(one), Explanation):
            back = read.from_dict(json.loads(one.to_json()))
            assert type(back) is type(one)
            assert back.to_dict() == data
        assert type(one).from_json(one.to_json(indent=None)).to_dict() == data
        assert data["cost"].startswith("costs nothing")


def test_names_and_units_of_outputs():
    assert explain_global(census_model()).outputs == (">50K",)
    assert explain_global(census_model()).units == "log-odds"
    assert explain_global(classes_model(3)).outputs == ("home", "rehabilitation", "nursing home")
    assert explain_global(price_model()).units == "the target's unit"
    told = explain_local(census_model(), CENSUS_ROWS)
    assert told.classes == ("<=50K", ">50K")
    assert told.predictions.shape == (4, 2)
    assert explain_local(price_model(), PRICE_ROWS).predictions.shape == (1,)


def test_rows_are_told_as_they_were_given():
    told = explain_local(census_model(), CENSUS_ROWS)
    at = told.features.index
    assert [row[at("age")] for row in told.given] == ["39", "52", "(missing)", "120"]
    assert [row[at("age")] for row in told.read_as] == ["", "", "", "90"]
    assert [row[at("workclass")] for row in told.given][2:] == ["(missing)", "Pirate"]
    assert [row[at("workclass")] for row in told.read_as] == ["", "", "", "(other)"]
    assert [row[at("fnlwgt")] for row in told.given][2] == "100000.25"


def test_dates_truth_values_and_unreadable_values_are_told():
    day = dt.datetime(2024, 1, 31)
    seconds = day.replace(tzinfo=dt.UTC).timestamp()
    terms = [
        number_term("when", [seconds], seconds - 1e6, seconds + 1e6, lambda s: 1.0),
        category_term("member", [False, True], [0.1, 0.2], [1, 2]),
        number_term("size", [1], 0, 2, lambda s: s),
    ]
    model = make_model(terms, Number(0, 1), "identity")
    frame = pd.DataFrame(
        {"when": [day, None], "member": [True, False], "size": ["1.25", "large"]},
    )
    told = explain_local(model, frame)
    assert told.given == (("2024-01-31", "True", "1.25"), ("(missing)", "False", "large"))
    assert told.read_as == (("", "", ""), ("", "", "(missing)"))
    told = explain_local(model, [[day, b"yes", math.inf]])
    assert told.given == (("2024-01-31", "(unreadable)", "2"),)
    assert told.read_as == (("", "(other)", ""),)


def test_all_forms_of_rows_give_the_same_explanation():
    model = census_model()
    rows = {name: values[:2] for name, values in CENSUS_ROWS.items()}
    forms = [
        rows,
        pd.DataFrame(rows),
        pl.DataFrame(rows),
        [list(row) for row in zip(*rows.values(), strict=True)],
    ]
    seen = [explain_local(model, form).to_dict() for form in forms]
    assert all(one == seen[0] for one in seen)


def test_rows_need_not_say_whose_they_are():
    model = price_model()
    model = replace(model, schema=model.schema.with_unit(Unit("owner", rows=3)))
    assert len(explain_local(model, PRICE_ROWS)) == 1


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows_keep_three_dimensions(count):
    rows = {name: values[:count] for name, values in CENSUS_ROWS.items()}
    told = explain_local(census_model(), rows)
    assert told.values.shape == (count, 14, 1)
    assert told.scores.shape == (count, 1)
    assert told.predictions.shape == (count, 2)
    assert EBMLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()
    assert f"explained: {count}." in str(told)


def test_rows_can_be_picked():
    told = explain_local(census_model(), CENSUS_ROWS)
    assert np.array_equal(told[2].values, told.values[2:3])
    assert told[-1].given == told.given[3:]
    assert len(told[1:3]) == 2
    assert [len(one) for one in told] == [1, 1, 1, 1]
    with pytest.raises(IndexError):
        told[4]


def test_all_missing_rows():
    model = census_model()
    told = explain_local(model, {name: [None] for name in CENSUS_ROWS})
    assert set(told.given[0]) == {"(missing)"}
    for j, term in enumerate(model.terms):
        assert told.values[0, j, 0] == term.scores[-1, 0]


def test_only_edited_terms_carry_what_was_trained():
    model = census_model()
    whole = explain_global(model)
    edited = {term.name for term in whole.terms if term.original is not None}
    assert edited == {"capital-gain", "native-country"}
    assert np.array_equal(whole["capital-gain"].original, model.original["capital-gain"].scores)
    assert [one.why for one in whole.edits] == [one.why for one in model.edits]


def test_what_was_trained_is_known_even_if_an_edit_cut_the_bins():
    model = price_model()
    was = model["area"]
    cut = int(np.searchsorted(was.cuts, 47.0))
    scores = np.insert(was.scores, cut, 0.0, axis=0)
    finer = replace(
        was,
        cuts=np.insert(was.cuts, cut, 47.0),
        scores=scores,
        standard_errors=np.insert(was.standard_errors, cut, 0.0, axis=0),
        counts=np.insert(was.counts, cut, 1.0),
        count_errors=np.insert(was.count_errors, cut, 1.0),
    )
    term = explain_global(replace(model.with_term(finer), original=model))["area"]
    edges = term.edges
    for i in range(term.regular):
        middle = np.array([(edges[i] + edges[i + 1]) / 2])
        assert term.original[i, 0] == was.scores[was.find_bins(middle)[0], 0]
    assert term.original[-1, 0] == was.scores[-1, 0]
    assert np.array_equal(term.scores, scores)


def test_noise_alone_is_told_beside_importance():
    generator = np.random.default_rng(0)
    term = explain_global(census_model())["age"]
    draws = generator.normal(0, term.standard_errors[:, 0], (20_000, len(term.labels)))
    expected = (np.abs(draws) @ term.counts / term.counts.sum()).mean()
    assert term.null_importance[0] == pytest.approx(expected, rel=0.02)


def test_infinite_errors_are_unknown_noise():
    term = price_model()["area"]
    errors = term.standard_errors.copy()
    errors[[0, -1]] = math.inf
    model = price_model().with_term(replace(term, standard_errors=errors))
    whole = explain_global(model)
    assert whole["area"].null_importance[0] == math.inf
    assert EBMExplanation.from_json(whole.to_json()).to_dict() == whole.to_dict()
    back = EBMExplanation.from_json(whole.to_json())["area"]
    assert np.array_equal(back.standard_errors, errors)
    told = explain_local(model, {"area": [20.0], "built": [1990], "town": [None]})
    assert "± unknown" in str(told)


def test_frames_are_tidy():
    model = classes_model(3)
    whole = explain_global(model).to_frame()
    assert len(whole) == sum(term.bins for term in model.terms) * 3
    assert list(whole.columns[:6]) == ["term", "kind", "bin", "lower", "upper", "output"]
    one = whole[(whole.term == "age") & (whole.output == "home") & (whole.lower == 20.0)]
    assert one.score.item() == model["age"].scores[1, 0]
    told = explain_local(model, CLASS_ROWS)
    frame = told.to_frame()
    assert len(frame) == 3 * 4 * 3
    assert set(frame.feature) == {*told.features, BASE}
    sums = frame.groupby(["row", "output"], sort=False).contribution.sum().to_numpy()
    assert np.allclose(sums.reshape(3, 3), told.scores, atol=1e-9)


def test_a_missing_pandas_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pandas"):
        explain_global(price_model()).to_frame()


def test_text_is_readable():
    text = str(explain_global(census_model()))
    assert "Model of 14 terms: log-odds of '>50K'" in text
    assert text.index("education-num") < text.index("fnlwgt")
    assert "edited 2 times" in text
    assert "differential privacy for one row" in text
    told = str(explain_local(census_model(), CENSUS_ROWS))
    assert "Row 1 of 4: '<=50K' with probability 74 %" in told
    assert "120, read as 90" in told
    assert "costs nothing" in told
    assert max(map(len, told.splitlines())) <= 100
    many = explain_local(price_model(), {name: values * 9 for name, values in PRICE_ROWS.items()})
    assert "4 more rows" in str(many)
    assert "299,286 (noise alone: ± " in str(many)
    for one in (text, told, str(many), str(explain_global(classes_model(10)))):
        assert not any(len(word.strip("-+0.,()")) > 12 for word in one.split() if "0." in word)


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_terminal_shows_tables(model, rows, capsys):
    explain_global(model).show()
    explain_local(model, rows).show()
    seen = capsys.readouterr().out
    assert "█" in seen
    assert model.receipt.guarantee[:30] in seen
    for term in explain_global(model).ranked:
        assert term.name[:12] in seen
    assert max(map(len, seen.splitlines())) <= 80


def test_markup_in_names_is_shown_as_it_is(capsys):
    term = category_term("[red]name", ["[bold]level", "b"], [0.5, -0.5], [10, 20])
    model = make_model([term], Category(["no", "yes"]), "logit")
    explain_global(model).show()
    explain_local(model, {"[red]name": ["[bold]level"]}).show()
    seen = capsys.readouterr().out
    assert "[red]name" in seen
    assert "[bold]level" in seen


def test_a_browser_opens_only_if_asked(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    explain_global(price_model()).show()
    assert opened == []
    explain_global(price_model()).show(browser=True)
    path = Path(opened[0].removeprefix("file://"))
    assert "What the model does" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0
    path.unlink()


def test_a_notebook_shows_the_figure(monkeypatch, capsys):
    shell, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    shown = []
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    shell.display, display.display = display, shown.append
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    told = explain_local(price_model(), PRICE_ROWS)
    told.show()
    assert shown == [told]
    assert capsys.readouterr().out == ""
    shell.get_ipython = lambda: None  # IPython is loaded, but this is no notebook
    told.show()
    assert shown == [told]
    assert "score" in capsys.readouterr().out


def test_records_cannot_be_changed():
    whole = explain_global(census_model())
    with pytest.raises(FrozenInstanceError):
        whole.units = "other"
    with pytest.raises(ValueError, match="read-only"):
        whole["age"].scores[0, 0] = 1.0
    with pytest.raises(KeyError):
        whole["nothing"]


def test_wrong_data_are_refused():
    whole = explain_global(price_model()).to_dict()
    told = explain_local(price_model(), PRICE_ROWS).to_dict()
    with pytest.raises(DataError, match="format 2"):
        EBMExplanation.from_dict({**whole, "format": 2})
    with pytest.raises(DataError, match="no EBMExplanation"):
        EBMExplanation.from_dict(told)
    with pytest.raises(DataError, match="shape"):
        EBMLocalExplanation.from_dict({**told, "scores": [[1.0, 2.0]]})
    with pytest.raises(DataError, match="numbers"):
        EBMLocalExplanation.from_dict({**told, "values": [[["a"]] * 3]})
    with pytest.raises(DataError, match="has no 'given'"):
        Explanation.from_dict({name: value for name, value in told.items() if name != "given"})
    for text in ("{", "[]"):
        with pytest.raises(DataError, match="JSON"):
            Explanation.from_json(text)
    term = whole["terms"][0]
    with pytest.raises(DataError, match="edges"):
        decode(ExplainedTerm, {**term, "edges": term["edges"][1:]}, EXPLANATION)
    with pytest.raises(DataError, match="kind"):
        decode(ExplainedTerm, {**term, "kind": "picture"}, EXPLANATION)


def test_what_cannot_be_explained_is_said():
    with pytest.raises(SettingError, match="EBMModel"):
        explain_global(object())
    with pytest.raises(SettingError, match="int"):
        explain_local(3, PRICE_ROWS)
