"""Explanations of prototypes are the model's own numbers, and their borders are true borders."""

import json
import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest
from explained_models import make_receipt
from prototype_models import (
    MIXED_ROWS,
    TUMOUR_ROWS,
    mixed_model,
    picture_model,
    prototype_model,
    tumour_model,
    wide_model,
)

from voile.errors import DataError
from voile.explain import Explanation, LVQExplanation, LVQLocalExplanation
from voile.explain.lvq import border as decision_border
from voile.explain.lvq.border import View, find_joint_move
from voile.explaining import explain_global, explain_local
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number, Unit


def random_rows(model, count=40, seed=3):
    """Rows anywhere within the bounds, of any level."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.choice(np.array(column.levels, dtype=object), count)
        if isinstance(column, Category)
        else rng.uniform(column.lower, column.upper, count)
        for name, column in model.schema.items()
    }


def points_of(model, rows):
    return model.points(encode_public(rows, model.schema))


def scaled(model, values):
    """From the columns' units back to the model's coordinates."""
    ones = np.ones(len(model.features))
    return (values - model.features.in_units(0 * ones)) / model.features.width_in_units(ones)


def one_feature(labels=(0, 1), classes=("no", "yes")):
    return prototype_model(
        {"x": Number(0, 10)}, classes, [[-0.5], [0.5]], labels, centre=np.array([-0.1])
    )


CASES = [
    pytest.param(tumour_model(), TUMOUR_ROWS, id="numbers"),
    pytest.param(mixed_model(), MIXED_ROWS, id="mixed"),
    pytest.param(mixed_model(), random_rows(mixed_model()), id="mixed at random"),
    pytest.param(wide_model(), random_rows(wide_model(), 12), id="wide"),
    pytest.param(picture_model(), random_rows(picture_model(), 12), id="pictures"),
    pytest.param(one_feature(), {"x": [1.0, 4.0, 9.5, None]}, id="one feature"),
]


# -- the whole model ----------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_global_explanation_holds_the_models_numbers(model, rows):
    whole = explain_global(model)
    assert isinstance(whole, LVQExplanation)
    assert np.array_equal(whole.values, model.features.in_units(model.prototypes))
    errors = model.features.width_in_units(model.prototype_errors)
    assert np.array_equal(whole.standard_errors, errors)
    assert np.array_equal(whole.means, model.features.in_units(model.means))
    assert np.array_equal(whole.distance_from_mean, model.distance_from_mean)
    assert np.array_equal(whole.relevance, np.diag(model.relevance))
    assert whole.relevance.sum() == pytest.approx(1)
    assert whole.column_relevance.sum() == pytest.approx(1)
    assert whole.columns == tuple(model.schema)
    assert [one.name for one in whole.features] == list(model.features.names)
    assert sorted(whole.ranked) == list(range(len(whole.features)))
    assert whole.receipt is model.receipt
    for i, j in enumerate(whole.related):
        for k, n in enumerate(whole.related):
            assert whole.pairs[i, k] == model.relevance[j, n]


def test_values_and_noise_are_in_the_columns_units():
    whole = explain_global(tumour_model(error=0.1))
    assert whole.values[0, 0] == pytest.approx(17.5 - 0.45 * 11.5)
    assert whole.standard_errors[0, 0] == pytest.approx(0.1 * 11.5)


def test_relevance_is_summed_by_column_and_keeps_levels_together():
    model = mixed_model()
    whole, diagonal = explain_global(model), np.diag(model.relevance)
    assert whole.column_relevance[1] == pytest.approx(diagonal[1:4].sum())
    assert whole.column_relevance[3] == pytest.approx(diagonal[5:].sum())
    ranked = [whole.features[j].column for j in whole.ranked]
    assert len(list(dict.fromkeys(ranked))) == 4
    assert ranked == sorted(ranked, key=ranked.index)
    sizes = dict(zip(whole.columns, whole.column_relevance, strict=True))
    order = [sizes[name] for name in dict.fromkeys(ranked)]
    assert order == sorted(order, reverse=True)


def test_only_the_most_relevant_pairs_are_kept():
    model = wide_model(features=60)
    whole = explain_global(model)
    assert whole.pairs.shape == (40, 40)
    kept, diagonal = set(whole.related), np.diag(model.relevance)
    assert min(diagonal[list(kept)]) >= max(diagonal[j] for j in range(60) if j not in kept)
    assert explain_global(picture_model()).related == ()


def test_what_was_learned_is_known():
    assert explain_global(tumour_model()).learned
    assert not explain_global(replace(tumour_model(), omega=0.3 * np.eye(4))).learned
    assert explain_global(replace(tumour_model(), omega=np.diag([1.0, 1, 1, 2]))).learned
    assert not explain_global(one_feature()).learned
    crossed = np.array([[1.0, 0.5], [0.5, 1.0]])
    two = prototype_model(
        {"a": Number(0, 1), "b": Number(0, 1)}, ["x", "y"], np.eye(2), [0, 1], omega=crossed
    )
    assert explain_global(two).learned


def test_values_beyond_the_bounds_are_counted_and_cut():
    model = replace(tumour_model(), prototypes=np.array([[-1.5, 0, 0, 2], [1, -1, 0.2, 0]]))
    whole = explain_global(model)
    assert whole.beyond == (2, 0)
    assert whole.values[0, 0] == 6
    assert whole.values[0, 3] == pytest.approx(0.21)


def test_counts_that_are_not_known():
    whole = explain_global(mixed_model())
    assert whole.counts.tolist() == [812, math.inf, 95]
    assert "'rehabilitation' no. 1: rows not counted" in str(whole)
    assert json.loads(whole.to_json())["counts"][1] is None


# -- decisions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_contributions_add_up_to_the_difference_of_the_distances(model, rows):
    told = explain_local(model, rows)
    points = points_of(model, rows)
    nearest = model.class_distances(points)
    confidence = model.confidence(points)
    assert len(told) == len(points)
    for i, one in enumerate(told.decisions):
        gap = one.wrong_distance - one.right_distance
        assert abs(one.contributions.sum() - gap) < 1e-9
        assert abs(told.parts(i).sum() - gap) < 1e-9
        assert one.predicted == nearest[i].argmin() == model.labels[one.right]
        assert model.labels[one.wrong] != one.predicted
        assert one.right_distance == pytest.approx(nearest[i].min(), abs=1e-9)
        others = np.delete(nearest[i], one.predicted)
        assert one.wrong_distance == pytest.approx(others.min(), abs=1e-9)
        assert one.confidence == confidence[i]
        assert one.gap >= -1e-9


def test_parts_are_those_of_the_formula():
    model = tumour_model()
    told = explain_local(model, {name: values[:1] for name, values in TUMOUR_ROWS.items()})
    one, metric = told.decisions[0], model.omega.T @ model.omega
    x = points_of(model, {name: values[:1] for name, values in TUMOUR_ROWS.items()})[0]
    far, near = x - model.prototypes[0], x - model.prototypes[1]
    assert one.predicted == 1
    expected = far * (metric @ far) - near * (metric @ near)
    assert np.allclose(one.contributions, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "rows", "starts"),
    [(mixed_model(), MIXED_ROWS, [0, 1, 4, 5]), (tumour_model(), TUMOUR_ROWS, [0, 1, 2, 3])],
)
def test_standard_errors_are_those_of_the_noise(model, rows, starts):
    """Against prototypes that are drawn again and again."""
    model = replace(model, prototype_errors=0.02 * model.prototype_errors)
    rows = {name: values[:1] for name, values in rows.items()}
    told, x = explain_local(model, rows), points_of(model, rows)[0]
    one, metric = told.decisions[0], model.omega.T @ model.omega
    rng = np.random.default_rng(0)
    size = (20_000, len(model.features))
    parts = 0
    for sign, p in ((1, one.wrong), (-1, one.right)):
        noise = rng.normal(0, model.prototype_errors[p], size)
        difference = x - model.prototypes[p] - noise
        parts = parts + sign * difference * (difference @ metric)
    assert parts.sum(axis=1).std() == pytest.approx(one.gap_error, rel=0.03)
    by_column = np.add.reduceat(parts, starts, axis=1).std(axis=0)
    assert np.allclose(by_column, one.part_errors, rtol=0.03)


def test_an_answer_within_the_noise_is_said_to_be_doubtful():
    clear, doubtful = (
        explain_local(tumour_model(error), TUMOUR_ROWS).decisions[0] for error in (0.001, 0.5)
    )
    assert not clear.doubtful
    assert doubtful.doubtful
    assert "within the privacy noise" in str(explain_local(tumour_model(0.5), TUMOUR_ROWS))
    assert "within the privacy noise" not in str(explain_local(tumour_model(0.001), TUMOUR_ROWS))


# -- what would have to change ------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_a_changed_number_is_where_another_class_is_as_near(model, rows):
    told, points = explain_local(model, rows), points_of(model, rows)
    names = [one.column for one in told.features]
    seen = 0
    for one, point in zip(told.decisions, points, strict=True):
        assert [c.size for c in one.changes] == sorted(c.size for c in one.changes)
        for change in (c for c in one.changes if c.level is None):
            j, seen = names.index(change.column), seen + 1
            feature = told.features[j]
            assert feature.lower <= change.value <= feature.upper
            moved = point.copy()
            moved[j] = 2 * (change.value - feature.lower) / (feature.upper - feature.lower) - 1
            assert abs(moved[j] - point[j]) / 2 == pytest.approx(change.size, abs=1e-9)
            distances = model.class_distances(moved[None])[0]
            own = distances[one.predicted]
            assert distances.min() == pytest.approx(own, abs=1e-9)
            assert distances[change.to_class] == pytest.approx(own, abs=1e-9)
            # A little less is not enough, a little more is.
            for factor, enough in ((0.999, False), (1.001, True)):
                near = point + factor * (moved - point)
                flipped = model.class_distances(near[None])[0].argmin() != one.predicted
                assert flipped == enough
    assert seen or model.image_shape


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_no_sufficient_change_of_a_number_is_left_out(model, rows):
    told, points = explain_local(model, rows), points_of(model, rows)
    for one, point in list(zip(told.decisions, points, strict=True))[:6]:
        listed = {change.column: change.size for change in one.changes if change.level is None}
        for j, feature in enumerate(told.features):
            if feature.level is not None:
                continue
            tried = np.repeat(point[None], 401, axis=0)
            tried[:, j] = np.linspace(-1, 1, 401)
            flipped = model.class_distances(tried).argmin(axis=1) != one.predicted
            sizes = np.abs(tried[flipped, j] - point[j]) / 2
            if len(sizes):
                assert listed[feature.column] <= sizes.min() + 1e-12
                assert listed[feature.column] >= sizes.min() - 1 / 400 - 1e-9
    assert len(told)


def test_levels_that_give_another_class_are_named_and_no_others():
    model = mixed_model()
    rows = random_rows(model, 60)
    told, points = explain_local(model, rows), points_of(model, rows)
    seen = set()
    for one, point in zip(told.decisions, points, strict=True):
        expected = set()
        for j, feature in enumerate(told.features):
            if feature.level is not None:
                moved = point.copy()
                moved[[k for k, f in enumerate(told.features) if f.column == feature.column]] = 0
                moved[j] = 1
                found = int(model.class_distances(moved[None])[0].argmin())
                if found != one.predicted:
                    expected.add((feature.column, feature.level, found))
        levels = [c for c in one.changes if c.level is not None]
        assert {(c.column, c.level, c.to_class) for c in levels} == expected
        assert all(c.value is None for c in levels)
        assert all(c.size == pytest.approx(math.sqrt(2) / 2) for c in levels)
        seen |= expected
    assert len(seen) > 3


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_the_joint_change_ends_at_the_border(model, rows):
    told, points = explain_local(model, rows), points_of(model, rows)
    numbers = np.array([one.level is None for one in told.features])
    found = 0
    for one, point in zip(told.decisions, points, strict=True):
        if one.joint is None:
            continue
        found += 1
        moved = scaled(model, one.joint.values)
        assert np.all(np.abs(moved) <= 1 + 1e-12)
        assert np.allclose(moved[~numbers], point[~numbers], atol=1e-9)
        assert np.linalg.norm(moved - point) / 2 == pytest.approx(one.joint.size, abs=1e-9)
        distances = model.distances(moved[None])[0]
        own = distances[model.labels == one.predicted].min()
        assert one.joint.flips
        assert distances[one.joint.toward] == pytest.approx(own, abs=1e-8)
        assert distances.min() == pytest.approx(own, abs=1e-8)
        # Nothing that a single number can do is smaller.
        singles = [change.size for change in one.changes if change.level is None]
        assert one.joint.size <= min(singles, default=math.inf) + 1e-9
    assert found


def test_no_shorter_joint_change_exists():
    """Against points drawn around: none that is nearer has another class."""
    model = mixed_model()
    rows = random_rows(model, 30, seed=8)
    told, points = explain_local(model, rows), points_of(model, rows)
    rng = np.random.default_rng(5)
    numbers = np.flatnonzero([one.level is None for one in told.features])
    for one, point in zip(told.decisions, points, strict=True):
        length = 2 * (one.joint.size if one.joint else 4.0)
        angles = np.linspace(0, 2 * np.pi, 720)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        radii = length * np.sqrt(rng.uniform(size=(720, 1))) * 0.999
        tried = np.repeat(point[None], 720, axis=0)
        tried[:, numbers] += radii * circle
        tried = tried[np.all(np.abs(tried) <= 1, axis=1)]
        assert np.all(model.class_distances(tried).argmin(axis=1) == one.predicted)


def test_a_joint_change_is_missing_only_where_nothing_suffices():
    """Two numbers: a fine net over their whole range."""
    model = mixed_model(seed=0)
    rows = random_rows(model, 40, seed=0)
    told, points = explain_local(model, rows), points_of(model, rows)
    numbers = np.flatnonzero([one.level is None for one in told.features])
    net = np.stack(np.meshgrid(*[np.linspace(-1, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    missing = 0
    for one, point in zip(told.decisions, points, strict=True):
        tried = np.repeat(point[None], len(net), axis=0)
        tried[:, numbers] = net
        reached = np.any(model.class_distances(tried).argmin(axis=1) != one.predicted)
        assert one.joint is not None or not reached
        missing += one.joint is None
    assert 0 < missing < 40


def test_the_closed_form_of_two_prototypes_far_from_the_bounds():
    model = replace(tumour_model(), prototypes=0.3 * tumour_model().prototypes)
    rows = {"radius": [16.0], "texture": [22.0], "smoothness": [0.1], "concave points": [0.09]}
    one, x = explain_local(model, rows).decisions[0], points_of(model, rows)[0]
    w1, w2 = model.prototypes[one.right], model.prototypes[one.wrong]
    metric = model.omega.T @ model.omega
    plane = 2 * metric @ (w2 - w1)
    height = w2 @ metric @ w2 - w1 @ metric @ w1
    expected = x - (plane @ x - height) / (plane @ plane) * plane
    assert np.all(np.abs(expected) < 1)
    assert np.allclose(scaled(model, one.joint.values), expected, atol=1e-9)


def test_a_border_beyond_the_bounds_is_not_told():
    model = prototype_model({"x": Number(0, 10)}, ["no", "yes"], [[0.9], [1.5]], [0, 1])
    one = explain_local(model, {"x": [5.0]}).decisions[0]
    assert one.changes == ()
    assert one.joint is None
    assert "No single column" in str(explain_local(model, {"x": [5.0]}))


def test_a_joint_change_passes_other_prototypes_of_the_own_class():
    """The nearest prototype's border is hidden behind a second one of the same class."""
    prototypes = [[-0.2, 0.0], [0.2, 0.0], [0.6, 0.0]]
    columns = {"a": Number(-1, 1), "b": Number(-1, 1)}
    model = prototype_model(columns, ["no", "yes"], prototypes, [0, 0, 1])
    one = explain_local(model, {"a": [-0.3], "b": [0.1]}).decisions[0]
    assert one.joint.flips
    assert one.joint.values == pytest.approx([0.4, 0.1], abs=1e-6)
    assert [(c.column, c.value) for c in one.changes] == [("a", pytest.approx(0.4))]


