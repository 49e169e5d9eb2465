"""Kernels that add residuals up per bin, in integers.

One pass per round: a row's score is the sum of its bins' released scores, its residual is bounded,
cut to whole units towards zero, and added to one cell of every term. Integers make the sum exact
(docs/proofs/ebm.md), which no library's histogram does, hence own code.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy.query_kernels import Weights, or_none

RowBins = NDArray[np.uint8] | NDArray[np.uint16]
"""Bins of rows, (rows, terms): one or two bytes each."""

_LOG2_OF_E = 1.4426950408889634
_LOG_OF_2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""In two parts: the first has zeros at its end, so that whole multiples of it are exact."""

_ROUNDING = 1.5 * 2.0**52
"""Added and taken away again: the nearest whole number."""

_SERIES = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
_TERMS = len(_SERIES)

_AT_ONCE = 256
"""Rows whose exponentials are taken together."""

_FEW, _MANY = 4, 24
"""Outputs from which loops over them are long enough for several at once, in a product and in a
row with all that is done between."""


@njit(cache=True, nogil=True)
def _exponentials(values, top, whole, powers):
    """exp(value - top) in place, for values up to ``top``: within 2 ulps, 8 of them at once.

    2^whole times a power series of the rest; ``powers`` is the memory of ``whole`` as floats.
    """
    for o in range(len(values)):
        value = values[o] - top
        value = value if value > -700.0 else -700.0
        near = (value * _LOG2_OF_E + _ROUNDING) - _ROUNDING
        rest = (value - near * _LOG_OF_2[0]) - near * _LOG_OF_2[1]
        series = _SERIES[0]
        for j in range(1, _TERMS):
            series = _SERIES[j] + rest * series
        whole[o] = (np.int64(near) + 1023) << 52
        values[o] = (series * rest * rest + rest) + 1.0
    for o in range(len(values)):
        values[o] *= powers[o]


@njit(cache=True, nogil=True)
def _logit(bins, target, offsets, scores, intercept, cap, units, weights, total):
    terms = bins.shape[1]
    z = np.empty(_AT_ONCE)
    whole = np.empty(_AT_ONCE, dtype=np.int64)
    powers = whole.view(np.float64)
    for first in range(0, len(bins), _AT_ONCE):
        own, rows = target[first : first + _AT_ONCE], bins[first : first + _AT_ONCE]
        count = len(own)
        for i in range(count):
            score = intercept[0]
            for k in range(terms):
                score += scores[offsets[k] + rows[i, k], 0]
            z[i] = min(-score if own[i] > 0.5 else score, 0.0)
        _exponentials(z[:count], 0.0, whole, powers)
        for i in range(count):
            # y - p, weighted by cap / max(p, 1 - p): at most cap, and zero on average at the truth.
            residual = cap * z[i] if own[i] > 0.5 else -cap * z[i]
            scale = units * weights[first + i] if len(weights) > 0 else units
            whole[i] = np.int64(residual * scale) if own[i] >= 0.0 else 0
        for i in range(count):
            for k in range(terms):
                total[offsets[k] + rows[i, k], 0] += whole[i]


@njit(cache=True, nogil=True)
def _softmax(bins, target, offsets, scores, intercept, cap, units, weights, total):
    rows, terms = bins.shape
    outputs = len(intercept)
    p = np.empty(outputs)
    whole = np.empty(outputs, dtype=np.int64)
    for i in range(rows):
        if target[i] < 0.0:
            continue
        top = -math.inf
        for o in range(outputs):
            z = intercept[o]
            for k in range(terms):
                z += scores[offsets[k] + bins[i, k], o]
            p[o] = z
            top = max(top, z)
        mass = 0.0
        for o in range(outputs):
            p[o] = math.exp(p[o] - top)
            mass += p[o]
        square, least = 0.0, 1.0
        for o in range(outputs):
            p[o] /= mass
            square += p[o] * p[o]
            least = min(least, p[o])
        # The longest residual that any class could have here decides, so that the weight does not
        # depend on the row's own class and the probabilities stay calibrated.
        longest = math.sqrt(1.0 - 2.0 * least + square)
        weight = min(1.0, cap / longest)
        label = int(target[i])
        norm = 0.0
        for o in range(outputs):
            value = weight * ((1.0 if o == label else 0.0) - p[o])
            norm += value * value
            p[o] = value
        # Rounding above could leave the norm an ulp too long: clip, whatever the arithmetic did.
        norm = math.sqrt(norm)
        scale = 1.0 if norm <= cap * (1.0 - 1e-12) else cap * (1.0 - 1e-12) / norm
        if len(weights) > 0:
            scale *= weights[i]
        for o in range(outputs):
            whole[o] = np.int64(p[o] * scale * units)
        for k in range(terms):
            cell = offsets[k] + bins[i, k]
            for o in range(outputs):
                total[cell, o] += whole[o]


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _sum(values):
    total = 0.0
    for o in range(len(values)):
        total += values[o]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _squares(values):
    total = 0.0
    for o in range(len(values)):
        total += values[o] * values[o]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def _ends(values):
    least, most = values[0], values[0]
    for o in range(len(values)):
        least = values[o] if values[o] < least else least
        most = values[o] if values[o] > most else most
    return least, most


