"""The centre of attention of a few points, and a smooth bound on how far one point can move it.

Nissim, Raskhodnikova & Smith 2007 ("Smooth sensitivity and sampling in private data analysis"),
with three changes that the proof needs or allows. Radii are measured around the points, as a
computer can, and the bound takes the (k + 2)-th smallest of them instead of the smallest, which
would not be smooth: the point that has it may be the one that moves. Noise is calibrated by the
exact laws of shifted and of stretched Gaussians instead of their lemma's constants. Points are
whole numbers, so distances, and the noise added to the centre, are exact.
Proof: docs/proofs/aggregate.md. Nothing here opens the vault or draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2

from voile.errors import SettingError
from voile.privacy.gaussian_dp import mu_of

UNIT_BITS = 24
"""The diameter of the box is at most 2**24 steps of the grid: squares are exact in 64 bits."""

LEAST_SCALE = 16.0
"""Least noise scale in steps of the grid; a public floor, far below any useful noise."""

_LARGEST_SCALE = 2.0**40
_LEAST_BETA, _LARGEST_BETA = 1e-9, 50.0
_LEAST_DELTA, _LARGEST_EPSILON = 1e-280, 500.0

_ROUNDING = 1e-12
"""More than the relative error of a few products, roots and exponentials in double precision."""


@dataclass(frozen=True)
class SmoothNoise:
    """How a smooth bound S becomes noise: Gaussian of scale S / alpha, if S is beta-smooth.

    Attributes
    ----------
    alpha : float
        Largest distance of two centres, in noise scales.
    beta : float
        Largest logarithm of the ratio of two noise scales.
    """

    alpha: float
    beta: float


@lru_cache(maxsize=256)
def smooth_noise(epsilon: float, delta: float, size: int) -> SmoothNoise:
    """Find alpha and beta for which noise in ``size`` dimensions is (epsilon, delta)-DP.

    Half of epsilon and delta / 2 go to the shift of the centre, half of epsilon and
    delta / (2 e^(epsilon / 2)) to the stretching of the noise.
    """
    half = epsilon / 2
    target = delta / 2 * math.exp(-half)
    if epsilon > _LARGEST_EPSILON or target < _LEAST_DELTA:
        raise SettingError(
            f"An (epsilon, delta) of ({epsilon:g}, {delta:g}) is beyond what smooth noise can be "
            f"calibrated for: give it a larger delta, or an epsilon <= {_LARGEST_EPSILON:g}."
        )
    alpha = mu_of(half, delta / 2)

    def excess(log_beta: float) -> float:
        needed = stretch_delta(math.exp(log_beta), half, size)
        return math.log(max(needed, _LEAST_DELTA / 2)) - math.log(target)

    low, high = math.log(_LEAST_BETA), math.log(min(max(half, 1.0), _LARGEST_BETA))
    if excess(low) > 0 or alpha <= 0:
        raise SettingError(
            f"An (epsilon, delta) of ({epsilon:g}, {delta:g}) is too small for smooth noise in "
            f"{size} dimensions: give the access a larger share of the budget."
        )
    root = high if excess(high) <= 0 else float(brentq(excess, low, high, xtol=1e-12))
    # A root is where the excess is zero up to the tolerance: step to the safe side.
    return SmoothNoise(alpha, math.exp(root) * (1 - 1e-6))


def stretch_delta(beta: float, epsilon: float, size: int) -> float:
    """Exact delta(epsilon) of two Gaussians around one point, one e^beta times as wide.

    The privacy loss depends on the length of a draw alone, which has a chi-squared law. The larger
    of the two directions.
    """
    # The wider law first: large lengths speak for it.
    far = 2 * (epsilon + size * beta) / math.expm1(2 * beta)
    wide = chi2.sf(far, size) - math.exp(epsilon) * chi2.sf(far * math.exp(2 * beta), size)
    # The narrower law first: small lengths speak for it, by no more than size * beta.
    near = 2 * (size * beta - epsilon) / -math.expm1(-2 * beta)
    narrow = 0.0
    if near > 0:
        narrow = chi2.cdf(near, size) - math.exp(epsilon) * chi2.cdf(
            near * math.exp(-2 * beta), size
        )
    return float(max(wide, narrow, 0.0))


def majority(groups: int) -> int:
    """How many points make a centre: two such sets share a point that has not moved."""
    return (groups + 1) // 2 + 1


def least_share(noise: SmoothNoise, groups: int) -> float:
    """Least noise scale that any points can lead to, as a share of the diameter of the box."""
    return math.exp(-noise.beta * (groups - majority(groups))) / noise.alpha


def attention_groups(size: int, epsilon: float, delta: float) -> int:
    """Least number of groups for which `center_of_attention` does not refuse.

    From public facts alone: with fewer, the noise would be wider than the box whatever the rows.
    It is a least number, not an advice: outputs that scatter need more.
    """
    noise = smooth_noise(float(epsilon), float(delta), size)
    groups = max(2 * (math.ceil(max(-math.log(noise.alpha), 0.0) / noise.beta) + 1), 4)
    while groups > 3 and least_share(noise, groups - 1) <= 1:
        groups -= 1
    while least_share(noise, groups) > 1:
        groups += 1
    return groups


@dataclass(frozen=True, eq=False)
class UnitBox:
    """A public box in whole steps of a grid: points are integers in [0, steps].

    Attributes
    ----------
    lower, upper : ndarray of shape (size,)
        The box in the units of the data.
    grid : float
        A power of two.
    steps : ndarray of shape (size,)
        Side lengths.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    grid: float
    steps: NDArray[np.int64]

    @classmethod
    def of(cls, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> UnitBox:
        """Choose the grid: the diameter has between about 2**23 and 2**24 steps."""
        with np.errstate(over="ignore"):
            sides = upper - lower
            diameter = math.hypot(*sides.tolist())
        if not (np.all(sides > 0) and 1e-140 <= diameter <= 1e140):
            raise SettingError(
                "The box must have lower < upper in every dimension and a diameter between 1e-140 "
                "and 1e140: give the range of what is learned."
            )
        # One step less than 2**24 leaves room for the rounding of the diameter.
        grid = math.ldexp(1.0, math.frexp(diameter * (1 + 1e-9))[1] - UNIT_BITS)
        return cls(lower, upper, grid, np.floor(sides / grid).astype(np.int64))

    @property
    def diameter(self) -> float:
        """Diameter in steps; no two points lie further apart."""
        return math.sqrt(int((self.steps**2).sum()))

    @property
    def middle(self) -> NDArray[np.int64]:
        """The point that stands for what could not be learned."""
        return self.steps // 2

    def point(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The grid point at or below a vector that was clipped to the box."""
        inside = np.clip(values, self.lower, self.upper)
        units = np.floor((inside - self.lower) / self.grid)
        return np.clip(units, 0, self.steps).astype(np.int64)

    def place(self, units: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of a released grid point, moved into the box."""
        return np.clip(self.lower + units * self.grid, self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Attention:
    """The centre of attention of points, and the radii that bound its movement.

    Attributes
    ----------
    centre : ndarray of shape (size,)
        The point whose ball of a majority of points is smallest; the first of several.
    moves : ndarray of shape (groups - majority(groups),)
        Entry k bounds how far one more change can move the centre after any k changes of points.
    """

    centre: NDArray[np.int64]
    moves: NDArray[np.float64]


def attend(points: NDArray[np.int64]) -> Attention:
    """Find the centre of attention of integer points, shape (groups, size), at least three."""
    groups = len(points)
    # Squares of distances, exact: coordinates are below 2**24 and so is the diameter.
    squares = np.stack([((points - point) ** 2).sum(axis=1) for point in points])
    squares.sort(axis=1)
    most = majority(groups)
    centre = points[int(np.argmin(squares[:, most - 1]))]
    # radii[j, t]: the (j + 1)-th smallest among the points' distances to their (t + 1)-th nearest.
    radii = np.sqrt(np.sort(squares, axis=0).astype(np.float64))
    k = np.arange(groups - most)
    return Attention(centre, radii[k, most + k - 1] + radii[k + 1, most + k])


def smooth_bound(moves: NDArray[np.float64], diameter: float, beta: float) -> float:
    """The smooth bound S: the largest of the moves after k changes, each times e^(-beta k).

    Beyond the last entry the diameter bounds every move.
    """
    after = np.append(np.minimum(moves, diameter), diameter)
    return float(np.max(after * np.exp(-beta * np.arange(len(after)))))


def noise_scale(attention: Attention, box: UnitBox, noise: SmoothNoise) -> float:
    """Noise scale of a centre, in steps of the grid; private, as it depends on the points."""
    # Less smoothing and more noise than real numbers would need: covers rounding.
    bound = smooth_bound(attention.moves, box.diameter, noise.beta - 4 * _ROUNDING)
    return max(bound * (1 + _ROUNDING) / noise.alpha, LEAST_SCALE)


def check_noise(
    noise: SmoothNoise, box: UnitBox, groups: int, epsilon: float, delta: float
) -> None:
    """Refuse, on public facts alone, noise that would be wider than the box whatever the rows."""
    size = len(box.steps)
    if box.diameter * 2 / noise.alpha >= _LARGEST_SCALE:
        raise SettingError(
            f"The 'epsilon' {epsilon:g} is too small for smooth noise: give the access more."
        )
    share = least_share(noise, groups)
    if share > 1:
        raise SettingError(
            f"With {groups} groups in {size} dimensions at epsilon {epsilon:g}, delta {delta:g} "
            f"the noise would be at least {share:.3g} times as wide as the box, whatever the rows: "
            f"use at least {attention_groups(size, epsilon, delta)} groups, fewer dimensions, a "
            "larger epsilon, or aggregate_mean."
        )