def test_the_nearest_border_counts_even_if_another_plane_is_nearer():
    """The plane of 'yes' is nearer, but a prototype of the own class stands before it."""
    prototypes = [[-0.2, 0.0], [0.2, 0.0], [0.25, 0.0], [-0.2, 0.9]]
    columns = {"a": Number(-1, 1), "b": Number(-1, 1)}
    model = prototype_model(columns, ["no", "yes", "perhaps"], prototypes, [0, 0, 1, 2])
    one = explain_local(model, {"a": [-0.3], "b": [0.0]}).decisions[0]
    assert one.joint.toward == 3
    assert one.joint.values == pytest.approx([-0.3, 0.45], abs=1e-6)


def test_a_border_that_cannot_be_reached_is_not_invented(monkeypatch):
    """Between two own prototypes, the third can win nowhere within the bounds."""
    slopes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    view = View(
        np.array([0.1, 0.1, 0.5]),
        slopes,
        np.array([True, True, False]),
        np.full(2, -1.0),
        np.full(2, 1.0),
    )
    assert find_joint_move(view, 0) is None

    def fail(*_):
        raise RuntimeError("too many steps")

    monkeypatch.setattr(decision_border, "nnls", fail)
    found = find_joint_move(view, 0)
    assert np.allclose(found.move, [0.2, 0])
    assert not found.wins
    assert find_joint_move(replace(view, upper=np.full(2, 0.1)), 0) is None


