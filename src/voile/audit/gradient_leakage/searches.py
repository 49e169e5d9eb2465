"""Attacks by search: images whose update comes ever nearer to the one that was seen.

- `search_dlg`: Zhu, Liu & Han, Deep leakage from gradients, 2019. L-BFGS on the squared distance of
  gradients, here of unit length and with pixels held between 0 and 1. Wants smooth activations.
- `search_cosine_tv`: Geiping et al., Inverting gradients, 2020. One minus the cosine plus total
  variation, by Adam on the signs of the gradient. Bears rectified units and some noise.

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
class SearchPath:
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
    """Writes down the schedule of one search."""

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

    def close(self, images: Floats) -> SearchPath:
        """The schedule, with the finished images as its last picture."""
        if self._objective and self._iterations[-1] == len(self._objective) - 1:
            self._iterations.pop()
            self._snapshots.pop()
        self._keep(images, back=1 if self._objective else 0)
        return SearchPath(
            images.copy(),
            tuple(self._objective),
            tuple(self._iterations),
            np.stack(self._snapshots),
        )


_FOUND = 1e-14
"""Distance from which on a match is perfect for double numbers."""

_SIZE = 1e4
"""What the objective of L-BFGS is multiplied by: its first step is then of the size of pixels."""


def search_dlg(
    target: Target, start: Floats, steps: int, *, start_labels: Floats | None = None
) -> SearchPath:
    """Match the update by L-BFGS.

    Parameters
    ----------
    target : Target
    start : ndarray of shape (count, *shape)
        Images to begin with, from 0 to 1.
    steps : int
        Most iterations.
    start_labels : ndarray of shape (count, classes), optional
        Scores of the classes to begin with: labels are then found, too, and those of ``target``
        not used.
    """
    from scipy.optimize import minimize

    torch = load_torch()
    pixels, diary = start.size, Diary()
    first = start.ravel() if start_labels is None else np.append(start, start_labels)

    def unpack(values: Floats) -> tuple[Tensor, Tensor | None]:
        images = target.tensor(values[:pixels]).requires_grad_(True)
        if start_labels is None:
            return images, None
        scores = values[pixels:].reshape(start_labels.shape)
        return images, torch.tensor(scores, dtype=target.dtype, requires_grad=True)

    def objective(values: Floats) -> tuple[float, Floats]:
        images, scores = unpack(values)
        shares = None if scores is None else torch.softmax(scores, dim=1)
        found = target.distance(images, shares)
        slopes = torch.autograd.grad(found, [images] if scores is None else [images, scores])
        flat = np.concatenate([one.numpy().ravel() for one in slopes])
        if not np.isfinite(flat).all():  # a dead network: nothing pulls in any direction
            flat = np.zeros_like(flat)
        return _SIZE * float(found.detach()), _SIZE * flat

    def note(intermediate_result: Any) -> None:  # scipy asks for this name
        value = float(intermediate_result.fun) / _SIZE
        diary.write(intermediate_result.x[:pixels].reshape(start.shape), value)
        if value < _FOUND:
            raise StopIteration

    diary.write(start, objective(first)[0] / _SIZE)
    bounds = [(0.0, 1.0)] * pixels + [(-30.0, 30.0)] * (len(first) - pixels)
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=note,
        options={"maxiter": steps, "maxfun": 3 * steps + 20, "maxcor": 50, "ftol": 0, "gtol": 0},
    )
    return diary.close(np.clip(found.x[:pixels], 0.0, 1.0).reshape(start.shape))


def search_cosine_tv(target: Target, start: Floats, steps: int, variation: float) -> SearchPath:
    """Match the direction of the update, and keep the images smooth.

    Parameters
    ----------
    target : Target
    start : ndarray of shape (count, *shape)
        Images to begin with, from 0 to 1.
    steps : int
        Iterations.
    variation : float
        Weight of the total variation (the mean over pixels).
    """
    torch = load_torch()
    images, diary = target.tensor(start).requires_grad_(True), Diary()
    optimiser = torch.optim.Adam([images], lr=0.1)
    slower = {int(steps * part) for part in (3 / 8, 5 / 8, 7 / 8)}
    for step in range(steps):
        if step in slower:
            optimiser.param_groups[0]["lr"] *= 0.1
        loss = target.distance(images) + variation * _total_variation(images)
        diary.write(_numbers(images), float(loss.detach()))
        (slope,) = torch.autograd.grad(loss, [images])
        images.grad = torch.nan_to_num(slope).sign()
        optimiser.step()
        with torch.no_grad():
            images.clamp_(0.0, 1.0)
    last = target.distance(images) + variation * _total_variation(images)
    diary.write(_numbers(images), float(last.detach()))
    return diary.close(_numbers(images))


def _numbers(images: Tensor) -> Floats:
    found: Floats = images.detach().numpy().astype(np.float64)
    return found


def _total_variation(images: Tensor) -> Tensor:
    across = (images[..., 1:] - images[..., :-1]).abs().mean()
    return across + (images[..., 1:, :] - images[..., :-1, :]).abs().mean()
