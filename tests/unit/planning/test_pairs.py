"""Forecasts say of pairs of columns what a training then does, and what it finds."""

import json
import math

import numpy as np
import pytest

from voile import Category, EBMClassifier, EBMRegressor, Number, Schema, Unit, forecast
from voile.models.ebm import joined_pairs
from voile.models.ebm.settings import Settings
from voile.planning import ebm
from voile.planning.facts import gather_facts
from voile.planning.pairs import pattern_of, side_of
from voile.privacy.budget import Budget
from voile.privacy.noise import fixed_noise

TWO, SEVERAL = Category([0, 1]), Category(range(4))
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 8.0)


def schema_of(target, numbers=4, categories=0):
    columns = {f"x{k}": Number(0, 1) for k in range(numbers)}
    columns |= {f"c{k}": Category(range(4)) for k in range(categories)}
    return Schema(columns, target=target)


def rows_of(schema, rows, seed, height=0.0):
    """A table in which all columns matter, with an effect that the first two have together."""
    rng = np.random.default_rng(seed)
    frame, score, halves = {}, np.zeros(rows), []
    for k, (name, column) in enumerate(schema.items()):
        number = isinstance(column, Number)
        frame[name] = rng.random(rows) if number else rng.integers(0, 4, rows)
        place = frame[name] if number else (frame[name] + 0.5) / 4
        score += 1.2 * (-1) ** k * (place - 0.5)
        halves.append(np.where(place < 0.5, 1, -1))
    score = score + height * halves[0] * halves[1]
    target = schema.target
    if isinstance(target, Number):
        return frame, np.clip(score + rng.normal(0, 1, rows), target.lower, target.upper)
    others = [0.5 * halves[2 + k % 2] for k in range(len(target.levels) - 1)]
    logits = np.stack([*others[1:], np.zeros(rows), score], axis=1)
    return frame, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


def fit(schema, epsilon, frame, target, **settings):
    kind = EBMRegressor if isinstance(schema.target, Number) else EBMClassifier
    with fixed_noise(3):
        return kind(epsilon=epsilon, schema=schema, **settings).fit(frame, target)


@pytest.mark.parametrize("asked", ["auto", 0, 2, [("x0", "x1"), ("x3", "x1")]])
@pytest.mark.parametrize("target", [TWO, Number(-5, 5)])
def test_the_plan_is_that_of_a_receipt(asked, target):
    schema = schema_of(target)
    receipt = fit(schema, 1.0, *rows_of(schema, 400, 1), interactions=asked).receipt_
    setting = ebm._set_up(
        gather_facts(schema, rows=400), Budget(1.0, 1e-6), Settings(interactions=asked)
    )
    paid = {one.label: one.event.noise_multiplier for one in receipt.lines}
    assert paid == {step.label: step.event.noise_multiplier for step in setting.plan}
    assert ("cells of pairs" in paid) == (asked != 0)


