"""Kernel that adds residuals up per leaf of one term, in integers, for the cyclic method.

As in `voile.models.ebm.kernels`: whole units, cut towards zero, add up exactly.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.models.ebm.kernels import RowBins
from voile.privacy.query_kernels import Weights, or_none


@njit(cache=True, nogil=True)
def _leaves(
    bins, target, offsets, scores, intercept, logistic, cap, units, term, leaf, weights, total
):
    rows, terms = bins.shape
    for i in range(rows):
        if math.isnan(target[i]) or (logistic and target[i] < 0.0):
            continue
        z = intercept[0]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        residual = target[i] - (1.0 / (1.0 + math.exp(-z)) if logistic else z)
        residual = min(max(residual, -cap), cap)
        whole = residual * (units * weights[i] if len(weights) > 0 else units)
        total[leaf[bins[i, term]]] += np.int64(whole)


def leaf_totals(
    link: str,
    bins: RowBins,
    target: NDArray[np.float32],
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    cap: float,
    units: float,
    term: int,
    leaf: NDArray[np.int64],
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Sums of clipped residuals over the leaves of one term; ``leaf`` gives each bin's leaf."""
    total = np.zeros(int(leaf.max()) + 1, dtype=np.int64)
    logistic, given = link == "logit", or_none(weights)
    _leaves(
        bins, target, offsets, scores, intercept, logistic, cap, units, term, leaf, given, total
    )
    return total
