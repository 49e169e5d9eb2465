"""Classes of the images behind an update, by the signs of the last layer's gradient.

For one image the gradient of an output's bias is its probability, less 1 for the true class: the
only negative one (Zhao, Mopuri & Bilen, iDLG, 2020). For several images the most negative outputs
are taken in turn, each time put back by an equal share of all that is negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.audit.gradient_leakage.gradients import Floats
from voile.errors import SettingError

if TYPE_CHECKING:
    from torch.nn import Module


def infer_labels(module: Module, update: Floats, classes: int, count: int) -> NDArray[np.int64]:
    """The most likely classes, shape (count,).

    Parameters
    ----------
    module : Module
        Its last parameter is the bias of the outputs, or their weights, which work where what
        enters them is not negative.
    update : ndarray of shape (parameters,)
    classes, count : int
    """
    last = list(module.parameters())[-1]
    if last.ndim not in (1, 2) or last.shape[0] != classes:
        raise SettingError(
            f"The module's last parameter has shape {tuple(last.shape)} and does not belong to"
            f" {classes} outputs: classes cannot be read off it. Give labels."
        )
    tail = update[len(update) - last.numel() :].reshape(classes, -1).sum(axis=1)
    share = float(-np.minimum(tail, 0.0).sum()) / count
    found = []
    for _ in range(count):
        found.append(int(tail.argmin()))
        tail[found[-1]] += share
    return np.array(found, np.int64)
