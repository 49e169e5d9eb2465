"""What records look like in a terminal: tables with bars, and small pictures of characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.ebm.text import cut_text
from voile.explain.explanation import Explanation
from voile.report.kit.bars import Part

Floats = NDArray[np.float64]

MOST_ROWS, BAR, MOST_SIDE, WIDEST = 5, 10, 8, 36
SHADES = " ░▒▓█"


def plain_table() -> Table:
    """A table without lines."""
    return Table(box=None, padding=(0, 1, 0, 0))


def bar_text(size: float, top: float, style: str = "blue") -> Text:
    """A bar of at most `BAR` characters."""
    return Text("█" * round(BAR * size / max(top, 1e-300)), style=style)


def say(console: Console, *texts: str, style: str = "") -> None:
    """Print plain texts, a line each, without those that are empty."""
    for text in texts:
        if text:
            console.print(Text(text, style=style))


def print_rows(
    console: Console, count: int, print_row: Callable[[int], None], below: str = ""
) -> None:
    """Print the first rows, what is said below them, and how many more there are."""
    for row in range(min(count, MOST_ROWS)):
        print_row(row)
    say(console, below)
    if count > MOST_ROWS:
        console.print(f"... and {count - MOST_ROWS} more rows: to_frame() has them all")


def print_receipt(console: Console, record: Explanation) -> None:
    """Print what an explanation cost, and what its model guarantees."""
    say(console, record.cost, record.receipt.guarantee)
    say(console, *record.receipt.notes, style="bold")


def name_sides(left: str, first: str, right: str, second: str) -> tuple[str, str]:
    """Heads of bars to both sides, each with the class that it is about, cut to fit.

    Examples
    --------
    >>> name_sides("for", "Ja", "for", "Nein")
    ("for 'Ja'", "for 'Nein'")
    """
    return (
        f"{left} '{cut_text(first, MOST_SIDE)}'",
        f"{right} '{cut_text(second, MOST_SIDE)}'",
    )


def tabulate_parts(
    parts: Sequence[Part],
    head: Sequence[str] = ("column", "part", "against", "for"),
    *,
    before: Iterable[Part] = (),
    after: Iterable[Part] = (),
) -> Table:
    """Parts with bars to both sides; numbers without a bar may come before and after them."""
    table = plain_table()
    room = WIDEST - sum(max(len(side) - BAR, 0) for side in head[2:])
    table.add_column(head[0], no_wrap=True, max_width=room)
    table.add_column(head[1], no_wrap=True)
    table.add_column(Text(head[2]), no_wrap=True, justify="right", min_width=BAR)
    table.add_column(Text(head[3]), no_wrap=True, min_width=BAR)
    top = max([abs(part.size) for part in parts] + [1e-300])
    for part in before:
        table.add_row(Text(part.label), part.number)
    for part in parts:
        table.add_row(
            Text(part.label),
            part.judged,
            bar_text(max(-part.size, 0.0), top, "dim" if part.nothing else "blue"),
            bar_text(max(part.size, 0.0), top, "dim" if part.nothing else "dark_orange"),
        )
    for part in after:
        table.add_row(Text(part.label), part.number)
    return table


def shade_grey(shares: Floats, wide: int) -> Text:
    """A picture of numbers from 0 to 1 as lines of characters, the denser the greater."""
    steps = _steps(np.clip(sample_picture(shares, wide), 0.0, 1.0))
    return Text("\n".join("".join(SHADES[one] for one in line).rstrip() for line in steps))


def shade_signed(values: Floats, wide: int, top: float | None = None) -> Text:
    """A picture in shades of orange above 0 and of blue below; ``top`` has the densest."""
    pixels = sample_picture(values, wide)
    steps = _steps(np.abs(pixels) / (top or float(np.abs(pixels).max(initial=0.0)) or 1.0))
    text = Text()
    for number, (line, sizes) in enumerate(zip(pixels, steps, strict=True)):
        text.append("\n" if number else "")
        for value, step in zip(line, sizes, strict=True):
            text.append(SHADES[step], style="dark_orange" if value > 0 else "blue")
    return text


def sample_picture(pixels: Floats, wide: int) -> Floats:
    """The pixels that characters stand for; a character is twice as high as wide."""
    height, width = pixels.shape
    across = min(wide, 2 * width)
    down = max(1, round(across / 2 * height / width))
    rows = np.linspace(0, height - 1, down).round().astype(int)
    columns = np.linspace(0, width - 1, across).round().astype(int)
    return np.asarray(pixels[np.ix_(rows, columns)])


def _steps(shares: Floats) -> NDArray[np.int64]:
    return np.rint(shares * (len(SHADES) - 1)).astype(np.int64)
