"""What is found privately is useful: bounds hold the values, quantiles are near, bins are even."""

import math

import numpy as np
import pytest

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import SchemaError
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery import (
    complete,
    discovery_shape,
    find_bounds,
    find_histogram,
    find_levels,
    target_part,
)
from voile.privacy.discovery.classes import LIKELY, FoundClasses, find_classes
from voile.privacy.discovery.histogram import CELLS, FANOUT
from voile.privacy.discovery.missing import unknown
from voile.privacy.events import Gaussian, Plan, Threshold, Unprotected
from voile.privacy.noise import fixed_noise
from voile.privacy.sources.source import TARGET

pytestmark = pytest.mark.filterwarnings("ignore::voile.errors.GuessedTargetWarning")

ROWS = 5_000
DRAW = np.random.default_rng(0)
EPSILON_1 = calibrate(Budget(1.0, 1e-6), Plan.of(look=Gaussian(1, 1.0)))


def ticket_for(table, plan=EPSILON_1):
    ledger = Ledger(Budget(1.0, 1e-6)) if plan is EPSILON_1 else Ledger(Budget(math.inf, 0.5))
    return ledger.pay(plan, table, "test").take("look")


# -- bounds ----------------------------------------------------------------------------------------

SHAPES = {
    "normal": DRAW.normal(size=ROWS),
    "lognormal": DRAW.lognormal(sigma=1, size=ROWS),
    "uniform": DRAW.uniform(-3, 50, ROWS),
    "negative": -DRAW.exponential(1000, ROWS),
    "constant": np.full(ROWS, 7.25),
    "constant negative": np.full(ROWS, -7.25),
    "zero": np.zeros(ROWS),
    "huge": DRAW.uniform(0.5e30, 2e30, ROWS),
    "tiny": DRAW.uniform(-1e-9, 1e-9, ROWS),
    "both signs, far apart": DRAW.choice([-1e12, 1e-3], ROWS),
    "powers of two": 2.0 ** DRAW.integers(-3, 4, ROWS),
}


def bounds_of(values, plan=EPSILON_1):
    table = protect({"a": values}, schema=Schema({"a": Number()}))
    with fixed_noise(1):
        return find_bounds(table, "a", ticket_for(table, plan)).column


@pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)
def test_bounds_hold_nearly_all_values(values):
    found = bounds_of(values)
    inside = (found.lower <= values) & (values <= found.upper)
    assert inside.mean() >= 0.99
    # Not so wide that nothing is learned: at most one power of two beyond the values.
    reach = max(np.abs(values).max(), 2.0**-64)
    assert max(abs(found.lower), abs(found.upper)) <= max(2 * reach, 1.0)


@pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)
def test_bounds_without_noise_hold_every_value(values):
    found = bounds_of(values, Plan.of(look=Unprotected(1)))
    assert ((found.lower <= values) & (values <= found.upper)).all()


@pytest.mark.parametrize("values", [[], [None] * 50, [3.0]], ids=["no rows", "missing", "one row"])
def test_too_few_values_give_the_unit_interval(values):
    assert bounds_of(values) == Number(0, 1)


def test_infinite_values_are_the_largest():
    found = bounds_of([math.inf] * 500 + [-math.inf] * 500)
    assert found == Number(-(2.0**128), 2.0**128)


# -- distribution ----------------------------------------------------------------------------------

SMOOTH = {
    "normal": (DRAW.normal(size=ROWS), Number(-8, 8)),
    "uniform": (DRAW.uniform(0, 1, ROWS), Number(0, 1)),
    "exponential": (DRAW.exponential(10, ROWS), Number(0, 200)),
    "beta": (DRAW.beta(0.5, 0.5, ROWS), Number(0, 1)),
    "far away": (DRAW.normal(1e6, 1.0, ROWS), Number(1e6 - 10, 1e6 + 10)),
}


def histogram_of(values, bounds, seed=1, plan=EPSILON_1):
    table = protect({"a": values}, schema=Schema({"a": bounds}))
    with fixed_noise(seed):
        return find_histogram(table, "a", ticket_for(table, plan))


@pytest.mark.parametrize(("values", "bounds"), SMOOTH.values(), ids=SMOOTH)
def test_quantiles_are_near_in_rank(values, bounds):
    found = histogram_of(values, bounds)
    shares = np.linspace(0.05, 0.95, 19)
    quantiles = found.quantile(shares)
    ranks = np.searchsorted(np.sort(values), quantiles) / ROWS
    assert np.abs(ranks - shares).max() < 0.02
    assert (np.diff(quantiles) >= 0).all()
    assert found.rows == pytest.approx(ROWS, abs=20 * found.node_error)


