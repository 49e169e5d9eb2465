"""Pairs in a terminal: a small map of signs, in colours where there are any."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.text import Text

from voile.explain.ebm import text
from voile.explain.ebm.factors import LOG_UNIT, factor_text
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.wording import readable, signed
from voile.models.ebm.pair_term import pair_name
from voile.models.verdict import MARK
from voile.report.ebm.pair_map import NO_ROWS, MapAxis, empty_cells, place_sides, told_cells
from voile.report.ebm.pair_part import NONE_CLEAR, find_peaks, pair_text
from voile.report.kit import terminal as kit
from voile.schema.value_texts import edge_texts

MOST_PAIRS, LEVELS, CELL, MOST_LABEL = 3, 3, 4, 14
"""Maps, signs of the strongest cell, characters of a cell, and of a label beside the map."""

NOTHING, EMPTY = "·", ""


def print_pairs(console: Console, record: EBMExplanation) -> None:
    """Print the maps of the most important pairs that may be something, where there is room."""
    pairs = [pair for pair in record.shown_parts if isinstance(pair, ExplainedPair)]
    for pair in pairs[:MOST_PAIRS]:
        kit.say(console, "", pair.name, style="bold")
        kit.say(console, pair_text(pair, record.outputs, factors=record.units == LOG_UNIT))
        across, _ = place_sides(pair)
        if MOST_LABEL + CELL * len(across.side.labels) < console.width:
            console.print(map_text(pair, text.leading_output(pair)))
            kit.say(console, f"across: {_side_text(across)}")
    if pairs:
        kit.say(
            console,
            "",
            f"In maps, + raises the score and - lowers it, the more the stronger; {NOTHING} "
            f"{MARK}; where it is empty, there are {NO_ROWS}.",
        )


def peaks_text(pair: ExplainedPair, most: int, *, factors: bool = False) -> str:
    """The cells that lower and raise a score most, in a few characters each."""
    k = text.leading_output(pair)
    cells = sorted(find_peaks(pair, k), key=lambda cell: float(pair.scores[(*cell, k)]))
    return (
        ", ".join(_cell_text(pair, i, j, k, most, factors=factors) for i, j in cells) or NONE_CLEAR
    )


def _cell_text(pair: ExplainedPair, i: int, j: int, k: int, most: int, *, factors: bool) -> str:
    score = float(pair.scores[i, j, k])
    size = readable(score, float(pair.standard_errors[i, j, k]))
    sides = (pair.first.labels[i], pair.second.labels[j])
    name = pair_name(*(text.cut_text(one, max(most // 2, 4)) for one in sides))
    return f"{factor_text(score) if factors else signed(size)} at {name}"


def map_text(pair: ExplainedPair, output: int) -> Text:
    """The grid of a pair as lines of signs."""
    across, up = place_sides(pair)
    side, turned = up.side, across.side is pair.first
    told, empty = told_cells(pair)[..., output], empty_cells(pair)
    scores = pair.scores[..., output]
    if turned:
        told, empty, scores = told.T, empty.T, scores.T
    top = float(np.abs(scores)[told].max(initial=0.0)) or 1.0
    order = [*range(side.regular)]
    # Upwards, as in a figure; what is apart lies beneath.
    order = [*(reversed(order) if side.is_number else order), *([side.regular] * up.apart)]
    lines = Text(f"{text.cut_text(side.name, MOST_LABEL)}:")
    for i in order:
        lines.append(f"\n{text.cut_text(side.labels[i], MOST_LABEL - 1):>{MOST_LABEL - 1}} ")
        for j in range(across.side.regular + across.apart):
            if not told[i, j]:
                lines.append((EMPTY if empty[i, j] else NOTHING).center(CELL))
                continue
            size = float(scores[i, j])
            count = max(1, min(LEVELS, int(np.ceil(LEVELS * abs(size) / top))))
            sign, style = ("+", "dark_orange") if size > 0 else ("-", "blue")
            lines.append((sign * count).center(CELL), style=style)
    return lines


def _side_text(axis: MapAxis) -> str:
    """What runs from left to right."""
    side = axis.side
    names = [text.cut_text(label, MOST_LABEL) for label in side.labels]
    if not side.is_number:
        return f"{side.name}: {'; '.join(names if axis.apart else names[:-1])}"
    low, high = edge_texts(side.edges[[0, -1]].tolist(), side.scale)
    return f"{side.name}, from {low} to {high}" + (f"; then {names[-1]}" if axis.apart else "")
