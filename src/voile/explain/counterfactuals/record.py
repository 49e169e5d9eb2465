"""What would have to change for another answer, as data: one record for every kind of model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from voile.errors import DataError
from voile.explain.counterfactuals.goals import AnswerUnit
from voile.explain.counterfactuals.text import STEADY, UNUSUAL, counterfactuals_text
from voile.explain.explanation import ExplainedRows, check_row_texts
from voile.stored import NonNegative, Stored

FlipVerdict = Literal["clear", "perhaps", "cannot be told from nothing", "not known"]

MaybeShare = Annotated[float, Stored(least=0.0, most=1.0, null=math.nan)]
"""A share that may not be known: NaN then, and ``null`` in a file."""


@dataclass(frozen=True, kw_only=True)
class ColumnChange:
    """A change of one column.

    Attributes
    ----------
    column : str
    before, after : str
        Values as people read them.
    value : bool, int, float or str
        The new value as the model takes it.
    size : float
        How far it goes: see `Counterfactuals.ruler`; 0.5 for a level without an order.
    passes : bool
        Whether the size is a share that is passed.
    """

    column: str
    before: str
    after: str
    value: bool | int | float | str
    size: NonNegative
    passes: bool


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Changes that together give what is wanted, or come nearest to it.

    Attributes
    ----------
    changes : tuple of ColumnChange
        In the order of the columns.
    after : float
        The model's answer for the changed row: what `RowSuggestions.told` says.
    predicted : str
        Its class; empty if numbers are predicted.
    verdict : str
        Whether the changed row really gets what is wanted, allowing for the errors of the model's
        scores; "not known" of a model that has none.
    p_value : float
        Of the contrary, allowing for all suggestions of the row; NaN if it is not known.
    usual : float
        Share of the rows in `Counterfactuals.among` that are as unusual as the changed row, or
        more; NaN if it is not known.
    was_usual : float
        The same of the row as it was.
    steady : float
        Share of rows that hardly differ from the changed one and get what is wanted, too; NaN if it
        is not known.
    seldom : tuple of str
        Pairs of values in the changed row that hardly occur together.
    exact : bool
        Whether nothing smaller can do it (see `Counterfactuals.method`).
    """

    changes: tuple[ColumnChange, ...]
    after: float
    predicted: str
    verdict: FlipVerdict = "not known"
    p_value: MaybeShare = math.nan
    usual: MaybeShare = math.nan
    was_usual: MaybeShare = math.nan
    steady: MaybeShare = math.nan
    seldom: tuple[str, ...] = ()
    exact: bool = False

    @property
    def size(self) -> float:
        """How far all changes together go."""
        return sum(one.size for one in self.changes)

    @property
    def odd(self) -> bool:
        """Whether a reader should rather not count on it: an unusual row, or a fragile answer."""
        unusual = self.usual < UNUSUAL and not self.usual >= self.was_usual
        return bool(self.seldom) or unusual or self.steady < STEADY


@dataclass(frozen=True, kw_only=True)
class RowSuggestions:
    """One asked row, and what would have to change in it.

    Attributes
    ----------
    given, read_as : tuple of str, (columns,)
        The row as it was given, and how a value was read where that differs.
    wanted, told : str
        What is wanted, and what the numbers before and after are, in words.
    low, high : float
        Between which the told number is what is wanted, where that can be said; else infinite.
    before : float
        The model's answer for the row as it is.
    predicted : str
        Its class; empty if numbers are predicted.
    already : bool
        Whether the row has what is wanted as it is.
    steady : float
        Share of rows that hardly differ from the asked one and have the same answer; NaN if it is
        not known.
    suggestions : tuple of Suggestion
        The fewest and smallest changes first, those that are unusual last.
    nearest : Suggestion or None
        What comes nearest if nothing gives what is wanted.
    impossible : bool
        Whether it is proven that no change of these columns gives it.
    """

    given: tuple[str, ...]
    read_as: tuple[str, ...]
    wanted: str
    told: str
    low: Annotated[float, Stored(null=-math.inf)]
    high: Annotated[float, Stored(null=math.inf)]
    before: float
    predicted: str
    already: bool
    steady: MaybeShare = math.nan
    suggestions: tuple[Suggestion, ...] = ()
    nearest: Suggestion | None = None
    impossible: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Counterfactuals(ExplainedRows):
    """What would have to change in some rows for another answer of a model.

    It tells what the model would say of changed rows. It does not tell what happens to somebody
    who changes something: that is a question of causes, which no model of a table answers. Values
    come from public bounds, released counts and synthetic rows; no private row is in it.

    Attributes
    ----------
    columns : tuple of str
    changeable : tuple of str
        Columns that may change, with their directions.
    chosen : bool
        Whether a person chose them; else all may change.
    unit : str
        Of the answers: "probability", "label", "distance" or "number".
    ruler : str
        What sizes of changes are shares of.
    among : str
        The rows by which it is judged how usual a row is; empty if none are known.
    by_column : bool
        Whether that is judged column by column, since combinations are not known.
    effective : float
        How many rows of equal weights they are worth.
    whole : bool
        Whether verdicts allow for the sampling error, not for the privacy noise alone.
    sure : bool
        Whether only what holds certainly was asked for: with the error of the model's scores
        allowed for, or for rows that hardly differ, too.
    method : str
        How suggestions were found, and what "exact" means for them.
    rows : tuple of RowSuggestions
        One per asked row.
    """

    has_terminal_form: ClassVar[bool] = False
    kind: ClassVar[str] = "counterfactuals"
    of_rows: ClassVar[tuple[str, ...]] = ("rows",)

    columns: tuple[str, ...]
    changeable: tuple[str, ...]
    chosen: bool
    unit: AnswerUnit
    ruler: str
    among: str = ""
    by_column: bool = False
    effective: Annotated[float, Stored(least=0.0, null=math.nan)] = math.nan
    whole: bool = False
    sure: bool = False
    method: str
    rows: tuple[RowSuggestions, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for row in self.rows:
            check_row_texts((row.given, row.read_as), 2, len(self.columns), "given values")
            for one in (*row.suggestions, *([] if row.nearest is None else [row.nearest])):
                if any(change.column not in self.columns for change in one.changes):
                    raise DataError("A change speaks of a column that is not there.")

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row, suggestion and changed column."""
        return [
            {
                "row": i,
                "suggestion": number,
                "reached": number > 0,
                "wanted": row.wanted,
                "told": row.told,
                "before": row.before,
                "after": one.after,
                "predicted": one.predicted,
                "verdict": one.verdict,
                "column": change.column,
                "from": change.before,
                "to": change.value,
                "size": change.size,
                "total_size": one.size,
                "usual": one.usual,
                "steady": one.steady,
                "exact": one.exact,
            }
            for i, row in enumerate(self.rows)
            for number, one in [
                *enumerate(row.suggestions, 1),
                *([] if row.nearest is None else [(0, row.nearest)]),
            ]
            for change in one.changes
        ]

    def __str__(self) -> str:
        return counterfactuals_text(self)
