"""Weights of rows by distance: under the envelope everywhere, or refused; each from its own row."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.errors import SettingError
from voile.explain.blackbox.solvers.weights import FARTHEST, Weight, envelope, read_weight

CS = [1e-6, 0.05, 0.3, 1.0, 3.0, 12.0, 100.0]
CELLS = 4096
NODES = np.linspace(0, FARTHEST, CELLS + 1)
NAMED = [
    (name, width, c)
    for c in CS
    for name, width in (
        ("stable", None),
        ("exponential", None),
        ("exponential", 1e-3),
        ("gaussian", 0.1),
        ("gaussian", 1e6),
    )
]


# -- the envelope ----------------------------------------------------------------------------------


@pytest.mark.parametrize("c", CS)
def test_the_envelope_is_the_one_of_the_paper(c):
    r0 = (math.sqrt(1 + 2 * c) - 1) / 2
    r = np.array([0.0, r0 * 0.999, r0 * 1.001, 1.0, 2.0])
    expected = [1.0 if one <= r0 else c / (2 * one * (one + 1)) for one in r]
    np.testing.assert_allclose(envelope(r, c), expected, rtol=1e-12)
    # A row at that distance moves the gradient by c, for the worst phi of the unit ball.
    far = np.linspace(r0, 2, 50)
    assert (2 * envelope(far, c) * far * (far + 1) <= c * (1 + 1e-12)).all()


@pytest.mark.parametrize(("name", "width", "c"), NAMED)
def test_tables_are_under_the_envelope_everywhere(name, width, c):
    weight = read_weight(name, width=width, c=c)
    assert weight.values.shape == (CELLS + 1,)
    assert (weight.values <= envelope(NODES, c)).all()
    assert (weight.values >= 0).all()
    # Between its nodes a table is straight and the envelope bends: no further than the higher end.
    r = np.random.default_rng(0).uniform(0, 2, 20_000)
    left = np.floor(r * (CELLS / 2)) * (2 / CELLS)
    found = weight.at(r)
    assert (found <= envelope(left, c)).all()
    assert (found >= 0).all()
    assert (found <= 1).all()
    # Bounds are read off the same table, so they hold of it whatever the envelope says.
    for intercept in (True, False):
        for outputs in (1, 3):
            u = np.sqrt(r**2 + intercept)
            most = weight.product_bound(intercept=intercept, outputs=outputs)
            assert (2 * found * u * np.sqrt(u**2 + outputs)).max() <= most
            assert (2 * found * u**2).max() <= weight.curvature(intercept=intercept)
            for radius, offset in ((1.0, 0.0), (5.0, 1.0)):
                errors = radius * r + (offset if intercept else 0.0) + 1
                bound = weight.slope_bound(
                    radius=radius, offset=offset, intercept=intercept, outputs=outputs
                )
                assert (2 * found * errors * u * math.sqrt(outputs)).max() <= bound


def test_the_gradient_bound_of_the_stable_weight_is_c():
    for c in (0.3, 1.0, 3.0):
        weight = read_weight("stable", c=c)
        bound = weight.slope_bound(radius=1.0, offset=0.0, intercept=False, outputs=1)
        assert c <= bound <= 1.01 * c


def test_named_weights_are_what_they_are_called():
    r = np.array([0.0, 0.1, 0.25])
    for weight, expected in (
        (read_weight("exponential", width=0.5, c=100.0), np.exp(-r / 0.5)),
        (read_weight("gaussian", width=0.5, c=100.0), np.exp(-(r**2) / 0.5)),
        (read_weight("stable", c=100.0), np.ones(3)),
    ):
        np.testing.assert_allclose(weight.at(r), expected, atol=1e-6)
    assert "0.5" in read_weight("gaussian", width=0.5).name
    assert read_weight("stable", c=2.0).c == 2.0


# -- one's own functions ---------------------------------------------------------------------------


def test_an_own_function_under_the_envelope_is_taken_as_it_is():
    weight = read_weight(lambda r: envelope(r, 1.0) / 3)
    np.testing.assert_array_equal(weight.values, envelope(NODES, 1.0) / 3)


def test_an_own_function_is_asked_once_and_cannot_change_its_mind():
    calls = []

    class Fickle:
        def __call__(self, r):
            calls.append(len(r))
            self.given = r
            self.result = envelope(r, 1.0) * (1.0 if len(calls) == 1 else 1e9)
            return self.result

    fickle = Fickle()
    weight = read_weight(fickle)
    before = weight.at(NODES).copy()
    bound = weight.product_bound(intercept=True, outputs=1)
    fickle.result[:] = 1e9
    fickle.given[:] = -1.0
    assert calls == [CELLS + 1]
    np.testing.assert_array_equal(weight.at(NODES), before)
    assert weight.product_bound(intercept=True, outputs=1) == bound
    with pytest.raises(ValueError, match="read-only"):
        weight.values[0] = 5.0


def test_a_function_that_writes_into_the_distances_changes_no_other_table():
    def spiteful(r):
        r[:] = 0.0
        return np.ones_like(r)

    with pytest.raises(SettingError, match="at distance"):
        read_weight(spiteful)
    np.testing.assert_array_equal(read_weight("stable").values, envelope(NODES, 1.0))


def failing(r):
    raise RuntimeError("no weight today")


def one_node(place, value):
    def function(r):
        result = 0.5 * envelope(r, 1.0)
        result[place] = value
        return result

    return function


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda r: np.ones_like(r), "at distance 0.36"),
        (lambda r: envelope(r, 1.0) + 2e-6, "at distance 0"),
        (lambda r: envelope(r, 2.0), "at distance"),
        (one_node(CELLS, 0.1), "at distance 2,"),
        (one_node(3, -0.1), "is -0.1 at distance"),
        (one_node(3, 1.1), "is 1.1 at distance"),
        (one_node(3, math.nan), "finite"),
        (one_node(3, math.inf), "finite"),
        (one_node(3, -math.inf), "finite"),
        (lambda r: 0.1, "shape"),
        (lambda r: np.full(len(r) - 1, 0.01), "shape"),
        (lambda r: np.full((len(r), 1), 0.01), "shape"),
        (lambda r: np.array([]), "shape"),
        (lambda r: None, "shape|failed"),
        (lambda r: ["x"] * len(r), "failed"),
        (lambda: 0.1, "failed"),
        (failing, "RuntimeError: no weight today"),
        (lambda r: 0.1 if r < 1 else 0.0, "failed"),
    ],
)
def test_other_functions_are_refused_in_words(function, words):
    with pytest.raises(SettingError, match=words):
        read_weight(function)


@pytest.mark.parametrize("bad", ["unknown", 3, None, [1.0], b"stable"])
def test_no_weight_at_all_is_refused(bad):
    with pytest.raises(SettingError, match="'weight' must be"):
        read_weight(bad)


@pytest.mark.parametrize("c", [0.0, -1.0, 100.1, math.inf, math.nan])
def test_impossible_envelopes_are_refused(c):
    with pytest.raises(SettingError, match="'c'"):
        read_weight("stable", c=c)


@pytest.mark.parametrize("width", [0.0, -1.0, math.inf, math.nan])
def test_impossible_widths_are_refused(width):
    with pytest.raises(SettingError, match="'width'"):
        read_weight("gaussian", width=width)


@pytest.mark.parametrize("value", [-0.5, math.nan, math.inf, 1e9])
def test_tables_made_by_hand_are_checked(value):
    """Bounds are the largest of a table: a negative weight is not in them, its root no number."""
    values = np.array(read_weight("stable").values)
    values[1000] = value
    with pytest.raises(SettingError):
        read_weight(Weight("made by hand", 1.0, values))


# -- each row from its own distance ----------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.lists(st.floats(0, 2), min_size=1, max_size=40),
    st.sampled_from(["stable", "exponential", "gaussian"]),
    st.sampled_from(CS),
)
def test_a_weight_is_the_same_in_any_company(distances, name, c):
    weight = read_weight(name, c=c)
    together = weight.at(np.array(distances))
    alone = [weight.at(np.array([one]))[0] for one in distances]
    assert together.tolist() == alone
    assert weight.at(np.array(distances[::-1]))[::-1].tolist() == alone
    square = weight.at(np.array([distances, distances]))
    assert square.tolist() == [alone, alone]
    many = np.concatenate([np.linspace(0, 2, 5001), distances])
    assert weight.at(many)[5001:].tolist() == alone


@settings(max_examples=60)
@given(st.floats(0, 2), st.sampled_from(CS))
def test_in_between_weights_are_interpolated(r, c):
    weight = read_weight("stable", c=c)
    cell = min(int(Fraction(r) * CELLS / 2), CELLS - 1)
    ends = [float(weight.values[cell]), float(weight.values[cell + 1])]
    found = float(weight.at(np.array([r]))[0])
    assert min(ends) * (1 - 1e-12) <= found <= max(ends) * (1 + 1e-12)


def test_distances_beyond_the_ball_have_the_last_weight():
    weight = read_weight("stable")
    assert weight.at(np.array([2.0, 2.0 + 1e-12, 5.0, 1e300])).tolist() == [weight.values[-1]] * 4
    assert weight.at(np.array([-1.0])).tolist() == [weight.values[0]]
