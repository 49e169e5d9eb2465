"""Pairs of columns in explanations of additive models: as data, as verdicts and as text."""

from dataclasses import replace

import numpy as np
import pytest
from ebm_models import COLUMNS, make_model, make_rows
from random_pairs import make_pair, with_evidence, with_pairs

from voile.codec import decode
from voile.errors import DataError, SchemaError, SettingError
from voile.explain import EBMExplanation, EBMLocalExplanation
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.ebm.text import extremes
from voile.explain.explanation import EXPLANATION
from voile.explaining import explain_global, explain_local
from voile.models.ebm.evidence import TermEvidence
from voile.models.history import Edit
from voile.models.verdict import NOTHING, allow_for_many
from voile.privacy.public_rows import encode_public

LINKS = ["logit", "softmax", "identity"]
NAMES = [("age", "job"), ("pay", "age"), ("flag", "rank")]
EDIT = Edit("set", "pay & age", {}, "why", "ada", "2026-02-01T09:00:00+00:00")


def paired(link="logit", **more):
    return with_pairs(make_model(link), *NAMES, **more)


def judged_term(term, size):
    rng = np.random.default_rng(1)
    shape = term.scores.shape
    evidence = TermEvidence(
        estimates=size * 0.1 * rng.normal(size=shape),
        sampling_variances=np.full(shape, 0.01),
        noise_scales=np.full(shape, 0.001),
        noise_length=0.0,
        noise_plain=1.0,
        prior=1.0,
    )
    return replace(term, evidence=evidence, whole_errors=1.5 * term.standard_errors)


def judged(sizes=(20, 20, 0.1, 20, 20), pair_sizes=(20, 0.1, 20), link="logit"):
    model = paired(link)
    return replace(
        model,
        terms=tuple(map(judged_term, model.terms, sizes)),
        pairs=tuple(map(with_evidence, model.pairs, pair_sizes)),
        whole_intercept_errors=1.5 * model.intercept_errors,
    )


@pytest.mark.parametrize("link", LINKS)
def test_contributions_with_those_of_pairs_add_up_to_the_scores(link):
    model, rows = paired(link), make_rows(300)
    columns = encode_public(rows, model.schema)
    told = explain_local(model, rows)
    assert told.features == (*COLUMNS, "age & job", "pay & age", "flag & rank")
    assert np.array_equal(told.scores, model.scores(columns))
    assert np.allclose(told.base_values + told.values.sum(axis=1), told.scores, rtol=0, atol=1e-12)
    squares = model.intercept_errors**2 + (told.standard_errors**2).sum(axis=1)
    assert np.allclose(told.score_errors**2, squares)
    for j, pair in enumerate(model.pairs, len(model.terms)):
        first, second = (side.find(columns[side.name]) for side in (pair.first, pair.second))
        for i in range(0, 300, 7):
            assert np.array_equal(told.values[i, j], pair.scores[first[i], second[i]])
            assert np.array_equal(told.standard_errors[i, j], pair.errors[first[i], second[i]])


def test_rows_tell_both_values_of_a_pair_and_how_they_were_read():
    rows = {
        "age": [30, 200, None],
        "job": ["nurse", "nurse", "pilot"],
        "pay": [0.5, 1, 9],
        "flag": [True, False, None],
        "rank": [3, 7, 1],
    }
    told = explain_local(paired(), rows)
    at = told.features.index
    assert [row[at("age & job")] for row in told.given] == [
        "30 & nurse",
        "200 & nurse",
        "(missing) & pilot",
    ]
    assert [row[at("age & job")] for row in told.read_as] == [
        "",
        "90 & nurse",
        "(missing) & (other)",
    ]
    assert [row[at("pay & age")] for row in told.read_as] == ["", "1 & 90", "2.5 & (missing)"]
    assert "200 & nurse, read as 90 & nur" in str(told)
    assert EBMLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()
    assert told[1].given == told.given[1:2]


def test_no_rows_at_all_are_explained():
    told = explain_local(paired("softmax"), {name: [] for name in COLUMNS})
    assert told.values.shape == told.standard_errors.shape == (0, 8, 3)
    assert EBMLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()


