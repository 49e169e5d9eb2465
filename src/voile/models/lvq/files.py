"""Prototype models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile lvq", "voile": "<version that wrote it>",
     "rule": "glvq", "mechanism": "gaussian", "classes": ["no", "yes"], "image_shape": null,
     "features": ["age", "ward = B"],
     "prototypes": [[...], ...], "prototype_errors": ..., "labels": [0, 1],
     "means": ..., "counts": [120.4, null], "omega": ..., "centre": [...],
     "evidence": null or {"estimates": ..., "noise_variances": ..., ...},
     "schema": ..., "receipt": ..., "settings": ...}

Coordinates are those of `Features`. Floats come back to the bit; a count that was not estimated is
``null``. ``settings`` is there only if those of the training are known
(`voile.models.training_settings`). Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats, freeze_arrays
from voile.codec import Order
from voile.errors import ModelError
from voile.models.features import Features
from voile.models.json_files import MODEL
from voile.models.lvq.evidence import ClassEvidence
from voile.models.lvq.model import Kind, LVQModel, Mechanism
from voile.models.saved_model import (
    LARGEST,
    SavedModel,
    check_features,
    check_image,
    check_several,
)
from voile.stored import Size, Stored


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedLVQ(SavedModel[LVQModel]):
    """What stands in the file of a prototype model: see `LVQModel`."""

    kind: ClassVar[str] = "voile lvq"
    file_order: ClassVar[Order] = (
        *("format", "kind", "voile", "rule", "mechanism", ..., "schema", "receipt", "settings"),
    )

    rule: Kind
    mechanism: Mechanism
    image_shape: tuple[Size, Size] | None
    features: tuple[str, ...]
    prototypes: Annotated[Floats, Array("labels", "features", most=LARGEST)]
    prototype_errors: Annotated[Floats, Array("labels", "features", least=0.0, most=LARGEST)]
    means: Annotated[Floats, Array("classes", "features", most=LARGEST)]
    omega: Annotated[Floats, Array("omega", "features", most=LARGEST)]
    labels: Annotated[NDArray[np.int64], Array("labels", least=0.0)]
    counts: Annotated[Floats, Array("classes", least=0.0, most=LARGEST, null=math.nan)]
    centre: Annotated[Floats, Array("features", most=LARGEST)]
    evidence: Annotated[ClassEvidence | None, Stored(optional=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evidence is not None:
            freeze_arrays(self.evidence, MODEL)

    @classmethod
    def of(cls, model: LVQModel) -> Self:
        """What is written of a model."""
        names = ("prototypes", "prototype_errors", "means", "omega", "labels", "counts", "centre")
        arrays: dict[str, Any] = {name: getattr(model, name) for name in names}
        return cls(
            rule=model.kind,
            mechanism=model.mechanism,
            classes=model.classes,
            image_shape=model.image_shape,
            features=model.features.names,
            schema=model.schema,
            receipt=model.receipt,
            evidence=model.evidence,
            **arrays,
        )

    def build(self) -> LVQModel:
        """The model, if all its parts fit each other (ModelError)."""
        check_several(self.known_classes, "a model of prototypes")
        check_features(self.features, Features(self.schema).names)
        check_image(self.image_shape, len(self.features), (2,))
        if not len(self.labels) or not len(self.omega) or self.labels.max() >= len(self.classes):
            raise ModelError("In a model, the labels must be numbers of classes.")
        self._check_evidence()
        return LVQModel(
            self.rule,
            self.mechanism,
            self.schema,
            self.prototypes,
            self.prototype_errors,
            self.labels,
            self.means,
            self.counts,
            self.omega,
            self.centre,
            self.receipt,
            self.image_shape,
            self.evidence,
        )

    def _check_evidence(self) -> None:
        found = self.evidence
        if found is None:
            return
        columns = len({one.column for one in Features(self.schema).each})
        sizes = len(self.classes), len(self.features), len(self.labels), columns
        if sizes != (found.classes, found.features, found.prototypes, found.columns):
            raise ModelError(
                "In a model, 'evidence' must have its classes, features, prototypes and columns: "
                "use an undamaged copy."
            )


def frozen_labels(labels: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Class numbers that nobody can change."""
    result = np.array(labels, dtype=np.int64)
    result.setflags(write=False)
    return result
