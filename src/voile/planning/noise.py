"""The noise that one column of a model is expected to have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from voile.codec import Order
from voile.privacy.events import Gaussian, Plan, PoissonGaussian
from voile.schema import Category, Number


@dataclass(frozen=True)
class ColumnNoise:
    """Expected noise of what a model says about one column.

    Attributes
    ----------
    name : str
    kind : {"number", "category"}
    bins : int
        Intervals of a number or levels of a category that are told apart.
    noise : float
        Two standard errors in a typical bin, in the forecast's units.
    kept : float
        Part of an effect that is left after smoothing, from 0 to 1: where noise would drown a
        curve, it is drawn to zero instead.
    """

    file_order: ClassVar[Order] = (..., "visible")

    name: str
    kind: Literal["number", "category"]
    bins: int
    noise: float
    kept: float

    @property
    def visible(self) -> float:
        """Smallest effect that stands clear of the noise, in the forecast's units."""
        return self.noise / max(self.kept, 1e-9)

    @classmethod
    def of(cls, name: str, column: Number | Category, noise: float, kept: float) -> ColumnNoise:
        """Of a number that is seen as a whole, or of all levels of a category."""
        if isinstance(column, Number):
            return cls(name, "number", 1, noise, kept)
        return cls(name, "category", len(column.levels or ()), noise, kept)

    def named(self, name: str) -> ColumnNoise:
        """The same of another column of its kind."""
        return replace(self, name=name)


def multiplier_of(plan: Plan, label: str) -> float:
    """The noise of a step of a plan, relative to what one row can change."""
    event = plan[label]
    assert isinstance(event, (Gaussian, PoissonGaussian))
    return event.noise_multiplier
