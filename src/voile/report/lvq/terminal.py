"""Prototypes and decisions in a terminal: tables, with bars or small pictures of characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.plain_text import cut_text
from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import (
    changes_text,
    decision_text,
    decision_title,
    doubt_text,
    mean_share,
    prototype_name,
    value_text,
)
from voile.explain.wording import noisy, short
from voile.report.kit.bars import Part
from voile.report.lvq.bars import find_parts

MOST_PROTOTYPES, MOST_FEATURES, BAR, WIDE = 20, 4, 10, 24
SHADES = " ░▒▓█"


def tabulate_prototypes(explanation: PrototypeExplanation) -> Table:
    """A line per prototype, with its most relevant features or a small picture."""
    picture = explanation.image_shape is not None
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column("prototype", no_wrap=True, max_width=20)
    table.add_column("rows", no_wrap=True, justify="right")
    table.add_column("off mean", no_wrap=True, justify="right")
    table.add_column("picture" if picture else "typical", max_width=36)
    for p, label in enumerate(explanation.labels[:MOST_PROTOTYPES]):
        name = prototype_name(explanation.labels, explanation.outputs, p)
        count = float(explanation.counts[label])
        table.add_row(
            Text(cut_text(name, 20)),
            f"{count:,.0f}" if np.isfinite(count) else "?",
            mean_share(float(explanation.distance_from_mean[p])),
            Text(_small_picture(explanation, p) if picture else _features(explanation, p)),
        )
    left = len(explanation.labels) - MOST_PROTOTYPES
    if left > 0:
        table.add_row(Text(f"... {left} more"))
    return table


def print_decision(console: Console, explanation: PrototypeDecisions, row: int) -> None:
    """Print why one row got its class."""
    one = explanation.decisions[row]
    console.print(Text(decision_title(explanation, row), style="bold"))
    console.print(Text(decision_text(explanation, row)))
    if one.wrong >= 0 and explanation.image_shape is None:
        console.print(_tabulate_parts(explanation, row))
    for text in (doubt_text(one), changes_text(explanation, row)):
        if text:
            console.print(Text(text))
    console.print()


def _tabulate_parts(explanation: PrototypeDecisions, row: int) -> Table:
    one = explanation.decisions[row]
    table = tabulate_parts(find_parts(explanation, row))
    table.add_row("together", noisy(one.gap, one.gap_error))
    return table


def tabulate_parts(parts: Sequence[Part], head: str = "column") -> Table:
    """Parts with bars to both sides."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    table.add_column(head, no_wrap=True, max_width=36)
    table.add_column("part", no_wrap=True)
    table.add_column("against", no_wrap=True, justify="right", min_width=BAR)
    table.add_column("for", no_wrap=True, min_width=BAR)
    top = max([abs(part.size) for part in parts] + [1e-300])
    for part in parts:
        bar = "█" * round(BAR * abs(part.size) / top)
        table.add_row(
            Text(part.label),
            part.number,
            Text(bar if part.size < 0 else "", style="blue"),
            Text(bar if part.size > 0 else "", style="dark_orange"),
        )
    return table


def _features(explanation: PrototypeExplanation, p: int) -> str:
    texts = [
        f"{cut_text(explanation.features[j].name, 20)} "
        + value_text(explanation.features[j], float(explanation.values[p, j]))
        for j in explanation.ranked[:MOST_FEATURES]
    ]
    left = len(explanation.features) - MOST_FEATURES
    return ", ".join(texts) + (f" and {short(left)} more" if left > 0 else "")


def _small_picture(explanation: PrototypeExplanation, p: int) -> str:
    """A prototype as lines of characters."""
    assert explanation.image_shape is not None
    height, width = explanation.image_shape
    shares = np.array(
        [float(one.place(explanation.values[p, j])) for j, one in enumerate(explanation.features)]
    ).reshape(height, width)
    steps = np.rint(np.clip(sample_picture(shares), 0, 1) * (len(SHADES) - 1)).astype(int)
    return "\n".join("".join(SHADES[one] for one in line).rstrip() for line in steps)


def sample_picture(pixels: NDArray[np.float64], wide: int = WIDE) -> NDArray[np.float64]:
    """The pixels that characters stand for; a character is twice as high as wide."""
    height, width = pixels.shape
    across = min(wide, 2 * width)
    down = max(1, round(across / 2 * height / width))
    rows = np.linspace(0, height - 1, down).round().astype(int)
    columns = np.linspace(0, width - 1, across).round().astype(int)
    return np.asarray(pixels[np.ix_(rows, columns)])
