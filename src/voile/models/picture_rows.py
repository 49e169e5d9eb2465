"""Estimators whose rows may be pictures: arrays of three or four dimensions are, without words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from voile.models.estimator import PrivateEstimator
from voile.models.pixels import flatten_pictures, infer_shape, with_range
from voile.models.training import is_array
from voile.privacy.vault import PrivateTable


class PictureRows(PrivateEstimator):
    """Reading pictures as rows of pixels.

    Subclasses set ``image_shape`` in ``__init__``; None if rows are no pictures, or if the shape of
    the array that they come in says it.
    """

    image_shape: tuple[int, ...] | None
    _inferred: tuple[int, ...] | None = None

    @contextmanager
    def _reading(self, X: object) -> Iterator[None]:
        """Take the shape of pictures from their array while a model is made."""
        self._inferred = infer_shape(X) if self.image_shape is None else None
        try:
            yield
        finally:
            self._inferred = None

    def _fit(self, X: object, y: object, **weighing: Any) -> Self:
        with self._reading(X):
            return super()._fit(X, y, **weighing)

    def _settings(self, seed: int | None = None, **more: object) -> Any:
        if self._inferred is not None:
            more["image_shape"] = self._inferred
        return self._settings_kind.of(self, seed, **more)

    def _flat(self, X: object) -> object:
        """Pictures as rows of pixels."""
        shape = self.image_shape or self._inferred
        if shape is None and hasattr(self, "model_"):
            shape = self.model_.image_shape
        return X if shape is None else flatten_pictures(X, tuple(shape))

    def _encode(self, X: object) -> dict[str, Any]:
        return super()._encode(self._flat(X))

    def explain_local(self, X: object) -> Any:
        """Explain the answers for rows that the caller holds (costs nothing).

        Parameters
        ----------
        X : table of shape (rows, columns), or array of pictures

        Returns
        -------
        Explanation
        """
        return super().explain_local(self._flat(X))

    def _protect(self, X: object, y: object, **weighing: Any) -> PrivateTable:
        table = super()._protect(X, y, **weighing)
        if not (self._knows_range and is_array(X) and X.dtype == np.uint8):
            return table
        # The type is public, and with it the range.
        return table.with_schema(with_range(table.schema, 255.0))

    @property
    def _knows_range(self) -> bool:
        """Whether pixels of type uint8 are taken to lie from 0 to 255."""
        return self.image_shape is not None or self._inferred is not None
