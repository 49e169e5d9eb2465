"""Attacks by search: images whose update comes ever nearer to the one that was seen.

- `search_dlg`: Zhu, Liu & Han, Deep leakage from gradients, 2019. L-BFGS on the squared distance of
  gradients, here of unit length and with pixels held between 0 and 1. Wants smooth activations.
- `search_cosine_tv`: Geiping et al., Inverting gradients, 2020. One minus the cosine plus total
  variation, by Adam on the signs of the gradient. Bears rectified units and some noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voile.audit.gradient_leakage.gradients import Floats, load_torch
from voile.audit.gradient_leakage.matching import Course, Diary, Target

if TYPE_CHECKING:
    from torch import Tensor

_FOUND = 1e-14
"""Distance from which on a match is perfect for double numbers."""

_SIZE = 1e4
"""What the objective of L-BFGS is multiplied by: its first step is then of the size of pixels."""


def search_dlg(
    target: Target, start: Floats, steps: int, *, start_labels: Floats | None = None
) -> Course:
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


def search_cosine_tv(target: Target, start: Floats, steps: int, variation: float) -> Course:
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
