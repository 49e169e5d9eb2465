"""Prototype models made by hand, for tests of explanations and pages: nothing is trained."""

from dataclasses import replace

import numpy as np
from explained_models import make_receipt

from voile.models.features import Features
from voile.models.lvq.model import LVQModel
from voile.schema import Category, Number, Schema


def prototype_model(columns, classes, prototypes, labels, **more):
    """A model; what is not given is plain: no noise, no learned metric, means as prototypes."""
    schema = Schema(columns, target=Category(classes))
    width = len(Features(schema))
    prototypes = np.asarray(prototypes, dtype=float).reshape(-1, width)
    labels = np.asarray(labels, dtype=np.int64)
    means = np.zeros((len(classes), width))
    for number in range(len(classes)):
        own = prototypes[labels == number]
        means[number] = own.mean(axis=0) if len(own) else 0.0
    receipt = replace(make_receipt(labels=("means", "metric", "steps")), what="a prototype model")
    settings = {
        "kind": "gmlvq",
        "mechanism": "gaussian",
        "schema": schema,
        "prototypes": prototypes,
        "prototype_errors": np.zeros_like(prototypes),
        "labels": labels,
        "means": means,
        "counts": np.full(len(classes), 300.0),
        "omega": np.eye(width),
        "centre": np.zeros(width),
        "receipt": receipt,
    }
    return LVQModel(**{**settings, **more})


def tumour_model(error=0.03):
    """Four numbers, two classes, a learned metric, and noise."""
    columns = {
        "radius": Number(6, 29),
        "texture": Number(9, 40),
        "smoothness": Number(0.05, 0.17),
        "concave points": Number(0, 0.21),
    }
    prototypes = [[-0.45, -0.4, -0.3, -0.75], [0.02, -0.15, -0.1, -0.1]]
    return prototype_model(
        columns,
        ["benign", "malignant"],
        prototypes,
        [0, 1],
        prototype_errors=error * np.array([[1, 1, 1.5, 1], [1.2, 1.2, 2, 1.3]]),
        means=np.add(prototypes, [[0.05, 0.03, -0.02, 0.04], [-0.06, 0.02, 0.03, -0.05]]),
        counts=np.array([357.4, 211.8]),
        omega=np.array(
            [[0.9, 0.1, 0.0, 0.5], [0.1, 0.4, 0.1, 0.0], [0.0, 0.1, 0.2, -0.1], [0.5, 0, -0.1, 0.8]]
        ),
        centre=np.array([-0.3, -0.3, -0.2, -0.5]),
    )


TUMOUR_ROWS = {
    "radius": [17.2, 11.0, None, 60],
    "texture": [21.0, 14.0, 18.0, 39.0],
    "smoothness": [0.10, 0.09, 0.12, 0.05],
    "concave points": [0.08, 0.02, 0.055, 0.21],
}


def mixed_model(seed=0):
    """Numbers and categories, three classes, two prototypes for each but the last."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": Number(18, 95),
        "ward": Category(["A", "B", "C"]),
        "systolic blood pressure": Number(80, 220),
        "smoker": Category([False, True]),
    }
    prototypes, labels = [], [0, 0, 1, 1, 2]
    for _ in labels:
        share = rng.dirichlet([1, 1, 1])
        smoker = rng.uniform()
        prototypes.append(
            [rng.uniform(-0.6, 0.6), *share, rng.uniform(-0.6, 0.6), 1 - smoker, smoker]
        )
    return prototype_model(
        columns,
        ["home", "rehabilitation", "nursing home"],
        prototypes,
        labels,
        prototype_errors=rng.uniform(0.01, 0.06, (5, 7)),
        omega=np.eye(7) + 0.3 * rng.normal(size=(7, 7)),
        counts=np.array([812.0, np.nan, 95.0]),
    )


MIXED_ROWS = {
    "age": [34, 81, 66, None],
    "ward": ["A", "C", "Z", None],
    "systolic blood pressure": [118, 171, 300, 140],
    "smoker": [False, True, True, None],
}


def wide_model(features=60, classes=5, each=2, seed=1):
    """Many features, several classes, several prototypes per class."""
    rng = np.random.default_rng(seed)
    columns = {f"laboratory value {i + 1}": Number(0, 10 * (i + 1)) for i in range(features)}
    centres = rng.uniform(-0.5, 0.5, (classes, features))
    labels = np.repeat(np.arange(classes), each)
    prototypes = centres[labels] + rng.normal(0, 0.12, (len(labels), features))
    weights = 1.5 * np.exp(-np.arange(features) / 9) + 0.1
    mixing = np.eye(features) + 0.08 * rng.normal(size=(features, features))
    return prototype_model(
        columns,
        [f"diagnosis {chr(65 + k)}" for k in range(classes)],
        prototypes,
        labels,
        prototype_errors=rng.uniform(0.02, 0.05, prototypes.shape),
        means=centres,
        omega=mixing * weights,
        counts=rng.uniform(80, 3000, classes),
    )


def picture_model(height=8, width=8, classes=3, seed=2, **more):
    """Blobs as pictures, one prototype per class."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    columns = {f"pixel {i + 1}": Number(0, 255) for i in range(height * width)}
    pictures = []
    for k in range(classes):
        where = height * (k + 1) / (classes + 1)
        blob = np.exp(-((y - where) ** 2 + (x - width / 2) ** 2) / (0.06 * height * width))
        pictures.append((2 * blob - 1).ravel())
    means = np.array(pictures)
    settings = {
        "prototype_errors": np.full(means.shape, 0.08),
        "means": means,
        "kind": "glvq",
        "image_shape": (height, width),
        "omega": np.eye(height * width) / 8,
        **more,
    }
    noised = means + rng.normal(0, 0.08, means.shape)
    return prototype_model(columns, list(range(classes)), noised, np.arange(classes), **settings)
