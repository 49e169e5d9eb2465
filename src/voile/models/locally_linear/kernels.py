"""The mathematics of one row: blended scores, the gradient's coefficients, and its length.

A row's gradient is c_mk times the row's point, so its length follows from the coefficients and the
point's own length: no gradient is ever formed. Everything is computed row by row, in the same order
for every row, so nothing depends on the rows beside it. Proof: docs/proofs/locally-linear.md.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_f = np.float32


@njit(inline="always", nogil=True)
def _exp(x):  # pragma: no cover
    """Fast exp for x <= 0, within 10^-3 of the true value and far less near 0; vectorises."""
    x = max(x, _f(-40.0)) * _f(1.0 / 64.0)
    r = _f(1.0) + x * (
        _f(1.0)
        + x * (_f(0.5) + x * (_f(1 / 6) + x * (_f(1 / 24) + x * (_f(1 / 120) + x * _f(1 / 720)))))
    )
    r = r * r
    r = r * r
    r = r * r
    r = r * r
    r = r * r
    return r * r


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "arcp"})
def _coefficients(g, unit, beta, own, classes, maps, f, s):  # pragma: no cover
    """Turn the scores ``g`` of one copy into the coefficients of its gradient, in place."""
    for k in range(classes):
        first = k * maps
        best = _f(-3e38)
        for m in range(maps):
            g[first + m] *= unit
            best = max(best, g[first + m])
        total = _f(0.0)
        blend = _f(0.0)
        for m in range(maps):
            e = _exp(beta * (g[first + m] - best))
            s[first + m] = e
            total += e
            blend += e * g[first + m]
        f[k] = blend / total
        share = _f(1.0) / total
        for m in range(maps):
            s[first + m] *= share
    best = f[0]
    for k in range(1, classes):
        best = max(best, f[k])
    total = _f(0.0)
    for k in range(classes):
        total += np.exp(f[k] - best)
    for k in range(classes):
        push = np.exp(f[k] - best) / total - (_f(1.0) if k == own else _f(0.0))
        first = k * maps
        for m in range(maps):
            g[first + m] = push * s[first + m] * (_f(1.0) + beta * (g[first + m] - f[k]))


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "arcp"})
def _dot(a, b):  # pragma: no cover
    result = _f(0.0)
    for j in range(len(a)):
        result += a[j] * b[j]
    return result


@njit(cache=True, nogil=True)
def _whole_dot(a, b):  # pragma: no cover
    # Points are no longer than 2^11, so by Cauchy and Schwarz no partial sum reaches 2^23.
    result = np.int32(0)
    for j in range(len(a)):
        result += np.int32(a[j]) * np.int32(b[j])
    return result


@njit(cache=True, nogil=True)
def _write(g, scale, out):  # pragma: no cover
    for j in range(len(g)):
        # Nothing times what is not a number would be no number.
        out[j] = np.trunc(g[j] * scale) if scale > _f(0.0) else 0.0


@njit(cache=True, nogil=True)
def _scale(squared, doubt, clip, largest, most, unit):  # pragma: no cover
    """What coefficients are multiplied by so that the row stays within ``clip``, in whole units.

    ``doubt`` bounds the rounding error of ``squared``.
    """
    length = np.sqrt(max(squared, 0.0) + doubt)
    scale = 1.0 if length <= clip else clip / length
    if largest * scale > most:
        scale = most / largest
    # Written so that what is not a number counts as nothing.
    return scale * unit * (1.0 - 1e-6) if scale > 0.0 else 0.0


@njit(cache=True, nogil=True)
def blend_copies(  # pragma: no cover
    scores, points, own, classes, maps, unit, beta, bias, clip, most, whole, out
):
    """Coefficients of whole rows, each the mean over the row's copies, cut to whole numbers.

    Parameters
    ----------
    scores : float32 array of shape (rows, copies, classes maps)
        Exact products of points and weights, in ``unit``; overwritten.
    points : int16 array of shape (rows, copies, size)
    own : int64 array of shape (rows,)
        Class numbers; -1 adds nothing.
    bias : float
        Square of the constant input, in squared units of points.
    clip, most : float
        Bound of a row's length, in units of 1, and of a single coefficient.
    whole : float
        Coefficients are multiples of 1 / whole.
    out : float64 array of shape (rows, copies, classes maps)
    """
    rows, copies, width = scores.shape
    f = np.empty(classes, dtype=np.float32)
    s = np.empty(width, dtype=np.float32)
    one = 2.0**-22
    rounding = (width + 64.0) * 2.0**-22
    # What cutting coefficients to whole numbers can add to the length of a sum over copies.
    slack = copies * np.sqrt(width) / whole * 1.5 if copies > 1 else 0.0
    for i in range(rows):
        if own[i] < 0 or clip <= slack:
            out[i] = 0.0
            continue
        squared, reach, largest = 0.0, 0.0, 0.0
        for a in range(copies):
            _coefficients(scores[i, a], unit, beta, own[i], classes, maps, f, s)
            for b in range(a + 1):
                inner = (_whole_dot(points[i, a], points[i, b]) + bias) * one
                product = np.float64(_dot(scores[i, a], scores[i, b]))
                if a == b:
                    squared += product * inner
                    reach += np.sqrt(product * inner)
                else:
                    squared += 2.0 * product * inner
            for j in range(width):
                largest = max(largest, abs(scores[i, a, j]))
        mean = 1.0 / copies
        scale = _scale(
            squared * mean**2,
            rounding * (reach * mean) ** 2,
            clip - slack,
            largest * mean,
            most,
            whole,
        )
        for a in range(copies):
            _write(scores[i, a], np.float32(scale * mean), out[i, a])


@njit(cache=True, nogil=True)
def blend_projected(  # pragma: no cover
    scores, squares, own, classes, maps, unit, beta, clip, most, whole, out
):
    """The same for rows that every map sees through a projection of its own.

    Parameters
    ----------
    scores, out : arrays of shape (rows, classes maps)
    squares : float32 array of shape (rows, maps)
        Squared length of each projection, no less than the true one, with the constant input.
    """
    rows, width = scores.shape
    f = np.empty(classes, dtype=np.float32)
    s = np.empty(width, dtype=np.float32)
    rounding = (width + 64.0) * 2.0**-22
    for i in range(rows):
        if own[i] < 0:
            out[i] = 0.0
            continue
        _coefficients(scores[i], unit, beta, own[i], classes, maps, f, s)
        squared, largest = 0.0, 0.0
        for k in range(classes):
            for m in range(maps):
                c = np.float64(scores[i, k * maps + m])
                squared += c * c * squares[i, m]
                largest = max(largest, abs(c))
        scale = _scale(squared, rounding * squared, clip, largest, most, whole)
        _write(scores[i], np.float32(scale), out[i])


@njit(cache=True, nogil=True)
def squared_lengths(values, out):  # pragma: no cover
    """Squared length of each row, row by row."""
    for i in range(len(values)):
        squared = 0.0
        for j in range(values.shape[1]):
            squared += np.float64(values[i, j]) * np.float64(values[i, j])
        out[i] = squared


@njit(cache=True, nogil=True)
def shorten(values, length, out):  # pragma: no cover
    """Scale each row to ``length`` exactly (0: only those longer than 1, to 1); nothing stays so.

    Row by row: numpy's sums along rows may go another way when there are more of them.
    """
    for i in range(len(values)):
        squared = 0.0
        for j in range(values.shape[1]):
            squared += values[i, j] * values[i, j]
        norm = np.sqrt(squared)
        if length > 0.0:
            scale = length / norm if norm > 1e-9 else 0.0
        else:
            scale = 1.0 / norm if norm > 1.0 else 1.0
        for j in range(values.shape[1]):
            out[i, j] = values[i, j] * scale
