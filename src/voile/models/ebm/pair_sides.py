"""Sides of a pair's grid: the bins of a column in a few parts of about equal mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.smoothing import PRIOR_LENGTH, correlation

Floats = NDArray[np.float64]

_ALIKE = 0.5
"""Correlation of levels without an order: what two of them have in common."""


_CLEAR = 3.0
"""Standard errors of the noise by which rows of the last part must stand clear of none."""


@dataclass(frozen=True, eq=False)
class Side:
    """The bins of one column in parts.

    Attributes
    ----------
    groups : ndarray of int64 of shape (bins,)
        Part of each bin. What is apart (missing, other levels) is the last part.
    parts : int
    mass : ndarray of shape (parts,)
        Share of rows in each part, by released counts; sums to 1.
    share : ndarray of shape (bins,)
        Share of its part that each bin is.
    ordered : bool
        Whether the parts before the last have an order, as those of a number.
    known : ndarray of bool of shape (parts,)
        False for the last part if it has no rows, as far as the noise lets us tell: nothing can be
        learned of missing values where none are missing.
    """

    groups: NDArray[np.int64]
    parts: int
    mass: Floats
    share: Floats
    ordered: bool
    known: NDArray[np.bool_]

    @property
    def useful(self) -> bool:
        """Whether two parts at least have rows enough to be told apart."""
        return int((self.mass[:-1] > 0.02).sum()) > 1

    def gather(self, values: Floats) -> Floats:
        """Means of values of the bins over each part, shape (parts, outputs)."""
        result = np.zeros((self.parts, values.shape[1]))
        np.add.at(result, self.groups, self.share[:, None] * values)
        return result

    @property
    def prior(self) -> Floats:
        """Correlation of the scores of the parts."""
        if self.ordered:
            return correlation(self.parts, PRIOR_LENGTH)
        return np.full((self.parts, self.parts), _ALIKE) + (1 - _ALIKE) * np.eye(self.parts)

    @property
    def pure_prior(self) -> Floats:
        """The same of scores that average to zero over the rows, with a mean variance of one."""
        centre = np.eye(self.parts) - self.mass
        centred = centre @ self.prior @ centre.T
        return np.asarray(centred / max(float(self.mass @ np.diagonal(centred)), 1e-9))


def make_side(
    counts: Floats, errors: Floats, scores: Floats, parts: int, *, ordered: bool, apart: int
) -> Side:
    """Group the bins of a column.

    Parameters
    ----------
    counts, errors : ndarray of shape (bins,)
        Released, and their standard errors.
    scores : ndarray of shape (bins, outputs)
        Released so far: levels without an order are grouped by them.
    parts : int
        Most parts, besides the last.
    ordered : bool
    apart : int
        How many bins at the end have no place among the others.
    """
    regular = len(counts) - apart
    mass = np.maximum(counts[:regular], 0.0)
    order = np.arange(regular) if ordered else np.argsort(_main_axis(scores[:regular], mass))
    groups = np.empty(len(counts), dtype=np.int64)
    if regular <= parts and not ordered:
        order = np.arange(regular)
        groups[:regular] = order
    else:
        total = max(float(mass.sum()), 1e-9)
        sizes = mass[order]
        middle = (np.cumsum(sizes) - sizes / 2) / total
        groups[order] = np.minimum((middle * parts).astype(np.int64), parts - 1)
    # A spike may have emptied its neighbours: parts are numbered without gaps.
    _, groups[:regular] = np.unique(groups[:regular], return_inverse=True)
    count = int(groups[:regular].max(initial=-1)) + 2
    groups[regular:] = count - 1
    positive = np.maximum(counts, 0.0)
    by_part = np.bincount(groups, weights=positive, minlength=count)
    sizes = np.bincount(groups, minlength=count)
    share = np.where(
        by_part[groups] > 0, positive / np.maximum(by_part[groups], 1e-300), 1.0 / sizes[groups]
    )
    whole = by_part.sum()
    mass = by_part / whole if whole > 0 else np.full(count, 1.0 / count)
    known = np.ones(count, dtype=np.bool_)
    noise = float(np.linalg.norm(errors[regular:]))
    known[-1] = count == 1 or by_part[-1] > max(_CLEAR * noise, 0.0)
    return Side(groups, count, mass, share, ordered, known)


def _main_axis(scores: Floats, mass: Floats) -> Floats:
    """One number per level: its score, or with several outputs what tells levels apart most."""
    if scores.shape[1] == 1 or not len(scores):  # a column may be without any level
        return scores[:, 0]
    weights = mass / max(float(mass.sum()), 1e-9)
    centred = (scores - weights @ scores) * np.sqrt(weights)[:, None]
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    return np.asarray(scores @ (axis * np.sign(axis[np.argmax(np.abs(axis))])))
