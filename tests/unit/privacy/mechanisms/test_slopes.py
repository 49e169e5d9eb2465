"""Noised gradients from sums that are added up once: exact, bounded for each row, each one paid."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from voile import Budget, Ledger, Number, Schema, protect
from voile.errors import PlanError, SettingError, VaultError
from voile.explain.blackbox.rows.points import ANSWERS, ONE, POINTS
from voile.explain.blackbox.solvers.products import LocalProducts
from voile.explain.blackbox.solvers.weights import envelope, read_weight
from voile.privacy import noise, vault
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian, Pure, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.ledger.entry import EntryKind, new_entry
from voile.privacy.ledger.filter import Amount
from voile.privacy.mechanisms import PrivateSlopes
from voile.privacy.mechanisms.slopes import SUM_BITS
from voile.privacy.queries import Block, Query, RowCount
from voile.schema import Unit

FINEST = 2.0**-24
OWN = {
    "near": lambda r: np.where(r < 0.4, envelope(r, 1.0), 0.0),
    "far": lambda r: np.where(r > 1.5, envelope(r, 1.0), 0.0),
    "half": lambda r: envelope(r, 1.0) / 2,
}
WEIGHTS = {
    "stable": read_weight("stable"),
    "narrow stable": read_weight("stable", c=0.1),
    "wide stable": read_weight("stable", c=100.0),
    "exponential": read_weight("exponential"),
    "gaussian": read_weight("gaussian", width=0.2),
    **{name: read_weight(one) for name, one in OWN.items()},
}


def in_ball(generator, rows, size):
    drawn = generator.normal(size=(rows, size))
    drawn *= generator.uniform(0.1, 1.0, (rows, 1)) / np.linalg.norm(drawn, axis=1, keepdims=True)
    return np.trunc(drawn * ONE * (1 - 1e-9)).astype(np.int32)


def table_of(points, answers, unit=None):
    """A table of which these points and answers are kept."""
    rows = {"i": np.arange(len(points), dtype=float)}
    schema = Schema({"i": Number(0, max(len(points), 1))}, unit=unit)
    if unit is not None:
        rows["who"] = np.arange(len(points))
    table = protect(rows, schema=schema)

    def work(block):
        mine = block["i"].astype(int)
        block.kept[POINTS], block.kept[ANSWERS] = points[mine], answers[mine]

    vault.keep(table, ["i"], work)
    return table


def grant_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    """A grant nobody priced."""
    plan, none = Plan.of(look=event), Amount()
    entry = new_entry(None, what="test", kind=EntryKind.SPEND, plan=plan, price=none, total=none)
    return Grant(plan, entry, Ledger(Budget(math.inf), relation=relation), table)


def ticket_for(table, event, relation=NeighbouringRelation.ADD_REMOVE):
    return grant_for(table, event, relation).take("look")


def case(seed=0, rows=40, size=3, outputs=2, intercept=True, weight="stable", **more):
    generator = np.random.default_rng(seed)
    points = in_ball(generator, rows, size)
    answers = generator.integers(-ONE, ONE + 1, (rows, outputs)).astype(np.int32)
    query = LocalProducts(in_ball(generator, 1, size), WEIGHTS[weight], outputs, intercept, **more)
    phi = generator.normal(size=(query.width, outputs))
    phi[:size] *= 0.9 * query.radius / np.linalg.norm(phi[:size], axis=0)
    phi[size:] = np.clip(phi[size:], -query.offset, query.offset)
    return table_of(points, answers), query, phi, points, answers


def block_of(points, answers):
    kept = {POINTS: points.astype(np.int32), ANSWERS: answers.astype(np.int32)}
    return Block(len(points), {}.__getitem__, kept)


def exact_gradient(query, total, phi):
    """A phi - b in exact fractions, phi cut to multiples of 2^-16 towards nought."""
    table = [[int(v) for v in row] for row in total.reshape(query.width, -1)]
    cut = [[Fraction(math.trunc(v * 2**14), 2**14) for v in row] for row in phi.tolist()]
    unit = Fraction(1, 2**SUM_BITS)
    return [
        sum(table[i][j] * unit * cut[j][k] for j in range(query.width))
        - table[i][query.width + k] * unit
        for i in range(query.width)
        for k in range(query.outputs)
    ]


def floors(values):
    return [math.floor(value * 2**24) for value in values]


# -- what is released without noise is A phi - b, exactly ------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_gradient_is_exact(seed, intercept):
    table, query, phi, points, answers = case(seed, intercept=intercept, radius=5.0)
    found = PrivateSlopes(table, query).gradient(phi, ticket_for(table, Unprotected(1)))
    total = query.total(block_of(points, answers), 2.0**-SUM_BITS)
    exact = exact_gradient(query, total, phi)
    assert [int(v) for v in found.values / FINEST] == floors(exact)
    assert (found.grid, found.standard_error) == (FINEST, 0.0)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_gradient_is_that_of_the_local_loss(weight):
    """From the formula in floats: every row's roots are cut by less than 2^-18 per coordinate."""
    table, query, phi, points, answers = case(weight=weight)
    found = PrivateSlopes(table, query).gradient(phi, ticket_for(table, Unprotected(1)))
    moved = (points - query.points[0]) / ONE
    weights = query.weight.at(np.linalg.norm(moved, axis=1))
    u = np.column_stack([moved, np.ones(len(moved))])
    expected = 2 * (u * weights[:, None]).T @ (u @ phi - answers / ONE)
    np.testing.assert_allclose(found.values, expected.ravel(), atol=len(points) * 1e-4)


