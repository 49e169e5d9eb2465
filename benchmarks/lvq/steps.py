"""Steps of private prototypes on plain arrays: the paper's noise, and per-example gradients.

Not a script: see `quality.py`. Nothing here is private: noise comes from numpy, and the paper's
formula for its scale is not valid in general (the accountant tells). It is there to be compared
with.
Brinkrolf, Goepfert, Hammer, "Differential privacy for learning vector quantization", 2019.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import voile
from benchmarks.lvq.data import scaled

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

CLIP, RATE, EPOCHS = 0.5, 0.01, 50
"""The paper's settings."""

STEPS = round(EPOCHS / RATE)
STEPS_PART = 0.8
"""The paper's part of epsilon for the steps."""

LEARNING_RATE, AVERAGED = 0.1, 0.1
"""As in mechanism="sgd"."""


def paper_noise(epsilon: float, delta: float) -> float:
    """The paper's noise multiplier: 2 q sqrt(T) log(1 / delta) / epsilon."""
    return 2.0 * RATE * math.sqrt(STEPS) * math.log(1.0 / delta) / epsilon


@dataclass(frozen=True, eq=False)
class Pull:
    """Nearest right and wrong prototype of each row, and how they are pulled, shape (rows,)."""

    plus: Whole
    minus: Whole
    a: Floats
    b: Floats


def pull(far: Floats, classes: Whole, slope: float) -> Pull:
    """Gradients of softplus(slope mu): a (w - z) at the right prototype, b (w - z) at the wrong.

    Parameters
    ----------
    far : ndarray of shape (rows, classes)
        Squared distances to one prototype per class.
    classes : ndarray of shape (rows,)
    slope : float
    """
    rows = np.arange(len(far))
    near = far[rows, classes]
    wrong = far.copy()
    wrong[rows, classes] = np.inf
    minus = wrong.argmin(axis=1)
    other = wrong[rows, minus]
    total = np.maximum(near + other, 1e-9)
    push = slope / (1.0 + np.exp(-slope * (near - other) / total)) * 4.0 / total**2
    return Pull(classes, minus, push * other, -push * near)


def distances(points: Floats, prototypes: Floats) -> Floats:
    """Squared, shape (rows, prototypes)."""
    squares = np.einsum("ij,ij->i", points, points)[:, None]
    far = squares - 2.0 * points @ prototypes.T + (prototypes**2).sum(axis=1)
    return np.asarray(np.maximum(far, 0.0))


def closed_form(points: Floats, classes: Whole, prototypes: Floats, slope: float) -> Floats:
    """Sum of clipped gradients by two matrix products, norms known beforehand."""
    far = distances(points, prototypes)
    rows = np.arange(len(far))
    found = pull(far, classes, slope)
    norms = np.sqrt(found.a**2 * far[rows, found.plus] + found.b**2 * far[rows, found.minus])
    scale = np.minimum(1.0, CLIP / np.maximum(norms, 1e-300))
    own = np.zeros_like(far)
    own[rows, found.minus] = found.b * scale
    own[rows, found.plus] = found.a * scale
    return own.sum(axis=0)[:, None] * prototypes - own.T @ points


def row_by_row(points: Floats, classes: Whole, prototypes: Floats, slope: float) -> Floats:
    """The same sum, one row at a time: its gradient is made, measured, cut and added."""
    result = np.zeros_like(prototypes)
    for point, own in zip(points, classes, strict=True):
        gaps = prototypes - point
        far = (gaps**2).sum(axis=1)
        found = pull(far[None], np.array([own]), slope)
        gradient = np.zeros_like(prototypes)
        gradient[own] = found.a[0] * gaps[own]
        gradient[found.minus[0]] = found.b[0] * gaps[found.minus[0]]
        result += gradient * min(1.0, CLIP / max(float(np.linalg.norm(gradient)), 1e-300))
    return result


def row_tensors(points: Floats, classes: Whole, prototypes: Floats, slope: float) -> Floats:
    """The same sum with all rows' gradients at once, shape (rows, prototypes, features)."""
    gaps = prototypes[None] - points[:, None]
    found = pull(np.einsum("ijk,ijk->ij", gaps, gaps), classes, slope)
    weights = np.zeros(gaps.shape[:2])
    rows = np.arange(len(points))
    weights[rows, found.minus] = found.b
    weights[rows, found.plus] = found.a
    gradients = gaps * weights[:, :, None]
    norms = np.sqrt(np.einsum("ijk,ijk->i", gradients, gradients))
    scale = np.minimum(1.0, CLIP / np.maximum(norms, 1e-300))
    return np.asarray(np.tensordot(scale, gradients, axes=1))


