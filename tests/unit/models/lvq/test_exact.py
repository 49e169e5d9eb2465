"""Sums of prototype models are exact: no order, block or neighbour changes a bit."""

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import PlanError, SettingError
from voile.models.exact_sums import squared_norms
from voile.models.lvq import metric_steps, space
from voile.models.lvq.metric_steps import MetricPulls
from voile.models.lvq.plain import MarginCosts
from voile.models.lvq.pulls import distances
from voile.models.lvq.queries import LARGEST_PULL, ClassSums, ClusterSums, Lengths, Pulls
from voile.models.lvq.space import BITS, CLASSES, ONE, POINTS, SQUARES, Space
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian
from voile.privacy.mechanisms import gaussian_sum, laplace_sum
from voile.privacy.queries import Block
from voile.privacy.vault import keep

CLASS_COUNT = 3


def space_of(size, **more):
    schema = Schema(
        {f"x{i}": Number(-1, 1) for i in range(size)}, target=Category(range(CLASS_COUNT))
    )
    return Space(schema, np.zeros(size), 1.0, **more)


def block_of(points, classes):
    """Rows as `Space.prepare` keeps them."""
    points = np.asarray(points, np.int16)
    kept = {
        POINTS: points,
        SQUARES: (points.astype(np.int64) ** 2).sum(axis=1).astype(np.float64),
        CLASSES: np.asarray(classes, np.int32),
    }
    return Block(len(points), lambda name: np.zeros(0), kept)