def test_a_length_is_exact():
    table, query, phi, points, answers = case()
    found = PrivateSlopes(table, query).steepness(phi, ticket_for(table, Unprotected(1)))
    total = query.total(block_of(points, answers), 2.0**-SUM_BITS)
    whole = floors(exact_gradient(query, total, phi))
    assert found.values.tolist() == [math.isqrt(sum(v * v for v in whole)) * FINEST]


def test_the_flattest_is_chosen_without_noise():
    table, query, phi, points, answers = case()
    total = query.total(block_of(points, answers), 2.0**-SUM_BITS)
    matrix = total.reshape(query.width, -1)[:, : query.width] * 2.0**-SUM_BITS
    best = np.linalg.solve(
        matrix, total.reshape(query.width, -1)[:, query.width :] * 2.0**-SUM_BITS
    )
    candidates = [phi, best, -phi, 0 * phi]
    assert query.allows(best)
    slopes = PrivateSlopes(table, query)
    assert slopes.flattest(candidates, ticket_for(table, Unprotected(1))) == 1
    assert slopes.flattest(candidates[::-1], ticket_for(table, Unprotected(1))) == 2


def test_an_empty_table_has_no_slope():
    empty = table_of(np.zeros((0, 3), dtype=np.int32), np.zeros((0, 2), dtype=np.int32))
    _, query, phi, *_ = case()
    slopes = PrivateSlopes(empty, query)
    assert not slopes.gradient(phi, ticket_for(empty, Unprotected(1))).values.any()
    assert slopes.gradient(phi, ticket_for(empty, Gaussian(1, 2.0))).values.any()


def test_sums_are_added_up_once_and_each_object_has_its_own():
    table, query, phi, *_ = case(0)
    _, other, *_ = case(1)
    first, second = PrivateSlopes(table, query), PrivateSlopes(table, other)
    one = first.gradient(phi, ticket_for(table, Unprotected(1))).values
    two = second.gradient(phi, ticket_for(table, Unprotected(1))).values
    assert (one != two).any()
    assert (first.gradient(phi, ticket_for(table, Unprotected(1))).values == one).all()


# -- no row moves it further than is said ----------------------------------------------------------


def own_share(query, point, answer, phi):
    """One row's share of A phi - b as the sums hold it, and of the products, as norms."""
    total = query.total(block_of(point[None], answer[None]), 2.0**-SUM_BITS)
    slope = exact_gradient(query, total, phi)
    products = sum(int(v) ** 2 for v in total)
    return math.sqrt(sum(v * v for v in slope)), math.sqrt(products) * 2.0**-SUM_BITS


