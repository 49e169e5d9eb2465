"""Kernels of residuals of counts, amounts and quantiles: bounded, and added up in integers.

As in `voile.models.ebm.kernels`, each residual is clipped to the cap last, whatever came before,
and cut to whole units towards zero (docs/proofs/objectives.md).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.models.ebm.count_tables import DEVIATIONS, HIGHEST, LOWEST, PER_UNIT, count_table
from voile.models.ebm.kernels import RowBins
from voile.models.ebm.objectives import Aim
from voile.privacy.query_kernels import Weights, or_none

Logs = NDArray[np.float32]

_NO_LOGS: Logs = np.zeros(0, dtype=np.float32)

_GRID = (LOWEST, HIGHEST, float(PER_UNIT), DEVIATIONS)
"""An argument of the kernels: as a global, a compiled copy on disk would keep what it was."""


@njit(cache=True, nogil=True)
def _counts(
    bins, target, logs, offsets, scores, intercept, cap, width, centres, grid, units, weights, total
):
    rows, terms = bins.shape
    lowest, highest, per_unit, deviations = grid
    for i in range(rows):
        if math.isnan(target[i]):
            continue
        z = intercept[0]
        if len(logs) > 0:
            z += logs[i]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        z = min(max(z, lowest), highest)
        mean = math.exp(z)
        half = width * max(1.0, deviations * math.sqrt(mean))
        lower, upper = max(mean - half, 0.0), mean + half
        place = (z - lowest) * per_unit
        first = min(int(place), len(centres) - 2)
        part = place - first
        # What the clipped count is expected to be, if the mean is right.
        centre = mean + half * (centres[first] * (1.0 - part) + centres[first + 1] * part)
        longest = max(centre - lower, upper - centre)
        residual = (min(max(target[i], lower), upper) - centre) / longest
        residual = cap * min(max(residual, -1.0), 1.0)
        whole = np.int64(residual * (units * weights[i] if len(weights) > 0 else units))
        for k in range(terms):
            total[offsets[k] + bins[i, k], 0] += whole


@njit(cache=True, nogil=True)
def _amounts(bins, target, offsets, scores, intercept, cap, units, weights, total):
    rows, terms = bins.shape
    for i in range(rows):
        if math.isnan(target[i]):
            continue
        z = intercept[0]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        residual = min(max(math.exp(min(target[i] - z, 700.0)) - 1.0, -cap), cap)
        whole = np.int64(residual * (units * weights[i] if len(weights) > 0 else units))
        for k in range(terms):
            total[offsets[k] + bins[i, k], 0] += whole


@njit(cache=True, nogil=True)
def _quantiles(bins, target, offsets, scores, intercept, cap, level, units, weights, total):
    rows, terms = bins.shape
    for i in range(rows):
        if math.isnan(target[i]):
            continue
        z = intercept[0]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        residual = min(level if target[i] > z else level - 1.0, cap)
        residual = max(residual, -cap)
        whole = np.int64(residual * (units * weights[i] if len(weights) > 0 else units))
        for k in range(terms):
            total[offsets[k] + bins[i, k], 0] += whole


def objective_totals(
    aim: Aim,
    bins: RowBins,
    target: NDArray[np.float32],
    logs: Logs | None,
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    cap: float,
    width: float,
    units: float,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Sum of bounded residuals per bin of every term, for an objective other than "squared".

    Parameters
    ----------
    aim : Aim
    bins, offsets, scores, intercept, units, weights
        As for `voile.models.ebm.kernels.residual_totals`.
    target : ndarray of shape (rows,)
        Counts; logs of amounts per exposure; or the target scaled to [-1, 1] (NaN: none).
    logs : ndarray of shape (rows,), or None
        Log of the exposure of counts; None: all have the same.
    cap : float
        No residual is larger.
    width : float
        Of the window of counts (`voile.models.ebm.count_tables`).

    Returns
    -------
    ndarray of shape (cells, 1)
        int64.
    """
    total = np.zeros(scores.shape, dtype=np.int64)
    first, given = offsets.astype(np.uint64), or_none(weights)
    state = (first, scores, intercept, cap)
    if aim.objective == "poisson":
        table, own = count_table(width), _NO_LOGS if logs is None else logs
        _counts(bins, target, own, *state, width, table.centres, _GRID, units, given, total)
    elif aim.objective == "gamma":
        _amounts(bins, target, *state, units, given, total)
    else:
        _quantiles(bins, target, *state, aim.quantile, units, given, total)
    return total


@njit(cache=True, nogil=True)
def _misses(bins, target, logs, offsets, scores, intercept, counts, grid, found):
    rows, terms = bins.shape
    lowest, highest, _, deviations = grid
    for i in range(rows):
        z = intercept[0]
        if len(logs) > 0:
            z += logs[i]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        if counts:
            mean = math.exp(min(max(z, lowest), highest))
            found[i] = (target[i] - mean) / max(1.0, deviations * math.sqrt(mean))
        else:
            found[i] = target[i] - z


def objective_misses(
    aim: Aim,
    bins: RowBins,
    target: NDArray[np.float32],
    logs: Logs | None,
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How far each row's target is from its score, with a sign; NaN for rows without a target.

    Counts in half windows of width 1; amounts as a difference of logs; else on the scaled target.
    """
    found = np.empty(len(bins))
    own = _NO_LOGS if logs is None else logs
    counts = aim.objective == "poisson"
    _misses(bins, target, own, offsets.astype(np.uint64), scores, intercept, counts, _GRID, found)
    return found
