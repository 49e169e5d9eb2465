"""Asking a ledger whether a plan would be paid, without paying."""

from __future__ import annotations

from voile.privacy.events import Plan
from voile.privacy.ledger.entry import EntryKind
from voile.privacy.ledger.ledger import Ledger


def check_affordable(ledger: Ledger, plan: Plan, what: str) -> None:
    """Raise what `Ledger.spend` would raise now; nothing is written.

    Another job may spend in between: the payment itself decides again.
    """
    price = ledger.filter.price(plan.events)
    fits_alone = ledger._fits_alone(plan, price)
    ledger._decide(ledger._book.last(), what, EntryKind.SPEND, plan, price, fits_alone)