# -- unusual models and rows --------------------------------------------------------------------


def test_rows_are_told_as_they_were_given_and_read():
    told = explain_local(mixed_model(), MIXED_ROWS)
    assert [one.given[0] for one in told.decisions] == ["34", "81", "66", "(missing)"]
    assert [one.read_as[0] for one in told.decisions] == ["", "", "", "56.5"]
    assert [one.given[1] for one in told.decisions] == ["A", "C", "Z", "(missing)"]
    assert [one.read_as[1] for one in told.decisions] == ["", "", "(other)", ""]
    assert told.decisions[2].read_as[2] == "220"
    frame = explain_local(tumour_model(), pd.DataFrame(TUMOUR_ROWS))
    assert frame.decisions[2].read_as[0] == "14.05"
    assert frame.decisions[2].values[0] == pytest.approx(14.05)


def test_rows_that_miss_everything_have_an_answer():
    told = explain_local(mixed_model(), {name: [None] for name in MIXED_ROWS})
    assert np.isfinite(told.decisions[0].contributions).all()
    assert set(told.decisions[0].given) == {"(missing)"}


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(count):
    rows = {name: values[:count] for name, values in MIXED_ROWS.items()}
    told = explain_local(mixed_model(), rows)
    assert len(told) == count
    assert f"explained: {count}." in str(told)
    assert LVQLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()


