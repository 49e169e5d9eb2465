"""What a command has paid and saved so far, so that whatever ends it, the end tells the truth."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from voile.privacy.ledger import Ledger


class Account:
    """Noted by a verb as it goes, read when the command ends, well or not."""

    def __init__(self) -> None:
        self._book: Ledger | None = None
        self._history = ""
        self._saved: list[str] = []

    def pay_from(self, book: Ledger, place: str | None) -> None:
        """Note which ledger the verb pays from.

        Parameters
        ----------
        book : Ledger
        place : str or None
            As the user gave it; None for memory.
        """
        self._book = book
        if place is not None:
            # A url may hold a password.
            self._history = f"voile ledger history {'URL' if '://' in place else place}"

    def note_saved(self, what: str, place: Path) -> None:
        """Note that a result is in a file."""
        self._saved.append(f"{what} is saved as {str(place)!r}")

    def note_printed(self, what: str) -> None:
        """Note that a result could not be saved and was printed."""
        self._saved.append(f"{what} is printed on the output, as no file could be written")

    @property
    def paid(self) -> bool:
        """Whether anything was paid, or may have been."""
        return self._book is not None and self._book.has_paid

    def tell(self) -> str:
        """What a person must know beside what went wrong; nothing if nothing was paid or saved."""
        told = []
        if self.paid:
            told.append(
                f"What was paid stays paid: see {self._history}."
                if self._history
                else "What was paid stays paid, and no --ledger keeps it."
            )
        if self._saved:
            told.append(f"{'. '.join(self._saved)}.")
        return " ".join(told)


_current: ContextVar[Account | None] = ContextVar("account", default=None)


def current() -> Account:
    """The account of the command that runs."""
    return _current.get() or open_account()


def open_account() -> Account:
    """A new account, for a command that begins."""
    account = Account()
    _current.set(account)
    return account