@pytest.mark.parametrize("link", LINKS)
def test_a_global_explanation_holds_the_pairs_numbers(link):
    model = paired(link)
    whole = explain_global(model)
    assert [pair.name for pair in whole.pairs] == [pair.name for pair in model.pairs]
    assert whole.ranked == tuple(sorted(whole.terms, key=lambda one: -one.importance.sum()))
    sizes = [part.importance.sum() for part in whole.ranked_parts]
    assert len(sizes) == 8
    assert sizes == sorted(sizes, reverse=True)
    for told, pair in zip(whole.pairs, model.pairs, strict=True):
        for name in ("scores", "standard_errors", "counts", "count_errors", "importance"):
            assert np.array_equal(getattr(told, name), getattr(pair, name))
        for side, axis in ((told.first, pair.first), (told.second, pair.second)):
            assert side.name == axis.name
            assert side.labels == axis.labels
            assert np.array_equal(side.edges, axis.edges)
        assert told.original is None
    back = EBMExplanation.from_json(whole.to_json())
    assert back.to_dict() == whole.to_dict()
    assert str(back) == str(whole)
    frame = whole.to_frame()
    cells = frame[(frame.kind == "pair") & (frame.term == "age & job")]
    assert len(cells) == model.pairs[0].scores.size
    assert cells.score.tolist() == model.pairs[0].scores.ravel().tolist()


def test_pairs_are_found_by_both_names_in_any_order():
    whole = explain_global(paired())
    for name in ("age & job", "job & age", ("age", "job"), ("job", "age")):
        assert whole[name] is whole.pairs[0]
    assert whole["age"] is whole.terms[0]
    for name in ("age & flag", ("age", "flag"), ("age",), "age &", ("age", "age")):
        with pytest.raises(KeyError):
            whole[name]


def test_verdicts_allow_for_all_columns_and_pairs_together():
    model = judged()
    whole = explain_global(model)
    parts = (*model.terms, *model.pairs)
    expected = allow_for_many([part.evidence.p_value() for part in parts])
    assert [part.p_value for part in whole.parts] == expected.tolist()
    assert [part.verdict for part in whole.parts].count("clear") == 6
    assert [term.name for term in whole.nothing] == ["pay"]
    assert [pair.name for pair in whole.nothing_together] == ["pay & age"]
    assert [part.is_nothing for part in whole.ranked_parts] == 6 * [False] + 2 * [True]
    assert whole.shown_parts == whole.ranked_parts[:6]
    alone = explain_global(replace(model, pairs=()))
    # Of five p-values the third smallest counts three times, of eight six times.
    assert alone["age"].p_value < whole["age"].p_value
    assert whole.whole
    assert whole.pairs[0].standard_errors is not None
    assert np.array_equal(whole.pairs[0].noise_errors, model.pairs[0].standard_errors)
    half = replace(model.pairs[0], whole_errors=None)
    assert not explain_global(model.with_pair(half)).whole
    assert not explain_local(model.with_pair(half), make_rows(3)).whole
    assert explain_local(model, make_rows(3)).whole


def test_what_people_changed_in_a_pair_is_edited_and_keeps_what_was_trained():
    model = judged()
    pair = model.pair("age", "pay")
    flat = replace(pair, scores=0 * pair.scores)
    whole = explain_global(replace(model.with_pair(flat), original=model, edits=(EDIT,)))
    assert whole["pay & age"].verdict == "edited"
    assert np.isnan(whole["pay & age"].p_value)
    assert np.array_equal(whole["pay & age"].original, pair.scores)
    assert whole["age & job"].original is None
    assert whole["age & job"].verdict == "clear"
    assert EBMExplanation.from_json(whole.to_json()).to_dict() == whole.to_dict()
    told = whole.to_frame()
    assert told[told.term == "pay & age"].original.tolist() == pair.scores.ravel().tolist()


def test_what_was_trained_is_known_in_finer_cells():
    model = paired()
    pair = model.pairs[0]  # age & job
    finer = replace(
        pair,
        first=replace(pair.first, cuts=np.array([20.0, *pair.first.cuts])),
        scores=np.concatenate([pair.scores[:1] + 5, pair.scores]),
        standard_errors=np.concatenate([pair.standard_errors[:1], pair.standard_errors]),
        counts=np.concatenate([pair.counts[:1], pair.counts]),
        count_errors=np.concatenate([pair.count_errors[:1], pair.count_errors]),
    )
    told = explain_global(replace(model.with_pair(finer), original=model)).pairs[0]
    assert told.verdict == "edited"
    assert np.array_equal(told.original, np.concatenate([pair.scores[:1], pair.scores]))


