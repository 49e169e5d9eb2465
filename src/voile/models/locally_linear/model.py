"""A trained set of locally linear maps: frozen facts, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from voile.models.features import Features
from voile.models.locally_linear.evidence import MapEvidence, in_features
from voile.models.locally_linear.inputs import Inputs, Spread
from voile.privacy.receipt import Receipt
from voile.schema import Category, Schema
from voile.schema.columns import Level

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LocallyLinearModel:
    """Maps g_mk(z) = w_mk z + b_mk, several per class, and how they are blended.

    The score of class k is f_k = sum over m of s_mk g_mk with s_mk the softmax over m of
    beta g_mk; probabilities are the softmax of the scores.

    Attributes
    ----------
    inputs : Inputs
        How a row becomes the point z; with the schema, complete.
    weights : ndarray of shape (classes, maps, size)
        Released: w_mk.
    offsets : ndarray of shape (classes, maps)
        Released: b_mk.
    weight_errors : ndarray of shape (classes, maps, size)
        Standard deviation of the weights by the privacy noise, estimated.
    beta : float
        Inverse temperature: large, and one map wins; small, and all blend.
    receipt : Receipt
        Where the guarantee comes from; of the teacher, if the maps were learned from one.
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels), as the user gave it.
    taught_by : str or None
        What the teacher was, if there was one.
    evidence : MapEvidence or None
        What is known of the sampling error, in coordinates of points; None if only the noise is.
    """

    inputs: Inputs
    weights: Floats
    offsets: Floats
    weight_errors: Floats
    beta: float
    receipt: Receipt
    image_shape: tuple[int, ...] | None = None
    taught_by: str | None = None
    evidence: MapEvidence | None = None

    @property
    def schema(self) -> Schema:
        """Complete: with everything that was found privately."""
        return self.inputs.schema

    @property
    def features(self) -> Features:
        """Names of the features and their scales."""
        return self.inputs.features

    @property
    def classes(self) -> tuple[Level, ...]:
        """Classes, in order."""
        target = self.schema.target
        assert isinstance(target, Category)
        return tuple(target.levels or ())

    @property
    def maps(self) -> int:
        """Maps per class."""
        return int(self.weights.shape[1])

    @cached_property
    def linear_maps(self) -> Floats:
        """Maps as weights of the features, shape (classes, maps, features): pictures, or bars."""
        return self.inputs.linear_maps(self.weights)

    @cached_property
    def linear_map_errors(self) -> Floats:
        """Standard deviation of the linear maps by the privacy noise, same shape.

        Coordinates have independent noise, so variances add with the squares of the basis.
        """
        squared = (self.weight_errors / self.inputs.radius) ** 2
        if self.inputs.basis is None:
            return np.sqrt(squared)
        return np.sqrt(squared @ self.inputs.matrix**2)

    @cached_property
    def whole_linear_map_errors(self) -> Floats:
        """Standard deviation of the linear maps, as whole as it is known."""
        found = self.feature_evidence
        if found is None:
            return self.linear_map_errors
        # Which rows there were moves all maps of a class alike.
        sampling = found.sampling_variances * found.classes / max(found.classes - 1, 1)
        return np.sqrt(self.linear_map_errors**2 + sampling[:, None])

    @cached_property
    def feature_evidence(self) -> MapEvidence | None:
        """The evidence of features, if there is any."""
        return None if self.evidence is None else in_features(self.evidence, self.inputs)

    def spread(self, columns: Mapping[str, Any]) -> Spread:
        """Encoded public rows as points, taken apart."""
        rows = len(next(iter(columns.values())))
        return self.inputs.spread(columns, rows)

    def map_scores(self, points: Floats) -> Floats:
        """g_mk of points, shape (rows, classes, maps)."""
        classes, maps, size = self.weights.shape
        flat = points @ self.weights.reshape(-1, size).T
        return np.asarray(flat.reshape(-1, classes, maps) + self.offsets)

    def contributions(self, scores: Floats) -> Floats:
        """s_mk of map scores: how much each map counts for its class, summing to 1 over maps."""
        return np.asarray(softmax(self.beta * scores, axis=2))

    def class_scores(self, scores: Floats) -> Floats:
        """f_k of map scores, shape (rows, classes)."""
        return np.asarray((self.contributions(scores) * scores).sum(axis=2))

    def decide(self, columns: Mapping[str, Any]) -> Floats:
        """Scores of the classes for encoded rows, shape (rows, classes)."""
        rows = len(next(iter(columns.values())))
        parts = []
        # Some rows at a time: all maps of all rows would not fit into memory.
        for start in range(0, rows, _ROWS_AT_ONCE):
            some = {name: values[start : start + _ROWS_AT_ONCE] for name, values in columns.items()}
            parts.append(self.class_scores(self.map_scores(self.spread(some).points)))
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))


_ROWS_AT_ONCE = 8_192
