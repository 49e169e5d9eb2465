"""What classifiers share whose model gives every class a score: answers, and pictures as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from voile.models.estimator import PrivateEstimator
from voile.models.pixels import flatten_pictures, with_range
from voile.models.training import is_array
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]


class ScoringClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier of tables or pictures, with a model that has ``decide``.

    Subclasses set ``image_shape`` in ``__init__``; None if rows are no pictures.
    """

    image_shape: tuple[int, ...] | None

    def _flat(self, X: object) -> object:
        """Pictures as rows of pixels."""
        shape = self.image_shape
        return X if shape is None else flatten_pictures(X, tuple(shape))

    def _protect(self, X: object, y: object, **weighing: Any) -> PrivateTable:
        table = super()._protect(X, y, **weighing)
        if self.image_shape is None or not (is_array(X) and X.dtype == np.uint8):
            return table
        # The type is public, and with it the range.
        return table.with_schema(with_range(table.schema, 255.0))

    def _encode(self, X: object) -> dict[str, Any]:
        return super()._encode(self._flat(X))

    def _scores(self, X: object) -> Floats:
        columns = self._encode(X)  # first: it says what is wrong before a fit
        scores: Floats = self.model_.decide(columns)
        return scores

    def decision_function(self, X: object) -> Floats:
        """Scores of the classes.

        Returns
        -------
        ndarray of shape (rows, classes), or (rows,) for two classes
            For two classes, that of the second minus that of the first: its log odds.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, shape (rows, classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: object) -> NDArray[Any]:
        """Class with the highest score of each row, shape (rows,)."""
        scores = self._scores(X)
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen
