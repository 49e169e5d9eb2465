"""Locally linear models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile maps", "voile": "<version that wrote it>",
     "classes": ["no", "yes"], "features": ["age", "ward = B"], "image_shape": null,
     "basis": null or {"cut": 12, "width": 6.0, "window": false}, "root": false,
     "normalise": true,
     "centre": [...], "radius": [...], "filling": [...], "beta": 0.1,
     "weights": [[...], ...], "weight_errors": ..., "offsets": ..., "taught_by": null,
     "schema": ..., "receipt": ..., "settings": ...}

``weights`` and ``weight_errors`` have a line per map, all maps of the first class first; floats
come back to the bit. ``settings`` is there only if those of the training are known
(`voile.models.training_settings`). Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from voile.errors import ModelError, SettingError
from voile.models.features import Features
from voile.models.fields import (
    LARGEST,
    is_same,
    read_fields,
    read_list,
    read_number,
    read_table,
    read_text,
)
from voile.models.json_files import write_json
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.pictures import SmoothBasis
from voile.models.pixels import Shape
from voile.models.saved_parts import read_head, read_receipt, read_schema
from voile.models.training_settings import Settings, add_settings
from voile.schema import Category
from voile.version import __version__

FORMAT = 1
KIND = "voile maps"

_FIELDS = (
    *("format", "kind", "voile", "classes", "features", "image_shape", "basis", "root"),
    *("normalise", "centre", "radius", "filling", "beta", "weights", "weight_errors", "offsets"),
    *("taught_by", "schema", "receipt"),
)


def to_dict(model: LocallyLinearModel) -> dict[str, Any]:
    """Write a model as plain dictionaries, lists, text and numbers."""
    inputs, size = model.inputs, model.inputs.size
    basis = inputs.basis
    return {
        "format": FORMAT,
        "kind": KIND,
        "voile": __version__,
        "classes": list(model.classes),
        "features": list(model.features.names),
        "image_shape": None if model.image_shape is None else list(model.image_shape),
        "basis": None
        if basis is None
        else {"cut": basis.cut, "width": basis.width, "window": basis.window},
        "root": inputs.root,
        "normalise": inputs.normalise,
        "centre": inputs.centre.tolist(),
        "radius": inputs.radius.tolist(),
        "filling": inputs.filling.tolist(),
        "beta": model.beta,
        "weights": model.weights.reshape(-1, size).tolist(),
        "weight_errors": model.weight_errors.reshape(-1, size).tolist(),
        "offsets": model.offsets.tolist(),
        "taught_by": model.taught_by,
        "schema": model.schema.to_dict(),
        "receipt": model.receipt.to_dict(),
    }


def write(model: LocallyLinearModel, path: str | Path, settings: Settings | None = None) -> Path:
    """Write a model, and the settings of its training, to a JSON file, wholly or not at all.

    Raises
    ------
    ModelError
        If the model contradicts itself, or the file cannot be written.
    """
    data = to_dict(model)
    from_dict(data)  # what could not be read back is refused here
    return write_json(add_settings(data, settings), path)


def from_dict(data: Any) -> LocallyLinearModel:
    """Read a model back.

    Raises
    ------
    ModelError
        If it is not, or no longer, such a model.
    """
    fields = read_head(data, KIND, FORMAT, _FIELDS)
    schema, receipt = read_schema(fields["schema"]), read_receipt(fields["receipt"])
    target = schema.target
    if not isinstance(target, Category) or len(target.levels or ()) < 2:
        raise ModelError("In a model of maps, the target must have two classes or more.")
    classes = tuple(target.levels or ())
    if not is_same(read_list(fields["classes"], "'classes'"), classes):
        raise ModelError("In a model, the classes are not those of the schema: use another copy.")
    features = Features(schema)
    if not is_same(read_list(fields["features"], "'features'"), features.names):
        raise ModelError("In a model, the features are not those of the schema: use another copy.")
    image_shape = _read_shape(fields["image_shape"], len(features))
    picture = _picture(image_shape)
    basis = _read_basis(fields["basis"], picture)
    size = len(features) if basis is None else len(basis.matrix())
    for name in ("root", "normalise"):
        if not isinstance(fields[name], bool):
            raise ModelError(f"In a model, '{name}' must be true or false.")
    beta = read_number(fields["beta"], "'beta'", 0.0, LARGEST)
    radius = read_table(fields["radius"], (size,), "radius", least=1e-12)
    inputs = Inputs(
        schema,
        picture,
        basis,
        fields["root"],
        fields["normalise"],
        read_table(fields["centre"], (size,), "centre"),
        radius,
        read_table(fields["filling"], (len(features),), "filling"),
    )
    lines = len(read_list(fields["weights"], "weights"))
    if not lines or lines % len(classes):
        raise ModelError("In a model, 'weights' must have the same number of maps for every class.")
    shape = (len(classes), lines // len(classes), size)
    weights = read_table(fields["weights"], (lines, size), "weights").reshape(shape)
    errors = read_table(fields["weight_errors"], (lines, size), "weight_errors", least=0.0)
    taught_by = fields["taught_by"]
    return LocallyLinearModel(
        inputs,
        weights,
        read_table(fields["offsets"], shape[:2], "offsets"),
        errors.reshape(shape),
        beta,
        receipt,
        image_shape,
        None if taught_by is None else read_text(taught_by, "'taught_by'"),
    )


def _read_shape(data: object, features: int) -> tuple[int, ...] | None:
    if data is None:
        return None
    shape = read_list(data, "image_shape")
    if len(shape) not in (2, 3) or not all(type(one) is int and one > 0 for one in shape):
        raise ModelError("In a model, image_shape must be two or three positive whole numbers.")
    if math.prod(shape) != features:
        raise ModelError("In a model, image_shape has another number of pixels than features.")
    return tuple(shape)


def _picture(shape: tuple[int, ...] | None) -> Shape | None:
    if shape is None:
        return None
    return shape[0], shape[1], shape[2] if len(shape) == 3 else 1


def _read_basis(data: object, picture: Shape | None) -> SmoothBasis | None:
    if data is None:
        return None
    fields = read_fields(data, ("cut", "width", "window"), "'basis'")
    cut, width = fields["cut"], read_number(fields["width"], "the basis' width", 1e-9, 1e9)
    whole = type(cut) is int and cut > 0 and isinstance(fields["window"], bool)
    if picture is None or not whole or cut > max(picture[:2]):
        raise ModelError("In a model, 'basis' does not fit the pictures: use an undamaged copy.")
    try:
        return SmoothBasis(picture, cut, width, fields["window"])
    except SettingError as error:
        raise ModelError(f"In a model, 'basis' cannot be made. {error}") from error
