"""A row's contributions as a waterfall: from the average score, column by column, to its score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.significance import NOTHING
from voile.explain.blackbox.text import (
    MOST_NAMED,
    base_text,
    list_nothing,
    list_parts,
    part_text,
    sum_text,
)
from voile.explain.blackbox.units import PROBABILITY, score_text, times, unit_text
from voile.explain.ebm.text import cut_text
from voile.explain.lvq.text import brief
from voile.report.kit.bars import MOST_BARS, Part, draw_steps, value_label
from voile.report.kit.text import plot_text, short_names

MOST_NAME = 20

PALE = 0.6
"""Opacity of what is perhaps there; what cannot be told from nothing is grey."""


def find_steps(
    record: BlackBoxLocalExplanation, row: int, output: int, most: int = MOST_BARS
) -> list[Part]:
    """What columns added, the greatest first; then smaller ones, and those that may be nothing."""
    names = short_names(record.columns, MOST_NAME)
    parts, nothing = list_parts(record, row, output), list_nothing(record, row, output)
    # A sum of a single column would say less than the column itself.
    kept = parts if len(parts) <= most + 1 else parts[:most]
    steps = [_step(record, row, output, j, names[j]) for j in kept]
    rest = parts[len(kept) :]
    if rest:
        label = f"{len(rest)} smaller ones"
        steps.append(_sum(record, row, output, rest, label, nothing=False))
    if len(nothing) == 1:
        steps.append(_step(record, row, output, nothing[0], names[nothing[0]]))
    elif nothing:
        label = f"{len(nothing)} that may be nothing"
        steps.append(_sum(record, row, output, nothing, label, nothing=True))
    level = times(record.units) * float(record.base_values[output])
    for i, part in enumerate(steps):
        steps[i] = replace(part, start=level)
        level += part.size
    return steps


def _step(record: BlackBoxLocalExplanation, row: int, output: int, column: int, name: str) -> Part:
    factor, label, told = times(record.units), name, [record.columns[column]]
    if record.given[row]:
        given, read = record.given[row][column], record.read_as[row][column]
        label = value_label(name, brief(given), brief(read) if read else "")
        told = [f"{record.columns[column]} = {given}" + (f", read as {read}" if read else "")]
    verdict = record.verdicts(row, output)[column]
    return Part(
        label,
        (*told, str(verdict)),
        factor * float(record.values[row, column, output]),
        factor * float(record.standard_errors[row, column, output]),
        nothing=verdict == NOTHING,
        # The colour and a note below tell what may be nothing: words would not fit.
        text=part_text(record, row, output, column).removesuffix(f", {NOTHING}"),
    )


def _sum(
    record: BlackBoxLocalExplanation,
    row: int,
    output: int,
    places: list[int],
    label: str,
    *,
    nothing: bool,
) -> Part:
    """Several columns as one step; their errors are taken as independent."""
    names = ", ".join(record.columns[j] for j in places[: 2 * MOST_NAMED])
    error = float(np.sqrt((record.standard_errors[row, places, output] ** 2).sum()))
    total = float(record.values[row, places, output].sum())
    return Part(
        label,
        (cut_text(f"{label}: {names}", 150),),
        times(record.units) * total,
        times(record.units) * error,
        nothing=nothing,
        text=sum_text(record, total, error),
    )


def find_ends(record: BlackBoxLocalExplanation, row: int, output: int) -> tuple[Part, Part]:
    """Where a row starts, and where it ends: the score is exact."""
    factor = times(record.units)
    base, error = float(record.base_values[output]), float(record.base_errors[output])
    score = float(record.scores[row, output])
    return (
        Part("average score", (), factor * base, factor * error, text=base_text(record, output)),
        Part("this row's score", (), factor * score, 0.0, text=score_text(score, record.units)),
    )


def draw_waterfall(record: BlackBoxLocalExplanation, row: int, output: int) -> go.Figure:
    """Draw how one row got its score.

    Parameters
    ----------
    record : BlackBoxLocalExplanation
    row, output : int
        Positions.

    Returns
    -------
    Figure
        The average score at the top, a floating bar per column, the score at the bottom; whiskers
        are 95 % intervals; what is perhaps there is pale, what may be nothing grey.
    """
    steps = find_steps(record, row, output)
    base, score = find_ends(record, row, output)
    figure = draw_steps(base, steps, score, score_title(record, output))
    opacity = [PALE if part.told[-1] == "perhaps" else 1.0 for part in steps]
    return figure.update_traces(marker_opacity=opacity, selector={"type": "bar"})


def score_title(record: BlackBoxLocalExplanation, output: int) -> str:
    """What an axis of scores shows; escaped."""
    name = plot_text(record.outputs[output], 28)
    unit = "%" if record.units == PROBABILITY else plot_text(unit_text(record.units), 40)
    return f"score of '{name}', {unit}"
