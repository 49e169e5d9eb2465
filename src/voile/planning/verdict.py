"""The rule by which noise becomes a verdict in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from voile.codec import Order
from voile.planning.facts import ForecastFacts, ModelName

Level = Literal["clear", "broad", "strongest", "too little"]

LIMITS: tuple[tuple[Level, float], ...] = (("clear", 1.0), ("broad", 3.0), ("strongest", 10.0))
"""Largest smallest-visible effect of each level, relative to the effect worth seeing."""

LOG_ODDS, OF_SPREAD, OF_RANGE = 0.1, 0.1, 0.05
"""Effects worth seeing: log-odds, part of the target's spread, part of a column's range."""

OF_THE_RANGE = "of the range"
"""The unit of prototypes: parts of a column's range, told in per cent."""


@dataclass(frozen=True)
class Rule:
    """What counts as seen.

    Attributes
    ----------
    things : str
        What is looked at: "curves", "prototypes" or "maps".
    units : str
        Of the noise and of the effect.
    worth_seeing : float
        An effect of this size is worth seeing.
    """

    file_order: ClassVar[Order] = (..., "words")

    things: str
    units: str
    worth_seeing: float

    def judge(self, visible: float) -> Level:
        """The level of a smallest effect that stands clear of the noise."""
        for level, limit in LIMITS:
            if visible <= limit * self.worth_seeing:
                return level
        return "too little"

    def say(self, level: Level) -> str:
        """A level in words."""
        return {
            "clear": f"{self.things} clear",
            "broad": "rough positions only" if self.things == "prototypes" else "broad shapes only",
            "strongest": "only the strongest effects",
            "too little": "too little for this model",
        }[level]

    @property
    def words(self) -> str:
        """The whole rule, for readers of the output."""
        parts = [
            f"'{self.say(level)}' up to {self.number(limit * self.worth_seeing)}"
            for level, limit in LIMITS
        ]
        return (
            "Verdict: by the smallest effect of the median column that exceeds 2 standard errors "
            f"of the noise after smoothing ({self.units}): {', '.join(parts)}, "
            f"'{self.say('too little')}' above."
        )

    def size(self, value: float) -> str:
        """A size with its unit."""
        return f"{self.number(value)} {self.units}"

    def number(self, value: float) -> str:
        """A size without its unit; parts of a range in per cent."""
        if self.units == OF_THE_RANGE:
            value, sign = 100.0 * value, " %"
        else:
            sign = ""
        return f"{value:,.0f}{sign}" if value >= 1000 else f"{value:.3g}{sign}"


def make_rule(facts: ForecastFacts, model: ModelName, worth_seeing: float | None) -> Rule:
    """The rule for a model and a target."""
    if model in ("glvq", "gmlvq", "lvq1"):
        things, units, worth = "prototypes", OF_THE_RANGE, OF_RANGE
    elif facts.classification:
        things = "maps" if model == "locally_linear" else "curves"
        units, worth = "log-odds", LOG_ODDS
    else:
        things, worth = "curves", OF_SPREAD * facts.spread
        known = facts.schema.target is not None and facts.schema.target.known
        units = "units of the target" if known else "parts of the target's range"
    return Rule(things, units, worth if worth_seeing is None else worth_seeing)
