"""The two shapes of noise, and its grid: tables for the kernel, exact decisions where it is open.

Nothing is drawn here: the bits come from the caller. Proofs: docs/proofs/noise.md.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy import noise_kernels as kernels

GRID_BITS = 30
"""The noise scale is at least 2**30 steps of the grid, so rounding costs no accuracy."""


class BitStream(Protocol):
    """Where more random bits come from."""

    def bits(self, count: int) -> int:
        """Give an integer of `count` random bits."""


# A standard variable is +-x/16 with x > 0 of density proportional to exp(-g(x)), where
# g(x) = x (constant + quadratic x) / 512. Blocks are [m, m + 1).
_BLOCK_BITS = 4
_UNIT_BITS = 9


@dataclass(frozen=True)
class Shape:
    """A density on the half line, and how a draw is rounded to the integers."""

    constant: int
    quadratic: int
    to_nearest: bool  # round the signed variable; else truncate, and count zero once


GAUSSIAN = Shape(constant=0, quadratic=1, to_nearest=True)
LAPLACE = Shape(constant=32, quadratic=0, to_nearest=False)


def exp_bounds(numerator: int, shift: int, precision: int) -> tuple[int, int]:
    """Enclose exp(-numerator / 2**shift) * 2**precision between two integers."""
    halvings = max(0, numerator.bit_length() - shift)
    shift += halvings
    guard = halvings + 16
    working = precision + guard
    total, term, count = 0, 1 << working, 0
    while term:
        total += -term if count % 2 else term
        count += 1
        term = (term * numerator >> shift) // count
    # Every term is at most 2 units too small, and the rest of the series is at most 2.
    low = max(0, total - 2 * count - 2)
    high = total + 2 * count + 2
    for _ in range(halvings):
        low = low * low >> working
        high = (high * high >> working) + 1
    return low >> guard, (high >> guard) + 1


@lru_cache(maxsize=16)
def _cumulative(shape: Shape, precision: int) -> tuple[list[int], list[int]]:
    """Enclose the probability (times 2**precision) that the block is below m, for each m.

    The lists end where less than about 2**-precision is left.
    """
    lows, highs = [0], [0]
    block = 0
    while True:
        exponent = block * (shape.constant + shape.quadratic * block)
        low, high = exp_bounds(exponent, _UNIT_BITS, precision + 16)
        if exponent > 355 * (precision + 8):  # 512 ln 2 < 355
            break
        lows.append(lows[-1] + low)
        highs.append(highs[-1] + high)
        block += 1
    # From here on the weights fall at least by exp(-1/16) a block, and 1 / (1 - exp(-1/16)) < 17.
    total_low, total_high = lows[-1], highs[-1] + 17 * high
    return (
        [(low << precision) // total_high for low in lows],
        [-((-high << precision) // total_low) for high in highs],
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """The block probabilities as the kernel wants them."""

    thresholds: NDArray[np.uint64]
    guide: NDArray[np.int64]


@lru_cache(maxsize=2)
def table_of(shape: Shape) -> _Table:
    """Make the block probabilities of a shape, once."""
    lows, _ = _cumulative(shape, 64)
    end = 2**kernels.CHOICE_BITS
    floors = [low >> (64 - kernels.CHOICE_BITS) for low in lows]
    kept = [floor for floor in floors if floor < end - 2]
    # The last block of the table is never certain, so the tail is left to exact decisions.
    kept += [end - 2, end]
    thresholds = np.array(kept, dtype=np.uint64)
    starts = np.arange(2**kernels.GUIDE_BITS, dtype=np.uint64)
    starts <<= np.uint64(kernels.CHOICE_BITS - kernels.GUIDE_BITS)
    guide = np.searchsorted(thresholds, starts, side="right") - 1
    return _Table(thresholds, guide.astype(np.int64))


@dataclass
class _Lazy:
    """A uniform real in [0, 1) whose bits are drawn when they are needed."""

    value: int
    width: int

    def extend(self, stream: BitStream, width: int) -> None:
        more = width - self.width
        self.value = self.value << more | stream.bits(more)
        self.width = width


def _choose_block(shape: Shape, choice: _Lazy, stream: BitStream) -> int:
    precision = 64
    while True:
        choice.extend(stream, precision)
        lows, highs = _cumulative(shape, precision)
        # The last block that starts, for certain, at or before the interval of the choice.
        block = bisect_right(highs, choice.value) - 1
        if 0 <= block < len(lows) - 1 and choice.value + 1 <= lows[block + 1]:
            return block
        precision *= 2


def decide(shape: Shape, scale: Fraction, first: int, second: int, stream: BitStream) -> int | None:
    """Decide one proposal exactly: its value, or None when it is rejected.

    The words are those the kernel read, with the same meaning; what they leave open is settled
    with more bits.
    """
    width = kernels.CHOICE_BITS
    choice = _Lazy(first >> width, width)
    accept = _Lazy(first & (2**width - 1), width)
    place = _Lazy(second & (2**kernels.POSITION_BITS - 1), kernels.POSITION_BITS)

    block = _choose_block(shape, choice, stream)

    linear = shape.constant + 2 * shape.quadratic * block
    precision = 64
    while True:
        accept.extend(stream, precision)
        place.extend(stream, precision)
        unit = 2 * precision + _UNIT_BITS
        nearest = place.value * ((linear << precision) + shape.quadratic * place.value)
        end = place.value + 1
        furthest = end * ((linear << precision) + shape.quadratic * end)
        if accept.value + 1 <= exp_bounds(furthest, unit, precision)[0]:
            break
        if accept.value >= exp_bounds(nearest, unit, precision)[1]:
            return None
        precision += 64

    offset = Fraction(1, 2) if shape.to_nearest else Fraction(0)
    while True:
        blocks = (block << place.width) + place.value
        step = scale / (1 << (place.width + _BLOCK_BITS))
        size = math.floor(step * blocks + offset)
        if math.ceil(step * (blocks + 1) + offset) - 1 == size:
            break
        place.extend(stream, place.width + 64)

    negative = second >> 63
    if not shape.to_nearest and negative and size == 0:
        return None
    return -size if negative else size


class _ShapeSettings(NamedTuple):
    """What the kernel wants to know besides the table, in its order; see `kernels.draw`."""

    constant: float
    linear: float
    quadratic: float
    mantissa: np.uint64
    shift: np.uint64
    half: np.uint64
    one_zero: bool


def settings_of(shape: Shape, scale: float) -> _ShapeSettings:
    """Make the numbers the kernel needs for a scale, in grid steps."""
    unit = 2.0**-_UNIT_BITS
    fraction, exponent = math.frexp(scale)
    # scale = mantissa * 2**(exponent - 53); a block is 2**-4 and the position in it has 53 bits.
    shift = _BLOCK_BITS + kernels.POSITION_BITS + 53 - exponent
    return _ShapeSettings(
        constant=shape.constant * unit,
        linear=2 * shape.quadratic * unit,
        quadratic=shape.quadratic * unit,
        mantissa=np.uint64(int(fraction * 2.0**53)),
        # The kernel shifts and adds in the high word of a 128-bit number; 70 <= shift <= 109.
        shift=np.uint64(shift - 64),
        half=np.uint64(1 << (shift - 65) if shape.to_nearest else 0),
        one_zero=not shape.to_nearest,
    )


def grid_for(scale: float) -> float:
    """Choose the grid for a noise scale: the power of two g with 2**30 <= scale / g < 2**31.

    Parameters
    ----------
    scale : float
        Standard deviation or Laplace scale of the noise, in the units of the data.

    Returns
    -------
    float
        The step g. Dividing by it is exact, and a 64-bit total times g does not overflow.

    Raises
    ------
    SettingError
        If the scale is not a positive finite number, or g would leave the range of doubles.
    """
    scale = float(scale)
    if not (math.isfinite(scale) and scale > 0):
        raise SettingError(f"the noise scale is {scale!r} and must be a positive finite number")
    exponent = math.frexp(scale)[1] - (GRID_BITS + 1)
    # 2**63 steps must be finite, and a step must be a normal number for division to be exact.
    if not -1022 <= exponent <= 960:
        raise SettingError(
            f"the noise scale {scale!r} is too extreme for a grid of doubles: "
            "rescale the data so that the scale lies between 1e-298 and 1e298"
        )
    return math.ldexp(1.0, exponent)
