"""Levels of a category nobody listed: partition selection by threshold.

Count every value that occurs, add Gaussian noise, release those above a threshold so high that a
value held by one row alone passes with probability at most delta. Korolova et al. 2009; Gaussian
form in Wilson et al. 2020. Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from voile.errors import PlanError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Threshold, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.tape.listening import keyed
from voile.privacy.vault import PrivateTable, open_rows
from voile.schema.columns import Level


@dataclass(frozen=True)
class FoundLevels:
    """Levels with their noised counts, most frequent first.

    ``likely`` has those of the values that were asked about by name, in that order.
    """

    levels: tuple[Level, ...]
    counts: tuple[float, ...]
    standard_error: float
    threshold: float
    likely: tuple[float, ...] = ()


def find_levels(
    table: PrivateTable, column: str, ticket: Ticket, *, likely: tuple[Level, ...] = ()
) -> FoundLevels:
    """Find the levels of a category that enough rows hold.

    Parameters
    ----------
    table : PrivateTable
    column : str
        A column (or the target) whose schema says ``Category()``.
    ticket : Ticket
        One access of a ``Threshold`` event.
    likely : tuple of levels
        Public: values whose noised counts are released whatever they are.

    Returns
    -------
    FoundLevels
        Only levels above the threshold; rarer ones stay hidden and count as "other".
    """
    event = ticket.event
    match event:
        case Threshold():
            # A unit of k rows moves counts by at most k in all, and may bring k values of its own,
            # each with a count of at most k. Replacing one does so on both sides.
            most = table.rows_per_unit
            sides = 1 if ticket.relation is NeighbouringRelation.ADD_REMOVE else 2
            scale = event.noise_multiplier * most * math.sqrt(sides)
            grid = noise.grid_for(scale)
            # One grid step more, because the noise is a rounded Gaussian.
            threshold = most + grid + scale * float(-ndtri(event.delta / (most * sides)))
        case Unprotected():
            scale, threshold, grid = 0.0, 0.5, 2.0**-30
        case _:
            raise PlanError(
                f"This access was paid as a {event.kind!r} event; levels need a 'threshold' one."
            )
    tally = open_rows(table, ticket).tally(column)
    values = list(dict.fromkeys((*likely, *tally)))
    counted = (tally[value] for value in values)
    totals = np.fromiter(counted, dtype=np.int64, count=len(values)) * int(1.0 / grid)
    if scale > 0:
        keyed(lambda: values)
        totals = totals + noise.gaussian(len(values), scale / grid)
    noised = totals * grid
    found = [(float(noised[i]), values[i]) for i in np.flatnonzero(noised > threshold)]
    found.sort(key=lambda pair: (-pair[0], str(pair[1]), isinstance(pair[1], str)))
    return FoundLevels(
        tuple(level for _, level in found),
        tuple(count for count, _ in found),
        scale,
        threshold,
        tuple(map(float, noised[: len(likely)])),
    )
