"""Which family of models is likely the most accurate on a table, from public facts alone.

The limits are read off `benchmarks/ebm/families.py`: four kinds of made-up tables with 16 columns.
What no schema tells is whether numbers move together, so there is an answer for either case.
"""

from __future__ import annotations

from dataclasses import dataclass

from voile.planning.facts import ForecastFacts, ModelName
from voile.schema import Category

SCARCE = 2_250
"""Rows times epsilon below which prototypes were ahead on most tables, whatever the columns do."""

MOSTLY = 2 / 3
"""Part of the columns that are numbers from which on they may move together."""

MANY_CLASSES = 8
"""Classes from which on curves of numbers that move together fell far behind."""

_NAMES = {"ebm": "additive models (ebm)", "gmlvq": "prototypes with a metric (gmlvq)"}


@dataclass(frozen=True)
class FamilyAdvice:
    """The family that was the most accurate on tables like this one.

    Attributes
    ----------
    own : str
        Where each column has an effect of its own.
    together : str
        Where numbers move together, as measurements of one thing do.
    classes : int
    words : str
        The same in a sentence.
    """

    own: ModelName
    together: ModelName
    classes: int
    words: str

    def differs(self, model: ModelName) -> bool:
        """Whether a plan for a model should say that another is likely more accurate."""
        return model != self.own or (model != self.together and self.classes >= MANY_CLASSES)


def suggest_family(facts: ForecastFacts, epsilon: float) -> FamilyAdvice | None:
    """The family that is likely the most accurate; None where a number is predicted.

    Parameters
    ----------
    facts : ForecastFacts
    epsilon : float
    """
    if not facts.classification:
        return None
    classes = len(facts.rates)
    numbers = [one for one in facts.complete.values() if not isinstance(one, Category)]
    if facts.rows * epsilon < SCARCE * facts.rows_per_unit:
        return FamilyAdvice(
            "gmlvq",
            "gmlvq",
            classes,
            f"with so few rows for epsilon {epsilon:g}, {_NAMES['gmlvq']} were the most accurate "
            "in our measurements",
        )
    own = f"{_NAMES['ebm']} were the most accurate in our measurements"
    if len(numbers) < 2 or len(numbers) < MOSTLY * len(facts.complete):
        return FamilyAdvice("ebm", "ebm", classes, own)
    return FamilyAdvice(
        "ebm",
        "gmlvq",
        classes,
        f"{own} where each column has an effect of its own, and {_NAMES['gmlvq']} where numbers "
        "move together, as measurements of one thing do",
    )
