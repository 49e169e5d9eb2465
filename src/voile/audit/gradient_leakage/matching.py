"""The distance between the update that was seen and that of made-up images, and a search's course.

Only directions are compared: clipping and averaging hide the length of an update, and on smooth
networks the direction alone suffices. Where the enemy knows coordinates without noise, only these
count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.gradient_leakage.gradients import Floats, Shape, flat_gradient, load_torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

MARKS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Iterations after which a picture is kept, besides the last."""


class Target:
    """An update to match.

    Parameters
    ----------
    module : Module
        A copy, as `copy_module` gives it; its type of numbers is that of the search.
    update : ndarray of shape (parameters,)
    shape : tuple of int
        Of one image.
    count : int
        Images to rebuild.
    labels : ndarray of shape (count,)
    clean : ndarray of bool, shape (parameters,), or None
    """

    def __init__(
        self,
        module: Module,
        update: Floats,
        shape: Shape,
        count: int,
        labels: NDArray[np.int64],
        clean: NDArray[np.bool_] | None,
    ) -> None:
        torch = load_torch()
        self.module, self.shape, self.count = module, shape, count
        self.dtype = next(module.parameters()).dtype
        self.labels = torch.from_numpy(labels)
        seen = update if clean is None else update * clean
        norm = float(np.linalg.norm(seen))
        self.is_silent = norm == 0.0
        self.direction = torch.from_numpy(seen / (norm or 1.0)).to(self.dtype)
        self.clean = None if clean is None else torch.from_numpy(clean)

    def distance(self, images: Tensor, targets: Tensor | None = None) -> Tensor:
        """One minus the cosine between the update of these images and the one seen.

        It is half the squared distance between the two at length 1, and can be differentiated.
        """
        found = flat_gradient(
            self.module, images, self.labels if targets is None else targets, graph=True
        )
        if self.clean is not None:
            found = found * self.clean
        length = (found * found).sum().clamp_min(1e-60 if self.dtype.itemsize == 8 else 1e-30)
        apart: Tensor = 1.0 - (found * self.direction).sum() / length.sqrt()
        return apart

    def judge(self, images: Floats) -> float:
        """The distance of finished images, as a number."""
        return float(self.distance(self.tensor(images)).detach())

    def tensor(self, images: Floats) -> Any:
        """Images as a tensor of the search's type, shape (count, *shape)."""
        torch = load_torch()
        return torch.from_numpy(images.reshape(self.count, *self.shape).copy()).to(self.dtype)


@dataclass(frozen=True, eq=False)
class Course:
    """What a search found on its way.

    Attributes
    ----------
    images : ndarray of shape (count, *shape)
    objective : tuple of float
        What was made small, before the first iteration and after each.
    iterations : tuple of int
        When snapshots were taken.
    snapshots : ndarray of shape (snapshots, count, *shape)
    """

    images: Floats
    objective: tuple[float, ...]
    iterations: tuple[int, ...]
    snapshots: Floats


class Diary:
    """Writes down the course of one search."""

    def __init__(self) -> None:
        self._objective: list[float] = []
        self._iterations: list[int] = []
        self._snapshots: list[Floats] = []

    def write(self, images: Floats, objective: float) -> None:
        """One more iteration; the first is the start."""
        if len(self._objective) in MARKS:
            self._keep(images)
        self._objective.append(objective)

    def _keep(self, images: Floats, back: int = 0) -> None:
        self._iterations.append(len(self._objective) - back)
        self._snapshots.append(images.copy())

    def close(self, images: Floats) -> Course:
        """The course, with the finished images as its last picture."""
        if self._objective and self._iterations[-1] == len(self._objective) - 1:
            self._iterations.pop()
            self._snapshots.pop()
        self._keep(images, back=1 if self._objective else 0)
        return Course(
            images.copy(),
            tuple(self._objective),
            tuple(self._iterations),
            np.stack(self._snapshots),
        )
