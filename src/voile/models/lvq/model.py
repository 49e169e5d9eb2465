"""A trained prototype model: frozen typical points, all of them released values.

A row gets the class of the prototype nearest to it. Nothing here has seen a row, so reading,
explaining and storing a model costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.models.features import Features
from voile.models.lvq.evidence import ClassEvidence
from voile.privacy.receipt import Receipt
from voile.schema import Category, Schema

Floats = NDArray[np.float64]
Kind = Literal["lvq1", "glvq", "gmlvq"]
Mechanism = Literal["gaussian", "sgd", "sample_aggregate", "center_of_attention"]


@dataclass(frozen=True, eq=False)
class LVQModel:
    """Prototypes with their classes, and the metric that tells which is nearest.

    Coordinates are those of `Features`: numbers scaled from their bounds to [-1, 1], one
    coordinate per level of a category.

    Attributes
    ----------
    kind : {"lvq1", "glvq", "gmlvq"}
    mechanism : str
        How it was trained.
    schema : Schema
        Complete, with the classes as its target.
    prototypes : ndarray of shape (prototypes, features)
    prototype_errors : ndarray of shape (prototypes, features)
        Standard deviation of each coordinate by the privacy noise (0 without noise).
    labels : ndarray of shape (prototypes,)
        Class number of each prototype.
    means : ndarray of shape (classes, features)
        Private class means.
    counts : ndarray of shape (classes,)
        Privately estimated rows per class, >= 0; NaN where the mechanism does not estimate them.
    omega : ndarray of shape (directions, features)
        The metric: squared distance = |omega (x - w)|^2. The identity (scaled) if none was learned.
    centre : ndarray of shape (features,)
        Stands in for missing numbers.
    receipt : Receipt
    image_shape : tuple of int, or None
        Height and width, if the features are the pixels of a picture, row by row.
    evidence : ClassEvidence or None
        What is known of the sampling error; None if only the noise is known.
    """

    kind: Kind
    mechanism: Mechanism
    schema: Schema
    prototypes: Floats
    prototype_errors: Floats
    labels: NDArray[np.int64]
    means: Floats
    counts: Floats
    omega: Floats
    centre: Floats
    receipt: Receipt
    image_shape: tuple[int, int] | None = None
    evidence: ClassEvidence | None = None

    @property
    def whole_errors(self) -> Floats:
        """Standard deviations of the prototypes, as whole as they are known."""
        if self.evidence is None:
            return self.prototype_errors
        squared = self.prototype_errors**2 + self.evidence.prototype_variances
        return np.asarray(np.sqrt(squared))

    @property
    def features(self) -> Features:
        """The coordinates."""
        return Features(self.schema)

    @property
    def classes(self) -> tuple[object, ...]:
        """Classes by number."""
        target = self.schema.target
        assert isinstance(target, Category)
        return tuple(target.levels or ())

    @property
    def relevance(self) -> Floats:
        """The metric Lambda = omega' omega, shape (features, features), scaled to trace 1."""
        matrix = self.omega.T @ self.omega
        return np.asarray(matrix / max(float(np.trace(matrix)), 1e-300))

    @property
    def distance_from_mean(self) -> Floats:
        """How far each prototype is from its private class mean, shape (prototypes,).

        Relative to the typical distance between two class means: 0 is the mean itself, at 1 the
        prototype is as far from it as another class usually is; infinite where the class means
        coincide. By the metric of the model.
        """
        own = self._norms(self.prototypes - self.means[self.labels])
        gaps = [
            float(self._norms((self.means[i] - self.means[j])[None])[0])
            for i in range(len(self.means))
            for j in range(i)
        ]
        gap = float(np.median(gaps)) if gaps else 1.0
        if gap > 1e-30 * (1.0 + float(own.max(initial=0.0))):
            return np.asarray(own / gap)
        return np.where(own > 0.0, np.inf, 0.0)

    def _norms(self, differences: Floats) -> Floats:
        return np.asarray(np.linalg.norm(differences @ self.omega.T, axis=1))

    def points(self, columns: Mapping[str, Any]) -> Floats:
        """Encoded public rows as points, shape (rows, features), the centre where missing.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            As `voile.privacy.public_rows.encode_public` gives them.
        """
        rows = len(next(iter(columns.values())))
        found = self.features.encode(columns, rows).astype(np.float64)
        return np.asarray(np.where(np.isnan(found), self.centre, found))

    def distances(self, points: Floats) -> Floats:
        """Squared distances of points to prototypes, shape (rows, prototypes)."""
        scale = float(self.omega[0, 0])
        if np.array_equal(self.omega, scale * np.eye(len(self.omega), self.omega.shape[1])):
            # All features alike: a product with the identity would take most of the time.
            moved, own = points * scale, self.prototypes * scale
        else:
            moved, own = points @ self.omega.T, self.prototypes @ self.omega.T
        found = (moved**2).sum(axis=1)[:, None] - 2.0 * moved @ own.T + (own**2).sum(axis=1)
        return np.asarray(np.maximum(found, 0.0))

    def class_distances(self, points: Floats) -> Floats:
        """Squared distance to the nearest prototype of each class, shape (rows, classes)."""
        every = self.distances(points)
        result = np.full((len(points), len(self.classes)), np.inf)
        for number in range(len(self.classes)):
            own = self.labels == number
            if own.any():
                result[:, number] = every[:, own].min(axis=1)
        return result

    def confidence(self, points: Floats) -> Floats:
        """Relative distance (d2 - d1) / (d2 + d1) of the nearest class and the next, in [0, 1]."""
        nearest = np.partition(self.class_distances(points), 1, axis=1)[:, :2]
        total = nearest.sum(axis=1)
        with np.errstate(invalid="ignore"):
            found = (nearest[:, 1] - nearest[:, 0]) / np.maximum(total, 1e-300)
        return np.asarray(np.where(np.isfinite(found), found, 1.0))