def read_attack(query, numbers):
    """A row, an answer, an asked point and phi, all allowed, from any numbers."""
    d, k = query.points.shape[1], query.outputs
    x, z, rest = numbers[:d], numbers[d : 2 * d], numbers[2 * d :]
    answer, phi = np.clip(rest[:k], -1, 1), rest[k:].reshape(query.width, k).copy()
    phi[:d] *= np.minimum(1.0, query.radius / np.maximum(np.linalg.norm(phi[:d], axis=0), 1e-9))
    phi[d:] = np.clip(phi[d:], -query.offset, query.offset)
    ball = [one / max(1.0, np.linalg.norm(one) * (1 + 1e-9)) for one in (x, z)]
    x, z = (np.trunc(one * ONE).astype(np.int32) for one in ball)
    asked = LocalProducts(
        z[None], query.weight, k, query.intercept, radius=query.radius, offset=query.offset
    )
    return asked, x, np.trunc(answer * ONE).astype(np.int32), phi


def attack(query, seed):
    """The steepest row that a search from a clever start finds."""
    generator = np.random.default_rng(seed)
    d, k = query.points.shape[1], query.outputs
    worst = [0.0, 0.0]

    def cost(numbers):
        slope, products = own_share(*read_attack(query, numbers))
        worst[0], worst[1] = max(worst[0], slope), max(worst[1], products)
        return -slope

    for r in (2.0, 1.6, 1.0, 0.37, 0.05):
        axis = generator.normal(size=d)
        axis /= np.linalg.norm(axis)
        # Everything in line: the row away from the point, phi along it, the answer against it.
        phi = np.zeros((query.width, k))
        phi[:d] = query.radius * axis[:, None]
        phi[d:] = query.offset
        start = np.concatenate([axis * r / 2, -axis * r / 2, -np.ones(k), phi.ravel()])
        options = {"maxfev": 120}
        minimize(cost, start, method="Nelder-Mead", options=options)
        cost(start + generator.normal(scale=0.1, size=len(start)))
    return worst


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize(
    ("intercept", "radius", "outputs"), [(False, 1.0, 1), (True, 5.0, 1), (True, 1.0, 2)]
)
def test_no_row_is_steeper_than_the_bound(weight, intercept, radius, outputs):
    asked = np.zeros((1, 2), dtype=np.int32)
    query = LocalProducts(asked, WEIGHTS[weight], outputs, intercept, radius=radius)
    slope, products = attack(query, 0)
    assert 0 < slope <= query.steepness
    assert 0 < products <= query.bound
    # The best distance by the formula: bounds are kept, and not loose by more than 3 %.
    r = np.linspace(1e-6, 2, 400_001)
    u = np.hypot(r, float(intercept))
    offset = query.offset if intercept else 0.0
    a = query.weight.at(r)
    best = (2 * a * (radius * r + offset + 1) * u).max() * math.sqrt(outputs)
    assert best * (1 - 1e-12) <= query.steepness <= 1.03 * best
    best = (2 * a * u * np.sqrt(u**2 + outputs)).max()
    assert best * (1 - 1e-12) <= query.bound <= 1.03 * best


def test_bounds_at_the_stable_weight_are_those_of_the_paper_and_are_approached():
    query = LocalProducts(np.zeros((1, 2), dtype=np.int32), WEIGHTS["stable"], 1, False)
    assert query.steepness == pytest.approx(1.0, rel=2e-3)  # c
    assert query.bound == pytest.approx(0.7797, rel=2e-3)  # 2 a r sqrt(r^2 + 1) at r0
    r0 = (math.sqrt(3) - 1) / 2
    phi, answer = np.array([[1.0], [0.0]]), np.array([-ONE])
    for r in (r0, 1.0, 1.5, 2.0):
        points = [np.trunc([s * r / 2 * ONE, 0]).astype(np.int32) for s in (-1, 1)]
        here = LocalProducts(points[0][None], WEIGHTS["stable"], 1, False)
        slope, products = own_share(here, points[1], answer, phi)
        assert 0.999 <= slope <= here.steepness
        assert products == pytest.approx(math.hypot(1, r) / (1 + r), rel=1e-3)
    slope, products = own_share(here, points[1], answer, -phi)
    assert slope < 0.5