def random_points(generator, rows, size):
    """Whole points of all lengths up to 1, some twice, some at nought."""
    found = generator.normal(size=(rows, size))
    found *= generator.uniform(0, 0.9999, (rows, 1)) / np.linalg.norm(found, axis=1, keepdims=True)
    found = np.trunc(found * ONE).astype(np.int16)
    found[rows // 2 :: 3] = found[: len(found[rows // 2 :: 3])]
    found[::17] = 0
    return found


def queries_of(size, seed=0):
    generator = np.random.default_rng(seed)
    layout = space_of(size)
    prototypes = random_points(generator, 7, size) / ONE
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    matrix = generator.normal(size=(size, size)) / math.sqrt(size)
    return {
        "class sums": ClassSums(layout, False),
        "scatter": ClassSums(layout, True),
        "clusters": ClusterSums(layout, prototypes, labels),
        "pulls": Pulls(layout, prototypes, labels, "glvq", 15.0, 0.5),
        "winners": Pulls(layout, prototypes, labels, "lvq1", 15.0, 0.5),
        "costs": MarginCosts(layout, prototypes, labels, 15.0),
        "lengths": Lengths(layout, matrix, 2.0),
        "metric": MetricPulls(layout, prototypes, labels, 5.0, 0.5, matrix),
    }


NAMES = list(queries_of(2))
GRID = 2.0**-48


# -- the same integers, however they are added -----------------------------------------------------


@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("name", NAMES)
def test_orders_blocks_and_threads_change_nothing(name, size, monkeypatch):
    query = queries_of(size)[name]
    generator = np.random.default_rng(1)
    points, classes = random_points(generator, 301, size), generator.integers(-1, 3, 301)
    whole = query.total(block_of(points, classes), GRID)
    assert whole.any()
    order = generator.permutation(301)
    assert np.array_equal(query.total(block_of(points[order], classes[order]), GRID), whole)
    for step in (1, 2, 30, 133):
        parts = [block_of(points[i : i + step], classes[i : i + step]) for i in range(0, 301, step)]
        assert np.array_equal(sum(query.total(part, GRID) for part in parts), whole), step
    with ThreadPoolExecutor(4) as pool:
        added = pool.map(lambda part: query.total(part, GRID), parts)
        assert np.array_equal(sum(added), whole)
    with threadpool_limits(2):
        assert np.array_equal(query.total(block_of(points, classes), GRID), whole)
    for numbers, most in ((1, 65_536), (7 * size, 65_536), (10**6, 65_536), (10**6, 5)):
        monkeypatch.setattr(space, "CHUNK_NUMBERS", numbers)
        monkeypatch.setattr(metric_steps, "_ROWS", most)
        monkeypatch.setattr(space.chunks, "__defaults__", (most,))
        assert np.array_equal(query.total(block_of(points, classes), GRID), whole), (numbers, most)


@pytest.mark.parametrize(("size", "rows"), [(5, 1), (40, 30)])
def test_rows_between_two_prototypes_do_not_change_sides_for_a_neighbour(size, rows):
    """Many equal rows exactly between two prototypes: one row more must not move them all.

    Matrix products in doubles round otherwise for another number of rows (OpenBLAS changes its
    kernel); with one that decides who is nearest, the sum would move by ``rows`` times the bound.
    """
    for seed in range(60):
        generator = np.random.default_rng(seed)
        omega = generator.normal(size=(size, size)) / math.sqrt(size)
        middle = np.trunc(generator.uniform(-0.5, 0.5, size) * ONE / math.sqrt(size))
        gap = np.round(generator.uniform(-0.4, 0.4, size) * ONE / math.sqrt(size))
        prototypes = np.array([middle + gap, middle - gap, np.zeros(size)]) / ONE
        labels = np.array([0, 0, 1])
        layout = space_of(size)
        for query in (
            MetricPulls(layout, prototypes, labels, 5.0, 1.0, omega),
            Pulls(layout, prototypes, labels, "glvq", 5.0, 1.0),
            ClusterSums(layout, prototypes, labels),
        ):
            points = np.vstack([np.tile(middle, (rows, 1)), np.zeros((1, size))])
            classes = np.append(np.zeros(rows), 1)
            without = query.total(block_of(points[:-1], classes[:-1]), GRID)
            moved = np.linalg.norm((query.total(block_of(points, classes), GRID) - without) * GRID)
            assert moved <= query.bound, f"{type(query).__name__}, seed {seed}"


@pytest.mark.parametrize(("size", "rows"), [(5, 1), (40, 30)])
def test_a_point_does_not_depend_on_the_other_rows(size, rows):
    """Coordinates within a rounding of a whole number must be cut the same way in any company."""
    for seed in range(60):
        generator = np.random.default_rng(seed)
        omega = generator.normal(size=(size, size)) / size
        row = generator.uniform(-1, 1, size).astype(np.float32)
        scaled = (row.astype(np.float64) @ omega.T) * (ONE * (1.0 - 1e-9))
        # Each coordinate is moved to a whole number, as nearly as a double can say it.
        omega *= (np.round(scaled) / scaled)[:, None]
        layout = space_of(size, omega=omega)
        many = layout.place(np.tile(row, (rows + 1, 1)))
        assert np.array_equal(layout.place(np.tile(row, (rows, 1))), many[:rows]), f"seed {seed}"


# -- distances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 64, 784])
def test_distances_are_exact(size):
    generator = np.random.default_rng(size)
    points = random_points(generator, 25, size).astype(np.float64)
    points[1], points[2] = 0.0, 0.0
    points[1, 0], points[2, -1] = ONE, -ONE
    prototypes = generator.integers(-ONE, ONE + 1, (6, size)).astype(np.float64)
    prototypes[0], prototypes[1] = ONE, -ONE
    prototypes[2] = points[5]
    found = distances(points, (points**2).sum(axis=1), prototypes)
    for i, point in enumerate(points):
        for j, prototype in enumerate(prototypes):
            pairs = zip(map(int, point), map(int, prototype), strict=True)
            exact = Fraction(sum((a - b) ** 2 for a, b in pairs), ONE**2)
            assert Fraction(found[i, j]) == exact


# -- the largest sums there are --------------------------------------------------------------------

MOST = 65_536


def long_rows(size, rows=MOST):
    """All of length 1, or as near as whole numbers come."""
    points = np.zeros((rows, size), dtype=np.int16)
    if size == 1:
        points[:, 0] = ONE
    else:
        points[::2, 0], points[1::2, 1] = ONE, -ONE
    points[-1] = 0
    points[-1, -1] = 12_345
    return points


@pytest.mark.parametrize("size", [1, 2])
def test_a_full_block_of_the_longest_points_loses_no_bit(size):
    points = long_rows(size)
    classes = np.arange(MOST) % 2
    exact = [[sum(map(int, points[classes == c, j])) for j in range(size)] for c in range(3)]
    for scatter in (False, True):
        query = ClassSums(space_of(size), scatter)
        found = query.total(block_of(points, classes), 2.0**-38)
        sums, counts = found[: 3 * size].reshape(3, size), found[3 * size : 3 * size + 3]
        assert (sums >> (38 - BITS)).tolist() == exact
        assert (counts >> (38 - 2)).tolist() == [MOST // 2, MOST // 2, 0]
        if scatter:
            products = found[3 * size + 3 :].reshape(size, size)
            for j in range(size):
                square = sum(int(one) ** 2 for one in points[:, j])
                assert products[j, j] >> (38 - 2 * BITS - 1) == square


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("rule", ["glvq", "lvq1"])
def test_the_strongest_pulls_of_a_full_block_lose_no_bit(size, rule):
    """Every row pulls with all its might from as far away as can be; compared row by row."""
    points = long_rows(size)
    classes = np.zeros(MOST, dtype=int)
    layout = space_of(size)
    place = np.zeros((2, size))
    place[0, 0], place[1, 0] = 1.0, 1.0 - 2.0**-BITS
    for labels in (np.array([0, 1]), np.array([1, 0])):
        query = Pulls(layout, place, labels, rule, 1e5, LARGEST_PULL, 9e5)
        whole = query.total(block_of(points, classes), 2.0**-38)
        kinds, counts = np.unique(points, axis=0, return_counts=True)
        one_by_one = [0] * query.size
        for kind, count in zip(kinds, counts, strict=True):
            share = query.total(block_of(kind[None], [0]), 2.0**-38)
            one_by_one = [a + int(b) * int(count) for a, b in zip(one_by_one, share, strict=True)]
        assert whole.tolist() == one_by_one


@pytest.mark.parametrize("size", [1, 2])
def test_the_strongest_pulls_of_a_metric_lose_no_bit(size):
    points = long_rows(size, 4097)
    layout = space_of(size)
    place = np.zeros((2, size))
    place[0, 0], place[1, 0] = -1.0, 1.0 - 2.0**-BITS
    for labels in (np.array([0, 1]), np.array([1, 0])):
        query = MetricPulls(layout, place, labels, 9e5, LARGEST_PULL, np.eye(size))
        whole = query.total(block_of(points, np.zeros(4097)), 2.0**-38)
        kinds, counts = np.unique(points, axis=0, return_counts=True)
        shares = [query.total(block_of(kind[None], [0]), 2.0**-38) for kind in kinds]
        exact = [
            sum(int(s) * int(c) for s, c in zip(column, counts, strict=True))
            for column in zip(*shares, strict=True)
        ]
        assert whole.tolist() == exact


def test_the_longest_vectors_of_whole_points_stay_within_the_ball():
    """Rounding, however the norm falls: no kept point is longer than 1, in integers."""
    generator = np.random.default_rng(0)
    for size in (1, 2, 3, 50, 784):
        for radius in (1e-9, 0.3, 1.0, 7.0):
            rows = generator.uniform(-1, 1, (200, size)).astype(np.float32)
            rows[0], rows[1], rows[2, ::2] = 1.0, -1.0, np.nan
            schema = space_of(size).schema
            points = Space(schema, generator.uniform(-1, 1, size), radius).place(rows)
            squares = [sum(int(one) ** 2 for one in point) for point in points]
            assert max(squares) <= ONE**2


def test_points_that_are_too_long_add_nothing():
    """There are none; if a mistake made some, the bound would hold all the same."""
    points = np.array([[ONE, 1], [-32_768, -32_768], [ONE, 0]])
    query = ClassSums(space_of(2), True)
    found = query.total(block_of(points, [0, 1, 2]), 2.0**-38)
    assert np.array_equal(found, query.total(block_of(points[2:], [2]), 2.0**-38))


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1.1, -3.0])
def test_prototypes_outside_the_cube_are_refused(bad):
    place = np.array([[0.0, bad], [0.0, 0.0]])
    labels, layout = np.array([0, 1]), space_of(2)
    for make in (
        lambda: ClusterSums(layout, place, labels),
        lambda: Pulls(layout, place, labels, "glvq", 1.0, 1.0),
        lambda: MetricPulls(layout, place, labels, 1.0, 1.0, np.eye(2)),
        lambda: MarginCosts(layout, place, labels, 1.0),
    ):
        with pytest.raises(SettingError, match=r"within|finite"):
            make()
    # Once more where they are used: whoever passed over the checks gets no further.
    query = ClusterSums(layout, np.zeros((2, 2)), labels)
    object.__setattr__(query, "prototypes", place)
    with pytest.raises(SettingError, match="within"):
        query.total(block_of([[0, 0]], [0]), GRID)


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0, 1e7])
def test_settings_that_no_bound_survives_are_refused(bad):
    place, labels, layout = np.zeros((2, 2)), np.array([0, 1]), space_of(2)
    with pytest.raises(SettingError):
        Pulls(layout, place, labels, "glvq", bad, 1.0)
    with pytest.raises(SettingError):
        Pulls(layout, place, labels, "glvq", 1.0, bad)
    with pytest.raises(SettingError):
        Pulls(layout, place, labels, "glvq", 1.0, 1.0, bad)
    with pytest.raises(SettingError):
        MetricPulls(layout, place, labels, bad, 1.0, np.eye(2))
    with pytest.raises(SettingError):
        MetricPulls(layout, place, labels, 1.0, bad, np.eye(2))
    with pytest.raises(SettingError):
        MarginCosts(layout, place, labels, bad)
    if bad != 1e7:
        with pytest.raises(SettingError):
            Lengths(layout, np.eye(2), bad)
    if not math.isfinite(bad):
        with pytest.raises(SettingError):
            MetricPulls(layout, place, labels, 1.0, 1.0, np.full((2, 2), bad))
        with pytest.raises(SettingError):
            Lengths(layout, np.full((2, 2), bad), 1.0)