@pytest.mark.parametrize("bins", [4, 8, 16])
@pytest.mark.parametrize(("values", "bounds"), SMOOTH.values(), ids=SMOOTH)
def test_bins_of_smooth_values_are_about_as_many_as_asked(values, bounds, bins):
    found = histogram_of(values, bounds).equal_mass(bins)
    assert bins / 2 <= len(found.counts) <= 2 * bins
    assert (np.diff(found.edges) > 0).all()
    assert (found.edges[0], found.edges[-1]) == (bounds.lower, bounds.upper)
    assert found.counts.min() > 0
    assert found.counts.max() < 4 * ROWS / bins


@pytest.mark.parametrize("lowest", [0.0, -50.0])
def test_a_value_that_most_rows_hold_has_a_bin_of_its_own(lowest):
    values = np.concatenate([np.zeros(9 * ROWS), DRAW.uniform(lowest, 100, ROWS)])
    found = histogram_of(values, Number(lowest, 100)).equal_mass(16)
    spike = int(np.argmax(found.counts))
    assert found.edges[spike] <= 0 <= found.edges[spike + 1]
    assert found.edges[spike + 1] - found.edges[spike] < 2 * (100 - lowest) / CELLS
    assert found.counts[spike] == pytest.approx(9 * ROWS, abs=100)
    assert len(found.counts) >= 6, "the other tenth of the rows is still resolved"


def test_merging_keeps_the_counts():
    found = histogram_of(*SMOOTH["normal"])
    for bins in (1, 3, 16, 1000):
        merged = found.equal_mass(bins)
        assert merged.rows == pytest.approx(found.rows)
        assert set(merged.edges) <= set(found.edges)
        assert merged.missing == found.missing


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_hardly_any_rows_still_give_a_histogram(rows):
    for seed in range(20):
        found = histogram_of([0.5] * rows, Number(0, 1), seed)
        assert (np.diff(found.edges) > 0).all()
        merged = found.equal_mass(16)
        assert 1 <= len(merged.counts) <= 32
        assert np.isfinite(found.quantile(np.array([0.0, 0.25, 0.5, 1.0]))).all()


@pytest.mark.parametrize("numbers", [2, 3, 5, 7, 13, 64, 100, 1000, 4095, 4096, 4097, 10_000])
@pytest.mark.parametrize("lower", [0, -7, 2**40])
def test_whole_numbers_are_never_cut(numbers, lower):
    values = lower + np.arange(numbers) * 1.0
    bounds = Number(lower, lower + numbers - 1, whole=True)
    exact = histogram_of(np.repeat(values, 3), bounds, plan=Plan.of(look=Unprotected(1)))
    noised = histogram_of(np.repeat(values, 3), bounds)
    for found in (exact, noised, exact.equal_mass(16), noised.equal_mass(16), exact.equal_width(9)):
        assert (found.edges[0], found.edges[-1]) == (bounds.lower, bounds.upper)
        assert (found.edges[1:-1] % 1 == 0.5).all()
        assert (np.diff(found.edges) > 0).all()
        assert len(found.counts) == len(found.edges) - 1 == len(found.cells) - 1
        assert (np.diff(found.cells) > 0).all()
    for found in (exact, exact.equal_mass(16)):
        inside = np.diff(np.searchsorted(values, [-np.inf, *found.edges[1:-1], np.inf]))
        assert found.counts.tolist() == (3.0 * inside).tolist()
    if numbers <= 16:
        assert exact.equal_width(16).counts.tolist() == [3.0] * numbers


@pytest.mark.parametrize("values", SHAPES.values(), ids=SHAPES)
def test_bounds_of_whole_numbers_are_whole(values):
    table = protect({"a": values}, schema=Schema({"a": Number(whole=True, missing=False)}))
    with fixed_noise(1):
        found = find_bounds(table, "a", ticket_for(table, EPSILON_1)).column
    assert found.whole
    assert not found.missing
    assert found.lower.is_integer()
    assert found.upper.is_integer()


def test_missing_values_are_counted_apart():
    values = np.concatenate([np.full(ROWS, np.nan), DRAW.uniform(0, 1, ROWS)])
    found = histogram_of(values, Number(0, 1))
    assert found.missing == pytest.approx(ROWS, abs=6 * found.node_error)
    assert found.rows == pytest.approx(ROWS, abs=6 * found.node_error * math.sqrt(FANOUT))


def test_without_noise_every_interval_is_exact():
    values, bounds = SMOOTH["normal"]
    found = histogram_of(values, bounds, plan=Plan.of(look=Unprotected(1)))
    expected, _ = np.histogram(values, found.edges)
    assert np.allclose(found.counts, expected)
    assert found.standard_errors.max() == 0


