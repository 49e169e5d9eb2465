"""The page of heat maps: each image, where its heat lies, and what the network said of it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup
from numpy.typing import NDArray

from voile.explain.networks import map_text
from voile.explain.networks.map_text import NAMES, answer_text, heat_text, title_text
from voile.explain.networks.record import HeatMaps
from voile.explain.wording import percent
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.kit.html import Templates, parts
from voile.report.kit.page import compose_page
from voile.report.kit.pictures import (
    Floats,
    Picture,
    Pixels,
    draw_pictures,
    paint_grey,
    paint_signed,
    rgb_of,
)
from voile.report.kit.room import draw_some
from voile.report.kit.theme import LOWER, RAISE

MOST_ROWS, MOST_CLASSES = 60, 12

_DARKEST, _LIGHTEST = 90.0, 245.0
"""The grey that an image keeps beneath heat: neither end may swallow the colours."""

_SHADE = 0.12
"""By how much full heat is darker over black than over white, so that the image shows through."""

_FULL = 0.82
"""Opacity of the strongest heat."""

_html = Templates("networks/page.html", text=map_text)


@draws(HeatMaps)
def draw_page(record: HeatMaps) -> str:
    """The whole page as HTML."""
    maps = draw_some(lambda row: place_map(record, row), min(len(record), MOST_ROWS))
    shown, classes = range(len(maps)), range(len(record.outputs))[:MOST_CLASSES]
    answers = [
        [
            f"{row + 1}",
            record.outputs[record.predicted[row]],
            record.outputs[record.targets[row]],
            *(percent(float(record.probabilities[row, k])) for k in classes),
        ]
        for row in shown
    ]
    body = _html.page(
        record,
        len(maps),
        legend=place_legend(record),
        maps=maps,
        head=["image", "predicted", "heat for", *(f"'{record.outputs[k]}'" for k in classes)],
        answers=answers,
    )
    return compose_page(
        "What the network's answer used", body, record.receipt, cost=record.cost, holds_rows=True
    )


def paint_heat(heat: Floats, image: NDArray[np.uint8]) -> Pixels:
    """Lay heat over an image in grey: orange above 0, blue below, the stronger the less grey.

    Parameters
    ----------
    heat : ndarray of shape (height, width)
        Full colour is the greatest size in it.
    image : ndarray of uint8, shape (height, width)
    """
    light = image[..., None] / 255.0
    grey = _DARKEST + (_LIGHTEST - _DARKEST) * light
    top = float(np.abs(heat).max(initial=0.0)) or 1.0
    shares = (heat / top)[..., None]
    colour = np.where(shares >= 0, rgb_of(RAISE), rgb_of(LOWER)) * (1.0 - _SHADE * (1.0 - light))
    opacity = _FULL * np.abs(shares)
    painted: Pixels = np.rint((1.0 - opacity) * grey + opacity * colour).astype(np.uint8)
    return painted


@plots(HeatMaps)
def plot(record: HeatMaps, request: FigureRequest) -> go.Figure:
    """One image, its heat, and both together."""
    request.refuse("name", "output")
    return draw_pictures(find_map(record, request.choose_row(len(record))))


def find_map(record: HeatMaps, row: int) -> list[Picture]:
    """An image, its heat, and both together."""
    heat, image = record.maps[row], record.pictures[row]
    shape = (heat.shape[0], heat.shape[1])
    about = f"{NAMES.get(record.method, record.method)} of {answer_text(record, row)}"
    told = heat_text(record, row)
    return [
        Picture(paint_grey(image / 255.0, shape), "the image", f"Image {row + 1} in grey"),
        Picture(paint_signed(heat.ravel(), shape), "heat", f"Heat map, {about}. {told}"),
        Picture(paint_heat(heat, image), "heat over the image", f"Heat over the image. {told}"),
    ]


def place_map(record: HeatMaps, row: int) -> Markup:
    """An image with its heat as a card of a page."""
    return parts.card(title_text(record, row), find_map(record, row), [heat_text(record, row)])


def place_legend(record: HeatMaps) -> Markup:
    """What colours mean: the scale alone, and as it looks over dark and light."""
    low = -1.0 if record.signed else 0.0
    scale = np.linspace(low, 1.0, 120)
    alone = paint_signed(np.tile(scale, (12, 1)).ravel(), (12, 120))
    beneath = np.repeat(np.array([0, 255], dtype=np.uint8), 6)[:, None]
    over = paint_heat(np.tile(scale, (12, 1)), np.broadcast_to(beneath, (12, 120)))
    ends = "against ← 0 → for" if record.signed else "no heat → most heat"
    words = (
        "Colours from blue (speaks against the class) over white (0) to orange (speaks for it)"
        if record.signed
        else "Colours from white (no heat) to orange (most heat of the image)"
    )
    pictures = [
        Picture(alone, ends, words),
        Picture(over, "over dark and light", f"{words}, laid over dark and light pixels"),
    ]
    return parts.card("Colours", pictures, ["Full colour is the strongest pixel of each image."])
