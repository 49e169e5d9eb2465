"""All the noise there is: secure draws on an integer grid, exact, from operating-system entropy.

Why own code: numpy's generators are predictable and their doubles leak through the grid of
floating-point numbers (Mironov, CCS 2012); exact samplers (Canonne, Kamath and Steinke, NeurIPS
2020) cost tens of microseconds a draw, too slow for training. Here a compiled kernel decides what
64 random bits make certain, and the rare rest is decided exactly with Python integers and more
random bits: the draws follow their distribution without any approximation, given uniform bits
(docs/proofs/noise.md).

Every call takes a new 256-bit key from the operating system, expands it with ChaCha20 and forgets
it. Without a state nothing can be repeated by a fork, a thread, a pickle or a saved machine.
"""

import hashlib
import itertools
import math
import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from fractions import Fraction
from numbers import Rational
from typing import SupportsIndex

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.privacy import noise_kernels as kernels
from voile.privacy.noise_shapes import (
    GAUSSIAN,
    GRID_BITS,
    LAPLACE,
    Shape,
    decide,
    grid_for,
    settings_of,
    table_of,
)
from voile.privacy.tape.listening import current, overheard

__all__ = [
    "GRID_BITS",
    "NoiseSource",
    "bernoulli",
    "current_source",
    "deal",
    "fixed_noise",
    "flip_exp",
    "gaussian",
    "grid_for",
    "laplace",
    "permutation",
    "uniform_below",
]

_LARGEST_SCALE = 2.0**40

# 256 KiB of words at a time stay in the cache between the cipher and the kernel.
_CHUNK_WORDS = 2**15
_ZEROS = memoryview(bytes(8 * _CHUNK_WORDS))
_REKEY_BYTES = 2**30


class NoiseSource(StrEnum):
    """Where random bits come from, in the words of the receipt."""

    SYSTEM = "operating system entropy"
    FIXED = "fixed seed (test only, no guarantee)"


