"""How well an attacker tells two tables apart, and how well epsilon lets any attacker do so.

The two worlds are "with the row" and "without it". The attacker sees what was released in one of
them and says which. Its *advantage* is the rate of right alarms minus the rate of false ones: 0 is
blind guessing, 1 is certainty. Its *AUC* is the chance that it gives the higher score to the world
with the row: 1/2 is blind guessing.

Under (epsilon, delta) no attacker whatever has right alarms at a rate above
exp(epsilon) * false alarms + delta, nor the same with the worlds exchanged (Wasserman and Zhou,
2010; Kairouz, Oh and Viswanath, 2015). `allowed_advantage` and `allowed_auc` are the largest values
in that region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.errors import DataError, SettingError
from voile.privacy.gaussian_dp import mu_of

Floats = NDArray[np.float64]

Z_95 = 1.959963984540054
"""Half the width of a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class Estimate:
    """A mean over runs, with its uncertainty by the finite number of runs.

    Attributes
    ----------
    value : float
    standard_error : float
    lower, upper : float
        Ends of a 95 % confidence interval.
    """

    value: float
    standard_error: float
    lower: float
    upper: float

    @classmethod
    def around(cls, value: float, error: float, lowest: float, highest: float) -> Estimate:
        """A value and its normal interval, within what it can be."""
        lower, upper = max(value - Z_95 * error, lowest), min(value + Z_95 * error, highest)
        return cls(value, error, lower, upper)

    def __str__(self) -> str:
        return f"{self.value:.4g} (95 % interval {self.lower:.4g} to {self.upper:.4g})"


@dataclass(frozen=True)
class Attack:
    """What an attacker achieved between the two worlds.

    Attributes
    ----------
    advantage : Estimate
        Right minus false alarms, in [-1, 1], on runs that did not teach the attacker its limit.
    auc : Estimate
        Area under the curve of right against false alarms, in [0, 1].
    """

    advantage: Estimate
    auc: Estimate


def estimate(values: ArrayLike, lowest: float = -math.inf, highest: float = math.inf) -> Estimate:
    """The mean of one value per run.

    Parameters
    ----------
    values : array of shape (runs,)
        Independent; at least two.
    lowest, highest : float
        What a value can be. If both are finite, the standard error counts one imagined run at
        either end, so that runs which all agree do not pass for certainty (as Agresti and Min,
        2005, do for differences of proportions).
    """
    each = np.asarray(values, dtype=np.float64)
    if each.ndim != 1 or len(each) < 2:
        raise DataError("An estimate needs one value per run, and at least two runs.")
    value = float(each.mean())
    if math.isfinite(lowest) and math.isfinite(highest):
        each = np.append(each, [lowest, highest])
    error = float(each.std(ddof=1)) / math.sqrt(len(each))
    return Estimate.around(value, error, lowest, highest)


def tell_apart(without: ArrayLike, with_row: ArrayLike) -> Attack:
    """An attacker who raises an alarm when a score is high.

    The first half of the runs teaches it from which score on to raise an alarm; the second half
    judges it. The AUC needs no such limit and uses all runs.

    Parameters
    ----------
    without, with_row : array of shape (runs,)
        The attacker's score in either world; run i of both may share its other rows. At least 4.
    """
    low, high = (np.asarray(one, dtype=np.float64) for one in (without, with_row))
    if low.ndim != 1 or low.shape != high.shape or len(low) < 4:
        raise DataError("Both worlds need one score per run, equally many, and at least four.")
    half = len(low) // 2
    cut = _best_limit(low[:half], high[:half])
    # One difference per run, so that what the worlds of a run share does not widen the interval.
    gains = (high[half:] > cut).astype(np.float64) - (low[half:] > cut)
    beats = (high[:, None] > low[None, :]) + 0.5 * (high[:, None] == low[None, :])
    # Run i's part is what its two scores add to the area; the area is the mean of the parts.
    parts = (beats.mean(axis=1) + beats.mean(axis=0)) / 2.0
    spread = estimate(2.0 * (parts - parts.mean()), -1.0, 1.0).standard_error
    auc = float(beats.mean())
    return Attack(estimate(gains, -1.0, 1.0), Estimate.around(auc, spread, 0.0, 1.0))


