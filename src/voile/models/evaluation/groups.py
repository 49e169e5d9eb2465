"""Measures by group, and which differences between groups are more than noise and chance.

Differences are those of a group from all other groups of its column together; p-values allow for
all groups and measures of the evaluation (Holm). docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from voile.models.evaluation import measures as m
from voile.models.evaluation.access import LEAST_ROWS, access, level_names, of_group
from voile.models.evaluation.intervals import Counted, Share, two_sided
from voile.models.evaluation.measure import Difference, Measure
from voile.models.evaluation.queries import GroupCells
from voile.models.evaluation.record import GroupScores
from voile.models.verdict import allow_for_many, judge
from voile.privacy.grant import Grant
from voile.privacy.vault import PrivateTable
from voile.schema import Schema


@dataclass(frozen=True)
class Contrast:
    """A figure of a group minus that of the others, before it is known how many there are."""

    name: str
    value: float
    low: float
    high: float
    p_value: float


def group_classes(
    table: PrivateTable,
    grant: Grant,
    schema: Schema,
    groups: tuple[str, ...],
    classes: int,
    confidence: float,
) -> tuple[list[GroupScores], list[str]]:
    """Accuracy and rates of every level of every group, and what could not be measured."""
    found, contrasts, notes = [], [], []
    for name in groups:
        levels = level_names(schema, name)
        counted = access(table, GroupCells(classes, name, len(levels) - 2), grant, of_group(name))
        cells = counted.values.reshape(len(levels), -1)[:, :-1]
        enough = cells.sum(axis=1) >= max(LEAST_ROWS * counted.noise * classes, 1.0)
        for place in np.flatnonzero(enough):
            own = _shares(cells[place], 1, counted, classes)
            measures = tuple(share.measure(one, confidence) for one, share in own.items())
            rows = float(cells[place].sum())
            found.append(GroupScores(name, levels[place], rows, measures))
            rest = enough & (np.arange(len(levels)) != place)
            others = _shares(cells[rest].sum(axis=0), int(rest.sum()), counted, classes)
            contrasts.append(
                [contrast(one, own[one], others[one], confidence) for one in own]
                if rest.any()
                else []
            )
        notes += silent_note(name, levels, enough)
    return settle(found, contrasts), notes


def silent_note(name: str, levels: Sequence[str], enough: np.ndarray) -> list[str]:
    """What is said of groups with too few rows."""
    silent = [level for level, told in zip(levels, enough, strict=True) if not told]
    return [f"Too few rows to tell, by {name}: {', '.join(silent)}."] if silent else []


def settle(
    groups: Sequence[GroupScores], contrasts: Sequence[Sequence[Contrast]]
) -> list[GroupScores]:
    """Groups with their differences and verdicts; two groups of a column share one test."""
    single = {
        column
        for column in {one.column for one in groups}
        if sum(one.column == column for one in groups) == 2
    }
    tests: dict[tuple[str, str, str], float] = {}
    for group, mine in zip(groups, contrasts, strict=True):
        for one in mine:
            tests.setdefault(_test(group, one, single), one.p_value)
    adjusted = dict(zip(tests, allow_for_many(list(tests.values())).tolist(), strict=True))
    found = []
    for group, mine in zip(groups, contrasts, strict=True):
        told = []
        for one in mine:
            p = adjusted[_test(group, one, single)] if not math.isnan(one.p_value) else math.nan
            told.append(Difference(one.name, one.value, one.low, one.high, p, judge(p)))
        found.append(replace(group, differences=tuple(told)))
    return found


def _test(group: GroupScores, one: Contrast, single: set[str]) -> tuple[str, str, str]:
    return group.column, "" if group.column in single else group.level, one.name


def _shares(cells: np.ndarray, levels: int, counted: Counted, classes: int) -> dict[str, Share]:
    """Accuracy and, of two classes, rates; of the sum of some levels."""
    pairs = Counted(cells, counted.noise * math.sqrt(levels), counted.together)
    found = {"accuracy": Share.of(pairs, np.eye(classes, dtype=bool).ravel())}
    if classes == 2:
        # What fairness asks: how often the second class is predicted, and rightly or wrongly so.
        found["predicted rate"] = m.rate_of(pairs, None)
        found["true-positive rate"] = m.rate_of(pairs, 1)
        found["false-positive rate"] = m.rate_of(pairs, 0)
    return found


def contrast(name: str, own: Share, others: Share, confidence: float) -> Contrast:
    """The difference of two shares of different rows.

    The test takes variances at the share that both would have, if they were alike; ends are those
    of the two intervals, added as independent errors are.
    """
    return contrast_of(
        own.measure(name, confidence),
        others.measure(name, confidence),
        _variance_if_alike(own, others),
    )


def contrast_of(own: Measure, others: Measure, variance: float) -> Contrast:
    """The difference of two measures of different rows; ``variance`` if there were none."""
    if own.lost or others.lost:
        width = own.high - own.low
        return Contrast(own.name, math.nan, -width, width, math.nan)
    value = own.value - others.value
    below = math.hypot(own.value - own.low, others.high - others.value)
    above = math.hypot(own.high - own.value, others.value - others.low)
    return Contrast(own.name, value, value - below, value + above, two_sided(value, variance))


def _variance_if_alike(own: Share, others: Share) -> float:
    rows = own.rows + others.rows
    if min(own.rows, others.rows) <= 0:
        return math.nan
    both = (max(own.inside, 0.0) + max(others.inside, 0.0)) / rows
    return own.variance_at(both) + others.variance_at(both)
