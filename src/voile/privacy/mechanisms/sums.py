"""Noised sums over rows: the Gaussian and the Laplace mechanism on an integer grid.

Dwork, McSherry, Nissim & Smith 2006 (Laplace); Dong, Roth & Su 2022 (Gaussian, mu-GDP); Balle &
Wang 2018 (its exact calibration). Sensitivity: that of the query, enforced by clipping inside it.
Proof: docs/proofs/gaussian-sum.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import PlanError, SettingError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Gaussian, Laplace, PoissonGaussian, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.release import Release
from voile.privacy.queries import Query
from voile.privacy.vault import PrivateTable, open_rows

_NOISELESS_BITS = 30


def gaussian_sum(table: PrivateTable, query: Query, ticket: Ticket) -> Release:
    """Release the sum of a query over the rows with Gaussian noise.

    Parameters
    ----------
    table : PrivateTable
    query : Query
        What each row adds; clipped to its bound here.
    ticket : Ticket
        One access of a ``Gaussian``, ``PoissonGaussian`` or (without noise) ``Unprotected`` event.

    Returns
    -------
    Release
        Noise multiplier x sensitivity is the standard error of each value. A Poisson-sampled sum
        is the sum over the sample; divide by the rate for an estimate of the whole.
    """
    if isinstance(ticket.event, Unprotected):
        return _noiseless(table, query, ticket)
    how = gaussian_measure(query, ticket.event, ticket.relation, table.rows_per_unit)
    rows = open_rows(table, ticket)
    noised = rows.noised_total(query, how.grid, how.scale, rate=how.rate)
    return _release(table, ticket, noised, how.scale * rows.holders.noise_growth, how.grid)


@dataclass(frozen=True)
class Measurement:
    """How a query is measured: noise scale and grid in its units, and the rate of sampling."""

    scale: float
    grid: float
    rate: float = 1.0


def gaussian_measure(
    query: Query, event: Event, relation: NeighbouringRelation, rows_per_unit: int
) -> Measurement:
    """Noise and grid that an event has paid for; by public facts alone.

    Whoever answers a query, here or at a client, works them out for himself.
    """
    check_bounded(query, event)
    match event:
        case PoissonGaussian():
            if rows_per_unit > 1:
                raise SettingError(
                    "Rows are sampled one by one, which proves nothing for units of several rows: "
                    "use Unit(..., rows=1), or a job without sampling."
                )
            # dp-accounting's sampled Gaussian expects the bound of one row in both relations.
            scale, rate = event.noise_multiplier * query.bound, event.rate
        case Gaussian():
            sensitivity = query.sensitivity(relation) * rows_per_unit
            scale, rate = event.noise_multiplier * sensitivity, 1.0
        case Unprotected():
            bits = _NOISELESS_BITS + query.fineness
            return Measurement(0.0, 2.0 ** (math.floor(math.log2(query.bound)) - bits))
        case _:
            raise _wrong(event, "Gaussian")
    return Measurement(scale, noise.grid_for(scale) * 2.0**-query.fineness, rate)


def laplace_sum(table: PrivateTable, query: Query, ticket: Ticket) -> Release:
    """Release the sum of a query over the rows with Laplace noise.

    Parameters
    ----------
    table : PrivateTable
    query : Query
        Its L1 sensitivity counts.
    ticket : Ticket
        One access of a ``Laplace`` or ``Unprotected`` event.

    Returns
    -------
    Release
        The standard error is sqrt(2) x noise multiplier x L1 sensitivity.
    """
    event = ticket.event
    check_bounded(query, event)
    match event:
        case Laplace():
            sensitivity = query.sensitivity_l1(ticket.relation) * table.rows_per_unit
            scale = event.noise_multiplier * sensitivity
        case Unprotected():
            return _noiseless(table, query, ticket)
        case _:
            raise _wrong(event, "Laplace")
    grid = noise.grid_for(scale)
    noised = open_rows(table, ticket).laplaced_total(query, grid, scale)
    return _release(table, ticket, noised, math.sqrt(2) * scale, grid)


def check_bounded(query: Query, event: Event) -> None:
    """Refuse noise for a query whose sensitivity it does not cover."""
    if not query.bounded and not isinstance(event, Unprotected):
        raise PlanError(
            f"{type(query).__name__} in this form has no bound on what one row changes: it is for "
            "accesses without noise alone."
        )


def _noiseless(table: PrivateTable, query: Query, ticket: Ticket) -> Release:
    how = gaussian_measure(query, ticket.event, ticket.relation, table.rows_per_unit)
    total = open_rows(table, ticket).total(query, how.grid)
    return _release(table, ticket, total, 0.0, how.grid)


def _release(
    table: PrivateTable, ticket: Ticket, whole: NDArray[np.int64], error: float, grid: float
) -> Release:
    """Whole units as numbers; the vault sums weights relative to the largest, a user does not."""
    unit = grid * table.largest_weight
    return Release(
        ticket.label, whole.astype(np.float64) * unit, error * table.largest_weight, unit
    )


def _wrong(event: Event, wanted: str) -> PlanError:
    return PlanError(
        f"This access was paid as a {event.kind!r} event; a {wanted} sum needs a {wanted} one."
    )
