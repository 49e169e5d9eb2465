"""Heat maps in a terminal: characters, the denser the hotter."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from voile.explain.heat_maps.map_text import (
    flat_text,
    heat_text,
    method_text,
    more_text,
    title_text,
)
from voile.explain.heat_maps.record import HeatMaps
from voile.report.lvq.terminal import SHADES, sample_picture

MOST_ROWS, WIDE = 5, 40


def print_heat_maps(console: Console, record: HeatMaps) -> None:
    """Print the first maps, with what the network said of their images."""
    for text in (method_text(record), flat_text(record)):
        if text:
            console.print(Text(text))
    console.print()
    for row in range(min(len(record), MOST_ROWS)):
        console.print(Text(title_text(record, row), style="bold"))
        if not record.empty[row]:
            console.print(_draw(record, row))
        console.print(Text(heat_text(record, row)))
        console.print()
    if len(record) > MOST_ROWS:
        console.print(more_text(len(record) - MOST_ROWS))


def _draw(record: HeatMaps, row: int) -> Text:
    """Orange for the class, blue against it."""
    pixels = sample_picture(record.maps[row], WIDE)
    top = float(np.abs(record.maps[row]).max())
    steps = np.rint(np.abs(pixels) / top * (len(SHADES) - 1)).astype(np.int64)
    text = Text()
    for number, (line, sizes) in enumerate(zip(pixels, steps, strict=True)):
        text.append("\n" if number else "")
        for value, step in zip(line, sizes, strict=True):
            text.append(SHADES[step], style="dark_orange" if value > 0 else "blue")
    return text
