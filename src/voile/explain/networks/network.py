"""A network as it is explained: its scores, its layers, and everything left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from voile.errors import DataError, MissingExtra, ModelError, SettingError

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]

_SUM = 1e-4
"""How far from 1 the outputs of an image may sum and still be probabilities."""


def find_module(network: Any) -> torch.nn.Module:
    """The module of a network: itself, or what its ``to_torch()`` gives.

    Raises
    ------
    MissingExtra
        If torch is not installed.
    SettingError
        If it is neither.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("torch", "federated") from None
    module = network
    if not isinstance(network, torch.nn.Module) and callable(getattr(network, "to_torch", None)):
        module = network.to_torch()
    if not isinstance(module, torch.nn.Module):
        raise SettingError(
            f"A {type(network).__name__} is no network: give a torch.nn.Module, or an object whose "
            f"to_torch() gives one."
        )
    return module


@contextmanager
def undisturbed(module: torch.nn.Module) -> Iterator[None]:
    """Put a module in evaluation mode, and leave every part of it in its own mode afterwards.

    Gradients can be taken inside, also where the caller has switched them off. Those of the
    parameters are never touched: only inputs and layers are differentiated. Opacus wraps modules in
    ones whose hooks fail on such gradients, and can be switched off; that, too, is undone.
    """
    import torch

    modes = [(part, part.training) for part in module.modules()]
    hooked: list[Any] = [part for part, _ in modes if getattr(part, "hooks_enabled", False)]
    hooked = [part for part in hooked if callable(getattr(part, "disable_hooks", None))]
    try:
        module.eval()
        for part in hooked:
            part.disable_hooks()
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode
        for part in hooked:
            part.enable_hooks()


def to_tensor(module: torch.nn.Module, images: NDArray[Any]) -> torch.Tensor:
    """Images as a tensor of the module's number type, where the module lies."""
    import torch

    images = np.array(images)  # a copy: the caller's array must not be written to
    for one in module.parameters():
        if one.is_floating_point():
            return torch.from_numpy(images).to(device=one.device, dtype=one.dtype)
    return torch.from_numpy(images)


def score(module: torch.nn.Module, images: torch.Tensor) -> torch.Tensor:
    """Scores of shape (rows, classes); a single output is read as log-odds of the second class.

    Raises
    ------
    ModelError
        If the module gives anything else.
    """
    import torch

    given: Any = module(images)
    shape = tuple(given.shape) if isinstance(given, torch.Tensor) else None
    rows = len(images)
    if shape in ((rows,), (rows, 1)):
        half = given.reshape(rows, 1) / 2
        return torch.cat([-half, half], dim=1)
    if shape is None or len(shape) != 2 or shape[0] != rows or shape[1] < 1:
        what = f"outputs of shape {shape}" if shape is not None else f"a {type(given).__name__}"
        raise ModelError(
            f"The network gives {what} for {rows} images: explained are networks with one tensor "
            f"of shape (rows, classes). Wrap it in a module that picks it."
        )
    scores: torch.Tensor = given
    return scores


def predict(module: torch.nn.Module, images: NDArray[Any], batch_size: int) -> tuple[Floats, bool]:
    """Probabilities of shape (rows, classes), and whether the module itself gives probabilities.

    If all outputs are from 0 to 1 and sum to 1 for every image, they are probabilities; otherwise
    they are taken as logarithms of probabilities up to a constant.

    Raises
    ------
    DataError
        If the module cannot take the images.
    ModelError
        If its outputs are not finite.
    """
    import torch

    parts = []
    for start in range(0, len(images), batch_size):
        try:
            with torch.no_grad():
                scores = score(module, to_tensor(module, images[start : start + batch_size]))
        except (RuntimeError, ValueError) as error:
            if isinstance(error, ModelError):
                raise
            raise DataError(
                f"The network cannot take images of shape {images.shape[1:]} (channels, height, "
                f"width): {error}"
            ) from error
        parts.append(scores.detach().cpu().double().numpy())
    outputs: Floats = np.concatenate(parts)
    bad = ~np.isfinite(outputs).all(axis=1)
    if bad.any():
        raise ModelError(
            f"The network's outputs are not finite for {int(bad.sum())} of {len(images)} images, "
            f"the first is image {int(np.argmax(bad))} (counted from 0): are its weights, and are "
            f"the images scaled as in training?"
        )
    sums = np.abs(outputs.sum(axis=1) - 1).max()
    if outputs.shape[1] > 1 and outputs.min() >= 0 and sums <= _SUM:
        return outputs, True
    return np.asarray(softmax(outputs, axis=1)), False


