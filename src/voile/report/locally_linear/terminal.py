"""Filters and decisions in a terminal: tables with bars, or small pictures of characters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.filter_bank import FilterBank
from voile.explain.filter_decision_text import (
    decision_text,
    decision_title,
    doubt_text,
    filled_text,
    maps_text,
)
from voile.explain.filter_decisions import FilterDecisions
from voile.explain.filter_text import (
    no_rows_text,
    noise_text,
    ranking_text,
    size_text,
    spread_text,
    teacher_text,
)
from voile.explain.picture_shape import PictureShape
from voile.explain.plain_text import cut_text
from voile.explain.wording import noisy
from voile.report.locally_linear.bars import find_contrast, find_lead
from voile.report.locally_linear.pictures import sum_channels
from voile.report.lvq.terminal import SHADES, sample_picture, tabulate_parts

MOST_CLASSES, MOST_FEATURES, WIDE = 20, 6, 32

Floats = NDArray[np.float64]


def print_bank(console: Console, bank: FilterBank) -> None:
    """Print what each class looks for."""
    console.print(Text(f"What each class looks for: {size_text(bank)}", style="bold"))
    for k, name in enumerate(bank.outputs[:MOST_CLASSES]):
        about = "; ".join(text for text in (spread_text(bank, k), noise_text(bank, k)) if text)
        console.print(Text(f"'{cut_text(name, 40)}'", style="bold"), Text(about))
        if bank.image_shape is None:
            console.print(tabulate_parts(find_contrast(bank, k)[:MOST_FEATURES], "feature"))
        else:
            console.print(_class_picture(bank, k))
    left = len(bank.outputs) - MOST_CLASSES
    if left > 0:
        console.print(f"... and {left} more classes: to_frame() has them all")
    for text in (teacher_text(bank), ranking_text(bank), no_rows_text(bank.receipt)):
        if text:
            console.print(Text(text))


def print_row(console: Console, explanation: FilterDecisions, row: int) -> None:
    """Print why one row got its class."""
    one = explanation.decisions[row]
    console.print(Text(decision_title(explanation, row), style="bold"))
    console.print(Text(decision_text(explanation, row)))
    if explanation.image_shape is not None:
        console.print(_row_pictures(explanation, row))
    elif one.runner_up >= 0:
        table = tabulate_parts(find_lead(explanation, row))
        table.add_row("together", noisy(one.margin, one.margin_error))
        console.print(table)
    told = (
        maps_text(explanation, row, one.predicted),
        doubt_text(one),
        filled_text(explanation, row),
    )
    for text in told:
        if text:
            console.print(Text(text))
    console.print()


def _class_picture(bank: FilterBank, k: int) -> Table:
    shape, likeness = bank.image_shape, bank.likeness
    assert shape is not None
    assert likeness is not None
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("looks for", no_wrap=True)
    table.add_column("filter", no_wrap=True)
    table.add_row(_grey(likeness[k], shape), _signed(bank.contrast[k], shape))
    return table


def _row_pictures(explanation: FilterDecisions, row: int) -> Table:
    shape, one = explanation.image_shape, explanation.decisions[row]
    assert shape is not None
    table = Table(box=None, padding=(0, 2, 0, 0))
    values = np.array([float(f.place(one.values[j])) for j, f in enumerate(explanation.features)])
    table.add_column("this row", no_wrap=True)
    table.add_column("what decided" if one.runner_up >= 0 else "what it added", no_wrap=True)
    table.add_row(_grey(values, shape), _signed(explanation.against(row), shape))
    return table


def _grey(shares: Floats, shape: PictureShape) -> Text:
    channels = len(shares) // (shape[0] * shape[1])
    pixels = (sum_channels(shares, shape) / channels).reshape(shape[:2])
    steps = _steps(np.clip(sample_picture(pixels, WIDE), 0.0, 1.0))
    return Text("\n".join("".join(SHADES[one] for one in line).rstrip() for line in steps))


def _signed(values: Floats, shape: PictureShape) -> Text:
    """Shades of orange above 0 and of blue below."""
    pixels = sample_picture(sum_channels(values, shape).reshape(shape[:2]), WIDE)
    steps = _steps(np.abs(pixels) / (float(np.abs(pixels).max(initial=0.0)) or 1.0))
    text = Text()
    for n, (line, sizes) in enumerate(zip(pixels, steps, strict=True)):
        text.append("\n" if n else "")
        for value, step in zip(line, sizes, strict=True):
            text.append(SHADES[step], style="dark_orange" if value > 0 else "blue")
    return text


def _steps(shares: Floats) -> NDArray[np.int64]:
    return np.rint(shares * (len(SHADES) - 1)).astype(np.int64)
