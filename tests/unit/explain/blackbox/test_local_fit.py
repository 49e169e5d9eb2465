"""The best local model in the ball: exact for any matrix, with honest standard errors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from voile.explain.blackbox.solvers.local_fit import fit_local
from voile.explain.blackbox.solvers.release import answer_of


def symmetric(generator, size, kind):
    drawn = generator.normal(size=(size, size))
    if kind == "positive":
        return drawn @ drawn.T + 0.1 * np.eye(size)
    if kind == "singular":
        thin = drawn[:, : max(size - 2, 1)]
        return thin @ thin.T
    return (drawn + drawn.T) / 2


def loss(matrix, vector, phi):
    return 0.5 * phi @ matrix @ phi - vector @ phi


def by_slsqp(matrix, vector, radius, intercept):
    """The smallest loss that a general solver finds, from several starts."""
    size = len(vector)
    d = size - int(intercept)
    ball = {
        "type": "ineq",
        "fun": lambda phi: radius**2 - phi[:d] @ phi[:d],
        "jac": lambda phi: np.concatenate([-2 * phi[:d], np.zeros(size - d)]),
    }
    found = [
        minimize(
            lambda phi: loss(matrix, vector, phi),
            start,
            jac=lambda phi: matrix @ phi - vector,
            method="SLSQP",
            constraints=[ball],
            options={"maxiter": 500, "ftol": 1e-14},
        )
        for start in (np.zeros(size), np.full(size, radius / 2 / math.sqrt(size)))
    ]
    return min(one.fun for one in found)


@settings(max_examples=80)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.sampled_from(["positive", "singular"]),
    st.sampled_from([0.05, 1.0, 5.0, 1000.0]),
    st.booleans(),
)
def test_the_solution_is_the_best_in_the_ball(seed, size, kind, radius, intercept):
    generator = np.random.default_rng(seed)
    width = size + int(intercept)
    matrix = symmetric(generator, width, kind)
    if intercept:
        matrix[-1, -1] += 1.0  # a mass of rows; the rest stays positive
    # In the range of A, so that a smallest loss exists however large the ball is.
    vectors = matrix @ generator.normal(size=(width, 2))
    fit = fit_local(matrix, vectors, radius=radius, intercept=intercept)
    assert (np.linalg.norm(fit.phi, axis=0) <= radius * (1 + 1e-9)).all()
    for k in range(2):
        phi = np.append(fit.phi[:, k], fit.offset[k]) if intercept else fit.phi[:, k]
        best = by_slsqp(matrix, vectors[:, k], radius, intercept)
        mine = loss(matrix, vectors[:, k], phi)
        assert mine <= best + 1e-6 * max(1.0, abs(best))


@settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from(["positive", "singular", "indefinite"]),
    st.sampled_from([0.01, 1.0, 30.0]),
    st.sampled_from([0.0, 0.5]),
)
def test_the_solution_meets_the_conditions_of_an_optimum(seed, size, kind, radius, ridge):
    """Where A is positive: (A + ridge + m) phi = b with m >= 0, and m = 0 inside the ball."""
    generator = np.random.default_rng(seed)
    matrix, vector = symmetric(generator, size, kind), generator.normal(size=(size, 1))
    fit = fit_local(matrix, vector, radius=radius, intercept=False, ridge=ridge)
    phi = fit.phi[:, 0]
    length = float(np.linalg.norm(phi))
    values, axes = np.linalg.eigh(matrix)
    clear = axes[:, values > 1e-9 * max(values[-1], 1e-300)]
    np.testing.assert_allclose(clear @ (clear.T @ phi), phi, atol=1e-8 * max(length, 1))
    assert length <= radius * (1 + 1e-9)
    rest = clear.T @ (vector[:, 0] - matrix @ phi - ridge * phi)
    if length < radius * (1 - 1e-6):
        np.testing.assert_allclose(rest, 0.0, atol=1e-6)
    elif length > 0:
        multiplier = rest @ (clear.T @ phi) / length**2
        assert multiplier >= -1e-7
        scale = max(1.0, float(np.abs(rest).max()))
        np.testing.assert_allclose(rest, multiplier * (clear.T @ phi), atol=1e-6 * scale)


def test_two_dimensions_by_trying_every_place():
    generator = np.random.default_rng(5)
    angles, radii = np.meshgrid(np.linspace(0, 2 * math.pi, 2001), np.linspace(0, 1, 401))
    ball = np.stack([radii * np.cos(angles), radii * np.sin(angles)]).reshape(2, -1)
    for _ in range(20):
        matrix = symmetric(generator, 2, "positive")
        vector = 3 * generator.normal(size=(2, 1))
        fit = fit_local(matrix, vector, radius=1.0, intercept=False)
        tried = 0.5 * (ball * (matrix @ ball)).sum(axis=0) - vector[:, 0] @ ball
        mine = loss(matrix, vector[:, 0], fit.phi[:, 0])
        assert mine <= tried.min() + 1e-12
        assert mine == pytest.approx(tried.min(), abs=1e-4 * np.abs(matrix).max())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["zero", "negative", "tiny", "huge", "one direction"])
def test_whatever_noise_made_of_the_matrix_there_is_an_answer_in_the_ball(kind, intercept):
    for seed in range(20):
        generator = np.random.default_rng(seed)
        matrix = {
            "zero": np.zeros((3, 3)),
            "negative": -symmetric(generator, 3, "positive"),
            "tiny": 1e-12 * symmetric(generator, 3, "positive"),
            "huge": 1e12 * symmetric(generator, 3, "indefinite"),
            "one direction": np.diag([1.0, -5.0, -3.0]),
        }[kind]
        vectors = generator.normal(size=(3, 2))
        fit = fit_local(matrix, vectors, radius=0.3, intercept=intercept, ridge=1e-6)
        assert np.isfinite(fit.phi).all()
        assert np.isfinite(fit.offset).all()
        assert np.isfinite(fit.moves).all()
        assert (np.linalg.norm(fit.phi, axis=0) <= 0.3 * (1 + 1e-9)).all()


def test_a_matrix_far_smaller_than_its_vector_has_an_answer():
    """Where its bracket ends, the solution is as long as the radius, but for rounding."""
    for seed in range(100):
        generator = np.random.default_rng(seed)
        vector, radius = generator.normal(size=(2, 1)), float(generator.uniform(0.1, 5))
        fit = fit_local(1e-20 * np.eye(2), vector, radius=radius, intercept=False)
        np.testing.assert_allclose(fit.phi, radius * vector / np.linalg.norm(vector), rtol=1e-9)


@pytest.mark.parametrize("mass", [-0.1, 0.0, 1e-9])
def test_an_offset_without_rows_is_no_astronomical_number(mass):
    matrix = np.array([[1.0, 0.3], [0.3, mass]])
    fit = fit_local(matrix, np.array([[0.2], [0.5]]), radius=1.0, intercept=True, ridge=0.1)
    assert np.abs(fit.offset).max() <= 100


def test_outputs_are_solved_apart():
    generator = np.random.default_rng(1)
    matrix, vectors = symmetric(generator, 4, "positive"), generator.normal(size=(4, 3))
    for intercept in (True, False):
        fit = fit_local(matrix, vectors, radius=0.2, intercept=intercept)
        for k in range(3):
            alone = fit_local(matrix, vectors[:, k : k + 1], radius=0.2, intercept=intercept)
            np.testing.assert_allclose(fit.phi[:, k], alone.phi[:, 0], atol=1e-12)
            np.testing.assert_allclose(fit.offset[k], alone.offset[0], atol=1e-12)


# -- standard errors -------------------------------------------------------------------------------

DRAWS = 4_000
"""Their standard deviation is off by 7 % (six of its own deviations) at most; the seed is fixed."""


def noised(generator, matrix, vectors, error):
    """As a release gives them: noise on every entry, pairs of A averaged."""
    a = matrix + error * generator.normal(size=matrix.shape)
    return (a + a.T) / 2, vectors + error * generator.normal(size=vectors.shape)


def spread_and_statement(phi, *, offset=None, radius=1000.0, error=1e-4, scale=1.0):
    """Real spread of repeated answers, and what one answer says of it."""
    generator = np.random.default_rng(0)
    d, intercept = len(phi), offset is not None
    unknowns = np.append(phi, offset) if intercept else np.array(phi)
    width = len(unknowns)
    matrix = np.diag(np.linspace(1.0, 2.0, width)) + 0.1
    vectors = (matrix @ unknowns)[:, None] * scale
    found = []
    for _ in range(DRAWS):
        a, b = noised(generator, matrix, vectors, error)
        found.append(fit_local(a, b, radius=radius, intercept=intercept).phi[:, 0])
    fit = fit_local(matrix, vectors, radius=radius, intercept=intercept)
    point = np.zeros(d, dtype=np.int32)
    stated = answer_of(point, fit, error, "release", math.inf, math.inf).errors[:, 0]
    return np.std(found, axis=0), stated


def test_standard_errors_without_a_binding_ball():
    spread, stated = spread_and_statement([0.3, -0.4, 0.2, 0.1])
    np.testing.assert_allclose(stated, spread, rtol=0.2)
    spread, stated = spread_and_statement([2.0, -2.0, 2.0, 2.0, -2.0, 2.0])
    np.testing.assert_allclose(stated, spread, rtol=0.2)


def test_standard_errors_grow_with_the_noise():
    for error in (1e-6, 1e-5, 1e-3):
        spread, stated = spread_and_statement([0.5, -0.5, 0.1], error=error)
        np.testing.assert_allclose(stated, spread, rtol=0.2)


def test_standard_errors_with_an_intercept():
    spread, stated = spread_and_statement([0.3, -0.4, 0.2], offset=0.1)
    np.testing.assert_allclose(stated, spread, rtol=0.2)


def test_standard_errors_where_the_ball_binds_are_not_too_small():
    """Along phi the ball holds the answer back; across it they are right."""
    spread, stated = spread_and_statement([3.0, 0.0, 0.0], radius=1.0)
    assert (stated >= 0.8 * spread).all()
    np.testing.assert_allclose(stated[1:], spread[1:], rtol=0.25)


def test_standard_errors_of_one_large_coefficient():
    spread, stated = spread_and_statement([5.0, 0.0, 0.0])
    np.testing.assert_allclose(stated, spread, rtol=0.2)


def test_standard_errors_with_an_intercept_where_rows_lie_to_one_side():
    """Rows on one side of the asked point: their mean distance brings the intercept's noise in."""
    generator = np.random.default_rng(0)
    moved = generator.normal(size=(1000, 2)) * 0.3 + [0.8, 0.0]
    u = np.column_stack([moved, np.ones(1000)])
    matrix, unknowns = 2 * u.T @ u, np.array([0.3, 0.1, 0.9])
    vectors, error = (matrix @ unknowns)[:, None], 1.0
    found = []
    for _ in range(DRAWS):
        a, b = noised(generator, matrix, vectors, error)
        found.append(fit_local(a, b, radius=1000.0, intercept=True).phi[:, 0])
    fit = fit_local(matrix, vectors, radius=1000.0, intercept=True)
    stated = answer_of(np.zeros(2, dtype=np.int32), fit, error, "release", math.inf, math.inf)
    spread = np.std(found, axis=0)
    np.testing.assert_allclose(stated.errors[:, 0], spread, rtol=0.2)
