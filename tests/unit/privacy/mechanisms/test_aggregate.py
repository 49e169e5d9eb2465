"""Sample and aggregate: one row moves one group's output, by no more than the noise allows for."""

import itertools
import math
import warnings
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ncx2

from voile import Budget, Category, Ledger, Number, Schema, Unit, protect
from voile.errors import PlanError, SettingError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Approximate, Gaussian, Plan, Pure, Unprotected
from voile.privacy.gaussian_dp import delta_of
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import aggregate_mean, attention_groups, center_of_attention
from voile.privacy.mechanisms.attention import (
    LEAST_SCALE,
    SmoothNoise,
    UnitBox,
    attend,
    least_share,
    majority,
    noise_scale,
    smooth_bound,
    smooth_noise,
    stretch_delta,
)
from voile.privacy.vault import keep

SCHEMA = Schema({"a": Number(0, 1), "b": Category(["x", "y"])})


def grant_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    """A grant nobody priced: these are tests of the mechanism, not of the ledger."""
    plan = Plan.of(look=event)
    kind, none = EntryKind.SPEND, Amount()
    entry = new_entry(None, what="test", kind=kind, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def private_table(values, **more):
    values = np.asarray(values, dtype=np.float64)
    table = protect({"a": values, "b": ["x"] * len(values)}, schema=SCHEMA, **more)
    keep_values(table)
    return table


def keep_values(table):
    def work(block):
        block.kept["a"] = block["a"].copy()
        block.kept["pair"] = np.stack([block["a"], -block["a"]], axis=1).astype(np.float32)

    keep(table, ("a",), work)


def access(
    mechanism,
    table,
    learn,
    event=None,
    relation=NeighbouringRelation.ADD_REMOVE,
    names=("a",),
    **more,
):
    event = event or (
        Gaussian(1, 1.0) if mechanism is aggregate_mean else Approximate(1, 8.0, 1e-6)
    )
    grant = grant_for(table, event, relation)
    return mechanism(table, names, learn, ticket=grant.take("look"), **more)


def mean_of(arrays):
    return [arrays["a"].mean()]


def without_noise(monkeypatch, places):
    """Deal rows as told, and add no noise, but count in the units of the noise's grid."""
    monkeypatch.setattr(noise, "deal", lambda size, groups: np.asarray(places, dtype=np.int64))
    monkeypatch.setattr(noise, "gaussian", lambda size, scale: np.zeros(size, dtype=np.int64))


# -- dealing ---------------------------------------------------------------------------------------


@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 10))
def test_every_row_is_in_one_group_in_table_order(rows, groups, seed):
    seen = []

    def learn(arrays):
        assert arrays["pair"].dtype == np.float32
        assert arrays["pair"].shape == (len(arrays["a"]), 2)
        assert np.array_equal(arrays["pair"][:, 0], arrays["a"].astype(np.float32))
        seen.append(arrays["a"])
        return [0.0]

    table = private_table(np.arange(rows) / 300)
    with noise.fixed_noise(seed):
        access(aggregate_mean, table, learn, names=("a", "pair"), groups=groups, size=1, bound=1.0)
    assert all((np.diff(one) > 0).all() and len(one) for one in seen)
    assert len(seen) <= groups
    together = np.concatenate([[], *seen])
    assert np.array_equal(np.sort(together), np.arange(rows) / 300)


def test_rows_of_several_blocks_are_dealt(monkeypatch):
    from voile.privacy.sources import source, table

    monkeypatch.setattr(source, "BLOCK_ROWS", 10)
    monkeypatch.setattr(table, "BLOCK_ROWS", 10)
    seen = []
    access(
        aggregate_mean,
        private_table(np.arange(95) / 95),
        lambda arrays: seen.append(arrays["a"]) or [0.0],
        groups=4,
        size=1,
        bound=1.0,
    )
    assert all((np.diff(one) > 0).all() for one in seen)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(95) / 95)


def test_rows_on_disk_are_dealt(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    for part, start in enumerate((0, 40)):
        rows = pa.table({"a": np.arange(start, start + 40) / 80, "b": ["x"] * 40})
        pa.parquet.write_table(rows, tmp_path / f"{part}.parquet")
    table = protect(tmp_path, schema=SCHEMA)
    keep_values(table)
    seen = []
    learn = lambda arrays: seen.append(arrays["a"]) or [0.0]  # noqa: E731
    access(aggregate_mean, table, learn, groups=3, size=1, bound=1.0)
    assert all((np.diff(one) > 0).all() for one in seen)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(80) / 80)


