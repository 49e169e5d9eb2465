"""Grad-CAM, integrated gradients and SmoothGrad of a network, through captum.

Own here is the chance of SmoothGrad: captum's draws from torch's global generator, so that maps
would depend on what was drawn before and on how images are cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, MissingExtra, ModelError
from voile.explain.networks.network import score, to_tensor

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float64]

METHODS = ("grad_cam", "integrated_gradients", "smooth_grad")


@dataclass(frozen=True, eq=False)
class AskedImages:
    """A network in evaluation mode, images, and the class each map is about.

    Attributes
    ----------
    module : Module
    images : ndarray of shape (rows, channels, height, width)
    targets : ndarray of int, shape (rows,)
    batch_size : int
        Images that go through the network at once, at most.
    """

    module: torch.nn.Module
    images: NDArray[Any]
    targets: NDArray[np.int64]
    batch_size: int

    def chunks(self, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Images and their classes as tensors, so many at a time."""
        import torch

        for start in range(0, len(self.images), max(size, 1)):
            cut = slice(start, start + max(size, 1))
            images = to_tensor(self.module, self.images[cut])
            targets = torch.from_numpy(self.targets[cut]).to(images.device)
            yield images.requires_grad_(), targets

    def score(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of shape (rows, classes)."""
        return score(self.module, images)


def make_grad_cam(asked: AskedImages, layer: torch.nn.Module) -> Floats:
    """Grad-CAM (Selvaraju et al. 2017): ReLU of feature maps weighted by their mean gradients.

    Returns
    -------
    ndarray of shape (rows, height, width)
        Not negative; brought to the image's size bilinearly.
    """
    attr = _captum()
    cam = attr.LayerGradCam(asked.score, layer)
    size = asked.images.shape[2:]
    parts = []
    for images, targets in asked.chunks(asked.batch_size):
        coarse = _attribute(cam, images, target=targets, relu_attributions=True)
        fine = attr.LayerAttribution.interpolate(coarse.detach(), size, "bilinear")
        parts.append(_to_numpy(fine)[:, 0])
    return np.concatenate(parts)


def make_integrated_gradients(asked: AskedImages, baseline: Any, steps: int) -> Floats:
    """Integrated gradients (Sundararajan et al. 2017) along the line from a baseline to the image.

    Parameters
    ----------
    asked : AskedImages
    baseline : float, or array that fits (channels, height, width)
    steps : int
        Points of the Gauss-Legendre rule.

    Returns
    -------
    ndarray of shape (rows, height, width)
        Signed and summed over channels: a map sums to the score of the image less the score of the
        baseline, up to what the rule with so many points misses.
    """
    import torch

    integral = _captum().IntegratedGradients(asked.score)
    start = read_baseline(baseline, asked.images.shape[1:])
    parts = []
    for images, targets in asked.chunks(asked.batch_size // steps):
        begin = torch.from_numpy(start).to(images).expand_as(images)
        found = _attribute(
            integral,
            images,
            baselines=begin,
            target=targets,
            n_steps=steps,
            internal_batch_size=asked.batch_size if steps > asked.batch_size else None,
        )
        parts.append(_to_numpy(found).sum(axis=1))
    return np.concatenate(parts)


def make_smooth_grad(asked: AskedImages, samples: int, noise: float, seed: int) -> Floats:
    """SmoothGrad (Smilkov et al. 2017): the size of the mean gradient over noisy copies.

    The same copies of the same noise are added to every image, scaled by its range of pixels: maps
    depend neither on the other images nor on their order.

    Returns
    -------
    ndarray of shape (rows, height, width)
        Not negative; of several channels, the largest.
    """
    import torch

    saliency = _captum().Saliency(asked.score)
    rng = np.random.default_rng(seed)
    shocks = rng.standard_normal((samples, *asked.images.shape[1:]))
    parts = []
    for images, targets in asked.chunks(asked.batch_size):
        flat = images.detach().flatten(1)
        spread = noise * (flat.amax(1) - flat.amin(1)).reshape(-1, 1, 1, 1)
        total = np.zeros(images.shape)
        for shock in shocks:
            moved = images.detach() + spread * torch.from_numpy(shock).to(flat)
            found = _attribute(saliency, moved.requires_grad_(), target=targets, abs=False)
            total += _to_numpy(found)
        parts.append(np.abs(total / samples).max(axis=1))
    return np.concatenate(parts)


def read_baseline(baseline: Any, shape: tuple[int, ...]) -> Floats:
    """Where integrated gradients begin, of shape (channels, height, width) (DataError)."""
    given = baseline.detach().cpu() if hasattr(baseline, "detach") else baseline
    try:
        array = np.array(np.broadcast_to(np.asarray(given, dtype=np.float64), shape))
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The baseline must be a number or an array that fits (channels, height, width) = "
            f"{shape}: {error}."
        ) from error
    if not np.isfinite(array).all():
        raise DataError("The baseline must be finite numbers.")
    return array


def _captum() -> Any:
    try:
        import captum.attr
    except ImportError:
        raise MissingExtra("captum", "federated") from None
    return captum.attr


def _attribute(method: Any, images: torch.Tensor, **settings: Any) -> torch.Tensor:
    try:
        found: torch.Tensor = method.attribute(images, **settings)
    except RuntimeError as error:
        raise ModelError(
            f"{type(method).__name__} finds no gradient of the network's score: {error}. The score "
            f"must depend on the images (and on the layer) by differentiable steps."
        ) from error
    return found


def _to_numpy(tensor: torch.Tensor) -> Floats:
    array: Floats = tensor.detach().cpu().double().numpy()
    return array
