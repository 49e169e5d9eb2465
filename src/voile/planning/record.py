"""What a forecast says: frozen records, with text, JSON and page forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import fill
from typing import Annotated, ClassVar, Literal

from voile.codec import Order
from voile.planning.attacker import Attacker, percent
from voile.planning.facts import ModelName
from voile.planning.family_choice import FamilyAdvice
from voile.planning.noise import ColumnNoise
from voile.planning.pairs import PairOutlook, rounded
from voile.planning.verdict import Level, Rule
from voile.record import Record
from voile.stored import Stored

NOTHING_SPENT = (
    "This forecast spent nothing: it follows from the schema, the row count and the budget alone."
)

ATTACKER = (
    "Attacker: somebody who knows every other row and thinks 50:50 that a person is in the table. "
    "'Sure' is how certain they can be at most after seeing the model, except for rare results; "
    "'right' is how often a guess of theirs is right at most."
)

WIDTH = 100
"""Columns of the text form."""

MOST_NAMES = 3
"""Names of columns in a sentence about several."""


Lacks = Literal["bounds", "dates", "levels", "classes"]
"""What a schema may lack; dates are bounds of a date."""


@dataclass(frozen=True)
class MissingFact:
    """Something that the schema does not say.

    Attributes
    ----------
    column : str or None
        None for the target.
    lacks : {"bounds", "dates", "levels", "classes"}
    share : float
        Part of the budget (of mu squared) that finding it privately takes.
    """

    file_order: ClassVar[Order] = ("what", "share", "remedy")

    column: str | None
    lacks: Lacks
    share: float

    @property
    def what(self) -> str:
        """What is missing where."""
        where = "the target" if self.column is None else f"column {self.column!r}"
        return f"{where} has no {'bounds' if self.lacks == 'dates' else self.lacks}"

    @property
    def give(self) -> str:
        """What a schema says instead."""
        if self.lacks == "dates":
            return "Date(first, last)"
        return "Number(lower, upper)" if self.lacks == "bounds" else "Category([...])"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.column is None:
            return f"give target={self.give}"
        return f"give {self.give} for {self.column!r}"


@dataclass(frozen=True)
class Outlook:
    """What a training at one epsilon would give, and what it would give away.

    Attributes
    ----------
    epsilon : float
    columns : tuple of ColumnNoise
    noise, visible : float
        Of the median column: two standard errors in a typical bin, and the smallest effect that
        stands clear of it; in the rule's units.
    level : {"clear", "broad", "strongest", "too little"}
    verdict : str
        The same in words.
    attacker : Attacker
    pairs : PairOutlook or None
        What becomes of pairs of columns; None for models that have none.
    family : FamilyAdvice or None
        Which family of models is likely the most accurate; None where a number is predicted.
    """

    file_order: ClassVar[Order] = (
        *("epsilon", "noise", "visible", "level", "verdict", "pairs", "family"),
        *("columns", "attacker"),
    )

    epsilon: float
    columns: tuple[ColumnNoise, ...]
    noise: float
    visible: float
    level: Level
    verdict: str
    attacker: Attacker
    pairs: Annotated[PairOutlook | None, Stored(optional=True)] = None
    family: Annotated[FamilyAdvice | None, Stored(optional=True)] = None


@dataclass(frozen=True)
class Forecast(Record):
    """What trainings at several epsilons would give, from public facts alone.

    Attributes
    ----------
    model : str
    rows : int
    delta : float
    unit : str
        Who is protected.
    rule : Rule
        How noise becomes a verdict.
    outlooks : tuple of Outlook
        By increasing epsilon.
    missing : tuple of MissingFact
    assumed, notes : tuple of str
        Sentences.
    """

    model: ModelName
    rows: int
    delta: float
    unit: str
    rule: Rule
    outlooks: tuple[Outlook, ...]
    missing: tuple[MissingFact, ...]
    assumed: tuple[str, ...]
    notes: tuple[str, ...]

    def __getitem__(self, epsilon: float) -> Outlook:
        for one in self.outlooks:
            if one.epsilon == epsilon:
                return one
        raise KeyError(epsilon)

    def first(self, level: Level = "clear") -> float | None:
        """Smallest epsilon whose verdict is ``level`` or better; None if there is none."""
        order: tuple[Level, ...] = ("clear", "broad", "strongest", "too little")
        good = order[: order.index(level) + 1]
        return next((one.epsilon for one in self.outlooks if one.level in good), None)

    @property
    def in_points(self) -> bool:
        """Whether noise can be told as a change of a probability."""
        return self.rule.units == "log-odds"

    @property
    def gaussian(self) -> bool:
        """Whether every access is Gaussian, so that attackers are bounded by mu and not epsilon."""
        return self.model != "locally_linear"

    @property
    def title(self) -> str:
        """One line."""
        return (
            f"Forecast for model '{self.model}' on {self.rows:,} rows, delta {self.delta:g}, "
            f"protecting one {self.unit}"
        )

    @property
    def conclusion(self) -> str:
        """The smallest epsilon that is enough, or what would help."""
        clear = self.first()
        if clear is None:
            return (
                f"At none of these epsilons are the {self.rule.things} clear: larger epsilon, more "
                "rows or fewer columns."
            )
        return f"Smallest of these epsilons with {self.rule.say('clear')}: {clear:g}."

    @property
    def column_words(self) -> str:
        """Noise of the quietest, the median and the noisiest column, in one sentence."""
        epsilon = self.first() or self.outlooks[-1].epsilon
        at = self[epsilon]
        least = min(at.columns, key=lambda column: column.noise)
        most = max(at.columns, key=lambda column: column.noise)
        number = self.rule.number
        return (
            f"Noise is that of the median column in a typical bin (2 standard errors). At epsilon "
            f"{epsilon:g} it is {number(least.noise)} in {least.name!r} (least), "
            f"{number(at.noise)} in the median and {number(most.noise)} in {most.name!r} (most) "
            f"of {len(at.columns)} columns; all of them: to_html, -o, --json."
        )

    @property
    def pair_words(self) -> tuple[str, ...]:
        """What the sizes of pairs mean, in one sentence if there can be pairs."""
        ways = {one.pairs.way for one in self.outlooks if one.pairs is not None}
        if not ways - {"none"}:
            return ()
        if "named" in ways:
            what = "effect of a pair that was named which stands clear of the noise"
        else:
            what = "effect of two columns together found in nine of ten tables"
        return (f"Pairs from: {what}; none: hidden by noise.",)

    @property
    def pair_details(self) -> tuple[str, ...]:
        """What becomes of pairs at the epsilon of the conclusion, and what their effect is."""
        epsilon = self.first() or self.outlooks[-1].epsilon
        pairs = self[epsilon].pairs
        if pairs is None or not self.pair_words:
            return ()
        return (
            f"At epsilon {epsilon:g}: {pairs.words}.",
            "An effect of ±x is x where both columns are high or both low, and -x elsewhere.",
        )

    @property
    def family_words(self) -> str:
        """Which family is likely the most accurate at the epsilon of the conclusion, or nothing."""
        epsilon = self.first() or self.outlooks[-1].epsilon
        advice = self[epsilon].family
        return "" if advice is None else f"Which model: {advice.words}."

    @property
    def other_family(self) -> tuple[str, ...]:
        """The same as a note, where another model is likely more accurate than this one."""
        epsilon = self.first() or self.outlooks[-1].epsilon
        advice = self[epsilon].family
        differs = advice is not None and advice.differs(self.model)
        return (self.family_words,) if differs else ()

    def pair_size(self, outlook: Outlook) -> str:
        """The effect of a pair that would be found, for a table."""
        pairs = outlook.pairs
        if pairs is None or pairs.visible is None:
            return "none"
        return f"±{self.rule.number(rounded(pairs.visible))}"

    @property
    def missing_words(self) -> tuple[str, ...]:
        """What is missing in the schema, what it costs and the remedy, a sentence for each kind."""
        if not self.missing:
            return ("The schema is complete: nothing has to be found privately.",)
        share = math.fsum(one.share for one in self.missing)
        more = 1.0 / math.sqrt(1.0 - share) - 1.0
        groups: dict[tuple[bool, str], list[MissingFact]] = {}
        for fact in self.missing:
            groups.setdefault((fact.column is None, fact.lacks), []).append(fact)
        return (
            f"The schema is incomplete: finding the rest privately takes {percent(share)} of the "
            f"budget and increases all other noise by {percent(more)}.",
            *(_tell_missing(group) for group in groups.values()),
        )

    def __str__(self) -> str:
        told = [
            *(self.column_words, *self.pair_words, *self.other_family, ATTACKER),
            self.rule.words,
            *self.missing_words,
            *(*self.assumed, *self.notes, NOTHING_SPENT),
        ]
        return "\n".join(
            [
                fill(self.title, WIDTH),
                fill(self.conclusion, WIDTH),
                *self._table(),
                *(fill(f"- {one}", WIDTH, subsequent_indent="  ") for one in told),
            ]
        )

    def _table(self) -> list[str]:
        """A line per epsilon, under one of heads."""
        pairs = bool(self.pair_words)
        head = ("epsilon", "what you will see", "noise, 2 SE", *["pairs from"] * pairs)
        rows = [(*head, "attacker sure", "right")]
        for one in self.outlooks:
            sure = percent(one.attacker.belief)
            right = percent(one.attacker.right_guesses(gaussian=self.gaussian))
            noise = self.rule.size(one.noise)
            sizes = [self.pair_size(one)] * pairs
            rows.append((f"{one.epsilon:g}", one.verdict, noise, *sizes, sure, right))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            f"{row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}"
            + "".join(f"  {cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True))
            for row in rows
        ]


def list_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are.

    Examples
    --------
    >>> list_names(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    shown = ", ".join(map(repr, names[:MOST_NAMES]))
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def _tell_missing(facts: Sequence[MissingFact]) -> str:
    """Facts of one kind in one sentence."""
    first = facts[0]
    if len(facts) == 1:
        what = f"{first.what[0].upper()}{first.what[1:]}"
        return f"{what} ({percent(first.share, 1)} of the budget): {first.remedy}."
    share = math.fsum(fact.share for fact in facts)
    names = list_names([str(fact.column) for fact in facts])
    return (
        f"{len(facts)} columns have no {first.lacks} ({percent(share, 1)} of the budget): give "
        f"{first.give} for {names}."
    )


def probability_points(noise: float) -> float:
    """Percentage points by which noise in log-odds moves a probability of 50 %."""
    return 50.0 * math.tanh(noise / 2.0)


def sum_up(
    columns: tuple[ColumnNoise, ...],
    rule: Rule,
    attacker: Attacker,
    epsilon: float,
    pairs: PairOutlook | None = None,
    family: FamilyAdvice | None = None,
) -> Outlook:
    """The outlook of one epsilon."""
    visible = median(one.visible for one in columns)
    level = rule.judge(visible)
    noise = median(one.noise for one in columns)
    return Outlook(
        epsilon, columns, noise, visible, level, rule.say(level), attacker, pairs, family
    )