def test_a_group_cannot_reach_the_rows_of_another():
    owners = []

    def learn(arrays):
        owners.append(arrays["a"].base is None)  # an error raised here would be swallowed
        arrays["a"][:] = 7.0
        return [0.0]

    table = private_table([0.25, 0.5, 0.75])
    access(aggregate_mean, table, learn, groups=2, size=1, bound=1.0)
    assert owners
    assert all(owners)
    seen = []
    learn = lambda arrays: seen.extend(arrays["a"]) or [0.0]  # noqa: E731
    access(aggregate_mean, table, learn, groups=2, size=1, bound=1.0)
    assert sorted(seen) == [0.25, 0.5, 0.75]


@given(st.integers(0, 5000), st.integers(1, 2**40))
def test_dealing_is_in_range_and_the_group_of_a_row_ignores_later_rows(size, groups):
    with noise.fixed_noise(3):
        dealt = noise.deal(size, groups)
    with noise.fixed_noise(3):
        more = noise.deal(size + 1, groups)
    assert dealt.shape == (size,)
    assert np.array_equal(dealt, more[:size])
    assert ((more >= 0) & (more < groups)).all()


@pytest.mark.parametrize("groups", [0, -1, 2**63])
def test_dealing_into_no_groups_is_refused(groups):
    with pytest.raises(SettingError, match="groups"):
        noise.deal(3, groups)


# -- sensitivity of the sum ------------------------------------------------------------------------


def hostile(size, bound, centre):
    """A learner whose output jumps, breaks and overflows by every bit of its rows."""

    def learn(arrays):
        seed = zlib.crc32(np.ascontiguousarray(arrays["a"]).tobytes())
        generator = np.random.default_rng(seed)
        direction = generator.normal(size=size)
        direction /= np.linalg.norm(direction)
        match seed % 12:
            case 0:
                raise ValueError("no rows of class x")
            case 1:
                return np.full(size, np.nan)
            case 2:
                return np.zeros(size + 1)
            case 3:
                return np.full(size, 1e308)
            case 4:
                return "text"
            case 5:
                return np.full(size, np.inf)
            case 6:
                raise SystemExit(1)
            case 7:
                return centre + direction * bound * (1 + 1e-15)
            case 8 | 9:
                corner = np.zeros(size)
                corner[0] = bound if seed % 2 else -bound
                return centre + corner * 1.5
            case _:
                return centre + direction * bound * generator.choice([0.5, 1, 2, 1e9])

    return learn


NEIGHBOURS = st.tuples(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.integers(1, 5),
    st.integers(1, 4),
    st.floats(1e-3, 1e3),
    st.integers(0, 2**31),
    st.booleans(),
)


@settings(max_examples=300)
@given(NEIGHBOURS)
def test_a_row_moves_the_sum_by_at_most_the_diameter_of_the_ball(case):
    values, groups, size, bound, seed, replaced = case
    generator = np.random.default_rng(seed)
    places = generator.integers(groups, size=len(values))
    row = int(generator.integers(len(values)))
    other, elsewhere = list(values), places
    if replaced:
        other[row] = float(generator.random())
    else:
        del other[row]
        elsewhere = np.delete(places, row)
    centre = generator.normal(size=size)
    learn = hostile(size, bound, centre)
    units = []
    for rows, where in ((values, places), (other, elsewhere)):
        with pytest.MonkeyPatch.context() as patch:
            without_noise(patch, where)
            shape = {"groups": groups, "size": size, "bound": bound}
            # Without a centre the released numbers are the integers, divided by the groups.
            shifted = lambda arrays: np.asarray(learn(arrays)) - centre  # noqa: E731
            release = access(aggregate_mean, private_table(rows), shifted, **shape)
            assert release.standard_error == pytest.approx(2 * bound / groups)
            units.append(np.round(release.values / release.grid))
    moved = math.sqrt(float(np.sum((units[0] - units[1]) ** 2)))
    assert moved <= 2 * bound / (noise.grid_for(2 * bound))


