"""One figure of an evaluation: how far to trust it, what it is compared with, and as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from voile.models.verdict import Verdict
from voile.stored import Stored

Figure = Annotated[float, Stored(null=math.nan)]
"""A number that the noise may have left nothing of: NaN then, and ``null`` in a file."""

LOST = "lost in the noise"


@dataclass(frozen=True)
class Baseline:
    """What a measure would be without a model, and whether the model is better than that.

    Attributes
    ----------
    name : str
        What is done instead: "always 'no'", "any order", "the mean".
    value, low, high : float
        Its figure on the same rows, with the interval.
    better : bool
        On which side of it the model's estimate is.
    p_value : float
        Of no difference at all, allowing for all measures of the evaluation; NaN if the noise left
        nothing to say.
    verdict : str
        "clear", "perhaps" or "cannot be told from nothing".
    """

    name: str
    value: Figure
    low: Figure
    high: Figure
    better: bool
    p_value: Figure
    verdict: Verdict

    def __str__(self) -> str:
        figure = shown(self.value, self.low, self.high)
        if self.verdict == "cannot be told from nothing":
            return f"against {self.name} {figure}: {self.verdict}"
        return f"{'better' if self.better else 'worse'} than {self.name} {figure}: {self.verdict}"


@dataclass(frozen=True)
class Measure:
    """One figure and how far to trust it.

    Attributes
    ----------
    name : str
    value : float
        The estimate; NaN if the noise left nothing to say.
    low, high : float
        Interval that holds the true figure of the population at the stated confidence: privacy
        noise plus sampling error (docs/proofs/evaluation.md).
    noise : float
        Standard error by the privacy noise alone.
    unit : str
        "" for a part of 1; else the unit in words.
    baseline : Baseline or None
        What it is without a model; None if nothing is comparable.
    """

    name: str
    value: Figure
    low: Figure
    high: Figure
    noise: Figure
    unit: str = ""
    baseline: Annotated[Baseline | None, Stored(optional=True)] = None

    @property
    def lost(self) -> bool:
        """Whether the noise left nothing to say."""
        return math.isnan(self.value)

    @property
    def figure(self) -> str:
        """Estimate and interval as text: ``0.93 (0.90 to 0.95)``."""
        return shown(self.value, self.low, self.high)

    def __str__(self) -> str:
        if self.lost:
            return f"{self.name}: {LOST}"
        text = f"{self.name} {self.figure}"
        return text if self.baseline is None else f"{text}; {self.baseline}"


@dataclass(frozen=True)
class Difference:
    """By how much a figure of one group differs from that of the others, and what that means.

    Attributes
    ----------
    name : str
        Of the measure.
    value, low, high : float
        The group's figure minus that of all other groups of its column together.
    p_value : float
        Of no difference at all, allowing for all groups and measures of the evaluation.
    verdict : str
        "clear", "perhaps" or "cannot be told from nothing".
    """

    name: str
    value: Figure
    low: Figure
    high: Figure
    p_value: Figure
    verdict: Verdict

    @property
    def figure(self) -> str:
        """Estimate and interval as text, with their signs."""
        return shown(self.value, self.low, self.high, sign="+")

    def __str__(self) -> str:
        return f"{self.name} {self.figure}: {self.verdict}"


def plain_number(value: float) -> str:
    """A figure with four digits, and large ones without a power of ten."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def shown_ends(value: float, low: float, high: float, sign: str = "") -> tuple[str, str, str]:
    """Value and ends of the interval as text, with no more digits than the interval allows.

    Examples
    --------
    >>> shown_ends(0.92581, 0.8991, 0.9514)
    ('0.93', '0.90', '0.95')
    >>> shown_ends(58921.7, 51234.5, 69876.5)
    ('59,000', '51,000', '70,000')
    """
    width, figures = high - low, (value, low, high)
    if not (math.isfinite(width) and width > 0 and all(map(math.isfinite, figures))):
        first, second, third = map(plain_number, figures)
        return first, second, third
    # The last digit is at most a quarter of the interval; -0 is 0.
    places = -math.floor(math.log10(width / 4 or width))
    rounded = (round(one, places) + 0.0 for one in figures)
    first, second, third = (f"{one:{sign if one else ''},.{max(places, 0)}f}" for one in rounded)
    return first, second, third


def shown(value: float, low: float, high: float, sign: str = "") -> str:
    """Estimate and interval in one text; what is known exactly has no interval.

    Examples
    --------
    >>> shown(0.5, 0.5, 0.5), shown(math.nan, 0.0, 1.0), shown(-0.031, -0.052, -0.01, "+")
    ('0.5', 'lost in the noise', '-0.03 (-0.05 to -0.01)')
    """
    if math.isnan(value):
        return LOST
    first, second, third = shown_ends(value, low, high, sign)
    return first if low == high else f"{first} ({second} to {third})"
