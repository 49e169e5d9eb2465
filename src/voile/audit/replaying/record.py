"""What a replay found: every access with the distance its totals moved, and every violation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from voile.codec import Order
from voile.record import Record
from voile.stored import Stored

Cost = Annotated[float, Stored(null=math.inf)]
"""A number that may be infinite: ``null`` in a file."""


@dataclass(frozen=True)
class Violation:
    """Something that cannot be, if the guarantee holds.

    Attributes
    ----------
    kind : str
        In a word or two: "sensitivity", "noise", "payment", "output" and so on.
    where : str
        The access (its label and number), or a path to what was returned.
    text : str
        What is wrong, in a sentence.
    """

    kind: str
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.text}"


@dataclass(frozen=True)
class ReplayedAccess:
    """One access to the rows, over all neighbours.

    Attributes
    ----------
    label : str
    event : str
        What was paid, in words.
    size : int
        Numbers released; candidates of a selection.
    allowed : float
        What one unit may move: the exact total (in its own norm, in steps of its grid), the
        logarithm of a probability for a selection, delta for noise that depends on the rows.
    moved : float
        What it moved at most, over the neighbours that were tried.
    """

    label: str
    event: str
    size: int
    allowed: Cost
    moved: Cost

    @property
    def share(self) -> float:
        """The part of the sensitivity that was used, 0 to 1."""
        return self.moved / self.allowed if self.allowed > 0 else math.nan

    def joined(self, other: ReplayedAccess) -> ReplayedAccess:
        """The same access after another neighbour: the larger movement."""
        return self if not other.share > self.share else other


@dataclass(frozen=True)
class Replay(Record):
    """A run, recorded on one table and replayed on its neighbours.

    Attributes
    ----------
    name : str
        What was replayed.
    neighbours : int
        Tables that it was replayed on.
    relation : str
    accesses : tuple of ReplayedAccess
    violations : tuple of Violation
        Empty if nothing was found; it is no proof for other tables.
    epsilon, delta : float
        What all accesses cost at least, by an accountant that is not Voile's, at ``delta``.
    claimed : float
        The epsilon of the budget.
    outcome : str
        How the run ended: "" or the error that it raised, on all tables alike.
    """

    indent: ClassVar[int | None] = 1
    file_order: ClassVar[Order] = (..., "verdict", "broken")
    has_terminal_form: ClassVar[bool] = False

    name: str
    neighbours: int
    relation: str
    accesses: tuple[ReplayedAccess, ...]
    violations: tuple[Violation, ...]
    epsilon: Cost
    delta: float
    claimed: Cost
    outcome: str = ""

    @property
    def broken(self) -> bool:
        """Whether anything was found that the guarantee rules out."""
        return bool(self.violations)

    @property
    def verdict(self) -> str:
        """In two words."""
        return "VIOLATIONS FOUND" if self.broken else "nothing found"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of violations."""
        return frozenset(one.kind for one in self.violations)

    def __str__(self) -> str:
        tables = "neighbour" if self.neighbours == 1 else "neighbours"
        lines = [
            f"{self.name}: replayed on {self.neighbours} {tables} ({self.relation}), "
            f"{self.verdict}",
            f"  {len(self.accesses)} accesses cost at least epsilon {self.epsilon:.4g} at delta "
            f"{self.delta:.3g}; claimed: {self.claimed:.4g}",
        ]
        if self.outcome:
            lines.append(f"  every run ended with {self.outcome}")
        lines += [
            f"  {one.label}: {one.event}, {one.size} numbers, moved {_share(one.share)} of what "
            "one unit may"
            for one in summed_up(self.accesses)
        ]
        return "\n".join([*lines, *(f"  VIOLATION {one}" for one in self.violations)])


def summed_up(accesses: Sequence[ReplayedAccess]) -> list[ReplayedAccess]:
    """One line for each label and event: the one that moved furthest."""
    found: dict[tuple[str, str, int], ReplayedAccess] = {}
    for one in accesses:
        key = (one.label, one.event, one.size)
        found[key] = found[key].joined(one) if key in found else one
    return list(found.values())


def _share(share: float) -> str:
    return "an unknown part" if math.isnan(share) else f"{100 * share:.4g} %"
