"""Locally linear models made by hand, for tests of explanations and pages: nothing is trained."""

from dataclasses import replace

import numpy as np
from explained_models import make_receipt

from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.pictures import SmoothBasis
from voile.schema import Category, Number, Schema


def linear_map_model(
    columns,
    classes,
    *,
    maps=3,
    picture=None,
    basis=None,
    root=False,
    normalise=False,
    centre=0.3,
    radius=1.0,
    filling=0.0,
    beta=0.4,
    error=0.1,
    seed=0,
    **more,
):
    """A model with maps by chance, and a centre of length ``centre`` (or the centre itself)."""
    rng = np.random.default_rng(seed)
    schema = Schema(columns, target=Category(classes))
    plain = Inputs.uncentred(schema, picture, basis, root=root, normalise=normalise)
    if np.ndim(centre) == 0:
        direction = rng.normal(size=plain.size)
        centre = centre * direction / np.linalg.norm(direction)
    inputs = replace(
        plain,
        centre=np.asarray(centre, dtype=float),
        radius=np.full(plain.size, radius) * rng.uniform(0.8, 1.2, plain.size),
        filling=np.full(len(plain.features), filling),
    )
    shape = (len(classes), maps, plain.size)
    # All classes start from the same chance, as in training.
    weights = rng.normal(size=shape) + 2.0 * rng.normal(size=shape[1:])
    settings = {
        "weights": 3.0 * weights,
        "offsets": rng.normal(size=shape[:2]),
        "weight_errors": error * rng.uniform(0.5, 1.5, shape),
        "beta": beta,
        "receipt": replace(
            make_receipt(labels=("centre", "noise", "steps")), what="a locally linear model"
        ),
        **more,
    }
    return LocallyLinearModel(inputs=inputs, **settings)


def ward_model(**more):
    """Numbers and categories, three classes."""
    columns = {
        "age": Number(18, 95),
        "ward": Category(["A", "B", "C"]),
        "systolic blood pressure": Number(80, 220),
        "smoker": Category([False, True]),
    }
    classes = ["home", "rehabilitation", "nursing home"]
    return linear_map_model(columns, classes, **{"filling": 0.25, **more})


WARD_ROWS = {
    "age": [34, 81, 66, None],
    "ward": ["A", "C", "Z", None],
    "systolic blood pressure": [118, 171, 300, 140],
    "smoker": [False, True, True, None],
}


def picture_linear_maps(shape=(6, 5), *, smooth=True, classes=3, image_shape=None, **more):
    """Pictures, in a smooth basis or pixel by pixel."""
    height, width, *rest = shape
    picture = (height, width, *(rest or [1]))
    columns = {f"pixel {i + 1}": Number(0, 255) for i in range(int(np.prod(shape)))}
    settings = {
        "picture": picture,
        "basis": SmoothBasis(picture, 4, 3.0) if smooth else None,
        "normalise": True,
        "image_shape": image_shape or shape,
        **more,
    }
    return linear_map_model(columns, list(range(classes)), **settings)


def picture_rows(model, rows=4, seed=7):
    """Pictures of chance, in the model's own shape; the last is black."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 256, (rows, *model.image_shape)).astype(np.uint8)
    found[-1:] = 0
    return found


def wide_linear_maps(features=60, classes=5, **more):
    """Many numbers."""
    columns = {f"laboratory value {i + 1}": Number(0, 10 * (i + 1)) for i in range(features)}
    names = [f"diagnosis {chr(65 + k)}" for k in range(classes)]
    return linear_map_model(columns, names, **more)


def wide_rows(features=60, rows=3, seed=4):
    rng = np.random.default_rng(seed)
    return {
        f"laboratory value {i + 1}": rng.uniform(0, 10 * (i + 1), rows).round(2)
        for i in range(features)
    }
