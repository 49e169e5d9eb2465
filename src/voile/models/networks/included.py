"""The networks that come with Voile: a small CNN and residual networks, all with GroupNorm.

Groups are normalised within each image, so no statistic of other rows enters; without affine
parameters there are fewer coordinates to noise.
"""

from __future__ import annotations

import torch
from torch import nn


class _Halved(nn.Module):
    """The mean of each 2 x 2 neighbours, without overlap; an odd line at the end is left out.

    One product with a constant matrix: five times as fast as torch's own pooling on a processor.
    """

    means: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        # From two lines of pixels to one of half the length.
        means = torch.zeros(2, width, width // 2)
        places = torch.arange(width // 2)
        means[:, 2 * places, places] = means[:, 2 * places + 1, places] = 0.25
        self.register_buffer("means", means.reshape(2 * width, width // 2))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(rows, channels, h, w) to (rows, channels, h // 2, w // 2)."""
        rows, channels, height, width = images.shape
        pairs = images[:, :, : height // 2 * 2].reshape(-1, 2 * width)
        return (pairs @ self.means).reshape(rows, channels, height // 2, width // 2)


def _normalised(channels: int, most: int = 8) -> nn.GroupNorm:
    """Groups of four channels or more."""
    groups = max(g for g in range(1, most + 1) if channels % g == 0 and channels // g >= 4)
    return nn.GroupNorm(groups, channels, affine=False)


def make_cnn(image_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two convolutions and two dense layers: 26,010 parameters for 28 x 28 grey, ten classes.

    Images that are too small for its windows get narrower ones; larger ones are averaged to the
    size that the dense layers expect.
    """
    channels, height, width = image_shape
    shortest = min(height, width)
    small = shortest < 16
    body = nn.Sequential(
        nn.Conv2d(channels, 16, *((3, 1, 1) if small else (8, 2, 3))),
        _normalised(16, 4),
        nn.ReLU(),
        _Halved(width if small else (width - 2) // 2 + 1) if shortest >= 4 else nn.Identity(),
        nn.Conv2d(16, 32, *((3, 1, 1) if small else (4, 1))),
        _normalised(32, 4),
        nn.ReLU(),
    )
    with torch.no_grad():
        size = body(torch.zeros(1, *image_shape)).shape[2:]
    if size[0] > 6 or size[1] > 6:
        body.append(nn.AdaptiveAvgPool2d((min(size[0], 4), min(size[1], 4))))
        size = torch.Size((min(size[0], 4), min(size[1], 4)))
    head = (nn.Flatten(), nn.Linear(32 * size[0] * size[1], 32), nn.ReLU(), nn.Linear(32, classes))
    return nn.Sequential(*body, *head)


class _Residual(nn.Module):
    """Two 3 x 3 convolutions beside a short cut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = _normalised(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = _normalised(after)
        self.short: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.short = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(rows, before, h, w) to (rows, after, h / stride, w / stride)."""
        found = torch.relu(self.first_norm(self.first(images)))
        found = self.second_norm(self.second(found))
        return torch.relu(found + self.short(images))


def _residual(
    image_shape: tuple[int, int, int], classes: int, widths: tuple[int, ...], blocks: int
) -> nn.Module:
    layers: list[nn.Module] = [
        nn.Conv2d(image_shape[0], widths[0], 3, 1, 1, bias=False),
        _normalised(widths[0]),
        nn.ReLU(),
    ]
    before = widths[0]
    for level, width in enumerate(widths):
        for block in range(blocks):
            layers.append(_Residual(before, width, 2 if level and not block else 1))
            before = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes)]
    return nn.Sequential(*layers)


def make_resnet8(image_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Three levels of one residual block, 16 to 64 channels wide: 78,000 parameters."""
    return _residual(image_shape, classes, (16, 32, 64), 1)


def make_resnet18(image_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Four levels of two residual blocks, 64 to 512 channels wide: 11 million parameters."""
    return _residual(image_shape, classes, (64, 128, 256, 512), 2)
