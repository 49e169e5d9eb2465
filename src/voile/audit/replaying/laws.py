"""How far two laws of one release lie apart: exact, in closed form, without a single draw.

Nothing here is shared with the code that calibrates noise, so that a mistake there is not repeated.
Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import ncx2

from voile.privacy.tape import Choice

Floats = NDArray[np.float64]

_LARGEST_EPSILON = 1e4


def apart(first: NDArray[np.int64], second: NDArray[np.int64], kind: str) -> float:
    """Distance of two totals in steps of the grid: L2 under Gaussian noise, L1 under Laplace.

    The difference is taken in whole numbers of 64 bits, in which sums wrap around harmlessly.
    """
    with np.errstate(all="ignore"):  # totals of others may be infinite: nothing is near them
        gap = (first - second).astype(np.float64)
        return float(np.abs(gap).sum() if kind == "laplace" else np.linalg.norm(gap))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Smallest delta of two Gaussians that lie ``mu`` standard deviations apart."""
    if mu <= 0:
        return 0.0
    at = epsilon / mu
    # Phi(-at + mu/2) - e^epsilon Phi(-at - mu/2), by logarithms: no overflow.
    first, second = float(log_ndtr(mu / 2 - at)), epsilon + float(log_ndtr(-mu / 2 - at))
    if second >= first:
        return 0.0
    return math.exp(first) * -math.expm1(second - first)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon at ``delta`` of two Gaussians that lie ``mu`` standard deviations apart."""
    if mu <= 0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    if gaussian_delta(mu, _LARGEST_EPSILON) > delta:
        return math.inf
    return float(brentq(lambda e: gaussian_delta(mu, e) - delta, 0.0, _LARGEST_EPSILON, xtol=1e-12))


def stretched_delta(
    gap: float, scale: float, other_scale: float, size: int, epsilon: float
) -> float:
    """Delta(epsilon) of N(c, s^2 I) against N(c', s'^2 I) with |c - c'| = gap, in one direction.

    The privacy loss is a quadratic function of the draw, so the set where it exceeds epsilon is a
    ball or the outside of one, whose probabilities are those of noncentral chi-squared laws.
    """
    s, t = scale, other_scale
    if math.isclose(s, t, rel_tol=1e-13):
        return gaussian_delta(gap / s, epsilon)
    # loss(x) = size ln(t/s) + |x - c'|^2 / 2t^2 - |x - c|^2 / 2s^2; with u = x - c, v = c' - c:
    # a |u|^2 - <u, v> / t^2 + |v|^2 / 2t^2 + size ln(t/s) > epsilon, a = 1/2t^2 - 1/2s^2.
    a = 1 / (2 * t * t) - 1 / (2 * s * s)
    shift = 1 / (2 * a * t * t)  # the ball's centre is c + shift v
    level = epsilon - size * math.log(t / s) - gap**2 / (2 * t * t)
    square = level / a + (shift * gap) ** 2
    if square <= 0:
        return -math.expm1(epsilon) if a > 0 and epsilon < 0 else 0.0
    far, near = abs(shift) * gap, abs(shift - 1) * gap
    tail = ncx2.sf if a > 0 else ncx2.cdf
    own = float(tail(square / s**2, size, (far / s) ** 2))
    other = float(tail(square / t**2, size, (near / t) ** 2))
    return max(own - math.exp(epsilon) * other, 0.0)


def choice_law(choice: Choice) -> Floats:
    """Logarithm of the probability of each candidate; of shape (candidates,).

    Permute-and-flip: q_i times the integral of the product of (1 - t q_j) over all others, as each
    of them stands before i with probability t and would then be taken with probability q_j. The
    product is a polynomial in t, which Gauss and Legendre integrate exactly.
    """
    assert choice.exponents is not None
    minus = -np.array(choice.exponents)
    if not choice.each_once:
        top = minus.max()
        return np.asarray(minus - top - math.log(math.fsum(np.exp(minus - top))))
    nodes, weights = np.polynomial.legendre.leggauss(len(minus) // 2 + 2)
    places, weights = (nodes + 1) / 2, weights / 2
    factors = np.log1p(-np.outer(places, np.exp(minus)))
    products = np.exp(factors.sum(axis=1)[:, None] - factors)
    return np.asarray(minus + np.log(weights @ products))
