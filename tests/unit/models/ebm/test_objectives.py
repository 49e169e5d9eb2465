"""Counts, rates, amounts and quantiles: calibrated, near peers, refused where they cannot be."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gamma, nbinom, poisson
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

import voile
from voile import Budget, Category, EBMClassifier, EBMRegressor, Ledger, Number, Schema
from voile.errors import DataError, ModelError, SchemaError, SettingError
from voile.models.ebm.count_tables import LOWEST, PER_UNIT, count_table, half_window
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.NoLedgerWarning")

COLUMNS = {"age": Number(18, 90), "bonus": Number(50, 200), "km": Number(0, 60)}
COLUMNS |= {"area": Category(list("abcd")), "idle": Number(0, 1)}
YEARS = Number(0.1, 1)


def draw(rows, seed=0):
    """Columns, the log of what multiplies the mean, and an exposure."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "bonus": 50 + rng.exponential(20, rows).clip(0, 150),
            "km": rng.gamma(3, 5, rows).clip(0, 60),
            "area": rng.choice(list("abcd"), rows, p=[0.4, 0.3, 0.2, 0.1]),
            "idle": rng.uniform(0, 1, rows),
        }
    )
    log = 0.9 * np.exp(-(frame.age - 18) / 8) + 0.012 * (frame.bonus - 70)
    log += 0.3 * np.sin(frame.km / 8) + 0.4 * (frame.area == "d")
    return frame, log.to_numpy(), rng.uniform(0.1, 1, rows), rng


def schema_of(largest, **more):
    return Schema({**COLUMNS, **more}, target=Number(0, largest))


# -- tables of counts ------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0])
def test_the_table_of_counts_is_what_sums_say(width):
    table = count_table(width)
    counts = np.arange(4000)
    for mean in (1e-4, 0.07, 0.5, 1.0, 3.3, 47.0, 1500.0):
        place = round((math.log(mean) - LOWEST) * PER_UNIT)
        mean = float(table.means[place])
        half = float(half_window(np.array([mean]), width)[0])
        lower, upper = max(mean - half, 0.0), mean + half
        clipped = np.clip(counts, lower, upper)

        def expect(m, clipped=clipped):
            return float(poisson.pmf(counts, m) @ clipped)

        centre = expect(mean)
        longest = max(centre - lower, upper - centre)
        slope = mean * (expect(mean * (1 + 1e-5)) - expect(mean * (1 - 1e-5))) / (2e-5 * mean)
        spread = float(poisson.pmf(counts, mean) @ (clipped - centre) ** 2)
        assert table.centres[place] == pytest.approx((centre - mean) / half, abs=1e-9)
        assert table.slopes[place] == pytest.approx(slope / longest, rel=1e-5)
        assert table.variances[place] == pytest.approx(spread / longest**2, rel=1e-5)


def test_the_table_of_counts_is_smooth_where_counts_are_taken_as_normal():
    table = count_table(1.0)
    for values in (table.centres, table.slopes, table.variances):
        assert np.isfinite(values).all()
    large = table.means > 1e4
    assert np.abs(np.diff(np.log(table.slopes[large]))).max() < 0.01
    assert np.abs(np.diff(table.variances[large])).max() < 0.01
    assert (np.diff(table.responses) >= 0).all()


# -- counts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "largest"), [(0.08, 10), (2.0, 50), (40.0, 2000)])
@pytest.mark.parametrize("epsilon", [math.inf, 2.0])
def test_counts_are_calibrated_however_narrow_their_window(rate, largest, epsilon):
    X, log, years, rng = draw(20_000)
    y = rng.poisson(rate * np.exp(log) * years)
    model = EBMRegressor(
        epsilon=epsilon,
        schema=schema_of(largest, years=YEARS),
        objective="poisson",
        exposure="years",
        interactions=0,
    ).fit(X.assign(years=years), y)
    told, true = model.predict(X, exposure=years), rate * np.exp(log) * years
    assert told.mean() == pytest.approx(y.mean(), rel=0.05 if rate < 1 else 0.02)
    order = np.argsort(true)
    for part in np.array_split(order, 3):
        assert told[part].sum() == pytest.approx(true[part].sum(), rel=0.2 if rate < 1 else 0.06)


