"""How far the maps of a class may be wrong, by privacy noise and by which rows there were.

Read off the gradients that training released anyway, so it costs nothing: how much they differ from
step to step, beyond the noise, is how much rows differ. Formulas: docs/proofs/verdicts.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.stats import chi2

from voile.arrays import Array, Floats
from voile.models.descent import Adam
from voile.models.fit import frozen
from voile.models.locally_linear.inputs import Inputs
from voile.models.significance import combine, same

_FLEXIBLE = 1.3
"""Allowance in the sampling variance for what maps that share the work add to that of a single
linear one: found by simulation (docs/proofs/verdicts.md)."""

_STEPS_EACH = 4
"""With at least so many steps per coordinate, how coordinates vary together is estimated, too."""

_LEAST_EIGENVALUE = 0.02


@dataclass(frozen=True, eq=False, kw_only=True)
class MapEvidence:
    """What the maps of each class have in common beyond the other classes', and its errors.

    Of coordinates of points as a model holds it, of features as explanations show it.

    Attributes
    ----------
    estimates : ndarray of shape (classes, features)
        Mean weight over the maps of a class, less the mean over classes.
    noise_variances, sampling_variances : ndarray of shape (classes, features)
        By the privacy noise, and by which rows were among the table.
    shared : ndarray of shape (classes, columns)
        The part of both that all levels of a category have in common.
    """

    estimates: Annotated[Floats, Array("classes", "features", most=math.inf)]
    noise_variances: Annotated[Floats, Array("classes", "features", least=0.0, most=math.inf)]
    sampling_variances: Annotated[Floats, Array("classes", "features", least=0.0, most=math.inf)]
    shared: Annotated[Floats, Array("classes", "columns", least=0.0, most=math.inf)]

    @property
    def classes(self) -> int:
        """Of the model."""
        return int(np.shape(self.estimates)[0])

    @property
    def features(self) -> int:
        """Coordinates that people know."""
        return int(np.shape(self.estimates)[1])

    @property
    def columns(self) -> int:
        """Of the table."""
        return int(np.shape(self.shared)[1])

    @property
    def variances(self) -> Floats:
        """By noise and sampling together, shape (classes, features)."""
        return np.asarray(self.noise_variances + self.sampling_variances)

    @property
    def class_errors(self) -> Floats:
        """Standard deviation of each class's own weights, shape (classes, features).

        Errors of classes are taken as independent; without the mean of all, as `variances` are,
        they are smaller.
        """
        return np.sqrt(self.variances * self.classes / max(self.classes - 1, 1))

    def p_value(self, column: int, places: Sequence[int]) -> float:
        """How probable such weights are for a column that tells no class from the others.

        Parameters
        ----------
        column : int
        places : sequence of int
            Its features: one for a number, one per level of a category.
        """
        # With two classes, what one has the other lacks.
        outputs = [1] if self.classes == 2 else range(self.classes)
        return combine([self._p_value(k, column, list(places)) for k in outputs])

    def _p_value(self, k: int, column: int, places: list[int]) -> float:
        found, variances = self.estimates[k, places], self.variances[k, places]
        if len(places) == 1:
            return float(chi2.sf(float(found[0]) ** 2 / max(float(variances[0]), 1e-300), 1))
        # What all levels share belongs to the offset: only their differences count.
        return same(found, variances - self.shared[k, column])


class GradientSpread:
    """How much the gradients of steps differ from each other, class by class.

    Parameters
    ----------
    classes, size : int
        Of a gradient summed over the maps; the constant input is the last coordinate.
    steps : int
        How many there will be.
    """

    def __init__(self, classes: int, size: int, steps: int) -> None:
        self.whole = size * _STEPS_EACH <= steps
        self._sums = np.zeros((classes, size, size) if self.whole else (classes, size))
        self._last: Floats | None = None
        self._count = 0
        self._skip = steps // 10

    def take(self, gradients: Floats) -> None:
        """Take in the mean gradient of a step, shape (classes, maps, size)."""
        summed = gradients.sum(axis=1)
        now = summed - summed.mean(axis=0)
        if self._last is not None and self._skip <= 0:
            moved = (now - self._last) / math.sqrt(2.0)
            self._sums += moved[:, :, None] * moved[:, None, :] if self.whole else moved**2
            self._count += 1
        self._last = now
        self._skip -= 1

    @property
    def independent(self) -> float:
        """How many independent gradients say as much: neighbouring differences share one."""
        return max(2.0 * self._count / 3.0, 1.0)

    @property
    def covariance(self) -> Floats:
        """Covariance of a step's gradient, shape (classes, size, size), or variances."""
        return np.asarray(self._sums / max(self._count, 1))