def test_classes_without_prototypes_are_told_and_never_given():
    model = prototype_model({"x": Number(0, 10)}, ["no", "perhaps", "yes"], [[-0.5], [0.5]], [0, 2])
    assert explain_global(model).empty_classes == ("perhaps",)
    assert "no row can get it: 'perhaps'" in str(explain_global(model))
    one = explain_local(model, {"x": [4.0]}).decisions[0]
    assert (one.predicted, one.right, one.wrong) == (0, 0, 1)
    assert one.changes[0].to_class == 2


@pytest.mark.parametrize("classes", [("no", "yes"), ("no",)])
def test_a_single_class_with_prototypes(classes):
    model = one_feature(labels=(0, 0), classes=classes)
    told = explain_local(model, {"x": [1.0, 9.0]})
    for one in told.decisions:
        assert one.predicted == 0
        assert one.wrong == -1
        assert one.wrong_distance == math.inf
        assert one.confidence == 1
        assert not one.contributions.any()
        assert one.changes == ()
        assert one.joint is None
        assert not one.doubtful
    assert "no other class has a prototype" in str(told)
    assert LVQLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()
    assert len(explain_global(model).to_records()) == 2


def test_a_row_on_the_border_needs_no_change():
    one = explain_local(one_feature(), {"x": [5.0]}).decisions[0]
    assert one.confidence == 0
    assert one.changes[0].size == 0
    assert one.joint.size == 0