def test_counts_that_vary_more_than_poissons_are_calibrated_too():
    X, log, years, rng = draw(20_000)
    mean = 5.0 * np.exp(log) * years
    y = nbinom.rvs(2, 2 / (2 + mean), random_state=rng)
    schema = schema_of(500, years=YEARS)
    model = EBMRegressor(epsilon=2, schema=schema, objective="poisson", exposure="years")
    told = model.fit(X.assign(years=years), y).predict(X, exposure=years)
    assert told.mean() == pytest.approx(y.mean(), rel=0.05)


def test_a_private_model_of_claims_is_near_a_gam_that_is_not():
    X, log, years, rng = draw(60_000)
    y = rng.poisson(0.08 * np.exp(log) * years)
    learned, held = slice(0, 40_000), slice(40_000, None)
    numbers = [name for name, column in COLUMNS.items() if isinstance(column, Number)]
    columns = make_column_transformer(
        (SplineTransformer(8, knots="quantile"), numbers), (OneHotEncoder(), ["area"])
    )
    peer = make_pipeline(columns, PoissonRegressor(alpha=1e-4, max_iter=500))
    peer.fit(X[learned], (y / years)[learned], poissonregressor__sample_weight=years[learned])
    model = EBMRegressor(
        epsilon=2, schema=schema_of(20, years=YEARS), objective="poisson", exposure="years"
    ).fit(X.assign(years=years)[learned], y[learned])
    ours = mean_poisson_deviance(y[held], model.predict(X[held], exposure=years[held]))
    theirs = mean_poisson_deviance(y[held], peer.predict(X[held]) * years[held])
    alone = mean_poisson_deviance(y[held], years[held] * y[learned].sum() / years[learned].sum())
    assert ours < 1.02 * theirs
    assert ours < alone - 0.7 * (alone - theirs)


def test_pairs_are_learned_for_counts():
    X, _, _, rng = draw(20_000)
    y = rng.poisson(2 * np.exp(0.8 * ((X.idle > 0.5) == (X.age > 54)) - 0.4))
    given = {"epsilon": 4, "schema": schema_of(60), "objective": "poisson"}
    plain = EBMRegressor(**given, interactions=0).fit(X, y)
    paired = EBMRegressor(**given, interactions=[("age", "idle")]).fit(X, y)
    assert len(paired.model_.pairs) == 1
    found = [mean_poisson_deviance(y, one.predict(X)) for one in (plain, paired)]
    assert found[1] < found[0] - 0.05


# -- amounts and quantiles -------------------------------------------------------------------------


def test_counts_that_vary_more_than_poissons_have_no_pairs_for_that():
    """Pairs are chosen through the window that the counts have, not the narrowest."""
    rng = np.random.default_rng(0)
    X = {name: rng.random(20_000) for name in "abcde"}
    y = rng.poisson(2.0 * rng.gamma(0.5, 2.0, 20_000))
    schema = Schema(dict.fromkeys(X, Number(0, 1)), target=Number(0, 100))
    with fixed_noise(1):
        model = EBMRegressor(epsilon=8.0, schema=schema, objective="poisson").fit(X, y)
    assert model.model_.pairs == ()


@pytest.mark.parametrize("shape", [0.7, 2.0, 20.0])
@pytest.mark.parametrize("epsilon", [math.inf, 2.0])
def test_amounts_are_calibrated(shape, epsilon):
    X, log, _, rng = draw(20_000)
    mean = 1000 * np.exp(log)
    y = mean * gamma.rvs(shape, scale=1 / shape, size=len(X), random_state=rng)
    model = EBMRegressor(
        epsilon=epsilon, schema=schema_of(50_000), objective="gamma", interactions=0
    )
    told = model.fit(X, y).predict(X)
    assert told.mean() == pytest.approx(mean.mean(), rel=0.03)
    for part in np.array_split(np.argsort(mean), 3):
        assert told[part].sum() == pytest.approx(mean[part].sum(), rel=0.06)
    assert np.std(np.log(told / mean)) < (0.1 if shape > 1 else 0.2)


