"""How long clipped sums of gradients take: Voile's two ways beside Opacus, in one process.

Run ``python benchmarks/networks/clipping.py [--rows 256] [--repeats 5] [--out results.json]``.
Prints a table and JSON: median processor seconds of one clipped sum over the same rows, one thread.
"exact" adds whole units row by row (what is noised), "ghost" adds in floating point by lengths in
closed form, "opacus" forms and clips every gradient, "opacus ghost" is its own ghost clipping.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from voile.models.networks.architectures import Description, initial_weights
from voile.models.networks.images import CLASSES, IMAGES, Standard
from voile.models.networks.queries import NetworkSteps
from voile.privacy.queries import Block

NETWORKS = {"cnn": (1, 28, 28), "resnet8": (1, 28, 28)}
STANDARD = Standard((0.3,), (0.3,), 8)
CLIP, GRID = 1.0, 2.0**-30


def seconds(work: Callable[[], object], repeats: int) -> float:
    work()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found)


def opacus_ways(
    name: str, shape: tuple[int, int, int], inputs: torch.Tensor, classes: torch.Tensor
) -> dict[str, Callable[[], torch.Tensor]]:
    """What Opacus can do here; nothing if it is not installed."""
    try:
        from opacus.grad_sample import GradSampleModule
        from opacus.grad_sample.grad_sample_module_fast_gradient_clipping import (
            GradSampleModuleFastGradientClipping,
        )
    except ImportError:
        return {}
    module = GradSampleModule(Description(name, shape, 10).build().train(), loss_reduction="sum")

    def plain() -> torch.Tensor:
        module.zero_grad(set_to_none=True)
        cross_entropy(module(inputs), classes, reduction="sum").backward()
        parts = [p.grad_sample.flatten(1) for p in module.parameters()]
        norms = torch.stack([one.norm(dim=1) for one in parts], dim=1).norm(dim=1)
        factors = (CLIP / (norms + 1e-12)).clamp(max=1.0)
        return torch.cat([factors @ one for one in parts])

    ghost_module = GradSampleModuleFastGradientClipping(
        Description(name, shape, 10).build().train(),
        loss_reduction="sum",
        max_grad_norm=CLIP,
        use_ghost_clipping=True,
    )

    def ghost() -> torch.Tensor:
        ghost_module.zero_grad(set_to_none=True)
        losses = cross_entropy(ghost_module(inputs), classes, reduction="none")
        ghost_module.enable_hooks()
        losses.sum().backward(retain_graph=True)
        factors = ghost_module.get_clipping_coef()
        ghost_module.zero_grad(set_to_none=True)
        ghost_module.disable_hooks()
        (factors * losses).sum().backward()
        ghost_module.enable_hooks()
        return torch.cat([p.grad.flatten() for p in ghost_module.parameters()])

    return {"opacus": plain, "opacus ghost": ghost}


def measure(name: str, rows: int, repeats: int) -> dict[str, object]:
    shape = NETWORKS[name]
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (rows, shape[1] * shape[2]), dtype=np.uint8)
    classes = rng.integers(0, 10, rows).astype(np.int32)
    weights = initial_weights(Description(name, shape, 10))
    block = Block(rows, lambda column: images, {IMAGES: images, CLASSES: classes})
    query = NetworkSteps(name, shape, 10, 0, weights, STANDARD, CLIP)
    quick = NetworkSteps(name, shape, 10, 0, weights, STANDARD, CLIP, exact=False)
    inputs = STANDARD.inputs(images, shape, rows)
    ways: dict[str, Callable[[], object]] = {
        "exact": lambda: query.total(block, GRID),
        "ghost": lambda: quick.total(block, GRID),
    }
    others = opacus_ways(name, shape, inputs, torch.from_numpy(classes.astype(np.int64)))
    found = {way: seconds(work, repeats) for way, work in (ways | others).items()}
    expected = query.total(block, GRID) * GRID
    apart = {
        way: float(np.abs(work().detach().numpy() - expected).max()) for way, work in others.items()
    }
    return {
        "network": name,
        "parameters": len(weights),
        "rows": rows,
        "seconds": found,
        "faster_than_opacus": {
            way: found["opacus"] / found[way] for way in found if "opacus" in found
        },
        "largest_difference": apart,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="torch|opacus")
    results = [measure(name, given.rows, given.repeats) for name in given.networks]
    print(f"{'network':10} {'way':14} {'ms':>9} {'x opacus':>9}")
    for one in results:
        for way, taken in one["seconds"].items():
            times = one["faster_than_opacus"].get(way)
            ratio = "" if times is None else f"{times:9.2f}"
            print(f"{one['network']:10} {way:14} {1e3 * taken:9.1f} {ratio:>9}")
    text = json.dumps(results, indent=1)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
