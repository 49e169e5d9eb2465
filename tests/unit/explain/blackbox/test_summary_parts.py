"""The parts of an explainer's summary: cells, bins, pair tables, synthetic rows and their weights.

Neighbouring tables of its queries are in tests/contract/test_queries.py.
"""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from voile import Budget, Category, Ledger, Number, PrivateExplainer, Schema
from voile.errors import LedgerMismatch
from voile.explain.blackbox.synthetic.bins import (
    Bins,
    believe,
    choose_bins,
    count_rows,
    even_out,
    find_unseen,
    project,
    split_in_two,
)
from voile.explain.blackbox.synthetic.cells import CellKeeper, cells_of
from voile.explain.blackbox.synthetic.copula import Scores, draw_ordered, normal_scores, score_sides
from voile.explain.blackbox.synthetic.pair_tables import (
    PairTables,
    estimate_tables,
    fit_table,
    refine_tables,
    strongest_tree,
)
from voile.explain.blackbox.synthetic.reweighting import disagreement, reweight_rows
from voile.explain.blackbox.synthetic.summary import PaidSummary
from voile.explain.blackbox.synthetic.tree_rows import draw_bins, draw_cells, spread_out
from voile.privacy.noise import fixed_noise

pytestmark = pytest.mark.usefixtures("few_synthetic_rows")

TINY = 5e-324


# -- cells -----------------------------------------------------------------------------------------


@st.composite
def bounds(draw):
    """Bounds of all sizes: whole, huge, tiny, and a few doubles apart."""
    low = draw(
        st.one_of(
            st.floats(-8e307, 8e307),
            st.integers(-(2**40), 2**40).map(float),
            st.sampled_from([0.0, -0.0, TINY, -TINY, 1e-300, 1.0, -1.0, 2.0**52, -8e307]),
        )
    )
    high = draw(
        st.one_of(
            st.floats(-8e307, 8e307),
            st.integers(1, 10**6).map(lambda apart: low + apart),
            st.integers(1, 200).map(lambda steps: few_doubles_on(low, steps)),
        )
    )
    assume(low < high)
    assume(math.isfinite(high - low))
    return float(low), float(high)


def few_doubles_on(low, steps):
    for _ in range(steps):
        low = np.nextafter(low, math.inf)
    return float(low)


def clearly_apart(low, high):
    """Whether there are enough doubles between the bounds for 128 cells."""
    return high - low > max(1e-12 * max(abs(low), abs(high)), 1e-300)


def number_cells(low, high, whole=False):
    (cells,) = cells_of(Schema({"a": Number(low, high)}), frozenset({"a"} if whole else ()))
    return cells


@settings(max_examples=300)
@given(bounds(), st.booleans(), st.lists(st.floats(0, 1), max_size=20))
def test_every_value_within_the_bounds_has_a_cell_that_holds_it(ends, whole, parts):
    low, high = ends
    whole = whole and low == math.floor(low) and high == math.floor(high) and abs(high) < 2**50
    cells = number_cells(low, high, whole)
    values = [low, high, *(low * (1 - one) + high * one for one in parts)]
    values = np.clip(np.round(values) if whole else values, low, high)
    codes = cells.code(values).astype(np.int64)
    assert codes.max() < cells.count - 1
    assert (cells.lower[codes] <= values).all()
    assert (values <= cells.upper[codes]).all()
    if clearly_apart(low, high):
        assert codes[0] == 0
    assert codes[1] == cells.count - 2
    assert (np.diff(cells.lower) >= 0).all()
    assert cells.lower[0] == low
    assert cells.upper[-1] == high
    assert cells.count <= 170


@settings(max_examples=200)
@given(bounds(), st.booleans(), st.lists(st.floats(), max_size=10))
def test_no_value_whatever_is_without_a_cell(ends, whole, values):
    cells = number_cells(*ends, whole)
    codes = cells.code(np.array([*values, math.nan, math.inf, -math.inf]))
    assert codes.dtype == np.uint16
    assert codes.max() < cells.count
    assert codes[-3] == cells.count - 1
    assert codes[-2] == cells.count - 2
    assert codes[-1] == 0 or not clearly_apart(*ends)
    missing = [math.isnan(one) for one in values]
    assert [code == cells.count - 1 for code in codes[: len(values)]] == missing