def test_amounts_are_proportional_to_their_exposure():
    X, log, years, rng = draw(20_000)
    y = 100 * np.exp(log) * years * gamma.rvs(3, scale=1 / 3, size=len(X), random_state=rng)
    schema = schema_of(5000, years=YEARS)
    model = EBMRegressor(epsilon=2, schema=schema, objective="gamma", exposure="years")
    model.fit(X.assign(years=years), y)
    assert model.predict(X).mean() == pytest.approx(100 * np.exp(log).mean(), rel=0.04)
    assert model.predict(X, exposure=years).mean() == pytest.approx(y.mean(), rel=0.04)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("epsilon", [math.inf, 2.0, 1.0])
def test_quantiles_have_their_part_of_the_rows_below_them(level, epsilon):
    X, log, _, rng = draw(20_000)
    y = 10 + 5 * log + (1 + (X.area == "a")) * gamma.rvs(2, size=len(X), random_state=rng)
    schema = Schema(COLUMNS, target=Number(-10, 60))
    model = EBMRegressor(epsilon=epsilon, schema=schema, objective="quantile", quantile=level)
    told = model.fit(X, y).predict(X)
    assert (y <= told).mean() == pytest.approx(level, abs=0.02)
    true = 10 + 5 * log + (1 + (X.area == "a")) * gamma.ppf(level, 2)
    assert np.corrcoef(told, true)[0, 1] > 0.9


# -- odd input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["poisson", "gamma", "quantile"])
@pytest.mark.parametrize("epsilon", [math.inf, 1.0, 0.01])
@pytest.mark.parametrize("values", ["zeros", "largest", "missing", "few"])
def test_odd_targets_give_finite_models(objective, epsilon, values):
    X, _, years, rng = draw(300)
    y = {
        "zeros": np.zeros(300),
        "largest": np.full(300, 1e12),
        "missing": np.where(rng.random(300) < 0.9, np.nan, 1.0),
        "few": np.where(np.arange(300) < 3, 4.0, 0.0),
    }[values]
    exposure = {} if objective == "quantile" else {"exposure": "years"}
    years[:20] = [np.nan, 1e300, -1.0, 0.0] * 5
    model = EBMRegressor(
        epsilon=epsilon, schema=schema_of(20, years=YEARS), objective=objective, **exposure
    ).fit(X.assign(years=years), y)
    told = model.predict(X.assign(years=0.5))
    assert np.isfinite(told).all()
    assert (told >= 0).all()


def test_ends_of_the_exposure_are_its_bounds():
    X, log, years, rng = draw(5000)
    y = rng.poisson(3 * np.exp(log) * years)
    given = {"epsilon": math.inf, "schema": schema_of(50, years=YEARS), "objective": "poisson"}
    given |= {"exposure": "years", "interactions": 0}
    wild = np.where(years > 0.9, 77.0, years)
    tame = np.where(years > 0.9, 1.0, years)
    one, other = (EBMRegressor(**given).fit(X.assign(years=w), y) for w in (wild, tame))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.predict(X, exposure=wild), other.predict(X, exposure=tame))


# -- the model -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def claims():
    X, log, years, rng = draw(4000)
    X.insert(1, "years", years)
    y = rng.poisson(2 * np.exp(log) * years)
    schema = Schema({**COLUMNS, "years": YEARS}, target=Number(0, 40)).select(list(X))
    model = EBMRegressor(
        epsilon=8, schema=schema, objective="poisson", exposure="years", interactions=0
    )
    return model.fit(X, y), X, y


def test_an_exposure_is_no_term_and_rows_need_not_have_it(claims):
    model, X, _ = claims
    assert [term.name for term in model.model_.terms] == [n for n in X if n != "years"]
    rates = model.predict(X)
    np.testing.assert_array_equal(model.predict(X.drop(columns="years")), rates)
    named = model.predict(X, exposure="years")
    np.testing.assert_allclose(named, np.clip(rates * X.years, 0, 40))
    np.testing.assert_array_equal(model.predict(X, exposure=X.years), named)
    np.testing.assert_array_equal(model.predict(X, exposure=1), np.clip(rates, 0, 40))


