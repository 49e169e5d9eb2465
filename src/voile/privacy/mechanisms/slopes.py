"""Noised gradients of a quadratic loss over the rows, as many as were paid for, in one pass.

The gradient of 1/2 phi'A phi - b'phi is A phi - b with A and b sums over rows. They are added up
once, stay behind the vault, and every paid access releases one noised gradient of them: gradient
descent that costs one pass over the rows instead of one per step. A row moves a gradient by no more
than its own share of A phi - b, which the query bounds for all phi in a public set; phi outside of
it is refused. Whole numbers throughout; a gradient is rounded down to the grid of the noise once,
which adds at most one step of the grid per coordinate to the sensitivity.
Gaussian mechanism: sums.py. Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NoReturn, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.errors import PlanError, SettingError, VaultError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, Pure, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.release import Release
from voile.privacy.mechanisms.selection import choose
from voile.privacy.queries import Query
from voile.privacy.vault import PrivateTable, open_rows

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

SUM_BITS = 30
"""Sums are added up in units of 2^-30: up to 2^29 rows nothing wraps around."""

_PHI_BITS = 14
_LOW_BITS = 20
"""A is cut into a high part and 20 low bits, so that products with phi stay within 64 bits."""

_FINEST = 2.0 ** -(SUM_BITS + _PHI_BITS - _LOW_BITS)
"""Gradients are known in units of 2^-24: rows times steepness must stay below 2^39."""

_LARGEST_PHI = 64.0


class SlopeQuery(Protocol):
    """A query whose sum is (A | b) of one quadratic loss: shape (width, width + outputs)."""

    @property
    def width(self) -> int:
        """Unknowns of each output."""

    @property
    def outputs(self) -> int:
        """How many losses share A."""

    @property
    def steepness(self) -> float:
        """Largest norm of one row's share of A phi - b, for every phi that `allows` accepts."""

    def allows(self, phi: Floats) -> bool:
        """Whether phi, of shape (width, outputs), is in the public set that the bound is for."""


@dataclass(frozen=True, eq=False)
class _Sums:
    high: Whole
    low: Whole
    answers: Whole


# Kept beside the object, not in it, like rows.
_SUMS: WeakKeyDictionary[PrivateSlopes, _Sums] = WeakKeyDictionary()


