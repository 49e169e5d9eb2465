"""Sums over pairs of bins of synthetic rows: public rows, so order and rounding do not matter."""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pair_scores(bins: NDArray[np.int32], terms: Floats) -> Floats:
    """Sum of terms[a, b] over all pairs of a row's bins (a <= b), shape (rows,).

    Parameters
    ----------
    bins : ndarray of shape (rows, columns)
        Bins, numbered through all columns.
    terms : ndarray of shape (bins, bins)
        Upper half used.
    """
    scores = np.empty(len(bins))
    _pair_scores(bins, terms, scores)
    return scores


def pair_sums(bins: NDArray[np.int32], weights: Floats, count: int) -> Floats:
    """Sum of weights over the rows that are in both of two bins, (bins, bins), upper half."""
    parts = np.zeros((get_num_threads(), count, count))
    _pair_sums(bins, weights, parts)
    return np.asarray(parts.sum(axis=0))


@njit(cache=True, parallel=True)
def _pair_scores(bins, terms, scores):  # pragma: no cover
    rows, columns = bins.shape
    for i in prange(rows):
        total = 0.0
        for j in range(columns):
            line = terms[bins[i, j]]
            for k in range(j, columns):
                total += line[bins[i, k]]
        scores[i] = total


@njit(cache=True, parallel=True)
def _pair_sums(bins, weights, parts):  # pragma: no cover
    rows, columns = bins.shape
    threads = len(parts)
    for t in prange(threads):
        own = parts[t]
        for i in range(t * rows // threads, (t + 1) * rows // threads):
            weight = weights[i]
            for j in range(columns):
                line = own[bins[i, j]]
                for k in range(j, columns):
                    line[bins[i, k]] += weight
