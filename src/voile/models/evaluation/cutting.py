"""Where a score is cut: a fine public grid first, then cuts that released counts call for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from voile.models.evaluation.scores import Sides
from voile.models.evaluation.strategy import Strategy, best_strategy
from voile.models.evaluation.thresholds import ROUND_THRESHOLDS

Floats = NDArray[np.float64]
Scale = Literal["probability", "relative distance"]

_LOW = [0.0001, 0.0002, 0.0005, *(k / 1000 for k in range(1, 11)), 0.0125, 0.015, 0.0175, 0.02]
_LOW += [0.025, 0.03, 0.035, 0.04, 0.045, *(k / 100 for k in range(5, 50))]
_PROBABILITIES = np.array([*_LOW, 0.5, *(round(1.0 - one, 4) for one in _LOW[::-1])])
_DISTANCES = np.arange(-63, 64) / 64.0

_RANKS = np.array([0.005, 0.01, 0.02, 0.035, 0.05, 0.075, *(k / 20 for k in range(2, 19))])
_RANKS = np.concatenate([_RANKS, 1.0 - _RANKS[5::-1]])
"""Shares of the rows below the cuts: closer together at both ends, where alarms are rare."""

_SEEN = 2.0
"""A cut needs this many standard errors of the noise in rows on both of its sides."""

_MOST_GROUPS, _FEWEST_GROUPS = 10, 6


@dataclass(frozen=True, eq=False)
class Grid:
    """The fine public cuts of a score.

    Attributes
    ----------
    scale : str
    thresholds : ndarray of shape (cuts,)
        As people read them: probabilities, or relative distances.
    cuts : tuple of float
        The same in the units of the score.
    """

    scale: Scale
    thresholds: Floats
    cuts: tuple[float, ...]

    @classmethod
    def of(cls, *, probabilities: bool, log_odds: bool) -> Grid:
        """The grid of a kind of score."""
        if not probabilities:
            return cls("relative distance", _DISTANCES, tuple(_DISTANCES.tolist()))
        cuts = logit(_PROBABILITIES) if log_odds else _PROBABILITIES
        return cls("probability", _PROBABILITIES, tuple(cuts.tolist()))

    @property
    def usual(self) -> int:
        """Position of the threshold by which classes are predicted."""
        return int(np.flatnonzero(self.thresholds == self._usual)[0])

    @property
    def _usual(self) -> float:
        return 0.5 if self.scale == "probability" else 0.0

    @property
    def strategy(self) -> Strategy:
        """How rows between the fine cuts are counted."""
        return best_strategy(len(self.cuts) + 1, self.usual + 1)

    def choose(self, counts: Floats, noise: float) -> list[int]:
        """Positions of the cuts to count classes between.

        Round thresholds and ranks of the rows, where enough rows are on both sides; always the one
        by which classes are predicted.

        Parameters
        ----------
        counts : ndarray of shape (cuts + 1,)
            Estimated rows between the fine cuts.
        noise : float
            Standard error of each released mixture.
        """
        below, whole = np.cumsum(counts)[:-1], float(counts.sum())
        wanted = {int(np.abs(below - rank * whole).argmin()) for rank in _RANKS}
        named = ROUND_THRESHOLDS if self.scale == "probability" else np.arange(-9, 10) / 10
        wanted |= {int(np.abs(self.thresholds - one).argmin()) for one in named}
        sides = Sides.of(self.strategy.covariance)
        room = _SEEN * noise * np.sqrt(np.maximum(sides.below, sides.above))
        seen = np.minimum(below, whole - below) > room
        return sorted(one for one in wanted | {self.usual} if seen[one] or one == self.usual)

    def middles(self) -> Floats:
        """Middle of each fine cell, as a probability."""
        inner = logit(self.thresholds)
        ends = [inner[0] - 0.5], (inner[1:] + inner[:-1]) / 2.0, [inner[-1] + 0.5]
        return np.asarray(expit(np.concatenate(ends)))


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predicted probabilities in each of some cells, from released counts of finer ones.

    Attributes
    ----------
    mean, spread, doubt : ndarray of shape (cells,)
        Mean and variance of the predictions; standard error of the mean.
    """

    mean: Floats
    spread: Floats
    doubt: Floats

    @classmethod
    def of(cls, grid: Grid, counts: Floats, noise: float, groups: NDArray[np.int64]) -> Predicted:
        """By the rows between the fine cuts; ``groups`` has the cell of each fine one."""
        middles, weights = grid.middles(), np.maximum(counts, 0.0) + 1e-9
        inside = np.eye(int(groups.max(initial=0)) + 1)[groups]
        rows = weights @ inside
        mean = (weights * middles) @ inside / rows
        away = (middles[:, None] - mean) * inside
        noised = noise**2 * ((grid.strategy.covariance @ away) * away).sum(axis=0) / rows**2
        # Where in its fine cell a row lies is not known: anywhere, those of a cell all together.
        width = np.diff(np.concatenate([[0.0], grid.thresholds, [1.0]])) / math.sqrt(12.0)
        width = np.minimum(width, 0.02)
        parts = weights / rows[groups]
        lie = (width * parts) ** 2 @ inside
        spread = weights @ (away**2) / rows
        return cls(mean, spread + (width**2 * parts) @ inside, np.sqrt(noised + lie))


def like_parts(rows: Floats, noise: float) -> NDArray[np.int64]:
    """Neighbouring cells put into few groups of about as many rows each, clear of the noise.

    Parameters
    ----------
    rows : ndarray of shape (cells,)
    noise : float
        Standard error of a group's rows, about.
    """
    whole = float(rows.sum())
    least = max(whole / _MOST_GROUPS, min(10.0 * noise, whole / _FEWEST_GROUPS))
    groups, held, group = np.zeros(len(rows), dtype=np.int64), 0.0, 0
    for i, count in enumerate(rows):
        groups[i] = group
        held += float(count)
        if held >= least and float(rows[i + 1 :].sum()) >= least / 2:
            group, held = group + 1, 0.0
    return groups