def test_a_matrix_that_overflows_does_not_break_the_bound():
    size = 64
    matrix = np.tile(np.repeat([1.7e308, -1.7e308], size // 2), (size, 1))
    query = Lengths(space_of(size), matrix, 1.0)
    point = np.full((1, size), ONE // 8 - 1)
    with np.errstate(all="ignore"):
        found = query.total(block_of(point, [0]), 2.0**-30)
    assert 0 <= found[0] <= 2**30


@pytest.mark.parametrize("event", [Gaussian(), PoissonGaussian(rate=0.5), Laplace()])
def test_lots_by_place_are_for_looks_without_noise(event):
    """One row in front of the others moves all of them to other lots."""
    rows, labels, schema = blobs_for_lots()
    table = protect(rows, labels, schema=schema)
    space = Space(table.schema, np.zeros(2), 1.0)
    keep(table, space.columns, space.prepare)
    query = Pulls(space, np.eye(2), np.array([0, 1]), "glvq", 5.0, 1.0, lot=(0, 2))
    grant = Ledger(Budget(math.inf, 1e-6)).pay(Plan.of(look=event), table, "test")
    release = laplace_sum if isinstance(event, Laplace) else gaussian_sum
    with pytest.raises(PlanError, match="no bound"):
        release(table, query, grant.take("look"))
    assert grant.openings == {"look": 0}


def blobs_for_lots():
    schema = Schema({"a": Number(-1, 1), "b": Number(-1, 1)}, target=Category([0, 1]))
    return np.linspace(-1, 1, 20).reshape(10, 2), np.arange(10) % 2, schema


@pytest.mark.parametrize("columns", [1, 3, 1000, 4096, 4097, 8192, 8193, 9000, 20_000])
def test_squared_lengths_are_the_same_in_any_company(columns):
    values = np.random.default_rng(0).normal(size=(9, columns))
    whole = squared_norms(values)
    alone = [squared_norms(values[i : i + 1])[0] for i in range(9)]
    np.testing.assert_array_equal(whole, alone)
    np.testing.assert_array_equal(whole[2:], squared_norms(values[2:]))
    np.testing.assert_allclose(whole, (values**2).sum(axis=1), rtol=1e-12)


def test_a_metric_of_many_directions_works_on_each_row_by_itself():
    """With one more row, of no class, rows used to get other winners (einsum's buffer)."""
    schema = Schema({"x": Number(-1, 1), "y": Number(-1, 1)}, target=Category([0, 1]))
    space = Space(schema, np.zeros(2), 2.0)
    places = np.array([[0.7, -0.2], [-0.2, 0.7], [0.1, 0.1]])
    for seed in range(40):
        some = np.random.default_rng(seed).normal(size=(4500, 2))
        omega = np.vstack([some, some[:, ::-1]]) * 2.0**-6
        query = MetricPulls(space, places, np.array([0, 0, 1]), 50.0, 1.0, omega)
        points, classes = np.zeros((2, 2)), np.zeros(2, dtype=np.int64)
        both = query._coefficients(points, classes, space.whole(places), 512.0)
        one = query._coefficients(points[:1], classes[:1], space.whole(places), 512.0)
        for together, alone in zip(both, one, strict=True):
            assert together[0] == together[1] == alone[0]