@pytest.mark.parametrize("target", [TWO, SEVERAL, Number(-5, 5)])
@pytest.mark.parametrize(("rows", "people"), [(600, 1), (4_000, 1), (4_000, 3)])
def test_pairs_are_looked_for_where_the_training_looks_for_them(target, rows, people, monkeypatch):
    """Evenly spread rows: the same decision and columns but for the noise of the row count."""
    seen = []
    worth, columns = joined_pairs.worth_choosing, joined_pairs.candidate_columns

    def note(*noises):
        seen.append([noises, 0])
        return worth(*noises)

    def note_columns(*given):
        found = columns(*given)
        seen[-1][1] = len(found[0])
        return found

    monkeypatch.setattr(joined_pairs, "worth_choosing", note)
    monkeypatch.setattr(joined_pairs, "candidate_columns", note_columns)
    schema = schema_of(target, 7)
    frame, values = rows_of(schema, rows, 2)
    if people > 1:
        schema = schema.with_unit(Unit("who", rows=people))
        frame = {**frame, "who": np.arange(rows) // people}
    rate = {} if isinstance(target, Number) else {"target_rate": np.bincount(values).min() / rows}
    told = forecast(schema, rows=rows, epsilons=EPSILONS, **rate)
    for outlook in told.outlooks:
        seen.clear()
        fit(schema, outlook.epsilon, frame, values)
        ((choice, curves, scarce), count), *none = seen
        assert not none
        assert math.isfinite(choice + curves + scarce)
        pairs = outlook.pairs
        assert (pairs.way == "chosen") == (count > 0)
        assert abs(pairs.columns - count) <= 1
        assert pairs.pairs == math.comb(pairs.columns, 2)


@pytest.mark.parametrize(
    ("schema", "rows", "epsilon"),
    [
        (schema_of(TWO), 6_000, 1.0),
        (schema_of(TWO, 2, 3), 8_000, 2.0),
        (schema_of(SEVERAL), 12_000, 4.0),
        (schema_of(Number(-6, 6), 6), 5_000, 1.0),
    ],
    ids=["numbers", "with categories", "several classes", "regression"],
)
def test_an_effect_of_the_stated_size_is_found_and_a_third_of_it_is_not(schema, rows, epsilon):
    """Nine of ten tables; fixed rows and noise, so that a correct library passes for good."""
    known = {"target_spread": 1.6} if isinstance(schema.target, Number) else {}
    visible = forecast(schema, rows=rows, epsilons=[epsilon], **known)[epsilon].pairs.visible
    found = {}
    for part in (1.0, 1 / 3):
        found[part] = 0
        for seed in range(8):
            frame, target = rows_of(schema, rows, seed, part * visible)
            with fixed_noise(seed):
                kind = EBMRegressor if known else EBMClassifier
                model = kind(epsilon=epsilon, schema=schema).fit(frame, target).model_
            found[part] += any(set(one.columns) == set(list(schema)[:2]) for one in model.pairs)
    assert found[1.0] >= 7
    assert found[1 / 3] <= 4


def test_named_pairs_are_as_noisy_as_foretold():
    """Within a factor of 1.6 of what the trained pair reports."""
    schema = schema_of(TWO)
    frame, target = rows_of(schema, 20_000, 5, 0.5)
    for epsilon in (0.5, 4.0):
        model = fit(schema, epsilon, frame, target, interactions=[("x0", "x1")]).model_
        (pair,) = model.pairs
        weights = pair.counts / pair.counts.sum()
        real = 2 * math.sqrt((weights * pair.standard_errors[:, :, 0] ** 2).sum())
        told = forecast(schema, rows=20_000, epsilons=[epsilon], interactions=[("x0", "x1")])
        assert told[epsilon].pairs.way == "named"
        assert told[epsilon].pairs.pairs == 1
        # What is left after smoothing is at most all of it.
        assert 1 / 1.6 < real / told[epsilon].pairs.visible < 1.6


def test_the_planted_pattern_is_of_both_columns_together():
    facts = gather_facts(schema_of(TWO, 1, 1), rows=900)
    setting = ebm._set_up(facts, Budget(1.0, 1e-6), Settings())
    kinds = [ebm._Levels(3, False), ebm._Levels(7, False), ebm._Levels(4, True), None]
    for kind in kinds:
        term = ebm._start(setting, 12, kind)
        for parts in (4, 5, 6):
            side = side_of(term, parts)
            table = pattern_of(side, side).reshape(side.parts, side.parts)
            assert np.allclose(side.mass @ table, 0.0)
            assert np.allclose(table @ side.mass, 0.0)
            assert 0.4 < side.mass @ table**2 @ side.mass <= 1.0 + 1e-9


@pytest.mark.parametrize("target", [TWO, Number(0, 30)])
def test_smaller_effects_are_found_with_more_rows_and_more_epsilon(target):
    schema = schema_of(target)
    visible = [
        [forecast(schema, rows=rows, epsilons=[epsilon])[epsilon].pairs.visible for rows in counts]
        for epsilon, counts in ((1.0, (4_000, 40_000, 10**6)), (8.0, (4_000, 40_000, 10**6)))
    ]
    # No pair of classes is chosen for less than a certain effect, however many rows there are.
    assert (np.diff(visible, axis=1) <= 0).all()
    assert visible[0][1] < visible[0][0]
    # With a million rows the noise is nothing, and the grid is finer with more epsilon.
    assert visible[1][0] < visible[0][0]
    assert visible[1][1] <= visible[0][1]
    assert visible[1][2] < 1.02 * visible[0][2]


def test_what_is_said_is_what_happens():
    schema = schema_of(TWO)
    record = forecast(schema, rows=4_000, epsilons=(0.1, 4.0))
    few, many = (record[epsilon].pairs for epsilon in (0.1, 4.0))
    assert (few.way, few.columns, few.pairs, few.visible) == ("hidden", 0, 0, None)
    assert "the noise would hide them" in few.words
    assert (many.way, many.columns, many.pairs) == ("chosen", 4, 6)
    assert f"±{many.visible:.2g} log-odds" in many.words
    assert "all 4 columns are tried" in many.words
    assert f"±{many.visible:.2g}" in str(record)
    told = json.loads(record.to_json())["outlooks"][1]["pairs"]
    assert told["visible"] == many.visible
    assert told["words"] == many.words
    wide = forecast(schema_of(TWO, 30), rows=9_000, epsilons=[1.0])[1.0].pairs
    assert 5 <= wide.columns < 30
    assert f"the {wide.columns} of 30 columns that matter most" in wide.words


def test_the_page_and_the_terminal_say_it(capsys):
    record = forecast(schema_of(TWO), rows=8_000)
    size = f"±{record[1.0].pairs.visible:.2g}"
    record.show()
    assert size in capsys.readouterr().out
    page = record._repr_html_()
    assert size in page
    assert "4 columns are tried" in page
    assert "pairs from" in page
    without = forecast(schema_of(TWO), rows=8_000, interactions=0)
    assert {one.pairs.way for one in without.outlooks} == {"none"}
    assert without.pair_words == ()
    assert "pairs from" not in str(without)
    assert "pairs from" not in without._repr_html_()


@pytest.mark.parametrize("model", ["glvq", "gmlvq", "lvq1", "locally_linear"])
def test_other_models_have_no_pairs(model):
    record = forecast(schema_of(TWO), rows=8_000, epsilons=[1.0], model=model)
    assert record[1.0].pairs is None
    assert "pairs" not in str(record)
    assert "pairs" not in json.loads(record.to_json())["outlooks"][0]


def test_one_column_has_no_pairs():
    lone = forecast(schema_of(TWO, 1), rows=8_000, epsilons=[1.0])
    assert lone[1.0].pairs.way == "none"


@pytest.mark.parametrize("rows", [1, 5, 10**9, 10**15])
@pytest.mark.parametrize("asked", ["auto", [("x0", "c0")]])
def test_any_number_of_rows_has_an_answer(rows, asked):
    for target in (TWO, SEVERAL, Number(0, 1e6)):
        record = forecast(schema_of(target, 2, 2), rows=rows, interactions=asked)
        for one in record.outlooks:
            assert one.pairs.visible is None or 0 < one.pairs.visible < math.inf
            assert one.noise > 0