def test_text_lists_pairs_and_says_how_they_are_read():
    text = str(explain_global(judged()))
    assert "Model of 5 terms and 3 pairs of columns: log-odds of 'yes'" in text
    assert "1 column cannot be told from nothing: pay\n" in text
    assert "1 pair of columns cannot be told from nothing: pay & age\n" in text
    assert "a pair of columns is what both do together beyond their curves" in " ".join(
        text.split()
    )
    assert "for all columns and pairs together" in " ".join(text.split())
    line = next(line for line in text.splitlines() if line.startswith("  flag & rank"))
    assert "clear" in line
    assert " & " in line.split("at", 1)[1]
    assert "pair" not in str(explain_global(make_model()))


def test_extremes_name_the_cells_with_rows():
    pair = explain_global(paired()).pairs[0]
    scores, counts = np.zeros(pair.scores.shape), np.full(pair.counts.shape, 100.0)
    scores[0, 1], scores[1, 2], scores[2, 0] = -1.2, 0.7, 9.0
    counts[2, 0] = 1.0
    exact = replace(pair, scores=scores, counts=counts, standard_errors=0 * scores)
    assert extremes(exact, most=40) == (
        f"-1.2 at {pair.first.labels[0]} & {pair.second.labels[1]}",
        f"+0.7 at {pair.first.labels[1]} & {pair.second.labels[2]}",
    )
    assert extremes(exact, most=4)[0] == "-1.2 at [17… & =HY…"


def test_comparisons_say_that_they_are_averages():
    told = explain_global(judged()).compare("age", 20, 80)
    assert told.together == ("job", "pay")
    assert "on average over 'job', 'pay', with which 'age' is in a pair" in str(told)
    assert told.to_dict()["together"] == ["job", "pay"]
    model = replace(judged(), pairs=())
    alone = explain_global(model).compare("age", 20, 80)
    assert alone.together == ()
    assert "together" not in alone.to_dict()
    assert "average" not in str(alone)
    with pytest.raises(SettingError, match="no column 'age & job'"):
        explain_global(judged()).compare("age & job", 20, 80)


@pytest.mark.parametrize(
    "change",
    [
        lambda pairs: [{**pairs[0], "scores": pairs[0]["scores"][1:]}],
        lambda pairs: [{**pairs[0], "importance": [1.0, 2.0]}],
        lambda pairs: [{**pairs[0], "first": {**pairs[0]["first"], "name": "nobody"}}],
        lambda pairs: [{**pairs[0], "first": {**pairs[0]["first"], "edges": [1.0, 2.0]}}],
        lambda pairs: [{**pairs[0], "verdict": "certainly"}],
        lambda pairs: [pairs[0], pairs[0]],
        lambda pairs: [{**pairs[0], "other": 1}],
        lambda pairs: pairs[0],
    ],
)
def test_wrong_pairs_are_refused(change):
    data = explain_global(paired()).to_dict()
    with pytest.raises(DataError):
        EBMExplanation.from_dict({**data, "pairs": change(data["pairs"])})
    assert decode(ExplainedPair, data["pairs"][0], EXPLANATION).name == "age & job"


def test_explanations_without_pairs_are_written_as_before():
    data = explain_global(make_model()).to_dict()
    assert "pairs" not in data
    assert EBMExplanation.from_dict(data).pairs == ()


def test_an_original_without_the_pair_is_refused():
    model = paired()
    with pytest.raises(SchemaError, match="no pair"):
        explain_global(replace(model, original=replace(model, pairs=())))


def test_names_with_the_sign_of_a_pair_are_told_apart():
    columns = {"a & b": COLUMNS["pay"], "a": COLUMNS["age"], "b": COLUMNS["flag"]}
    model = make_model(columns=columns)
    pair = make_pair("a", "b", columns, 1, np.random.default_rng(0))
    whole = explain_global(replace(model, pairs=(pair,)))
    assert whole["a & b"] is whole.terms[0]
    assert whole["a", "b"] is whole.pairs[0]
    assert NOTHING not in {part.verdict for part in whole.parts}
