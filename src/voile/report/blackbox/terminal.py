"""Influences in a terminal: tables with bars, marked words, or small heat maps of characters."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from voile.explain.influence_text import (
    answer_text,
    local_score_text,
    meaning_text,
    noise_text,
    read_text,
    title_text,
    trust_text,
)
from voile.explain.influence_words import cut_words, split_text
from voile.explain.influences import Influences
from voile.report.blackbox.bars import find_influences
from voile.report.locally_linear.pictures import sum_channels
from voile.report.lvq.terminal import SHADES, sample_picture, tabulate_parts

MOST_ROWS, MOST_PARTS, MOST_TEXT, WIDE = 5, 8, 400, 32


def print_influences(console: Console, record: Influences) -> None:
    """Print what moved the scores of the first rows."""
    console.print(Text(meaning_text(record)))
    console.print()
    for row in range(min(len(record), MOST_ROWS)):
        _print_row(console, record, row)
    if len(record) > MOST_ROWS:
        console.print(f"... and {len(record) - MOST_ROWS} more rows: to_frame() has them all")


def _print_row(console: Console, record: Influences, row: int) -> None:
    console.print(Text(title_text(record, row), style="bold"))
    if not record.outputs:
        return
    output = record.outputs_by_score(row)[0]
    if record.words and record.texts:
        console.print(_marked(record, row, output))
    if record.picture is not None:
        console.print(_heat(record, row, output))
    elif record.features:
        parts = find_influences(record, row, output, most=MOST_PARTS)
        console.print(tabulate_parts(parts, "feature"))
    told = (
        local_score_text(record, row, output),
        trust_text(record, row, output),
        answer_text(record, row),
        read_text(record, row),
        noise_text(record, row, output),
    )
    for text in told:
        if text:
            console.print(Text(text))
    count = len(record.outputs)
    if count > 1:
        console.print(f"Told: the highest of {count} scores; to_frame() has them all.")
    console.print()


def _marked(record: Influences, row: int, output: int) -> Text:
    """The text, its words in orange or blue if they are beyond their noise."""
    whole, text = record.texts[row], Text()
    seen = cut_words(whole, MOST_TEXT)
    doubtful, values = record.doubtful[row, :, output], record.values[row, :, output]
    for one in split_text(seen, record.features):
        style = ""
        if one.feature is not None and not doubtful[one.feature]:
            style = "bold dark_orange" if values[one.feature] > 0 else "bold blue"
        text.append(one.text, style=style)
    return text if seen == whole else text.append(" …")


def _heat(record: Influences, row: int, output: int) -> Text:
    """Shades of orange for pixels that raise the score, of blue for those that lower it."""
    assert record.picture is not None
    values = sum_channels(record.values[row, :, output], record.picture)
    pixels = sample_picture(values.reshape(record.picture[:2]), WIDE)
    top = float(np.abs(pixels).max(initial=0.0)) or 1.0
    steps = np.rint(np.abs(pixels) / top * (len(SHADES) - 1)).astype(np.int64)
    text = Text()
    for line, sizes in zip(pixels, steps, strict=True):
        for value, step in zip(line, sizes, strict=True):
            text.append(SHADES[step], style="dark_orange" if value > 0 else "blue")
        text.append("\n")
    return text