def test_the_score_of_rates_is_that_of_their_counts(claims):
    model, X, y = claims
    told = model.predict(X, exposure="years")
    assert model.score(X, y) == pytest.approx(r2_score(y, told))
    weights = np.arange(len(y)) % 3
    weighed = r2_score(y, told, sample_weight=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(weighed)


@pytest.mark.parametrize(
    ("bad", "words"),
    [([1.0, 2.0, np.nan], "row 3 is missing"), ([1, 0, -1], "row 2 is 0, and 1 more")],
)
def test_the_first_bad_exposure_is_named(claims, bad, words):
    model, X, _ = claims
    with pytest.raises(DataError, match=words):
        model.predict(X[:3], exposure=bad)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, [1.0, 2.0], "age", ["a", "b", "c"], [[1.0]]])
def test_a_bad_exposure_is_refused(claims, bad):
    model, X, _ = claims
    with pytest.raises((DataError, SettingError), match="exposure"):
        model.predict(X[:3], exposure=bad)


def test_a_model_without_an_exposure_takes_none():
    X, log, _, rng = draw(500)
    model = EBMRegressor(epsilon=1, schema=schema_of(50), objective="poisson")
    model.fit(X, rng.poisson(np.exp(log)))
    with pytest.raises(SettingError, match="no exposure"):
        model.predict(X, exposure=np.ones(len(X)))


def test_arrays_keep_the_place_of_the_exposure():
    rng = np.random.default_rng(0)
    A = np.column_stack(
        [rng.uniform(0, 1, 3000), rng.uniform(0.1, 1, 3000), rng.uniform(0, 1, 3000)]
    )
    schema = Schema({"a": Number(0, 1), "w": YEARS, "b": Number(0, 1)}, target=Number(0, 60))
    y = rng.poisson(5 * np.exp(A[:, 0]) * A[:, 1])
    model = EBMRegressor(epsilon=8, schema=schema, objective="poisson", exposure="w").fit(A, y)
    told = model.predict(A, exposure="w")
    assert told.mean() == pytest.approx(y.mean(), rel=0.1)
    assert np.corrcoef(told, 5 * np.exp(A[:, 0]) * A[:, 1])[0, 1] > 0.95
    assert len(model.explain_local(A[:3])) == 3
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("objective", ["poisson", "gamma", "quantile"])
def test_models_come_back_from_their_files(tmp_path, objective):
    X, log, years, _ = draw(1500)
    exposure = {"quantile": 0.8} if objective == "quantile" else {"exposure": "years"}
    model = EBMRegressor(
        epsilon=2,
        schema=schema_of(50, years=YEARS),
        objective=objective,
        interactions=0,
        **exposure,
    ).fit(X.assign(years=years), np.exp(log) * years + 1)
    loaded = voile.load(model.save(tmp_path / "m.voile"))
    shown = X.assign(years=years)
    np.testing.assert_array_equal(loaded.predict(shown), model.predict(shown))
    assert (loaded.objective, loaded.exposure) == (objective, model.exposure)
    assert loaded.quantile == model.quantile
    clone(loaded).fit(shown, np.exp(log))  # its schema has the exposure


@pytest.mark.parametrize(
    "changed",
    [
        {"objective": "gamma2"},
        {"objective": "quantile"},
        {"objective": None},
        {"quantile": 0.9},
        {"link": "identity"},
        {"exposure": {"name": "age", "lower": 0.1, "upper": 1.0, "place": 1}},
        {"exposure": {"name": "years", "lower": 0.0, "upper": 1.0, "place": 1}},
        {"exposure": {"name": "years", "lower": 1.0, "upper": 0.1, "place": 1}},
        {"exposure": {"name": "years", "lower": 0.1, "upper": 1.0, "place": -77}},
        {"exposure": {"name": "years", "lower": 0.1, "upper": 1.0}},
    ],
)
def test_files_that_contradict_themselves_are_refused(tmp_path, claims, changed):
    place = claims[0].save(tmp_path / "m.voile")
    data = {**json.loads(place.read_text("utf-8")), **changed}
    place.write_text(json.dumps(data), "utf-8")
    with pytest.raises(ModelError):
        voile.load(place)


def test_explanations_tell_factors(claims):
    model, X, _ = claims
    whole = model.explain_global()
    assert whole.units == "log of the target"
    assert " x" in str(whole)
    assert "multiplies" in str(whole)
    rows = model.explain_local(X[:2])
    assert " x" in str(rows)
    np.testing.assert_allclose(np.exp(rows.scores[:, 0]), rows.predictions)


