"""Opacus under the same canary as Voile's networks: one lit pixel, seen in every noised gradient.

Run it as ``python benchmarks/audit/opacus_canary.py [runs]``.
Needs ``pip install opacus``. The claim is
(8, 1e-5) for steps over all rows, whose noise follows from mu in closed form. The attacker knows
all other rows and reads each gradient that the optimizer was given, as Voile's insider does.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import json
import math
import warnings
from typing import Any

import numpy as np

from voile.audit import lower_bound
from voile.audit.trials.networks import trials
from voile.privacy.gaussian_dp import mu_of

STEPS, CLIP = 2, 1e-3


class OpacusInsider:
    """One training of a linear model by Opacus, and what an insider makes of its gradients.

    Parameters
    ----------
    epsilon, delta : float
        The claim, from which the noise is computed.
    factor : float
        Part of that noise which is really added; 1 but for tests of the audit.
    """

    def __init__(self, epsilon: float, delta: float, factor: float = 1.0) -> None:
        self._sigma = math.sqrt(STEPS) / mu_of(epsilon, delta)
        self._factor = factor

    def __call__(self, rows: tuple[Any, Any, bool]) -> float:
        """Log-likelihood ratio of "the last row is there" to "it is not"."""
        import torch
        from opacus import GradSampleModule
        from opacus.optimizers import DPOptimizer

        images, classes, there = rows
        x = torch.as_tensor(images, dtype=torch.float32) / 255.0
        y = torch.as_tensor(classes)
        taking = slice(None) if there else slice(None, -1)
        model = GradSampleModule(torch.nn.Linear(x.shape[1], 2, bias=False), strict=True)
        optimizer = DPOptimizer(
            torch.optim.SGD(model.parameters(), lr=1.0),
            noise_multiplier=self._sigma * self._factor,
            max_grad_norm=CLIP,
            expected_batch_size=1,
            loss_reduction="sum",
        )
        (weights,) = model.parameters()
        score = 0.0
        for _ in range(STEPS):
            shares = _clipped(weights.detach(), x, y)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[taking]), y[taking], reduction="sum")
            loss.backward()
            before = weights.detach().clone()
            optimizer.step()
            # One plain step of rate 1: the difference is the noised gradient.
            seen = (before - weights.detach()).double().ravel()
            own = shares[-1]
            rest = seen - shares[:-1].sum(0) - own / 2.0
            score += float(own @ rest) / (self._sigma * CLIP) ** 2
        return score


def _clipped(weights: Any, x: Any, y: Any) -> Any:
    """Each row's clipped gradient, shape (rows, numbers), worked out by hand."""
    import torch

    chances = torch.softmax(x.double() @ weights.double().T, dim=1)
    chances[torch.arange(len(y)), y] -= 1.0
    each = (chances[:, :, None] * x.double()[:, None, :]).flatten(1)
    norms = each.norm(dim=1, keepdim=True)
    return each * (CLIP / (norms + 1e-6)).clamp(max=1.0)


def _with_canary(world: tuple[Any, Any, bool], canary: None) -> tuple[Any, Any, bool]:
    return (*world[:2], True)


def measure(runs: int = 2000, factor: float = 1.0, **settings: Any) -> Any:
    """A finding for Opacus at (8, 1e-5)."""
    like = trials()[0]
    (images, labels), (image, label) = like.dataset, like.canary
    x = np.vstack([images, image])
    y = (np.append(labels, label) == "right").astype(np.int64)
    return lower_bound(
        OpacusInsider(8.0, 1e-5, factor),
        (x, y, False),
        None,
        join=_with_canary,
        epsilon=8.0,
        delta=1e-5,
        runs=runs,
        method="gaussian",
        name="Opacus: one pixel, all rows in every step",
        **settings,
    )


def main() -> None:
    """Measure Opacus with its noise and with half of it, and Voile beside it."""
    warnings.filterwarnings("ignore", module="opacus")
    warnings.filterwarnings("ignore", module="torch")
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    found = [measure(runs), measure(runs, 0.5), trials()[0].audit(runs)]
    print("\n\n".join(map(str, found)))
    print(json.dumps([one.to_dict() for one in found], indent=1))


if __name__ == "__main__":
    main()
