"""What classifiers share whose model gives every class a score: their answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from voile.models.picture_rows import PictureRows

Floats = NDArray[np.float64]


class ScoringClassifier(ClassifierMixin, PictureRows):  # type: ignore[misc]
    """A classifier of tables or pictures, with a model that has ``decide``."""

    def _scores(self, X: object) -> Floats:
        columns = self._encode(X)  # first: it says what is wrong before a fit
        scores: Floats = self.model_.decide(columns)
        return self._by_class(scores)

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
