"""What a forecast says: frozen records, with text, JSON and page forms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from voile.codec import Order
from voile.planning.attacker import Attacker, percent
from voile.planning.facts import ModelName
from voile.planning.noise import ColumnNoise
from voile.planning.verdict import Level, Rule
from voile.record import Record

NOTHING_SPENT = (
    "This forecast spent nothing and used no row: it follows from the schema, the row count and "
    "the budget alone."
)


@dataclass(frozen=True)
class MissingFact:
    """Something that the schema does not say.

    Attributes
    ----------
    what : str
    share : float
        Part of the budget (of mu squared) that finding it privately takes.
    remedy : str
    """

    what: str
    share: float
    remedy: str


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
    """

    file_order: ClassVar[Order] = (
        *("epsilon", "noise", "visible", "level", "verdict", "columns", "attacker"),
    )

    epsilon: float
    columns: tuple[ColumnNoise, ...]
    noise: float
    visible: float
    level: Level
    verdict: str
    attacker: Attacker


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

    def tell_noise(self, outlook: Outlook) -> str:
        """The noise of one epsilon in plain words."""
        if self.in_points:
            points = probability_points(outlook.noise)
            return (
                f"a probability of 50 % would be off by up to {points:.2g} points by one column's "
                "noise"
            )
        if self.rule.things == "prototypes":
            return f"a typical point would be off by up to {self.rule.size(outlook.noise)}"
        return f"a prediction would be off by up to {self.rule.size(outlook.noise)} in each column"

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
    def found_first(self) -> str:
        """The smallest epsilon that will do, in words."""
        clear = self.first()
        if clear is None:
            return f"At none of these epsilons are the {self.rule.things} clear."
        return f"Smallest of these epsilons with {self.rule.say('clear')}: {clear:g}."

    @property
    def missing_words(self) -> tuple[str, ...]:
        """What is missing in the schema, what it costs and the remedy, a sentence each."""
        if not self.missing:
            return ("The schema is complete: nothing has to be found privately.",)
        share = math.fsum(one.share for one in self.missing)
        more = 1.0 / math.sqrt(1.0 - share) - 1.0
        return (
            f"The schema lacks facts that are found privately for {percent(share)} of the budget; "
            f"all other noise grows by {percent(more)}.",
            *(
                f"{one.what[0].upper()}{one.what[1:]} ({percent(one.share, 1)} of the budget): "
                f"{one.remedy}."
                for one in self.missing
            ),
        )

    def __str__(self) -> str:
        lines = [self.title]
        for one in self.outlooks:
            lines.append(
                f"  epsilon {one.epsilon:<5g} {one.verdict}: two standard errors are "
                f"{self.rule.size(one.noise)}; {self.tell_noise(one)}"
            )
            right = percent(one.attacker.right_guesses(gaussian=self.gaussian))
            lines.append(
                f"{'':16}{one.attacker.words} Forced to guess, they are right in at most about "
                f"{right} of cases."
            )
        lines += [self.found_first, self.rule.words, *self.missing_words]
        return "\n".join([*lines, *self.assumed, *self.notes, NOTHING_SPENT])


def probability_points(noise: float) -> float:
    """Percentage points by which noise in log-odds moves a probability of 50 %."""
    return 50.0 * math.tanh(noise / 2.0)


def sum_up(
    columns: tuple[ColumnNoise, ...], rule: Rule, attacker: Attacker, epsilon: float
) -> Outlook:
    """The outlook of one epsilon."""
    visible = median(one.visible for one in columns)
    level = rule.judge(visible)
    noise = median(one.noise for one in columns)
    return Outlook(epsilon, columns, noise, visible, level, rule.say(level), attacker)
