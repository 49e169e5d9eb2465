"""Heat maps in a terminal: characters, the denser the hotter."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from voile.explain.networks import map_text as text
from voile.explain.networks.record import HeatMaps
from voile.rendering import prints
from voile.report.kit.terminal import MOST_ROWS, print_receipt, say, shade_signed

WIDE = 40


@prints(HeatMaps)
def print_heat_maps(console: Console, record: HeatMaps) -> None:
    """Print the first maps, with what the network said of their images."""
    say(console, text.method_text(record), text.flat_text(record))
    console.print()
    for row in range(min(len(record), MOST_ROWS)):
        say(console, text.title_text(record, row), style="bold")
        if not record.empty[row]:
            top = float(np.abs(record.maps[row]).max())
            console.print(shade_signed(record.maps[row], WIDE, top))
        say(console, text.heat_text(record, row))
        console.print()
    if len(record) > MOST_ROWS:
        console.print(text.more_text(len(record) - MOST_ROWS))
    print_receipt(console, record)