@njit(cache=True, nogil=True)
def _many_classes(bins, target, offsets, scores, intercept, cap, units, weights, total):
    """The same as `_softmax`, output after output in the order of memory, several at once."""
    rows, terms = bins.shape
    outputs = len(intercept)
    p = np.empty(outputs)
    whole = np.empty(outputs, dtype=np.int64)
    powers = whole.view(np.float64)
    # Sums of many squares may be too small by as many ulps.
    limit = cap * (1.0 - 1e-12 - outputs * 2.3e-16)
    for i in range(rows):
        if target[i] < 0.0:
            continue
        p[:] = intercept
        for k in range(terms):
            cell = offsets[k] + bins[i, k]
            for o in range(outputs):
                p[o] += scores[cell, o]
        _exponentials(p, _ends(p)[1], whole, powers)
        mass = 1.0 / _sum(p)
        for o in range(outputs):
            p[o] *= mass
        longest = math.sqrt(1.0 - 2.0 * _ends(p)[0] + _squares(p))
        weight = min(1.0, cap / longest)
        p[int(target[i])] -= 1.0
        norm = weight * math.sqrt(_squares(p))
        scale = -units * (weight if norm <= limit else weight * limit / norm)
        if len(weights) > 0:
            scale *= weights[i]
        for o in range(outputs):
            whole[o] = np.int64(p[o] * scale)
        for k in range(terms):
            cell = offsets[k] + bins[i, k]
            for o in range(outputs):
                total[cell, o] += whole[o]


@njit(cache=True, nogil=True)
def _squared(bins, target, offsets, scores, intercept, cap, units, weights, total):
    rows, terms = bins.shape
    for i in range(rows):
        if math.isnan(target[i]):
            continue
        z = intercept[0]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        residual = min(max(target[i] - z, -cap), cap)
        whole = np.int64(residual * (units * weights[i] if len(weights) > 0 else units))
        for k in range(terms):
            total[offsets[k] + bins[i, k], 0] += whole


@njit(cache=True, nogil=True)
def _sizes(bins, target, offsets, scores, intercept, cells):
    rows, terms = bins.shape
    for i in range(rows):
        if math.isnan(target[i]):
            cells[i] = math.nan
            continue
        z = intercept[0]
        for k in range(terms):
            z += scores[offsets[k] + bins[i, k], 0]
        cells[i] = abs(target[i] - z)


_RESIDUALS = {"logit": _logit, "softmax": _softmax, "identity": _squared}


