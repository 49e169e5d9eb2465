"""The book of every use of a data set, which refuses what exceeds the budget."""

from voile.privacy.ledger.entry import Entry, EntryKind, Refusal
from voile.privacy.ledger.head import Head
from voile.privacy.ledger.ledger import Ledger
from voile.privacy.ledger.person import KnownBy, Person
from voile.privacy.ledger.reservation import Reservation

__all__ = ["Entry", "EntryKind", "Head", "KnownBy", "Ledger", "Person", "Refusal", "Reservation"]
