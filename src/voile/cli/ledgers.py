"""The ledger that a verb pays from: opened, made, or in memory for this job alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voile.errors import LedgerMismatch

if TYPE_CHECKING:
    from voile.privacy.budget import Budget
    from voile.privacy.ledger import Ledger


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

    name = dataset or name_of(data)
    if place is None:
        if whole is not None:
            raise LedgerMismatch("--budget is for a ledger that lasts: give --ledger FILE, too.")
        return Ledger(job, dataset=name)
    new = "://" not in place and not Path(place).expanduser().exists()
    if new and whole is None:
        raise LedgerMismatch(
            f"There is no ledger {place!r} yet: give --budget EPSILON, what may be spent on this "
            "data set in all, to make one."
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

    if "://" not in place and not Path(place).expanduser().exists():
        raise LedgerMismatch(
            f"There is no ledger {place!r}: check the path, or make one with voile ledger create."
        )
    return Ledger(place, dataset=dataset)


def name_of(data: Path) -> str:
    """What a data set is called if nobody says: the file without its endings."""
    return data.name.split(".")[0] or data.name


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
