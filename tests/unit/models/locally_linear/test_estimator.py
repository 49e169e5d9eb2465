"""LocallyLinearClassifier: scikit-learn's manners, receipts, settings, tables, pictures."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from classified_table import COLUMNS, EXPECTED_FAILURES, FRAME, SCHEMA, X, Y
from scipy.special import softmax
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from voile import Budget, Category, Ledger, LocallyLinearClassifier, Number, Schema, Unit, load
from voile.errors import BudgetExceeded, NothingFound, SchemaError, SettingError, VoileError
from voile.models import descent
from voile.privacy.accounting import compose
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, PoissonGaussian
from voile.privacy.noise import fixed_noise

QUICK = {"steps": 20, "sampling_rate": 1.0}
"""All rows in every step: the search for the noise of samples takes seconds."""

# -- scikit-learn's own checks ---------------------------------------------------------------------


# Without noise, because noise makes any two fits differ and the tens of rows that these checks give
# teach nothing at a finite epsilon.
@parametrize_with_checks(
    [
        LocallyLinearClassifier(
            epsilon=math.inf, steps=60, sampling_rate=1.0, learning_rate=0.3, random_state=0
        )
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:.*:sklearn.exceptions.SkipTestWarning")
def test_manners_of_scikit_learn(estimator, check):
    check(estimator)


def test_nothing_works_before_the_fit(tmp_path):
    model = LocallyLinearClassifier()
    for use in (
        lambda: model.predict([[1.0]]),
        lambda: model.predict_proba([[1.0]]),
        lambda: model.decision_function([[1.0]]),
        lambda: model.receipt_,
        lambda: model.explain_global(),
        lambda: model.explain_local([[1.0]]),
        lambda: model.save(tmp_path / "x.json"),
    ):
        with pytest.raises(NotFittedError):
            use()


# -- tables ----------------------------------------------------------------------------------------


def fit(rows=X, target=Y, seed=3, **settings):
    given = {"epsilon": 2.0, "schema": SCHEMA, "random_state": 0} | QUICK | settings
    with fixed_noise(seed):
        return LocallyLinearClassifier(**given).fit(rows, target)


def numbers_of(model):
    record, names = model.model_, ("weights", "offsets", "weight_errors")
    inputs = [getattr(record.inputs, name) for name in ("centre", "radius", "filling")]
    return np.concatenate([np.ravel(one) for one in [getattr(record, n) for n in names] + inputs])


def blobs(classes=3, rows=1500, size=2, seed=0, spread=0.5):
    """Round heaps on a circle of radius 4, inside bounds of -8 and 8."""
    generator = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    angle = 2 * np.pi * np.arange(classes) / classes
    centres = np.zeros((classes, size))
    centres[:, 0], centres[:, 1] = 4 * np.cos(angle), 4 * np.sin(angle)
    schema = Schema({f"x{i}": Number(-8, 8) for i in range(size)}, target=Category(range(classes)))
    return centres[y] + generator.normal(0, spread, (rows, size)), y, schema


@pytest.fixture(scope="module")
def fitted():
    return fit()


@pytest.mark.parametrize("settings", [{}, {"projection": 3, "maps": 2}], ids=["plain", "projected"])
def test_all_forms_of_a_table_give_the_same_model(settings, tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    pq.write_table(table, path, row_group_size=700)
    polars = pl.from_arrow(table)
    unnamed = Schema({f"x{i}": c for i, c in enumerate(COLUMNS.values())}, target=SCHEMA.target)
    forms = {
        "pandas with target": (FRAME, "label"),
        "polars": (polars.drop("label"), polars["label"]),
        "pyarrow": (table.drop_columns("label"), table["label"]),
        "mapping": ({name: list(X[name]) for name in X}, list(Y)),
        "parquet": (path, "label"),
        "parquet by text": (str(path), "label"),
    }
    model = fit(**settings)
    for name, (form, target) in forms.items():
        assert np.array_equal(numbers_of(fit(form, target, **settings)), numbers_of(model)), name
    array = fit(X.to_numpy(dtype=object), Y.to_numpy(), schema=unnamed, **settings)
    assert np.array_equal(numbers_of(array), numbers_of(model))
    answers = model.decision_function(X)
    for form in (X, polars, table, forms["mapping"][0]):
        assert np.array_equal(model.decision_function(form), answers)


def test_missing_and_unseen_values_are_predicted(fitted):
    rows = {
        "age": [None, math.nan, -1e300, math.inf, "x", 50],
        "job": [None, "pilot", 7, "nurse", "", "clerk"],
        "pay": [None, 0.0, 1e9, -math.inf, math.nan, True],
    }
    assert set(fitted.predict(rows)) <= {"no", "yes"}
    assert np.isfinite(fitted.decision_function(rows)).all()
    assert np.isfinite(fitted.predict_proba(rows)).all()


def test_it_learns():
    model = fit(epsilon=math.inf, steps=100, learning_rate=0.3)
    assert model.score(X, Y) > 0.8
    rows, labels, schema = blobs()
    model = fit(rows, labels, schema=schema, epsilon=4.0, steps=50, learning_rate=0.3)
    assert model.score(rows, labels) > 0.95


def test_a_missing_target_is_harmless():
    target = Y.astype(object).where(np.arange(len(Y)) % 10 > 0, None)
    assert np.isfinite(numbers_of(fit(target=target))).all()


# -- answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_scores_probabilities_and_classes_agree(classes):
    rows, labels, schema = blobs(classes, 2000, size=3, spread=1.5)
    model = fit(rows, labels, schema=schema, epsilon=8.0)
    scores, answers = model.decision_function(rows), model.predict(rows)
    assert scores.shape == ((len(rows),) if classes == 2 else (len(rows), classes))
    chosen = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert np.array_equal(model.classes_[chosen], answers)
    chances = model.predict_proba(rows)
    assert chances.shape == (len(rows), classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert (chances >= 0).all()
    if classes == 2:
        np.testing.assert_allclose(np.log(chances[:, 1] / chances[:, 0]), scores, atol=1e-9)
    else:
        np.testing.assert_allclose(chances, softmax(scores, axis=1), atol=1e-12)
    assert model.linear_maps_.shape[0] == classes
    assert model.linear_maps_.shape[2] == 3


@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("maps", [1, 4])
def test_scores_are_blended_linear_maps(maps, normalise):
    """What is written down of a model is what it does: points, maps, shares, scores."""
    rows, labels, schema = blobs(3, 600, size=3, spread=1.5)
    model = fit(rows, labels, schema=schema, maps=maps, normalise=normalise, epsilon=8.0)
    record = model.model_
    assert record.weights.shape == (3, maps, 3)
    points = rows.clip(-8, 8).astype(np.float64) / 8
    points = points.astype(np.float32).astype(np.float64)
    if normalise:
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    points -= record.inputs.centre
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    points /= lengths if normalise else np.maximum(lengths, 1.0)
    g = np.einsum("nj,kmj->nkm", points, record.weights) + record.offsets
    shares = softmax(record.beta * g, axis=2)
    np.testing.assert_allclose(
        model.decision_function(rows), (shares * g).sum(axis=2), rtol=1e-9, atol=1e-9
    )
    if maps == 1:  # a softmax of linear scores, whatever the temperature
        linear = points @ record.weights[:, 0].T + record.offsets[:, 0]
        np.testing.assert_allclose(model.predict_proba(rows), softmax(linear, axis=1), atol=1e-9)


def test_with_one_map_the_temperature_does_not_matter():
    rows, labels, schema = blobs(3, 600)
    one, other = (
        fit(rows, labels, schema=schema, maps=1, inverse_temperature=beta) for beta in (0.0, 50.0)
    )
    np.testing.assert_allclose(numbers_of(one), numbers_of(other), rtol=1e-3, atol=1e-3)


def test_empty_rows_are_predicted():
    rows, labels, schema = blobs(3, 600)
    model = fit(rows, labels, schema=schema)
    assert model.predict(rows[:0]).shape == (0,)
    assert model.predict_proba(rows[:0]).shape == (0, 3)


# -- settings --------------------------------------------------------------------------------------


def test_the_seed_is_for_public_choices_alone():
    rows, labels, schema = blobs(3, 1500)
    settings = {"schema": schema, "maps": 3, "epsilon": 8.0, "projection": 2}
    one, again, other = (fit(rows, labels, random_state=s, **settings) for s in (1, 1, 2))
    assert np.array_equal(numbers_of(one), numbers_of(again))
    assert not np.array_equal(numbers_of(one), numbers_of(other))
    free = [
        LocallyLinearClassifier(random_state=1, **QUICK | settings).fit(rows, labels).linear_maps_
        for _ in range(2)
    ]
    assert not np.array_equal(*free)  # noise is never seeded


@pytest.mark.parametrize("shared", [True, False])
def test_projections_are_shared_or_not(shared):
    """Linear maps lie in the rows of one projection, or of one for each map."""
    rows, labels, schema = blobs(2, 600, size=6)
    settings = {"schema": schema, "projection": 2, "maps": 3, "epsilon": 8.0}
    model = fit(rows, labels, shared_projection=shared, **settings)
    linear_maps = model.model_.weights
    assert linear_maps.shape == (2, 3, 6)
    for m in range(3):
        assert np.linalg.matrix_rank(linear_maps[:, m], tol=1e-9) <= 2
    together = np.linalg.matrix_rank(linear_maps.reshape(6, 6), tol=1e-9)
    assert together == 2 if shared else together > 2


@pytest.mark.parametrize("centring", ["private", "fixed", "none"])
def test_centres_are_private_fixed_or_none(centring):
    rows, labels, schema = blobs(2, 800)
    rows = np.abs(rows)
    settings = {"schema": schema, "centring": centring, "normalise": False}
    centre = fit(rows, labels, **settings).model_.inputs.centre
    other = fit(rows[::-1] / 2, labels, seed=4, **settings).model_.inputs.centre
    if centring == "private":
        assert not np.allclose(centre, other)
        np.testing.assert_allclose(centre, rows.clip(-8, 8).mean(axis=0) / 8, atol=0.1)
    else:  # nothing of the rows, and the middle of the bounds is nought here
        assert not centre.any()
        assert not other.any()


def test_without_a_private_centre_pictures_have_a_public_one():
    model = fit(PICTURES, KINDS, **PICTURE_SETTINGS, centring="fixed")
    other = fit(PICTURES[::-1] * 0.3, KINDS, seed=9, **PICTURE_SETTINGS, centring="fixed")
    assert np.array_equal(model.model_.inputs.centre, other.model_.inputs.centre)


@pytest.mark.parametrize(
    "settings",
    [
        {"image_shape": (np.int64(2), np.int64(3))},
        {"inverse_temperature": np.float32(0.25)},
        {"clip": np.float32(0.1)},
        {"learning_rate": np.float32(0.1)},
        {"sampling_rate": np.float32(1.0)},
        {"normalise": np.True_},
        {"maps": np.int64(2)},
        {"steps": np.int32(3)},
        {"projection": np.int64(2)},
        {"random_state": np.uint8(2)},
    ],
    ids=str,
)
def test_settings_of_numpys_types_are_as_good_as_pythons(settings, tmp_path):
    """They come out of grids and searches; the noise must not be rounded to single precision."""
    rows, labels, schema = blobs(2, 200, size=6)
    model = fit(rows, labels, schema=schema, **settings)
    plain = {
        name: tuple(map(int, value)) if isinstance(value, tuple) else value.item()
        for name, value in settings.items()
    }
    assert np.array_equal(numbers_of(model), numbers_of(fit(rows, labels, schema=schema, **plain)))
    back = load(model.save(tmp_path / "m.json"))
    assert np.array_equal(back.predict_proba(rows), model.predict_proba(rows))


# -- pictures --------------------------------------------------------------------------------------


def make_pictures(rows=400, channels=1, seed=0):
    """Bright above or bright below, 6 pixels high and 5 wide, in [0, 1]."""
    generator = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    found = generator.uniform(0, 0.3, (rows, 6, 5, channels))
    found[labels == 0, :3] += 0.6
    found[labels == 1, 3:] += 0.6
    return found, labels


PICTURES, KINDS = (one if one.ndim == 1 else one[..., 0] for one in make_pictures())
PIXELS = Schema({f"x{i}": Number(0, 1) for i in range(30)}, target=Category([0, 1]))
PICTURE_SETTINGS = {"image_shape": (6, 5), "schema": PIXELS, "maps": 2}


def test_pictures_are_taken_in_all_forms():
    flat = fit(PICTURES.reshape(-1, 30), KINDS, **PICTURE_SETTINGS)
    high = fit(PICTURES, KINDS, **PICTURE_SETTINGS)
    last = fit(PICTURES[..., None], KINDS, **PICTURE_SETTINGS | {"image_shape": (6, 5, 1)})
    listed = fit(PICTURES, KINDS, **PICTURE_SETTINGS | {"image_shape": [6, 5]})
    frame = pd.DataFrame(PICTURES.reshape(-1, 30), columns=list(PIXELS))
    named = fit(frame, KINDS, **PICTURE_SETTINGS)
    for other in (high, last, listed, named):
        assert np.array_equal(numbers_of(other), numbers_of(flat))
    answers = flat.predict_proba(PICTURES.reshape(-1, 30))
    assert np.array_equal(high.predict_proba(PICTURES), answers)
    assert np.array_equal(last.predict_proba(PICTURES[..., None]), answers)
    assert np.array_equal(named.predict_proba(frame), answers)
    assert high.linear_maps_.shape == (2, 2, 30)


def test_pictures_have_colours():
    rows, labels = make_pictures(channels=3)
    pixels = Schema({f"x{i}": Number(0, 1) for i in range(90)}, target=Category([0, 1]))
    settings = {"image_shape": (6, 5, 3), "schema": pixels, "maps": 2, "epsilon": 20.0}
    model = fit(rows, labels, **settings)
    assert np.array_equal(model.predict(rows), model.predict(rows.reshape(-1, 90)))
    assert model.score(rows, labels) > 0.9


BRIGHTNESS = {
    "bytes": ((PICTURES * 255).astype(np.uint8), (0, 255), False),
    "fractions": (PICTURES, (0, 1), True),
    "single": (PICTURES.astype(np.float32), (0, 1), True),
    "to 255": (PICTURES * 255, (0, 255), True),
    "whole": ((PICTURES * 255).astype(np.int64), (0, 255), True),
    "negative": (PICTURES * 2 - 1, (-1, 1), True),
    "12 bits": (PICTURES * 4000, (0, 4095), True),
    "beyond": (PICTURES * 1e9, (0, 65535), True),
}


@pytest.mark.parametrize(("rows", "bounds", "paid"), BRIGHTNESS.values(), ids=BRIGHTNESS)
def test_the_range_of_pixels_is_known_by_their_type_or_found_privately(rows, bounds, paid):
    for epsilon in (math.inf, 100.0):
        settings = {"image_shape": (6, 5), "schema": None, "maps": 2, "epsilon": epsilon}
        model = fit(rows, KINDS, **settings)
        assert {(one.lower, one.upper) for one in model.model_.schema.values()} == {bounds}
        labels = [line.label for line in model.receipt_.lines]
        assert ("range of pixels" in labels) == paid
        assert list(model.classes_) == [0, 1]


def test_the_range_of_bytes_is_known_with_a_schema_too():
    """It is documented as public; nothing is to be spent on it."""
    unknown = Schema({f"x{i}": Number() for i in range(30)}, target=Category([0, 1]))
    rows = (PICTURES * 255).astype(np.uint8)
    model = fit(rows, KINDS, **PICTURE_SETTINGS | {"schema": unknown})
    assert "range of pixels" not in [line.label for line in model.receipt_.lines]
    assert model.model_.schema["x0"] == Number(0, 255)


def test_missing_and_wild_pixels_are_predicted():
    rows = PICTURES.copy()
    rows[0], rows[1, 0], rows[2, 1], rows[3] = np.nan, np.inf, -np.inf, 0.0
    model = fit(rows, KINDS, **PICTURE_SETTINGS)
    assert np.isfinite(numbers_of(model)).all()
    assert np.isfinite(model.predict_proba(rows)).all()


def test_an_empty_table_of_pictures_is_not_refused():
    """An error would tell that nobody is in it."""
    for rows in (PICTURES[:0], PICTURES[:0].reshape(0, 30)):
        model = fit(rows, KINDS[:0], **PICTURE_SETTINGS)
        assert np.isfinite(numbers_of(model)).all()
        assert model.predict(rows).shape == (0,)


def test_pictures_of_another_form_are_refused():
    """Pixels in another order would be taken for a picture, and moved and smoothed as one."""
    ledger = Ledger(Budget(2.0, 1e-5))
    with pytest.raises(VoileError):
        fit(PICTURES.transpose(0, 2, 1), KINDS, **PICTURE_SETTINGS, ledger=ledger)
    assert ledger.history() == ()


@pytest.mark.parametrize("basis", ["smooth", "plain"])
@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("preset", ["accurate", "readable"])
def test_a_model_of_pictures_comes_back_from_its_file_bit_for_bit(basis, copies, preset, tmp_path):
    settings = PICTURE_SETTINGS | {"basis": basis, "copies": copies, "preset": preset}
    model = fit(PICTURES, KINDS, steps=3, **settings)
    back = load(model.save(tmp_path / "model.json"))
    assert np.array_equal(numbers_of(back), numbers_of(model))
    assert np.array_equal(back.predict_proba(PICTURES), model.predict_proba(PICTURES))
    assert back.model_.image_shape == (6, 5)


# -- classes and files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [0, 1], [7, -3], ["1", 1], [True, False], ["a", 2, 2.5, "b"], list(range(10))],
    ids=str,
)
def test_classes_come_back_as_they_were_given(names, tmp_path):
    rows, codes, schema = blobs(len(names), 150 * len(names))
    labels = [names[code] for code in codes]
    settings = {"schema": schema.with_target(Category(names)), "learning_rate": 1.0}
    model = fit(rows, labels, epsilon=math.inf, steps=60, **settings | {"sampling_rate": 1.0})
    assert [*model.classes_] == names
    assert [type(one) for one in model.classes_.tolist()] == [type(one) for one in names]
    answers = model.predict(rows)
    right = [a == b and type(a) is type(b) for a, b in zip(answers.tolist(), labels, strict=True)]
    assert np.mean(right) > 0.9
    back = load(model.save(tmp_path / "m.json"))
    assert [type(one) for one in back.classes_.tolist()] == [type(one) for one in names]
    assert np.array_equal(back.predict(rows), answers)


def test_a_class_nobody_has_is_harmless():
    rows, labels, schema = blobs(2, 400)
    model = fit(rows, labels, schema=schema.with_target(Category([0, 1, 2])), epsilon=8.0)
    assert np.isfinite(numbers_of(model)).all()
    assert model.predict_proba(rows).shape == (400, 3)


@pytest.mark.parametrize("settings", [{}, {"projection": 2}, {"maps": 1}], ids=str)
def test_a_model_comes_back_from_its_file_bit_for_bit(settings, tmp_path):
    model = fit(**settings)
    back = load(model.save(tmp_path / "model.json"))
    assert type(back) is LocallyLinearClassifier
    assert np.array_equal(numbers_of(back), numbers_of(model))
    for method in ("predict", "decision_function", "predict_proba"):
        assert np.array_equal(getattr(back, method)(X), getattr(model, method)(X))
    assert np.array_equal(back.linear_maps_, model.linear_maps_)
    assert back.receipt_ == model.receipt_
    assert back.model_.schema == model.model_.schema


# -- budget and receipt ----------------------------------------------------------------------------

UNKNOWN = Schema({"age": Number(), "job": Category(), "pay": Number()}, target=Category())


def check_receipt(model, epsilon, relation):
    receipt = model.receipt_
    assert receipt.has_guarantee
    assert receipt.relation is relation
    assert receipt.epsilon <= epsilon
    events = [line.event for line in receipt.lines]
    assert compose(events, relation).epsilon(1e-6) == receipt.epsilon
    assert [line.openings for line in receipt.lines] == [line.event.count for line in receipt.lines]
    assert len({line.label for line in receipt.lines}) == len(receipt.lines)
    return receipt


@pytest.mark.parametrize("schema", [SCHEMA, UNKNOWN, None], ids=["known", "unknown", "none"])
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_the_receipt_adds_up(relation, schema):
    ledger = Ledger(Budget(1.5, 1e-6), relation=relation)
    settings = {"delta": 1e-6, "schema": schema, "ledger": ledger, **QUICK}
    model = LocallyLinearClassifier(epsilon=1.5, **settings).fit(X, Y)
    receipt = check_receipt(model, 1.5, relation)
    assert receipt.epsilon == pytest.approx(1.5, rel=1e-5)
    assert math.fsum(line.share for line in receipt.lines) == pytest.approx(1.0)
    assert all(not isinstance(line.event, PoissonGaussian) for line in receipt.lines)
    assert len(ledger.history()) == 1
    with pytest.raises(BudgetExceeded):
        LocallyLinearClassifier(epsilon=0.1, **settings).fit(X, Y)
    assert len(ledger.history()) == 1
    assert ledger.spent().epsilon <= 1.5 * (1 + 1e-9)
    if schema is None:
        assert set(model.classes_) == {"no", "yes"}


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_the_receipt_of_sampled_steps_adds_up(relation):
    ledger = Ledger(Budget(1.5, 1e-6), relation=relation)
    settings = {"delta": 1e-6, "schema": SCHEMA, "ledger": ledger, "steps": 2}
    model = LocallyLinearClassifier(epsilon=1.5, sampling_rate=0.5, **settings).fit(X, Y)
    receipt = check_receipt(model, 1.5, relation)
    assert receipt.epsilon > 1.4
    sampled = [one.event for one in receipt.lines if isinstance(one.event, PoissonGaussian)]
    assert [(one.rate, one.count) for one in sampled] == [(0.5, 2)]
    assert len(ledger.history()) == 1


def test_replaced_rows_need_twice_the_noise():
    rows, labels, schema = blobs(3, 600)
    deviations = {}
    for relation in NeighbouringRelation:
        ledger = Ledger(Budget(1.0, 1e-6), relation=relation)
        model = fit(rows, labels, epsilon=1.0, delta=1e-6, schema=schema, ledger=ledger)
        (deviations[relation],) = (
            line.event.noise_multiplier for line in model.receipt_.lines if line.label == "steps"
        )
        assert model.receipt_.relation is relation
    # The same multiplier of a sensitivity that is twice as large.
    assert len(set(deviations.values())) == 1


def test_people_with_several_rows_are_never_sampled():
    rows, labels, schema = blobs(3, 900)
    frame = {"who": list(range(300)) * 3, "x0": rows[:, 0], "x1": rows[:, 1]}
    of_people = Schema(dict(schema), target=schema.target, unit=Unit("who", 3))
    settings = {"schema": of_people, "sampling_rate": "auto"}
    model = fit(frame, labels, **settings)
    steps = [line.event for line in model.receipt_.lines if line.label == "steps"]
    assert [type(one) for one in steps] == [Gaussian]
    assert model.receipt_.unit == "who (at most 3 rows each)"
    assert model.n_features_in_ == 2
    ledger = Ledger(Budget(2.0, 1e-5))
    with pytest.raises(SettingError, match="units of several rows"):
        fit(frame, labels, **settings | {"sampling_rate": 0.5, "ledger": ledger})
    assert ledger.history() == ()
    fit(frame, labels, **settings | {"sampling_rate": 1.0})
    plain = fit(frame, labels, **settings | {"sampling_rate": 0.5, "epsilon": math.inf})
    assert not plain.receipt_.has_guarantee


def test_people_with_one_row_are_sampled():
    rows, labels, schema = blobs(2, 400)
    frame = {"who": list(range(400)), "x0": rows[:, 0], "x1": rows[:, 1]}
    of_people = Schema(dict(schema), target=schema.target, unit=Unit("who", 1))
    model = fit(frame, labels, schema=of_people, sampling_rate=0.5, steps=2)
    assert isinstance(model.receipt_.lines[-1].event, PoissonGaussian)


def test_noise_grows_with_the_rows_of_a_person(monkeypatch):
    """Three rows each: three times the sensitivity in every step, whoever has fewer."""
    rows, labels, schema = blobs(3, 900)
    frame = {"who": list(range(900)), "x0": rows[:, 0], "x1": rows[:, 1]}
    seen = {}
    original = descent.gaussian_sum

    def spied(table, query, ticket):
        release = original(table, query, ticket)
        seen[most] = release.standard_error
        return release

    monkeypatch.setattr(descent, "gaussian_sum", spied)
    for most in (1, 3):
        of_people = Schema(dict(schema), target=schema.target, unit=Unit("who", most))
        fit(frame, labels, schema=of_people)
    assert seen[3] == pytest.approx(3 * seen[1])


@pytest.mark.parametrize("settings", [{}, {"projection": 2}, {"sampling_rate": 0.1}], ids=str)
def test_without_noise_the_receipt_guarantees_nothing(settings):
    model = LocallyLinearClassifier(epsilon=math.inf, schema=SCHEMA, steps=20, **settings).fit(X, Y)
    assert not model.receipt_.has_guarantee
    assert "no guarantee" in str(model.receipt_)
    assert not model.model_.weight_errors.any()


def test_without_noise_the_same_rows_give_the_same_model():
    models = [
        LocallyLinearClassifier(epsilon=math.inf, schema=SCHEMA, steps=20, random_state=1).fit(X, Y)
        for _ in range(2)
    ]
    assert np.array_equal(*map(numbers_of, models))


# -- interruption ----------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [SCHEMA, UNKNOWN], ids=["known", "unknown"])
def test_an_interrupted_fit_releases_nothing_and_stays_spent(schema, monkeypatch):
    ledger = Ledger(Budget(2.0, 1e-6))
    original = descent.gaussian_sum
    steps = iter(range(100))

    def interrupted(table, query, ticket):
        if next(steps) == 3:
            raise KeyboardInterrupt
        return original(table, query, ticket)

    monkeypatch.setattr(descent, "gaussian_sum", interrupted)
    model = LocallyLinearClassifier(epsilon=1.5, delta=1e-6, schema=schema, ledger=ledger, **QUICK)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, Y)
    (note,) = caught.value.__notes__
    assert "stays spent" in note
    assert "nothing of it is released" in note
    assert not hasattr(model, "model_")
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert len(ledger.history()) == 1
    assert ledger.spent().epsilon == pytest.approx(1.5, rel=0.01)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)


# -- refusals --------------------------------------------------------------------------------------

BAD_SETTINGS = [
    *(({"epsilon": bad}, "epsilon") for bad in (0.0, -1.0, math.nan, "1")),
    *(({"delta": bad}, "delta") for bad in (1.5, -0.1, "no", 0.0)),
    *(({"maps": bad}, "maps") for bad in (0, -1, 1001, 1.5, True, "many", [2])),
    *(
        ({"inverse_temperature": bad}, "inverse_temperature")
        for bad in (-0.1, math.nan, math.inf, "hot", True)
    ),
    *(({"projection": bad}, "projection") for bad in (0, 1.5, True, "auto", 10**6)),
    *(({"sampling_rate": bad}, "sampling_rate") for bad in (0.0, 1.1, -1, math.nan, "x", True)),
    *(({"steps": bad}, "steps") for bad in (0, 1.5, 10**7, "all", True)),
    *(({"clip": bad}, "clip") for bad in (0.0, 1e4, -1, math.nan, math.inf, "short")),
    *(({"learning_rate": bad}, "learning_rate") for bad in (0.0, 1e4, -1, math.nan, "fast")),
    *(({"random_state": bad}, "random_state") for bad in ("seed", -1, 1.5, math.nan)),
    *(({"normalise": bad}, "normalise") for bad in (1, "yes", 0.5)),
    *(({"copies": bad}, "copies") for bad in (1, "yes", 9)),
    *(({"shared_projection": bad}, "shared_projection") for bad in ("no", 2, None)),
    ({"preset": "pretty"}, "preset"),
    ({"preset": ["accurate"]}, "preset"),
    ({"basis": "wavelets"}, "basis"),
    ({"centring": True}, "centring"),
    ({"copies": True}, "image_shape"),
    ({"basis": "smooth"}, "image_shape"),
    ({"projection": 2, "copies": True, "image_shape": (2, 2)}, "projection"),
    ({"projection": 2, "basis": "smooth", "image_shape": (2, 2)}, "projection"),
    *(({"image_shape": bad}, "image_shape") for bad in ((4,), (0, 4), (2.0, 2), "4x1", 4)),
    *(({"image_shape": bad}, "image_shape") for bad in ((1, 2, 2, 1), (True, 4), ())),
    ({"image_shape": (2, 3)}, "6 pixels"),
    ({"image_shape": (1, 3)}, "category"),
]


@pytest.mark.parametrize(("settings", "said"), BAD_SETTINGS, ids=str)
def test_bad_settings_spend_nothing_and_say_why(settings, said):
    ledger = Ledger(Budget(2.0, 1e-5))
    given = {"schema": SCHEMA, "ledger": ledger, "epsilon": 2.0} | QUICK | settings
    model = LocallyLinearClassifier(**given)
    with pytest.raises(SettingError, match=said) as caught:
        model.fit(X.head(50), Y.head(50))
    assert ledger.history() == ()
    assert not hasattr(model, "model_")
    # What is wrong, and what would be right.
    assert len(str(caught.value)) > 30


def test_a_picture_of_another_size_is_refused_before_its_range_is_found():
    """How many numbers there are is public, whatever their bounds."""
    ledger = Ledger(Budget(2.0, 1e-5))
    model = LocallyLinearClassifier(image_shape=(2, 2), ledger=ledger)
    with pytest.raises(SettingError, match="image_shape"):
        model.fit(np.zeros((50, 3)), ["a", "b"] * 25)
    assert ledger.history() == ()


@pytest.mark.parametrize("kind", ["unlisted", "objects", "text"])
def test_categories_among_pixels_are_refused_before_anything_is_spent(kind):
    """Which columns are categories is public, whatever their levels."""
    ledger = Ledger(Budget(2.0, 1e-5))
    schema = None
    if kind == "unlisted":
        columns = {"x0": Number(0, 1), "x1": Number(0, 1), "x2": Number(0, 1), "x3": Category()}
        schema = Schema(columns, target=Category([0, 1]))
    rows = np.ones((600, 4)).astype({"text": str, "objects": object}.get(kind, float))
    settings = {"image_shape": (2, 2), "schema": schema, "ledger": ledger, **QUICK}
    with pytest.raises(SettingError, match=r"[Pp]ixel"):
        LocallyLinearClassifier(**settings).fit(rows, np.arange(600) % 2)
    assert ledger.history() == ()


def test_more_pixels_than_products_can_have_are_refused_before_anything_is_spent(monkeypatch):
    from voile.models import exact_sums as whole_numbers

    monkeypatch.setattr(whole_numbers, "MOST_COLUMNS", 16)
    ledger = Ledger(Budget(2.0, 1e-5))
    with pytest.raises(SettingError, match="at most"):
        fit(PICTURES, KINDS, **PICTURE_SETTINGS, ledger=ledger)
    assert ledger.history() == ()


def test_more_than_the_ledger_has_is_refused():
    ledger = Ledger(Budget(2.0, 1e-5))
    with pytest.raises(BudgetExceeded):
        LocallyLinearClassifier(epsilon=3.0, schema=SCHEMA, ledger=ledger, **QUICK).fit(X, Y)
    assert ledger.history() == ()


def test_a_target_that_is_a_number_is_refused():
    ledger = Ledger(Budget(2.0, 1e-5))
    for schema in (SCHEMA.with_target(Number(0, 1)), SCHEMA.with_target(Number())):
        with pytest.raises(SettingError, match="Category"):
            LocallyLinearClassifier(schema=schema, ledger=ledger).fit(X, Y)
    assert ledger.history() == ()


def test_fewer_than_two_classes_are_refused_before_anything_is_spent():
    ledger = Ledger(Budget(2.0, 1e-5))
    schema = SCHEMA.with_target(Category(["only"]))
    with pytest.raises(SchemaError, match="at least two"):
        LocallyLinearClassifier(schema=schema, ledger=ledger, **QUICK).fit(X, Y)
    assert ledger.history() == ()


def test_a_single_class_in_the_rows_is_told_by_noised_counts_alone():
    """Without listed classes: found privately, paid for, and then refused."""
    ledger = Ledger(Budget(2.0, 1e-5))
    schema = SCHEMA.with_target(Category())
    with pytest.raises(NothingFound, match=r"one class of the target, 'yes'.* stays paid"):
        fit(target=np.full(len(X), "yes"), schema=schema, ledger=ledger)
    assert len(ledger.history()) == 1
    # With listed classes nobody can tell.
    assert fit(target=np.full(len(X), "yes")).receipt_.epsilon <= 2.0


@pytest.mark.parametrize(
    "rows",
    [
        X.head(0),
        X.head(1),
        X.assign(age=np.nan, pay=np.nan, job=None),
        X.assign(age=50.0, pay=0.0),
        X.assign(age=np.inf, pay=-np.inf),
        X.assign(pay="text"),
    ],
    ids=["empty", "one row", "all missing", "constant", "infinite", "text for numbers"],
)
@pytest.mark.parametrize("settings", [{}, {"projection": 2}, {"normalise": False}], ids=str)
def test_no_table_is_refused_for_what_it_holds(rows, settings):
    model = fit(rows, Y.head(len(rows)), **settings)
    assert np.isfinite(numbers_of(model)).all()
    assert np.isfinite(model.predict_proba(X)).all()
