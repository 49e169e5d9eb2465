"""Locally linear models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile maps", "voile": "<version that wrote it>",
     "classes": ["no", "yes"], "features": ["age", "ward = B"], "image_shape": null,
     "basis": null or {"cut": 12, "width": 6.0, "window": false}, "root": false,
     "normalise": true,
     "centre": [...], "radius": [...], "filling": [...], "beta": 0.1,
     "weights": [[...], ...], "weight_errors": ..., "offsets": ..., "taught_by": null,
     "evidence": null or {"estimates": ..., "noise_variances": ..., ...},
     "schema": ..., "receipt": ..., "settings": ...}

``weights`` and ``weight_errors`` have a line per map, all maps of the first class first; floats
come back to the bit. ``settings`` is there only if those of the training are known
(`voile.models.training_settings`). Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import ModelError, SettingError
from voile.models.features import Features
from voile.models.json_files import MODEL
from voile.models.locally_linear.evidence import MapEvidence
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.pictures import SmoothBasis
from voile.models.pixels import Shape
from voile.models.saved_model import (
    LARGEST,
    SavedModel,
    check_features,
    check_image,
    check_several,
)
from voile.stored import Size, Stored


@dataclass(frozen=True)
class SavedBasis:
    """What stands in the file of a `SmoothBasis`."""

    cut: Size
    width: Annotated[float, Stored(least=1e-9, most=1e9)]
    window: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedLocallyLinear(SavedModel[LocallyLinearModel]):
    """What stands in the file of a locally linear model: see `LocallyLinearModel` and `Inputs`."""

    kind: ClassVar[str] = "voile maps"

    features: tuple[str, ...]
    image_shape: tuple[Size, ...] | None
    basis: SavedBasis | None
    root: bool
    normalise: bool
    centre: Annotated[Floats, Array("radius", most=LARGEST)]
    radius: Annotated[Floats, Array("radius", least=1e-12, most=LARGEST)]
    filling: Annotated[Floats, Array("features", most=LARGEST)]
    beta: Annotated[float, Stored(least=0.0, most=LARGEST)]
    weights: Annotated[Floats, Array("weights", "radius", most=LARGEST)]
    weight_errors: Annotated[Floats, Array("weights", "radius", least=0.0, most=LARGEST)]
    offsets: Annotated[Floats, Array("classes", "maps", most=LARGEST)]
    taught_by: str | None
    evidence: Annotated[MapEvidence | None, Stored(optional=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.evidence is not None:
            freeze_arrays(self.evidence, MODEL)

    @property
    def maps(self) -> int:
        """Maps per class."""
        return len(self.weights) // max(len(self.classes), 1)

    @classmethod
    def of(cls, model: LocallyLinearModel) -> Self:
        """What is written of a model."""
        inputs, size = model.inputs, model.inputs.size
        basis = inputs.basis
        return cls(
            classes=model.classes,
            features=model.features.names,
            image_shape=model.image_shape,
            basis=None if basis is None else SavedBasis(basis.cut, basis.width, basis.window),
            root=inputs.root,
            normalise=inputs.normalise,
            centre=inputs.centre,
            radius=inputs.radius,
            filling=inputs.filling,
            beta=model.beta,
            weights=model.weights.reshape(-1, size),
            weight_errors=model.weight_errors.reshape(-1, size),
            offsets=model.offsets,
            taught_by=model.taught_by,
            evidence=model.evidence,
            schema=model.schema,
            receipt=model.receipt,
        )

    def build(self) -> LocallyLinearModel:
        """The model, if all its parts fit each other (ModelError)."""
        check_several(self.known_classes, "a model of maps")
        check_features(self.features, Features(self.schema).names)
        check_image(self.image_shape, len(self.features), (2, 3))
        picture = _picture(self.image_shape)
        basis = _build_basis(self.basis, picture)
        size = len(self.features) if basis is None else len(basis.matrix())
        if len(self.radius) != size:
            raise ModelError(f"In a model, 'radius' must have length {size}: use another copy.")
        if not self.maps or len(self.weights) % len(self.classes):
            raise ModelError(
                "In a model, 'weights' must have the same number of maps for every class."
            )
        shape = (len(self.classes), self.maps, size)
        self._check_evidence(size)
        return LocallyLinearModel(
            Inputs(
                self.schema,
                picture,
                basis,
                self.root,
                self.normalise,
                self.centre,
                self.radius,
                self.filling,
            ),
            self.weights.reshape(shape),
            self.offsets,
            self.weight_errors.reshape(shape),
            self.beta,
            self.receipt,
            self.image_shape,
            self.taught_by,
            self.evidence,
        )

    def _check_evidence(self, size: int) -> None:
        found = self.evidence
        if found is None:
            return
        columns = len({one.column for one in Features(self.schema).each})
        if (found.classes, found.features, found.columns) != (len(self.classes), size, columns):
            raise ModelError(
                "In a model, 'evidence' must have its classes, coordinates and columns: use an "
                "undamaged copy."
            )


def _picture(shape: tuple[int, ...] | None) -> Shape | None:
    if shape is None:
        return None
    return shape[0], shape[1], shape[2] if len(shape) == 3 else 1


def _build_basis(saved: SavedBasis | None, picture: Shape | None) -> SmoothBasis | None:
    if saved is None:
        return None
    if picture is None or saved.cut > max(picture[:2]):
        raise ModelError("In a model, 'basis' does not fit the pictures: use an undamaged copy.")
    try:
        return SmoothBasis(picture, saved.cut, saved.width, saved.window)
    except SettingError as error:
        raise ModelError(f"In a model, 'basis' cannot be made. {error}") from error