def test_the_whole_diameter_can_be_needed(monkeypatch):
    """The bound of the test above is reached, so the test would notice half of the noise."""
    learn = lambda arrays: [9.0 if len(arrays["a"]) % 2 else -9.0]  # noqa: E731
    sums = []
    for rows in (2, 3):
        without_noise(monkeypatch, [0] * rows)
        shape = {"groups": 1, "size": 1, "bound": 1.0}
        sums.append(access(aggregate_mean, private_table([0.5] * rows), learn, **shape).values[0])
    assert abs(sums[1] - sums[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_noise_is_for_the_diameter_in_both_relations(relation):
    table = private_table([0.5] * 9)
    shape = {"groups": 3, "size": 2, "bound": 5.0, "relation": relation}
    release = access(aggregate_mean, table, lambda _: [0, 0], Gaussian(1, 4.0), **shape)
    assert release.standard_error == pytest.approx(4.0 * 2 * 5.0 / 3)


# -- what is learned -------------------------------------------------------------------------------


def exact(mechanism, table, learn, **more):
    return access(mechanism, table, learn, Unprotected(1), **more).values


def test_the_mean_of_groups_is_shifted_and_clipped(monkeypatch):
    monkeypatch.setattr(noise, "deal", lambda size, groups: np.arange(size) % groups)
    table = private_table([0.1, 0.3, 0.9])
    shape = {"groups": 3, "size": 1, "bound": 0.2}
    values = exact(aggregate_mean, table, mean_of, centre=0.2, **shape)
    assert values == pytest.approx([(0.1 + 0.3 + 0.4) / 3])
    # A vector keeps its direction.
    learn = lambda arrays: [3.0, 4.0]  # noqa: E731
    shape = {"groups": 3, "size": 2, "bound": 1.0}
    assert exact(aggregate_mean, table, learn, **shape) == pytest.approx([0.6, 0.8])
    assert exact(aggregate_mean, table, learn, centre=[3.0, 3.5], **shape) == pytest.approx([3, 4])


@pytest.mark.parametrize(
    "bad",
    [
        lambda arrays: 1 / 0,
        lambda arrays: [np.nan, 1.0],
        lambda arrays: [np.inf, 1.0],
        lambda arrays: [1.0],
        lambda arrays: [[1.0, 1.0]],
        lambda arrays: 5.0,
        lambda arrays: None,
        lambda arrays: {"a": 1},
        lambda arrays: [1.0, "text"],
        lambda arrays: exit(3),
        lambda arrays: warnings.warn("rows of class x are few", stacklevel=1),
    ],
)
def test_what_cannot_be_learned_counts_as_the_centre_and_nobody_is_told(bad, capfd, monkeypatch):
    monkeypatch.setattr(noise, "deal", lambda size, groups: np.arange(size) % groups)
    table = private_table([0.1, 0.3, 0.9, 0.7])
    learn = lambda arrays: bad(arrays) if arrays["a"][0] == 0.9 else [4.0, 8.0]  # noqa: E731
    shape = {"groups": 4, "size": 2, "bound": 10.0, "centre": [0.0, 4.0]}
    assert exact(aggregate_mean, table, learn, **shape) == pytest.approx([3.0, 7.0])
    shape = {"groups": 4, "size": 2, "lower": 0.0, "upper": 16.0}
    assert exact(center_of_attention, table, learn, **shape) == pytest.approx([4, 8], abs=1e-5)
    assert exact(center_of_attention, table, bad, **shape) == pytest.approx([8, 8], abs=1e-5)
    assert capfd.readouterr() == ("", "")


def test_warnings_of_a_learner_are_not_told():
    def learn(arrays):
        warnings.warn("few rows", stacklevel=1)
        return np.log(np.zeros(1)) * 0 + np.float64(1) / np.zeros(1) - np.inf

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = exact(aggregate_mean, private_table([0.5]), learn, groups=2, size=1, bound=1.0)
    assert caught == []
    assert values.tolist() == [0.0]


@pytest.mark.parametrize("mechanism", [aggregate_mean, center_of_attention])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_fewer_rows_than_groups(mechanism, rows):
    calls = []
    shape = {"bound": 1.0} if mechanism is aggregate_mean else {"lower": -1.0, "upper": 1.0}
    learn = lambda arrays: calls.append(len(arrays["a"])) or [1.0]  # noqa: E731
    values = exact(mechanism, private_table([0.5] * rows), learn, groups=50, size=1, **shape)
    assert sum(calls) == rows
    assert 0 not in calls
    expected = len(calls) / 50 if mechanism is aggregate_mean else 0.0
    assert values == pytest.approx([expected], abs=1e-6)


def test_one_group_is_all_rows():
    table = private_table([0.25, 0.75])
    assert exact(aggregate_mean, table, mean_of, groups=1, size=1, bound=1.0) == pytest.approx(
        [0.5]
    )


# -- refusals, all by public facts and before the rows ---------------------------------------------

MEAN = {"groups": 5, "size": 1, "bound": 1.0}
ATTENTION = {"groups": 9, "size": 1, "lower": 0.0, "upper": 1.0}
BOTH = [(aggregate_mean, MEAN), (center_of_attention, ATTENTION)]


def refused(error, mechanism, table, event=None, names=("a",), match=None, **shape):
    event = event or (
        Gaussian(1, 1.0) if mechanism is aggregate_mean else Approximate(1, 8.0, 1e-6)
    )
    grant = grant_for(table, event)
    with pytest.raises(error, match=match):
        mechanism(table, names, mean_of, ticket=grant.take("look"), **shape)
    assert grant.openings == {"look": 0}


@pytest.mark.parametrize(("mechanism", "shape"), BOTH)
@pytest.mark.parametrize("rows", [0, 4])
def test_units_of_several_rows_are_refused(mechanism, shape, rows):
    unit = {"a": [0.5] * rows, "who": list(range(rows))}
    for most in (1, 2):
        schema = Schema({"a": Number(0, 1)}, unit=Unit("who", rows=most))
        table = protect(unit, schema=schema)
        keep_values(table)
        if most == 1:
            access(mechanism, table, mean_of, **shape)
        else:
            refused(SettingError, mechanism, table, match="unit of several rows", **shape)


@pytest.mark.parametrize(("mechanism", "shape"), BOTH)
@pytest.mark.parametrize("rows", [0, 4])
def test_weights_are_refused(mechanism, shape, rows):
    table = private_table([0.5] * rows, weights=np.ones(rows))
    refused(SettingError, mechanism, table, match="weights", **shape)


@pytest.mark.parametrize(("mechanism", "shape"), BOTH)
@pytest.mark.parametrize(
    "change",
    [
        {"groups": 0},
        {"groups": 2.5},
        {"size": 0},
        {"size": "3"},
        {"names": ()},
        {"names": "a"},
        {"bound": 0.0},
        {"bound": math.inf},
        {"bound": math.nan},
        {"centre": math.nan},
        {"centre": [1.0, 2.0]},
        {"centre": "middle"},
        {"groups": 2, "lower": 0.0},
        {"lower": 1.0},
        {"lower": -math.inf},
        {"upper": [1.0, 2.0]},
        {"upper": 1e300},
    ],
)
def test_impossible_settings_are_refused(mechanism, shape, change):
    own = {"bound", "centre"} if mechanism is aggregate_mean else {"lower", "upper"}
    if set(change) & ({"bound", "centre", "lower", "upper"} - own):
        pytest.skip("a setting of the other mechanism")
    refused(SettingError, mechanism, private_table([0.5]), **{**shape, **change})


@pytest.mark.parametrize("event", [Pure(1, 1.0), Approximate(1, 8.0, 1e-6), Gaussian(1, 1.0)])
def test_a_look_of_another_kind_is_refused(event):
    table = private_table([0.5])
    if not isinstance(event, Gaussian):
        refused(PlanError, aggregate_mean, table, event, match="'gaussian'", **MEAN)
    if not isinstance(event, Approximate):
        refused(PlanError, center_of_attention, table, event, match="'approximate'", **ATTENTION)


def test_a_name_that_was_not_kept_is_refused():
    with pytest.raises(SettingError, match="keep it beforehand"):
        access(aggregate_mean, private_table([0.5]), mean_of, names=("c",), **MEAN)


def test_text_and_changing_types_are_refused(monkeypatch):
    from voile.privacy.sources import source
    from voile.privacy.sources import table as module

    monkeypatch.setattr(source, "BLOCK_ROWS", 2)
    monkeypatch.setattr(module, "BLOCK_ROWS", 2)
    table = private_table([0.5, 0.5, 0.25])

    def work(block):
        block.kept["text"] = np.array(["x"] * block.rows)
        block.kept["type"] = block["a"].astype(np.float32 if block.rows == 1 else np.float64)

    keep(table, ("a",), work)
    for name in ("text", "type"):
        with pytest.raises(SettingError, match="must be numbers"):
            access(aggregate_mean, table, mean_of, names=(name,), **MEAN)


def test_noise_wider_than_the_box_is_refused_whatever_the_rows():
    for epsilon, delta, size in itertools.product((1.0, 8.0), (1e-6,), (1, 3)):
        event = Approximate(1, epsilon, delta)
        least = attention_groups(size, epsilon, delta)
        noise_of = smooth_noise(epsilon, delta, size)
        assert least_share(noise_of, least) <= 1 < least_share(noise_of, least - 1)
        for values in ([], [0.5], [0.0, 1.0] * 10):
            table = private_table(values)
            shape = {"size": size, "lower": 0.0, "upper": 1.0}
            text = f"use at least {least} groups"
            refused(
                SettingError,
                center_of_attention,
                table,
                event,
                match=text,
                groups=least - 1,
                **shape,
            )
            access(center_of_attention, table, lambda _: [0.0], event, groups=least, **shape)
    for epsilon in (1e-5, 1e-12, 501.0, 1e9):
        refused(
            SettingError, center_of_attention, table, Approximate(1, epsilon, 1e-6), **ATTENTION
        )
    access(center_of_attention, table, mean_of, Approximate(1, 500.0, 1e-6), **ATTENTION)


# -- the centre of attention: the enemy ------------------------------------------------------------


def radius_of_points(points):
    """The mistake of measuring around the best point alone, as if it could not be the one moved."""
    groups, most = len(points), majority(len(points))
    squares = np.stack([((points - point) ** 2).sum(axis=1) for point in points])
    radii = np.sqrt(np.sort(squares, axis=1)).min(axis=0)
    return 2 * radii[most + np.arange(groups - most)]


def check_neighbours(points, other, diameter, moves_of=lambda points: attend(points).moves):
    """One point moved: the centre moves by at most S, and S by at most e^beta, for any beta."""
    one, two = moves_of(points), moves_of(other)
    distance = math.dist(attend(points).centre, attend(other).centre)
    for first, second in ((one, two), (two, one)):
        # Stronger than smoothness for one beta: k changes from here are k + 1 from there.
        after = np.append(np.minimum(first, diameter), diameter)
        before = np.minimum(second, diameter)
        assert (before <= after[1:] * (1 + 1e-14)).all()
        assert distance <= after[0] * (1 + 1e-14)
        for beta in (0.01, 0.3, 2.0):
            s, t = (smooth_bound(moves, diameter, beta) for moves in (first, second))
            assert t <= s * math.exp(beta) * (1 + 1e-12)
            assert distance <= s * (1 + 1e-14)


@pytest.mark.parametrize(
    ("groups", "side"), [(3, 5), (4, 4), (5, 4), (6, 3), (7, 3), (8, 2), (9, 2)]
)
def test_smooth_bound_on_all_points_of_a_line(groups, side):
    """Every multiset of points, every point moved to every place."""
    for line in itertools.combinations_with_replacement(range(side), groups):
        points = np.array(line, dtype=np.int64)[:, None]
        for j, place in itertools.product(range(groups), range(side)):
            other = points.copy()
            other[j] = place
            check_neighbours(points, other, side - 1.0)


def scattered(generator, groups, size, reach):
    """Points as an enemy would lay them: clusters, stars, shells, lattices, or anywhere."""
    match generator.integers(6):
        case 0:
            points = generator.integers(0, reach + 1, (groups, size))
        case 1:  # few places, many ties
            points = generator.integers(0, 3, (groups, size)) * (reach // 2)
        case 2:  # two clusters of nearly equal size
            ends = generator.integers(0, reach + 1, (2, size))
            points = ends[np.arange(groups) % 2] + generator.integers(-9, 10, (groups, size))
        case 3:  # a lone point in the middle of a shell
            points = generator.normal(size=(groups, size))
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            points[0] = 0
            points = (reach / 2 * (1 + points * generator.choice([0.1, 0.5, 1.0]))).astype(np.int64)
        case 4:  # distances that double
            steps = reach / 2.0 ** generator.integers(0, 20, (groups, 1))
            points = (steps * generator.random((groups, size))).astype(np.int64)
        case _:  # a tight majority and far others
            points = np.full((groups, size), reach // 2) + generator.integers(-3, 4, (groups, size))
            far = generator.permutation(groups)[: groups // 2]
            points[far] = generator.integers(0, reach + 1, (len(far), size))
    return np.clip(points, 0, reach).astype(np.int64)


def moved(generator, points, reach):
    """One point moved: to a corner, onto another point, next to where it was, or anywhere."""
    other = points.copy()
    j = int(generator.integers(len(points)))
    match generator.integers(4):
        case 0:
            other[j] = generator.integers(0, 2, points.shape[1]) * reach
        case 1:
            other[j] = points[generator.integers(len(points))]
        case 2:
            other[j] = np.clip(points[j] + generator.integers(-5, 6, points.shape[1]), 0, reach)
        case _:
            other[j] = generator.integers(0, reach + 1, points.shape[1])
    return other


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("reach", [4, 2**23])
def test_smooth_bound_against_hostile_points(size, reach):
    generator = np.random.default_rng(size * 100 + reach)
    diameter = reach * math.sqrt(size)
    for _ in range(700):
        points = scattered(generator, int(generator.integers(3, 10)), size, reach)
        for _ in range(4):
            check_neighbours(points, moved(generator, points, reach), diameter)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_smooth_bound_against_a_climbing_enemy(size):
    """Whoever climbs towards a violation comes close to the bound and never over it."""
    generator = np.random.default_rng(size)
    reach, worst = 1000, 0.0
    diameter = reach * math.sqrt(size)
    for groups in (3, 5, 6, 8, 9):
        for beta in (0.05, 0.5):
            points = scattered(generator, groups, size, reach)
            other, best = moved(generator, points, reach), 0.0
            for _ in range(400):
                tried = points if generator.random() < 0.3 else moved(generator, points, reach)
                there = moved(generator, tried, reach)
                s, t = (smooth_bound(attend(z).moves, diameter, beta) for z in (tried, there))
                ways = (
                    math.dist(attend(tried).centre, attend(there).centre) / s,
                    t / s / math.exp(beta),
                )
                assert max(ways) <= 1 + 1e-12
                if max(ways[0], ways[1] - 0.2) > best:
                    points, other, best = tried, there, max(ways[0], ways[1] - 0.2)
            check_neighbours(points, other, diameter)
            worst = max(worst, best)
    assert worst > 0.5  # the enemy is no friend


def test_radii_around_the_best_point_alone_would_be_noticed():
    """A point between two clusters makes all radii small, and may be the one that moves."""
    points = np.array([-4] * 200 + [0] + [4] * 200)[:, None] + 100
    other = points.copy()
    other[200] = 0
    check_neighbours(points, other, 200.0)
    with pytest.raises(AssertionError):
        check_neighbours(points, other, 200.0, radius_of_points)
    one, two = (smooth_bound(radius_of_points(z), 200.0, 0.1) for z in (points, other))
    assert (one, two) == (8.0, 16.0)
    one, two = (smooth_bound(attend(z).moves, 200.0, 0.1) for z in (points, other))
    assert two <= one * math.exp(0.1)
    # At most twice the free centre's radius, which is 4 here for a majority and more.
    assert attend(points).moves.max() <= 2 * 2 * 4


def test_the_centre_is_the_point_with_a_majority_nearest():
    points = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [90, 90]])
    attention = attend(points)
    assert majority(5) == 4
    assert attention.centre.tolist() in points[:4].tolist()
    assert attention.moves == pytest.approx([math.sqrt(2) + math.dist((1, 1), (90, 90))], rel=0.02)
    same = attend(np.zeros((9, 2), dtype=np.int64))
    assert same.moves.tolist() == [0.0] * 3


@given(st.integers(2, 200))
def test_two_majorities_share_two_points(groups):
    assert 2 * majority(groups) - groups >= 2
    assert 2 * (majority(groups) - 1) - groups < 2


# -- the noise of a smooth bound -------------------------------------------------------------------


def hockey_stick(size, shift, wide, epsilon):
    """Exact delta of N(0, I) against N(shift, wide^2 I): the likelihood ratio is a ball or none."""
    if wide == 1.0:
        return float(delta_of(shift, epsilon))
    a = 1 / (2 * wide**2) - 1 / 2
    centre = shift / (2 * a * wide**2)
    square = (a * centre**2 - shift**2 / (2 * wide**2) - size * math.log(wide) + epsilon) / a
    if square <= 0:
        return 0.0
    law = ncx2.sf if a > 0 else ncx2.cdf
    here = law(square, size, centre**2)
    there = law(square / wide**2, size, (centre - shift) ** 2 / wide**2)
    return here - math.exp(epsilon) * there


@pytest.mark.parametrize("size", [1, 2, 10])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-3), (4.0, 1e-6), (8.0, 1e-6)])
def test_shift_and_stretch_together_keep_epsilon_and_delta(epsilon, delta, size):
    """Against the exact law of both at once, which the proof bounds in two steps."""
    smooth = smooth_noise(epsilon, delta, size)
    worst = 0.0
    for stretch in np.linspace(-smooth.beta, smooth.beta, 15):
        wide = math.exp(stretch) if stretch else 1.0
        for share in (0.0, 0.3, 0.7, 1.0):
            worst = max(
                worst, hockey_stick(size, share * smooth.alpha * min(1, wide), wide, epsilon)
            )
    assert worst <= delta
    # Twice the alpha, or twice the beta, would be too much.
    assert float(delta_of(2 * smooth.alpha, epsilon)) > delta / 100
    assert stretch_delta(2 * smooth.beta, epsilon / 2, size) > delta / 2 * math.exp(-epsilon / 2)
    half = epsilon / 2
    assert stretch_delta(smooth.beta, half, size) <= delta / 2 * math.exp(-half)
    assert float(delta_of(smooth.alpha, half)) <= delta / 2


