"""Low bits of released numbers: naive floating-point noise is caught, Voile's is not.

Voile's noise is fixed here, so that nothing fails by chance; the naive mechanisms draw from seeded
generators.
"""

import functools
import math

import numpy as np
import pytest

from voile import (
    Category,
    EBMClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    Number,
    PrivateExplainer,
    Schema,
    protect,
    summarize,
)
from voile.audit.leaks.least_bits import grids_of, least_bits_test, lowest_bits
from voile.errors import DataError, SettingError
from voile.privacy.budget import Budget
from voile.privacy.events import Gaussian, Laplace, Plan, Pure, Step
from voile.privacy.mechanisms import exponential, gaussian_sum, laplace_sum, permute_and_flip
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import NumberCounts, Query, RowCount

# -- naive mechanisms are caught -------------------------------------------------------------------


def numpy_laplace(rng, answer):
    return [answer + rng.laplace()]


def inverse_laplace(rng, answer, scale=1.0):
    u = rng.random() - 0.5
    return [answer - scale * np.sign(u) * math.log(1.0 - 2.0 * abs(u))]


def numpy_gaussian(rng, answer):
    return [answer + 4.0 * rng.normal()]


@pytest.mark.parametrize(
    ("naive", "claimed", "delta"),
    [(numpy_laplace, 1.0, 0.0), (inverse_laplace, 1.0, 0.0), (numpy_gaussian, 1.1, 1e-5)],
)
def test_naive_noise_gives_a_count_away(naive, claimed, delta):
    release = functools.partial(naive, np.random.default_rng(7))
    found = least_bits_test(release, 0.0, 1.0, runs=4000, delta=delta, claimed=claimed)
    assert found.broken
    assert found.epsilon > claimed
    assert found.only_without > 50
    assert found.only_with == 0


def reachable(values, scale=10.0):
    """Whether a number is a draw of `inverse_laplace` itself, so that the answer was 0."""
    found = np.zeros(values.shape, dtype=np.int64)
    for place, value in np.ndenumerate(values):
        middle = round(-math.expm1(-abs(value) / scale) / 2.0 * 2.0**53)
        for step in range(middle - 4, middle + 5):
            u = math.copysign(step * 2.0**-53, value)
            if abs(u) < 0.5 and -scale * np.sign(u) * math.log(1.0 - 2.0 * abs(u)) == value:
                found[place] = 1
    return found


def test_asking_which_draws_the_sampler_can_make_tells_more():
    release = functools.partial(inverse_laplace, np.random.default_rng(7), scale=10.0)
    given = {"runs": 1000, "claimed": 0.1}
    blind = least_bits_test(release, 0.0, 1.0, **given)
    found = least_bits_test(release, 0.0, 1.0, clue=reachable, **given)
    assert found.epsilon > 1.0 > blind.epsilon
    assert found.advantage.lower > 0.5


def test_whole_noise_does_not_hide_a_fraction():
    rng = np.random.default_rng(7)

    def release(total):
        return [total + rng.geometric(0.5) - rng.geometric(0.5)]

    found = least_bits_test(release, 10.0, 10.3, runs=400, claimed=1.0)
    assert found.grid_without == 1.0
    assert found.grid_with is None
    assert found.grids_differ == 1
    assert found.suspicious
    assert found.epsilon > 2.0


def test_a_grid_that_depends_on_the_rows_is_seen():
    rng = np.random.default_rng(7)

    def release(rows):
        grid = 2.0 ** -(20 + rows % 2)
        return [grid * rng.integers(-(2**30), 2**30)]

    found = least_bits_test(release, 8, 9, runs=100)
    assert (found.grid_without, found.grid_with) == (2.0**-20, 2.0**-21)
    assert found.suspicious


# -- sound ones are not ----------------------------------------------------------------------------

TABLE = Schema({"n": Number(0, 1)})
FEW = np.array([0.1, 0.35, 0.35, 0.6, 0.85])
MORE = np.append(FEW, 0.123456789)


class NumberSum(Query):
    """The sum of a number, as clipped shares."""

    columns, size, bound = ("n",), 1, 1.0

    def contributions(self, block):
        return block["n"][:, None]


def access(event, mechanism, query, numbers):
    table = protect({"n": numbers}, schema=TABLE)
    grant = Ledger(Budget(math.inf, 1e-6)).pay(Plan((Step("a", event),)), table, "look")
    released = mechanism(table, query, grant.take("a"))
    return [released] if isinstance(released, int) else released.values


