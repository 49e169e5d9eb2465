"""A whole prototype model: its typical points and what its distance looks at, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from voile.arrays import Array, Floats, freeze_arrays
from voile.codec import Order
from voile.errors import DataError
from voile.explain.comparison import Comparison
from voile.explain.explained_feature import FeatureExplanation, sum_columns
from voile.explain.explanation import EXPLANATION, FOOT, HEAD
from voile.explain.lvq.comparing import compare
from voile.explain.lvq.text import prototypes_text
from voile.models.lvq.evidence import ClassEvidence
from voile.stored import Count, Size, Stored

MOST_PAIRS = 40
"""Features whose pairs are kept and drawn: more could not be told apart."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LVQExplanation(FeatureExplanation):
    """A whole prototype model; `outputs` are its classes.

    `compare` answers whether two classes differ in a column. Verdicts of columns say whether the
    class means differ, of any two classes.

    Attributes
    ----------
    model_kind, mechanism : str
        Which model, and how it was trained.
    labels : tuple of int
        Class number of each prototype.
    values, standard_errors : ndarray of shape (prototypes, features)
        Prototypes in the columns' own units (for a level, the share of rows that have it), and
        their standard deviation by privacy noise and sampling together (by the noise alone if
        `noise_errors` is None). Values are cut to the bounds.
    beyond : tuple of int
        How many values of each prototype were beyond the bounds, by the noise or by training.
    means : ndarray of shape (classes, features)
        Private class means, in the same units.
    counts : ndarray of shape (classes,)
        Privately estimated rows per class; infinite where they are not known.
    distance_from_mean : ndarray of shape (prototypes,)
        How far a prototype is from the mean of its class: 0 is the mean itself, 1 is as far as
        another class usually is.
    relevance : ndarray of shape (features,)
        How much the distance looks at each feature: the diagonal of the metric, sum 1.
    related : tuple of int
        Positions of the features in `pairs`: the most relevant ones, none for a picture.
    pairs : ndarray of shape (related, related)
        The metric between them.
    image_shape : tuple of int, or None
        Height and width, if the features are the pixels of a picture, row by row.
    noise_errors : ndarray of shape (prototypes, features), or None
        The standard deviation by the privacy noise alone; None if no more than that is known.
    evidence : ClassEvidence or None
        What `compare` and the verdicts rest on, in the columns' own units.
    p_values : ndarray of shape (columns,), or None
        Of no difference between any two class means, allowing for all columns.
    """

    kind: ClassVar[str] = "prototypes"

    file_order: ClassVar[Order] = (*HEAD, "model_kind", "mechanism", ..., *FOOT)

    model_kind: str
    mechanism: str
    labels: tuple[Count, ...]
    beyond: tuple[Count, ...]
    related: tuple[Count, ...]
    image_shape: tuple[Size, Size] | None = None
    values: Annotated[Floats, Array("labels", "features")]
    standard_errors: Annotated[Floats, Array("labels", "features", null=math.inf)]
    means: Annotated[Floats, Array("outputs", "features")]
    counts: Annotated[Floats, Array("outputs", null=math.inf)]
    distance_from_mean: Annotated[Floats, Array("labels", null=math.inf)]
    relevance: Annotated[Floats, Array("features")]
    pairs: Annotated[Floats, Array("related", "related")]
    noise_errors: Annotated[
        Floats | None, Array("labels", "features", null=math.inf), Stored(optional=True)
    ] = None
    evidence: Annotated[ClassEvidence | None, Stored(optional=True)] = None
    p_values: Annotated[Floats | None, Array("columns"), Stored(optional=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        prototypes, features, classes = len(self.labels), len(self.features), len(self.outputs)
        if len(self.beyond) != prototypes:
            raise DataError("The values beyond the bounds must be counted for each prototype.")
        check_labels(self.labels, classes)
        if any(not 0 <= one < features for one in self.related):
            raise DataError("The related features must be numbers of features.")
        check_picture(self.image_shape, features)
        if self.evidence is not None:
            freeze_arrays(self.evidence, EXPLANATION)
            found = self.evidence
            sizes = classes, features, prototypes, len(self.columns)
            if sizes != (found.classes, found.features, found.prototypes, found.columns):
                raise DataError("The evidence of an explanation must be of just what it shows.")

    @property
    def whole(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return self.noise_errors is not None

    @property
    def column_relevance_errors(self) -> Floats:
        """Standard deviation of `column_relevance`, shape (columns,); infinite if not known."""
        if self.evidence is None:
            return np.full(len(self.columns), math.inf if self.learned else 0.0)
        return self.evidence.column_errors

    @property
    def learned(self) -> bool:
        """Whether the distance was learned: it looks at some features more than at others."""
        crossed = self.pairs - np.diag(np.diag(self.pairs))
        top = float(self.relevance.max(initial=0.0))
        return bool(np.ptp(self.relevance) > 1e-9 * top or np.abs(crossed).max(initial=0.0) > 0)

    @property
    def column_relevance(self) -> Floats:
        """Relevance of each column: that of its levels summed, shape (columns,)."""
        return sum_columns(self.features, self.relevance)

    @property
    def ranked(self) -> tuple[int, ...]:
        """Positions of the features, most relevant columns first, the levels of one together.

        Columns that cannot be told from nothing come last.
        """
        names, sizes, nothing = self.columns, self.column_relevance, self.nothing
        by_size = np.argsort(-sizes, kind="stable").tolist()
        by_size.sort(key=lambda i: names[i] in nothing)
        rank = {names[i]: n for n, i in enumerate(by_size)}
        order = sorted(range(len(self.features)), key=lambda j: (rank[self.features[j].column], j))
        return tuple(order)

    @property
    def shown(self) -> tuple[int, ...]:
        """Positions of the features of columns that may be something, as they are ranked."""
        nothing = self.nothing
        return tuple(j for j in self.ranked if self.features[j].column not in nothing)

    def compare(self, column: str, first: object, second: object) -> Comparison:
        """Is the difference between two classes in a column real?

        Parameters
        ----------
        column : str
        first, second : class, or name of a prototype
            Classes are compared by their means, which nothing has drawn to each other, and not by
            their prototypes, which training moves to where the classes border. Of several
            prototypes of a class one can be named as it is shown: "'ill' no. 2".

        Returns
        -------
        Comparison
            The difference with its 95 % interval (privacy noise plus sampling error) and a verdict
            that allows for having looked at many. It costs nothing.

        Raises
        ------
        SettingError
            If the column or a class does not exist, both are the same, or nothing is known of the
            sampling error.
        """
        return compare(self, column, first, second)

    @property
    def empty_classes(self) -> tuple[str, ...]:
        """Classes without a prototype: no row can get them."""
        return tuple(name for k, name in enumerate(self.outputs) if k not in self.labels)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per prototype and feature."""
        return [
            {
                "prototype": p,
                "class": self.outputs[label],
                "feature": one.name,
                "column": one.column,
                "value": float(self.values[p, j]),
                "standard_error": float(self.standard_errors[p, j]),
                "noise_error": float(
                    (self.standard_errors if self.noise_errors is None else self.noise_errors)[p, j]
                ),
                "verdict": self.verdict_of(one.column),
                "class_mean": float(self.means[label, j]),
                "relevance": float(self.relevance[j]),
            }
            for p, label in enumerate(self.labels)
            for j, one in enumerate(self.features)
        ]

    def __str__(self) -> str:
        return prototypes_text(self)


def check_labels(labels: Sequence[int], classes: int) -> None:
    """Refuse labels of prototypes that are no numbers of classes (DataError)."""
    if any(not 0 <= one < classes for one in labels):
        raise DataError(f"The labels of prototypes must be numbers of {classes} classes.")


def check_picture(image_shape: tuple[int, int] | None, features: int) -> None:
    """Refuse a height and width that do not fit the features (DataError)."""
    if image_shape is not None and image_shape[0] * image_shape[1] != features:
        raise DataError(
            f"A picture of {image_shape[0]} x {image_shape[1]} pixels has no {features} features: "
            f"give the model's image_shape as height and width, or None."
        )
