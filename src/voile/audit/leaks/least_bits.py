"""Which floating-point numbers can come out at all: an attack on the low bits of released values.

Noise that is drawn as a double and added to a double leaves traces: of all numbers near the answer
only some can be a sum of it and a possible draw, and which ones they are tells the answer (Mironov,
"On significance of the least significant bits for differential privacy", CCS 2012). The attacker
here looks at nothing but that: the place of each number's lowest bit, its last bits, and whether
the very number occurred before. It learns on some runs, and others judge it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.bounds import epsilon_by_rates
from voile.audit.two_worlds import Estimate, tell_apart
from voile.errors import DataError, SettingError

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
Clue = Callable[[Floats], NDArray[Any]]
"""Numbers of shape (runs, numbers) to whole numbers of the same shape."""

Release = Callable[[Any], ArrayLike]
"""Makes one release of some data: an array of numbers, always of the same shape."""

FEWEST_RUNS = 64

_SPARE_BITS = 4
"""A number is on a grid if so many of its last bits are zero; rounding leaves fewer by chance."""

_NO_BIT = -2000
"""Place of the lowest bit of 0, infinities and what is no number: below that of any number."""

_CLUES = 8
"""Most clues that the attacker adds up; more would drown what they say in chance."""


@dataclass(frozen=True)
class LeastBits:
    """What the low bits of a release told about one row.

    Attributes
    ----------
    runs : int
        In either world.
    judged : int
        Runs in either world that judged the attacker; the others taught it.
    numbers : int
        Numbers that one run releases.
    grid_without, grid_with : float or None
        The finest grid of all numbers, if every one of them lies on a grid: a power of two of which
        the numbers are whole multiples. None where some are arbitrary floating-point numbers, as
        after a division.
    grids_differ : int
        How many of the numbers lie on one grid in one world, and on another or none in the other.
    only_without, only_with : int
        Judged runs with a number finer than any that the other world gave while learning.
    advantage : Estimate
        Right minus false alarms of the attacker.
    epsilon : float
        With the given confidence the release has no smaller epsilon (at ``delta``).
    delta, confidence : float
    claimed : float or None
        The epsilon that is claimed.
    """

    runs: int
    judged: int
    numbers: int
    grid_without: float | None
    grid_with: float | None
    grids_differ: int
    only_without: int
    only_with: int
    advantage: Estimate
    epsilon: float
    delta: float
    confidence: float
    claimed: float | None

    @property
    def broken(self) -> bool:
        """Whether the low bits alone show that the claim is not kept."""
        return self.epsilon > (0.0 if self.claimed is None else self.claimed)

    @property
    def suspicious(self) -> bool:
        """Whether a grid depends on the row, which no sound release allows, or a claim is broken.

        A grid that merely looks different by chance has a probability of about 2^-runs.
        """
        return self.broken or self.grids_differ > 0

    def __str__(self) -> str:
        grids = ["none" if g is None else f"{g:g}" for g in (self.grid_without, self.grid_with)]
        claim = "none" if self.claimed is None else f"{self.claimed:g}"
        return "\n".join(
            [
                f"Low bits of {self.numbers:,} number(s), {self.runs:,} runs in either world",
                f"  grid without the row {grids[0]}, with it {grids[1]};"
                f" {self.grids_differ} differ",
                f"  too fine for the other world: {self.only_without} and {self.only_with} of "
                f"{self.judged:,} runs",
                f"  advantage {self.advantage}",
                f"  epsilon is at least {self.epsilon:.3g} at delta {self.delta:g}, with "
                f"{self.confidence:.4g} confidence; claimed: {claim}",
            ]
        )


def least_bits_test(
    release: Release,
    without: Any,
    with_row: Any,
    *,
    runs: int = 1000,
    delta: float = 0.0,
    confidence: float = 0.999,
    claimed: float | None = None,
    clue: Clue | None = None,
) -> LeastBits:
    """Release both worlds many times, and tell them apart by low bits.

    Parameters
    ----------
    release : callable
        Data to an array of numbers, always of the same shape; draws new noise in each call.
    without, with_row : object
        Data of either world, as ``release`` takes it.
    runs : int
        In either world, at least 64.
    delta, confidence : float
        Of the lower bound on epsilon.
    claimed : float, optional
        The epsilon that is claimed.
    clue : callable, optional
        One more thing that the attacker reads off each number, from numbers of shape (runs,
        numbers) to whole numbers of that shape: for example whether a number minus the answer in
        one world is a draw that the sampler can make.

    Returns
    -------
    LeastBits

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> naive = lambda count: [count + rng.laplace()]
    >>> least_bits_test(naive, 0.0, 1.0, claimed=1.0).broken
    True
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < FEWEST_RUNS:
        raise SettingError(f"The 'runs' must be a whole number >= {FEWEST_RUNS}. Got {runs!r}.")
    # In turns, so that nothing that changes over time passes for a difference of the worlds.
    pairs = [(_numbers(release(without)), _numbers(release(with_row))) for _ in range(runs)]
    if len({one.shape for pair in pairs for one in pair}) != 1:
        raise DataError("Every release must have as many numbers as the others.")
    low, high = (np.array([pair[world] for pair in pairs]) for world in (0, 1))
    if low.shape[1] == 0:
        raise DataError("The release holds no number: there is nothing to test.")
    half, three = runs // 2, runs // 2 + runs // 4
    bits = lowest_bits(low), lowest_bits(high)
    grids = grids_of(low, bits[0]), grids_of(high, bits[1])
    score = _learn(low[:half], high[:half], clue)
    scores = score(low[half:]), score(high[half:])
    cut = _best_cut(scores[0][: three - half], scores[1][: three - half], delta, confidence)
    judged = runs - three
    false, right = (int(np.count_nonzero(one[three - half :] > cut)) for one in scores)
    finest = [one[:half].min(axis=0) for one in bits]
    only = [
        int(np.any((bits[a][three:] < finest[b]) & (bits[a][three:] > _NO_BIT), axis=1).sum())
        for a, b in ((0, 1), (1, 0))
    ]
    return LeastBits(
        runs=runs,
        judged=judged,
        numbers=low.shape[1],
        grid_without=_common(grids[0]),
        grid_with=_common(grids[1]),
        grids_differ=int(np.count_nonzero(grids[0] != grids[1])),
        only_without=only[0],
        only_with=only[1],
        advantage=tell_apart(*scores).advantage,
        epsilon=epsilon_by_rates(false, right, judged, delta=delta, confidence=confidence),
        delta=delta,
        confidence=confidence,
        claimed=claimed,
    )


