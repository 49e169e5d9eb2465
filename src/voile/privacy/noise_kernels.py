"""Compiled loops that turn random words into noise: they decide what is certain, nothing else.

A word is 64 uniform bits. The kernels work on the leading bits of ideal real numbers; whenever
those bits, or the rounding error of a double, leave an answer open they stop and hand the
proposal back to :mod:`voile.privacy.noise`, which decides it exactly with Python integers. No
kernel calls a mathematical library: the exponential is a polynomial whose error is bounded in
docs/proofs/noise.md, so the bound does not depend on the machine.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

_P = ParamSpec("_P")
_R = TypeVar("_R")

# No fastmath: the error bounds of the proof need every operation as it is written.
_compiled = cast(
    Callable[[Callable[_P, _R]], Callable[_P, _R]],
    njit(cache=True, nogil=True, error_model="numpy"),
)

POSITION_BITS = 53
"""Leading bits of the position inside a block that a proposal starts with."""

CHOICE_BITS = 32
"""Leading bits of the block choice, and of the acceptance variable."""

GUIDE_BITS = 12
"""The guide table is indexed by this many leading bits of the block choice."""

MARGIN = 2.0**-40
"""Distance from the acceptance probability below which a double does not decide."""

_LOW32 = np.uint64(0xFFFFFFFF)
_U1 = np.uint64(1)
_U2 = np.uint64(2)
_U32 = np.uint64(32)
_U63 = np.uint64(63)
_POSITION = np.uint64(POSITION_BITS)
_POSITION_MASK = np.uint64(2**POSITION_BITS - 1)
_GUIDE_SHIFT = np.uint64(CHOICE_BITS - GUIDE_BITS)
_POSITION_UNIT = 2.0**-POSITION_BITS
_CHOICE_UNIT = 2.0**-CHOICE_BITS


@_compiled
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Give the high and the low word of the exact 128-bit product."""
    a0 = a & _LOW32
    a1 = a >> _U32
    b0 = b & _LOW32
    b1 = b >> _U32
    p00 = a0 * b0
    p01 = a0 * b1
    p10 = a1 * b0
    middle = (p00 >> _U32) + (p01 & _LOW32) + (p10 & _LOW32)
    low = (middle << _U32) | (p00 & _LOW32)
    high = a1 * b1 + (p01 >> _U32) + (p10 >> _U32) + (middle >> _U32)
    return high, low


@_compiled
def exp_minus(t: float) -> float:
    """Evaluate exp(-t) for 0 <= t <= 1/2 with an absolute error below 2**-45.

    The Taylor polynomial of degree 13 in Horner's form; the error bound is in the proof.
    """
    y = 1.0 - t * (1.0 / 13.0)
    y = 1.0 - t * (1.0 / 12.0) * y
    y = 1.0 - t * (1.0 / 11.0) * y
    y = 1.0 - t * (1.0 / 10.0) * y
    y = 1.0 - t * (1.0 / 9.0) * y
    y = 1.0 - t * (1.0 / 8.0) * y
    y = 1.0 - t * (1.0 / 7.0) * y
    y = 1.0 - t * (1.0 / 6.0) * y
    y = 1.0 - t * (1.0 / 5.0) * y
    y = 1.0 - t * (1.0 / 4.0) * y
    y = 1.0 - t * (1.0 / 3.0) * y
    y = 1.0 - t * (1.0 / 2.0) * y
    return 1.0 - t * y


@_compiled
def draw(
    words: NDArray[np.uint64],
    position: int,
    out: NDArray[np.int64],
    filled: int,
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.int64],
    constant: float,
    linear: float,
    quadratic: float,
    mantissa: np.uint64,
    shift: np.uint64,
    half: np.uint64,
    one_zero: bool,
) -> tuple[int, int, bool]:
    """Fill `out` from `filled` on with draws made of `words` from `position` on.

    A proposal takes two words: 32 bits choose the block, 32 decide acceptance; one bit is the
    sign, 53 are the position inside the block.

    Parameters
    ----------
    words : array of uint64
        Uniform words; an even number of them from `position` on.
    position, filled : int
        Where to go on reading, where to go on writing.
    out : array of int64
        Receives the draws.
    thresholds, guide : arrays
        Cumulative block probabilities in units of 2**-32, and where to start looking.
    constant, linear, quadratic : float
        The exponent of the acceptance probability in block m at position f is
        ``f * (constant + linear * m + quadratic * f)``.
    mantissa, shift, half : uint64
        The draw is ``(mantissa * (m + f) + half) >> shift`` in the fixed point of the proof.
    one_zero : bool
        Reject minus zero, so that zero is not counted twice.

    Returns
    -------
    tuple of (int, int, bool)
        Next position, number filled, and whether the proposal at this position is undecided.
    """
    end = words.shape[0] - 1
    size = out.shape[0]
    while filled < size and position < end:
        first = words[position]
        second = words[position + 1]

        choice = first >> _U32
        m = guide[choice >> _GUIDE_SHIFT]
        while thresholds[m + 1] <= choice:
            m += 1
        # thresholds are rounded down: just above one, the choice may still be the block before.
        if choice < thresholds[m] + _U2:
            return position, filled, True

        fraction = second & _POSITION_MASK
        f = np.float64(fraction) * _POSITION_UNIT
        t = f * (constant + linear * m + quadratic * f)
        below = np.float64(first & _LOW32) * _CHOICE_UNIT
        above = below + (_CHOICE_UNIT + MARGIN)
        # exp(-t) >= 1 - t decides nearly all proposals without the polynomial.
        if above > 1.0 - t:
            chance = exp_minus(t)
            if above > chance:
                if below < chance + MARGIN:
                    return position, filled, True
                position += 2
                continue

        high, low = multiply((np.uint64(m) << _POSITION) | fraction, mantissa)
        high += half
        k = high >> shift
        if low + mantissa < low and (high + _U1) >> shift != k:
            return position, filled, True

        position += 2
        negative = second >> _U63
        if one_zero and negative == _U1 and k == 0:
            continue
        out[filled] = np.int64(k) * (np.int64(1) - np.int64(2) * np.int64(negative))
        filled += 1
    return position, filled, False


@_compiled
def shuffle(words: NDArray[np.uint64], items: NDArray[np.int64], remaining: int) -> int:
    """Go on with a Fisher-Yates shuffle of `items`, of which `remaining` are still unplaced.

    Returns how many are still unplaced when the words run out. Each place is an unbiased
    integer: the high word of word * bound, rejected where the low word would favour some values
    (Lemire, Fast random integer generation in an interval, 2019).
    """
    for word in words:
        if remaining < 2:
            break
        bound = np.uint64(remaining)
        high, low = multiply(word, bound)
        if low < bound and low < (np.uint64(0) - bound) % bound:
            continue
        last = remaining - 1
        chosen = np.int64(high)
        kept = items[last]
        items[last] = items[chosen]
        items[chosen] = kept
        remaining -= 1
    return remaining


@_compiled
def deal(words: NDArray[np.uint64], groups: np.uint64, out: NDArray[np.int64], filled: int) -> int:
    """Fill `out` from `filled` on with unbiased integers below `groups`, as in `shuffle`.

    Returns how many are filled when the words run out. An entry depends on its own words alone.
    """
    for word in words:
        if filled >= out.shape[0]:
            break
        high, low = multiply(word, groups)
        if low < groups and low < (np.uint64(0) - groups) % groups:
            continue
        out[filled] = np.int64(high)
        filled += 1
    return filled
