"""Preparations: what rows keep between accesses, so that it is not made anew for every query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from voile.privacy.sources.block import Block
from voile.schema import Schema


class Preparation(ABC):
    """What rows keep between accesses (bins, points, pixels), made of each row by itself.

    Subclasses are frozen dataclasses; those that clients of a federation keep are declared
    `voile.privacy.wire.lasting`.
    """

    if TYPE_CHECKING:

        @property
        def columns(self) -> tuple[str, ...]:
            """Columns to read."""

    @abstractmethod
    def prepare(self, block: Block) -> None:
        """Keep something of each row in ``block.kept``."""

    @abstractmethod
    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether it can be made of rows that keep what ``prepared`` made: as for `Query.fits`."""


P = TypeVar("P", bound=Preparation)


def last_kept(prepared: Sequence[Preparation], kind: type[P]) -> P | None:
    """The last preparation of a kind: what rows keep is what it made."""
    return next((one for one in reversed(prepared) if isinstance(one, kind)), None)
