"""Algorithm 2 of Nori et al. (ICML 2021), made sound: cyclic steps on random splits.

For comparison. One access per epoch and column: residual sums over a few random leaves, divided by
private counts. Unlike the published form, residuals start at a private centre and are clipped
inside the query, and every listed category is noised whether or not it occurs.
Sensitivity: a row is in one leaf of one column: the clip. Proof: docs/proofs/ebm.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.cyclic_kernels import leaf_totals
from voile.models.ebm.queries import (
    BINS,
    SCALED_TARGET,
    BinLayout,
    check_shapes,
    check_state,
    keeps,
)
from voile.models.ebm.settings import STEPS_ACCESS
from voile.models.ebm.terms import ReleasedTerms
from voile.models.public_numbers import check_wholes
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Block, Preparation, Query
from voile.privacy.vault import PrivateTable, keep
from voile.privacy.wire import sendable
from voile.schema import Schema

_RATE = 0.01
_LEAVES = 3
_CAP = 1.0
"""Largest residual: y - p in classification; half the public range in regression."""


@sendable
@dataclass(frozen=True, eq=False)
class LeafSums(Query):
    """Sums of clipped residuals over the leaves of one term, at the scores released so far.

    Parameters
    ----------
    layout : BinLayout
    scores : ndarray of shape (cells, 1)
    intercept : ndarray of shape (1,)
    term : int
    leaf : ndarray of shape (bins,)
        Leaf of each bin, 0, 1, ...
    """

    layout: BinLayout
    scores: NDArray[np.float64]
    intercept: NDArray[np.float64]
    term: int
    leaf: NDArray[np.int64]

    columns = ()
    bound = _CAP

    def __post_init__(self) -> None:
        check_state(self.scores, self.intercept, _CAP)
        check_shapes(self.layout, self.scores, self.intercept)
        if self.layout.residual not in ("logit", "identity"):  # the kernel reads one score per row
            raise SettingError("Sums over leaves are for two classes or regression.")
        widths = np.diff(self.layout.offsets)
        if not 0 <= self.term < len(widths):
            raise SettingError("Each bin of a term needs its leaf.")
        width = int(widths[self.term])
        check_wholes(self.leaf, (width,), "leaves of a term", 0, 2**16 - 1)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the bins of this layout."""
        return keeps(prepared, self.layout)

    @property
    def size(self) -> int:
        """Number of leaves."""
        return int(self.leaf.max()) + 1

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """One row at a time, for tests and small blocks."""
        unit = 2.0**-40
        rows = [self.total(block.part(i, i + 1), unit) * unit for i in range(block.rows)]
        return np.asarray(rows, dtype=np.float64).reshape(block.rows, self.size)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact, in units of ``grid``."""
        return leaf_totals(
            self.layout.link,
            block.kept[BINS],
            block.kept[SCALED_TARGET],
            self.layout.offsets,
            self.scores,
            self.intercept,
            _CAP,
            1.0 / grid,
            self.term,
            self.leaf,
            block.weights,
        )


def train_cyclic(
    table: PrivateTable,
    grant: Grant,
    layout: BinLayout,
    bins: tuple[ColumnBins, ...],
    target: TargetFacts,
    *,
    epochs: int,
    splits: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> ReleasedTerms:
    """Train by ``epochs`` cycles over the columns, one access each.

    Parameters
    ----------
    table, grant, layout, bins, target
        As for `voile.models.ebm.train.train`; the grant holds epochs x columns accesses.
    splits : numpy Generator
        Draws the random splits, which are public.
    """
    if layout.link == "softmax":
        raise SettingError(
            "method='cyclic' is for two classes or regression, as published: use 'rounds'."
        )
    keep(table, layout.columns, layout.prepare)
    scores = np.zeros((int(layout.offsets[-1]), 1))
    variances = np.zeros_like(scores)
    if layout.link == "logit":
        intercept = np.array([np.log(target.counts[1] / target.counts[0])])
    else:
        intercept = np.array([target.start])
    for epoch in range(epochs):
        for k, one in enumerate(bins):
            leaf = _random_leaves(len(one.counts), len(one.cuts) > 0, splits)
            query = LeafSums(layout, scores, intercept, k, leaf)
            release = gaussian_sum(table, query, grant.take(STEPS_ACCESS))
            mass = np.bincount(leaf, weights=np.maximum(one.counts, 0.0))
            mass = np.maximum(mass, np.maximum(release.standard_error, 1.0))
            scores = scores.copy()
            scores[layout.part(k), 0] += _RATE * (release.values / mass)[leaf]
            variances[layout.part(k), 0] += (_RATE * release.standard_error / mass[leaf]) ** 2
        progress(epoch + 1)
    return ReleasedTerms(scores, np.sqrt(variances), intercept, np.zeros(1))


def _random_leaves(bins: int, ordered: bool, splits: np.random.Generator) -> NDArray[np.int64]:
    """Cut the bins at random into at most `_LEAVES` leaves, without looking at data."""
    cuts = min(_LEAVES - 1, bins - 1)
    borders = np.sort(splits.choice(np.arange(1, bins), size=cuts, replace=False))
    leaf = np.searchsorted(borders, np.arange(bins), side="right").astype(np.int64)
    return leaf if ordered else leaf[splits.permutation(bins)]
