"""How far class means, prototypes and a metric may be wrong: by noise and by which rows there were.

All of it follows from released values, so it costs nothing. Where they do not say how far rows
spread, the widest spread that their bounds allow is taken. Formulas: docs/proofs/verdicts.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats
from voile.models.features import Features
from voile.models.fit import frozen
from voile.models.significance import combine, same
from voile.stored import ZeroToOne

if TYPE_CHECKING:
    from voile.models.lvq.means import ClassMeans
    from voile.models.lvq.scatter import Scatter
    from voile.models.lvq.settings import Start

_TRAINED, _OWN_SCALE = 3.7, 7.0
"""Sampling deviation of a prototype that was moved by steps, times the root of its rows: in radii
of the rows; with a metric and for pixels in deviations of the feature. Upper ends of what was
found by simulation (docs/proofs/verdicts.md); less, the nearer prototypes are kept to the class
means."""

_USUAL = 0.2
"""The setting ``typical`` for which they hold."""


_CORRECTED = 0.5
"""Steps move both prototypes at a border together, and correct noise where answers depend on it: so
much of the error of a difference of two distances is gone if they are free to. Simulated, too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassEvidence:
    """Class means that nothing has drawn to each other, and errors of all that a model shows.

    In the coordinates of `Features`; a level's mean is the share of rows that have it. Means are
    those of the rows drawn into the ball (docs/proofs/lvq.md).

    Attributes
    ----------
    estimates : ndarray of shape (classes, features)
        Class means.
    noise_variances, sampling_variances : ndarray of shape (classes, features)
        By the privacy noise, and by which rows were among the table.
    prototype_variances : ndarray of shape (prototypes, features)
        Of the prototypes by which rows were among the table, an upper estimate.
    relevance_errors : ndarray of shape (features,)
        Standard deviation of each feature's relevance by both; infinite if that is not known, 0 if
        no metric was learned.
    column_errors : ndarray of shape (columns,)
        The same of each column's.
    gap_share : float
        The error of a difference of distances to two prototypes, as a part of what independent
        errors would make it.
    bounded : bool
        Whether the spread of numbers was not released, so that the widest possible is taken.
    """

    estimates: Annotated[Floats, Array("classes", "features", most=math.inf)]
    noise_variances: Annotated[Floats, Array("classes", "features", least=0.0, most=math.inf)]
    sampling_variances: Annotated[Floats, Array("classes", "features", least=0.0, most=math.inf)]
    prototype_variances: Annotated[
        Floats, Array("prototypes", "features", least=0.0, most=math.inf)
    ]
    relevance_errors: Annotated[Floats, Array("features", least=0.0, null=math.inf)]
    column_errors: Annotated[Floats, Array("columns", least=0.0, null=math.inf)]
    gap_share: ZeroToOne
    bounded: bool

    @property
    def classes(self) -> int:
        """Of the model."""
        return int(np.shape(self.estimates)[0])

    @property
    def features(self) -> int:
        """Coordinates."""
        return int(np.shape(self.estimates)[1])

    @property
    def prototypes(self) -> int:
        """Of the model."""
        return int(np.shape(self.prototype_variances)[0])

    @property
    def columns(self) -> int:
        """Of the table."""
        return len(self.column_errors)

    @property
    def variances(self) -> Floats:
        """Of the class means, by noise and sampling together, shape (classes, features)."""
        return np.asarray(self.noise_variances + self.sampling_variances)

    def p_value(self, places: Sequence[int]) -> float:
        """How probable such means are for a column that is alike in all classes.

        Parameters
        ----------
        places : sequence of int
            Its features: one for a number, one per level of a category.
        """
        return combine([same(self.estimates[:, j], self.variances[:, j]) for j in places])


