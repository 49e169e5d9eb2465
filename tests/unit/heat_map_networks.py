"""Small networks whose heat maps are known by hand."""

import captum  # noqa: F401
import numpy as np
import torch

nn = torch.nn

SIDE = 12


class Copy(nn.Module):
    """A convolution that copies the image, and a linear readout of its upper left quadrant."""

    def __init__(self, side=SIDE, inplace=False):
        super().__init__()
        self.copy = nn.Conv2d(1, 1, 3, padding=1, bias=False)
        self.rest = nn.ReLU(inplace=inplace) if inplace else nn.Identity()
        self.readout = nn.Linear(side * side, 2, bias=False)
        kernel = torch.zeros(1, 1, 3, 3)
        kernel[0, 0, 1, 1] = 1.0
        weights = torch.zeros(2, side, side)
        weights[1, : side // 2, : side // 2] = 1.0
        with torch.no_grad():
            self.copy.weight.copy_(kernel)
            self.readout.weight.copy_(weights.reshape(2, -1))

    def forward(self, images):
        return self.readout(self.rest(self.copy(images)).flatten(1))


class Small(nn.Module):
    """An ordinary network of three classes: convolutions, a shortcut of one pixel, dropout."""

    def __init__(self, seed=0, channels=1):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.first = nn.Conv2d(channels, 4, 3, padding=1)
            self.second = nn.Conv2d(4, 6, 3, stride=2, padding=1)
            self.shortcut = nn.Conv2d(4, 6, 1, stride=2)
            self.drop = nn.Dropout(0.5)
            self.head = nn.Linear(6, 3)
        self.bend = nn.Softplus()

    def forward(self, images):
        first = self.bend(self.first(images))
        both = self.bend(self.second(first) + self.shortcut(first))
        return self.head(self.drop(both).mean(dim=(2, 3)))


def make_images(rows=6, channels=1, side=SIDE, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, channels, side, side))