class _FixedKeys:
    """A reproducible sequence of keys, for tests."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._counter = itertools.count()

    def next_key(self) -> bytes:
        text = f"voile fixed noise {self._seed} {next(self._counter)}"
        return hashlib.sha256(text.encode()).digest()


_fixed_keys: ContextVar[_FixedKeys | None] = ContextVar("voile_fixed_noise", default=None)


@contextmanager
def fixed_noise(seed: int) -> Iterator[None]:
    """Make every draw inside the block reproducible, for tests only: nothing is private then.

    The seed replaces the operating system's entropy and nothing else: cipher, kernels and exact
    decisions are the same. It holds in the current context (threads started inside draw real
    noise); nested blocks restore the outer sequence where it was. A process forked inside the
    block repeats the sequence of its parent.

    Parameters
    ----------
    seed : int
        Any integer.
    """
    token = _fixed_keys.set(_FixedKeys(operator.index(seed)))
    try:
        yield
    finally:
        _fixed_keys.reset(token)


def current_source() -> NoiseSource:
    """Say where a draw made now would take its bits from; the receipt writes it down."""
    # An audit that listens knows the noise: what is made meanwhile guarantees nothing.
    return NoiseSource.FIXED if _fixed_keys.get() or current() else NoiseSource.SYSTEM


class _Stream:
    """Random words for the duration of one call."""

    def __init__(self) -> None:
        self._fixed = _fixed_keys.get()
        self._rekey()

    def _rekey(self) -> None:
        key = os.urandom(32) if self._fixed is None else self._fixed.next_key()
        # A key is used once, so the nonce may be constant; it starts the block counter at 0.
        self._cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
        self._left = _REKEY_BYTES

    def _count(self, size: int) -> None:
        if size > self._left:
            self._rekey()
        self._left -= size

    def words(self, count: int) -> NDArray[np.uint64]:
        """Give `count` new words, at most `_CHUNK_WORDS`."""
        buffer = np.empty(count, dtype=np.uint64)
        self._count(8 * count)
        written = self._cipher.update_into(_ZEROS[: 8 * count], buffer.view(np.uint8).data)
        if written != 8 * count:  # memory that the cipher did not write must never pass as random
            raise RuntimeError(f"{8 * count} random bytes were asked for and {written} came")
        return buffer

    def bits(self, count: int) -> int:
        """Give an integer of `count` random bits."""
        size = -(-count // 8)
        parts = []
        for start in range(0, size, len(_ZEROS)):
            zeros = _ZEROS[: size - start]
            self._count(len(zeros))
            parts.append(self._cipher.update(zeros))
        return int.from_bytes(b"".join(parts), "little") >> (-count % 8)

    def below(self, bound: int) -> int:
        """Give an unbiased integer in ``range(bound)``."""
        width = (bound - 1).bit_length()
        while True:
            candidate = self.bits(width)
            if candidate < bound:
                return candidate


@overheard
def _draw(shape: Shape, size: SupportsIndex, scale: float) -> NDArray[np.int64]:
    count = _checked_size(size)
    scale = float(scale)
    if not 1.0 <= scale < _LARGEST_SCALE:
        raise SettingError(
            f"the noise scale is {scale!r} grid steps and must be at least 1 and below 2**40: "
            "divide the scale by grid_for(scale)"
        )
    out = np.empty(count, dtype=np.int64)
    if count == 0:
        return out
    table = table_of(shape)
    settings = settings_of(shape, scale)
    stream = _Stream()
    filled = 0
    while filled < count:
        # At least 96.9 % of proposals are accepted, so this mostly suffices.
        wanted = 2 * (count - filled)
        words = stream.words(min(_CHUNK_WORDS, wanted + wanted // 16 * 2 + 16))
        position = 0
        while True:
            position, filled, undecided = kernels.draw(
                words, position, out, filled, table.thresholds, table.guide, *settings
            )
            if not undecided:
                break
            first, second = int(words[position]), int(words[position + 1])
            value = decide(shape, Fraction(scale), first, second, stream)
            position += 2
            if value is not None:
                # Beyond 64 bits a value wraps, as the total it is added to would.
                out[filled] = (value + 2**63) % 2**64 - 2**63
                filled += 1
    return out


def _checked_size(size: SupportsIndex) -> int:
    count = operator.index(size)
    if count < 0:
        raise SettingError(f"size is {count} and must be 0 or more")
    return count


# --- public draws -------------------------------------------------------------------------------


def gaussian(size: SupportsIndex, scale: float) -> NDArray[np.int64]:
    """Draw Gaussian noise on the grid: normal variables rounded to the nearest integer, exactly.

    An integer total plus this noise is the Gaussian mechanism, rounded: exactly mu-GDP with
    mu = sensitivity / scale. The law is within 1 / (24 scale**2), that is 2**-64 at scale
    2**30, of the discrete Gaussian with probabilities proportional to exp(-k**2 / (2 scale**2)).

    Parameters
    ----------
    size : int
        Number of independent draws.
    scale : float
        Standard deviation before rounding, in grid steps: from 1 to below 2**40.

    Returns
    -------
    array of int64
        The draws.
    """
    return _draw(GAUSSIAN, size, scale)


def laplace(size: SupportsIndex, scale: float) -> NDArray[np.int64]:
    """Draw discrete Laplace noise: P(k) proportional to exp(-abs(k) / scale), exactly.

    An integer total plus this noise is exactly (sensitivity / scale)-differentially private.

    Parameters
    ----------
    size : int
        Number of independent draws.
    scale : float
        In grid steps: from 1 to below 2**40.

    Returns
    -------
    array of int64
        The draws.
    """
    return _draw(LAPLACE, size, scale)


@overheard
def bernoulli(size: SupportsIndex, rate: float) -> NDArray[np.bool_]:
    """Draw a secure mask, each entry true with exactly the probability `rate` (as a double).

    Sixteen bits decide an entry unless they tie with the leading bits of the rate; ties are
    decided by further bits of both, so the rate is not rounded.

    Parameters
    ----------
    size : int
        Number of independent entries.
    rate : float
        A probability.

    Returns
    -------
    array of bool
        The mask.
    """
    count = _checked_size(size)
    rate = float(rate)
    if not 0.0 <= rate <= 1.0:
        raise SettingError(f"the sampling rate is {rate!r} and must lie between 0 and 1")
    return _flip(count, Fraction(rate), _Stream())


def _flip(count: int, rate: Fraction, stream: _Stream) -> NDArray[np.bool_]:
    scaled = rate * 2**16
    floor = math.floor(scaled)
    mask = np.empty(count, dtype=np.bool_)
    if floor == 2**16 or not scaled:
        mask[:] = floor > 0
        return mask
    for start in range(0, count, 4 * _CHUNK_WORDS):
        part = mask[start : start + 4 * _CHUNK_WORDS]
        draws = stream.words(-(-part.size // 4)).view(np.uint16)[: part.size]
        np.less(draws, np.uint16(floor), out=part)
        if scaled != floor:
            ties = np.flatnonzero(draws == np.uint16(floor))
            if ties.size:
                part[ties] = _flip(ties.size, scaled - floor, stream)
    return mask


@overheard
def flip_exp(exponent: Fraction) -> bool:
    """Flip a coin that shows true with probability exactly exp(-exponent).

    Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, 2020,
    algorithm 1, with integers alone.

    Parameters
    ----------
    exponent : Fraction
        Not negative.

    Returns
    -------
    bool
        The coin.
    """
    if not isinstance(exponent, Rational) or exponent < 0:
        raise SettingError(f"the exponent is {exponent!r} and must be a Fraction of 0 or more")
    stream = _Stream()
    whole, rest = divmod(Fraction(exponent), 1)
    # all() stops at the first failure, so a huge exponent does not take long.
    return all(_flip_exp_below_one(Fraction(1), stream) for _ in range(whole)) and (
        _flip_exp_below_one(rest, stream)
    )


def _flip_exp_below_one(exponent: Fraction, stream: _Stream) -> bool:
    # The run of successes of Bernoulli(x / 1), Bernoulli(x / 2), ... is even with chance exp(-x).
    for run in itertools.count(1):
        if stream.below(exponent.denominator * run) >= exponent.numerator:
            return run % 2 == 1
    raise AssertionError


@overheard
def permutation(size: SupportsIndex) -> NDArray[np.int64]:
    """Draw a uniform permutation of ``range(size)`` that nobody can predict.

    Parameters
    ----------
    size : int
        Number of items.

    Returns
    -------
    array of int64
        The permutation.
    """
    count = _checked_size(size)
    items = np.arange(count, dtype=np.int64)
    stream, remaining = _Stream(), count
    while remaining > 1:
        remaining = kernels.shuffle(stream.words(min(_CHUNK_WORDS, remaining)), items, remaining)
    return items


@overheard
def deal(size: SupportsIndex, groups: int) -> NDArray[np.int64]:
    """Deal items into groups: independent, unbiased integers from ``range(groups)``.

    Parameters
    ----------
    size : int
        Number of items.
    groups : int
        At least 1.

    Returns
    -------
    array of int64
        The group of each item.
    """
    count = _checked_size(size)
    groups = operator.index(groups)
    if not 1 <= groups < 2**63:
        raise SettingError(f"the number of groups is {groups} and must lie in [1, 2**63)")
    out = np.empty(count, dtype=np.int64)
    stream = _Stream()
    filled = 0
    while filled < count:
        words = stream.words(min(_CHUNK_WORDS, count - filled))
        filled = kernels.deal(words, np.uint64(groups), out, filled)
    return out


@overheard
def uniform_below(bound: int) -> int:
    """Draw an unbiased integer from ``range(bound)``.

    Parameters
    ----------
    bound : int
        Positive, of any size.

    Returns
    -------
    int
        The integer.
    """
    bound = operator.index(bound)
    if bound < 1:
        raise SettingError(f"the bound is {bound} and must be at least 1")
    return _Stream().below(bound)
