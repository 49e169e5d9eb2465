"""Clients with easy pictures, and an odd network, for tests of federated averaging."""

import numpy as np
import torch
from torch import nn

from voile import Category, Number, Schema
from voile.federated.fedavg.estimator import FedAvgClassifier
from voile.federated.federation import Federation
from voile.models.networks.architectures import register

SIDE = 8
SCHEMA = Schema(
    {f"p{i}": Number(0, 255) for i in range(SIDE * SIDE)}, target=Category(["left", "right"])
)
PUBLISHED = ("dp_faithful", "random_faithful", "gradcam_faithful")
NO_GUARANTEE = ("none", *PUBLISHED)


class _Odd(nn.Module):
    """A network with a lone number, a counter and a frozen parameter."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, 2, 1)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("steps", torch.tensor(7))
        self.out = nn.Linear(4 * 16, classes)

    def forward(self, images):
        return self.scale * self.out(torch.relu(self.conv(images)).flatten(1))


register("odd network of tests", lambda shape, classes: _Odd(classes))


def pictures(rows, seed):
    """Bright on the left or on the right."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, size=(rows, SIDE, SIDE)).astype(np.uint8)
    right = np.arange(rows) % 2 == 1
    X[~right, :, : SIDE // 2] += 150
    X[right, :, SIDE // 2 :] += 150
    return X.reshape(rows, -1), np.where(right, "right", "left")


def federation(clients=6, rows=20, **terms):
    parts = [pictures(rows, seed) for seed in range(clients)]
    return Federation.local(parts, SCHEMA, **terms)


def classifier(noise="none", **settings):
    settings = {
        "architecture": "odd network of tests",
        "image_shape": (SIDE, SIDE),
        "rounds": 2,
        "fraction": 1.0,
        "local_batch": 10,
        "random_state": 3,
        "epsilon": 8.0,
        **settings,
    }
    return FedAvgClassifier(noise=noise, **settings)