def test_suggested_changes_reach_the_wanted_rate(claims):
    model, X, _ = claims
    found = model.counterfactuals(X[:1], want=">= 4")
    assert found.rows[0].suggestions[0].after >= 4


def test_the_quality_of_rates_is_that_of_their_counts(claims):
    model, X, y = claims
    quality = model.score_private(X, y, epsilon=50)
    by_name = {one.name: one.value for one in quality.measures}
    error = y - model.predict(X, exposure="years")
    assert by_name["RMSE"] == pytest.approx(np.sqrt((error**2).mean()), rel=0.05)
    assert by_name["bias"] == pytest.approx(error.mean(), abs=0.05)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "settings", "told"),
    [
        (Number(-1, 5), {"objective": "poisson"}, "never below 0"),
        (Number(-1, 5), {"objective": "gamma"}, "never below 0"),
        (Number(), {"objective": "poisson"}, "public bounds"),
        (Number(0, 5), {"objective": "huber"}, "objective"),
        (Number(0, 5), {"objective": "quantile", "quantile": 1.0}, "quantile"),
        (Number(0, 5), {"quantile": 0.9}, "objective='quantile'"),
        (Number(0, 5), {"objective": "poisson", "exposure": "weeks"}, "no column"),
        (Number(0, 5), {"objective": "poisson", "exposure": "area"}, "must be a number"),
        (Number(0, 5), {"objective": "poisson", "exposure": "km"}, "above 0"),
        (Number(0, 5), {"objective": "poisson", "exposure": 3}, "exposure"),
        (Number(0, 5), {"exposure": "age"}, "exposure"),
        (Number(0, 5), {"objective": "quantile", "exposure": "age"}, "exposure"),
        (Number(0, 5), {"objective": "poisson", "method": "cyclic"}, "rounds"),
        (
            Number(0, 5),
            {"objective": "poisson", "exposure": "age", "interactions": [("age", "km")]},
            "'age', which is the exposure",
        ),
        (
            Number(0, 5),
            {"objective": "poisson", "exposure": "age", "monotone": {"age": "increasing"}},
            "monotone",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(target, settings, told):
    X, _, _, _ = draw(50)
    ledger = Ledger(Budget(1, 1e-6))
    with pytest.raises((SchemaError, SettingError), match=told):
        EBMRegressor(
            epsilon=1, schema=Schema(COLUMNS, target=target), ledger=ledger, **settings
        ).fit(X, np.ones(50))
    assert ledger.spent().epsilon == 0


def test_classifiers_have_no_objective():
    with pytest.raises(TypeError):
        EBMClassifier(objective="poisson")


def test_bounds_whose_squares_no_number_holds_are_refused_before_anything_is_paid():
    ledger = Ledger(Budget(1, 1e-6))
    schema = Schema({"x": Number(0, 1)}, target=Number(0, 1e160))
    with pytest.raises(SchemaError, match="larger unit"):
        EBMRegressor(epsilon=1, delta=1e-6, schema=schema, ledger=ledger).fit({"x": [0.5]}, [1e159])
    assert not ledger.history()


def test_rows_of_a_model_have_the_exposure_as_the_schema_has_it(tmp_path):
    exposure = Number(1, 13, whole=True, missing=False)
    schema = Schema({"x": Number(0, 1), "e": exposure}, target=Number(0, 5))
    model = EBMRegressor(epsilon=1, schema=schema, objective="poisson", exposure="e")
    model.fit({"x": [0.1, 0.9] * 200, "e": [1, 2] * 200}, [0, 1] * 200)
    assert model.model_.rows_schema["e"] == exposure
    model.save(tmp_path / "model.voile")
    assert voile.load(tmp_path / "model.voile").model_.rows_schema["e"] == exposure


@pytest.mark.parametrize("odd", [np.inf, np.nan, 0.0, -1.0])
def test_an_exposure_that_is_no_time_is_refused(odd, claims):
    with pytest.raises(DataError, match="above 0"):
        claims[0].predict(claims[1], exposure=odd)
