"""Whether pairs of columns are looked for or learned at a budget, foretold from public facts.

The decisions are those of the training (`voile.models.ebm.pair_choice`), asked with the noise of
the plan and evenly spread rows. The effect is one that two columns have only together: a height
where both are high or both low, and as much less elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.interactions import WantedPairs
from voile.models.ebm.losses import LinearLoss, TrainingLoss
from voile.models.ebm.pair_choice import (
    ENTRY,
    LEAST_EXPLAINED,
    Candidate,
    candidate_columns,
    grid_of,
    make_candidates,
    score_candidates,
    worth_choosing,
)
from voile.models.ebm.pair_grid import PairGrid, make_grid
from voile.models.ebm.pair_sides import Side, make_side
from voile.models.ebm.pair_training import parts_per_side, start_pair
from voile.models.ebm.terms import TermState
from voile.planning.verdict import Rule

Floats = NDArray[np.float64]

PairWay = Literal["chosen", "hidden", "named", "none"]
"""Chosen by the rows; not looked for, as the noise would hide them; named; or not wanted."""

_SURE = 1.28
"""Standard errors that an effect is above its mean or below, in nine of ten tables."""

_STEPS = 24


@dataclass(frozen=True)
class PairOutlook:
    """What becomes of pairs of columns at one epsilon.

    Attributes
    ----------
    way : {"chosen", "hidden", "named", "none"}
    columns : int
        Columns whose pairs are candidates.
    pairs : int
        Candidates, or pairs that were named.
    visible : float or None
        Size of an effect of two columns together that is found in nine of ten tables, in the
        forecast's units; None if nothing is looked for.
    words : str
        The same in a sentence.
    """

    way: PairWay
    columns: int
    pairs: int
    visible: float | None
    words: str


@dataclass(frozen=True, eq=False)
class PairFacts:
    """What a forecast knows when pairs may join.

    Attributes
    ----------
    terms : tuple of TermState
        Of each column; columns of one kind share theirs.
    loss, intercept
        As forecasts take them to be.
    unit : float
        Typical variance of a pair's scores.
    rows, scarce : float
        Rows, and those of a class that is not the largest, on average.
    choice, curves : float
        Noise of a residual sum in the access of the choice, and of a column's after all rounds,
        relative to the largest residual.
    round_noise : float
        Variance of the noise on one sum if all rounds that are left were one.
    spread : float
        Variance of the other terms' scores.
    """

    terms: tuple[TermState, ...]
    loss: TrainingLoss
    intercept: Floats
    unit: float
    rows: float
    scarce: float
    choice: float
    curves: float
    round_noise: float
    spread: float

    def slopes(self, counts: Floats) -> tuple[Floats, Floats]:
        """Slope and variance of the sums of cells, of a typical output, shape (cells,)."""
        outputs = len(self.intercept)
        zero, spread = np.zeros((len(counts), outputs)), np.full((outputs, 1), self.spread)
        return (
            counts * self.loss.curvature(self.intercept, zero, spread).mean(axis=1),
            counts * self.loss.variance(self.intercept, zero, spread).mean(axis=1),
        )


@dataclass(frozen=True, eq=False)
class NamedPair:
    """A pair that a person named, before its first round."""

    grid: PairGrid
    term: TermState


def start_pairs(facts: PairFacts, wanted: WantedPairs | None) -> list[NamedPair]:
    """Pairs that were named, as they join if their columns are independent."""
    named = () if wanted is None else wanted.named
    parts, outputs = parts_per_side(facts.rows), len(facts.intercept)
    noise = facts.round_noise * (len(facts.terms) + len(named))
    spread = np.full((outputs, 1), facts.spread)
    known: dict[tuple[int, int], NamedPair] = {}
    result = []
    for pair in named:
        one, other = (facts.terms[k] for k in pair)
        kind = (id(one), id(other))
        if kind not in known:
            grid = make_grid(*pair, side_of(one, parts), side_of(other, parts))
            base = np.zeros((grid.cells.size, outputs))
            counts = np.maximum(grid.expected(facts.rows), 1.0)
            own = (facts.loss, facts.intercept, base, spread, noise, facts.unit)
            known[kind] = NamedPair(grid, start_pair(grid, counts, *own))
        result.append(known[kind])
    return result


def clear_height(facts: PairFacts, pair: NamedPair, weight: float, noise: float) -> float:
    """Smallest effect of a pair that exceeds two standard errors of the noise after smoothing.

    Parameters
    ----------
    facts : PairFacts
    pair : NamedPair
    weight, noise : float
        Weight of its averaged sums after all rounds, and the variance of their noise.
    """
    term, one, other = pair.term, pair.grid.first, pair.grid.second
    assert term.smoother.root is not None
    slope, scatter = facts.slopes(pair.grid.expected(facts.rows))
    prior = term.scale * term.smoother.root @ term.smoother.root.T
    full = respond_fully(term, prior, slope, scatter, noise)
    variance = np.einsum("ij,jk,ik->i", full, term.smoother.noise, full) / weight
    pattern, mass = pattern_of(one, other), np.kron(one.mass, other.mass)
    size = float(mass @ pattern**2)
    if size <= 0:
        return math.inf  # a column has a single part
    kept = float(mass @ (pattern * (full @ (slope * pattern)))) / size
    return 2.0 * math.sqrt(float(mass @ variance)) / max(kept, 1e-9)


def respond_fully(
    term: TermState, prior: Floats, slope: Floats, scatter: Floats, noise: float
) -> Floats:
    """Derivative of a term's scores by its sums, shape (bins, bins)."""
    whole = slope[:, None] * prior * slope + noise * term.smoother.noise + np.diag(scatter)
    return np.asarray(np.linalg.solve(whole, slope[:, None] * prior).T)