CUTS = NumberCounts("n", (0.25, 0.5, 0.75))
SUMS = {
    "gaussian": (Gaussian(1, 4.0), gaussian_sum, RowCount(), 1.1, 2.0**-28),
    "gaussian of fractions": (Gaussian(1, 4.0), gaussian_sum, NumberSum(), 1.1, 2.0**-28),
    "laplace": (Laplace(1, 1.0), laplace_sum, RowCount(), 1.0, 2.0**-30),
    "laplace of fractions": (Laplace(1, 1.0), laplace_sum, NumberSum(), 1.0, 2.0**-30),
}


@pytest.mark.parametrize(
    ("event", "mechanism", "query", "claimed", "grid"), SUMS.values(), ids=SUMS
)
@pytest.mark.parametrize("pair", [(FEW, MORE), (FEW[:0], FEW[:1])], ids=["one more", "none"])
def test_sums_lie_on_one_grid_whatever_the_rows(event, mechanism, query, claimed, grid, pair):
    release = functools.partial(access, event, mechanism, query)
    with fixed_noise(3):
        found = least_bits_test(release, *pair, runs=500, delta=1e-5, claimed=claimed)
    # The noise scale's, by public facts alone.
    assert found.grid_without == found.grid_with == grid
    assert not found.suspicious
    assert found.only_without == found.only_with == 0
    assert abs(found.advantage.value) < 0.15


@pytest.mark.parametrize("mechanism", [exponential, permute_and_flip])
def test_choices_say_no_more_than_claimed(mechanism):
    release = functools.partial(access, Pure(1, 1.0), mechanism, CUTS)
    with fixed_noise(3):
        found = least_bits_test(release, FEW, MORE, runs=500, claimed=1.0)
    assert not found.suspicious


# -- models, whose numbers are made of released ones by arithmetic ---------------------------------

EPSILON = 0.3
rng = np.random.default_rng(0)
X = np.round(rng.random((60, 1)), 3)
Y = (X[:, 0] > 0.5).astype(int)
WITHOUT, WITH = (X, Y), (np.append(X, [[0.98765]], axis=0), np.append(Y, 0))
ASKED = [[0.1], [0.5], [0.98765]]
CLASSES = Schema({"n": Number(0, 1)}, target=Category([0, 1]))
ALONE = Schema({"x0": Number(0, 1)})


def first_number(rows):
    return np.asarray(rows)[:, 0]


def classifier(rows):
    model = EBMClassifier(epsilon=EPSILON, schema=CLASSES, rounds=2, bins=4).fit(*rows)
    return model.decision_function(ASKED)


def prototypes(rows):
    return GMLVQClassifier(epsilon=EPSILON, schema=CLASSES).fit(*rows).prototypes_


def maps(rows):
    model = LocallyLinearClassifier(
        epsilon=EPSILON, schema=CLASSES, steps=2, maps=2, sampling_rate=1.0
    ).fit(*rows)
    return model.predict_proba(ASKED)


def summary(rows):
    column = summarize(rows[0], schema=ALONE, epsilon=EPSILON)["x0"]
    return [*column.counts, *column.quartiles]


def found_bounds(rows):
    column = summarize(rows[0], schema=Schema({"x0": Number()}), epsilon=EPSILON)["x0"]
    return [column.lower, column.upper]


def paid_summary(rows):
    explainer = PrivateExplainer(first_number, rows[0], schema=ALONE, epsilon=EPSILON)
    return np.concatenate([np.ravel(one) for one in explainer.summary_.released.values()])


def answer(rows):
    explainer = PrivateExplainer(
        first_number, rows[0], schema=ALONE, epsilon=EPSILON, strategy="release", queries=3
    )
    return np.ravel(explainer.explain_slopes([[0.5]]).values)


MODELS = {
    "ebm classifier": (classifier, 80),
    "gmlvq": (prototypes, 64),
    "maps": (maps, 64),
    "summary": (summary, 200),
    "found bounds": (found_bounds, 100),
    "explainer's summary": (paid_summary, 64),
    "explainer's answer": (answer, 64),
}


@pytest.mark.slow
@pytest.mark.parametrize(("release", "runs"), MODELS.values(), ids=MODELS)
def test_models_are_not_told_apart_by_low_bits(release, runs):
    with fixed_noise(11):
        found = least_bits_test(
            release, WITHOUT, WITH, runs=runs, delta=1e-6, confidence=0.95, claimed=EPSILON
        )
    assert not found.broken


