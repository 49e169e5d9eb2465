"""One attack on one library: two neighbouring tables, a fit, and what the attacker reads.

Not a script: see `incumbents.py`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from voile.audit import Finding, lower_bound

Table = dict[str, list[Any]]
"""Columns by name; "y" is the target."""

Row = dict[str, Any]

REPLACED, ADDED = "one record replaced", "one record added"


def replace_first(table: Table, row: Row) -> Table:
    """The neighbour whose first record is another one; as many rows as before."""
    return {name: [row[name], *values[1:]] for name, values in table.items()}


def add_last(table: Table, row: Row) -> Table:
    """The neighbour with one record more."""
    return {name: [*values, row[name]] for name, values in table.items()}


JOINS = {REPLACED: replace_first, ADDED: add_last}


@dataclass(frozen=True)
class Neighbours:
    """A table, and the record that makes it another one.

    Attributes
    ----------
    what : str
        In words, for the table of findings.
    table : Table
    record : Row
        The record that takes the place of the first one, or is added.
    relation : str
        `REPLACED` or `ADDED`.
    """

    what: str
    table: Table
    record: Row
    relation: str = REPLACED

    @property
    def worlds(self) -> tuple[Table, Table]:
        """Without the record, and with it."""
        return self.table, JOINS[self.relation](self.table, self.record)


@dataclass(frozen=True)
class Attack:
    """What is fitted to either table, and what should come of it.

    Attributes
    ----------
    library : str
        Name and version.
    how : str
        The setting of the library, in words; may be empty.
    neighbours : Neighbours
    fit : callable
        ``fit(table)`` gives the numbers that the attacker reads.
    delta : float
        Of the claim; its epsilon is `EPSILON`.
    breaks : float or None
        The attack must show more than this; 0.0: more than the claim. None: nobody knows before.
    ours : bool
        The attack must not show more than the claim.
    share : float
        Part of the runs that is enough, for fits that are slow; more, for small effects.
    note : str
        What a reader should know besides; may be empty.
    """

    library: str
    how: str
    neighbours: Neighbours
    fit: Callable[[Table], Any]
    delta: float
    breaks: float | None = None
    ours: bool = False
    share: float = 1.0
    note: str = ""

    @property
    def name(self) -> str:
        """As findings are named."""
        what = f"same attack, {self.neighbours.what}" if self.ours else self.neighbours.what
        return f"{self.library}: {what}{f' ({self.how})' if self.how else ''}"


EPSILON = 1.0
"""What every model is asked to keep."""

FEWEST_RUNS = 40

CONFIDENCE, OPEN_CONFIDENCE = 0.99, 0.999
"""Of the bounds. Where the truth may be the claim itself, chance must not call it broken."""


def carry_out(attack: Attack, runs: int, processes: int | None, seed: int | None = None) -> Finding:
    """Fit many times in worlds chosen by a coin, and bound epsilon from below.

    A seed fixes the coins and our noise, for tests.
    """
    spoken = spoken_warnings(attack)
    voice = "no warning" if not spoken else "warns: " + ", ".join(spoken)
    return lower_bound(
        attack.fit,
        attack.neighbours.table,
        attack.neighbours.record,
        join=JOINS[attack.neighbours.relation],
        epsilon=EPSILON,
        delta=attack.delta,
        runs=max(FEWEST_RUNS, round(runs * attack.share)),
        name=attack.name,
        confidence=OPEN_CONFIDENCE if attack.breaks is None and not attack.ours else CONFIDENCE,
        note="; ".join(filter(None, [attack.neighbours.relation, voice, attack.note])),
        processes=processes,
        random_state=seed,
        noise_seed=seed,
    )


def spoken_warnings(attack: Attack) -> list[str]:
    """Kinds of warnings about privacy that fits in the two worlds give."""
    kinds: set[str] = set()
    for table in attack.neighbours.worlds:
        if hasattr(attack.fit, "warnings_about"):
            kinds |= set(attack.fit.warnings_about(table))
            continue
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            attack.fit(table)
        kinds |= {one.category.__name__ for one in heard if "rivacy" in str(one.message)}
    return sorted(kinds)


def falls_short(attack: Attack, finding: Finding) -> str | None:
    """Why a finding is not what it should be; None if it is."""
    if attack.ours and finding.broken:
        return f"{attack.name}: epsilon {finding.epsilon:.2f} is more than was guaranteed"
    if attack.breaks is not None and (not finding.broken or finding.epsilon <= attack.breaks):
        wanted = max(attack.breaks, EPSILON)
        return f"{attack.name}: epsilon {finding.epsilon:.2f} shown, not more than {wanted:g}"
    return None
