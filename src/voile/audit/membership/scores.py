"""The attackers' formulas: from what shadow models say to one score per row and training.

Each training is the target once, and all the others are its shadows: they tell how a row looks to
models that had it and to models that had not. A score of a row never depends on the row's own coin
in the target, but through the target's answers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Variance = Literal["pooled", "per row"]

SMALLEST_SPREAD = 1e-6
"""Of signals over trainings: models that always say the same have none, and 0 / 0 is no score."""

DIGITS = 12
"""Decimals kept of differences and ratios: the mean of equal numbers is not quite that number, and
rounding errors would decide ties."""

TIE_BREAK = 1e-9
"""Weight of a row's own ratio beside the share of rows it beats: too little to turn an order."""


def lira_scores(signals: Floats, members: Bools, *, online: bool, variance: Variance) -> Floats:
    """Likelihood ratio attack, Carlini et al. 2022, "Membership inference attacks from first
    principles", Algorithm 1.

    Online: log of N(s; mean in, variance in) / N(s; mean out, variance out) for the target's signal
    s. Offline: (s - mean out) / deviation out, of which the paper's score is Phi.

    Parameters
    ----------
    signals : array of shape (trainings, rows)
    members : bool array of shape (trainings, rows)
    online : bool
        Whether shadows that had the row are used.
    variance : {"pooled", "per row"}
        Around the means of each row: of all rows together, or of each row by itself (which needs
        many trainings; rows seen once on a side have the pooled one).

    Returns
    -------
    array of shape (trainings, rows)
        High for members.
    """
    scores = np.empty_like(signals)
    for target, signal in enumerate(signals):
        others = np.arange(len(signals)) != target
        seen, inside = signals[others], members[others]
        mean_in, mean_out = side_means(seen, inside)
        spread_out = _spread(seen, ~inside, mean_out, variance)
        z_out = np.round(signal - mean_out, DIGITS) / spread_out
        if online:
            spread_in = _spread(seen, inside, mean_in, variance)
            z_in = np.round(signal - mean_in, DIGITS) / spread_in
            scores[target] = (z_out**2 - z_in**2) / 2.0 + np.log(spread_out / spread_in)
        else:
            scores[target] = z_out
    return scores


def rmia_scores(
    confidences: Floats, members: Bools, *, online: bool, gamma: float, a: float
) -> Floats:
    """Robust membership inference attack, Zarifzadeh, Liu & Shokri 2024, "Low-cost high-power
    membership inference attacks", Algorithm 1.

    The score of x is the share of population rows z with
    [p(x | target) / p(x)] / [p(z | target) / p(z)] > gamma. Here the z are the other rows of the
    pool that the target was not trained on. Online, p(x) is the mean of the mean confidences with
    and without x; offline it is ((1 + a) mean without x + 1 - a) / 2; the same for z. A share has
    no more values than there are z, so equal shares are put in order by the ratio of x.

    Parameters
    ----------
    confidences : array of shape (trainings, rows)
        Within (0, 1].
    members : bool array of shape (trainings, rows)
    online : bool
        Whether shadows that had the row are used.
    gamma : float
    a : float
        Offline only; within [0, 1].

    Returns
    -------
    array of shape (trainings, rows)
        High for members, within [0, 1 + 1e-9].
    """
    scores = np.empty_like(confidences)
    for target, confidence in enumerate(confidences):
        others = np.arange(len(confidences)) != target
        seen = confidences[others]
        mean_in, mean_out = side_means(seen, members[others])
        usual = (mean_in + mean_out) / 2.0 if online else ((1.0 + a) * mean_out + 1.0 - a) / 2.0
        # Means that were filled in may leave the range of a probability.
        ratios = np.round(confidence / np.clip(usual, seen.min(), 1.0), DIGITS)
        outside = ~members[target]
        population = np.sort(ratios[outside])
        bar = ratios / gamma
        beaten = np.searchsorted(population, bar, side="left").astype(np.float64)
        # A row is never compared with itself, so that its own coin changes no comparison.
        beaten -= outside & (ratios < bar)
        shares = beaten / np.maximum(outside.sum() - outside, 1)
        scores[target] = shares + TIE_BREAK * ratios / (1.0 + ratios)
    return scores


def side_means(seen: Floats, inside: Bools) -> tuple[Floats, Floats]:
    """Means of each row over the shadows that had it and over those that had not, shape (rows,).

    A row that is all on one side gets the other mean by the average difference of the other rows.
    """
    n_in, n_out = inside.sum(axis=0), (~inside).sum(axis=0)
    mean_in = np.where(inside, seen, 0.0).sum(axis=0) / np.maximum(n_in, 1)
    mean_out = np.where(inside, 0.0, seen).sum(axis=0) / np.maximum(n_out, 1)
    both = (n_in > 0) & (n_out > 0)
    gap = float((mean_in - mean_out)[both].mean()) if both.any() else 0.0
    mean_in = np.where(n_in > 0, mean_in, mean_out + gap)
    mean_out = np.where(n_out > 0, mean_out, mean_in - gap)
    return mean_in, mean_out


def _spread(seen: Floats, side: Bools, means: Floats, variance: Variance) -> Floats:
    """Standard deviation of each row's signals on one side, shape (rows,)."""
    count = side.sum(axis=0)
    squares = np.where(side, (seen - means) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(count - 1, 0)
    pooled = float(squares.sum()) / max(int(freedom.sum()), 1)
    if variance == "pooled":
        values = np.full(seen.shape[1], pooled)
    else:
        values = np.where(freedom > 0, squares / np.maximum(freedom, 1), pooled)
    spread: Floats = np.maximum(np.sqrt(values), SMALLEST_SPREAD)
    return spread
