"""How far a local surrogate can be trusted: four figures, each with a verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voile.explain.blackbox.units import PROBABILITY
from voile.explain.wording import percent, short

if TYPE_CHECKING:
    from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate

GOOD, FAIR, POOR, UNKNOWN = "good", "fair", "poor", "unknown"

AGREEMENT = (0.9, 0.75)
"""From where agreement is good, and from where it is fair; a coin agrees half of the time."""

R2 = (0.7, 0.4)
"""From where R2 is good, and from where it is fair."""

LOCAL = (0.01, 0.3)
"""Between these effective sample shares a surrogate is local, and not of very few rows."""

BARELY_LOCAL = (0.002, 0.5)
"""Between these it is still fair."""

DISTANCE = (0.5, 1.3)
"""Up to where rows are near, and up to where they are not far; the largest distance is 2."""


@dataclass(frozen=True)
class Reading:
    """One figure: its name, the number as text, what it says, and whether that is good.

    Attributes
    ----------
    name, number, words : str
        "agreement", "93 %", "of the rows nearby, ..."; plain text.
    verdict : str
        "good", "fair", "poor" or "unknown".
    """

    name: str
    number: str
    words: str
    verdict: str

    @property
    def text(self) -> str:
        """The figure in a few words."""
        if self.verdict == UNKNOWN:
            return f"{self.name} unknown"
        return f"{self.name} {self.number} ({self.verdict})"


def read_trust(record: LocalSurrogate, row: int, output: int) -> tuple[Reading, ...]:
    """All figures of a row and one of its outputs."""
    return (*read_fit(record, row, output), *read_place(record, row))


def read_fit(record: LocalSurrogate, row: int, output: int) -> tuple[Reading, ...]:
    """How well the surrogate follows the model near the row."""
    middle = "50 %" if record.units == PROBABILITY else "the middle of the model's range"
    agreement = float(record.agreement[row, output])
    r2 = float(record.r2[row, output])
    return (
        Reading(
            "agreement",
            _share(agreement),
            f"of the rows nearby, by weight: surrogate and model are on the same side of {middle}",
            _at_least(agreement, AGREEMENT),
        ),
        Reading(
            "R2",
            _share(r2),
            "of the variance of the model's score nearby follows the surrogate",
            _at_least(r2, R2),
        ),
    )


def read_place(record: LocalSurrogate, row: int) -> tuple[Reading, ...]:
    """How local the surrogate of a row is."""
    effective_share, distance = float(record.effective_share[row]), float(record.distance[row])
    near = UNKNOWN
    if math.isfinite(distance):
        near = GOOD if distance <= DISTANCE[0] else FAIR if distance <= DISTANCE[1] else POOR
    return (
        Reading(
            "effective sample share",
            f"{_share(effective_share)} of the table",
            _share_text(effective_share),
            _within(effective_share),
        ),
        Reading(
            "distance",
            f"{short(distance, digits=2)} of 2",
            "root mean square distance of these rows from the asked one; 2 is the largest",
            near,
        ),
    )


def _share_text(effective_share: float) -> str:
    if not math.isfinite(effective_share) or LOCAL[0] <= effective_share <= LOCAL[1]:
        return "the part of the table, by weight, that it is fitted to"
    if effective_share > LOCAL[1]:
        return "this describes the whole table, not the surroundings of the row"
    return "fitted to few rows, so that noise counts the more"


def _share(share: float) -> str:
    # An estimate with noise in it can lie beyond what a share can be.
    return percent(min(max(share, 0.0), 1.0)) if math.isfinite(share) else "unknown"


def _at_least(number: float, steps: tuple[float, float]) -> str:
    if not math.isfinite(number):
        return UNKNOWN
    return GOOD if number >= steps[0] else FAIR if number >= steps[1] else POOR


def _within(number: float) -> str:
    if not math.isfinite(number):
        return UNKNOWN
    if LOCAL[0] <= number <= LOCAL[1]:
        return GOOD
    return FAIR if BARELY_LOCAL[0] <= number <= BARELY_LOCAL[1] else POOR