def _best_limit(low: Floats, high: Floats) -> float:
    """The score above which alarms gain most on these runs."""
    seen = np.unique(np.concatenate([low, high]))
    cuts = np.append((seen[:-1] + seen[1:]) / 2.0, seen[-1])
    gains = (high[None, :] > cuts[:, None]).mean(axis=1) - (low[None, :] > cuts[:, None]).mean(
        axis=1
    )
    return float(cuts[int(np.argmax(gains))])


def allowed_advantage(epsilon: float, delta: float = 0.0, rows: int = 1) -> float:
    """Largest advantage of any attacker: (e^eps - 1 + 2 delta) / (e^eps + 1).

    Parameters
    ----------
    epsilon, delta : float
        Of the guarantee for one row.
    rows : int, default 1
        Rows by which the worlds differ. The guarantee for k rows is k epsilon, and
        delta (1 + e^eps + ... + e^((k-1) eps)).

    Examples
    --------
    >>> round(allowed_advantage(1.0), 3)
    0.462
    """
    epsilon, delta = _for_rows(epsilon, delta, rows)
    return math.tanh(epsilon / 2.0) + 2.0 * delta * _logistic(-epsilon)


def allowed_auc(epsilon: float, delta: float = 0.0, rows: int = 1) -> float:
    """Largest AUC of any attacker: the area of the region that the guarantee leaves.

    Parameters
    ----------
    epsilon, delta : float
        Of the guarantee for one row.
    rows : int, default 1
        Rows by which the worlds differ.

    Examples
    --------
    >>> round(allowed_auc(1.0), 3)
    0.731
    """
    epsilon, delta = _for_rows(epsilon, delta, rows)
    # The curve has its corner at false alarms p, right alarms 1 - p, and reaches 1 at 1 - delta.
    p = (1.0 - delta) * _logistic(-epsilon)
    first = p * (delta + 1.0 - p) / 2.0
    return first + (1.0 - delta - p) * (2.0 - p) / 2.0 + delta


def gaussian_advantage(epsilon: float, delta: float, rows: int = 1) -> float:
    """Largest advantage of any attacker if all noise is Gaussian: 2 Phi(mu / 2) - 1.

    A fit that meets (epsilon, delta) by whole-table Gaussian sums alone keeps a stronger guarantee,
    mu-GDP, with the largest mu that implies (epsilon, delta) (Dong, Roth and Su, 2022). For k rows
    it is k mu. It holds for ``mechanism="gaussian"`` with a complete schema.

    Parameters
    ----------
    epsilon, delta : float
        Of the guarantee for one row; delta above 0.
    rows : int, default 1
        Rows by which the worlds differ.

    Examples
    --------
    >>> round(gaussian_advantage(1.0, 1e-5), 3)
    0.107
    """
    _for_rows(epsilon, delta, rows)
    return math.erf(rows * mu_of(epsilon, delta) / math.sqrt(8.0))


def _for_rows(epsilon: float, delta: float, rows: int) -> tuple[float, float]:
    if math.isnan(epsilon) or epsilon < 0 or not 0 <= delta <= 1:
        raise SettingError("A guarantee has epsilon >= 0 and delta between 0 and 1.")
    if rows < 1:
        raise SettingError("The two worlds differ in at least one row: give rows=1 or more.")
    if math.isinf(epsilon):
        return epsilon, delta
    total = delta
    for _ in range(rows - 1):
        total = min(delta + math.exp(min(epsilon, 700.0)) * total, 1.0)
    return rows * epsilon, total


def _logistic(x: float) -> float:
    return math.exp(x) / (1.0 + math.exp(x)) if x < 0 else 1.0 / (1.0 + math.exp(-x))