def test_a_model_without_prototypes_is_refused():
    empty = prototype_model({"x": Number(0, 1)}, ["no", "yes"], np.zeros((0, 1)), [])
    with pytest.raises(DataError, match="no prototypes"):
        explain_local(empty, {"x": [0.5]})


def test_a_category_without_levels_is_left_out():
    columns = {"x": Number(0, 1), "nothing": Category([])}
    model = prototype_model(columns, ["no", "yes"], [[-0.5], [0.5]], [0, 1])
    told = explain_local(model, {"x": [0.1], "nothing": ["?"]})
    assert told.columns == ("x",)
    assert told.decisions[0].given == ("0.1",)


def test_unknown_noise_stays_unknown():
    model = replace(tumour_model(), prototype_errors=np.full((2, 4), math.inf))
    told = explain_local(model, TUMOUR_ROWS)
    assert told.decisions[0].gap_error == math.inf
    assert np.isinf(told.decisions[0].part_errors).all()
    assert "± unknown" in str(told)
    assert LVQLocalExplanation.from_json(told.to_json()).to_dict() == told.to_dict()


def test_rows_need_not_say_whose_they_are():
    model = tumour_model()
    model = replace(model, schema=model.schema.with_unit(Unit("patient", rows=3)))
    assert len(explain_local(model, TUMOUR_ROWS)) == 4


