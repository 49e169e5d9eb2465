"""Classes of a target that nobody listed: by threshold, and whole numbers from -1 to 9 by name.

The type of a target is public. Where it says numbers, the classes that people usually give have
names in advance (0 and 1, 1 to 5, -1 and 1), so that their noised counts can be released without a
threshold, and a table too small for one still has classes. Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import ndtri

from voile.privacy.discovery.levels import find_levels
from voile.privacy.grant import Ticket
from voile.privacy.sources.source import TARGET
from voile.privacy.vault import PrivateTable
from voile.schema import Level

LIKELY = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1)
"""Whole numbers that are looked for by name; of two that are equally frequent the first counts."""

_FALSE_ALARM = 1e-3
"""Probability that noise alone makes a class of one of them (accuracy, not privacy)."""


@dataclass(frozen=True)
class FoundClasses:
    """Classes in the order that scikit-learn expects, and how many of them are guesses.

    Attributes
    ----------
    classes : tuple of levels
    guessed : tuple of levels
        Those that do not stand clear of the noise, taken because a classifier needs two.
    """

    classes: tuple[Level, ...]
    guessed: tuple[Level, ...] = ()


def find_classes(table: PrivateTable, ticket: Ticket) -> FoundClasses:
    """Find the classes of the target that enough rows have.

    Parameters
    ----------
    table : PrivateTable
    ticket : Ticket
        One access of a ``Threshold`` event.

    Returns
    -------
    FoundClasses
        At least two where the type of the target says numbers, and there is noise.
    """
    likely: tuple[Level, ...] = LIKELY if table.numeric_target else ()
    found = find_levels(table, TARGET, ticket, likely=likely)
    clear = max(found.standard_error * float(ndtri(1 - _FALSE_ALARM / len(LIKELY))), 0.5)
    counts = dict(zip(likely, found.likely, strict=True))
    classes = {*found.levels, *(one for one, count in counts.items() if count > clear)}
    others = sorted((one for one in likely if one not in classes), key=lambda one: -counts[one])
    # Without noise there is nothing to guess: what was not counted is not there.
    lacking = max(2 - len(classes), 0) if found.standard_error else 0
    guessed = others[:lacking]
    return FoundClasses(_sorted({*classes, *guessed}), tuple(guessed))


def _sorted(levels: set[Level]) -> tuple[Level, ...]:
    """Levels of one type next to each other."""
    return tuple(sorted(levels, key=lambda one: (isinstance(one, str), one)))
