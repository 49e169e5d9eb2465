"""The noise that one column of a model is expected to have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from voile.codec import Order


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

    def named(self, name: str) -> ColumnNoise:
        """The same of another column of its kind."""
        return replace(self, name=name)