def test_a_mark_in_the_last_bit_of_a_model_would_be_seen():
    """So few runs suffice to see what must not be there."""

    def marked(rows):
        values = np.array(classifier(rows))
        whole = values.view(np.int64)
        whole[0] = whole[0] & ~1 | len(rows[0]) % 2
        return values

    with fixed_noise(11):
        found = least_bits_test(
            marked, WITHOUT, WITH, runs=64, delta=1e-6, confidence=0.95, claimed=EPSILON
        )
    assert found.broken
    assert found.advantage.lower > 0.5


def test_updates_of_a_network_lie_on_one_grid_whatever_the_rows():
    pytest.importorskip("torch")
    from voile.models.networks.architectures import Description, initial_weights
    from voile.models.networks.images import KeptImages, Standard
    from voile.models.networks.per_example_engine import one_thread
    from voile.models.networks.queries import NetworkSteps
    from voile.privacy.vault import keep

    schema = Schema({f"p{i}": Number(0, 1) for i in range(16)}, target=Category([0, 1]))
    images = np.round(np.random.default_rng(1).random((8, 16)), 3)
    kept, weights = KeptImages(schema), initial_weights(Description("cnn", (1, 4, 4), 2, 0))
    standard = Standard((0.5,), (0.25,), kept.bits)
    query = NetworkSteps("cnn", (1, 4, 4), 2, 0, weights, standard, 1.0)

    def release(rows):
        table = protect(rows, [0] * len(rows), schema=schema)
        keep(table, kept.columns, kept.prepare)
        ledger = Ledger(Budget(math.inf, 1e-6))
        grant = ledger.pay(Plan((Step("a", Gaussian(1, 4.0)),)), table, "step")
        return gaussian_sum(table, query, grant.take("a")).values[-12:]

    white = np.append(images, np.ones((1, 16)), axis=0)
    with fixed_noise(11), one_thread():
        found = least_bits_test(release, images, white, runs=100, delta=1e-5, claimed=1.1)
    assert found.grid_without == found.grid_with == 2.0 ** -(28 + query.fineness)
    assert not found.suspicious


# -- the measure itself ----------------------------------------------------------------------------


def test_lowest_bits_are_exact():
    values = np.array([1.0, 0.75, 6.0, -0.5, 5e-324, 2.0**1000, 1.0 + 2.0**-52, 0.1])
    assert lowest_bits(values).tolist() == [0, -2, 1, -1, -1074, 1000, -52, -55]


def test_what_is_no_number_has_no_bits_and_no_grid():
    values = np.array([[0.0, np.nan, np.inf], [0.0, np.nan, -np.inf]])
    bits = lowest_bits(values)
    assert (bits == bits[0, 0]).all()
    assert (grids_of(values, bits) == bits[0]).all()
    found = least_bits_test(lambda _: [np.nan, 0.0, np.inf], 0, 1, runs=64)
    assert found.epsilon == 0.0
    assert not found.suspicious


def test_blind_guessing_finds_nothing():
    """Twenty seeded repetitions at 95 %: alarms may come, but not more than two."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        release = functools.partial(numpy_laplace, rng)
        found = least_bits_test(release, 3.0, 3.0, runs=400, confidence=0.95, claimed=0.0)
        alarms += found.broken
    assert alarms <= 2


@pytest.mark.parametrize("runs", [0, 63, 100.0, True, "many"])
def test_too_few_runs_are_refused(runs):
    with pytest.raises(SettingError, match="runs"):
        least_bits_test(lambda _: [0.0], 0, 1, runs=runs)


def test_releases_of_changing_or_no_size_are_refused():
    sizes = iter(range(1000))
    with pytest.raises(DataError, match="as many numbers"):
        least_bits_test(lambda _: np.zeros(next(sizes)), 0, 1, runs=64)
    with pytest.raises(DataError, match="no number"):
        least_bits_test(lambda _: [], 0, 1, runs=64)
    with pytest.raises(DataError, match="clue"):
        least_bits_test(lambda _: [0.5], 0, 1, runs=64, clue=lambda values: values[0])


def test_the_record_reads_aloud():
    text = str(least_bits_test(lambda _: [0.5], 0, 1, runs=64, claimed=1.0))
    assert "grid without the row 0.5, with it 0.5; 0 differ" in text
    assert "claimed: 1" in text
