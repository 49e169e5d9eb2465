"""From counts of alarms to a lower bound on epsilon that holds with a stated confidence.

Each bound turns a guarantee around: if (epsilon, delta) were true, so many right alarms would come
about less often than 1 - confidence; so a larger epsilon is. Proofs: docs/proofs/audit.md.

- `epsilon_by_rates`: two worlds, the ends of two exact (Clopper & Pearson 1934) intervals.
- `epsilon_by_guesses`: the world of every run decided by a coin, silence allowed; one interval
  instead of two, and both kinds of guesses count. Tighter.
- `mu_by_rates`: for Gaussian mechanisms (Dong, Roth & Su 2022), whose whole curve is known.
- `epsilon_in_one_run`: many canaries, each in or out by a coin, one training (Steinke, Nasr &
  Jagielski 2023).

Why own code: jax_privacy bounds epsilon from scores of canaries, too, but brings JAX with it; each
bound here is a dozen lines over scipy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import beta, binom, norm

from voile.errors import SettingError

LARGEST_EPSILON = 64.0
"""No bound is sought above: no number of runs shows more."""

_SHARE_FOR_DELTA = 0.1
"""Share of the risk spent on how many runs the guarantee gives up (its delta)."""


def interval(hits: int, runs: int, risk: float) -> tuple[float, float]:
    """Exact ends of a rate: each is wrong with a probability of at most ``risk``.

    Examples
    --------
    >>> low, high = interval(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    low = 0.0 if hits == 0 else float(beta.ppf(risk, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(beta.ppf(1.0 - risk, hits + 1, runs - hits))
    return low, high


def epsilon_by_rates(
    false_alarms: int,
    right_alarms: int,
    runs_without: int,
    runs_with: int | None = None,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
) -> float:
    """The smallest epsilon that alarms in two worlds leave possible.

    Under (epsilon, delta), right alarms come at a rate of at most e^epsilon x that of false ones +
    delta, and so do right and false silence, and both with the worlds exchanged. Rates are
    replaced by the ends of their intervals, which hold together with the given confidence.

    Parameters
    ----------
    false_alarms, right_alarms : int
        Alarms without and with the canary.
    runs_without, runs_with : int
        Runs in either world; the same number if the second is left out.
    delta : float
    confidence : float

    Returns
    -------
    float
        At least 0.

    Examples
    --------
    >>> round(epsilon_by_rates(0, 1000, 1000, confidence=0.99), 2)
    5.11
    >>> epsilon_by_rates(500, 510, 1000)
    0.0
    """
    runs_with = runs_without if runs_with is None else runs_with
    _check(delta, confidence, (false_alarms, runs_without), (right_alarms, runs_with))
    # One row may also make alarms rarer: four ends, a quarter of the risk each.
    risk = (1.0 - confidence) / 4.0
    low_0, high_0 = interval(false_alarms, runs_without, risk)
    low_1, high_1 = interval(right_alarms, runs_with, risk)
    ratios = (
        (low_1 - delta) / high_0,
        (1.0 - high_0 - delta) / (1.0 - low_1),
        (low_0 - delta) / high_1,
        (1.0 - high_1 - delta) / (1.0 - low_0),
    )
    return max([0.0, *(math.log(one) for one in ratios if one > 0.0)])


def epsilon_by_guesses(
    right: int, guesses: int, runs: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """The smallest epsilon that right guesses leave possible, where coins chose the worlds.

    Under (epsilon, 0) a guess is right with a probability of at most e^eps / (1 + e^eps), whatever
    was released and whenever the attacker prefers to be silent. Under (epsilon, delta) all but a
    binomial number of the runs behave so (Kairouz, Oh & Viswanath 2015); as many right guesses as
    that number can plausibly be are given up.

    Parameters
    ----------
    right, guesses : int
        Right guesses among those ventured.
    runs : int
        All runs in which a guess could have been ventured, each in a world by a fair coin.
    delta : float
    confidence : float

    Returns
    -------
    float
        At least 0.

    Examples
    --------
    >>> round(epsilon_by_guesses(1000, 1000, 1000), 2)
    5.81
    >>> epsilon_by_guesses(500, 1000, 1000)
    0.0
    """
    _check(delta, confidence, (right, guesses), (guesses, runs))
    risk = 1.0 - confidence
    given_up = 0
    if delta > 0.0:
        given_up = int(binom.isf(_SHARE_FOR_DELTA * risk, runs, delta))
        risk *= 1.0 - _SHARE_FOR_DELTA
    right, guesses = max(right - given_up, 0), max(guesses - given_up, 0)
    if guesses == 0:
        return 0.0
    share, _ = interval(right, guesses, risk)
    return max(0.0, math.log(share / (1.0 - share))) if share > 0.0 else 0.0


def mu_by_rates(
    false_alarms: int,
    right_alarms: int,
    runs_without: int,
    runs_with: int | None = None,
    *,
    confidence: float = 0.95,
) -> float:
    """The smallest mu that alarms in two worlds leave possible for a mu-GDP mechanism.

    Under mu-GDP, Phi^-1(right rate) - Phi^-1(false rate) <= mu for every test.

    Parameters
    ----------
    false_alarms, right_alarms : int
        Alarms without and with the canary.
    runs_without, runs_with : int
        Runs in either world; the same number if the second is left out.
    confidence : float

    Returns
    -------
    float
        At least 0.
    """
    runs_with = runs_without if runs_with is None else runs_with
    _check(0.0, confidence, (false_alarms, runs_without), (right_alarms, runs_with))
    risk = (1.0 - confidence) / 4.0
    low_0, high_0 = interval(false_alarms, runs_without, risk)
    low_1, high_1 = interval(right_alarms, runs_with, risk)
    gains = (norm.ppf(low_1) - norm.ppf(high_0), norm.ppf(low_0) - norm.ppf(high_1))
    return max([0.0, *(float(one) for one in gains if math.isfinite(one))])


def epsilon_in_one_run(
    right: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """The smallest epsilon that right guesses about many canaries of one training leave possible.

    Steinke, Nasr & Jagielski 2023, main theorem (Section 5): the number of right guesses is
    stochastically bounded by a binomial one, whatever the training does with the canaries together;
    delta counts for every canary.

    Parameters
    ----------
    right, guesses : int
        Right guesses among those ventured.
    canaries : int
        All canaries, each in or out by a fair coin of its own.
    delta : float
    confidence : float

    Returns
    -------
    float
        At least 0. Small unless hundreds of guesses are ventured.
    """
    _check(delta, confidence, (right, guesses), (guesses, canaries))
    risk = 1.0 - confidence
    if right == 0 or _one_run_chance(0.0, right, guesses, canaries, delta) >= risk:
        return 0.0
    if _one_run_chance(LARGEST_EPSILON, right, guesses, canaries, delta) < risk:
        return LARGEST_EPSILON
    return _root(lambda eps: _one_run_chance(eps, right, guesses, canaries, delta) - risk)


def _one_run_chance(epsilon: float, right: int, guesses: int, canaries: int, delta: float) -> float:
    """Largest chance of so many right guesses under (epsilon, delta)."""
    rate = float(expit(epsilon))
    failure = float(binom.sf(right - 1, guesses, rate))
    if delta > 0.0:
        # Delta may be used to lift just below `right` to it: the cheapest way, per guess lifted.
        lifted = np.arange(1, right + 1)
        just_below = np.cumsum(binom.pmf(right - lifted, guesses, rate))
        failure += 2.0 * canaries * delta * float(np.max(just_below / lifted))
    return min(failure, 1.0)


def _root(excess: Callable[[float], float]) -> float:
    return float(brentq(excess, 0.0, LARGEST_EPSILON, xtol=1e-9))


def _check(delta: float, confidence: float, *counts: tuple[int, int]) -> None:
    if not all(0 <= hits <= of for hits, of in counts) or any(of < 0 for _, of in counts):
        raise SettingError(
            "Counts must not be negative, and there cannot be more alarms than runs, nor more "
            "right guesses than guesses."
        )
    if counts[-1][1] < 1 or counts[0][1] < 0:
        raise SettingError("There must be at least one run in either world.")
    if not (0.0 < confidence < 1.0 and 0.0 <= delta <= 1.0):
        raise SettingError("A confidence lies between 0 and 1, and so does delta.")
