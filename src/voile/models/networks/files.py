"""Networks as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile network", "voile": "<version that wrote it>",
     "architecture": "cnn", "classes": ["no", "yes"], "image_shape": [28, 28], "seed": 7,
     "means": [0.13], "spreads": [0.31], "bits": 8, "placement": "uniform",
     "parameters": 26010, "weights": "<base64 of little-endian doubles>",
     "schema": ..., "receipt": ..., "settings": ...}

Weights come back to the bit. ``settings`` is there only if those of the training are known
(`voile.models.training_settings`). Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import ClassVar, Self, get_args

import numpy as np

from voile.arrays import Floats
from voile.codec import Order
from voile.errors import ModelError, SettingError
from voile.models.networks.architectures import Description, parameter_count
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.model import NetworkModel
from voile.models.networks.settings import Placement
from voile.models.saved_model import SavedModel, check_image, check_several
from voile.schema import Category
from voile.stored import Size


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedNetwork(SavedModel[NetworkModel]):
    """What stands in the file of a network: see `NetworkModel`, `Description` and `Standard`.

    Attributes
    ----------
    parameters : int
        Their number.
    weights : str
        Base64 of little-endian doubles.
    """

    kind: ClassVar[str] = "voile network"
    file_order: ClassVar[Order] = (
        *("format", "kind", "voile", "architecture", ..., "schema", "receipt", "settings"),
    )

    architecture: str
    image_shape: tuple[Size, ...]
    seed: int
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    bits: int
    placement: str
    parameters: int
    weights: str

    @classmethod
    def of(cls, model: NetworkModel) -> Self:
        """What is written of a model."""
        return cls(
            architecture=model.description.architecture,
            classes=model.classes,
            image_shape=model.image_shape,
            seed=model.description.seed,
            means=model.standard.means,
            spreads=model.standard.spreads,
            bits=model.standard.bits,
            placement=model.placement,
            parameters=len(model.weights),
            weights=base64.b64encode(model.weights.astype("<f8").tobytes()).decode("ascii"),
            schema=model.schema,
            receipt=model.receipt,
        )

    @property
    def placements(self) -> tuple[str, ...]:
        """Where noise may have gone."""
        return get_args(Placement)

    def build(self) -> NetworkModel:
        """The network, if all its parts fit each other and its architecture is registered here."""
        check_several(self.known_classes, "a network")
        check_image(self.image_shape, len(self.schema), (2, 3))
        if self.placement not in self.placements:
            raise ModelError("In a model, 'placement' is unknown: use the version that wrote it.")
        if any(isinstance(one, Category) for one in self.schema.values()):
            raise ModelError("In a network, pixels must be numbers.")
        if self.bits != KeptImages(self.schema).bits:
            raise ModelError("In a model, 'bits' does not fit the schema: use an undamaged copy.")
        channels = self.image_shape[2] if len(self.image_shape) == 3 else 1
        shape = (channels, self.image_shape[0], self.image_shape[1])
        try:
            standard = Standard(self.means, self.spreads, self.bits)
            description = Description(self.architecture, shape, len(self.classes), self.seed)
            count = parameter_count(description)
        except SettingError as error:
            raise ModelError(f"The network cannot be built. {error}") from error
        if standard.channels != channels or self.parameters != count:
            raise ModelError(
                "In a model, the numbers do not fit the network: use an undamaged copy."
            )
        return NetworkModel(
            self.schema,
            description,
            _unpack(self.weights, count),
            standard,
            self.image_shape,
            self.placement,
            self.receipt,
        )


def _unpack(text: str, count: int) -> Floats:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ModelError(f"In a model, the weights cannot be read ({error}).") from error
    if len(raw) != 8 * count:
        raise ModelError(f"In a model, there must be {count} weights: use an undamaged copy.")
    weights = np.frombuffer(raw, dtype="<f8").astype(np.float64)
    if not np.isfinite(weights).all():
        raise ModelError("In a model, weights must be finite numbers: use an undamaged copy.")
    weights.setflags(write=False)
    return weights
