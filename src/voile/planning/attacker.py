"""What a guarantee means to somebody who attacks it: how often they are right, and how sure.

The attacker knows every other row, the software and the result, and wants to know whether one
person is in the table. Proofs: docs/proofs/attacker.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri

from voile.codec import Order, Writable
from voile.errors import SettingError
from voile.models.setting_checks import is_number
from voile.privacy.budget import Budget
from voile.privacy.gaussian_dp import mu_of

Floats = NDArray[np.float64]

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
"""Rates of false alarms for which a record tells how often a person is found."""

CONFIDENCE = 0.95
"""Part of all trainings for which the belief after a Gaussian mechanism is stated."""


@dataclass(frozen=True)
class Attacker(Writable):
    """What (epsilon, delta) allows, and what a Gaussian mechanism of that guarantee allows.

    Attributes
    ----------
    epsilon, delta : float
    mu : float
        GDP parameter of the Gaussian mechanism with exactly this guarantee.
    false_alarms : tuple of float
        Chances of saying "in" although the person is out.
    found, gaussian_found : tuple of float
        Largest chance of saying "in" when the person is, at each of these; by the guarantee alone,
        and for the Gaussian mechanism.
    advantage, gaussian_advantage : float
        Largest difference of the two chances.
    belief : float
        Most that somebody can believe afterwards who thought 50:50, but for rare results.
    rare : float
        How often the results of the Gaussian mechanism are so rare, if the person is in: more often
        than ``delta``, and by little more belief.
    gaussian_belief : float
        The same for the Gaussian mechanism, if the person is in, in 19 of 20 trainings.
    """

    file_order: ClassVar[Order] = (..., "words")

    epsilon: float
    delta: float
    mu: float
    false_alarms: tuple[float, ...]
    found: tuple[float, ...]
    gaussian_found: tuple[float, ...]
    advantage: float
    gaussian_advantage: float
    belief: float
    rare: float
    gaussian_belief: float

    @property
    def words(self) -> str:
        """One sentence for people."""
        return (
            "Someone who thinks 50:50 that you are in the table can be at most "
            f"about {percent(self.belief)} sure after seeing the model."
        )

    def right_guesses(self, *, gaussian: bool) -> float:
        """Largest part of right guesses of somebody who must say "in" or "out" at 50:50."""
        return (1.0 + (self.gaussian_advantage if gaussian else self.advantage)) / 2.0

    def rates(self, *, gaussian: bool) -> tuple[float, ...]:
        """Largest chances of being found, at each rate of false alarms."""
        return self.gaussian_found if gaussian else self.found


def describe_attacker(epsilon: float, delta: float) -> Attacker:
    """What a guarantee means to an attacker.

    Parameters
    ----------
    epsilon : float
        Finite, >= 0.
    delta : float
        From 0 to below 1; 0 has no Gaussian mechanism, whose figures are then those of guessing.

    Examples
    --------
    >>> one = describe_attacker(1.0, 1e-6)
    >>> round(one.belief, 3), round(one.gaussian_advantage, 3)
    (0.731, 0.094)
    """
    budget = Budget(epsilon, delta)
    if budget.unlimited:
        raise SettingError(
            "An infinite epsilon guarantees nothing, so an attacker may be sure: give a finite one."
        )
    mu = mu_of(budget.epsilon, budget.delta)
    return Attacker(
        budget.epsilon,
        budget.delta,
        mu,
        FALSE_ALARMS,
        tuple(map(float, best_rate(budget.epsilon, budget.delta, FALSE_ALARMS))),
        tuple(map(float, best_rate_gaussian(mu, FALSE_ALARMS))),
        advantage(budget.epsilon, budget.delta),
        advantage_gaussian(mu),
        belief(budget.epsilon),
        float(ndtr(mu / 2.0 - budget.epsilon / mu)) if mu else 0.0,
        belief_gaussian(mu),
    )


def best_rate(epsilon: float, delta: float, false_alarms: ArrayLike) -> Floats:
    """Largest true-positive rate against an (epsilon, delta)-DP mechanism.

    Parameters
    ----------
    epsilon, delta : float
    false_alarms : array-like
        False-positive rates, from 0 to 1.

    Returns
    -------
    ndarray
        Of the same shape.
    """
    alpha = _rates(false_alarms)
    budget = Budget(epsilon, delta)
    # In the first, exp may overflow to infinity, which the minimum with 1 takes care of.
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(alpha > 0, budget.delta + np.exp(budget.epsilon) * alpha, budget.delta)
    flat = 1.0 - np.exp(-budget.epsilon) * np.maximum(1.0 - budget.delta - alpha, 0.0)
    return np.asarray(np.minimum(np.minimum(steep, flat), 1.0))


def best_rate_gaussian(mu: float, false_alarms: ArrayLike) -> Floats:
    """Largest true-positive rate against a mu-GDP mechanism, at rates of false alarms."""
    return np.asarray(ndtr(ndtri(_rates(false_alarms)) + _checked_mu(mu)), dtype=np.float64)


def advantage(epsilon: float, delta: float) -> float:
    """Largest TPR - FPR against an (epsilon, delta)-DP mechanism."""
    budget = Budget(epsilon, delta)
    # (e^eps - 1 + 2 delta) / (e^eps + 1), without overflow.
    rest = math.exp(-budget.epsilon)
    return float((1.0 - rest + 2.0 * budget.delta * rest) / (1.0 + rest))


def advantage_gaussian(mu: float) -> float:
    """Largest TPR - FPR against a mu-GDP mechanism."""
    return float(2.0 * ndtr(_checked_mu(mu) / 2.0) - 1.0)


def belief(epsilon: float, prior: float = 0.5) -> float:
    """Largest belief after the result, but for results as rare as `Attacker.rare` tells.

    Parameters
    ----------
    epsilon : float
    prior : float
        Belief before, between 0 and 1.
    """
    return float(expit(logit(_checked_part(prior, "prior")) + Budget(epsilon).epsilon))


def belief_gaussian(mu: float, prior: float = 0.5, confidence: float = CONFIDENCE) -> float:
    """Belief that a mu-GDP mechanism exceeds with chance 1 - confidence, if the person is in."""
    before = logit(_checked_part(prior, "prior"))
    mu = _checked_mu(mu)
    shift = mu * mu / 2.0 + mu * float(ndtri(_checked_part(confidence, "confidence")))
    return float(expit(before + shift))


def percent(part: float, digits: int = 0) -> str:
    """A part in per cent, with more digits where that would be all or nothing.

    Examples
    --------
    >>> percent(0.731), percent(0.9997), percent(0.0021), percent(1.0)
    ('73 %', '99.97 %', '0.2 %', '100 %')
    """
    if 0.0 < part < 1.0:
        for more in range(digits, 6):
            text = f"{100 * part:.{more}f}"
            if 0.0 < float(text) < 100.0:
                return f"{text} %"
    return f"{100 * part:.0f} %"


def _rates(values: ArrayLike) -> Floats:
    rates = np.asarray(values, dtype=np.float64)
    if not bool(np.all((rates >= 0) & (rates <= 1))):
        raise SettingError(f"Rates of false alarms must be from 0 to 1. Got {values!r} instead.")
    return rates


def _checked_mu(mu: float) -> float:
    if not (is_number(mu) and mu >= 0):
        raise SettingError(f"The 'mu' must be a number >= 0. Got {mu!r} instead.")
    return float(mu)


def _checked_part(value: float, name: str) -> float:
    if not (is_number(value) and 0 < value < 1):
        raise SettingError(f"The '{name}' must be between 0 and 1. Got {value!r} instead.")
    return float(value)
