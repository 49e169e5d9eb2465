"""Pairs of a model as the package interpret has them.

There a column has the same bins in all its pairs: here they get the cuts of all of them, and each
level a place of its own. Scores are repeated where a part becomes several, and counts divided by
width, or evenly among levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Floats
from voile.models.ebm.model import EBMModel
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Number


@dataclass(frozen=True, eq=False)
class RearrangedPair:
    """A pair in interpret's order: of each side missing values, then bins, then unknown ones.

    Attributes
    ----------
    name : str
    features : tuple of two ints
        Positions of the columns, increasing.
    scores, errors : ndarray of shape (first, second), or (first, second, outputs)
    weights : ndarray of shape (first, second)
    """

    name: str
    features: tuple[int, int]
    scores: Floats
    errors: Floats
    weights: Floats


@dataclass(frozen=True, eq=False)
class _Places:
    """Of each place of a side in interpret the part, and how much of it."""

    parts: NDArray[np.int64]
    share: Floats


def pair_cuts(model: EBMModel) -> dict[str, Floats]:
    """Of each number that is in pairs, the cuts of all of them."""
    cuts: dict[str, Floats] = {}
    for pair in model.pairs:
        for side in (pair.first, pair.second):
            if isinstance(side.column, Number):
                known = cuts.get(side.name, np.empty(0))
                cuts[side.name] = np.union1d(known, side.cuts)
    return cuts


def rearrange_pairs(model: EBMModel) -> list[RearrangedPair]:
    """All pairs, with bins that each column has in all of them."""
    cuts = pair_cuts(model)
    return [_rearrange(model, pair, cuts) for pair in model.pairs]


def _rearrange(model: EBMModel, pair: PairTerm, cuts: dict[str, Floats]) -> RearrangedPair:
    names = [term.name for term in model.terms]
    first, second = (_places(side, cuts) for side in (pair.first, pair.second))
    cells = np.ix_(first.parts, second.parts)
    counts = pair.counts
    if counts.sum() <= 0:  # interpret divides by the sum
        counts = np.ones_like(counts)
    tables = [
        pair.scores[cells],
        pair.standard_errors[cells],
        counts[cells] * np.outer(first.share, second.share),
    ]
    features = names.index(pair.first.name), names.index(pair.second.name)
    if features[0] > features[1]:
        features = features[1], features[0]
        tables = [np.swapaxes(table, 0, 1) for table in tables]
    scores, errors, weights = (np.ascontiguousarray(table) for table in tables)
    if scores.shape[2] == 1:
        scores, errors = scores[:, :, 0].copy(), errors[:, :, 0].copy()
    return RearrangedPair(pair.name, features, scores, errors, weights)


def _places(side: PairAxis, cuts: dict[str, Floats]) -> _Places:
    if isinstance(side.column, Number):
        edges = np.array([side.edges[0], *cuts[side.name], side.edges[-1]])
        parts = np.searchsorted(side.cuts, edges[:-1], side="right")
        share = np.diff(edges) / np.diff(side.edges)[parts]
        missing = side.parts - 1
        # An unknown value of a number is one that cannot be read, which counts as missing here.
        return _Places(np.array([missing, *parts, missing]), np.array([1.0, *share, 0.0]))
    groups = np.roll(side.groups, 1)  # missing values first
    sizes = np.bincount(side.groups)
    return _Places(groups, 1.0 / sizes[groups])