def test_error_bars_are_not_too_small():
    values, bounds = SMOOTH["normal"]
    fine, coarse = [], []
    for seed in range(60):
        found = histogram_of(values, bounds, seed)
        for errors, one in ((fine, found), (coarse, found.equal_mass(8))):
            expected, _ = np.histogram(values, one.edges)
            errors.append((one.counts - expected) / one.standard_errors)
    for errors, least in ((fine, 0.7), (coarse, 0.1)):
        together = np.concatenate(errors)
        assert len(together) > 400
        # Bins are chosen by the same counts, which shifts them a little: hence not exactly one.
        assert least < together.std() <= 1.05
        assert np.abs(together).max() < 6


def test_a_column_without_bounds_has_no_histogram():
    table = protect({"a": [1.0], "b": ["x"]}, schema=Schema({"a": Number(), "b": Category(["x"])}))
    for name in ("a", "b"):
        ticket = ticket_for(table)
        with pytest.raises(SchemaError, match="no bounds"):
            find_histogram(table, name, ticket)


def test_bounds_a_hair_apart_make_no_warning():
    found = histogram_of([0.0, 5e-324, None], Number(0, 5e-324), plan=Plan.of(look=Unprotected(1)))
    assert found.rows == pytest.approx(2)
    assert found.cells[-1] == CELLS


# -- everything a schema lacks ---------------------------------------------------------------------


