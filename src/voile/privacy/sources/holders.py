"""Who holds the rows of a source, and what follows from it for noise, payments and receipts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voile.privacy.events import Plan
    from voile.privacy.ledger import Entry, Ledger


@dataclass(frozen=True)
class Holders:
    """Who holds the rows: this process, unless a source says otherwise (clients of a federation).

    Attributes
    ----------
    summed_only : bool
        Whether rows can be summed over, but not gathered in one place.
    per_unit : int
        With how many holders one privacy unit may have rows.
    noise_growth : float
        Standard deviation of the noise in `RowSource.noised_total` relative to what was asked for.
    notes : tuple of str
        What a receipt must say about where the rows are, in sentences.
    """

    summed_only: bool = False
    per_unit: int = 1
    noise_growth: float = 1.0
    notes: tuple[str, ...] = ()

    def settle(
        self, plan: Plan, what: str, ledger: Ledger, spend: Callable[[], Entry], unit: str | None
    ) -> Entry:
        """Have a plan paid by everybody who has to; ``spend`` writes it into ``ledger``."""
        return spend()
