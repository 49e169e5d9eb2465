"""Galleries of the benchmark of locally linear maps: the filters of each class as pictures.

Not a script: see `locally_linear.py`.
"""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.report.kit.html import parts
from voile.report.kit.pictures import Picture, paint_signed

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 24px auto; max-width: 1240px; color: #222 }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(380px, 1fr)); gap: 10px }
.card { border: 1px solid #ddd; border-radius: 6px; padding: 8px 10px }
.pictures { display: flex; gap: 8px; margin-top: 4px }
.picture { font-size: 12px; color: #555; text-align: center }
.picture img { display: block; width: 58px; image-rendering: pixelated; border: 1px solid #eee }
.picture:first-child img { width: 84px }
.note { font-size: 12px; color: #555 }
"""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Filters of one model as HTML; `title` says which."""

    title: str
    cards: str

    def html(self) -> str:
        return f"<h3>{html.escape(self.title)}</h3>{self.cards}"


def paint(values: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Signed numbers: orange and blue on white, or colours around grey if there are channels."""
    if len(shape) == 2 or shape[2] != 3:
        plane = values.reshape(*shape[:2], -1).mean(axis=2)
        return paint_signed(plane.ravel(), (shape[0], shape[1]))
    top = float(np.abs(values).max(initial=0.0)) or 1.0
    return np.rint(127.5 + 127.5 * values.reshape(shape) / top).astype(np.uint8)


def gallery(title: str, bank: Any) -> Gallery:
    """The typical filter of each class, then a few that count most and differ.

    Parameters
    ----------
    title : str
    bank : FilterBank
        Of a model of pictures.
    """
    cards = []
    for k, name in enumerate(bank.outputs):
        shown = [
            Picture(
                paint(bank.contrast[k], bank.image_shape), "typical", f"Typical filter of {name}"
            )
        ]
        shown += [
            Picture(
                paint(bank.distinct[k, m], bank.image_shape),
                f"{100 * bank.shares[k, m]:.0f} %",
                f"Filter {m} of {name}",
            )
            for m in bank.summary[k]
        ]
        cards.append(parts.card(str(name), shown))
    return Gallery(title, parts.cards(cards))