def test_answers_and_points_out_of_range_keep_the_bounds():
    z = np.array([[-ONE, 0]], dtype=np.int32)
    phi = np.array([[1.0], [0.0], [1.0]])
    for weight in WEIGHTS.values():
        query = LocalProducts(z, weight, 1, True)
        for x in ([ONE, 0], [ONE, 1], [ONE + 1, 0], [2**31 - 1, -(2**31)], [-ONE, ONE]):
            for f in (ONE, -ONE, 2**31 - 1, -(2**31)):
                slope, products = own_share(query, np.array(x), np.array([f]), phi)
                assert slope <= query.steepness
                assert products <= query.bound


@pytest.mark.parametrize("relation", NeighbouringRelation)
@pytest.mark.parametrize("rows", [1, 3])
def test_noise_covers_the_rows_of_a_unit_and_both_relations(relation, rows):
    _, query, phi, points, answers = case()
    unit = None if rows == 1 else Unit("who", rows=rows)
    table = table_of(points, answers, unit)
    slopes = PrivateSlopes(table, query)
    sides = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    for access in (slopes.gradient, slopes.steepness):
        found = access(phi, ticket_for(table, Gaussian(1, 2.5), relation))
        assert found.standard_error >= 2.5 * sides * rows * query.steepness
        assert found.standard_error == pytest.approx(2.5 * sides * rows * query.steepness)


def test_a_unit_of_many_rows_can_be_served():
    """Noise on a grid of one row's steepness would be too wide for the sampler."""
    _, query, phi, points, answers = case()
    table = table_of(points, answers, Unit("who", rows=2_000))
    found = PrivateSlopes(table, query).gradient(phi, ticket_for(table, Gaussian(1, 1.9)))
    assert found.standard_error == pytest.approx(1.9 * 2_000 * query.steepness)


# -- refusals, before a ticket is torn -------------------------------------------------------------


def longer(phi, query):
    d = query.points.shape[1]
    result = phi.copy()
    result[:d] *= (query.radius + 1e-3) / np.linalg.norm(result[:d], axis=0)
    return result


def with_value(phi, place, value):
    result = phi.copy()
    result[place] = value
    return result


@pytest.mark.parametrize(
    "spoil",
    [
        longer,
        lambda phi, query: with_value(phi, (-1, 0), 1.001),
        lambda phi, query: with_value(phi, (-1, 1), -1.001),
        lambda phi, query: with_value(phi, (0, 0), math.nan),
        lambda phi, query: with_value(phi, (0, 0), math.inf),
        lambda phi, query: with_value(phi, (-1, 0), math.nan),
        lambda phi, query: with_value(phi, (0, 0), 1e300),
        lambda phi, query: phi[:-1],
        lambda phi, query: phi.T,
        lambda phi, query: phi[:, :1],
        lambda phi, query: phi.ravel(),
        lambda phi, query: phi[None],
        lambda phi, query: np.zeros((0, 2)),
    ],
)
def test_other_phi_are_refused_before_a_ticket_is_torn(spoil, openings):
    table, query, phi, *_ = case()
    bad, slopes = spoil(phi, query), PrivateSlopes(table, query)
    for event, access in (
        (Gaussian(1, 2.0), lambda ticket: slopes.gradient(bad, ticket)),
        (Unprotected(1), lambda ticket: slopes.gradient(bad, ticket)),
        (Gaussian(1, 2.0), lambda ticket: slopes.steepness(bad, ticket)),
        (Pure(1, 1.0), lambda ticket: slopes.flattest([phi, bad], ticket)),
    ):
        grant = grant_for(table, event)
        with pytest.raises(SettingError, match="phi"):
            access(grant.take("look"))
        assert openings == []
        assert grant.openings == {"look": 0}


def test_phi_at_the_border_is_served():
    table, query, phi, *_ = case(radius=5.0)
    d = query.points.shape[1]
    phi[:d] *= 5.0 / np.linalg.norm(phi[:d], axis=0)
    phi[d:] = [[1.0, -1.0]]
    slopes = PrivateSlopes(table, query)
    assert np.isfinite(slopes.gradient(phi, ticket_for(table, Gaussian(1, 1.0))).values).all()


