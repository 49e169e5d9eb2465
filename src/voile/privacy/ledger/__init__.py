"""The book of every use of a data set, which refuses what exceeds the budget."""

from voile.privacy.ledger.admission import Admission
from voile.privacy.ledger.entry import Entry, EntryKind
from voile.privacy.ledger.ledger import Ledger

__all__ = ["Admission", "Entry", "EntryKind", "Ledger"]
