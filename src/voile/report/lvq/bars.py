"""What spoke for a row's class and what against it: a bar per column."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from voile.explain.plain_text import cut_text
from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_text import brief, given_text, prototype_name, value_text
from voile.report.kit.bars import Part, draw_bars
from voile.report.kit.text import plot_text, short_names

MOST_BARS = 12
"""Columns with a bar of their own; what the rest added is summed."""

MOST_NAME, MOST_VALUE = 24, 18


def find_parts(explanation: PrototypeDecisions, row: int) -> list[Part]:
    """Parts of one row, the greatest first, the rest summed (their noise taken as independent)."""
    one, sizes = explanation.decisions[row], explanation.parts(row)
    order = np.argsort(-np.abs(sizes), kind="stable").tolist()
    # A sum of a single column would say less than the column itself.
    most = MOST_BARS if len(order) > MOST_BARS + 1 else len(order)
    parts = []
    labels = short_names(explanation.columns, MOST_NAME)
    for i in order[:most]:
        name, read = explanation.columns[i], one.read_as[i]
        value = brief(one.given[i]) + (f" → {brief(read)}" if read else "")
        parts.append(
            Part(
                f"{labels[i]} = {cut_text(value, MOST_VALUE)}",
                (f"{name} = {given_text(one, i)}", *typical_texts(explanation, row, name)),
                float(sizes[i]),
                float(one.part_errors[i]),
            )
        )
    rest = order[most:]
    if rest:
        names = ", ".join(explanation.columns[i] for i in rest)
        parts.append(
            Part(
                f"{len(rest)} other columns",
                (cut_text(f"{len(rest)} other columns: {names}", 150),),
                float(sizes[rest].sum()),
                float(np.sqrt((one.part_errors[rest] ** 2).sum())),
            )
        )
    return parts


def typical_texts(explanation: PrototypeDecisions, row: int, column: str) -> list[str]:
    """What is typical of the two prototypes in a column: "typical 'no': 12 ± 0.7"."""
    one = explanation.decisions[row]
    return [
        f"typical {prototype_name(explanation.labels, explanation.outputs, p)}: "
        f"{typical_text(explanation, p, column)}"
        for p in (one.right, one.wrong)
        if p >= 0
    ]


def typical_text(explanation: PrototypeDecisions, p: int, column: str, *, most: int = 3) -> str:
    """A prototype's number, or its most frequent levels, with the noise."""
    found = [j for j, one in enumerate(explanation.features) if one.column == column]
    values, errors = explanation.prototypes[p], explanation.standard_errors[p]
    texts = [
        (f"{one.level} " if one.level is not None else "")
        + value_text(one, float(values[j]), float(errors[j]))
        for j in sorted(found, key=lambda j: -values[j])[:most]
        for one in (explanation.features[j],)
    ]
    return ", ".join(texts) + (", …" if len(found) > most else "")


def draw_parts(explanation: PrototypeDecisions, row: int) -> go.Figure:
    """Draw a bar per column, to the right what speaks for the class, to the left what against.

    Whiskers are two standard errors of the privacy noise of the two prototypes.
    """
    one = explanation.decisions[row]
    wrong = prototype_name(explanation.labels, explanation.outputs, one.wrong)
    right = prototype_name(explanation.labels, explanation.outputs, one.right)
    return draw_bars(
        find_parts(explanation, row),
        Part("together", ("together",), one.gap, one.gap_error),
        f"← nearer to {plot_text(wrong, 28)}   |   nearer to {plot_text(right, 28)} →",
    )
