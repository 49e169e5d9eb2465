"""A schema proposed from names and types alone: what everybody knows of an age or a percentage.

Bounds are proposed where a column's name says what it measures, never from values. A proposal is
to be read and corrected by a person; what it leaves open is found privately, for a share of the
budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from voile.schema.columns import Category, Column, Number
from voile.schema.dates import Date
from voile.schema.frames import FrameColumn
from voile.schema.kinds import Kind
from voile.schema.names import looks_like_identifier, words_of

_KNOWN: tuple[tuple[str, float, float, str], ...] = (
    (r"age|age years|alter", 0, 120, "an age in years"),
    (r"hours? per week|weekly hours", 0, 168, "hours of a week"),
    (r"lat|latitude", -90, 90, "a latitude"),
    (r"lon|lng|long|longitude", -180, 180, "a longitude"),
    (r"ph", 0, 14, "a pH"),
    (r"bmi|body mass index", 5, 100, "a body mass index"),
    (r"height cm", 30, 250, "a height in cm"),
    (r"weight kg", 0, 400, "a weight in kg"),
    (r"(systolic|diastolic).*|blood pressure", 0, 300, "a blood pressure in mmHg"),
    (r"heart rate|pulse", 0, 300, "a heart rate"),
    (r"probability|prob|fraction|proportion", 0, 1, "a share"),
    (r".*(percent|percentage|pct)", 0, 100, "a percentage"),
)

_KNOWN_WHOLE: tuple[tuple[str, float, float, str], ...] = (
    (r"month|birth month", 1, 12, "a month"),
    (r"day of month", 1, 31, "a day of a month"),
    (r"day of week|weekday", 0, 7, "a day of a week"),
    (r"hour|hour of day", 0, 24, "an hour of a day"),
    (r"year|birth year|yob", 1900, 2100, "a year"),
)

_CODE = re.compile(
    r"(.* )?(codes?|zip|plz|postleitzahl|postcode|icd( (9|10|11)( cm| gm)?)?|drg|ops|atc|cpt|hcpcs|"
    r"naics|sic|nace|fips|bfs|ags)|diag(nosis)?( \d+)?"
)


@dataclass(frozen=True)
class Proposal:
    """What is proposed for one column.

    Attributes
    ----------
    found : FrameColumn
        Its name and type.
    column : Number, Date or Category
    why : str
        Where it comes from, or what a person should do about it.
    use : bool
        False for what looks like an identifier: it should not be learned from.
    doubtful : bool
        Whether a person has to decide: the name says an identifier or a code, whose numbers mean
        nothing.
    """

    found: FrameColumn
    column: Column
    why: str
    use: bool = True
    doubtful: bool = False

    @property
    def name(self) -> str:
        """The column's."""
        return self.found.name


def looks_like_code(name: str) -> bool:
    """Whether a column's name says that its numbers are names, as those of a postal code are."""
    return _CODE.fullmatch(words_of(name)) is not None


def propose_column(found: FrameColumn) -> Proposal:
    """Propose what to say of a column, from its name and type."""
    if looks_like_identifier(found.name):
        column: Column = Number() if found.kind is Kind.NUMBER else Category()
        why = "looks like an identifier: left out; a privacy unit?"
        return Proposal(found, column, why, use=False, doubtful=True)
    if looks_like_code(found.name) and found.kind in (Kind.NUMBER, Kind.OTHER):
        why = "looks like a code, whose numbers mean nothing: give levels, or leave it out"
        return Proposal(found, Category(found.levels), why, doubtful=True)
    return _propose(found)


def propose_target(found: FrameColumn) -> Proposal:
    """Propose what to say of the column to predict: whole numbers are taken for classes."""
    if found.kind is Kind.NUMBER and found.whole:
        why = "whole numbers, taken for classes: give levels, as 0, 1; or kind: number for amounts"
        return Proposal(found, Category(), why, doubtful=True)
    if found.kind is Kind.NUMBER:
        why = "a number; for classes: kind: category, levels: [0, 1]"
        return Proposal(found, _propose(found).column, why, doubtful=True)
    if found.kind is Kind.OTHER and found.levels is None:
        return Proposal(found, Category(), "give the classes, or pay for them")
    return _propose(found)


def _propose(found: FrameColumn) -> Proposal:
    words = words_of(found.name)
    match found.kind:
        case Kind.BOOLEAN:
            return Proposal(found, Category([False, True]), "by its kind")
        case Kind.NUMBER:
            for known, whole in ((_KNOWN_WHOLE, True), (_KNOWN, found.whole)):
                for pattern, lower, upper, meaning in known:
                    if re.fullmatch(pattern, words):
                        column = Number(lower, upper, whole=whole)
                        return Proposal(found, column, f"by its name, {meaning}: check")
            why = "give lower and upper, or pay for them"
            told = f"whole numbers by its type: check; {why}" if found.whole else why
            return Proposal(found, Number(whole=found.whole), told)
        case Kind.DURATION:
            return Proposal(found, Number(), "in seconds: give bounds, or pay for them")
        case Kind.DATE | Kind.TIME:
            column = Date(time=found.kind is Kind.TIME)
            return Proposal(found, column, "give the first and last day, or pay for them")
        case Kind.OTHER:
            why = "give levels, or pay for them"
            if found.levels is not None:
                why = "declared by its type"
            return Proposal(found, Category(found.levels), why)