def test_stretch_agrees_with_the_integral_of_densities():
    beta, epsilon = 0.4, 0.3
    x = np.linspace(-60, 60, 2_000_001)
    narrow = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    wide = np.exp(-(x**2) / 2 / math.exp(2 * beta)) / math.sqrt(2 * math.pi) / math.exp(beta)
    step = x[1] - x[0]
    ways = [
        np.maximum(p - math.exp(epsilon) * q, 0).sum() * step
        for p, q in ((wide, narrow), (narrow, wide))
    ]
    assert stretch_delta(beta, epsilon, 1) == pytest.approx(max(ways), rel=1e-6)


@given(st.integers(1, 60), st.floats(0.01, 5), st.floats(1e-4, 1), st.floats(0, 1))
def test_less_stretch_is_no_easier_to_tell(size, epsilon, beta, share):
    less = stretch_delta(max(beta * share, 1e-6), epsilon, size)
    assert less <= stretch_delta(beta, epsilon, size) + 1e-13


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)), min_size=1, max_size=4),
    st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4),
)
def test_points_lie_in_the_box_and_no_further_apart_than_its_diameter(sides, values):
    lower = np.array([low for low, _ in sides])
    upper = lower + np.array([side for _, side in sides])
    box = UnitBox.of(lower, upper)
    assert 2**22 < box.diameter <= 2**24
    assert math.frexp(box.grid)[0] == 0.5
    point = box.point(np.array(values[: len(sides)]))
    assert ((point >= 0) & (point <= box.steps)).all()
    placed = box.place(point)
    assert ((placed >= lower) & (placed <= upper)).all()
    clipped = np.clip(values[: len(sides)], lower, upper)
    assert (np.abs(placed - clipped) <= 2 * box.grid + 1e-9).all()
    assert (box.point(upper) <= box.steps).all()
    assert (box.point(lower) == 0).all()


def test_noise_scale_covers_rounding_and_has_a_public_floor():
    box = UnitBox.of(np.zeros(2), np.ones(2))
    smooth = SmoothNoise(0.5, 0.1)
    points = np.array([[0, 0], [7, 0], [0, 7], [9, 9], [2**20, 0], [5, 5], [1, 1]])
    scale = noise_scale(attend(points), box, smooth)
    bound = smooth_bound(attend(points).moves, box.diameter, smooth.beta)
    assert bound / 0.5 < scale < bound / 0.5 * (1 + 1e-10)
    many = np.zeros((800, 2), dtype=np.int64)
    assert noise_scale(attend(many), box, smooth) == LEAST_SCALE


def test_the_scale_of_the_noise_is_not_told():
    release = access(center_of_attention, private_table([0.5] * 40), mean_of, **ATTENTION)
    assert math.isnan(release.standard_error)
    assert 0 <= release.values[0] <= 1
    assert release.grid == 2.0**-23
