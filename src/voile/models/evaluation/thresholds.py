"""What every threshold of a score would do: sensitivity, specificity, PPV, NPV, alarms, counts.

All of it is computed from released counts, in Python as in a reader's browser
(report/quality/thresholds.js); intervals: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from voile.codec import Order, Writable
from voile.errors import SettingError
from voile.models.evaluation.intervals import Share, lost, reach_of
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.scores import ScoreHistogram, Sides
from voile.stored import Stored

Floats = NDArray[np.float64]

PER_ROWS = 1000
ROUND_THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Thresholds that people name; a table of a few shows those among them that were counted."""

_MOST = 1e18
Rows = Annotated[float, Stored(least=0.0, most=_MOST)]

_PER = f"per {PER_ROWS:,} rows"
_HERE = "rows of this table"
_COUNTS = ("true positives", "false positives", "false negatives", "true negatives")


@dataclass(frozen=True)
class OperatingPoint(Writable):
    """What a classifier does at one threshold: an alarm for every row with a score above it.

    Attributes
    ----------
    positive : str
        The class that an alarm speaks of.
    threshold : float
        A probability, or a relative distance of prototypes; the counted one that is nearest to
        what was asked for.
    asked : float
        What was asked for.
    prevalence : Measure
        Share of positive rows: of this table, or the one that was given (without an interval).
    measures : tuple of Measure
        Sensitivity, specificity, PPV, NPV, alarms per 1,000 rows, and true and false positives and
        negatives per 1,000 rows.
    counts : tuple of Measure
        True and false positives and negatives among the rows that were measured. Their intervals
        hold the privacy noise alone: these rows are no sample of themselves.
    """

    positive: str
    threshold: float
    asked: float
    prevalence: Measure
    measures: tuple[Measure, ...]
    counts: tuple[Measure, ...]

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(f"{name!r}: there are {', '.join(one.name for one in self.measures)}")

    def line(self) -> dict[str, Any]:
        """Plain data on one line of a table: each figure with the ends of its interval."""
        figures = {one.name: one for one in (self.prevalence, *self.measures)}
        told = {
            name: [_short(number) for number in (one.value, one.low, one.high)]
            for name, one in figures.items()
        }
        return {"positive": self.positive, "threshold": self.threshold, **told}

    def __str__(self) -> str:
        asked = "" if self.asked == self.threshold else f" (nearest to {self.asked:g})"
        lines = [
            f"Alarm for '{self.positive}' above {self.threshold:g}{asked}; "
            f"prevalence {self.prevalence.figure}"
        ]
        for one in self.measures:
            unit = f" {one.unit}" if one.unit else ""
            lines.append(f"  {one.name}{unit} {one.figure}")
        lines += [f"  {one.name} in this table {one.figure}" for one in self.counts]
        return "\n".join(lines)


