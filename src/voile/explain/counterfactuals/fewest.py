"""The fewest and smallest changes of an additive score, exactly: a mixed-integer linear programme.

Every column has some values to change to; each adds a fixed amount to each of some sums, and costs
something; pairs of columns add what depends on both. Among all choices whose sums reach what is
needed, the fewest columns are taken, then the least cost (docs/proofs/counterfactuals.md). Solved
by HiGHS, which proves that nothing is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, hstack

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-6
"""By so much the solver may take a sum to be greater than it is."""

_SECONDS = 20.0

_INFEASIBLE = 2
"""What the solver says where it proved that there is no solution."""


@dataclass(frozen=True, eq=False)
class PairGains:
    """What two columns add together to the sums: an amount for each cell of a grid.

    Attributes
    ----------
    sides : tuple of two ndarray of shape (choices,)
        Row and column of the grid that each choice leads to; 0 if it leaves them as they are.
    gains : ndarray of shape (sums, rows, columns)
        What each cell adds to each sum.
    """

    sides: tuple[Ints, Ints]
    gains: Floats

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(np.prod(self.gains.shape[1:]))

    def take(self, kept: Ints) -> PairGains:
        """The same for some of the choices."""
        return PairGains((self.sides[0][kept], self.sides[1][kept]), self.gains)

    def balance(self) -> tuple[csr_array, csr_array]:
        """Rows of a programme that tie choices, and shares of cells, together: they sum to 0.

        A row or a column of the grid has as much of the cells as is chosen of what leads to it.
        """
        rows, columns = self.gains.shape[1:]
        place = np.arange(rows * columns).reshape(rows, columns)
        chosen, shares = [], []
        for side, lines in zip(self.sides, (place, place.T), strict=True):
            for part in range(1, len(lines)):
                chosen.append((side == part).astype(np.float64))
                line = np.zeros(self.cells)
                line[lines[part]] = -1.0
                shares.append(line)
        return (
            csr_array(np.array(chosen).reshape(-1, len(self.sides[0]))),
            csr_array(np.array(shares).reshape(-1, self.cells)),
        )


@dataclass(frozen=True, eq=False)
class Choices:
    """Changes of single columns to choose from.

    Attributes
    ----------
    columns : ndarray of shape (choices,)
        Number of the column that each changes.
    costs : ndarray of shape (choices,)
        > 0.
    gains : ndarray of shape (sums, choices)
        What each adds to each sum.
    pairs : tuple of PairGains
        What columns add besides, two by two.
    """

    columns: Ints
    costs: Floats
    gains: Floats
    pairs: tuple[PairGains, ...] = ()

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class Picked:
    """What was chosen.

    Attributes
    ----------
    choices : ndarray of shape (picked,)
        Positions among the choices.
    proven : bool
        Whether the solver proved that nothing is smaller. If nothing was chosen: nothing was found
        in time, and it is not proven that there is nothing.
    """

    choices: Ints
    proven: bool


def pick_fewest(
    choices: Choices, needed: Floats, without: Sequence[frozenset[int]] = ()
) -> Picked | None:
    """The fewest changes, and among these the cheapest, whose sums reach what is needed.

    Parameters
    ----------
    choices : Choices
    needed : ndarray of shape (sums,)
    without : sequence of frozenset of int
        Sets of columns that must not all change together.

    Returns
    -------
    Picked or None
        None if it is proven that there are none.
    """
    kept = _useful(choices, needed)
    if not len(kept):
        return None
    some = _take(choices, kept)
    # One column more always costs more than anything that fewer could.
    fewest = 1.0 + float(some.costs.max()) * len(np.unique(some.columns))
    found = _solve(some, fewest + some.costs, np.zeros(0), needed, without)
    if found is None:
        return None
    picked, proven, _ = found
    return Picked(kept[picked], proven)


def pick_nearest(choices: Choices, needed: Floats) -> tuple[Picked, float]:
    """The changes whose sums come nearest to what is needed, and how much the worst lacks.

    Of those that come as near, the fewest and cheapest.
    """
    if not len(choices):
        return Picked(np.zeros(0, dtype=np.int64), proven=True), float(needed.max(initial=0.0))
    found = _solve(choices, np.zeros(len(choices)), np.ones(1), needed, ())
    assert found is not None  # whatever is lacking may be lacking
    if not found[1] and not len(found[0]):
        return Picked(found[0], proven=False), float(needed.max(initial=0.0))
    picked, proven, lacking = found
    again = pick_fewest(choices, needed - lacking - TOLERANCE)
    if again is not None:
        return Picked(again.choices, proven and again.proven), lacking
    return Picked(picked, proven), lacking


def _useful(choices: Choices, needed: Floats) -> Ints:
    """Without choices for which another of the same column is as good everywhere and costs less.

    Choices that lead pairs to different cells are not compared. Those that leave all pairs as they
    are must do better than none.
    """
    if len(needed) > 1 or not len(choices):
        return np.arange(len(choices))
    kept = []
    gains = choices.gains[0]
    leads = np.array([choices.columns, *(side for pair in choices.pairs for side in pair.sides)])
    each, kinds = np.unique(leads, axis=1, return_inverse=True)
    for kind in range(each.shape[1]):
        here = np.flatnonzero(kinds.ravel() == kind)
        here = here[np.lexsort((-gains[here], choices.costs[here]))]
        best = -np.inf if each[1:, kind].any() else 0.0
        for place in here:
            if gains[place] > best:
                kept.append(int(place))
                best = float(gains[place])
    return np.array(sorted(kept), dtype=np.int64)


def _take(choices: Choices, kept: Ints) -> Choices:
    return Choices(
        choices.columns[kept],
        choices.costs[kept],
        choices.gains[:, kept],
        tuple(pair.take(kept) for pair in choices.pairs),
    )


def _solve(
    choices: Choices,
    weights: Floats,
    lack: Floats,
    needed: Floats,
    without: Sequence[frozenset[int]],
) -> tuple[Ints, bool, float] | None:
    """Minimise the weights of what is chosen, and what is lacking if that is allowed.

    Variables are the choices, which are whole; the cells of all pairs, which are whole by
    themselves where the choices are; and what is lacking.
    """
    count, extra = len(choices), len(lack)
    cells = [pair.gains.reshape(len(needed), pair.cells) for pair in choices.pairs]
    gains = np.hstack([choices.gains, *cells])
    wide = gains.shape[1]
    # Sums in units of what is needed, so that tolerances mean the same everywhere.
    least = max(1e-9 * float(np.abs(needed).max(initial=0.0)), 1e-300)
    unit = max(float(np.abs(gains).max(initial=0.0)), least)
    sums = np.hstack([gains / unit, np.ones((len(needed), extra))])
    constraints = [LinearConstraint(sums, needed / unit + TOLERANCE * (1 - extra), np.inf)]
    owners, place = np.unique(choices.columns, return_inverse=True)
    once = csr_array((np.ones(count), (place, np.arange(count))), shape=(len(owners), wide + extra))
    constraints.append(LinearConstraint(once, -np.inf, 1.0))
    constraints += _tie_pairs(choices, wide + extra)
    for group in without:
        line = np.zeros(wide + extra)
        line[:count] = np.isin(choices.columns, list(group))
        constraints.append(LinearConstraint(line[None], -np.inf, len(group) - 1.0))
    found = milp(
        np.concatenate([weights, np.zeros(wide - count), lack]),
        integrality=np.append(np.ones(count), np.zeros(wide - count + extra)),
        bounds=Bounds(0.0, np.append(np.ones(wide), np.full(extra, np.inf))),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "time_limit": _SECONDS},
    )
    if found.x is None:
        nothing = np.zeros(0, dtype=np.int64)
        return None if found.status == _INFEASIBLE else (nothing, False, math.inf)
    picked = np.flatnonzero(found.x[:count] > 0.5)
    lacking = float(found.x[wide]) * unit if extra else 0.0
    return picked, found.status == 0, lacking


def _tie_pairs(choices: Choices, variables: int) -> list[LinearConstraint]:
    """One cell of each pair, the one that the choices lead to."""
    lines, start = [], len(choices)
    for pair in choices.pairs:
        chosen, shares = pair.balance()
        left = csr_array((chosen.shape[0], start - len(choices)))
        right = csr_array((chosen.shape[0], variables - start - pair.cells))
        if chosen.shape[0]:
            lines.append(LinearConstraint(hstack([chosen, left, shares, right]), 0.0, 0.0))
        whole = np.zeros((1, variables))
        whole[0, start : start + pair.cells] = 1.0
        lines.append(LinearConstraint(whole, 1.0, 1.0))
        start += pair.cells
    return lines