@pytest.mark.parametrize("target", [None, Category(), Number(), Category(["no", "yes"])], ids=str)
@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_nothing_stays_unknown(target, epsilon):
    rows = {"n": DRAW.normal(size=ROWS), "c": ["x", "y"] * (ROWS // 2), "k": DRAW.normal(size=ROWS)}
    labels = None
    if target is not None:
        labels = ["no", "yes"] * (ROWS // 2) if isinstance(target, Category) else rows["n"] * 3
    schema = Schema({"n": Number(), "c": Category(), "k": Number(-1, 1)})
    table = protect(rows, labels, schema=schema, target=target)
    budget = Budget(epsilon, 1e-6)
    shape = Plan(discovery_shape(table.schema, 1.0, budget.delta))
    ledger = Ledger(budget)
    grant = ledger.pay(calibrate(budget, shape), table, "discovery")
    with fixed_noise(1):
        done = complete(table, grant)
    assert unknown(done.schema) == ((), ())
    assert done.schema.known
    assert done.token is table.token
    assert set(done.schema["c"].levels) == {"x", "y"}
    assert done.schema["k"] == Number(-1, 1)
    assert list(done.schema) == ["n", "c", "k"]
    lacking = 2 + (target is not None and not target.known)
    assert sum(grant.openings.values()) == lacking == sum(e.count for e in grant.plan.events)
    if isinstance(target, Category):
        assert set(done.schema.target.levels) == {"no", "yes"}


def test_a_complete_schema_costs_nothing():
    schema = Schema({"a": Number(0, 1), "b": Category(["x"])}, target=Number(0, 1))
    assert discovery_shape(schema, 1.0, 1e-6) == ()
    table = protect({"a": [1.0], "b": ["x"]}, [0.5], schema=schema)
    grant = Ledger(Budget(1, 1e-6)).pay(Plan(()), table, "nothing")
    assert complete(table, grant) is table


# -- classes ---------------------------------------------------------------------------------------


def classes_of(y, sigma=20.0, seed=1):
    table = protect(
        {"a": np.zeros(len(y))}, y, schema=Schema({"a": Number(0, 1)}, target=Category())
    )
    plan = Plan.of(look=Threshold(1, sigma, 1e-8) if sigma else Unprotected(1))
    ledger = Ledger(Budget(math.inf, 0.5))
    with fixed_noise(seed):
        return find_classes(table, ledger.pay(plan, table, "test").take("look"))


def test_classes_that_are_numbers_need_no_threshold():
    # Names would need more than 1 + 5.6 * 16 rows; these seeds are always the same.
    seeds = range(20)
    numbers = [classes_of(np.repeat([0, 1, 2], 90), 16.0, seed) for seed in seeds]
    names = [classes_of(np.repeat(["a", "b", "c"], 90), 16.0, seed) for seed in seeds]
    assert sum(one == FoundClasses((0, 1, 2)) for one in numbers) >= 15
    assert sum(len(one.classes) == 3 for one in names) <= 5


@pytest.mark.parametrize("rows", [0, 1, 5, 40])
def test_two_classes_are_always_found_where_the_type_says_numbers(rows):
    for kind in (np.int64, np.float64, np.uint8):
        found = classes_of(np.arange(rows, dtype=kind) % 2)
        assert len(found.classes) >= 2
        assert set(found.guessed) <= set(found.classes)
        assert found.guessed


def test_classes_that_usually_come_together_are_guessed_together():
    """Of 50 rows each none stands clear of this noise by itself."""
    found = [classes_of(np.repeat([0, 1, 2], 50), 16.0, seed).classes for seed in range(20)]
    assert found.count((0, 1, 2)) >= 10
    assert set(found) <= {(0, 1, 2), (0, 1), (0, 1, 2, 3)}
    # Where nothing is told, they are those of most tables.
    found = [classes_of(np.zeros(0, int), 20.0, seed).classes for seed in range(20)]
    assert found.count((0, 1)) >= 10
    signs = [classes_of(np.repeat([-1, 1], 150), 16.0, seed).classes for seed in range(20)]
    assert signs.count((-1, 1)) >= 18


def test_one_class_stays_one_where_that_is_certain():
    assert classes_of(np.ones(5000, int)) == FoundClasses((1,))
    odd = classes_of(np.full(3000, 77))
    assert len(odd.classes) == 2
    assert 77 in odd.classes
    assert 77 not in odd.guessed
    assert len(odd.guessed) == 1


def test_without_noise_nothing_is_guessed():
    assert classes_of(np.zeros(9, int), sigma=0) == FoundClasses((0,))
    assert classes_of(np.array([5, -1, 77]), sigma=0) == FoundClasses((-1, 5, 77))
    assert classes_of(np.full(9, np.nan), sigma=0) == FoundClasses(())


def test_numbers_beyond_those_that_are_named_are_found_by_threshold():
    found = classes_of(np.repeat([-7, 1, 1234], 300))
    assert found == FoundClasses((-7, 1, 1234))


def test_what_is_asked_by_name_is_the_same_for_every_table():
    """How many counts are released, and of what, does not depend on who is there."""
    for y in (np.zeros(0, int), np.repeat([3, 99], 50)):
        table = protect({"a": np.zeros(len(y))}, y, target=Category())
        plan = Plan.of(look=Threshold(1, 5.0, 1e-8))
        ticket = Ledger(Budget(math.inf, 0.5)).pay(plan, table, "test").take("look")
        assert len(find_levels(table, TARGET, ticket, likely=LIKELY).likely) == len(LIKELY)


def test_truth_values_are_known_by_their_type():
    for y in (np.array([True, True]), np.zeros(0, bool)):
        assert protect({"a": y * 1.0}, y, target=Category()).schema.target == Category(
            [False, True]
        )


def test_the_target_has_its_own_share_however_many_columns_there_are():
    for columns in (1, 30):
        schema = Schema({f"x{i}": Number() for i in range(columns)}, target=Category())
        steps = {step.label: step.event for step in discovery_shape(schema, 0.15, 1e-6)}
        assert steps["classes of the target"].noise_multiplier == pytest.approx(0.06**-0.5)
    alone = discovery_shape(Schema({"a": Number(0, 1)}, target=Number()), 0.15, 1e-6)
    assert [step.label for step in alone] == ["bounds of the target"]
    assert target_part(Schema({"a": Number()}, target=Number(0, 1))) == 0.0


@pytest.mark.parametrize(
    ("schema", "y", "note"),
    [
        (Schema({"a": Number()}, target=Category(["x", "y"])), ["x"], "Bounds of 'a' did not"),
        (Schema({"a": Number(0, 1)}, target=Number()), [0.5], "Bounds of the target did not"),
        (Schema({"a": Category()}, target=Category(["x", "y"])), ["x"], "No level of 'a' was"),
        (
            Schema({"a": Number(0, 1)}, target=Category()),
            np.array([3]),
            "Classes of the target were guessed",
        ),
    ],
)
def test_what_was_not_found_is_said_in_the_receipt(schema, y, note):
    table = protect({"a": [3.0]}, y, schema=schema)
    ledger = Ledger(Budget(1.0, 1e-6))
    grant = ledger.pay(calibrate(ledger.budget, Plan(discovery_shape(schema, 1, 1e-6))), table, "t")
    with fixed_noise(1):
        complete(table, grant)
    assert [one.startswith(note) for one in grant.table_notes] == [True]


def test_nothing_is_said_where_all_was_found():
    schema = Schema({"a": Number(), "c": Category()}, target=Category())
    table = protect({"a": np.ones(ROWS), "c": ["x"] * ROWS}, np.arange(ROWS) % 2, schema=schema)
    ledger = Ledger(Budget(1.0, 1e-6))
    grant = ledger.pay(calibrate(ledger.budget, Plan(discovery_shape(schema, 1, 1e-6))), table, "t")
    with fixed_noise(1):
        complete(table, grant)
    assert grant.table_notes == ()