@dataclass(frozen=True)
class ScoreCounts:
    """Released counts of rows by a score, for one positive class against the rest.

    Attributes
    ----------
    positive : str
        The class that a high score speaks for.
    scale : str
        Of the thresholds: "probability" or "relative distance".
    thresholds : tuple of float
        Increasing; the score is cut there, and a score equal to one lies below it.
    negatives, positives : tuple of float
        Estimated rows in each of the cells, one more than thresholds: not of the class, of it.
    noise_above, noise_below, noise_both : tuple of float
        Of the rows of each of the two above a threshold and below it: variances by the privacy
        noise, and the covariance.
    together : int
        Most rows of one person.
    measures : tuple of Measure
        AUROC and average precision of this class against the rest.
    """

    file_order: ClassVar[Order] = ("positive", "scale", "measures", ...)

    positive: str
    scale: Literal["probability", "relative distance"]
    thresholds: tuple[Annotated[float, Stored(least=-1.0, most=1.0)], ...]
    negatives: tuple[Rows, ...]
    positives: tuple[Rows, ...]
    noise_above: tuple[Rows, ...]
    noise_below: tuple[Rows, ...]
    noise_both: tuple[Annotated[float, Stored(least=-_MOST, most=_MOST)], ...]
    together: Annotated[int, Stored(least=1, most=10**9)]
    measures: tuple[Measure, ...]

    @classmethod
    def of(
        cls,
        positive: str,
        scale: Literal["probability", "relative distance"],
        thresholds: Sequence[float],
        histogram: ScoreHistogram,
        measures: Sequence[Measure],
    ) -> ScoreCounts:
        """What is kept of a histogram."""
        noise = Sides.of(histogram.covariance)
        return cls(
            positive,
            scale,
            tuple(thresholds),
            tuple(histogram.counts[:, 0].tolist()),
            tuple(histogram.counts[:, 1].tolist()),
            tuple(noise.above.tolist()),
            tuple(noise.below.tolist()),
            tuple(noise.both.tolist()),
            histogram.together,
            tuple(measures),
        )

    def check_read(self) -> None:
        """Refuse lists that do not belong together (ModelError)."""
        cuts = len(self.thresholds)
        lengths = [len(self.negatives) - 1, len(self.positives) - 1, len(self.noise_above)]
        lengths += [len(self.noise_below), len(self.noise_both)]
        rising = all(a < b for a, b in zip(self.thresholds, self.thresholds[1:], strict=False))
        if not cuts or set(lengths) != {cuts} or not rising:
            raise SettingError("The counts of a score do not fit its thresholds.")

    @cached_property
    def sides(self) -> Floats:
        """Estimated rows at each threshold, shape (thresholds, 4), in the order of the counts."""
        negative, positive = np.cumsum([self.negatives, self.positives], axis=1)[:, :-1]
        whole = sum(self.negatives), sum(self.positives)
        return np.stack([whole[1] - positive, whole[0] - negative, positive, negative], axis=1)

    @property
    def prevalence(self) -> Share:
        """Rows of the class among all."""
        noise = self.noise_above[0] + self.noise_below[0] + 2.0 * self.noise_both[0]
        rows = sum(self.positives), sum(self.negatives)
        return Share(*rows, noise, noise, 0.0, self.together)

    def nearest(self, threshold: float) -> int:
        """Position of the counted threshold that is nearest to one that is asked for."""
        given = np.asarray([*self.thresholds, threshold])
        if self.scale == "probability":
            inner = np.clip(given, 1e-9, 1.0 - 1e-9)
            given = np.log(inner) - np.log1p(-inner)
        return int(np.abs(given[:-1] - given[-1]).argmin())

    def round_points(self, confidence: float) -> list[OperatingPoint]:
        """All figures at a few thresholds that people name."""
        named = ROUND_THRESHOLDS if self.scale == "probability" else (-0.5, -0.25, 0.0, 0.25, 0.5)
        return [
            self.at(i, one, confidence) for i, one in enumerate(self.thresholds) if one in named
        ]

    def shares(self, position: int) -> dict[str, Share]:
        """The shares that people ask for at a threshold, by name."""
        hit, alarm, missed, passed = (float(one) for one in self.sides[position])
        above, below = self.noise_above[position], self.noise_below[position]
        both, whole = self.noise_both[position], self.prevalence.noise_inside
        # Rows of the two classes have noise of their own: above and below of one class share it.
        times = self.together
        return {
            "sensitivity": Share(hit, missed, above, below, both, times),
            "specificity": Share(passed, alarm, below, above, both, times),
            "false-positive rate": Share(alarm, passed, above, below, both, times),
            "PPV": Share(hit, alarm, above, above, 0.0, times),
            "NPV": Share(passed, missed, below, below, 0.0, times),
            "alarms": Share(hit + alarm, missed + passed, 2 * above, 2 * below, 2 * both, times),
            "true positives": Share(
                hit, missed + alarm + passed, above, below + whole, both, times
            ),
            "false positives": Share(
                alarm, passed + hit + missed, above, below + whole, both, times
            ),
            "false negatives": Share(
                missed, hit + alarm + passed, below, above + whole, both, times
            ),
            "true negatives": Share(
                passed, alarm + hit + missed, below, above + whole, both, times
            ),
        }

    def at(
        self, position: int, asked: float, confidence: float, prevalence: float | None = None
    ) -> OperatingPoint:
        """All figures at one of the thresholds.

        Parameters
        ----------
        position : int
            Of the threshold.
        asked : float
        confidence : float
        prevalence : float, optional
            Share of positive rows where the classifier shall be used, in (0, 1); by default that of
            the rows that were measured.
        """
        shares = self.shares(position)
        rates = [shares[name].measure(name, confidence) for name in ("sensitivity", "specificity")]
        if prevalence is None:
            frequency = self.prevalence.measure("prevalence", confidence)
            rates += [shares[name].measure(name, confidence) for name in ("PPV", "NPV")]
            rates += [
                shares[name].measure(name, confidence, scale=PER_ROWS, unit=_PER)
                for name in ("alarms", *_COUNTS)
            ]
        else:
            frequency = Measure("prevalence", prevalence, prevalence, prevalence, 0.0)
            rates += _elsewhere(rates[0], rates[1], prevalence)
        return OperatingPoint(
            self.positive,
            self.thresholds[position],
            asked,
            frequency,
            tuple(rates),
            tuple(self._counted(position, confidence)),
        )

    def _counted(self, position: int, confidence: float) -> list[Measure]:
        above, below = self.noise_above[position], self.noise_below[position]
        found = []
        for i, name in enumerate(_COUNTS):
            noise = math.sqrt(above if i < 2 else below)
            value = float(self.sides[position, i])
            reach = reach_of(confidence) * noise
            ends = max(value - reach, 0.0), value + reach
            found.append(Measure(name, value, *ends, noise, _HERE))
        return found


