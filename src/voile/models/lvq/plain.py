"""The end of a training without noise (epsilon=inf): L-BFGS down to the least cost.

The cost is that of the private steps, so that the price of privacy can be seen. Rows stay in the
vault all the same; the receipt says "no guarantee". (Plain SGD: mechanism="sgd", `sgd.py`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from voile.errors import SettingError
from voile.models.exact_sums import WholeQuery
from voile.models.lvq.pulls import distances, margin_pulls
from voile.models.lvq.queries import LARGEST_PULL, Pulls
from voile.models.lvq.space import Space, check_prototypes, chunks, keeps
from voile.models.lvq.train import Trained, slope_for
from voile.privacy.events import Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Block, Preparation
from voile.privacy.vault import PrivateTable
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]

_COST_ACCESS, _GRADIENT_ACCESS = "costs", "gradients"
_ITERATIONS, _LOOKS = 100, 300


@sendable
@dataclass(frozen=True, eq=False)
class MarginCosts(WholeQuery):
    """Sum of softplus(slope x relative distance) / slope; at most 2 for a row."""

    layout: Space
    prototypes: Floats
    labels: NDArray[np.int64]
    slope: float

    size = 1
    bound = 2.0
    signed = False

    def __post_init__(self) -> None:
        check_prototypes(self.layout, self.prototypes, self.labels)
        # Smaller ones would divide by nothing.
        if not 1e-100 < self.slope < 1e6:
            raise SettingError("The slope of a cost must be positive and not huge.")

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep the points of this space."""
        return keeps(prepared, self.layout)

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Each row's cost cut to whole units of ``grid``, added in integers."""
        result = np.zeros(1, dtype=np.int64)
        whole = self.layout.whole(self.prototypes)
        for points, squares, classes in chunks(block, self.layout.size, beside=len(whole)):
            far = distances(points, squares, whole)
            rows = np.arange(len(far))
            plus, minus, _, _, used = margin_pulls(far, self.labels, classes, self.slope)
            near, other = far[rows, plus], far[rows, minus]
            relative = (near - other) / np.maximum(near + other, 1e-9)
            cost = np.logaddexp(0.0, self.slope * relative) / self.slope
            cost = np.where(used, np.minimum(cost, 2.0 * (1 - 1e-12)), 0.0)
            result += np.minimum(cost / grid, 2.0**62).astype(np.int64).sum()
        return result


def polish_shape() -> tuple[Step, ...]:
    """Accesses without noise that `polish` may take."""
    return Step(_COST_ACCESS, Unprotected(_LOOKS)), Step(_GRADIENT_ACCESS, Unprotected(_LOOKS))


def polish(table: PrivateTable, grant: Grant, trained: Trained) -> Trained:
    """Go on to the least cost by L-BFGS, from prototypes that were trained without noise."""
    space, first = trained.space, trained.prototypes
    slope = slope_for(space.size, len(trained.labels) / space.class_count)
    cost = MarginCosts(space, first, trained.labels, slope)
    pulls = Pulls(space, first, trained.labels, "glvq", slope, LARGEST_PULL, 1.0 / slope)
    rows = max(float(trained.counts.sum()), 1.0)

    def at(place: Floats) -> tuple[float, Floats]:
        now = np.clip(place.reshape(first.shape), -1.0, 1.0)
        value = gaussian_sum(table, replace(cost, prototypes=now), grant.take(_COST_ACCESS))
        slope_there = gaussian_sum(
            table, replace(pulls, prototypes=now), grant.take(_GRADIENT_ACCESS)
        )
        return float(value.values[0]) / rows, slope_there.values / rows

    limits = {"maxiter": _ITERATIONS, "maxfun": _LOOKS - 50}
    found = minimize(at, first.ravel(), jac=True, method="L-BFGS-B", options=limits)
    return replace(trained, prototypes=np.clip(found.x.reshape(first.shape), -1.0, 1.0))
