"""The fewest and smallest changes of an additive score, exactly: a mixed-integer linear programme.

Every column has some values to change to; each adds a fixed amount to each of some sums, and costs
something. Among all choices whose sums reach what is needed, the fewest columns are taken, then the
least cost (docs/proofs/counterfactuals.md). Solved by HiGHS, which proves that nothing is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-6
"""By so much the solver may take a sum to be greater than it is."""

_SECONDS = 20.0


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
    """

    columns: Ints
    costs: Floats
    gains: Floats

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
        Whether the solver proved that nothing is smaller.
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
        None if there are none.
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
    picked, proven, lacking = found
    again = pick_fewest(choices, needed - lacking - TOLERANCE)
    if again is not None:
        return Picked(again.choices, proven and again.proven), lacking
    return Picked(picked, proven), lacking


def _useful(choices: Choices, needed: Floats) -> Ints:
    """Without choices for which another of the same column is as good everywhere and costs less."""
    if len(needed) > 1:
        return np.arange(len(choices))
    kept = []
    gains = choices.gains[0]
    for column in np.unique(choices.columns):
        here = np.flatnonzero((choices.columns == column) & (gains > 0))
        here = here[np.lexsort((-gains[here], choices.costs[here]))]
        best = -np.inf
        for place in here:
            if gains[place] > best:
                kept.append(int(place))
                best = float(gains[place])
    return np.array(sorted(kept), dtype=np.int64)


def _take(choices: Choices, kept: Ints) -> Choices:
    return Choices(choices.columns[kept], choices.costs[kept], choices.gains[:, kept])


def _solve(
    choices: Choices,
    weights: Floats,
    lack: Floats,
    needed: Floats,
    without: Sequence[frozenset[int]],
) -> tuple[Ints, bool, float] | None:
    """Minimise the weights of what is chosen, and what is lacking if that is allowed."""
    count, extra = len(choices), len(lack)
    # Sums in units of what is needed, so that tolerances mean the same everywhere.
    unit = max(float(np.abs(choices.gains).max(initial=0.0)), 1e-300)
    sums = np.hstack([choices.gains / unit, np.ones((len(needed), extra))])
    constraints = [LinearConstraint(sums, needed / unit + TOLERANCE * (1 - extra), np.inf)]
    owners, place = np.unique(choices.columns, return_inverse=True)
    once = csr_array(
        (np.ones(count), (place, np.arange(count))), shape=(len(owners), count + extra)
    )
    constraints.append(LinearConstraint(once, -np.inf, 1.0))
    for group in without:
        line = np.append(np.isin(choices.columns, list(group)).astype(np.float64), np.zeros(extra))
        constraints.append(LinearConstraint(line[None], -np.inf, len(group) - 1.0))
    found = milp(
        np.append(weights, lack),
        integrality=np.append(np.ones(count), np.zeros(extra)),
        bounds=Bounds(0.0, np.append(np.ones(count), np.full(extra, np.inf))),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    picked = np.flatnonzero(found.x[:count] > 0.5)
    lacking = float(found.x[count]) * unit if extra else 0.0
    return picked, found.status == 0, lacking
