"""Why single rows got their class from the nearest prototype, and what would change it, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import DataError
from voile.explain.explained_feature import FeatureExplanation, sum_columns
from voile.explain.explanation import EXPLANATION, ExplainedRows, check_row_texts
from voile.explain.lvq.overall import check_labels, check_picture
from voile.explain.lvq.text import decisions_text
from voile.stored import Count, NonNegative, Size, Stored, Unknown, ZeroToOne

Place = Annotated[int, Stored(least=-1)]
"""Number of a class or a prototype; -1 for none."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of one column that would suffice for another class.

    Attributes
    ----------
    column : str
    value : float or None
        The number at which another class is as near, in the column's unit; None for a level.
    level : str or None
        The level of a category that gives another class; None for a number.
    size : float
        How far that is, as a part of a number's range. A change of level counts as far as the
        model takes it to be: 0.71 of a range (0.5 from no level).
    to_class : int
        Number of the class that the row would then get.
    """

    column: str
    value: float | None
    level: str | None
    size: NonNegative
    to_class: Count

    def check_read(self) -> None:
        """Refuse a change to both a value and a level, or to none (DataError)."""
        if (self.value is None) == (self.level is None):
            raise DataError("A change of an explanation must be to a value or to a level.")


@dataclass(frozen=True, eq=False, kw_only=True)
class JointChange:
    """The smallest change of all numbers together that makes another class as near.

    Smallest by the straight distance, every number measured by its range; categories stay.

    Attributes
    ----------
    values : ndarray of shape (features,)
        The changed row, in the columns' own units, within the bounds.
    size : float
        Length of the change, as a part of a number's range.
    toward : int
        Number of the prototype that is then as near as the nearest of the row's class was.
    flips : bool
        Whether the class changes there. If not, another prototype of the row's own class is nearer.
    """

    values: Annotated[Floats, Array("features")]
    size: NonNegative
    toward: Count
    flips: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class PrototypeDecision:
    """One row: the nearest prototype, the nearest of another class, and what made the difference.

    Attributes
    ----------
    predicted : int
        Number of the class.
    confidence : float
        (d2 - d1) / (d2 + d1) for the squared distances: 0 on the border, 1 at the prototype. Not
        a probability.
    right, wrong : int
        Number of the nearest prototype of the predicted class and of any other; -1 if none.
    right_distance, wrong_distance : float
        Their squared distances; infinite if there is none.
    gap_error : float
        Standard deviation of the difference of the distances by the errors of the two prototypes
        (noise and sampling, or the noise alone if `whole` is False), to first order, and as far as
        steps of training do not correct it. The error of a learned metric is not in it.
    contributions : ndarray of shape (features,)
        What each feature added to ``wrong_distance - right_distance``; they sum to it.
    part_errors : ndarray of shape (columns,)
        Standard deviation of the contribution of each column, as for `gap_error`.
    values : ndarray of shape (features,)
        The row as it was read, in the columns' own units.
    given, read_as : tuple of str, (columns,)
        The row as it was given, and how a value was read where that differs.
    changes : tuple of Change
        Changes of a single column that would suffice, the smallest first.
    joint : JointChange or None
        None if no change of the numbers within their bounds reaches another class.
    """

    predicted: Place
    confidence: ZeroToOne
    right: Place
    wrong: Place
    right_distance: Unknown
    wrong_distance: Unknown
    gap_error: Unknown
    contributions: Annotated[Floats, Array("features")]
    part_errors: Annotated[Floats, Array("columns", null=math.inf)]
    values: Annotated[Floats, Array("features")]
    given: tuple[str, ...]
    read_as: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    joint: JointChange | None = None

    @property
    def gap(self) -> float:
        """How much farther the other prototype is, in squared distance."""
        return self.wrong_distance - self.right_distance

    @property
    def doubtful(self) -> bool:
        """Whether two standard errors of the prototypes could have reversed the answer."""
        return self.wrong >= 0 and self.gap < 2 * self.gap_error


@dataclass(frozen=True, eq=False, kw_only=True)
class LVQLocalExplanation(FeatureExplanation, ExplainedRows):
    """Why some rows got their class; `outputs` are the classes.

    Attributes
    ----------
    labels : tuple of int
        Class number of each prototype.
    prototypes, standard_errors : ndarray of shape (prototypes, features)
        Prototypes in the columns' own units, and their standard deviation by noise and sampling
        together (by the noise alone if `whole` is False).
    whole : bool
        Whether errors hold the sampling error, not the privacy noise alone.
    decisions : tuple of PrototypeDecision
        One per row.
    image_shape : tuple of int, or None
        Height and width, if the features are the pixels of a picture, row by row.
    """

    kind: ClassVar[str] = "decisions"

    labels: tuple[Count, ...]
    prototypes: Annotated[Floats, Array("labels", "features")]
    standard_errors: Annotated[Floats, Array("labels", "features", null=math.inf)]
    image_shape: tuple[Size, Size] | None = None
    decisions: tuple[PrototypeDecision, ...]
    whole: Annotated[bool, Stored(optional=True)] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_labels(self.labels, len(self.outputs))
        for one in self.decisions:
            self._check(one)
            check_row_texts((one.given, one.read_as), 2, len(self.columns), "given values")
            for part in (one, one.joint) if one.joint else (one,):
                freeze_arrays(part, EXPLANATION, self, nan_is_null=True)
        check_picture(self.image_shape, len(self.features))

    def _check(self, one: PrototypeDecision) -> None:
        """Refuse a decision that speaks of classes, prototypes or columns that are not there."""
        classes, prototypes = range(len(self.outputs)), range(len(self.labels))
        numbers = [one.predicted, *(change.to_class for change in one.changes)]
        nearest = [one.right, *([] if one.wrong == -1 else [one.wrong])]
        nearest += [] if one.joint is None else [one.joint.toward]
        if not all(number in classes for number in numbers):
            raise DataError("A decision speaks of a class that is not among the outputs.")
        if not all(number in prototypes for number in nearest):
            raise DataError("A decision speaks of a prototype that is not there.")
        if not all(change.column in self.columns for change in one.changes):
            raise DataError("A change speaks of a column that is not there.")

    def parts(self, row: int) -> Floats:
        """What each column added to the difference of the distances, shape (columns,)."""
        return sum_columns(self.features, self.decisions[row].contributions)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row and feature."""
        places = {name: i for i, name in enumerate(self.columns)}
        return [
            {
                "row": i,
                "predicted": self.outputs[one.predicted],
                "confidence": one.confidence,
                "feature": feature.name,
                "given": one.given[places[feature.column]],
                "contribution": float(one.contributions[j]),
                "verdict": self.verdict_of(feature.column),
                "typical": float(self.prototypes[one.right, j]),
                "typical_other": float(self.prototypes[one.wrong, j])
                if one.wrong >= 0
                else math.nan,
            }
            for i, one in enumerate(self.decisions)
            for j, feature in enumerate(self.features)
        ]

    def __str__(self) -> str:
        return decisions_text(self)