class PrivateSlopes:
    """Exact sums behind the vault that answer with noised gradients.

    Parameters
    ----------
    table : PrivateTable
    query : Query
        Of the kind `SlopeQuery`.
    """

    def __init__(self, table: PrivateTable, query: SlopeQuery) -> None:
        if not isinstance(query, Query) or not query.bounded:
            raise SettingError("Slopes need a query with a bound.")
        self._table = table
        self._query = query

    def gradient(self, phi: Floats, ticket: Ticket) -> Release:
        """Release A phi - b with Gaussian noise on every entry, shape (width * outputs,).

        Parameters
        ----------
        phi : ndarray of shape (width, outputs)
            Public; cut towards zero to multiples of 2^-14.
        ticket : Ticket
            One access of a ``Gaussian`` or ``Unprotected`` event.
        """
        return self._release(lambda exact: exact.ravel(), phi, ticket, phi.size)

    def steepness(self, phi: Floats, ticket: Ticket) -> Release:
        """Release the norm of A phi - b with Gaussian noise; it moves no further than A phi - b."""
        return self._release(lambda exact: np.array([_norm(exact)]), phi, ticket, phi.size)

    def flattest(self, candidates: list[Floats], ticket: Ticket) -> int:
        """Choose among candidates phi one of nearly the smallest norm of A phi - b, privately.

        Parameters
        ----------
        candidates : list of ndarray of shape (width, outputs)
            Public.
        ticket : Ticket
            One access of a ``Pure`` or ``Unprotected`` event.
        """
        if not isinstance(ticket.event, (Pure, Unprotected)):
            raise PlanError(
                f"This access was paid as a {ticket.event.kind!r} event; a selection needs a "
                "'pure' one."
            )
        if not candidates:
            raise SettingError("There is nothing to choose among: give at least one candidate.")
        whole = [self._whole(phi) for phi in candidates]
        sums = self._open(ticket)
        scores = np.array([-_norm(_exact(sums, phi)) for phi in whole], dtype=np.int64)
        sensitivity = self._sensitivity(ticket.relation, whole[0].size, _FINEST) + 2 * _FINEST
        return choose(scores, ticket.event, sensitivity, _FINEST)

    def _release(self, read: _SlopesReading, phi: Floats, ticket: Ticket, size: int) -> Release:
        event = ticket.event
        if not isinstance(event, (Gaussian, Unprotected)):
            raise PlanError(
                f"This access was paid as a {event.kind!r} event; a gradient needs a Gaussian one."
            )
        whole = self._whole(phi)
        if isinstance(event, Unprotected):
            found = read(_exact(self._open(ticket), whole))
            return Release(ticket.label, found.astype(np.float64) * _FINEST, 0.0, _FINEST)
        grid = noise.grid_for(event.noise_multiplier * self._sensitivity(ticket.relation, 0, 0.0))
        grid = max(grid, _FINEST)
        # One step for the rounding, one for the norm's.
        sensitivity = self._sensitivity(ticket.relation, size, 2 * grid)
        scale = event.noise_multiplier * sensitivity
        found = read(_exact(self._open(ticket), whole)) >> round(math.log2(grid / _FINEST))
        noised = found + noise.gaussian(len(found), scale / grid)
        return Release(ticket.label, noised.astype(np.float64) * grid, scale, grid)

    def _sensitivity(self, relation: NeighbouringRelation, size: int, grid: float) -> float:
        """How far neighbouring tables' gradients lie apart, rounding of each entry included."""
        sides = 1.0 if relation is NeighbouringRelation.ADD_REMOVE else 2.0
        rows = sides * self._table.rows_per_unit
        return rows * self._query.steepness + math.sqrt(size) * grid

    def _whole(self, phi: Floats) -> Whole:
        shape = (self._query.width, self._query.outputs)
        if phi.shape != shape or not np.isfinite(phi).all() or np.abs(phi).max() > _LARGEST_PHI:
            raise SettingError(f"phi must be {shape} finite numbers within {_LARGEST_PHI:g}.")
        # Towards zero: what was in the set stays there.
        whole: Whole = np.trunc(phi * 2.0**_PHI_BITS).astype(np.int64)
        if not self._query.allows(whole / 2.0**_PHI_BITS):
            raise SettingError("phi lies outside of the public set that the bound is for.")
        return whole

    def _open(self, ticket: Ticket) -> _Sums:
        rows = open_rows(self._table, ticket)
        if self not in _SUMS:
            width, outputs = self._query.width, self._query.outputs
            assert isinstance(self._query, Query)
            total = rows.total(self._query, 2.0**-SUM_BITS).reshape(width, width + outputs)
            matrix = total[:, :width]
            _SUMS[self] = _Sums(matrix >> _LOW_BITS, matrix & (2**_LOW_BITS - 1), total[:, width:])
        return _SUMS[self]

    def __repr__(self) -> str:
        return "<PrivateSlopes: sums private>"

    def __reduce__(self) -> NoReturn:
        raise VaultError("Private sums cannot be pickled.")


class _SlopesReading(Protocol):
    def __call__(self, exact: Whole) -> Whole: ...


def _exact(sums: _Sums, phi: Whole) -> Whole:
    """A phi - b rounded down to units of 2^-24."""
    low = sums.low @ phi - ((sums.answers & (2**_LOW_BITS - 1)) << _PHI_BITS)
    high = sums.high @ phi - ((sums.answers >> _LOW_BITS) << _PHI_BITS)
    exact: Whole = high + (low >> _LOW_BITS)
    return exact


def _norm(exact: Whole) -> int:
    """Length of a vector of whole numbers, in whole numbers (one unit too small at most)."""
    return math.isqrt(sum(int(one) ** 2 for one in exact.ravel()))
