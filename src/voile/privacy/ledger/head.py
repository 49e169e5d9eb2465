"""The head of a ledger: a short text that, kept elsewhere, exposes an older or changed copy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from voile.errors import LedgerMismatch

_FORM = re.compile(
    r"(?P<entries>\d{1,15}):(?P<digest>[0-9a-f]{64}):(?P<refusals>\d{1,15}):(?P<refused>[0-9a-f]{64})"
    r"(:(?P<writes>\d{1,15}):(?P<file>[0-9a-f]{64}))?"
)


@dataclass(frozen=True, slots=True)
class Head:
    """How far a ledger has come, and digests of all it holds.

    Attributes
    ----------
    entries, refusals : int
        How many there are.
    digest, refused : str
        Digests of the last ones, each of which binds all before it.
    writes : int or None
        How often a file was written to (SQLite's own counter).
    file : str or None
        SHA-256 of the file after that many writes.
    """

    entries: int
    digest: str
    refusals: int
    refused: str
    writes: int | None = None
    file: str | None = None

    def __str__(self) -> str:
        text = f"{self.entries}:{self.digest}:{self.refusals}:{self.refused}"
        return text if self.file is None else f"{text}:{self.writes}:{self.file}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read a head that was printed."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise LedgerMismatch(
                "This is not the head of a ledger: give the whole text that voile ledger head "
                "printed."
            )
        writes = found["writes"]
        return cls(
            int(found["entries"]),
            found["digest"],
            int(found["refusals"]),
            found["refused"],
            None if writes is None else int(writes),
            found["file"],
        )
