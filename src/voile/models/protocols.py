"""What estimators need of a federation, and of a job in it."""

from __future__ import annotations

from typing import Protocol, Self

from voile.privacy.ledger import Ledger
from voile.privacy.vault import PrivateTable
from voile.schema import Schema


class Joint(Protocol):
    """A job that clients have joined."""

    @property
    def table(self) -> PrivateTable:
        """Their rows, to be summed over."""

    @property
    def seed(self) -> int:
        """Public chance, the same after a restart."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Federated(Protocol):
    """What `fit_federated` needs of a federation (`voile.federated.Federation`)."""

    @property
    def schema(self) -> Schema:
        """What all clients agreed is public."""

    def join(self, ledger: Ledger) -> Joint:
        """Begin a job."""
