"""A schema proposed from names and kinds alone: what everybody knows of an age or a percentage.

Bounds are proposed where a column's name says what it measures, never from values. A proposal is
to be read and corrected by a person; what it leaves open is found privately, for a share of the
budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from voile.schema.columns import Category, Column, Number
from voile.schema.frames import FrameColumn, Kind

_KNOWN: tuple[tuple[str, float, float, str], ...] = (
    (r"age|age years|alter", 0, 120, "an age in years"),
    (r"hours? per week|weekly hours", 0, 168, "hours of a week"),
    (r"month|birth month", 1, 12, "a month"),
    (r"day of month", 1, 31, "a day of a month"),
    (r"day of week|weekday", 0, 7, "a day of a week"),
    (r"hour|hour of day", 0, 24, "an hour of a day"),
    (r"year|birth year|yob", 1900, 2100, "a year"),
    (r".*(percent|percentage|pct)", 0, 100, "a percentage"),
    (r"lat|latitude", -90, 90, "a latitude"),
    (r"lon|lng|long|longitude", -180, 180, "a longitude"),
    (r"ph", 0, 14, "a pH"),
    (r"bmi|body mass index", 5, 100, "a body mass index"),
    (r"height cm", 30, 250, "a height in cm"),
    (r"weight kg", 0, 400, "a weight in kg"),
    (r"(systolic|diastolic).*|blood pressure", 0, 300, "a blood pressure in mmHg"),
    (r"heart rate|pulse", 0, 300, "a heart rate"),
    (r"probability|prob|fraction|proportion", 0, 1, "a share"),
)

_IDENTIFIER = re.compile(
    r"(.* )?(id|uuid|guid|ssn|nbr|identifier|name|e ?mail|phone|address|iban)|(patient|customer|"
    r"person|user|client|account|member|subject)( no| number| key)?"
)


@dataclass(frozen=True)
class Proposal:
    """What is proposed for one column.

    Attributes
    ----------
    name : str
    column : Number or Category
    why : str
        Where it comes from, or what a person should do about it.
    use : bool
        False for what looks like an identifier: it should not be learned from.
    """

    name: str
    column: Column
    why: str
    use: bool = True


def propose_column(found: FrameColumn) -> Proposal:
    """Propose what to say of a column, from its name and kind."""
    words = _words(found.name)
    if _IDENTIFIER.fullmatch(words):
        column: Column = Number() if found.kind is Kind.NUMBER else Category()
        return Proposal(
            found.name, column, "looks like an identifier: left out; a privacy unit?", use=False
        )
    if found.kind is Kind.BOOLEAN:
        return Proposal(found.name, Category([False, True]), "by its kind")
    if found.kind is Kind.NUMBER:
        for pattern, lower, upper, meaning in _KNOWN:
            if re.fullmatch(pattern, words):
                return Proposal(found.name, Number(lower, upper), f"by its name, {meaning}: check")
        return Proposal(found.name, Number(), "give lower and upper, or pay for them")
    if found.kind is Kind.TIME:
        return Proposal(found.name, Number(), "seconds since 1970: give bounds, or pay for them")
    if found.levels is not None:
        return Proposal(found.name, Category(found.levels), "declared by its type")
    return Proposal(found.name, Category(), "give levels, or pay for them")


def _words(name: str) -> str:
    """A column's name in small words: "HoursPerWeek" and "hours-per-week" alike."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return " ".join(re.findall(r"[a-zäöüß]+|\d+", apart.lower()))
