"""How far a local explanation can be trusted: four figures, each with a verdict in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voile.explain.wording import percent, short

if TYPE_CHECKING:
    from voile.explain.blackbox.local import BlackBoxLocalExplanation

GOOD, FAIR, POOR, UNKNOWN = "good", "fair", "poor", "unknown"

AGREEMENT = (0.9, 0.75)
"""From where agreement is good, and from where it is fair; a coin agrees half of the time."""

EXPLAINED = (0.7, 0.4)
"""From where the explained share of the variance is good, and from where it is fair."""

LOCAL = (0.01, 0.5)
"""Between these shares of the table an explanation is local, and not of very few rows."""

BARELY_LOCAL = (0.002, 1.0)
"""Between these it is still fair: of the whole table it is wide, but may be right."""

REACH = (0.5, 1.3)
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


def read_trust(record: BlackBoxLocalExplanation, row: int, output: int) -> tuple[Reading, ...]:
    """All figures of a row and one of its outputs."""
    return (*read_fit(record, row, output), *read_place(record, row))


def read_fit(record: BlackBoxLocalExplanation, row: int, output: int) -> tuple[Reading, ...]:
    """How well the local model follows the black box near the row."""
    agreement = float(record.agreement[row, output])
    explained = float(record.explained[row, output])
    return (
        Reading(
            "agreement",
            _share(agreement),
            "of the rows nearby, by weight: local model and black box are on the same side",
            _at_least(agreement, AGREEMENT),
        ),
        Reading(
            "explained",
            _share(explained),
            "of how the black box's score varies nearby follows the local model",
            _at_least(explained, EXPLAINED),
        ),
    )


def read_place(record: BlackBoxLocalExplanation, row: int) -> tuple[Reading, ...]:
    """How local the explanation of a row is."""
    effective, reach = float(record.effective[row]), float(record.reach[row])
    near = UNKNOWN
    if math.isfinite(reach):
        near = GOOD if reach <= REACH[0] else FAIR if reach <= REACH[1] else POOR
    return (
        Reading(
            "rests on",
            f"{_share(effective)} of the table",
            _rests_text(effective),
            _within(effective),
        ),
        Reading(
            "reach",
            f"{short(reach, digits=2)} of 2",
            "how far these rows are from the asked one; no two are more than 2 apart",
            near,
        ),
    )


def _rests_text(effective: float) -> str:
    if not math.isfinite(effective) or LOCAL[0] <= effective <= LOCAL[1]:
        return "by weight: the part around the row"
    if effective > LOCAL[1]:
        return (
            "by weight: rather the whole table than what is around the row; a narrower weight "
            "tells more of the row itself"
        )
    return "by weight: few rows, so that noise counts the more"


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
