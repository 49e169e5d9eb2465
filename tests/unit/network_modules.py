"""Small networks for tests, registered once."""

import torch
from torch import nn

from voile.models.networks.architectures import register


class Odd(nn.Module):
    """With a parameter without dimensions, buffers of both kinds and a frozen parameter."""

    def __init__(self, image_shape, classes):
        super().__init__()
        pixels = image_shape[0] * image_shape[1] * image_shape[2]
        self.gain = nn.Parameter(torch.tensor(1.5))
        self.frozen = nn.Parameter(torch.randn(pixels), requires_grad=False)
        self.register_buffer("features", torch.randn(pixels, 6) / pixels**0.5)
        self.register_buffer("order", torch.randperm(6))
        self.last = nn.Linear(6, classes)

    def forward(self, images):
        found = torch.tanh((images.flatten(1) + 0.1 * self.frozen) @ self.features)
        return self.last(self.gain * found[:, self.order])


class Mixing(nn.Module):
    """Subtracts the mean of the other rows: not for private training."""

    def __init__(self, image_shape, classes):
        super().__init__()
        self.last = nn.Linear(image_shape[0] * image_shape[1] * image_shape[2], classes)

    def forward(self, images):
        flat = images.flatten(1)
        return self.last(flat - flat.mean(0))


class Tokens(nn.Module):
    """Lines of an image as tokens: a dense layer with several inputs, LayerNorm, dropout."""

    def __init__(self, image_shape, classes):
        super().__init__()
        channels, height, width = image_shape
        self.first = nn.Linear(width, 5)
        self.norm = nn.LayerNorm(5)
        self.dropout = nn.Dropout(0.5)
        self.last = nn.Linear(channels * height * 5, classes)

    def forward(self, images):
        found = torch.relu(self.norm(self.first(images.flatten(1, 2))))
        return self.last(self.dropout(found).flatten(1))


def make_varied(image_shape, classes):
    """Groups, dilation, affine GroupNorm, unequal strides, no bias."""
    return nn.Sequential(
        nn.Conv2d(image_shape[0], 8, 3, padding=1, bias=False),
        nn.GroupNorm(2, 8),
        nn.Tanh(),
        nn.Conv2d(8, 8, (3, 2), stride=(2, 1), padding=(1, 0), groups=4),
        nn.Tanh(),
        nn.Conv2d(8, 24, 2, dilation=2),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(96, classes),
    )


def make_in_place(image_shape, classes):
    return nn.Sequential(
        nn.Conv2d(image_shape[0], 4, 3),
        nn.ReLU(inplace=True),
        nn.Flatten(),
        nn.Linear(4 * (image_shape[1] - 2) * (image_shape[2] - 2), classes),
    )


class Shared(nn.Module):
    """One layer used twice."""

    def __init__(self, image_shape, classes):
        super().__init__()
        self.again = nn.Conv2d(image_shape[0], image_shape[0], 3, padding=1)
        self.last = nn.Linear(image_shape[0] * image_shape[1] * image_shape[2], classes)

    def forward(self, images):
        return self.last(torch.tanh(self.again(torch.tanh(self.again(images)))).flatten(1))


class Deciding(nn.Module):
    """Looks at values to decide what to do, which vmap cannot follow."""

    def __init__(self, image_shape, classes):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(()))
        self.last = nn.Linear(image_shape[0] * image_shape[1] * image_shape[2], classes)

    def forward(self, images):
        sign = 1.0 if float(images[0].detach().sum()) >= 0 else -1.0
        return self.last(images.flatten(1)) * self.gain * sign


def make_small(image_shape, classes):
    """A few hundred parameters."""
    return nn.Sequential(
        nn.Conv2d(image_shape[0], 4, 3, padding=1),
        nn.GroupNorm(2, 4, affine=False),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16, classes),
    )


MODULES = {
    "test odd": Odd,
    "test mixing": Mixing,
    "test tokens": Tokens,
    "test varied": make_varied,
    "test in place": make_in_place,
    "test shared": Shared,
    "test deciding": Deciding,
    "test small": make_small,
}
for _name, _factory in MODULES.items():
    register(_name, _factory)
