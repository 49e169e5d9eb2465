"""The account of a command: the ledger it pays from, and what it has paid and saved so far.

Whatever ends the command, its end tells the truth.
"""

from __future__ import annotations

import math
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voile.errors import BudgetExceeded, LedgerMismatch

if TYPE_CHECKING:
    from voile.privacy.budget import Budget
    from voile.privacy.ledger import Ledger


_STAYS = "stays paid"


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

    def tell(self, message: str = "") -> str:
        """What a person must know beside what went wrong; nothing if nothing was paid or saved.

        Parameters
        ----------
        message : str
            What went wrong: what it says itself is not said again.
        """
        told = []
        if self.paid:
            lead = "" if _STAYS in message else "What was paid stays paid"
            if self._history:
                told.append(f"{lead}: see {self._history}." if lead else f"See {self._history}.")
            else:
                told.append(
                    f"{lead}, and no --ledger keeps it." if lead else "No --ledger keeps it."
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


# -- ledgers --------------------------------------------------------------------------------------


def open_ledger(
    place: str | None,
    job: Budget,
    *,
    whole: float | None,
    dataset: str | None,
    data: Path,
    key: Path | None = None,
) -> Ledger:
    """The ledger to pay from.

    Parameters
    ----------
    place : str or None
        Path or url; None for memory, with just this job's budget.
    job : Budget
        Of this job.
    whole : float or None
        Epsilon of a new ledger (``--budget``).
    dataset : str or None
        Name of the data set; the file's by default, so that a ledger of other data is refused.
    data : Path
    key : Path or None
        Private key of a ledger whose entries are signed; by default the one ``VOILE_KEY`` names.
    """
    from voile.privacy.budget import Budget
    from voile.privacy.ledger import Ledger

    name = dataset or data.name.split(".")[0] or data.name
    if place is None:
        if whole is not None:
            raise LedgerMismatch("--budget is for a ledger that lasts: give --ledger FILE, too.")
        return Ledger(job, dataset=name)
    if _is_free(place) and whole is None:
        raise LedgerMismatch(
            f"There is no ledger {place!r} yet: give --budget EPSILON, what may be spent on this "
            "data set in all, to make one."
        )
    if whole is not None and job.epsilon > whole:
        raise BudgetExceeded(
            f"The job may spend epsilon {job.epsilon:g}, and the ledger {whole:g} in all "
            "(--budget): ask for less, or allow more. No ledger was made, and nothing was spent."
        )
    budget = None if whole is None else Budget(whole, job.delta)
    try:
        return Ledger(place, budget, dataset=name, key=key)
    except LedgerMismatch as error:
        if "belongs to the data set" in str(error) and dataset is None:
            raise LedgerMismatch(
                f"{str(error).rstrip('.')}. If it is the same people under another file name, say "
                "so with --dataset."
            ) from None
        raise


def open_existing(place: str, dataset: str | None) -> Ledger:
    """A ledger to look at, which must be there."""
    from voile.privacy.ledger import Ledger

    if _is_free(place):
        raise LedgerMismatch(
            f"There is no ledger {place!r}: check the path, or make one with voile ledger create."
        )
    return Ledger(place, dataset=dataset)


def _is_free(place: str) -> bool:
    """Whether a place is a path without a file; of a url nobody knows."""
    return "://" not in place and not Path(place).expanduser().exists()


def tell_ledger(book: Ledger) -> dict[str, Any]:
    """A ledger's state as plain data."""
    budget, spent, left = book.budget, book.spent(), book.remaining()

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "dataset": book.dataset,
        "budget": {"epsilon": finite(budget.epsilon), "delta": budget.delta},
        "spent": finite(spent.epsilon),
        "remaining": finite(left.epsilon),
        "fraction_spent": book.fraction_spent(),
    }


def part_of(book: Ledger, loss: float) -> float:
    """A loss as a part of what the budget of a ledger allows."""
    whole = book.filter.limit.loss
    return loss / whole if whole and whole != math.inf else 0.0