@settings(max_examples=200)
@given(bounds(), st.booleans(), st.integers(0, 10**6))
def test_what_is_drawn_from_a_cell_is_in_it(ends, whole, seed):
    whole = whole and all(one == math.floor(one) and abs(one) < 2**50 for one in ends)
    cells = number_cells(*ends, whole)
    codes = np.repeat(np.arange(cells.count), 3)
    values = cells.draw(codes, np.random.default_rng(seed))
    missing = codes == cells.count - 1
    assert np.isnan(values[missing]).all()
    inner, drawn = codes[~missing], values[~missing]
    assert (cells.lower[inner] <= drawn).all()
    assert (drawn <= cells.upper[inner]).all()
    if whole:
        assert (drawn == np.floor(drawn)).all()
        assert np.array_equal(cells.code(drawn), inner)


@settings(max_examples=200)
@given(bounds(), st.booleans())
def test_middles_of_cells_rise_from_the_lower_to_the_upper_bound(ends, whole):
    """Also where half the width rounds to nothing."""
    middles = number_cells(*ends, whole).middles
    assert np.isfinite(middles).all()
    assert np.abs(middles).max() <= 1.0
    if clearly_apart(*ends):
        assert middles[0] == pytest.approx(-1.0, abs=1e-3)
        assert middles[-2] == pytest.approx(1.0, abs=1e-3)
        assert (np.diff(middles[:-1]) >= -1e-9).all()


@pytest.mark.parametrize("width", [1, 2, 126, 127, 128, 129, 130, 1000, 10**9])
def test_whole_numbers_are_dealt_into_cells_without_gaps(width):
    cells = number_cells(-5, -5 + width, whole=True)
    assert np.array_equal(cells.lower[1:], cells.upper[:-1] + 1)
    if width < 128:
        assert np.array_equal(cells.lower, np.arange(-5, -5 + width + 1))


def test_levels_others_and_missing_values_are_cells():
    (cells,) = cells_of(Schema({"c": Category(["x", "y"])}), frozenset())
    assert cells.count == 4
    assert cells.code(np.array([0, 1, 2, 3, 9, -1])).tolist() == [0, 1, 2, 3, 3, 0]
    assert cells.draw(np.arange(4), np.random.default_rng(0)).tolist() == [0, 1, 2, 3]
    (none,) = cells_of(Schema({"c": Category([])}), frozenset())
    assert none.count == 2
    placed = CellKeeper((cells, none)).place({"c": np.array([0, 2])}, 2)
    assert placed.tolist() == [[0, 0], [2, 1]]


# -- bins ------------------------------------------------------------------------------------------

counts_of_any_kind = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30).map(np.array)


@settings(max_examples=200)
@given(counts_of_any_kind, st.floats(1.0, 1e7))
def test_the_projection_is_the_nearest_table(values, total):
    found = project(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-6 * np.abs(values).max())
    # Conditions of Karush, Kuhn and Tucker: one shift where positive, no larger elsewhere.
    scale = 1e-9 * max(total, float(np.abs(values).max()))
    shifts = (values - found)[found > 0]
    assert np.ptp(shifts) <= scale
    assert (values[found == 0] <= shifts.max() + scale).all()


def test_the_projection_agrees_with_a_solver():
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = rng.normal(0, 3, 6)
        found = minimize(
            lambda x, v=values: ((x - v) ** 2).sum(),
            np.full(6, 1.0),
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 6.0},
        )
        assert project(values, 6.0) == pytest.approx(found.x, abs=1e-4)


SCHEMA = Schema(
    {
        "whole": Number(0, 6),
        "real": Number(-1, 1),
        "level": Category(["a", "b", "c"]),
        "sparse": Number(0, 1e6),
    }
)


def noised_cells(seed, rows, error):
    rng = np.random.default_rng(seed)
    cells = cells_of(SCHEMA, frozenset({"whole"}))
    noised = []
    for one in cells:
        shares = rng.dirichlet(np.full(one.count, 0.2))
        noised.append(rng.multinomial(rows, shares) + rng.normal(0, error, one.count))
    return cells, noised


