"""A whole prototype model: its typical points and what its distance looks at, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

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
from voile.explain.plain_data import EXPLANATION, freeze, read_wholes, thaw
from voile.explain.prototype_text import prototypes_text
from voile.strict import LARGEST_WHOLE

Floats = NDArray[np.float64]

MOST_PAIRS = 40
"""Features whose pairs are kept and drawn: more could not be told apart."""

_ARRAYS = (
    "values",
    "standard_errors",
    "means",
    "counts",
    "distance_from_mean",
    "relevance",
    "pairs",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class PrototypeExplanation(Explanation):
    """A whole prototype model; `outputs` are its classes.

    Attributes
    ----------
    model_kind, mechanism : str
        Which model, and how it was trained.
    features : tuple of ExplainedFeature
    labels : tuple of int
        Class number of each prototype.
    values, standard_errors : ndarray of shape (prototypes, features)
        Prototypes in the columns' own units (for a level, the share of rows that have it), and
        their standard deviation by the privacy noise. Values are cut to the bounds.
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
    """

    kind: ClassVar[str] = "prototypes"

    model_kind: str
    mechanism: str
    features: tuple[ExplainedFeature, ...]
    labels: tuple[int, ...]
    values: Floats
    standard_errors: Floats
    beyond: tuple[int, ...]
    means: Floats
    counts: Floats
    distance_from_mean: Floats
    relevance: Floats
    related: tuple[int, ...]
    pairs: Floats
    image_shape: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        prototypes, features, classes = len(self.labels), len(self.features), len(self.outputs)
        for name, shape in {
            "values": (prototypes, features),
            "standard_errors": (prototypes, features),
            "means": (classes, features),
            "counts": (classes,),
            "distance_from_mean": (prototypes,),
            "relevance": (features,),
            "pairs": (len(self.related), len(self.related)),
        }.items():
            known = name not in ("standard_errors", "counts", "distance_from_mean")
            object.__setattr__(self, name, freeze(getattr(self, name), shape, name, known=known))
        if len(self.beyond) != prototypes:
            raise DataError("The values beyond the bounds must be counted for each prototype.")
        check_labels(self.labels, classes)
        if any(not 0 <= one < features for one in self.related):
            raise DataError("The related features must be numbers of features.")
        check_picture(self.image_shape, features)

    @property
    def learned(self) -> bool:
        """Whether the distance was learned: it looks at some features more than at others."""
        crossed = self.pairs - np.diag(np.diag(self.pairs))
        top = float(self.relevance.max(initial=0.0))
        return bool(np.ptp(self.relevance) > 1e-9 * top or np.abs(crossed).max(initial=0.0) > 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return list_columns(self.features)

    @property
    def column_relevance(self) -> Floats:
        """Relevance of each column: that of its levels summed, shape (columns,)."""
        return sum_columns(self.features, self.relevance)

    @property
    def ranked(self) -> tuple[int, ...]:
        """Positions of the features, most relevant columns first, the levels of one together."""
        names, sizes = self.columns, self.column_relevance
        rank = {names[i]: n for n, i in enumerate(np.argsort(-sizes, kind="stable"))}
        order = sorted(range(len(self.features)), key=lambda j: (rank[self.features[j].column], j))
        return tuple(order)

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
                "class_mean": float(self.means[label, j]),
                "relevance": float(self.relevance[j]),
            }
            for p, label in enumerate(self.labels)
            for j, one in enumerate(self.features)
        ]

    def _facts(self) -> dict[str, Any]:
        return {
            "model_kind": self.model_kind,
            "mechanism": self.mechanism,
            "features": [one.to_dict() for one in self.features],
            "labels": list(self.labels),
            "beyond": list(self.beyond),
            "related": list(self.related),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
            **{name: thaw(getattr(self, name)) for name in _ARRAYS},
        }

    @classmethod
    def _read_facts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "model_kind": EXPLANATION.text(data["model_kind"], "'model_kind'"),
            "mechanism": EXPLANATION.text(data["mechanism"], "'mechanism'"),
            "features": read_features(data["features"]),
            "labels": read_wholes(data["labels"], "'labels'", len(data["outputs"])),
            "beyond": read_wholes(data["beyond"], "'beyond'", LARGEST_WHOLE),
            "related": read_wholes(data["related"], "'related'", len(data["features"])),
            "image_shape": read_shape(data["image_shape"]),
            **{name: data[name] for name in _ARRAYS},
        }

    def __str__(self) -> str:
        return prototypes_text(self)


def read_shape(data: Any) -> tuple[int, int] | None:
    """Height and width of a picture from plain data (DataError)."""
    if data is None:
        return None
    height, width = EXPLANATION.listed(data, "'image_shape'", 2)
    return (
        EXPLANATION.whole(height, "the height of pictures", 1),
        EXPLANATION.whole(width, "the width of pictures", 1),
    )


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