def metric_form(
    points: Floats, classes: Whole, prototypes: Floats, omega: Floats
) -> tuple[Floats, Floats]:
    """Sums of clipped (a D+, b D-) by prototype and of a D+ D+' + b D- D-', with D = z - w.

    Gradients by prototypes and omega follow, as in mechanism="sgd".
    """
    far = distances(points @ omega.T, prototypes @ omega.T)
    found = pull(far, classes, 1.0)
    right, wrong = points - prototypes[found.plus], points - prototypes[found.minus]
    lengths = np.abs(found.a) * _reach(right) + np.abs(found.b) * _reach(wrong)
    scale = np.minimum(1.0, CLIP / np.maximum(lengths, 1e-300))
    vectors, matrix = np.zeros_like(prototypes), np.zeros_like(omega)
    for winners, weights, gaps in (
        (found.plus, found.a * scale, right),
        (found.minus, found.b * scale, wrong),
    ):
        pulled = gaps * weights[:, None]
        np.add.at(vectors, winners, pulled)
        matrix += pulled.T @ gaps
    return vectors, matrix


def _reach(gaps: Floats) -> Floats:
    squares = np.einsum("ij,ij->i", gaps, gaps)
    return np.asarray(np.sqrt(squares + squares**2))


def in_ball(points: Floats) -> Floats:
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0))


class PaperNoise:
    """DP-SGD with the paper's noise: no sound guarantee.

    The start is better than the paper's: Voile's private class means at the whole epsilon, though
    the steps get four fifths of it too. The steps are those of mechanism="sgd", but for the noise.

    Parameters
    ----------
    kind : {"glvq", "gmlvq"}
    epsilon, delta : float
        What the paper's formula claims.
    schema : Schema
        Bounds of the features and the classes.
    noise : float, optional
        Another noise multiplier.
    seed : int
    """

    def __init__(
        self,
        kind: Literal["glvq", "gmlvq"],
        epsilon: float,
        delta: float,
        schema: voile.Schema,
        noise: float | None = None,
        seed: int = 0,
    ) -> None:
        self.kind, self.epsilon, self.delta, self.schema = kind, epsilon, delta, schema
        self.noise = paper_noise(STEPS_PART * epsilon, delta) if noise is None else noise
        self.seed = seed

    def fit(self, frame: pd.DataFrame, target: NDArray[Any]) -> "PaperNoise":
        start = voile.GLVQClassifier(
            epsilon=self.epsilon, delta=self.delta, schema=self.schema, typical=1.0
        ).fit(frame, target)
        model = start.model_
        self.classes, self.centre, self.radius = start.classes_, model.centre, 1 / model.omega[0, 0]
        codes = np.searchsorted(self.classes, target)
        points, now = self._place(frame), (model.prototypes - self.centre) / self.radius
        rng = np.random.default_rng(self.seed)
        self.prototypes, self.omega = self._descend(points, codes, now, rng)
        return self

    def _place(self, frame: pd.DataFrame) -> Floats:
        return in_ball((scaled(self.schema, frame) - self.centre) / self.radius)

    def _descend(
        self, points: Floats, codes: Whole, now: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        classes, size = now.shape
        lot, deviation = len(points) * RATE, self.noise * CLIP
        omega, kept = np.eye(size), round((1.0 - AVERAGED) * STEPS)
        sums, omegas = np.zeros_like(now), np.zeros_like(omega)
        for number in range(STEPS):
            drawn = rng.random(len(points)) < RATE
            rate = LEARNING_RATE * (1.0 - number / STEPS) / lot * classes
            some, own = points[drawn], codes[drawn]
            if self.kind == "gmlvq":
                vectors, matrix = metric_form(some, own, now, omega)
                vectors += rng.normal(0.0, deviation, vectors.shape)
                matrix += rng.normal(0.0, deviation, matrix.shape)
                now = in_ball(now + rate * (vectors @ omega.T) @ omega)
                omega = omega - rate / classes * omega @ (matrix + matrix.T) / 2
                omega *= math.sqrt(size) / max(float(np.linalg.norm(omega)), 1e-12)
            else:
                gradient = closed_form(some, own, now, 1.0)
                gradient += rng.normal(0.0, deviation, gradient.shape)
                now = in_ball(now - rate * gradient)
            if number >= kept:
                sums += now
                omegas += omega
        return sums / (STEPS - kept), omegas / (STEPS - kept)

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        # Rows to be classified are not cut to the ball, as in the library.
        points = (scaled(self.schema, frame) - self.centre) / self.radius
        prototypes = self.prototypes
        if self.kind == "gmlvq":
            points, prototypes = points @ self.omega.T, prototypes @ self.omega.T
        return np.asarray(self.classes[distances(points, prototypes).argmin(axis=1)])
