"""Private selection: which candidate scores best, without saying by how much.

Permute-and-flip (McKenna & Sheldon 2020), the exponential mechanism (McSherry & Talwar 2007) and
the best k by peeling (Durfee & Rogers 2019 discuss the one-shot form). Scores are sums over rows in
whole grid units, so every coin is flipped with an exact probability.
Proof: docs/proofs/selection.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile.errors import PlanError, SettingError
from voile.privacy import noise
from voile.privacy.events import Pure, Unprotected
from voile.privacy.grant import Grant, Ticket
from voile.privacy.mechanisms.sums import check_bounded
from voile.privacy.queries import Query
from voile.privacy.tape.listening import sampled
from voile.privacy.vault import PrivateTable, open_rows

_BITS = 24
"""Binary places of a score. No score wraps around below 2^38 rows: it would move by more than its
sensitivity then, and a choice, unlike a noised sum, does not forgive that."""


def permute_and_flip(table: PrivateTable, query: Query, ticket: Ticket) -> int:
    """Choose a candidate with a nearly highest score; never worse than ``exponential``.

    Parameters
    ----------
    table : PrivateTable
    query : Query
        One score per candidate; its largest single entry (``sensitivity_max``) counts.
    ticket : Ticket
        One access of a ``Pure`` or ``Unprotected`` event.

    Returns
    -------
    int
        Position of the chosen candidate.
    """
    return _select(table, query, ticket, (), flip_each_once=True)


def exponential(table: PrivateTable, query: Query, ticket: Ticket) -> int:
    """Choose a candidate with probability proportional to exp(epsilon score / (2 sensitivity))."""
    return _select(table, query, ticket, (), flip_each_once=False)


def top_k(table: PrivateTable, query: Query, grant: Grant, label: str, k: int) -> list[int]:
    """Choose k candidates, best first: permute-and-flip k times, each time without the chosen.

    Takes k accesses of the step ``label``.
    """
    if not 1 <= k <= query.size:
        raise SettingError(f"The 'k' must be in [1, {query.size}]. Got {k!r} instead.")
    chosen: list[int] = []
    for _ in range(k):
        ticket = grant.take(label)
        chosen.append(_select(table, query, ticket, tuple(chosen), flip_each_once=True))
    return chosen


def _select(
    table: PrivateTable,
    query: Query,
    ticket: Ticket,
    without: tuple[int, ...],
    *,
    flip_each_once: bool,
) -> int:
    event = ticket.event
    if not isinstance(event, (Pure, Unprotected)):
        raise PlanError(
            f"This access was paid as a {event.kind!r} event; a selection needs a 'pure' one."
        )
    check_bounded(query, event)
    sensitivity = query.sensitivity_max(ticket.relation) * table.rows_per_unit
    grid = 2.0 ** (math.floor(math.log2(sensitivity)) - _BITS)
    scores = open_rows(table, ticket).total(query, grid)
    left = np.setdiff1d(np.arange(query.size), np.asarray(without, dtype=np.int64))
    scores = scores[left]
    return int(left[choose(scores, event, sensitivity, grid, flip_each_once=flip_each_once)])


def choose(
    scores: NDArray[np.int64],
    event: Pure | Unprotected,
    sensitivity: float,
    grid: float,
    *,
    flip_each_once: bool = True,
) -> int:
    """Choose by private scores in whole units of ``grid``; for mechanisms with an open vault."""
    if isinstance(event, Unprotected):
        return int(np.argmax(scores))
    # epsilon / (2 sensitivity) per grid unit, as an exact fraction of the floats it comes from.
    rate = Fraction(event.epsilon) * Fraction(grid) / (2 * Fraction(sensitivity))
    draw = _permute_and_flip if flip_each_once else _rejection
    return sampled(lambda: draw(scores, rate), len(scores))


def _permute_and_flip(scores: NDArray[np.int64], rate: Fraction) -> int:
    best = int(scores.max())
    for position in noise.permutation(len(scores)):
        if noise.flip_exp(rate * (best - int(scores[position]))):
            return int(position)
    raise AssertionError("the best candidate is always accepted")


def _rejection(scores: NDArray[np.int64], rate: Fraction) -> int:
    """Propose uniformly, accept with exp(-rate x distance from the best): the exponential law."""
    best = int(scores.max())
    while True:
        position = noise.uniform_below(len(scores))
        if noise.flip_exp(rate * (best - int(scores[position]))):
            return position
