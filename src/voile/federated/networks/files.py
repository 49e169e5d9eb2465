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
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np

from voile.errors import ModelError, SettingError
from voile.federated.networks.architectures import Description, parameter_count
from voile.federated.networks.images import KeptImages, Standard
from voile.federated.networks.model import NetworkModel
from voile.federated.networks.settings import Placement
from voile.models.fields import is_same, read_list, read_number, read_text
from voile.models.json_files import read_json, write_json
from voile.models.saved_parts import read_head, read_receipt, read_schema
from voile.models.training_settings import Settings, add_settings
from voile.schema import Category
from voile.version import __version__

FORMAT = 1
KIND = "voile network"

_FIELDS = (
    *("format", "kind", "voile", "architecture", "classes", "image_shape", "seed", "means"),
    *("spreads", "bits", "placement", "parameters", "weights", "schema", "receipt"),
)


def to_dict(model: NetworkModel) -> dict[str, Any]:
    """Write a model as plain dictionaries, lists, text and numbers."""
    return {
        "format": FORMAT,
        "kind": KIND,
        "voile": __version__,
        "architecture": model.description.architecture,
        "classes": list(model.classes),
        "image_shape": list(model.image_shape),
        "seed": model.description.seed,
        "means": list(model.standard.means),
        "spreads": list(model.standard.spreads),
        "bits": model.standard.bits,
        "placement": model.placement,
        "parameters": len(model.weights),
        "weights": base64.b64encode(model.weights.astype("<f8").tobytes()).decode("ascii"),
        "schema": model.schema.to_dict(),
        "receipt": model.receipt.to_dict(),
    }


def write(model: NetworkModel, path: str | Path, settings: Settings | None = None) -> Path:
    """Write a model, and the settings of its training, to a JSON file, wholly or not at all.

    Raises
    ------
    ModelError
        If the model contradicts itself, or the file cannot be written.
    """
    data = to_dict(model)
    from_dict(data)  # what could not be read back is refused here
    return write_json(add_settings(data, settings), path)


def read(path: str | Path) -> NetworkModel:
    """Read a model back from a file; its architecture must be registered.

    Raises
    ------
    ModelError
        If it is not, or no longer, such a model.
    """
    return read_json(path, from_dict)


def from_dict(data: Any) -> NetworkModel:
    """Read a model back.

    Raises
    ------
    ModelError
        If it is not, or no longer, such a model, or its architecture is not registered here.
    """
    fields = read_head(data, KIND, FORMAT, _FIELDS)
    schema, receipt = read_schema(fields["schema"]), read_receipt(fields["receipt"])
    target = schema.target
    if not isinstance(target, Category) or len(target.levels or ()) < 2:
        raise ModelError("In a network, the target must have two classes or more.")
    classes = tuple(target.levels or ())
    if not is_same(read_list(fields["classes"], "'classes'"), classes):
        raise ModelError("In a model, the classes are not those of the schema: use another copy.")
    shape = _read_shape(fields["image_shape"], len(schema))
    channels = shape[2] if len(shape) == 3 else 1
    placement = read_text(fields["placement"], "'placement'")
    if placement not in get_args(Placement):
        raise ModelError("In a model, 'placement' is unknown: use the version that wrote it.")
    if any(isinstance(one, Category) for one in schema.values()):
        raise ModelError("In a network, pixels must be numbers.")
    if fields["bits"] != KeptImages(schema).bits:
        raise ModelError("In a model, 'bits' does not fit the schema: use an undamaged copy.")
    means, spreads = (
        tuple(read_number(one, f"'{name}'") for one in read_list(fields[name], f"'{name}'"))
        for name in ("means", "spreads")
    )
    try:
        standard = Standard(means, spreads, fields["bits"])
        description = Description(
            read_text(fields["architecture"], "'architecture'"),
            (channels, shape[0], shape[1]),
            len(classes),
            fields["seed"],
        )
        count = parameter_count(description)
    except SettingError as error:
        raise ModelError(f"The network cannot be built. {error}") from error
    if standard.channels != channels or fields["parameters"] != count:
        raise ModelError("In a model, the numbers do not fit the network: use an undamaged copy.")
    weights = _read_weights(fields["weights"], count)
    return NetworkModel(schema, description, weights, standard, shape, placement, receipt)


def _read_shape(data: object, pixels: int) -> tuple[int, ...]:
    shape = read_list(data, "image_shape")
    if len(shape) not in (2, 3) or not all(type(one) is int and one > 0 for one in shape):
        raise ModelError("In a model, image_shape must be two or three positive whole numbers.")
    if math.prod(shape) != pixels:
        raise ModelError("In a model, image_shape has another number of pixels than columns.")
    return tuple(shape)


def _read_weights(data: object, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        raw = base64.b64decode(read_text(data, "'weights'"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ModelError(f"In a model, the weights cannot be read ({error}).") from error
    if len(raw) != 8 * count:
        raise ModelError(f"In a model, there must be {count} weights: use an undamaged copy.")
    weights = np.frombuffer(raw, dtype="<f8").astype(np.float64)
    if not np.isfinite(weights).all():
        raise ModelError("In a model, weights must be finite numbers: use an undamaged copy.")
    weights.setflags(write=False)
    return weights
