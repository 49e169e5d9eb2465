"""From the cells of a trained pair to its record in the model: axes, units, evidence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.pair_evidence import PairEvidence
from voile.models.ebm.pair_grid import ReleasedPair
from voile.models.ebm.pair_sides import Side
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.models.ebm.queries import BinLayout
from voile.models.fit import frozen
from voile.schema import Category

Floats = NDArray[np.float64]


def freeze_pair(pair: ReleasedPair, layout: BinLayout, unit: float) -> PairTerm:
    """The record of a pair.

    Parameters
    ----------
    pair : ReleasedPair
    layout : BinLayout
    unit : float
        The target's unit of a score of 1.
    """
    shape = pair.grid.shape
    first, second = pair.grid.columns
    scores = pair.scores
    if layout.link == "softmax":
        scores = scores - scores.mean(axis=1, keepdims=True)

    def grid(values: Floats) -> Floats:
        return frozen((values * unit).reshape(*shape, -1))

    return PairTerm(
        _axis(layout, first, pair.grid.first),
        _axis(layout, second, pair.grid.second),
        grid(scores),
        grid(pair.errors),
        frozen(pair.counts.reshape(shape)),
        frozen(np.full(shape, pair.count_error)),
        grid(pair.whole_errors),
        _evidence(pair, grid, unit),
    )


def _axis(layout: BinLayout, k: int, side: Side) -> PairAxis:
    name = list(layout.features)[k]
    column = layout.features[name]
    if isinstance(column, Category):
        groups = np.array(side.groups)
        groups.setflags(write=False)
        return PairAxis(name, column, frozen(np.empty(0)), groups)
    # Intervals that begin another part; the last bin is of missing values.
    inner = np.flatnonzero(np.diff(side.groups[:-1]))
    return PairAxis(name, column, frozen(layout.cuts[k][inner]), np.empty(0, dtype=np.int64))


def _evidence(pair: ReleasedPair, grid: Callable[[Floats], Floats], unit: float) -> PairEvidence:
    told, sides = pair.evidence, (pair.grid.first, pair.grid.second)
    lengths = tuple(told.noise_length if side.ordered else 0.0 for side in sides)
    plains = tuple(told.noise_plain if side.ordered else 1.0 for side in sides)
    return PairEvidence(
        estimates=grid(told.estimates),
        sampling_variances=grid(told.sampling_variances * unit),
        noise_scales=grid(told.noise_scales),
        noise_lengths=(lengths[0], lengths[1]),
        noise_plains=(plains[0], plains[1]),
        aparts=(1, 1),
        prior=told.prior * unit**2,
        candidates=pair.candidates,
    )
