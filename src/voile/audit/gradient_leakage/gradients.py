"""Gradients of a torch module as flat vectors, and the checks on what enters the audit.

A vector holds the gradient of the cross-entropy with respect to all of ``module.parameters()``, in
that order, each flattened.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.errors import DataError, MissingExtra, SettingError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Floats = NDArray[np.float64]
Shape = tuple[int, ...]


def load_torch() -> Any:
    """The torch package, or an error that names what to install."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "federated") from None
    return torch


def check_shape(image_shape: Sequence[int]) -> Shape:
    """The shape of one image, (height, width) or (channels, height, width), or a refusal."""
    try:
        shape = tuple(int(one) for one in image_shape)
    except (TypeError, ValueError):
        shape = ()
    if len(shape) not in (2, 3) or min(shape) < 1 or min(shape[-2:]) < 3:
        raise SettingError(
            f"image_shape is {image_shape!r}: give (height, width) or (channels, height, width),"
            " at least 3 pixels each way."
        )
    return shape


def check_images(images: ArrayLike, *, name: str = "images") -> Floats:
    """Images of shape (images, *shape) with values from 0 to 1, or a refusal."""
    try:
        found = np.asarray(images, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} are no numbers: give an array with values from 0 to 1.") from None
    if found.ndim not in (3, 4) or not len(found):
        raise DataError(
            f"{name} have shape {found.shape}: give (images, height, width) or (images, channels,"
            " height, width)."
        )
    check_shape(found.shape[1:])
    if not np.isfinite(found).all() or found.min() < 0.0 or found.max() > 1.0:
        raise DataError(f"{name} must have finite values from 0 to 1: divide bytes by 255.")
    return found


def check_labels(labels: ArrayLike, count: int, classes: int) -> NDArray[np.int64]:
    """So many classes as numbers from 0, or a refusal."""
    found = np.asarray(labels)
    if found.shape != (count,) or found.dtype.kind not in "iu":
        raise DataError(f"Give {count} labels as integers, not shape {found.shape}, {found.dtype}.")
    if found.min() < 0 or found.max() >= classes:
        raise DataError(f"Labels must lie in 0 to {classes - 1}.")
    return found.astype(np.int64)


def copy_module(module: Any, *, double: bool = True) -> Module:
    """A copy to attack: all parameters take part, nothing is drawn, and the original is untouched.

    Layers that behave differently in training (dropout, running statistics) are as in use.
    """
    torch = load_torch()
    if not isinstance(module, torch.nn.Module):
        raise DataError(f"module is a {type(module).__name__}: give a torch.nn.Module.")
    copied: Module = copy.deepcopy(module).cpu().eval()
    copied = copied.to(torch.float64 if double else torch.float32)
    for one in copied.parameters():
        one.requires_grad_(True)
    if not any(one.numel() for one in copied.parameters()):
        raise DataError("module has no parameters: there is no update to attack.")
    return copied


def count_parameters(module: Module) -> int:
    """Length of an update."""
    return sum(one.numel() for one in module.parameters())


def check_update(update: ArrayLike, module: Module) -> Floats:
    """One update of the module as a flat vector of finite numbers, or a refusal."""
    try:
        found = np.asarray(update, np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise DataError("update is no vector of numbers: give a flat array.") from None
    size = count_parameters(module)
    if found.shape != (size,):
        raise DataError(
            f"update has shape {found.shape}, and the module {size} parameters: give one flat"
            " vector in the order of module.parameters()."
        )
    if not np.isfinite(found).all():
        raise DataError("update has values that are not finite: such an update must be refused.")
    return found


def count_classes(module: Module, shape: Shape) -> int:
    """Outputs for an image, or a refusal if it cannot be classified at all."""
    torch = load_torch()
    dtype = next(module.parameters()).dtype
    try:
        with torch.no_grad():
            found = module(torch.full((1, *shape), 0.5, dtype=dtype))
    except RuntimeError as error:
        raise DataError(f"module does not take images of shape {shape}: {error}") from None
    if not isinstance(found, torch.Tensor) or found.ndim != 2 or found.shape[1] < 2:
        raise DataError("module must return scores of shape (images, classes).")
    return int(found.shape[1])


def flat_gradient(
    module: Module, images: Tensor, targets: Tensor, *, graph: bool = False
) -> Tensor:
    """Gradient of the summed cross-entropy, shape (parameters,).

    Parameters
    ----------
    module : Module
    images : tensor of shape (images, *shape)
    targets : tensor of shape (images,) or (images, classes)
        Classes, or their shares.
    graph : bool
        Whether it can be differentiated once more.
    """
    torch = load_torch()
    loss = torch.nn.functional.cross_entropy(module(images), targets, reduction="sum")
    parts = torch.autograd.grad(
        loss, list(module.parameters()), create_graph=graph, materialize_grads=True
    )
    flat: Tensor = torch.cat([one.reshape(-1) for one in parts])
    return flat


def example_gradients(module: Any, images: ArrayLike, labels: ArrayLike) -> Floats:
    """Gradient of each image's cross-entropy, shape (images, parameters)."""
    torch = load_torch()
    copied, pixels = copy_module(module), check_images(images)
    classes = check_labels(labels, len(pixels), count_classes(copied, pixels.shape[1:]))
    x, y = torch.from_numpy(pixels), torch.from_numpy(classes)
    rows = [flat_gradient(copied, x[i : i + 1], y[i : i + 1]) for i in range(len(pixels))]
    return np.stack([one.detach().numpy() for one in rows])


def clip_rows(gradients: Floats, clip: float) -> Floats:
    """Rows shortened to a Euclidean norm of at most ``clip``; rows of zeros stay."""
    if not (math.isfinite(clip) and clip > 0.0):
        raise SettingError(f"clip is {clip!r}: give a positive number.")
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.asarray(gradients * np.minimum(1.0, clip / np.maximum(norms, 1e-300)))