sizes = st.sampled_from([0, 1, 2, 50, 100_000])
errors = st.sampled_from([0.0, 0.5, 20.0, 5000.0])


@settings(max_examples=100)
@given(st.integers(0, 10**6), sizes, errors)
def test_bins_cover_all_cells_whatever_was_released(seed, rows, error):
    cells, noised = noised_cells(seed, rows, error)
    total = count_rows(noised)
    assert total >= 1.0
    never = frozenset({"whole"})
    unseen = find_unseen(cells, noised, error, never)
    believed = believe(noised, unseen, total)
    for one, counts in zip(cells, believed, strict=True):
        assert (counts >= 0).all()
        assert counts.sum() == pytest.approx(total, rel=1e-9)
        if one.name in never:
            assert counts[-1] == 0
    bins = choose_bins(cells, believed, unseen, total, error)
    for one, own, size in zip(cells, bins.maps, bins.sizes, strict=True):
        assert own.shape == (one.count,)
        assert set(own) == set(range(size))  # none is without a cell
        if one.is_number:
            assert (np.diff(own[:-1]) >= 0).all()  # neighbouring cells stand together
    drawn_from = even_out(cells, bins, noised, [error**2] * len(cells), unseen)
    for one, counts, seen in zip(cells, drawn_from, believed, strict=True):
        assert (counts >= 0).all()
        unusual = slice(one.count - 1, None) if one.is_number else slice(one.count - 2, None)
        assert (counts[unusual][seen[unusual] == 0] == 0).all()
    for one, half in zip(cells, split_in_two(cells, believed), strict=True):
        assert half.shape == (one.count,)
        assert set(half) == {0, 1}


# -- pair tables -----------------------------------------------------------------------------------