def _short(number: float) -> float | None:
    return float(f"{number:.5g}") if math.isfinite(number) else None


def _elsewhere(sensitivity: Measure, specificity: Measure, prevalence: float) -> list[Measure]:
    """PPV, NPV, alarms and counts per 1,000 rows where another share of rows is positive.

    They follow from sensitivity and specificity, which stay what they are.
    """
    other = 1.0 - prevalence
    hit, passed = _times(sensitivity, prevalence), _times(specificity, other)
    missed, alarm = _rest(hit, prevalence), _rest(passed, other)
    counts = zip(_COUNTS, (hit, alarm, missed, passed), strict=True)
    return [
        _part_of("PPV", hit, alarm),
        _part_of("NPV", passed, missed),
        _sum("alarms", hit, alarm),
        *(replace(_times(one, PER_ROWS), name=name, unit=_PER) for name, one in counts),
    ]


def _times(measure: Measure, factor: float) -> Measure:
    ends = factor * measure.low, factor * measure.high
    return Measure(measure.name, factor * measure.value, *ends, factor * measure.noise)


def _rest(measure: Measure, whole: float) -> Measure:
    ends = whole - measure.high, whole - measure.low
    return Measure(measure.name, whole - measure.value, *ends, measure.noise)


def _part_of(name: str, inside: Measure, outside: Measure) -> Measure:
    """Inside divided by both; its ends by the far ends of both, which is rarely passed."""
    rows = inside.value + outside.value
    if not rows > 0:
        return lost(name)
    value = inside.value / rows
    noise = math.hypot((1.0 - value) * inside.noise, value * outside.noise) / rows
    low = inside.low / max(inside.low + outside.high, 1e-300)
    high = inside.high / max(inside.high + outside.low, 1e-300)
    return Measure(name, value, low, high, noise)


def _sum(name: str, first: Measure, second: Measure) -> Measure:
    """Both together, per 1,000 rows; errors add up as independent ones do."""
    value = first.value + second.value
    low = value - math.hypot(first.value - first.low, second.value - second.low)
    high = value + math.hypot(first.high - first.value, second.high - second.value)
    ends = max(low, 0.0), min(high, 1.0)
    noise = math.hypot(first.noise, second.noise)
    return replace(_times(Measure(name, value, *ends, noise), PER_ROWS), unit=_PER)
