"""The page of attacks on updates: a table, and what each attack saw as it went on."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from voile.audit.gradient_leakage import findings
from voile.audit.gradient_leakage.findings import LeakageReport, Reconstruction
from voile.audit.gradient_leakage.measures import psnr
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.audit.page import compose_audit
from voile.report.kit.html import Templates, parts
from voile.report.kit.pictures import Floats, Picture, Pixels, draw_pictures, paint_picture

_html = Templates("audit/leakage.html", no_guarantee=findings.NO_GUARANTEE, oracle=findings.ORACLE)


@draws(LeakageReport)
def draw_page(report: LeakageReport) -> str:
    """The whole page as HTML."""
    # Words first and numbers after.
    head, *lines = [
        [line[0], line[2], line[-1], line[1], *line[3:-1]]
        for line in (list(findings.HEAD), *report.table())
    ]
    body = _html.page(
        report,
        shape=" × ".join(str(one) for one in report.truth.shape[1:]),
        head=head,
        rows=lines,
        kinds=["long", "long", "", *["number"] * (len(findings.HEAD) - 3)],
        bad=[(row, 2) for row, one in enumerate(report.modes) if one.leaks],
        modes=[
            (one, [_strip(report, attack) for attack in one.attacks[0]]) for one in report.modes
        ],
    )
    return compose_audit("What an update gives away", body, style="audit/leakage.css")


@plots(LeakageReport)
def plot(report: LeakageReport, request: FigureRequest) -> go.Figure:
    """What the first attack on one way to send an update saw as it went on."""
    request.refuse("row", "output")
    modes = {one.mode: one for one in report.modes}
    found = modes[request.choose_name(list(modes))].attacks[0][0]
    return draw_pictures(_find_strip(report, found)[0])


def _strip(report: LeakageReport, found: Reconstruction) -> Markup:
    pictures, note = _find_strip(report, found)
    return parts.card(found.method, pictures, [note])


def _find_strip(report: LeakageReport, found: Reconstruction) -> tuple[list[Picture], str]:
    """The true image, the grey guess, and the attack as it went on; and how far it got."""
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
    return pictures, f"SSIM {score.ssim:.2f}, {score.gain:+.1f} dB beside the grey guess."


def paint_image(image: Floats) -> Pixels:
    """Paint an image of shape (height, width) or (channels, height, width), from 0 to 1."""
    last = np.moveaxis(image, 0, -1) if image.ndim == 3 else image
    return paint_picture(last, last.shape)