def test_a_shape_that_does_not_fit_is_refused():
    with pytest.raises(DataError, match="3 x 3"):
        explain_global(replace(tumour_model(), image_shape=(3, 3)))


# -- forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "rows"), CASES)
def test_storage_changes_nothing(model, rows):
    for one in (explain_global(model), explain_local(model, rows)):
        data = one.to_dict()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        for read in (type(one), Explanation):
            back = read.from_dict(json.loads(one.to_json()))
            assert type(back) is type(one)
            assert back.to_dict() == data
        assert data["cost"].startswith("costs nothing")


def test_records_cannot_be_changed():
    whole, told = explain_global(tumour_model()), explain_local(tumour_model(), TUMOUR_ROWS)
    with pytest.raises(FrozenInstanceError):
        whole.labels = ()
    with pytest.raises(ValueError, match="read-only"):
        whole.values[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        told.decisions[0].contributions[0] = 1


def test_data_that_do_not_fit_are_refused():
    data = explain_global(tumour_model()).to_dict()
    with pytest.raises(DataError, match="shape"):
        LVQExplanation.from_dict({**data, "values": [[1.0]]})
    with pytest.raises(DataError, match="no LVQLocalExplanation"):
        LVQLocalExplanation.from_dict(data)


def test_rows_can_be_picked():
    told = explain_local(mixed_model(), MIXED_ROWS)
    assert told[2].decisions[0].given == told.decisions[2].given
    assert len(told[1:3]) == 2
    assert [len(one) for one in told] == [1, 1, 1, 1]


def test_frames_are_tidy():
    frame = explain_global(mixed_model()).to_frame()
    assert len(frame) == 5 * 7
    assert set(frame["class"]) == {"home", "rehabilitation", "nursing home"}
    told = explain_local(mixed_model(), MIXED_ROWS)
    rows = told.to_frame()
    sums = rows.groupby("row").contribution.sum()
    assert np.allclose(sums, [one.gap for one in told.decisions], atol=1e-9)


def test_text_is_readable():
    text = str(explain_global(tumour_model()))
    assert "Model of 2 prototypes (gmlvq) for 2 classes" in text
    assert "'benign': about 357 rows" in text
    assert "radius                    12.3 ± 0.69" in text
    assert text.index("radius") < text.index("smoothness")
    told = str(explain_local(tumour_model(), TUMOUR_ROWS))
    assert (
        "Nearer to the typical 'malignant' (squared distance 0.0318) than to the typical 'benign'"
        in told
    )
    assert "most for it: concave points 0.08 (+0.395), radius 17.2 (+0.376)" in told
    assert "radius about 13 instead of 17.2" in told
    assert "60, read as 29" in told
    for one in (text, told, str(explain_global(mixed_model())), str(explain_global(wide_model()))):
        assert max(map(len, one.splitlines())) <= 100
        assert "No row of the training table is shown" in one
        assert "costs nothing" in one
    many = {name: values * 2 for name, values in TUMOUR_ROWS.items()}
    assert "3 more rows" in str(explain_local(tumour_model(), many))


def test_without_a_guarantee_no_false_comfort():
    model = replace(tumour_model(), receipt=make_receipt(math.inf))
    for text in (str(explain_global(model)), str(explain_local(model, TUMOUR_ROWS))):
        assert "may come close to one" in " ".join(text.split())
        assert "No row of the training table is shown" not in " ".join(text.split())
