"""Work of whole clients: each answers with one vector, clipped as a whole, whatever it did.

For guarantees about whole clients (McMahan et al., "Learning differentially private recurrent
language models", ICLR 2018), and for published algorithms that guarantee nothing. What a client
computes is not a sum over rows, so it protects no single row unless the client itself adds noise.
Proof: docs/proofs/federated.md ("whole client").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.errors import PlanError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Gaussian, PoissonGaussian, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.release import Release
from voile.privacy.query_kernels import clipped_total
from voile.privacy.sources.block import Block
from voile.privacy.vault import PrivateTable, open_rows

_NOISELESS_BITS = 30


class ClientWork(ABC):
    """A function from all rows of a client to one vector of norm ``bound`` at most.

    Subclasses are frozen dataclasses declared `voile.privacy.wire.sendable`.
    """

    if TYPE_CHECKING:

        @property
        def columns(self) -> tuple[str, ...]:
            """Columns to read."""

        @property
        def size(self) -> int:
            """Length of the vector."""

        @property
        def bound(self) -> float:
            """Largest L2 norm; longer vectors are shortened to it."""

    @abstractmethod
    def run(self, blocks: Sequence[Block]) -> NDArray[np.float64]:
        """The vector, shape (size,)."""

    def clipped(self, blocks: Sequence[Block], grid: float) -> NDArray[np.int64]:
        """The vector shortened to ``bound``, in whole units of ``grid``.

        An error, another shape or a value that is not finite count as zeros, and nobody is told:
        whether they happen depends on private rows.
        """
        try:
            found = np.asarray(self.run(blocks), dtype=np.float64)
        except Exception:
            found = np.zeros(0)
        if found.shape != (self.size,):
            return np.zeros(self.size, dtype=np.int64)
        return clipped_total(found[None], self.bound, grid)


def client_sum(table: PrivateTable, work: ClientWork, ticket: Ticket) -> Release:
    """Release the sum of the clients' vectors with Gaussian noise; each client is one unit.

    Parameters
    ----------
    table : PrivateTable
        Of a federation (one table counts as one client).
    work : ClientWork
    ticket : Ticket
        One access of a ``Gaussian`` event (all clients), a ``PoissonGaussian`` one (each client
        takes part with the probability ``rate``, by a secret coin), or an ``Unprotected`` one.

    Returns
    -------
    Release
        The sum over the clients that took part; its ``standard_error`` as ever.
    """
    event = ticket.event
    match event:
        case Gaussian():
            sides = 1.0 if ticket.relation is NeighbouringRelation.ADD_REMOVE else 2.0
            scale, rate = event.noise_multiplier * work.bound * sides, 1.0
        case PoissonGaussian():
            scale, rate = event.noise_multiplier * work.bound, event.rate
        case Unprotected():
            scale, rate = 0.0, 1.0
        case _:
            raise PlanError(
                f"This access was paid as a {event.kind!r} event; updates need Gaussian."
            )
    if scale:
        grid = noise.grid_for(scale)
    else:
        grid = 2.0 ** (int(np.floor(np.log2(work.bound))) - _NOISELESS_BITS)
    total = open_rows(table, ticket).updates(work, grid, rate=rate)
    if scale:
        total = total + noise.gaussian(work.size, scale / grid)
    return Release(ticket.label, total.astype(np.float64) * grid, scale, grid)


def noise_of_a_published_algorithm(size: int, scale: float) -> NDArray[np.float64]:
    """Gaussian noise that an algorithm without a guarantee adds where it likes.

    No guarantee rests on it: accesses of such algorithms are paid as ``Unprotected``.
    """
    if scale <= 0:
        return np.zeros(size)
    grid = noise.grid_for(scale)
    return noise.gaussian(size, scale / grid).astype(np.float64) * grid