def residual_totals(
    link: str,
    bins: RowBins,
    target: NDArray[np.float32],
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
    cap: float,
    units: float,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Sum of bounded residuals per bin of every term.

    Parameters
    ----------
    link : {"logit", "softmax", "identity"}
    bins : ndarray of shape (rows, terms)
        Unsigned integers.
    target : ndarray of shape (rows,)
        Class index (negative: none), or the target scaled to [-1, 1] (NaN: none).
    offsets : ndarray of shape (terms + 1,)
        First cell of each term.
    scores : ndarray of shape (cells, outputs)
    intercept : ndarray of shape (outputs,)
    cap : float
        Largest norm of a row's residual.
    units : float
        Units per 1; each residual is cut to whole units towards zero.
    weights : ndarray of shape (rows,), optional
        In [0, 1]; multiply the bounded residuals.

    Returns
    -------
    ndarray of shape (cells, outputs)
        int64.
    """
    total = np.zeros(scores.shape, dtype=np.int64)
    # Unsigned: an index that may be negative costs a comparison each time it is used.
    first = offsets.astype(np.uint64)
    given = or_none(weights)
    many = link == "softmax" and len(intercept) >= _MANY
    kernel = _many_classes if many else _RESIDUALS[link]
    kernel(bins, target, first, scores, intercept, cap, units, given, total)
    return total


def residual_sizes(
    bins: RowBins,
    target: NDArray[np.float32],
    offsets: NDArray[np.int64],
    scores: NDArray[np.float64],
    intercept: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Absolute residual of each row (regression); NaN for rows without a target."""
    sizes = np.empty(len(bins))
    _sizes(bins, target, offsets.astype(np.uint64), scores, intercept, sizes)
    return sizes


@njit(cache=True, nogil=True)
def _pairs(bins, offsets, groups, across, units, weights, total):
    rows, terms = bins.shape
    found = np.empty(terms, dtype=np.int64)
    for i in range(rows):
        for k in range(terms):
            found[k] = groups[offsets[k] + bins[i, k]]
        whole = np.int64(units * weights[i]) if len(weights) > 0 else np.int64(units)
        table = 0
        for k in range(terms):
            for j in range(k + 1, terms):
                total[table + found[k] * across + found[j]] += whole
                table += across * across


def pair_totals(
    bins: RowBins,
    offsets: NDArray[np.int64],
    groups: NDArray[np.int64],
    across: int,
    units: int,
    weights: Weights | None = None,
) -> NDArray[np.int64]:
    """Counts of all pairs of terms, ``across`` x ``across`` groups each, end to end.

    A row of weight 1 counts ``units``.
    """
    terms = bins.shape[1]
    total = np.zeros(terms * (terms - 1) // 2 * across * across, dtype=np.int64)
    _pairs(bins, offsets, groups, across, float(units), or_none(weights), total)
    return total


@njit(cache=True, nogil=True)
def _mix(matrix, sums, mixed):
    for i in range(len(matrix)):
        for j in range(len(sums)):
            factor = matrix[i, j]
            for o in range(sums.shape[1]):
                mixed[i, o] += factor * sums[j, o]


def mix(matrix: NDArray[np.int64], sums: NDArray[np.int64]) -> NDArray[np.int64]:
    """A matrix, or a diagonal, times sums of shape (bins, outputs), in whole numbers.

    Beyond 64 bits it wraps around, as numpy's product does, which has no fast way for integers.
    """
    if matrix.shape[-1] != len(sums):
        raise SettingError("A mixing matrix needs a column for each bin.")
    if matrix.ndim == 1:
        return matrix[:, None] * sums
    if sums.shape[1] < _FEW:
        return matrix @ sums
    mixed = np.zeros((len(matrix), sums.shape[1]), dtype=np.int64)
    _mix(np.ascontiguousarray(matrix), np.ascontiguousarray(sums), mixed)
    return mixed


@njit(cache=True, nogil=True)
def _add_scores(found, scores, total):
    rows, outputs = total.shape
    if outputs == 1:
        # By themselves, so that several rows are added up at once.
        only, sums = scores[:, 0], total[:, 0]
        for i in range(rows):
            sums[i] += only[found[i]]
        return
    for i in range(rows):
        bin = found[i]
        for o in range(outputs):
            total[i, o] += scores[bin, o]


def add_scores(
    found: NDArray[np.int64], scores: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Add to each row of ``total``, (rows, outputs), the scores of the bin that it falls into."""
    # A bin that a term does not have would be read beyond its end.
    if len(found) != len(total) or scores.shape[1] != total.shape[1]:
        raise SettingError("Each row needs its bin, and each bin a score per output.")
    if len(found) and not 0 <= found.min() <= found.max() < len(scores):
        raise SettingError("A row falls into a bin that the term does not have.")
    _add_scores(found, np.ascontiguousarray(scores), total)
