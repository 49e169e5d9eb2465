"""The terms of a federated job: who trusts whom, and what follows for noise and receipts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from voile.errors import SettingError
from voile.privacy.noise import GRID_BITS
from voile.privacy.wire import sendable
from voile.schema import Unit

_MOST_CLIENTS = 100_000
LEAST_SHARE = 2.0**10
"""Fewest grid steps of a share of noise for which its sum is proved (docs/proofs/federated.md)."""


_FIRST_PART = 0.75
"""Of the precision, for the first attempt at a sum: further ones are rare."""

OF_CLIENTS = "guarantee for whole clients"
"""In the history of a ledger: its line counts clients. One ledger counts rows or clients."""

CLIENT = "client"


class Trust(StrEnum):
    """Whom the clients have to trust."""

    AGGREGATOR = "aggregator"
    """The server sees each client's exact sums, and adds the noise."""
    SHARES = "shares"
    """Clients add shares of the noise under masks: the server sees noised sums over all of them."""
    NOBODY = "nobody"
    """Each client adds all of the noise to its own answer."""


@sendable
@dataclass(frozen=True)
class Terms:
    """What all sides of a job agree on before its first access.

    Attributes
    ----------
    trust : Trust
    clients : tuple of str
        Names of all clients.
    dropouts : int
        So many may be missing from a sum; with more the job stops.
    colluders : int
        So many may tell the server their noise (``Trust.SHARES``) without harm to the others.
    clients_per_unit : int
        At so many clients one privacy unit (a person, a row) may have rows.
    most_rows : int
        Most rows of one client that are believed; a larger answer is refused as impossible.
    """

    trust: str
    clients: tuple[str, ...]
    dropouts: int = 0
    colluders: int = 0
    clients_per_unit: int = 1
    most_rows: int = 10_000_000

    def __post_init__(self) -> None:
        if self.trust not in list(Trust):
            raise SettingError(
                f"The 'trust' must be one of {[str(one) for one in Trust]}. Got {self.trust!r} "
                "instead."
            )
        count = len(self.clients)
        if not 1 <= count <= _MOST_CLIENTS or len(set(self.clients)) != count:
            raise SettingError(
                f"A federation needs 1 to {_MOST_CLIENTS} clients with different names. Got "
                f"{count}, of which {len(set(self.clients))} differ."
            )
        if not all(isinstance(name, str) and name.isprintable() and name for name in self.clients):
            raise SettingError("The names of clients must be printable text.")
        for name, low in (("dropouts", 0), ("colluders", 0), ("clients_per_unit", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= count:
                raise SettingError(
                    f"The '{name}' must be a whole number from {low} to {count}, the number of "
                    f"clients. Got {value!r} instead."
                )
        if not (isinstance(self.most_rows, int) and 1 <= self.most_rows <= 2**40):
            raise SettingError(f"The 'most_rows' must be in [1, 2**40]. Got {self.most_rows!r}.")
        if self.dropouts >= count:
            raise SettingError(f"With {count} clients no more than {count - 1} can be missing.")
        if self.trust == Trust.SHARES and self.honest < 2:
            raise SettingError(
                f"Of {count} clients, {self.dropouts} may be missing and {self.colluders} collude: "
                "fewer than two are left to share the noise. Ask more clients, or use "
                "trust='nobody'."
            )

    @property
    def honest(self) -> int:
        """Fewest clients whose noise is in a sum and unknown to the server."""
        return len(self.clients) - self.dropouts - self.colluders

    @property
    def fewest(self) -> int:
        """Fewest clients that must answer."""
        return len(self.clients) - self.dropouts

    def noise_share(self, scale: float, attempt: int = 0) -> float:
        """Standard deviation that one client adds, when the whole was paid as ``scale``.

        With shares of noise a sum may be made several times, each time over fewer clients; whoever
        gets a late message has them all. All attempts together cost what was paid: each has its
        part of the precision, and noise of its own (docs/proofs/federated.md).
        """
        if self.trust == Trust.AGGREGATOR:
            return 0.0
        if self.trust == Trust.NOBODY:
            return scale
        return scale / math.sqrt(self.honest * self._part(attempt))

    def _part(self, attempt: int) -> float:
        """Part of the paid precision that an attempt at a sum has; all of them make up 1."""
        if self.dropouts == 0:
            return 1.0
        return _FIRST_PART if attempt == 0 else (1.0 - _FIRST_PART) / self.dropouts

    def growth(self, answered: int, attempt: int = 0) -> float:
        """Standard deviation of the noise in a sum over so many clients, relative to ``scale``."""
        if self.trust == Trust.AGGREGATOR:
            return 1.0
        return math.sqrt(answered) * self.noise_share(1.0, attempt)

    def notes_for(self, unit: Unit | None) -> tuple[str, ...]:
        """Who is protected from whom, for the receipt; ``unit`` is that of the schema."""
        count = len(self.clients)
        where = f"rows lay with {count} client{'s' if count != 1 else ''} and did not leave them"
        match self.trust:
            case Trust.AGGREGATOR:
                whom = (
                    "protects each row from everybody who sees the model, the other clients "
                    "included; the aggregator saw each client's exact sums and is trusted"
                )
            case Trust.SHARES:
                whom = (
                    "protects each row also from an honest-but-curious server (it saw masked "
                    "messages, whose sum has the noise of the clients), while at most "
                    f"{self.dropouts} of them are missing and {self.colluders} collude"
                )
            case _:
                whom = (
                    "protects each row from everybody outside its client, the server and all other "
                    "clients together included: each client added the whole noise itself"
                )
        notes = [f"Federated: {where}.", f"This {whom}."]
        if self.clients_per_unit > 1:
            notes.append(f"One unit may have rows at {self.clients_per_unit} clients.")
        elif unit is not None and unit != Unit():
            # Clients cannot see each other's rows: that this holds is the user's word.
            whose = unit.person if unit.column is None else repr(unit.column)
            notes.append(f"It holds if no {whose} has rows at more than one client.")
        return tuple(notes)


assert 2.0**GRID_BITS / math.sqrt(_MOST_CLIENTS) > LEAST_SHARE