@pytest.mark.parametrize("event", [Pure(1, 1.0), Laplace(1, 1.0), PoissonGaussian(1, 1.0, 0.5)])
def test_gradients_need_gaussian_tickets(event, openings):
    table, query, phi, *_ = case()
    slopes = PrivateSlopes(table, query)
    for access in (slopes.gradient, slopes.steepness):
        with pytest.raises(PlanError, match="needs a Gaussian"):
            access(phi, ticket_for(table, event))
    assert openings == []


@pytest.mark.parametrize("event", [Gaussian(1, 1.0), Laplace(1, 1.0)])
def test_a_choice_needs_a_pure_ticket(event, openings):
    table, query, phi, *_ = case()
    with pytest.raises(PlanError, match="'pure'"):
        PrivateSlopes(table, query).flattest([phi], ticket_for(table, event))
    assert openings == []


def test_each_look_needs_a_ticket_of_its_own(openings):
    table, query, phi, *_ = case()
    slopes = PrivateSlopes(table, query)
    grant = grant_for(table, Gaussian(2, 2.0))
    first = grant.take("look")
    slopes.gradient(phi, first)
    # The sums are at hand now: they must not be given for nothing.
    for access in (slopes.gradient, slopes.steepness):
        with pytest.raises(PlanError, match="used already"):
            access(phi, first)
    slopes.steepness(phi, grant.take("look"))
    with pytest.raises(PlanError, match="announced 2 accesses"):
        grant.take("look")
    choice = ticket_for(table, Pure(1, 1.0))
    slopes.flattest([phi], choice)
    with pytest.raises(PlanError, match="used already"):
        slopes.flattest([phi], choice)
    assert grant.openings == {"look": 2}
    assert openings == ["look"] * 3


def test_a_ticket_of_another_table_is_refused(openings):
    table, query, phi, *_ = case()
    other, *_ = case(1)
    slopes = PrivateSlopes(table, query)
    slopes.gradient(phi, ticket_for(table, Unprotected(1)))
    with pytest.raises(PlanError, match="another table"):
        slopes.gradient(phi, ticket_for(other, Gaussian(1, 2.0)))
    assert openings == ["look"]


def test_a_choice_among_nothing_tears_no_ticket(openings):
    table, query, *_ = case()
    with pytest.raises((SettingError, IndexError)):
        PrivateSlopes(table, query).flattest([], ticket_for(table, Pure(1, 1.0)))
    assert openings == []


def test_queries_without_a_bound_are_refused():
    table, *_ = case()

    class Unbounded(RowCount):
        bounded = False

    for wrong in (Unbounded(), object()):
        with pytest.raises(SettingError, match="bound"):
            PrivateSlopes(table, wrong)


# -- nothing shows ---------------------------------------------------------------------------------


def test_private_sums_do_not_show():
    table, query, phi, *_ = case()
    slopes = PrivateSlopes(table, query)
    slopes.gradient(phi, ticket_for(table, Gaussian(1, 2.0)))
    assert repr(slopes) == str(slopes) == "<PrivateSlopes: sums private>"
    assert set(vars(slopes)) == {"_table", "_query"}
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(VaultError, match="pickled"):
            attempt(slopes)


def test_sums_are_gone_with_their_object():
    from voile.privacy.mechanisms import slopes as module

    table, query, phi, *_ = case()
    slopes = PrivateSlopes(table, query)
    slopes.gradient(phi, ticket_for(table, Gaussian(1, 2.0)))
    before = len(module._SUMS)
    del slopes
    assert len(module._SUMS) == before - 1


# -- many rows -------------------------------------------------------------------------------------


class Copies(LocalProducts):
    """As if every row were there so many times."""

    times = 10_000_000

    def total(self, block, grid):
        return self.times * super().total(block, grid)


def heavy(c, radius, intercept, cls=Copies):
    """The row, the point and the phi for which sums and gradients are as large as can be."""
    z, x = np.array([[-ONE, 0]], dtype=np.int32), np.array([[ONE, 0]], dtype=np.int32)
    query = cls(z, read_weight("stable", c=c), 1, intercept, radius=radius)
    phi = np.array([[radius], [0.0], [1.0]])[: query.width]
    return query, x, np.array([[-ONE]], dtype=np.int32), phi


