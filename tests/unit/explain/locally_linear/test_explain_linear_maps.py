"""Explanations of maps are the model's own numbers, and what inputs add is exactly the score."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from explained_models import make_receipt
from linear_map_models import (
    WARD_ROWS,
    linear_map_model,
    picture_linear_maps,
    picture_rows,
    ward_model,
    wide_linear_maps,
    wide_rows,
)
from scipy.special import softmax

from voile.errors import DataError
from voile.explain import (
    Explanation,
    LocallyLinearExplanation,
    LocallyLinearLocalExplanation,
    LVQLocalExplanation,
)
from voile.explain.locally_linear.explain import rank_maps
from voile.explain.locally_linear.likeness import draw_likeness, smooth
from voile.explain.locally_linear.overall import LEAST_SHARE, MOST_ALIKE, MOST_SUMMARY
from voile.explaining import explain_global, explain_local
from voile.models.locally_linear.pictures import SmoothBasis
from voile.models.pixels import flatten_pictures
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number, Unit


def columns_of(model, rows):
    return encode_public(flatten_pictures(rows, model.image_shape), model.schema)


def case(model, rows, name):
    return pytest.param(model, rows, id=name)


def pictured(name, **settings):
    model = picture_linear_maps(**settings)
    return case(model, picture_rows(model), name)


CASES = [
    case(ward_model(), WARD_ROWS, "table"),
    case(ward_model(normalise=True), WARD_ROWS, "table of length 1"),
    case(ward_model(centre=0.0, maps=1), WARD_ROWS, "one map"),
    case(ward_model(radius=0.3), WARD_ROWS, "table with widths"),
    case(wide_linear_maps(), wide_rows(), "wide"),
    pictured("smooth pictures"),
    pictured("smooth pictures of roots", root=True),
    pictured("windowed pictures", basis=SmoothBasis((6, 5, 1), 4, 3.0, window=True)),
    pictured("pictures as they are long", normalise=False),
    pictured("pixels", smooth=False),
    pictured("colours", shape=(4, 4, 3)),
    pictured("colours, pixel by pixel", shape=(4, 4, 3), smooth=False, normalise=False),
    pictured("one channel", shape=(5, 6), image_shape=(5, 6, 1)),
    case(
        linear_map_model({"x": Number(0, 10)}, ["no", "yes"], maps=2),
        {"x": [1.0, 4.0, 9.5, None]},
        "one feature",
    ),
    case(linear_map_model({"x": Number(0, 10)}, ["only"], maps=2), {"x": [1.0, 9.5]}, "one class"),
]


# -- the whole model ----------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_bank_holds_the_models_numbers(model, rows):
    bank = explain_global(model)
    assert isinstance(bank, LocallyLinearExplanation)
    assert np.array_equal(bank.linear_maps, model.linear_maps)
    assert np.array_equal(bank.standard_errors, model.linear_map_errors)
    assert np.array_equal(bank.offsets, model.offsets)
    assert bank.shares.shape == model.weights.shape[:2]
    assert np.allclose(bank.shares.sum(axis=1), 1)
    assert (bank.active >= 1 - 1e-9).all()
    assert (bank.active <= model.maps + 1e-9).all()
    assert bank.columns == tuple(model.schema)
    assert [one.name for one in bank.features] == list(model.features.names)
    assert bank.receipt is model.receipt
    assert bank.outputs == tuple(map(str, model.classes))
    for k, shares in enumerate(bank.shares):
        assert sorted(bank.ranked[k]) == list(range(model.maps))
        assert (np.diff(shares[bank.ranked[k]]) <= 0).all()
        assert np.allclose(bank.typical[k], shares @ model.linear_maps[k])
    if len(model.classes) > 1:
        assert np.allclose(bank.contrast.sum(axis=0), 0)
        assert np.allclose(bank.distinct.sum(axis=0), 0)
    else:
        assert np.array_equal(bank.contrast, bank.typical)
    assert (bank.likeness is None) == (model.image_shape is None)


@pytest.mark.parametrize("classes", [2, 4])
def test_errors_of_blends_are_those_of_the_noise(classes):
    """Against linear maps that are drawn again and again, with the same shares."""
    model = wide_linear_maps(6, classes)
    bank = explain_global(model)
    rng = np.random.default_rng(0)
    drawn = rng.normal(bank.linear_maps, bank.standard_errors, (20_000, *bank.linear_maps.shape))
    typical = np.einsum("km,nkmj->nkj", bank.shares, drawn)
    assert np.allclose(typical.std(axis=0), bank.typical_errors, rtol=0.03)
    contrast = typical - typical.mean(axis=1, keepdims=True)
    assert np.allclose(contrast.std(axis=0), bank.contrast_errors, rtol=0.03)
    noise = np.linalg.norm(bank.contrast_errors, axis=1) / np.linalg.norm(bank.contrast, axis=1)
    assert np.allclose(bank.noise, noise)


def test_a_map_that_fits_its_class_is_ranked_first_without_rows():
    """Two kinds of 'yes': maps 0 and 1 fit one each, map 2 is a weak copy of nothing."""
    model = linear_map_model({"a": Number(-1, 1), "b": Number(-1, 1)}, ["no", "yes"], centre=0.0)
    weights = np.array([[[-5, 0], [0, -5], [0, 0]], [[5, 0], [0, 5], [0, 0]]], dtype=float)
    model = replace(model, weights=weights, offsets=np.zeros((2, 3)), beta=1.0)
    shares = rank_maps(model)
    assert shares[1].argmin() == 2
    assert shares[1, 0] == pytest.approx(shares[1, 1])
    bank = explain_global(model)
    assert bank.summary[1] == (0, 1)  # the third counts too little
    assert shares[1, 2] * 3 < LEAST_SHARE


def test_ranks_do_not_depend_on_what_all_classes_share():
    model = ward_model(beta=0.0)
    assert np.allclose(rank_maps(model), 1 / 3)
    model = ward_model()
    before = explain_global(model)
    # The same offset for all maps of a class moves no share.
    after = explain_global(replace(model, offsets=model.offsets + 7.0))
    assert np.allclose(before.shares, after.shares)


def test_a_summary_is_diverse_and_led_by_the_first():
    model = wide_linear_maps(12, 4, maps=9)
    # Two nearly equal linear maps of every class: one of them is enough.
    weights = model.weights.copy()
    weights[:, 4] = weights[:, 3] * 1.01
    bank = explain_global(replace(model, weights=weights))
    for k, chosen in enumerate(bank.summary):
        assert chosen[0] == bank.ranked[k, 0]
        assert 1 <= len(chosen) <= MOST_SUMMARY
        assert not {3, 4} <= set(chosen)
        linear_maps = bank.distinct[k, list(chosen)]
        units = linear_maps / np.linalg.norm(linear_maps, axis=1, keepdims=True)
        cosines = units @ units.T - np.eye(len(chosen))
        assert cosines.max() < MOST_ALIKE
        assert list(bank.shares[k, list(chosen)]) == sorted(bank.shares[k, list(chosen)])[::-1]


def test_a_likeness_shows_what_was_added_to_the_average():
    shape = (6, 5)
    y, x = np.mgrid[0:6, 0:5]
    blob = np.exp(-((y - 2) ** 2 + (x - 3) ** 2) / 2.0).ravel()
    average = np.full(30, 0.2)
    seen = draw_likeness(np.array([blob, -blob]), average, shape)
    assert seen.shape == (2, 30)
    assert seen.min() >= 0
    assert seen.max() <= 1
    assert seen[0].argmax() == blob.argmax()
    assert seen[1][blob.argmax()] == 0
    # What does not vary stays; what varies from pixel to pixel is smoothed away.
    assert np.allclose(smooth(average, shape), average)
    checks = np.where((x + y) % 2, 1.0, -1.0).ravel()
    assert np.abs(smooth(checks, shape)).max() < 0.3
    assert np.array_equal(draw_likeness(np.zeros(30), np.zeros(30), shape), np.zeros(30))


# -- decisions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_what_inputs_add_is_exactly_the_score(model, rows):
    told = explain_local(model, rows)
    assert isinstance(told, LocallyLinearLocalExplanation)
    scores = model.decide(columns_of(model, rows))
    assert len(told) == len(scores)
    for i, one in enumerate(told.decisions):
        assert np.abs(told.contributions(i).sum(axis=1) + one.base - scores[i]).max() < 1e-9
        assert np.abs(told.parts(i).sum(axis=1) + one.base - scores[i]).max() < 1e-9
        assert np.array_equal(one.scores, scores[i])
        assert np.allclose(one.probabilities, softmax(scores[i]))
        assert np.allclose((one.shares * one.map_scores).sum(axis=1), scores[i])
        assert np.allclose(one.shares.sum(axis=1), 1)
        assert one.predicted == scores[i].argmax() == one.classes_by_score[0]
        assert np.allclose(told.weighted(i), np.einsum("km,kmj->kj", one.shares, model.linear_maps))
        for k in range(len(model.classes)):
            assert (np.diff(one.shares[k, list(one.ranked(k))]) <= 0).all()
        if len(model.classes) > 1:
            assert one.runner_up == one.classes_by_score[1]
            lead = scores[i, one.predicted] - scores[i, one.runner_up]
            assert abs(told.against(i).sum() + told.base_lead(i) - lead) < 1e-9
            assert one.margin == pytest.approx(lead)
        else:
            assert one.runner_up == -1
            assert not one.doubtful
            assert abs(told.against(i).sum() + told.base_lead(i) - scores[i, 0]) < 1e-9


def test_the_base_is_the_blend_of_offsets_and_average_inputs_add_nothing():
    model = ward_model()
    told = explain_local(model, WARD_ROWS)
    for one in told.decisions:
        assert np.allclose(one.base, (one.shares * model.offsets).sum(axis=1))
    columns = {"a": Number(-1, 1), "b": Number(-1, 1)}
    model = linear_map_model(columns, ["no", "yes"], centre=np.array([0.5, -0.25]))
    told = explain_local(model, {"a": [0.5, 0.5], "b": [-0.25, 0.9]})
    assert np.allclose(told.contributions(0), 0)
    assert np.allclose(told.contributions(1)[:, 0], 0)
    assert (np.abs(told.contributions(1)[:, 1]) > 1e-3).all()
    # A smooth basis rounds; beyond that the base is the offsets there, too.
    model = picture_linear_maps()
    for one in explain_local(model, picture_rows(model)).decisions:
        assert np.allclose(one.base, (one.shares * model.offsets).sum(axis=1), atol=1e-3)


def test_errors_of_scores_are_those_of_the_noise():
    """Against weights that are drawn again and again, with the same shares."""
    model = ward_model(error=0.5)
    rows = {name: values[:2] for name, values in WARD_ROWS.items()}
    told, points = explain_local(model, rows), model.spread(columns_of(model, rows)).points
    rng = np.random.default_rng(1)
    weights = rng.normal(model.weights, model.weight_errors, (20_000, *model.weights.shape))
    for i, one in enumerate(told.decisions):
        scores = np.einsum("km,nkmd,d->nk", one.shares, weights, points[i])
        assert np.allclose(scores.std(axis=0), one.score_errors, rtol=0.03)
        leads = scores[:, one.predicted] - scores[:, one.runner_up]
        assert leads.std() == pytest.approx(one.margin_error, rel=0.03)


def test_errors_of_parts_hold_the_shares_fixed():
    told = explain_local(ward_model(), WARD_ROWS)
    one, rng = told.decisions[0], np.random.default_rng(2)
    drawn = rng.normal(told.linear_maps, told.standard_errors, (20_000, *told.linear_maps.shape))
    parts = np.einsum("km,nkmj->nkj", one.shares, drawn) * one.strengths
    assert np.allclose(parts.std(axis=0), told.contribution_errors(0), rtol=0.03, atol=1e-12)
    columns = np.add.reduceat(parts, [0, 1, 4, 5], axis=2).std(axis=0)
    assert np.allclose(columns, told.part_errors(0), rtol=0.03)
    leads = (parts[:, one.predicted] - parts[:, one.runner_up]).std(axis=0)
    assert np.allclose(leads, told.against_errors(0), rtol=0.03, atol=1e-12)


def test_an_answer_within_the_noise_is_said_to_be_doubtful():
    clear, doubtful = (explain_local(ward_model(error=e), WARD_ROWS) for e in (1e-6, 50.0))
    assert not clear.decisions[0].doubtful
    assert doubtful.decisions[0].doubtful
    assert "within the privacy noise" in str(doubtful)
    assert "within the privacy noise" not in str(clear)


# -- rows as given ------------------------------------------------------------------------------


def test_rows_are_told_as_they_were_given_and_read():
    told = explain_local(ward_model(), WARD_ROWS)
    assert [one.given[0] for one in told.decisions] == ["34", "81", "66", "(missing)"]
    # A missing number is read as the filling, 0.25 of half the range above the middle.
    assert [one.read_as[0] for one in told.decisions] == ["", "", "", "66.12"]
    assert told.decisions[3].values[0] == pytest.approx(56.5 + 0.25 * 38.5)
    assert [one.read_as[1] for one in told.decisions] == ["", "", "(other)", ""]
    assert told.decisions[2].read_as[2] == "220"
    assert "Read otherwise than given" in str(told)
    frame = explain_local(ward_model(), pd.DataFrame(WARD_ROWS))
    assert frame.decisions[2].given == told.decisions[2].given


@pytest.mark.parametrize("root", [False, True])
def test_pictures_are_told_in_their_own_units(root):
    model = picture_linear_maps(root=root)
    rows = picture_rows(model).astype(float)
    rows[0, 0, 0] = np.nan
    told = explain_local(model, rows)
    expected = np.nan_to_num(rows.reshape(len(rows), -1), nan=0.0)
    values = np.array([one.values for one in told.decisions])
    assert np.allclose(values, expected, atol=1e-4)
    assert told.decisions[0].read_as[0] == "0"


@pytest.mark.parametrize("shape", [(6, 5), (4, 4, 3)])
def test_pictures_may_keep_their_shape(shape):
    model = picture_linear_maps(shape)
    rows = picture_rows(model)
    told, flat = explain_local(model, rows), explain_local(model, rows.reshape(len(rows), -1))
    for one, other in zip(told.decisions, flat.decisions, strict=True):
        assert np.array_equal(one.scores, other.scores)
        assert one.given == other.given


def test_pictures_of_another_shape_are_refused():
    model = picture_linear_maps((6, 5))
    assert len(explain_local(model, picture_rows(model)[..., None])) == 4
    with pytest.raises(DataError, match=r"give an array of shape \(rows, 6, 5\)"):
        explain_local(model, np.zeros((2, 5, 6)))
    with pytest.raises(DataError, match="train the model on pictures"):
        explain_local(ward_model(), np.zeros((2, 2, 2)))


def test_rows_that_lack_columns_are_refused():
    with pytest.raises(DataError):
        explain_local(ward_model(), {"age": [3]})


def test_no_rows_are_no_decisions():
    for model, rows in (
        (ward_model(), {name: [] for name in WARD_ROWS}),
        (picture_linear_maps(), np.zeros((0, 6, 5))),
    ):
        told = explain_local(model, rows)
        assert len(told) == 0
        assert told.to_records() == []
        assert "explained: 0" in str(told)
        assert len(LocallyLinearLocalExplanation.from_json(told.to_json())) == 0


def test_whose_rows_they_are_need_not_be_said():
    model = ward_model()
    schema = model.schema.with_unit(Unit("patient", rows=3))
    model = replace(model, inputs=replace(model.inputs, schema=schema))
    assert len(explain_local(model, WARD_ROWS)) == 4


# -- forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_explanations_survive_json(model, rows):
    bank, told = explain_global(model), explain_local(model, rows)
    for one, kind in ((bank, LocallyLinearExplanation), (told, LocallyLinearLocalExplanation)):
        for reader in (kind, Explanation):
            again = reader.from_json(one.to_json())
            assert type(again) is kind
            assert again.to_dict() == one.to_dict()
            assert str(again) == str(one)
        assert json.loads(one.to_json())["kind"] == kind.kind
    again = LocallyLinearExplanation.from_json(bank.to_json())
    assert again.image_shape == model.image_shape
    assert again.summary == bank.summary
    assert np.array_equal(again.contrast, bank.contrast)


def test_unknown_noise_stays_unknown():
    model = ward_model()
    model = replace(model, weight_errors=np.full(model.weights.shape, math.inf))
    bank, told = explain_global(model), explain_local(model, WARD_ROWS)
    assert np.isinf(bank.contrast_errors).all()
    assert np.isinf(LocallyLinearExplanation.from_json(bank.to_json()).standard_errors).all()
    one = LocallyLinearLocalExplanation.from_json(told.to_json()).decisions[0]
    assert one.margin_error == math.inf
    assert one.doubtful
    assert "noise unknown" in str(bank)


def test_much_noise_is_said_to_be_chance():
    texts = [str(explain_global(ward_model(error=error))) for error in (0.0, 0.1, 4.5, 50.0)]
    assert "noise" not in texts[0].split("Numbers:")[0]
    assert "of what is seen" in texts[1]
    assert "mostly error" not in texts[1]
    assert "mostly error" in texts[2]
    assert "as strong as what is seen" in texts[3]


def test_records_are_flat_and_complete():
    model = ward_model()
    bank, told = explain_global(model), explain_local(model, WARD_ROWS)
    frame = bank.to_frame()
    assert len(frame) == 3 * 3 * 7
    assert set(frame["rank"]) == {0, 1, 2}
    first = frame[(frame["class"] == "home") & (frame["rank"] == 0)]
    assert first["map"].iloc[0] == bank.ranked[0, 0]
    assert np.allclose(first["weight"], bank.linear_maps[0, bank.ranked[0, 0]])
    frame = told.to_frame()
    assert len(frame) == 4 * 3 * 7
    sums = frame.groupby(["row", "class"]).agg({"contribution": "sum", "base": "first"})
    scores = frame.groupby(["row", "class"])["score"].first()
    assert np.allclose(sums["contribution"] + sums["base"], scores, atol=1e-9)


def test_some_rows_are_an_explanation_of_their_own():
    told = explain_local(ward_model(), WARD_ROWS)
    assert len(told[1:3]) == 2
    assert told[-1].decisions[0] is not None
    assert np.array_equal(told[-1].decisions[0].scores, told.decisions[3].scores)
    with pytest.raises(IndexError):
        told[4]


def test_records_cannot_be_changed():
    bank = explain_global(ward_model())
    with pytest.raises(FrozenInstanceError):
        bank.beta = 2
    with pytest.raises(ValueError, match="read-only"):
        bank.linear_maps[0, 0, 0] = 1
    told = explain_local(ward_model(), WARD_ROWS)
    with pytest.raises(ValueError, match="read-only"):
        told.decisions[0].shares[0, 0] = 1


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("linear_maps", [[1.0]], "must have shape"),
        ("shares", [1.0], "must have shape"),
        ("offsets", "many", "must be numbers"),
        ("image_shape", (2, 2), "has no 7 features"),
        ("image_shape", (7,), "has no 7 features"),
    ],
)
def test_facts_that_do_not_fit_are_refused(name, value, match):
    with pytest.raises(DataError, match=match):
        replace(explain_global(ward_model()), **{name: value})


def test_data_of_another_kind_are_refused():
    bank = explain_global(ward_model())
    with pytest.raises(DataError, match="'linear maps' and no LVQLocalExplanation"):
        LVQLocalExplanation.from_dict(bank.to_dict())
    data = bank.to_dict()
    del data["shares"]
    with pytest.raises(DataError, match="has no 'shares'"):
        LocallyLinearExplanation.from_dict(data)


def test_texts_say_what_there_is():
    bank = explain_global(ward_model(taught_by="a forest of 10 trees"))
    text = str(bank)
    assert "3 linear maps for each of 3 classes" in text
    assert "learned from a teacher: a forest of 10 trees." in text
    assert "no row was read" in text
    assert "No row of the training table is shown" in text
    assert "(1, 1e-06)-differential privacy" in text
    assert "no row was read" not in str(explain_global(ward_model(maps=1)))
    assert "4 x 4 pixels in 3 channels" in str(explain_global(picture_linear_maps((4, 4, 3))))
    open_bank = explain_global(replace(ward_model(), receipt=make_receipt(math.inf)))
    assert "there is no guarantee" in str(open_bank)
    many = linear_map_model({"x": Category(["a", "b"])}, list(range(25)))
    assert "5 more classes" in str(explain_global(many))
    assert max(map(len, text.splitlines())) <= 100


def test_texts_of_rows_add_up():
    told = explain_local(wide_linear_maps(), wide_rows(rows=7))
    text = str(told)
    assert "52 other columns" in text
    assert "2 more rows" in text
    assert "base: all as on average" in text
    assert "Linear maps of 'diagnosis" in text
    assert "no other class than 'only'" in str(
        explain_local(linear_map_model({"x": Number(0, 1)}, ["only"]), {"x": [0.5]})
    )