def weigh_maps(
    spread: GradientSpread,
    adam: Adam,
    noise: float,
    lot: tuple[float, float],
    inputs: Inputs,
    rows_per_unit: int,
) -> MapEvidence:
    """The evidence of a training that has ended.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise on a coordinate of a step's mean gradient.
    lot : tuple of float
        Part of the rows in a lot, and the released number of rows.
    """
    rate, rows = lot
    classes, maps, size = adam.mean.shape
    others = 1.0 - 1.0 / classes
    per_step = noise**2 * maps * others
    mean = adam.mean.mean(axis=1)
    estimates = (mean - mean.mean(axis=0))[:, :-1]
    covariance, counted = spread.covariance, spread.independent
    # A row's part of a gradient, squared: what lots differ by beyond the noise, in units of rows.
    lots = rows * rate / (1.0 - rate) if rate < 1.0 else 0.0
    curved, worst = _worst(adam, maps)
    noise_parts, sampling_parts = [], []
    for k in range(classes):
        # If all rows are in every step, gradients do not tell how rows differ.
        total = covariance[k] * lots if lots else np.zeros(size)
        values, vectors = _curvatures(total, per_step * lots, counted)
        curvatures = np.minimum(values / others, adam.steepest(maps))
        forced, shaken = adam.responses(curvatures, maps)
        # Where curvature is small, or not known, that which makes the error largest.
        steady = np.where(curvatures > curved, forced**2 * curvatures, worst)
        sampling = _FLEXIBLE * rows_per_unit * others * steady / rows
        drawn = (1.0 - rate) / (rows * rate) * values
        noise_parts.append(_back(vectors, shaken * (per_step + drawn)))
        sampling_parts.append(_back(vectors, sampling))
    return MapEvidence(
        estimates=frozen(estimates),
        noise_variances=frozen(np.stack([_variances(part) for part in noise_parts])),
        sampling_variances=frozen(np.stack([_variances(part) for part in sampling_parts])),
        shared=frozen(_shared(noise_parts, sampling_parts, inputs)),
    )


def _curvatures(total: Floats, noise: float, counted: float) -> tuple[Floats, Floats | None]:
    """Squared part of a row in a gradient: eigenvalues, and their vectors unless they are alone.

    Each coordinate's is taken one standard error lower than it was found, because a smaller one
    makes the errors larger; a correlation counts as far as it stands clear of its error.
    """
    seen = total if total.ndim == 1 else np.diagonal(total)
    error = seen * math.sqrt(2.0 / counted)
    low = np.maximum(seen - noise - error, 0.0)
    if total.ndim == 1:
        return low, None
    middle = np.maximum(np.maximum(seen - noise, error), 1e-300)
    crossed = total - np.diag(seen)
    doubt = 2.0 * np.sqrt(np.outer(seen, seen) / counted)
    known = np.abs(crossed) > doubt
    clear = 1.0 - (doubt / np.where(known, crossed, np.inf)) ** 2
    scales = np.sqrt(middle)
    related = np.where(known, crossed * clear, 0.0) / scales[:, None] / scales
    np.fill_diagonal(related, 1.0)
    values, vectors = np.linalg.eigh(related)
    related = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    sizes = np.sqrt(low / np.diagonal(related))
    values, vectors = np.linalg.eigh(sizes[:, None] * related * sizes)
    return np.maximum(values, 0.0), np.asarray(vectors)


def _worst(adam: Adam, maps: int) -> tuple[float, float]:
    """The curvature at which weights follow most which rows there are, and how much."""
    grid = adam.steepest(maps) * np.geomspace(1e-7, 1.0, 71)
    forced, _ = adam.responses(grid, maps)
    moved = forced**2 * grid
    return float(grid[int(np.argmax(moved))]), float(moved.max())


def _back(vectors: Floats | None, values: Floats) -> Floats:
    """A covariance (without the constant input), or variances if there are no vectors."""
    if vectors is None:
        return values[:-1]
    return np.asarray(((vectors * values) @ vectors.T)[:-1, :-1])


def _variances(part: Floats) -> Floats:
    """Diagonal of a covariance, or variances as they are."""
    return np.maximum(part if part.ndim == 1 else np.diagonal(part), 0.0)


def _shared(noise: list[Floats], sampling: list[Floats], inputs: Inputs) -> Floats:
    """What all levels of a column have in common, shape (classes, columns)."""
    names = [one.column for one in inputs.features.each]
    columns = list(dict.fromkeys(names))
    result = np.zeros((len(noise), len(columns)))
    if inputs.basis is not None or noise[0].ndim == 1:
        return result
    for k, whole in enumerate(a + b for a, b in zip(noise, sampling, strict=True)):
        for c, own in enumerate(columns):
            places = np.flatnonzero([name == own for name in names])
            result[k, c] = _common(whole[np.ix_(places, places)])
    return result


def _common(block: Floats) -> float:
    """The mean covariance of a block's coordinates, so small that variances stay positive."""
    count = len(block)
    if count == 1:
        return 0.0
    mean = float((block.sum() - np.trace(block)) / (count * (count - 1)))
    return min(max(mean, 0.0), 0.9 * float(np.diagonal(block).min()))


def in_features(evidence: MapEvidence, inputs: Inputs) -> MapEvidence:
    """The same of features: coordinates are taken as independent, as their noise is."""
    squares = None if inputs.basis is None else inputs.matrix**2

    def spread(variances: Floats) -> Floats:
        found = variances / inputs.radius**2
        return frozen(found if squares is None else found @ squares)

    # Without a basis, widths of points are those of features, all alike.
    width = float(inputs.radius[0]) if squares is None else 1.0
    return MapEvidence(
        estimates=frozen(inputs.linear_maps(evidence.estimates)),
        noise_variances=spread(evidence.noise_variances),
        sampling_variances=spread(evidence.sampling_variances),
        shared=frozen(evidence.shared / width**2),
    )
