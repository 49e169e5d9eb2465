"""The page of attacks on updates: a table, and what each attack saw as it went on."""

from __future__ import annotations

import html

import numpy as np
from numpy.typing import NDArray

from voile.audit.gradient_leakage.findings import (
    HEAD,
    NO_GUARANTEE,
    ORACLE,
    LeakageReport,
    ModeFindings,
    Reconstruction,
)
from voile.audit.gradient_leakage.measures import psnr
from voile.report.audit.page import compose_audit, place_records
from voile.report.kit.page import fold, heading, paragraph
from voile.report.kit.pictures import Picture, Pixels, paint_picture, place_card

Floats = NDArray[np.float64]

_STYLE = """
  .card { margin: .6rem 0 } .card b { font-weight: 600 }
  .pictures { display: flex; flex-wrap: wrap; gap: .4rem }
  .picture { font-size: .75rem; line-height: 1.3; color: var(--soft); width: 5rem }
  .picture img { display: block; width: 5rem; image-rendering: pixelated;
                 border: 1px solid var(--line); box-sizing: border-box }
  .picture:first-child img { border: 2px solid var(--calm) }
"""


def draw_page(report: LeakageReport) -> str:
    """The whole page as HTML."""
    shape = " × ".join(str(one) for one in report.truth.shape[1:])
    told = "is told the class" if report.knows_labels else "reads the class off the update"
    body = [
        paragraph(
            f"The enemy has the network, its {report.parameters:,} weights and one update of them,"
            f" {told}, and rebuilds images of {shape}."
        ),
        paragraph(ORACLE),
        f"<p><strong>{html.escape(NO_GUARANTEE)}</strong></p>",
        _place_table(report),
        paragraph(
            "PSNR and gains in dB; SSIM is 1 for the same image. Gain: over the grey guess, the"
            " true image's mean everywhere, the strongest guess that shows nothing. Toned: the"
            " largest gain of any attack once the true image has set its brightness and contrast."
            " Compare it with that on noise alone: small smooth images are hit by chance."
            " Strangers: the gain on images that were in no lot; what a large lot has in common"
            " looks like them, too. Leaks: more than 1 dB above the grey guess and strangers.",
            note=True,
        ),
        heading("What the enemy sees"),
        paragraph(
            "The first image under attack: the true one, the grey guess, and the attack after so"
            " many iterations, with its PSNR. Of a larger lot, the image rebuilt best.",
            note=True,
        ),
    ]
    for one in report.modes:
        body += _show_mode(report, one)
    return compose_audit("What an update gives away", body, style=_STYLE)


def _place_table(report: LeakageReport) -> str:
    """The table with words first and numbers after."""
    head, *lines = [
        [line[0], line[2], line[-1], line[1], *line[3:-1]] for line in (list(HEAD), *report.table())
    ]
    kinds = ["long", "long", "", *["number"] * (len(HEAD) - 3)]
    bad = {(row, 2) for row, one in enumerate(report.modes) if one.leaks}
    return place_records("Table of all ways to send an update", head, lines, kinds, bad=bad)


def _show_mode(report: LeakageReport, mode: ModeFindings) -> list[str]:
    lot = "one image" if mode.lot == 1 else f"the sum of {mode.lot} images"
    first, *others = mode.attacks[0]
    parts = [heading(f"{mode.mode}: {lot}", level=3), _strip(report, first)]
    if others:
        inside = "".join(_strip(report, one) for one in others)
        parts.append(fold("Other attacks", inside))
    return parts


def _strip(report: LeakageReport, found: Reconstruction) -> str:
    best = max(range(len(found.scores)), key=lambda k: found.scores[k].gain)
    score = found.scores[best]
    truth = report.truth[score.truth]
    pictures = [
        Picture(paint_image(truth), "true", "The true image"),
        Picture(
            paint_image(np.full_like(truth, truth.mean())),
            f"grey guess {score.grey_psnr:.1f} dB",
            "The true image's mean everywhere",
        ),
    ]
    for step, images in zip(found.iterations, found.snapshots, strict=True):
        reached = f"{psnr(images[best], truth):.1f} dB"
        caption = f"after {step}: {reached}" if len(found.iterations) > 1 else reached
        words = f"Rebuilt by {found.method} after {step} iterations, {reached}"
        pictures.append(Picture(paint_image(images[best]), caption, words))
    note = f"SSIM {score.ssim:.2f}, {score.gain:+.1f} dB beside the grey guess."
    return place_card(found.method, pictures, [note])


def paint_image(image: Floats) -> Pixels:
    """Paint an image of shape (height, width) or (channels, height, width), from 0 to 1."""
    last = np.moveaxis(image, 0, -1) if image.ndim == 3 else image
    return paint_picture(last, last.shape)
