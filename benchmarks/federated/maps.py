"""Heat maps of private networks against those of plain ones, for the federated benchmark.

Not a script: see `quality.py`. Agreement is told relative to that of two plain networks with
different seeds, averaged over several private trainings, with floors: maps of other images, and of
an untrained network.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.kit.script import note
from voile import Category, Schema
from voile.explain.networks import compare_maps, deletion_auc, explain_images, insertion_auc
from voile.models.networks.architectures import Description
from voile.models.networks.estimator import NetworkClassifier

IMAGES = 500
EPOCHS, BATCH, RATE = 3, 128, 1e-3


def train_plain(module: nn.Module, images: NDArray[Any], classes: NDArray[Any], seed: int) -> None:
    """Adam without privacy, on pixels from 0 to 1."""
    rng = torch.Generator().manual_seed(seed)
    step = torch.optim.Adam(module.parameters(), lr=RATE)
    pictures = torch.from_numpy(images.astype(np.float32) / 255.0)
    truth = torch.from_numpy(classes)
    module.train()
    for _ in range(EPOCHS):
        order = torch.randperm(len(truth), generator=rng)
        for lot in order.split(BATCH):
            step.zero_grad()
            nn.functional.cross_entropy(module(pictures[lot]), truth[lot]).backward()
            step.step()
    module.eval()


def measure(
    schema: Schema,
    rows: NDArray[Any],
    classes: NDArray[Any],
    tests: NDArray[Any],
    truth: NDArray[Any],
    epsilon: float,
    seeds: int,
) -> dict[str, Any]:
    """Relative agreement of private networks, with floors, insertion and deletion."""
    side = 28
    shown = tests[:IMAGES].reshape(-1, 1, side, side).astype(np.float32) / 255.0
    target = truth[:IMAGES]

    def private(seed: int, eps: float) -> nn.Module:
        model = NetworkClassifier(
            epsilon=eps, schema=schema, image_shape=(side, side), random_state=seed
        )
        return model.fit(rows, classes).to_torch()

    images = rows.reshape(-1, 1, side, side)
    plain = []
    for seed in (100, 101):
        module = untrained(schema, seed)
        train_plain(module, images, classes, seed)
        plain.append(module)
        note(f"plain network {seed} trained")
    fresh = untrained(schema, 102)
    maps = [explain_images(one, shown, target=target) for one in (*plain, fresh)]
    result: dict[str, Any] = {"epsilon": epsilon, "images": IMAGES, "trainings": seeds}
    relative, found, insertion, deletion = [], [], [], []
    for seed in range(seeds):
        module = private(seed, epsilon)
        own = explain_images(module, shown, target=target)
        agreement = compare_maps(own, maps[0], maps[1], random_init=maps[2])
        found.append(agreement.to_dict())
        relative.append(agreement["top_share_iou"].relative.value)
        insertion.append(float(np.nanmean(insertion_auc(module, shown, own.maps, target))))
        deletion.append(float(np.nanmean(deletion_auc(module, shown, own.maps, target))))
        note(f"private network {seed}: relative IoU {relative[-1]:.3f}")
    last = agreement["top_share_iou"]
    result |= {
        "relative_iou": float(np.mean(relative)),
        "relative_iou_least": float(np.min(relative)),
        "relative_spearman": float(agreement["spearman"].relative.value),
        "relative_ssim": float(agreement["ssim"].relative.value),
        "iou_of_two_plain_seeds": float(last.ceiling.value),
        "iou_of_shuffled_images": float(last.shuffled.value),
        "iou_of_an_untrained_network": float(last.untrained.value),
        "insertion_auc": float(np.mean(insertion)),
        "deletion_auc": float(np.mean(deletion)),
        "clipped_without_noise_relative_iou": float(
            compare_maps(
                explain_images(private(0, float("inf")), shown, target=target), maps[0], maps[1]
            )["top_share_iou"].relative.value
        ),
        "agreements": found,
    }
    return result


class Scaled(nn.Module):
    """A network behind pixels from 0 to 1, brought to about mean 0 and deviation 1."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.network((images - 0.13) / 0.31)


def untrained(schema: Schema, seed: int) -> nn.Module:
    """The network of `NetworkClassifier` with fresh weights, as a plain module."""
    assert isinstance(schema.target, Category)
    return Scaled(Description("cnn", (1, 28, 28), len(schema.target.levels or ()), seed).build())