@st.composite
def pair_tables(draw, wild=True):
    """Tables as noise leaves them: margins right, entries of any sign, also none dependent."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    columns = draw(st.integers(2, 5))
    bins = Bins(tuple(np.arange(size) for size in rng.integers(1, 6, columns)))
    rows = draw(st.sampled_from([1.0, 2.0, 37.5, 1000.0, 1e6]))
    margins = np.concatenate(
        [np.maximum(project(rng.dirichlet(np.full(k, 0.3)) * rows, rows), 1e-3) for k in bins.sizes]
    )
    error = draw(st.sampled_from([0.0, 1.0, 30.0, 1e4]))
    strength = draw(st.sampled_from([0.0, 0.1, 1.0]))
    centred = rng.normal(0, max(error, strength * rows / 4), (len(bins), len(bins)))
    centred = centred + centred.T
    variances = np.full(len(bins), error**2)
    return estimate_tables(bins, rows, margins, variances, centred, error)


def is_spanning_tree(edges, count):
    """Every child is new, and its parent is there already."""
    inside = {0}
    for parent, child in edges:
        if parent not in inside or child in inside:
            return False
        inside.add(child)
    return inside == set(range(count))


@settings(max_examples=150)
@given(pair_tables())
def test_the_strongest_pairs_are_a_spanning_tree(tables):
    edges = strongest_tree(tables)
    count = len(tables.bins.sizes)
    assert len(edges) == count - 1
    assert is_spanning_tree(edges, count)
    again = refine_tables(tables, edges, tables.counts, 1.0)
    assert again.counts == pytest.approx(again.counts.T, rel=1e-9, abs=1e-6)
    assert (again.variances <= tables.variances + 1e-9).all()


@pytest.mark.parametrize("bad", [0.0, -1.0, 1e300, -1e300])
def test_any_numbers_make_a_tree(bad):
    bins = Bins(tuple(np.arange(3) for _ in range(6)))
    filled = np.full((18, 18), bad)
    tables = PairTables(bins, 1.0, np.full(18, 1 / 3), np.zeros(18), filled, np.zeros((18, 18)))
    with np.errstate(over="ignore"):
        assert is_spanning_tree(strongest_tree(tables), 6)


def test_the_tree_takes_the_strongest_pairs():
    """Columns in a chain, each a copy of the one before: the tree is the chain."""
    bins = Bins(tuple(np.arange(2) for _ in range(4)))
    rows, keep = 1000.0, 0.9
    step = np.array([[keep, 1 - keep], [1 - keep, keep]])
    counts = np.zeros((8, 8))
    for i in range(4):
        for j in range(4):
            table = np.linalg.matrix_power(step, abs(i - j)) * rows / 2
            counts[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = table
    tables = PairTables(bins, rows, np.full(8, 500.0), np.ones(8), counts, np.ones((8, 8)))
    assert set(strongest_tree(tables)) == {(0, 1), (1, 2), (2, 3)}


@settings(max_examples=100)
@given(pair_tables())
def test_a_fitted_table_has_the_right_margins_and_no_negative_entries(tables):
    bins = tables.bins
    table = fit_table(tables, 0, 1)
    assert np.isfinite(table).all()
    assert (table >= 0).all()
    first, second = (tables.margins[bins.of(j)] for j in (0, 1))
    # Margins of two columns may differ in their sums by what keeps them positive.
    slack = abs(first.sum() - second.sum()) + 1e-9
    assert table.sum(axis=0) == pytest.approx(second, rel=1e-6, abs=slack)
    assert table.sum() == pytest.approx(second.sum())
    assert table.shape == (len(first), len(second))


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("error", [0.0, 3.0, 300.0])
def test_a_table_is_fitted_as_near_to_the_true_one_as_noise_allows(strength, error):
    rng = np.random.default_rng(1)
    for _ in range(5):
        bins = Bins((np.arange(3), np.arange(4)))
        first, second = rng.dirichlet(np.full(3, 4.0)), rng.dirichlet(np.full(4, 4.0))
        linked = rng.dirichlet(np.full(12, 1.0)).reshape(3, 4) + 0.01
        true = ((1 - strength) * np.outer(first, second) + strength * linked) * 1000
        rows = float(true.sum())
        margins = np.concatenate([true.sum(axis=1), true.sum(axis=0)])
        counts = np.zeros((7, 7))
        counts[:3, 3:] = true - np.outer(true.sum(axis=1), np.full(4, 1 / 4))
        counts[:3, 3:] -= np.outer(np.full(3, 1 / 3), true.sum(axis=0)) - rows / 12
        noise = np.zeros((7, 7))
        noise[:3, 3:] = rng.normal(0, error, (3, 4))
        centred = counts + counts.T + noise + noise.T
        tables = estimate_tables(bins, rows, margins, np.zeros(7), centred, error)
        table = fit_table(tables, 0, 1)
        # Where noise makes entries zero, twenty rounds of scaling do not bring both margins right.
        assert table.sum(axis=1) == pytest.approx(margins[:3], rel=0.02 if error < 100 else 0.4)
        assert table.sum(axis=0) == pytest.approx(margins[3:], rel=1e-9)
        independent = np.outer(margins[:3], margins[3:]) / rows
        off, furthest = np.abs(table - true).max(), np.abs(independent - true).max()
        if error < 100:
            # Not much further off than saying that nothing depends on anything, and nearer if it
            # shows: as many rows tell 1000 / 12 up to 9 or so.
            assert off <= max(1.2 * furthest, 10.0)
            assert off <= 0.5 * furthest + 10.0 + error


# -- synthetic rows --------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=25)
@given(pair_tables(), st.integers(0, 10**6))
def test_rows_drawn_along_the_tree_are_weighted_without_resting_on_few(tables, seed):
    rng = np.random.default_rng(seed)
    drawn = draw_bins(tables, strongest_tree(tables), 300, rng)
    for codes, size in zip(drawn, tables.bins.sizes, strict=True):
        assert codes.shape == (300,)
        assert codes.min() >= 0
        assert codes.max() < size
    sizes_of = [int(size) for size in tables.bins.sizes]
    cells = [number_cells(0, max(size - 1, 1), whole=True) for size in sizes_of]
    maps = tuple(
        np.minimum(np.arange(c.count), s - 1) for c, s in zip(cells, sizes_of, strict=True)
    )
    celled = Bins(maps)
    tables = PairTables(
        celled,
        tables.rows,
        tables.margins,
        tables.margin_variances,
        tables.counts,
        tables.variances,
    )
    counts = [np.ones(one.count) for one in cells]
    reweighted = reweight_rows(drawn, tables, cells, counts, rng)
    assert (reweighted.weights >= 0).all()
    assert reweighted.weights.sum() == pytest.approx(1.0)
    assert 1.0 / float(reweighted.weights @ reweighted.weights) >= 0.1 * 300 * (1 - 1e-9)
    assert np.isfinite(reweighted.reweightings).all()
    if reweighted.reweightings.size:
        assert np.abs(reweighted.weights @ reweighted.reweightings).max() < 1e-6 * max(
            np.abs(reweighted.reweightings).max(), 1
        )
    assert math.isfinite(disagreement(drawn, tables, cells, counts))


def test_weights_bring_rows_to_the_released_tables():
    """Rows of independent columns, told that the columns agree in nine of ten."""
    bins = Bins((np.array([0, 1, 1]), np.array([0, 1, 1])))
    counts = np.array(
        [[500.0, 0, 450, 50], [0, 500, 50, 450], [450, 50, 500, 0], [50, 450, 0, 500]]
    )
    tables = PairTables(bins, 1000.0, np.full(4, 500.0), np.ones(4), counts, np.ones((4, 4)))
    cells = [number_cells(0, 1, whole=True)] * 2
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, 2, 4000) for _ in range(2)]
    reweighted = reweight_rows(drawn, tables, cells, [np.ones(3)] * 2, rng)
    share = reweighted.weights[drawn[0] == drawn[1]].sum()
    assert share == pytest.approx(0.9, abs=0.02)
    before, after = (
        disagreement(rows, tables, cells, [np.ones(3)] * 2)
        for rows in (drawn, [drawn[0], np.where(rng.random(4000) < 0.9, drawn[0], 1 - drawn[0])])
    )
    assert after < before


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 0.3, 1.0, 1e6]), min_size=1, max_size=8),
    st.integers(0, 50),
    st.integers(0, 10**6),
)
def test_shares_are_met_up_to_one(shares, count, seed):
    shares = np.array(shares)
    found = spread_out(shares, count, np.random.default_rng(seed))
    assert found.shape == (count,)
    if not count:
        return
    assert found.min() >= 0
    assert found.max() < len(shares)
    if shares.sum() > 1e-290:
        seen = np.bincount(found, minlength=len(shares))
        wanted = count * shares / shares.sum()
        assert (np.abs(seen - wanted) <= 1 + 1e-6).all()
        assert (seen[shares == 0] == 0).all()


def test_cells_of_a_drawn_bin_are_of_that_bin():
    bins = Bins((np.array([0, 0, 1, 1, 2]),))
    binned = [np.repeat([0, 1, 2], 10)]
    for counts in (np.array([0.0, 3, 1, 1, 0]), np.zeros(5)):
        (cells,) = draw_cells(binned, bins, [counts], np.random.default_rng(0))
        assert np.array_equal(bins.maps[0][cells], binned[0])
        if counts.any():
            assert (cells[:10] == 1).all()


# -- latent variables ------------------------------------------------------------------------------


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=8).map(np.array))
def test_normal_scores_rise_and_have_mean_zero(shares):
    scores = normal_scores(shares)
    assert np.isfinite(scores).all()
    part = shares / shares.sum()
    assert part @ scores == pytest.approx(0.0, abs=1e-9)
    assert part @ scores**2 <= 1.0 + 1e-9
    assert (np.diff(scores) >= -1e-6).all()


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9, 5.0])
def test_latent_variables_follow_their_correlation(correlation):
    covariance = np.array([[0.0, correlation], [correlation, 0.0]])
    scores = Scores(covariance, np.full((2, 2), 1e-6), np.ones(2))
    shares = [np.full(20, 1.0), np.full(20, 1.0)]
    orders = [np.arange(20)] * 2
    a, b = draw_ordered(shares, orders, scores, 2000, np.random.default_rng(0))
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(min(correlation, 0.98), abs=0.06)
    # Each part is drawn as often as its share says.
    assert np.bincount(a, minlength=20).tolist() == [100] * 20


def test_parts_without_a_share_are_not_drawn():
    scores = score_sides(np.array([0.5, 1e-3]), np.zeros((2, 2)), 0.1)
    shares = [np.array([0.0, 1, 0, 1, 0]), np.array([0.0, 0, 0, 7, 0])]
    drawn = draw_ordered(shares, [np.arange(5)] * 2, scores, 101, np.random.default_rng(0))
    assert set(drawn[0]) == {1, 3}
    assert set(drawn[1]) == {3}


# -- a whole summary -------------------------------------------------------------------------------

MIXED = Schema(
    {
        "n": Number(0, 10),
        "w": Number(0, 4, whole=True, missing=False),
        "c": Category(["a", "b"]),
        "r": Number(0, 1),
    }
)


def mixed_rows(rows, missing=0.0):
    rng = np.random.default_rng(rows)
    gone = rng.random(rows) < missing
    return {
        "n": np.where(gone, math.nan, rng.uniform(0, 10, rows)),
        "w": rng.integers(0, 5, rows),
        "c": np.where(gone, "elsewhere", rng.choice(["a", "b"], rows)),
        "r": rng.random(rows),
    }


def summary_of(rows, missing=0.0, epsilon=1.0, seed=0):
    with fixed_noise(seed):
        explainer = PrivateExplainer(
            lambda table: np.zeros(len(table["n"])),
            mixed_rows(rows, missing),
            schema=MIXED,
            epsilon=epsilon,
        )
    return explainer.summary_


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0, math.inf])
@pytest.mark.parametrize("rows", [0, 1, 2, 700])
def test_a_summary_of_any_table_at_any_price_can_be_drawn_from(rows, epsilon):
    """Without a warning, too: pytest makes errors of them."""
    summary = summary_of(rows, epsilon=epsilon)
    drawn = summary.draw(0, rows=500)
    assert drawn.rows == 500
    assert (drawn.weights > 0).all()
    assert drawn.weights.sum() == pytest.approx(1.0)
    assert np.isfinite(drawn.reweightings).all()
    assert ((drawn.columns["n"] >= 0) & (drawn.columns["n"] <= 10)).all()
    assert set(drawn.columns["w"]) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert set(drawn.columns["c"]) <= {0, 1}
    assert summary.rows >= 1.0


def test_public_chance_decides_what_is_drawn():
    summary = summary_of(700)
    one, again, other = (summary.draw(seed, rows=400) for seed in (3, 3, 4))
    for name in MIXED:
        assert np.array_equal(one.columns[name], again.columns[name])
        assert not np.array_equal(one.columns[name], other.columns[name])
    assert np.array_equal(one.weights, again.weights)
    assert np.array_equal(one.reweightings, again.reweightings)


@pytest.mark.parametrize("seed", range(3))
def test_missing_and_unlisted_values_are_drawn_if_there_are_some(seed):
    drawn = summary_of(2000, missing=0.3, epsilon=5.0, seed=seed).draw(0, rows=2000)
    assert np.isnan(drawn.columns["n"]).mean() == pytest.approx(0.3, abs=0.06)
    assert (drawn.columns["c"] == 2).mean() == pytest.approx(0.3, abs=0.06)
    assert not np.isnan(drawn.columns["w"]).any()  # the schema says so
    together = np.isnan(drawn.columns["n"]) == (drawn.columns["c"] == 2)
    assert drawn.weights[together].sum() > 0.9


def test_a_summary_is_plain_data():
    summary = summary_of(300)
    copy = PaidSummary.from_dict(summary.to_dict())
    assert copy.to_dict() == summary.to_dict()
    one, other = (each.draw(1, rows=300) for each in (summary, copy))
    assert np.array_equal(one.columns["n"], other.columns["n"])
    assert np.array_equal(one.weights, other.weights)
    with pytest.raises(LedgerMismatch, match="format"):
        PaidSummary.from_dict({**summary.to_dict(), "format": 99})


def test_a_damaged_price_is_not_paid_twice():
    """All accesses of a summary are in one plan, calibrated to its budget: no less is asked for."""
    ledger = Ledger(Budget(1.0, 1e-6))
    PrivateExplainer(
        lambda table: np.zeros(len(table["n"])), mixed_rows(50), schema=MIXED, ledger=ledger
    )
    (spent,) = (entry for entry in ledger.history() if str(entry.kind) in ("spend", "charge"))
    assert [step.label for step in spent.plan.steps] == [
        "cells of columns",
        "bins of columns",
        "pairs of columns",
        "strongest pairs again",
    ]