def find_layer(
    module: torch.nn.Module, layer: Any, image: NDArray[Any]
) -> tuple[str, torch.nn.Module]:
    """The layer whose feature maps Grad-CAM looks at, and its name.

    Parameters
    ----------
    module : Module
    layer : str, Module or None
        A layer's name as in ``named_modules()``, a layer itself, or None: the convolution that is
        used last, those of one pixel (shortcuts, mixed channels) only if there are no others.
    image : ndarray of shape (1, channels, height, width)
        What is sent through the network to see which layers are used, and in what order.

    Raises
    ------
    SettingError
        If there is no such layer, or it gives no feature maps, or is used more than once.
    """
    import torch

    named = dict(module.named_modules())
    if layer is None:
        names = [name for name, one in named.items() if isinstance(one, torch.nn.Conv2d)]
    else:
        names = [name for name, one in named.items() if layer == name or layer is one]
        if not names or names == [""]:
            raise SettingError(f"There is no layer {layer!r} in the network. {_offer(named)}")
    used = _trace(module, {name: named[name] for name in names}, image)
    once = [name for name, count in used.items() if count == 1]
    if layer is None:
        wide = [name for name in once if max(_kernel(named[name])) > 1]
        if not once:
            raise SettingError(
                "The network has no convolution that is used exactly once and gives feature maps, "
                "so no layer for Grad-CAM: name one in `layer`, or take method "
                "'integrated_gradients' or 'smooth_grad'."
            )
        return (wide or once)[-1], named[(wide or once)[-1]]
    name = names[0]
    if name not in once:
        why = (
            f"is used {used[name]} times for one image" if name in used else "gives no feature maps"
        )
        raise SettingError(f"Layer {name!r} {why}: Grad-CAM needs another. {_offer(named)}")
    return name, named[name]


def _trace(
    module: torch.nn.Module, layers: dict[str, torch.nn.Module], image: NDArray[Any]
) -> dict[str, int]:
    """How often each layer gave feature maps for an image, in the order of its last use."""
    import torch

    used: dict[str, int] = {}
    hooks = []

    def watch(name: str, one: torch.nn.Module) -> Any:
        def note(part: torch.nn.Module, given: Any, result: Any) -> None:
            if isinstance(result, torch.Tensor) and result.ndim == 4:
                used[name] = used.pop(name, 0) + 1

        return one.register_forward_hook(note)

    try:
        for name, one in layers.items():
            hooks.append(watch(name, one))
        with torch.no_grad():
            score(module, to_tensor(module, image))
    finally:
        for hook in hooks:
            hook.remove()
    return used


def _kernel(layer: torch.nn.Module) -> tuple[int, ...]:
    size: tuple[int, ...] = layer.kernel_size  # type: ignore[assignment]
    return size


def _offer(named: dict[str, torch.nn.Module], most: int = 12) -> str:
    import torch

    names = [name for name, one in named.items() if isinstance(one, torch.nn.Conv2d)]
    if not names:
        return "It has no convolutions."
    left = "" if len(names) <= most else f" and {len(names) - most} more"
    return f"Its convolutions: {', '.join(names[:most])}{left}."