def weigh_classes(
    seen: ClassMeans,
    start: Start,
    labels: NDArray[np.int64],
    per_unit: float,
    *,
    moved: float,
    corrected: bool = True,
    pictures: bool = False,
    metric: Scatter | None = None,
    learned: bool = False,
) -> ClassEvidence:
    """The evidence of class means and of what was made of them.

    Parameters
    ----------
    labels : ndarray of shape (prototypes,)
    per_unit : float
        Largest total weight of one privacy unit.
    moved : float
        How freely prototypes were moved from the class means: 0 (not at all) to 1.
    corrected : bool
        Whether steps correct each other; independent groups of rows do not.
    pictures : bool
        Whether features are pixels.
    metric : Scatter, optional
        What the metric was made of, if it was made of the scatter within classes.
    learned : bool
        Whether a metric was learned, of whatever.
    """
    space = start.space
    features = Features(space.schema)
    counts = seen.counts[:, None]
    middle = seen.sums / counts
    noise = (seen.sum_error**2 + (seen.count_error * middle) ** 2) / counts**2
    spread = _spread(seen, start, middle, features)
    sampling = per_unit * spread / counts
    each = np.bincount(labels, minlength=len(counts)).astype(np.float64)
    rows = (seen.counts / np.maximum(each, 1.0))[labels][:, None]
    own = per_unit * spread[labels] / rows
    # Points of a class lie in the ball: their variances add up to no more than that leaves.
    room = np.maximum(1.0 - (middle**2).sum(axis=1, keepdims=True), 0.0)
    whole = np.maximum(spread.sum(axis=1, keepdims=True), 1e-300)
    own_scale = _OWN_SCALE**2 * (spread * np.minimum(room / whole, 1.0))[labels]
    reach = own_scale if learned or pictures else _TRAINED**2
    steps = per_unit * (moved / (1.0 - _USUAL)) ** 2 * reach / rows
    by_feature, by_column = _relevance_errors(metric, seen, features, per_unit, learned=learned)
    square = space.radius**2
    return ClassEvidence(
        estimates=frozen(space.centre + middle * space.radius),
        noise_variances=frozen(noise * square),
        sampling_variances=frozen(sampling * square),
        prototype_variances=frozen((own + steps) * square),
        relevance_errors=frozen(by_feature),
        column_errors=frozen(by_column),
        gap_share=1.0 - _CORRECTED * moved if corrected else 1.0,
        bounded=seen.products is None,
    )


def _spread(seen: ClassMeans, start: Start, middle: Floats, features: Features) -> Floats:
    """Variance of points within their classes, shape (classes, features)."""
    space = start.space
    centre, radius = space.centre, space.radius
    level = np.array([one.level >= 0 for one in features.each])
    # Of numbers within bounds, whose mean is known: Bhatia and Davis (2000).
    low = np.maximum((np.where(level, 0.0, -1.0) - centre) / radius, -1.0)
    high = np.minimum((1.0 - centre) / radius, 1.0)
    inside = np.clip(middle, low, high)
    widest = (high - inside) * (inside - low)
    if seen.products is not None:
        # Taken to be the same in all classes; one standard error of its noise more than was found.
        total = np.diagonal(seen.products) - (seen.sums**2 / seen.counts[:, None]).sum(axis=0)
        within = np.maximum(total, 0.0) / start.rows + 2.0 * seen.sum_error / start.rows
        widest = np.where(level, widest, np.minimum(widest, within))
    return np.asarray(np.where(level, _share_spread(middle, centre, radius), widest))


def _share_spread(middle: Floats, centre: Floats, radius: float) -> Floats:
    """Mean square of a level's coordinate around the centre: that of its share, at most."""
    share = np.clip(centre + middle * radius, 0.0, 1.0)
    return np.asarray((share * (1.0 - share) + (share - centre) ** 2) / radius**2)


def _relevance_errors(
    metric: Scatter | None,
    seen: ClassMeans,
    features: Features,
    per_unit: float,
    *,
    learned: bool,
) -> tuple[Floats, Floats]:
    """Standard deviations of relevances, of features and of columns.

    The metric is the inverse M of the scatter S (and a ridge). A part r of its trace moves with S
    by ``-tr(B dS)``, B = M (P - r) M / tr M, with P the projection onto the part.
    """
    names = [one.column for one in features.each]
    columns = list(dict.fromkeys(names))
    if metric is None:
        unknown = math.inf if learned else 0.0
        return np.full(len(names), unknown), np.full(len(columns), unknown)
    inverse, rows = metric.inverse, float(seen.counts.sum())
    scatter = (metric.vectors * metric.values) @ metric.vectors.T
    trace = max(float(np.trace(inverse)), 1e-300)
    noise, sampling = inverse @ inverse, inverse @ scatter @ inverse
    inside = np.array([[float(name == own) for own in columns] for name in names])

    def errors(sets: Floats) -> Floats:
        parts = np.diagonal(inverse) @ sets / trace
        found = 4.0 * (seen.sum_error / rows) ** 2 * _squares(noise, sets, parts)
        found = found + 2.0 * per_unit / rows * _squares(sampling, sets, parts)
        return np.asarray(np.sqrt(np.maximum(found, 0.0)) / trace)

    by_column = errors(inside)
    return (by_column if inside.shape[0] == inside.shape[1] else errors(np.eye(len(names)))), (
        by_column
    )


def _squares(matrix: Floats, sets: Floats, parts: Floats) -> Floats:
    """Squared norms of ``L' (P - r) L`` for each set, of which ``matrix`` is ``L' L``'s like."""
    own = np.einsum("ic,ij,jc->c", sets, matrix**2, sets, optimize=True)
    crossed = np.einsum("ij,ij->i", matrix, matrix) @ sets
    return np.asarray(own - 2.0 * parts * crossed + parts**2 * float((matrix**2).sum()))