def lowest_bits(values: Floats) -> Wholes:
    """Place of the lowest bit that is set: 0.75 has it at -2. Same shape as ``values``.

    Examples
    --------
    >>> lowest_bits(np.array([0.75, 6.0, 0.1])).tolist()
    [-2, 1, -55]
    """
    usable = np.isfinite(values) & (values != 0.0)
    fractions, exponents = np.frexp(np.where(usable, values, 1.0))
    whole = (np.abs(fractions) * 2.0**53).astype(np.int64)
    last = whole & -whole
    places = np.log2(last.astype(np.float64)).astype(np.int64)  # powers of two: exact
    return np.where(usable, places + exponents - 53, _NO_BIT)


def grids_of(values: Floats, bits: Wholes) -> Wholes:
    """Place of the grid of each number over all runs, or `_NO_BIT` where there is none.

    Parameters
    ----------
    values : ndarray of shape (runs, numbers)
    bits : ndarray of shape (runs, numbers)
        Their lowest bits.
    """
    known = bits > _NO_BIT
    _, exponents = np.frexp(np.where(known, values, 1.0))
    spare = np.where(known, bits - (exponents - 53), 99)
    finest = np.where(known, bits, 9999).min(axis=0)
    on_grid = (spare >= _SPARE_BITS).all(axis=0) & known.any(axis=0)
    return np.where(on_grid, finest, _NO_BIT)


def _common(grids: Wholes) -> float | None:
    return None if np.any(grids == _NO_BIT) else math.ldexp(1.0, int(grids.min()))


def _numbers(released: ArrayLike) -> Floats:
    return np.array(released, dtype=np.float64).reshape(-1)


def _clues(values: Floats, clue: Clue | None) -> list[Wholes]:
    """What the attacker reads off each number, each of shape (runs, numbers), as whole numbers."""
    values = np.ascontiguousarray(values)
    last = values.view(np.int64) & 7
    # The number itself: rare values say nothing, but where few are possible it says all.
    found = [lowest_bits(values), last, values.view(np.int64)]
    if clue is not None:
        found.append(np.asarray(clue(values)).astype(np.int64))
        if found[-1].shape != values.shape:
            raise DataError("The 'clue' must give one whole number for each number.")
    return found


def _learn(low: Floats, high: Floats, clue: Clue | None) -> Callable[[Floats], Floats]:
    """A score for runs of shape (runs, numbers): large where they look like those in ``high``."""
    found: list[tuple[float, int, int, dict[int, float]]] = []
    clues = zip(_clues(low, clue), _clues(high, clue), strict=True)
    for kind, (of_low, of_high) in enumerate(clues):
        for number in range(low.shape[1]):
            weights, gain = _weigh(of_low[:, number], of_high[:, number])
            found.append((gain, kind, number, weights))
    found.sort(key=lambda one: -one[0])
    best = found[:_CLUES]

    def score(values: Floats) -> Floats:
        clues = _clues(values, clue)
        total = np.zeros(len(values))
        for _, kind, number, weights in best:
            total += [weights.get(int(one), 0.0) for one in clues[kind][:, number]]
        return total

    return score


def _weigh(low: Wholes, high: Wholes) -> tuple[dict[int, float], float]:
    """Log-odds of each value of a clue, and by how much the worlds differ in it beyond chance."""
    runs = len(low)
    values, places = np.unique(np.concatenate([low, high]), return_inverse=True)
    counts = [np.bincount(one, minlength=len(values)) for one in (places[:runs], places[runs:])]
    # Values seen once or twice would be learned by heart.
    common = counts[0] + counts[1] >= 3
    odds = np.log((counts[1] + 0.5) / (counts[0] + 0.5))
    weights = {int(v): float(w) for v, w in zip(values[common], odds[common], strict=True)}
    rng = np.sqrt(counts[0] + counts[1])
    beyond = np.maximum(np.abs(counts[1] - counts[0]) - rng, 0.0)
    return weights, float(beyond[common].sum()) / runs


def _best_cut(low: Floats, high: Floats, delta: float, confidence: float) -> float:
    """The score above which alarms give the largest lower bound on these runs."""
    seen = np.unique(np.concatenate([low, high]))
    cuts = np.append((seen[:-1] + seen[1:]) / 2.0, seen[-1])
    if len(cuts) > 200:
        cuts = cuts[np.linspace(0, len(cuts) - 1, 200).astype(np.int64)]

    def worth(cut: float) -> tuple[float, float]:
        false, right = int((low > cut).sum()), int((high > cut).sum())
        bound = epsilon_by_rates(
            false, right, len(low), len(high), delta=delta, confidence=confidence
        )
        return bound, abs(right - false) / len(low)

    return float(max(cuts, key=worth))
