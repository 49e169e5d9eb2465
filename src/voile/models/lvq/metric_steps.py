"""Gradients by prototypes and by the metric together, for DP-SGD with GMLVQ.

With d(z, w) = |omega (z - w)|^2 and D = z - w, the gradient by w is -2 a Lambda D and by omega
2 a omega D D'. Lambda and omega are released values, so a row only has to add a D and a D D': they
are multiplied in afterwards, for nothing. Bound: docs/proofs/lvq.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.exact_sums import (
    WholeQuery,
    exact_product,
    exponent,
    in_units,
    squared_norms,
    whole,
)
from voile.models.lvq.pulls import margin_pulls
from voile.models.lvq.queries import LARGEST_PULL
from voile.models.lvq.space import BITS, ONE, Space, check_prototypes, chunks, keeps
from voile.models.public_numbers import check_lot, check_numbers
from voile.privacy.queries import Block, Preparation
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

_PULL_BITS = 9
_ROWS = 1024
"""Rows summed in doubles at once: 9 + 3 bits of a pull, 2 x 15 of a product, 10 of the rows."""


@sendable
@dataclass(frozen=True, eq=False)
class MetricPulls(WholeQuery):
    """Sum of (a D+ at w+, b D- at w-, a D+ D+' + b D- D-'), each row's cut to norm ``clip``.

    Parameters
    ----------
    layout : Space
    prototypes : ndarray of shape (prototypes, size)
    labels : ndarray of shape (prototypes,)
    slope : float
    clip : float
    omega : ndarray of shape (size, size)
        Decides which prototypes are nearest and how strongly they are pulled; not the bound.
    lot : tuple of int, optional
        As in `Pulls`.
    """

    layout: Space
    prototypes: Floats
    labels: NDArray[np.int64]
    slope: float
    clip: float
    omega: Floats
    lot: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not (0 < self.clip <= LARGEST_PULL and 0 < self.slope < 1e6):
            raise SettingError("The clip and slope of a step must be positive and not huge.")
        check_prototypes(self.layout, self.prototypes, self.labels)
        check_numbers(self.omega, (None, self.layout.size), "metric of a step")
        check_lot(self.lot)

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    @property
    def size(self) -> int:
        """A vector per prototype and a matrix."""
        return (len(self.labels) + self.layout.size) * self.layout.size

    @property
    def bounded(self) -> bool:
        """Lots go by the place of a row, which others before it change: for plain SGD alone."""
        return self.lot is None

    @property
    def bound(self) -> float:
        """Norm of a row's share."""
        return self.clip

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Exact: pulls are whole numbers of 2^-bits, products of 2^-2BITS."""
        d, count = self.layout.size, len(self.labels)
        bits = min(_PULL_BITS, exponent(grid) - 2 * BITS)
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        prototypes = self.layout.whole(self.prototypes)
        vectors = np.zeros((count, d), dtype=np.int64)
        matrix = np.zeros((d, d), dtype=np.int64)
        if self.lot is not None:
            block = block.where(np.arange(block.rows) % self.lot[1] == self.lot[0])
        for points, _, classes in chunks(block, d, _ROWS, beside=max(count, len(self.omega))):
            seen = classes >= 0
            points, classes = points[seen], classes[seen]
            plus, minus, a, b = self._coefficients(points, classes, prototypes, 2.0**bits)
            for winners, pull in ((plus, a), (minus, b)):
                gap = points - prototypes[winners]
                own = np.zeros((len(points), count))
                own[np.arange(len(points)), winners] = pull
                vectors += whole(own.T @ gap)
                matrix += whole((gap * pull[:, None]).T @ gap)
        return np.concatenate(
            [
                in_units(vectors.ravel(), bits + BITS, grid),
                in_units(matrix.ravel(), bits + 2 * BITS, grid),
            ]
        )

    def _coefficients(
        self, points: Floats, classes: NDArray[np.int64], prototypes: Floats, unit: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """Winners, and whole pulls so short that the norm is kept."""
        with np.errstate(over="ignore", invalid="ignore"):  # of huge metrics
            moved = exact_product(points / ONE, self.omega)
            own = exact_product(prototypes / ONE, self.omega)
            far = np.empty((len(points), len(prototypes)))
            for number, prototype in enumerate(own):
                gap = moved - prototype
                far[:, number] = squared_norms(gap)
            plus, minus, a, b, used = margin_pulls(far, self.labels, classes, self.slope)
        # By the triangle inequality, so that cutting either pull can only shorten the share.
        lengths = np.abs(a) * _reach(points, prototypes[plus])
        lengths += np.abs(b) * _reach(points, prototypes[minus])
        scale = np.minimum(1.0, self.clip * (1.0 - 1e-12) / np.maximum(lengths, 1e-300))
        scale = np.where(used, scale, 0.0) * unit
        limit = LARGEST_PULL * unit
        a = np.trunc(np.clip(a * scale, -limit, limit))
        b = np.trunc(np.clip(b * scale, -limit, limit))
        return plus, minus, a, b

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Gradients by prototypes (prototypes, size) and by omega (size, size)."""
        d, count = self.layout.size, len(self.labels)
        vectors = values[: count * d].reshape(count, d)
        matrix = values[count * d :].reshape(d, d)
        matrix = (matrix + matrix.T) / 2
        by_omega = self.omega @ matrix
        return -(vectors @ self.omega.T) @ self.omega, np.asarray(by_omega)


def _reach(points: Floats, prototypes: Floats) -> Floats:
    """Norm of (D, D D') per row: sqrt(|D|^2 + |D|^4), with exact squares."""
    gap = points - prototypes
    square = np.einsum("ij,ij->i", gap, gap) / float(ONE) ** 2
    return np.asarray(np.sqrt(square + square**2))
