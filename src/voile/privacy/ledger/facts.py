"""What is true of a whole ledger, fixed when it is made."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from functools import lru_cache

from voile.errors import LedgerMismatch, SettingError
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.ledger.filter import Filter, FilterKind
from voile.privacy.ledger.person import check_text

FORMAT = 2
"""Version of what is stored; a ledger of another one is not opened."""

UNNAMED = "default"
"""Name of a data set that was given none."""

MOST_LETTERS = 200
"""Of a name that a database has a column for."""


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """What is fixed when a ledger is made.

    Attributes
    ----------
    dataset : str
    budget : Budget
    relation : NeighbouringRelation
    kind : FilterKind
    slack : float
    unit : str or None
        Who is protected ("row", or the column of a `Unit`); None leaves it to the first entry.
    signer : str or None
        Public key by which every entry is signed.
    id : str
        Of this ledger alone, so that a new one with the same facts is another one.
    """

    dataset: str
    budget: Budget
    relation: NeighbouringRelation
    kind: FilterKind
    slack: float
    unit: str | None = None
    signer: str | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        check_text("name of the data set", self.dataset, MOST_LETTERS)
        if self.unit is not None:
            check_text("unit of a ledger", self.unit, MOST_LETTERS)

    @property
    def filter(self) -> Filter:
        """The privacy filter of this ledger."""
        return _filter(self.budget, self.relation, self.kind, self.slack)

    def to_json(self) -> str:
        """Store as text; repr of floats keeps every bit."""
        return json.dumps(
            {
                "format": FORMAT,
                "id": self.id,
                "epsilon": repr(self.budget.epsilon),
                "delta": repr(self.budget.delta),
                "relation": str(self.relation),
                "filter": str(self.kind),
                "slack": repr(float(self.slack)),
                "unit": self.unit,
                "signer": self.signer,
            }
        )

    @classmethod
    def from_json(cls, dataset: str, text: str) -> LedgerFacts:
        """Read back; refuses formats it does not know."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT:
                raise LedgerMismatch(
                    f"The ledger has format {data['format']!r}, this version of voile reads "
                    f"format {FORMAT}: use the version that made it."
                )
            facts = cls(
                dataset,
                Budget(float(data["epsilon"]), float(data["delta"])),
                NeighbouringRelation(data["relation"]),
                FilterKind(data["filter"]),
                float(data["slack"]),
                data["unit"],
                data["signer"],
                str(data["id"]),
            )
            _ = facts.filter.limit
        except (KeyError, TypeError, ValueError, SettingError, RecursionError) as error:
            raise LedgerMismatch(
                f"The ledger's own description is damaged ({error}). Restore a copy of it."
            ) from error
        if facts.to_json() != text:
            raise LedgerMismatch("The ledger's own description was changed. Restore a copy of it.")
        return facts


@lru_cache(maxsize=64)
def _filter(
    budget: Budget, relation: NeighbouringRelation, kind: FilterKind, slack: float
) -> Filter:
    """One for equal facts: limits are computed once, and every line of a ledger asks for them."""
    return Filter(budget, relation, kind, slack)
