"""Weight functions: how much a row counts for an explanation, by its distance from the asked one.

Patel, Shokri & Zick 2022, Lemma 3.1: one row moves the gradient of the local loss by at most c, for
every model in the unit ball, if and only if a(r) <= c / (2 r (r + 1)), the *envelope*. Whatever
function is asked for, a table of it is used, cut to the envelope: a bound read off the table holds
for every row, and the weight of a row depends on its own distance alone. Proof:
docs/proofs/explainer.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError

Floats = NDArray[np.float64]

FARTHEST = 2.0
"""Largest distance of two points of the unit ball."""

_CELLS = 4_096
_TOLERANCE = 1e-6

WeightName = Literal["stable", "exponential", "gaussian"]


@dataclass(frozen=True, eq=False)
class Weight:
    """A table of weights over the distances from 0 to 2, under the envelope.

    Parameters
    ----------
    name : str
        In words, for people.
    c : float
        Of the envelope.
    values : ndarray of shape (4097,)
        Weights at equally spaced distances, in [0, 1]; in between they are interpolated.
    """

    name: str
    c: float
    values: Floats

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        # Bounds are read off the table: what is not a weight would not be in them.
        if values.shape != (_CELLS + 1,) or not ((values >= 0.0) & (values <= 1.0)).all():
            raise SettingError(f"A table of weights has {_CELLS + 1} values within [0, 1].")
        if not values.any():
            raise SettingError("A weight of 0 at every distance leaves nothing to explain by.")
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def at(self, distances: Floats) -> Floats:
        """Weights of rows at these distances, each from its own distance alone."""
        places = np.clip(distances * (_CELLS / FARTHEST), 0.0, _CELLS)
        cells = np.minimum(places.astype(np.int64), _CELLS - 1)
        left = self.values[cells]
        return np.asarray(left + (self.values[cells + 1] - left) * (places - cells))

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """The largest weight of each cell of the table, and the largest distance in it."""
        return np.maximum(self.values[:-1], self.values[1:]), _radii()[1:]

    def product_bound(self, *, intercept: bool, outputs: int) -> float:
        """Largest norm of a row's products: 2a uu' (whole matrix) and 2a f u, u = (x - z[, 1])."""
        weights, far = self._steps
        squares = far**2 + (1.0 if intercept else 0.0)
        return float((2.0 * weights * np.sqrt(squares * (squares + outputs))).max())

    def curvature(self, *, intercept: bool) -> float:
        """Largest curvature of the mean local loss in any direction."""
        weights, far = self._steps
        return float((2.0 * weights * (far**2 + (1.0 if intercept else 0.0))).max())

    def slope_bound(self, *, radius: float, offset: float, intercept: bool, outputs: int) -> float:
        """Largest norm of a row's gradient 2a (phi.(x - z) + b - f) u for |phi| <= radius.

        The offset b is at most ``offset`` in size.
        """
        weights, far = self._steps
        squares = far**2 + (1.0 if intercept else 0.0)
        errors = radius * far + (offset if intercept else 0.0) + 1.0
        # The margin is that of the check of phi's length.
        return float((2.0 * weights * errors * np.sqrt(squares * outputs)).max()) * (1.0 + 1e-9)


LOCAL_SHARE = 0.3
"""Effective share of a table that a local model is fitted to at most, if nothing else is said."""

LOCAL_TEXT = "Gaussian, as wide for each row as 30 % of the table allow"
"""The weight that is chosen for each row, in words."""

_NARROWEST, _WIDEST, _HALVINGS = 0.01, 8.0, 24


def gaussian(distances: Floats, width: float) -> Floats:
    """Weights exp(-r^2 / (2 width^2)) of rows at these distances."""
    return np.asarray(np.exp(-0.5 * (distances / width) ** 2))


def choose_width(distances: Floats, weights: Floats, features: int) -> float:
    """The width of a Gaussian around a point that is fitted to `LOCAL_SHARE` of a population.

    Wider if so few rows would not carry a model of so many features. Only for released rows: the
    width depends on them.

    Parameters
    ----------
    distances, weights : ndarray of shape (rows,)
        Of the population's rows; weights sum to 1.
    features : int
    """

    def is_narrow(width: float) -> bool:
        near = gaussian(distances, width)
        mass = max(float(weights @ near), 1e-300)
        share = mass**2 / max(float(weights @ near**2), 1e-300)
        carried = mass**2 / max(float(weights**2 @ near**2), 1e-300)
        return share <= LOCAL_SHARE or carried < 2.0 * features

    low, high = _NARROWEST, _WIDEST
    if is_narrow(high):
        return high
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_narrow(middle) else (low, middle)
    return low


def _radii() -> Floats:
    return np.linspace(0.0, FARTHEST, _CELLS + 1)


def envelope(distances: Floats, c: float) -> Floats:
    """The largest admissible weights: min(1, c / (2 r (r + 1)))."""
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, c / (2.0 * distances * (distances + 1.0)))


def read_weight(
    weight: WeightName | Callable[[Floats], Floats] | Weight,
    *,
    width: float | None = None,
    c: float = 1.0,
) -> Weight:
    """Make the table of a weight function.

    Parameters
    ----------
    weight : {"stable", "exponential", "gaussian"}, callable or Weight
        "stable" is the envelope itself (eq. 5): 1 up to r0 = (sqrt(1 + 2c) - 1) / 2 and
        c / (2 r (r + 1)) beyond. "exponential" is exp(-r / width), "gaussian"
        exp(-r^2 / (2 width^2)), both cut to the envelope. A callable maps distances of shape (k,)
        to weights of shape (k,), all within [0, 1] and under the envelope.
    width : float, optional
        Of the exponential and the Gaussian; a quarter of the largest distance unless given.
    c : float
        Of the envelope: larger is wider, and costs more noise.

    Raises
    ------
    SettingError
        If the function is none, or lies above the envelope somewhere.
    """
    if isinstance(weight, Weight):
        if width is not None or c != 1.0:
            raise SettingError("A table of weights has its width and c already: leave them out.")
        return weight
    if not 0.0 < c <= 100.0:
        raise SettingError(f"The 'c' of a weight must be in (0, 100]. Got {c!r} instead.")
    width = FARTHEST / 4 if width is None else width
    if not 0.0 < width < math.inf:
        raise SettingError(f"The 'width' of a weight must be positive. Got {width!r} instead.")
    radii = _radii()
    if weight == "stable":
        return Weight(f"stable, c = {c:g}", c, envelope(radii, c))
    if weight == "exponential":
        found = np.minimum(np.exp(-radii / width), envelope(radii, c))
        return Weight(f"exponential of width {width:g}, c = {c:g}", c, found)
    if weight == "gaussian":
        found = np.minimum(np.exp(-0.5 * (radii / width) ** 2), envelope(radii, c))
        return Weight(f"Gaussian of width {width:g}, c = {c:g}", c, found)
    if not callable(weight):
        raise SettingError(
            f"The 'weight' must be 'stable', 'exponential', 'gaussian' or a function of distances. "
            f"Got {weight!r} instead."
        )
    return _own(weight, c)


def _own(function: Callable[[Floats], Floats], c: float) -> Weight:
    radii = _radii()
    try:
        found = np.array(function(radii.copy()), dtype=np.float64)
    except Exception as error:
        raise SettingError(
            f"The weight function failed on an array of distances ({type(error).__name__}: "
            f"{error}): it must map distances of shape (k,) to weights of shape (k,)."
        ) from error
    if found.shape != radii.shape or not np.isfinite(found).all():
        raise SettingError(
            "The weight function must map distances of shape (k,) to finite weights of the same "
            f"shape. Got shape {found.shape} for {radii.shape}."
        )
    over = np.flatnonzero((found > envelope(radii, c) + _TOLERANCE) | (found < -_TOLERANCE))
    if over.size:
        r = float(radii[over[0]])
        most = float(envelope(radii[over[:1]], c)[0])
        raise SettingError(
            f"The weight function is {float(found[over[0]]):.4g} at distance {r:.4g}, where it "
            f"must be within [0, {most:.4g}] (the envelope min(1, c / (2 r (r + 1))), c = {c:g}), "
            "or one row could move an explanation too far: take the smaller of the two, or a "
            "larger c."
        )
    found = np.clip(found, 0.0, envelope(radii, c))
    # Told apart from other functions by its values, where answers are stored.
    mark = hashlib.sha256(found.astype("<f8").tobytes()).hexdigest()[:8]
    return Weight(f"own function {mark}, c = {c:g}", c, found)
