"""The picture of docs/how-to/look-at-heat-maps.md: digits, and where a plain network looks.

Run ``python benchmarks/networks/heat_map_picture.py`` with torch, captum and chromium installed.
Three small networks learn MNIST without privacy, each with its own seed, about 15 seconds each; the
first one's heat maps go to docs/pictures/heat-maps.png and heat-maps.html, and what the measures
say of seeds that should agree is printed. Benchmarks of private networks are elsewhere.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import time

import numpy as np
import torch
from torch import nn

from benchmarks.kit.data_folder import read_pictures
from benchmarks.kit.page_picture import shoot
from voile.explain.networks import (
    HeatMaps,
    compare_maps,
    deletion_auc,
    explain_images,
    insertion_auc,
)
from voile.explain.networks.map_text import NAMES, answer_text, heat_text
from voile.report.kit.html import parts
from voile.report.kit.pictures import Picture, paint_grey
from voile.report.networks.page import paint_heat, place_legend

PICTURE = Path(__file__).parents[2] / "docs/pictures/heat-maps.png"
SHOWN, MEASURED, STEPS, LOT = 6, 500, 700, 64

STYLE = """
  body { font: 15px/1.4 system-ui, sans-serif; margin: 12px; color: #222; width: 1040px }
  .cards { display: flex; flex-wrap: wrap; gap: 12px 28px } .card b { display: block }
  .card .note { display: none } .pictures { display: flex; gap: 8px }
  .picture { font-size: 12px; color: #555; width: 118px }
  .picture img { display: block; width: 118px; image-rendering: pixelated;
                 border: 1px solid #ccc; box-sizing: border-box }
"""


def build(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(7),
        nn.Flatten(),
        nn.Linear(32 * 49, 10),
    )


def train(seed: int, images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    module = build(seed)
    steps = torch.optim.Adam(module.parameters(), lr=2e-3)
    for _ in range(STEPS):
        lot = torch.randint(0, len(images), (LOT,))
        steps.zero_grad()
        nn.functional.cross_entropy(module(images[lot]), labels[lot]).backward()
        steps.step()
    return module


def draw(records: list[HeatMaps]) -> str:
    first = records[0]
    cards = []
    for row in range(len(first)):
        image = first.pictures[row]
        pictures = [Picture(paint_grey(image / 255.0, image.shape), "the image", "Digit")]
        pictures += [
            Picture(
                paint_heat(one.maps[row], one.pictures[row]),
                NAMES[one.method],
                f"{NAMES[one.method]}. {heat_text(one, row)}",
            )
            for one in records
        ]
        cards.append(parts.card(answer_text(first, row), pictures))
    legend = place_legend(next(one for one in records if one.signed))
    body = parts.cards([*cards, legend])
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><body>{body}"


def main() -> None:
    torch.set_num_threads(1)
    file = read_pictures("mnist")
    images = torch.as_tensor(file["x_train"]).float().div(255)[:, None]
    labels = torch.as_tensor(file["y_train"]).long()
    begun = time.perf_counter()
    modules = [train(seed, images, labels) for seed in range(3)]
    print(f"trained in {time.perf_counter() - begun:.0f} s")
    tests = file["x_test"][:MEASURED] / 255.0
    truth = file["y_test"][:MEASURED].astype(np.int64)
    for module in modules:
        found = explain_images(module, tests, target=truth)
        print(f"accuracy on {MEASURED} test images {(found.predicted == truth).mean():.3f}")
    for method in NAMES:
        begun = time.perf_counter()
        made = [
            explain_images(module, tests, method=method, target=truth).maps
            for module in (*modules, build(99))
        ]
        print(f"\n{NAMES[method]}, {(time.perf_counter() - begun) / 4:.1f} s for {MEASURED} images")
        print(compare_maps(*made[:3], random_init=made[3]))
        for name, measure in (("insertion", insertion_auc), ("deletion", deletion_auc)):
            own = np.nanmean(measure(modules[0], tests, made[0], truth))
            rng = np.random.default_rng(0).random(made[0].shape)
            random = np.nanmean(measure(modules[0], tests, rng, truth))
            print(f"  {name} AUC {own:.3f}, of random maps {random:.3f}")
    picked = [int(np.flatnonzero(truth == digit)[0]) for digit in (3, 5, 7, 2, 8, 4)][:SHOWN]
    records = [explain_images(modules[0], tests[picked], method=method) for method in NAMES]
    records[0].to_html("heat-maps.html")
    records[1].to_html("heat-maps-ig.html")
    shoot(draw(records), PICTURE, "1064,640")


if __name__ == "__main__":
    main()
