"""Heat maps in words: what was done, what the network said, and where the heat lies."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.explain.ebm.text import cut_text
from voile.explain.wording import percent

if TYPE_CHECKING:
    from voile.explain.networks.record import HeatMaps

Floats = NDArray[np.float64]

MOST_ROWS, MOST_NAME = 8, 40

NAMES = {
    "grad_cam": "Grad-CAM",
    "integrated_gradients": "Integrated gradients",
    "smooth_grad": "SmoothGrad",
}
_MEANINGS = {
    "grad_cam": (
        "warm is where feature maps of the layer that raise the class's score are strong. A map is "
        "as fine as that layer and drawn out to the image's size"
    ),
    "integrated_gradients": (
        "orange pixels added to the class's score, blue ones took away; all pixels together make "
        "up the score less that of the baseline"
    ),
    "smooth_grad": (
        "warm is where a small change of a pixel would move the class's score most, up or down, on "
        "average over noisy copies of the image"
    ),
}
CAUTION = (
    "A heat map shows which pixels the answer depended on, not whether the answer is right, and "
    "not what causes what in the world."
)

_LINES, _COLUMNS = ("upper", "middle", "lower"), ("left", "centre", "right")


def method_text(record: HeatMaps) -> str:
    """What the heat means, in a sentence."""
    name = NAMES.get(record.method, record.method)
    meaning = _MEANINGS.get(record.method, "heat for the class")
    return f"{name} ({record.how}): {meaning}."


def title_text(record: HeatMaps, row: int) -> str:
    """Which image, counted from one as people count, its class and how probable that is."""
    where = f"Image {row + 1}" + (f" of {len(record)}" if len(record) > 1 else "")
    return f"{where}: {answer_text(record, row)}"


def answer_text(record: HeatMaps, row: int) -> str:
    """The predicted class with its probability, and the class the heat is about if another."""
    predicted, target = int(record.predicted[row]), int(record.targets[row])
    text = f"{_quoted(record, predicted)} with {_sure(record, row, predicted)}"
    if target != predicted:
        text += f"; heat for {_quoted(record, target)} ({_sure(record, row, target)})"
    return text


def heat_text(record: HeatMaps, row: int) -> str:
    """Where the heat of an image lies, or that there is none."""
    if record.empty[row]:
        return "No heat anywhere: the method found nothing in this image that raises the score."
    if record.constant[row]:
        return "The same heat everywhere: the map tells nothing about places."
    text = f"Most heat: {place_text(record.maps[row])}"
    if record.signed:
        sizes = np.abs(record.maps[row])
        against = float(-record.maps[row].clip(max=0.0).sum() / sizes.sum())
        text += f"; {percent(against)} of it speaks against the class"
    return f"{text}."


def place_text(heat: Floats, most: int = 3) -> str:
    """Name the ninths of an image with most heat, each with its share of all.

    Parameters
    ----------
    heat : ndarray of shape (height, width)
        Signs do not count; not all 0.
    most : int

    Examples
    --------
    >>> heat = np.zeros((9, 9)); heat[0, 0] = 3.0; heat[4, 4] = -1.0
    >>> place_text(heat)
    'upper left (75 %), middle (25 %)'
    """
    sizes = np.abs(heat) / np.abs(heat).max()  # so that tiny numbers have a sum
    whole = float(sizes.sum())
    found = [
        (float(block.sum()) / whole, _place(line, column))
        for line, band in zip(_LINES, np.array_split(sizes, 3, axis=0), strict=True)
        for column, block in zip(_COLUMNS, np.array_split(band, 3, axis=1), strict=True)
    ]
    ranked = sorted(found, key=lambda one: -one[0])[:most]
    return ", ".join(f"{name} ({percent(share)})" for share, name in ranked if share >= 0.005)


def flat_text(record: HeatMaps) -> str:
    """How many maps are empty or say nothing about places; nothing if none."""
    empty, constant = int(record.empty.sum()), int(record.constant.sum())
    parts = [f"{empty} of {len(record)} maps are empty (0 everywhere)"] if empty else []
    if constant > empty:
        parts.append(f"{constant - empty} have the same heat everywhere")
    return f"{'; '.join(parts)}." if parts else ""


def maps_text(record: HeatMaps) -> str:
    """A few lines: what was done, then each image in two."""
    lines = [f"Heat maps of {len(record)} image{'' if len(record) == 1 else 's'}"]
    told = (method_text(record), flat_text(record))
    lines += [line for text in told for line in textwrap.wrap(text, 88)]
    for row in range(min(len(record), MOST_ROWS)):
        lines += ["", title_text(record, row), f"  {heat_text(record, row)}"]
    if len(record) > MOST_ROWS:
        lines += ["", more_text(len(record) - MOST_ROWS)]
    return "\n".join([*lines, "", record.cost, record.receipt.guarantee])


def more_text(left: int) -> str:
    """How many images are not told."""
    return f"... and {left} more image{'' if left == 1 else 's'}: to_frame() has them all"


def _quoted(record: HeatMaps, number: int) -> str:
    return f"'{cut_text(record.outputs[number], MOST_NAME)}'"


def _sure(record: HeatMaps, row: int, number: int) -> str:
    return f"probability {percent(float(record.probabilities[row, number]))}"


def _place(line: str, column: str) -> str:
    if line == "middle":
        return "middle" if column == "centre" else f"middle {column}"
    return f"{line} {column}"
