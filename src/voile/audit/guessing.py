"""How an attacker learns to guess from runs whose world it knows.

It learns on one half of the runs: a direction, if runs give vectors, and limits from which on it
ventures a guess. The other half judges it (`voile.audit.paired`), so that what it learnt by chance
does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_LIMITS = 24
"""Limits tried on either side; more would follow chance."""

_CAUTION = 1e-3
"""Limits are chosen for a bound at so much less risk: those that rest on few lucky guesses lose."""

_COORDINATES = 8
"""Single numbers of a vector that are tried besides the learnt direction."""


@dataclass(frozen=True)
class Limits:
    """Above ``high`` the attacker says "there", below ``low`` "not there", else nothing."""

    low: float
    high: float

    @property
    def alarm(self) -> float:
        """The limit of an attacker who always answers."""
        return self.high if math.isfinite(self.high) else self.low


def as_table(vectors: list[Floats]) -> Floats:
    """Vectors of different lengths as one table; the length is one more number.

    What is no finite number becomes a very large one: it tells as much as any other value.
    """
    width = max(len(one) for one in vectors)
    if width == 1 and all(len(one) == 1 for one in vectors):
        table = np.array(vectors, dtype=np.float64)
    else:
        table = np.zeros((len(vectors), width + 1))
        for row, one in zip(table, vectors, strict=True):
            row[: len(one)], row[-1] = one, len(one)
    return np.nan_to_num(table, nan=1e300, posinf=1e301, neginf=-1e301)


def learn_direction(table: Floats, there: Flags) -> Floats:
    """Weights of the numbers of a run, so that high scores speak for the canary.

    Differences of means divided by variances (a linear discriminant that ignores correlations), or
    one of the numbers that differ most: whichever tells a part of the runs apart better that did
    not make it.

    Parameters
    ----------
    table : ndarray of shape (runs, numbers)
    there : ndarray of bool, shape (runs,)
    """
    if table.shape[1] == 1:
        # A canary may as well make the only number smaller.
        return np.array([1.0 if _area(table[:, 0], there) >= 0.5 else -1.0])
    half = len(table) // 2
    weights, strength = _discriminant(table[:half], there[:half])
    chosen = np.argsort(-strength)[:_COORDINATES]
    candidates = [weights]
    for one in chosen:
        lone = np.zeros(table.shape[1])
        lone[one] = weights[one]
        candidates.append(lone)
    gains = [_area(table[half:] @ one, there[half:]) for one in candidates]
    best = int(np.argmax(gains))
    final, _ = _discriminant(table, there)
    return final if best == 0 else np.where(candidates[best] != 0, final, 0.0)


def _discriminant(table: Floats, there: Flags) -> tuple[Floats, Floats]:
    if there.all() or not there.any():
        return np.ones(table.shape[1]), np.zeros(table.shape[1])
    # Relative to its own range: a number that is large in both worlds may differ by little.
    centre = table[0]
    with np.errstate(over="ignore"):
        scale = np.clip(np.abs(table - centre).max(axis=0), 1e-300, 1e308)
        unit = np.clip((table - centre) / scale, -1.0, 1.0)
    shift = unit[there].mean(axis=0) - unit[~there].mean(axis=0)
    # A number that never varies within a world, and differs between them, is certainty.
    spread = (unit[there].var(axis=0) + unit[~there].var(axis=0)) / 2.0 + 1e-12
    with np.errstate(over="ignore"):
        weights = np.clip(shift / spread / scale, -1e290, 1e290)
    return weights, np.abs(shift) / np.sqrt(spread)


def _area(scores: Floats, there: Flags) -> float:
    """Chance that a run with the canary scores higher than one without."""
    low, high = np.sort(scores[~there]), scores[there]
    if not len(low) or not len(high):
        return 0.5
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean() / (2.0 * len(low)))


def learn_limits(
    scores: Floats, there: Flags, method: Literal["guesses", "rates", "gaussian"], risk: float
) -> Limits:
    """The limits with the best bound on these runs."""
    cuts, risk = _cuts(scores), _CAUTION * risk
    wrong = (scores[~there][:, None] > cuts).sum(axis=0)
    right = (scores[there][:, None] > cuts).sum(axis=0)
    absent, present = int((~there).sum()), int(there.sum())
    if method != "guesses":
        # The lower end of one rate against the upper end of the other.
        most = beta.ppf(1.0 - risk / 4.0, wrong + 1, np.maximum(absent - wrong, 1e-9))
        least = beta.ppf(risk / 4.0, np.maximum(right, 1e-9), present - right + 1)
        most, least = np.clip(most, 1e-12, 1 - 1e-12), np.clip(least, 1e-12, 1 - 1e-12)
        if method == "gaussian":
            gain = norm.ppf(least) - norm.ppf(most)
        else:
            gain = np.maximum(np.log(least / most), np.log((1.0 - most) / (1.0 - least)))
        at = float(cuts[int(np.argmax(gain))])
        return Limits(at, at)
    # Guesses "there" above one cut (columns), "not there" at or below another (rows).
    hits = right[None, :] + (absent - wrong)[:, None]
    ventured = (right + wrong)[None, :] + ((absent - wrong) + (present - right))[:, None]
    bound = beta.ppf(risk, np.maximum(hits, 1e-9), ventured - hits + 1)
    bound = np.where((hits == 0) | (cuts[:, None] > cuts[None, :]), 0.0, bound)
    low, high = np.unravel_index(int(np.argmax(bound)), bound.shape)
    return Limits(float(cuts[low]), float(cuts[high]))


def _cuts(scores: Floats) -> Floats:
    """Limits between the values that occur, and beyond them: silence on one side."""
    seen = np.unique(scores)
    with np.errstate(over="ignore"):
        between = (seen[:-1] + seen[1:]) / 2.0
    # Where two neighbours have no number between them, the lower one serves.
    between = np.where((seen[:-1] <= between) & (between < seen[1:]), between, seen[:-1])
    if len(between) > _LIMITS:
        # Evenly over the runs, and finer towards the ends, where guesses are surest.
        shares = norm.cdf(np.linspace(-3.0, 3.0, _LIMITS))
        between = np.unique(np.quantile(scores, shares, method="lower"))
    return np.concatenate([[-np.inf], between, [np.inf]])
