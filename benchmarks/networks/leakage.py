"""What one update of a network gives away of a digit, without noise, with some, and with enough.

Run ``python benchmarks/networks/leakage.py [result.json] [--targets 3] [--steps 200]`` with torch
installed; with chromium it also draws docs/pictures/leakage.png, and ``--page leakage.html`` writes
the page of the convolutional network. About nine minutes of one core. Three small networks with
public weights, MNIST test images, an enemy that knows the class and picks its best attack by the
true image.

Bars: an un-noised update gives the image away (PSNR above 25 dB on every network), and no noised
one (clip 1, noise multiplier .5 and more) gains more than 1 dB over the grey guess and over what it
gains on strangers. Lots of hundreds give away what digits have in common, so single images of the
lot, and strangers alike, are met better than grey: such modes are listed as over_grey_plus_1.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import html
import json
import platform
import time

import numpy as np
import torch

from benchmarks.kit.data_folder import read_pictures
from benchmarks.kit.page_picture import shoot
from voile.audit.gradient_leakage import (
    LeakageReport,
    Reconstruction,
    clipped,
    gaussian,
    leakage_report,
    leaky_net,
    noise_only,
    psnr,
    selective_faithful,
    un_noised,
)
from voile.report.audit.leakage import draw_page, paint_image
from voile.report.kit.html import parts
from voile.report.kit.pictures import Picture

PICTURE = Path(__file__).parents[2] / "docs/pictures/leakage.png"
NETWORKS = {"relu_cnn": "cosine + TV", "mlp": "closed form", "sigmoid_lenet": "DLG"}
"""Each network, and the attack that it is the easy case of."""

LEAST_PSNR, MOST_GAIN, LARGEST = 25.0, 1.0, 512

MODES = {
    "un-noised": un_noised(),
    "un-noised, lot 2": un_noised(2),
    "clipped to 1": clipped(1.0),
    "noise 0.01": gaussian(1.0, 0.01),
    "noise 0.1": gaussian(1.0, 0.1),
    "noise 0.5": gaussian(1.0, 0.5),
    "noise 0.5, lot 64": gaussian(1.0, 0.5, 64),
    "noise 1": gaussian(1.0, 1.0),
    "noise 0.5 alone": noise_only(1.0, 0.5),
    "noise 0.5, lot 512": gaussian(1.0, 0.5, 512),
    "noise 1, lot 512": gaussian(1.0, 1.0, 512),
    "selective 25 %, noise 1": selective_faithful(0.25, 1.0, 1.0),
    "selective 75 %, noise 1": selective_faithful(0.75, 1.0, 1.0),
}
"""Noise as a multiple of the clip; selective: the share of coordinates left without noise."""

SOUND = [
    "noise 0.5",
    "noise 0.5, lot 64",
    "noise 0.5, lot 512",
    "noise 1",
    "noise 1, lot 512",
]
SHOWN = [
    "un-noised",
    "clipped to 1",
    "noise 0.01",
    "noise 0.1",
    "noise 0.5",
    "noise 1",
    "selective 25 %, noise 1",
]
STEPS_SHOWN = (0, 5, 20, 50, 100)

STYLE = """
  body { font: 15px/1.35 system-ui, sans-serif; margin: 12px; color: #222; width: 1016px }
  .row, .head { display: grid; grid-template-columns: 150px 1fr; align-items: center }
  .head { color: #555; font-size: 12px } .name { font-weight: 600 }
  .cells, .pictures { display: grid; grid-template-columns: repeat(9, 90px); gap: 4px }
  .picture { font-size: 12px; color: #555; text-align: center; padding-bottom: 3px }
  .picture img { display: block; width: 90px; image-rendering: pixelated; border: 1px solid #ccc;
                 box-sizing: border-box }
  .picture:first-child img { border: 2px solid #0072B2 }
"""


def measure(targets: int, steps: int) -> dict[str, LeakageReport]:
    file = read_pictures("mnist")
    images = file["x_test"][:LARGEST, None] / 255.0
    labels = file["y_test"][:LARGEST].astype(np.int64)
    strangers = file["x_test"][LARGEST : 5 * LARGEST, None] / 255.0
    mean = file["x_train"].mean(axis=0)[None] / 255.0
    found = {}
    for kind in NETWORKS:
        begun = time.perf_counter()
        found[kind] = leakage_report(
            leaky_net(kind),
            images,
            labels,
            MODES,
            targets=targets,
            steps=steps,
            most=2,
            public_mean=mean,
            strangers=strangers,
        )
        print(f"{kind}, {time.perf_counter() - begun:.0f} s\n{found[kind]}\n", flush=True)
    return found


def judge(found: dict[str, LeakageReport]) -> dict[str, object]:
    plain = {kind: one["un-noised"].mean_psnr for kind, one in found.items()}
    noised = {f"{kind}, {mode}": one[mode] for kind, one in found.items() for mode in SOUND}
    own = {name: one.own_gain for name, one in noised.items()}
    return {
        "un_noised_psnr": plain,
        "own_gain_when_noised": own,
        "gain_over_grey_when_noised": {name: one.max_gain for name, one in noised.items()},
        "toned_gain_when_noised": {name: one.max_toned_gain for name, one in noised.items()},
        "bars": {"least_psnr": LEAST_PSNR, "most_own_gain": MOST_GAIN},
        "passed": min(plain.values()) > LEAST_PSNR and max(own.values()) <= MOST_GAIN,
        "over_grey_plus_1": [name for name, one in noised.items() if one.max_gain > MOST_GAIN],
        "networks": {kind: one.to_dict() for kind, one in found.items()},
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def draw(found: dict[str, LeakageReport]) -> str:
    columns = ["true", *(f"after {step}" for step in STEPS_SHOWN), "end"]
    columns += ["other net: full", "sigmoids"]
    cells = "".join(f'<div style="text-align:center">{one}</div>' for one in columns)
    rows = [f'<div class="head"><div></div><div class="cells">{cells}</div></div>']
    for mode in SHOWN:
        first = found["relu_cnn"][mode].attacks[0][0]
        truth = found["relu_cnn"].truth[0]
        pictures = [Picture(paint_image(truth), "", "The true image")]
        pictures += [shown(first, truth, min(step, first.iterations[-1])) for step in STEPS_SHOWN]
        pictures += [shown(found[kind][mode].attacks[0][0], truth, None) for kind in NETWORKS]
        card = parts.card("", pictures)
        name = f'<div class="name">{html.escape(mode)}</div>'
        rows.append(f'<div class="row">{name}{card}</div>')
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><body>{''.join(rows)}"


def shown(found: Reconstruction, truth: np.ndarray, step: int | None) -> Picture:
    place = -1 if step is None else found.iterations.index(step)
    image = found.snapshots[place][0]
    return Picture(paint_image(image), f"{psnr(image, truth):.0f} dB", "Rebuilt image")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", nargs="?", type=Path)
    parser.add_argument("--targets", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = measure(chosen.targets, chosen.steps)
    result = judge(found)
    shoot(draw(found), PICTURE, "1040,860")
    if chosen.page:
        chosen.page.write_text(draw_page(found["relu_cnn"]), encoding="utf-8")
    print(json.dumps(result))
    if chosen.result:
        chosen.result.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