def foretell_choice(
    facts: PairFacts, wanted: WantedPairs, errors: Sequence[float]
) -> tuple[int, float | None]:
    """Columns whose pairs are candidates, and the effect that is found in nine of ten tables.

    Parameters
    ----------
    facts : PairFacts
    wanted : WantedPairs
        With no pair named.
    errors : sequence of float
        Mean squared error of the scores of each column when pairs join.

    Returns
    -------
    columns : int
        0 if none are looked at.
    visible : float or None
        In units of the score.
    """
    if not worth_choosing(facts.choice, facts.curves, facts.scarce):
        return 0, None
    none = np.zeros(len(facts.terms))
    columns, relative = candidate_columns(wanted.eligible, none, facts.choice, facts.scarce)
    found = _typical_candidate(facts, columns, errors, *grid_of(relative))
    if found is None:
        return 0, None
    return len(columns), _smallest_effect(facts, *found, math.comb(len(columns), 2))


def tell_pairs(
    way: PairWay, columns: int, among: int, pairs: int, visible: float | None, rule: Rule
) -> PairOutlook:
    """The outlook with its words; ``visible`` in the rule's units."""
    if visible is not None and not math.isfinite(visible):
        visible = None
    if way == "none":
        words = "no pairs of columns are asked for"
    elif visible is None:
        asked = "not looked for:" if way == "hidden" else "named, and"
        words = f"{asked} the noise would hide them"
    else:
        size = f"about ±{rule.size(rounded(visible))}"
        if way == "named":
            what = "the named pair is" if pairs == 1 else f"the {pairs} named pairs are"
            words = f"{what} learned, and an effect of {size} would be clear"
        else:
            every = "both" if among == 2 else f"all {among}"
            what = every if columns == among else f"the {columns} of {among}"
            most = "" if columns == among else " that matter most"
            words = (
                f"{what} columns{most} are tried, and an effect of {size} would be found in "
                "nine of ten tables"
            )
    return PairOutlook(way, columns, pairs, visible, words)


def rounded(size: float) -> float:
    """To two digits: more would promise too much."""
    return float(f"{size:.2g}")


def side_of(term: TermState, parts: int) -> Side:
    """A column whose rows are spread evenly, in parts."""
    counts = np.append(term.counts[: -term.apart], np.zeros(term.apart))
    zeros = np.zeros((len(counts), 1))
    ordered, errors = term.smoother.root is not None, np.zeros(len(counts))
    return make_side(counts, errors, zeros, parts, ordered=ordered, apart=term.apart)


def pattern_of(one: Side, other: Side) -> Floats:
    """An effect of height 1 that is of both columns together, shape (cells,)."""
    return np.asarray(np.kron(_halves(one), _halves(other)))


def _halves(side: Side) -> Floats:
    """1 in the lower half of a side and -1 in the upper, on average over each part, centred."""
    mass = side.mass
    ends = np.cumsum(mass)
    low = np.clip(0.5 - (ends - mass), 0.0, mass)
    signs = np.where(mass > 0, 2.0 * low / np.maximum(mass, 1e-300) - 1.0, 0.0)
    return np.asarray(signs - mass @ signs)


def _typical_candidate(
    facts: PairFacts, columns: Sequence[int], errors: Sequence[float], parts: int, contrasts: int
) -> tuple[Candidate, tuple[float, float]] | None:
    """A pair of the kinds that there are most often, and the errors of its columns."""
    pairs = list(combinations(columns, 2))
    kinds = [frozenset(id(facts.terms[k]) for k in pair) for pair in pairs]
    for kind, _ in Counter(kinds).most_common():
        i, j = pairs[kinds.index(kind)]
        sides = {k: side_of(facts.terms[k], parts) for k in (i, j)}
        found = make_candidates(sides, contrasts)
        if found:
            return found[0], (errors[i], errors[j])
    return None


def _smallest_effect(
    facts: PairFacts, candidate: Candidate, errors: tuple[float, float], pairs: int
) -> float:
    """Height of the smallest effect whose contrasts are clear in nine of ten tables."""
    loss, outputs = facts.loss, len(facts.intercept)
    noise = facts.choice * loss.cap * math.sqrt(pairs) / loss.gain
    one, other = candidate.sides
    slope, scatter = facts.slopes(np.asarray(facts.rows * np.kron(one.mass, other.mass)))
    told = candidate.contrasts @ (slope * pattern_of(one, other))
    length = float(np.linalg.norm(told))
    along = told @ candidate.contrasts / length
    doubt = _SURE * math.sqrt(noise**2 + float(along**2 @ scatter)) / length
    zero, spread = np.zeros((len(slope), outputs)), np.full((outputs, 1), facts.spread)

    def score(height: float) -> float:
        sums = np.zeros((len(told), outputs))
        sums[:, 0] = (height - doubt) * told
        (found,) = score_candidates(
            *([candidate], [sums], noise, loss, facts.intercept, [zero], [spread], [errors]),
            *(facts.rows, facts.unit),
        )
        return found.score

    low, high = doubt, 2.0 * doubt
    while score(high) <= ENTRY and high < 1e6 * doubt:
        low, high = high, 2.0 * high
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if score(middle) > ENTRY else (middle, high)
    return high if isinstance(loss, LinearLoss) else max(high, math.sqrt(LEAST_EXPLAINED))
