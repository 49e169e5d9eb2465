"""Gaussian differential privacy (mu-GDP) in closed form.

Dong, Roth, Su, "Gaussian differential privacy", JRSS-B 2022. mu-GDP means: telling two neighbouring
tables apart is no easier than telling N(0, 1) from N(mu, 1). A Gaussian release with noise
multiplier z is exactly (1/z)-GDP, and releases compose as mu^2 = mu_1^2 + mu_2^2 + ...
Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, ndtri

_LARGEST_MU = 1e4
"""Beyond it nothing is protected (epsilon above 5e7), and the formulas run out of numbers."""


def delta_of(mu: float, epsilon: ArrayLike) -> NDArray[np.float64]:
    """Exact delta(epsilon) of a mu-GDP mechanism (Dong, Roth & Su, Corollary 2.13).

    Parameters
    ----------
    mu : float
        GDP parameter, >= 0.
    epsilon : array-like
        Privacy losses, >= 0.

    Returns
    -------
    ndarray
        Smallest delta for each epsilon, same shape.
    """
    eps = np.asarray(epsilon, dtype=np.float64)
    if mu <= 0:
        return np.zeros_like(eps)
    # In logarithms: both terms may underflow while their difference matters.
    first = log_ndtr(-eps / mu + mu / 2)
    second = eps + log_ndtr(-eps / mu - mu / 2)
    return np.asarray(np.exp(first) * -np.expm1(np.minimum(second - first, 0.0)))


def epsilon_of(mu: float, delta: float) -> float:
    """Smallest epsilon with delta(epsilon) <= delta for a mu-GDP mechanism."""
    if mu <= 0:
        return 0.0
    if delta <= 0:
        return math.inf
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(2 / delta)) + 1
    if mu > _LARGEST_MU:
        return high
    if float(delta_of(mu, 0.0)) <= delta:
        return 0.0
    return float(
        brentq(lambda eps: float(delta_of(mu, eps)) - delta, 0.0, high, xtol=1e-14, rtol=1e-13)
    )


def mu_of(epsilon: float, delta: float) -> float:
    """Largest mu for which mu-GDP implies (epsilon, delta)-DP.

    The same number is the analytic Gaussian mechanism of Balle & Wang (ICML 2018): noise of scale
    sensitivity / mu. Rounded down by 1e-12, so that the answer never guarantees too much.
    """
    if math.isinf(epsilon):
        return math.inf
    if delta <= 0:
        return 0.0
    if epsilon > _LARGEST_MU**2:
        return _LARGEST_MU

    def excess(log_mu: float) -> float:
        value = float(delta_of(math.exp(log_mu), epsilon))
        return (math.log(value) if value > 0 else -1e4) - math.log(delta)

    low, high = math.log(1e-12), math.log(_LARGEST_MU)
    if excess(high) <= 0:
        return _LARGEST_MU
    if excess(low) >= 0:
        return 0.0
    root = float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    return math.exp(root) * (1 - 1e-12)


def mu_of_pure(epsilon: float) -> float:
    """Smallest mu for which every epsilon-DP mechanism is mu-GDP.

    The trade-off curve of epsilon-DP is piecewise linear with one inner corner at
    1 / (1 + e^epsilon) on both axes, so only that corner must lie above the Gaussian curve.
    """
    return float(-2 * ndtri(expit(-epsilon)))
