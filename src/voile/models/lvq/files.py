"""Prototype models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile lvq", "voile": "<version that wrote it>",
     "rule": "glvq", "mechanism": "gaussian", "classes": ["no", "yes"], "image_shape": null,
     "features": ["age", "ward = B"],
     "prototypes": [[...], ...], "prototype_errors": ..., "labels": [0, 1],
     "means": ..., "counts": [120.4, null], "omega": ..., "centre": [...],
     "schema": ..., "receipt": ..., "settings": ...}

Coordinates are those of `Features`. Floats come back to the bit; a count that was not estimated is
``null``. ``settings`` is there only if those of the training are known
(`voile.models.training_settings`). Whatever the reader does not know, it refuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from voile.errors import ModelError
from voile.models.features import Features
from voile.models.fields import LARGEST, MODEL, is_same, read_list, read_table
from voile.models.json_files import write_json
from voile.models.lvq.model import Kind, Mechanism, PrototypeModel
from voile.models.saved_parts import read_head, read_receipt, read_schema
from voile.models.training_settings import Settings, add_settings
from voile.schema import Category
from voile.version import __version__

FORMAT = 1
KIND = "voile lvq"

_TABLES = ("prototypes", "prototype_errors", "means", "omega")
_FIELDS = (
    *("format", "kind", "voile", "rule", "mechanism", "classes", "image_shape", "features"),
    *(*_TABLES, "labels", "counts", "centre", "schema", "receipt"),
)


def to_dict(model: PrototypeModel) -> dict[str, Any]:
    """Write a model as plain dictionaries, lists, text and numbers."""
    data = {
        "format": FORMAT,
        "kind": KIND,
        "voile": __version__,
        "rule": model.kind,
        "mechanism": model.mechanism,
        "classes": list(model.classes),
        "image_shape": None if model.image_shape is None else list(model.image_shape),
        "features": list(model.features.names),
        **{name: getattr(model, name).tolist() for name in _TABLES},
        "labels": model.labels.tolist(),
        "counts": [None if math.isnan(one) else one for one in model.counts.tolist()],
        "centre": model.centre.tolist(),
        "schema": model.schema.to_dict(),
        "receipt": model.receipt.to_dict(),
    }
    from_dict(data)  # better no file than one that cannot be read
    return data


def write(model: PrototypeModel, path: str | Path, settings: Settings | None = None) -> Path:
    """Write a model, and the settings of its training, to a JSON file, wholly or not at all."""
    return write_json(add_settings(to_dict(model), settings), path)


def from_dict(data: Any) -> PrototypeModel:
    """Read a model back.

    Raises
    ------
    ModelError
        If it is not, or no longer, such a model.
    """
    fields = read_head(data, KIND, FORMAT, _FIELDS)
    rule: Any = MODEL.choice(fields["rule"], get_args(Kind), "'rule'")
    mechanism: Any = MODEL.choice(fields["mechanism"], get_args(Mechanism), "'mechanism'")
    schema, receipt = read_schema(fields["schema"]), read_receipt(fields["receipt"])
    target = schema.target
    if not isinstance(target, Category) or len(target.levels or ()) < 2:
        raise ModelError("In a model of prototypes, the target must have two classes or more.")
    classes = tuple(target.levels or ())
    if not is_same(read_list(fields["classes"], "'classes'"), classes):
        raise ModelError("In a model, the classes are not those of the schema: use another copy.")
    features = Features(schema)
    if not is_same(read_list(fields["features"], "'features'"), features.names):
        raise ModelError("In a model, the features are not those of the schema: use another copy.")
    labels = read_list(fields["labels"], "labels")
    whole = all(type(one) is int for one in labels)
    if not labels or not whole or not all(0 <= one < len(classes) for one in labels):
        raise ModelError("In a model, the labels must be numbers of classes.")
    d, p, m = len(features), len(labels), len(classes)
    directions = max(len(read_list(fields["omega"], "omega")), 1)
    shapes = {"prototypes": p, "prototype_errors": p, "means": m, "omega": directions}
    least = {"prototype_errors": 0.0}
    tables = {
        name: read_table(fields[name], (rows, d), name, least=least.get(name, -LARGEST))
        for name, rows in shapes.items()
    }
    return PrototypeModel(
        rule,
        mechanism,
        schema,
        tables["prototypes"],
        tables["prototype_errors"],
        frozen_labels(labels),
        tables["means"],
        read_table(fields["counts"], (m,), "counts", least=0.0, null=math.nan),
        tables["omega"],
        read_table(fields["centre"], (d,), "centre"),
        receipt,
        _read_shape(fields["image_shape"], d),
    )


def _read_shape(data: object, features: int) -> tuple[int, int] | None:
    if data is None:
        return None
    shape = read_list(data, "image_shape")
    if len(shape) != 2 or not all(type(one) is int and one > 0 for one in shape):
        raise ModelError("In a model, image_shape must be two positive whole numbers.")
    if shape[0] * shape[1] != features:
        raise ModelError("In a model, image_shape has another number of pixels than features.")
    return shape[0], shape[1]


def frozen_labels(labels: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Class numbers that nobody can change."""
    result = np.array(labels, dtype=np.int64)
    result.setflags(write=False)
    return result
