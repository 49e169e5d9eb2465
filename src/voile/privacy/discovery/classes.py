"""Classes of a target that nobody listed: by threshold, and whole numbers from -1 to 9 by name.

The type of a target is public. Where it says numbers, the classes that people usually give have
names in advance (0 and 1, 1 to 5, -1 and 1), so that their noised counts can be released without a
threshold, and a table too small for one still has classes. Proof: docs/proofs/discovery.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from voile.privacy.discovery.levels import find_levels
from voile.privacy.grant import Ticket
from voile.privacy.sources.source import TARGET
from voile.privacy.vault import PrivateTable
from voile.schema import Level

LIKELY = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1)
"""Whole numbers that are looked for by name."""

_FALSE_ALARM = 1e-3
"""Probability that noise alone makes a class of one of them (accuracy, not privacy)."""

_ANY = 0.01
"""Prior of classes that are none of the sets below, and of there being one class alone."""

_GUESSED = math.log(20.0)
"""Evidence below which a class is called a guess: log of how much likelier its count is if there
are such rows than if there are none."""


def _usual_sets() -> dict[frozenset[Level], float]:
    """Classes that people usually give to rows, and about how often."""
    found: dict[frozenset[Level], float] = {
        frozenset((0, 1)): 0.4,
        frozenset((1, 2)): 0.1,
        frozenset((-1, 1)): 0.1,
        frozenset((-1, 0, 1)): 0.03,
    }
    for count in range(3, 11):
        found[frozenset(range(count))] = 0.2 / (count - 2)
        if count < 10:
            found[frozenset(range(1, count + 1))] = 0.1 / (count - 2)
    return found


_USUAL = _usual_sets()


@dataclass(frozen=True)
class FoundClasses:
    """Classes in the order that scikit-learn expects, and which of them are guesses.

    Attributes
    ----------
    classes : tuple of levels
    guessed : tuple of levels
        Those that do not stand clear of the noise, taken because a classifier needs two, or
        because others that were found usually come with them.
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
        Where the type of the target says numbers and there is noise, at least two unless all rows
        clearly have the same.
    """
    likely: tuple[Level, ...] = LIKELY if table.numeric_target else ()
    found = find_levels(table, TARGET, ticket, likely=likely)
    clear = max(found.standard_error * float(ndtri(1 - _FALSE_ALARM / len(LIKELY))), 0.5)
    counts = dict(zip(likely, found.likely, strict=True))
    named = {*found.levels, *(level for level, count in counts.items() if count > clear)}
    # Without noise there is nothing to guess: what was not counted is not there.
    if not likely or not found.standard_error:
        return FoundClasses(_sorted(named))
    evidence = _weigh(counts, found.standard_error)
    classes = _most_probable(named, evidence)
    guessed = [level for level in classes - named if evidence[level] < _GUESSED]
    return FoundClasses(_sorted(classes), _sorted(guessed))


def _weigh(counts: Mapping[Level, float], error: float) -> dict[Level, float]:
    """Log of how much likelier each count is if some rows have the value than if none has.

    Some rows: any number of them up to all, each equally probable.
    """
    most = max(sum(counts.values()), 4.0 * error)
    values = np.fromiter(counts.values(), dtype=np.float64) / error
    inside = np.maximum(ndtr(most / error - values) - ndtr(-values), 0.0)
    # Far below 0, only the end of the range at 0 counts.
    inside = np.where(inside > 0, np.log(np.maximum(inside, 1e-300)), log_ndtr(values))
    found = inside + values**2 / 2 + math.log(math.sqrt(2 * math.pi) * error / most)
    return dict(zip(counts, map(float, found), strict=True))


def _most_probable(named: set[Level], evidence: Mapping[Level, float]) -> set[Level]:
    """What is clear, or the usual set around it, whichever is more probable."""

    def score(classes: Iterable[Level], prior: float) -> float:
        return math.log(prior) + sum(evidence.get(level, 0.0) for level in classes)

    sets = {classes: score(classes, p) for classes, p in _USUAL.items() if named <= classes}
    if named:
        sets.setdefault(frozenset(named), score(named, _ANY))
    best = max(sets, key=lambda classes: sets[classes])
    if len(best) > 1 or best <= set(evidence):
        return set(best)
    # A value that nobody expected, and no second one: the most probable beside it.
    others = sorted(evidence, key=lambda level: -evidence[level])
    return {*best, others[0]}


def _sorted(levels: Iterable[Level]) -> tuple[Level, ...]:
    """Levels of one type next to each other."""
    return tuple(sorted(levels, key=lambda level: (isinstance(level, str), level)))