@pytest.mark.parametrize(
    ("c", "radius", "intercept"),
    [
        (1.0, 1.0, False),
        (1.0, 5.0, True),
        (100.0, 5.0, True),
        (1.0, 50.0, True),
        pytest.param(100.0, 50.0, True),
    ],
)
def test_ten_million_rows_do_not_overflow(c, radius, intercept):
    """A sum that wraps around moves by more than its noise covers."""
    query, x, answers, phi = heavy(c, radius, intercept)
    table = table_of(x, answers)
    slopes = PrivateSlopes(table, query)
    total = [int(v) for v in query.total(block_of(x, answers), 2.0**-SUM_BITS)]
    one = LocalProducts.total(query, block_of(x, answers), 2.0**-SUM_BITS)
    assert total == [query.times * int(v) for v in one]
    exact = exact_gradient(query, np.array(total), phi)
    found = slopes.gradient(phi, ticket_for(table, Unprotected(1)))
    np.testing.assert_allclose(found.values, [float(v) for v in exact], rtol=1e-12)
    length = slopes.steepness(phi, ticket_for(table, Unprotected(1)))
    assert length.values[0] == pytest.approx(math.sqrt(sum(v * v for v in exact)), rel=1e-12)
    assert slopes.flattest([phi, 0 * phi], ticket_for(table, Unprotected(1))) == 1


def test_one_row_more_moves_large_sums_by_its_own_share(monkeypatch):
    """Neighbouring tables of ten million rows lie as far apart as small ones."""
    query, x, answers, phi = heavy(100.0, 5.0, True)
    table, found = table_of(x, answers), []
    for times in (9_999_999, 10_000_000):
        monkeypatch.setattr(Copies, "times", times)
        slopes = PrivateSlopes(table, query)
        found.append(slopes.gradient(phi, ticket_for(table, Unprotected(1))).values / FINEST)
    move = [Fraction(int(b) - int(a), 2**24) for a, b in zip(*found, strict=True)]
    assert sum(v * v for v in move) <= Fraction(query.steepness) ** 2
    assert math.sqrt(sum(v * v for v in move)) > 0.99 * query.steepness


def test_one_row_more_never_wraps_a_gradient_around(monkeypatch):
    """Five million rows, the widest weight and radius: one row more must not move it by 2^32."""
    query, x, answers, phi = heavy(100.0, 50.0, True)
    monkeypatch.setattr(Copies, "times", 1)
    share = exact_gradient(query, query.total(block_of(x, answers), 2.0**-SUM_BITS), phi)[0]
    table, found = table_of(x, answers), []
    for times in (math.floor(2**31 / share), math.floor(2**31 / share) + 1):
        assert 5_000_000 < times < 6_000_000
        monkeypatch.setattr(Copies, "times", times)
        with noise.fixed_noise(0):
            ticket = ticket_for(table, Gaussian(1, 1.0))
            found.append(PrivateSlopes(table, query).gradient(phi, ticket))
    move = np.linalg.norm(found[1].values - found[0].values)
    assert move <= found[0].standard_error  # the noise is the same, its scale the sensitivity


def test_rounding_is_covered_by_the_noise_on_any_grid():
    """Gradients are cut to the grid: neighbours move by a step more, which the scale includes."""
    _, query, phi, points, answers = case()
    for multiplier in (1e-6, 1.0, 1e4, 1e9):
        table = table_of(points, answers)
        with noise.fixed_noise(1):
            found = PrivateSlopes(table, query).gradient(
                phi, ticket_for(table, Gaussian(1, multiplier))
            )
        least = query.steepness + 2 * math.sqrt(phi.size) * found.grid
        assert found.standard_error >= multiplier * least * (1 - 1e-12)
        units = found.values / found.grid
        assert (units == np.round(units)).all()
        assert found.grid >= FINEST


def test_the_slopes_query_is_a_query():
    assert issubclass(LocalProducts, Query)
