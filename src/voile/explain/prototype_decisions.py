"""Why single rows got their class from the nearest prototype, and what would change it, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.explained_feature import (
    ExplainedFeature,
    list_columns,
    read_features,
    sum_columns,
)
from voile.explain.explanation import Explanation
from voile.explain.plain_data import EXPLANATION, check_rows, freeze, read_wholes, thaw
from voile.explain.prototype_explanation import check_labels, check_picture, read_shape
from voile.explain.prototype_text import decisions_text

Floats = NDArray[np.float64]


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
    size: float
    to_class: int


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

    values: Floats
    size: float
    toward: int
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
        Standard deviation of the difference of the distances by the noise of the two prototypes,
        to first order. The noise of a learned metric is not known and not in it.
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

    predicted: int
    confidence: float
    right: int
    wrong: int
    right_distance: float
    wrong_distance: float
    gap_error: float
    contributions: Floats
    part_errors: Floats
    values: Floats
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
        """Whether two standard errors of the privacy noise could have reversed the answer."""
        return self.wrong >= 0 and self.gap < 2 * self.gap_error

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        joint = self.joint
        return {
            "predicted": self.predicted,
            "confidence": self.confidence,
            "right": self.right,
            "wrong": self.wrong,
            "right_distance": _plain(self.right_distance),
            "wrong_distance": _plain(self.wrong_distance),
            "gap_error": _plain(self.gap_error),
            "contributions": thaw(self.contributions),
            "part_errors": thaw(self.part_errors),
            "values": thaw(self.values),
            "given": list(self.given),
            "read_as": list(self.read_as),
            "changes": [asdict(one) for one in self.changes],
            "joint": None
            if joint is None
            else {
                "values": thaw(joint.values),
                "size": joint.size,
                "toward": joint.toward,
                "flips": joint.flips,
            },
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave (DataError)."""
        read = EXPLANATION
        data = read.fields(data, [one.name for one in fields(cls)], "a decision")
        numbers: dict[str, Any] = {
            name: read.number(data[name], f"'{name}'", 0.0, null=math.inf)
            for name in ("right_distance", "wrong_distance", "gap_error")
        }
        places: dict[str, Any] = {
            name: read.whole(data[name], f"'{name}'", -1)
            for name in ("predicted", "right", "wrong")
        }
        arrays: dict[str, Any] = {
            name: read.listed(data[name], f"'{name}'")
            for name in ("contributions", "part_errors", "values")
        }
        return cls(
            confidence=read.number(data["confidence"], "'confidence'", 0.0, 1.0),
            given=read.texts(data["given"], "'given'"),
            read_as=read.texts(data["read_as"], "'read_as'"),
            changes=tuple(map(_read_change, read.listed(data["changes"], "'changes'"))),
            joint=None if data["joint"] is None else _read_joint(data["joint"]),
            **numbers,
            **places,
            **arrays,
        )


def _read_change(data: object) -> Change:
    read = EXPLANATION
    facts = read.fields(data, [one.name for one in fields(Change)], "a change")
    value, level = facts["value"], facts["level"]
    if (value is None) == (level is None):
        read.refuse("a change", "to a value or to a level", value)
    return Change(
        column=read.text(facts["column"], "the column of a change"),
        value=None if value is None else read.number(value, "the value of a change"),
        level=None if level is None else read.text(level, "the level of a change"),
        size=read.number(facts["size"], "the size of a change", 0.0),
        to_class=read.whole(facts["to_class"], "the class of a change"),
    )


def _read_joint(data: object) -> JointChange:
    read = EXPLANATION
    facts = read.fields(data, [one.name for one in fields(JointChange)], "'joint'")
    values: Any = read.listed(facts["values"], "the values of 'joint'")
    return JointChange(
        values=values,
        size=read.number(facts["size"], "the size of 'joint'", 0.0),
        toward=read.whole(facts["toward"], "'toward'"),
        flips=read.truth(facts["flips"], "'flips'"),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PrototypeDecisions(Explanation):
    """Why some rows got their class; `outputs` are the classes.

    Attributes
    ----------
    features : tuple of ExplainedFeature
    labels : tuple of int
        Class number of each prototype.
    prototypes, standard_errors : ndarray of shape (prototypes, features)
        Prototypes in the columns' own units, and their standard deviation by the noise.
    decisions : tuple of PrototypeDecision
        One per row.
    image_shape : tuple of int, or None
        Height and width, if the features are the pixels of a picture, row by row.
    """

    kind: ClassVar[str] = "decisions"

    features: tuple[ExplainedFeature, ...]
    labels: tuple[int, ...]
    prototypes: Floats
    standard_errors: Floats
    decisions: tuple[PrototypeDecision, ...]
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        shape = (len(self.labels), len(self.features))
        for name in ("prototypes", "standard_errors"):
            known = name == "prototypes"
            object.__setattr__(self, name, freeze(getattr(self, name), shape, name, known=known))
        check_labels(self.labels, len(self.outputs))
        object.__setattr__(self, "decisions", tuple(map(self._frozen, self.decisions)))
        check_picture(self.image_shape, len(self.features))

    def _frozen(self, one: PrototypeDecision) -> PrototypeDecision:
        width, columns = (len(self.features),), self.columns
        joint = one.joint
        self._check(one)
        check_rows((one.given, one.read_as), 2, len(columns), "given values")
        return replace(
            one,
            contributions=freeze(one.contributions, width, "contributions", known=True),
            part_errors=freeze(one.part_errors, (len(columns),), "part errors"),
            values=freeze(one.values, width, "values", known=True),
            joint=None
            if joint is None
            else replace(joint, values=freeze(joint.values, width, "changed values", known=True)),
        )

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

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return list_columns(self.features)

    def parts(self, row: int) -> Floats:
        """What each column added to the difference of the distances, shape (columns,)."""
        return sum_columns(self.features, self.decisions[row].contributions)

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, rows: int | slice) -> PrototypeDecisions:
        """Some of the rows, as an explanation of their own."""
        if isinstance(rows, int):
            position = range(len(self))[rows]
            rows = slice(position, position + 1)
        return replace(self, decisions=self.decisions[rows])

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
                "typical": float(self.prototypes[one.right, j]),
                "typical_other": float(self.prototypes[one.wrong, j])
                if one.wrong >= 0
                else math.nan,
            }
            for i, one in enumerate(self.decisions)
            for j, feature in enumerate(self.features)
        ]

    def _facts(self) -> dict[str, Any]:
        return {
            "features": [one.to_dict() for one in self.features],
            "labels": list(self.labels),
            "prototypes": thaw(self.prototypes),
            "standard_errors": thaw(self.standard_errors),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
            "decisions": [one.to_dict() for one in self.decisions],
        }

    @classmethod
    def _read_facts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "features": read_features(data["features"]),
            "labels": read_wholes(data["labels"], "'labels'", len(data["outputs"])),
            "prototypes": data["prototypes"],
            "standard_errors": data["standard_errors"],
            "image_shape": read_shape(data["image_shape"]),
            "decisions": tuple(
                map(
                    PrototypeDecision.from_dict,
                    EXPLANATION.listed(data["decisions"], "'decisions'"),
                )
            ),
        }

    def __str__(self) -> str:
        return decisions_text(self)


def _plain(number: float) -> float | None:
    return number if math.isfinite(number) else None
