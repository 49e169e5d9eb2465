"""What spoke for a row's class and what against it: a bar per column."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from voile.explain.plain_text import cut_text
from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_text import brief, given_text, prototype_name, value_text
from voile.explain.wording import noisy
from voile.report.palette import LOWER, RAISE, WAS, dress
from voile.report.plot_text import plot_text

MOST_BARS = 12
"""Columns with a bar of their own; what the rest added is summed."""

MOST_NAME, MOST_VALUE = 24, 18


@dataclass(frozen=True)
class Part:
    """What one column added to the difference of the squared distances.

    Attributes
    ----------
    label, told : str
        A name to show, and everything there is to tell on pointing at it; plain text, lines apart.
    size, standard_error : float
    """

    label: str
    told: tuple[str, ...]
    size: float
    standard_error: float


def find_parts(explanation: PrototypeDecisions, row: int) -> list[Part]:
    """Parts of one row, the greatest first, the rest summed (their noise taken as independent)."""
    one, sizes = explanation.decisions[row], explanation.parts(row)
    order = np.argsort(-np.abs(sizes), kind="stable").tolist()
    # A sum of a single column would say less than the column itself.
    most = MOST_BARS if len(order) > MOST_BARS + 1 else len(order)
    parts = []
    for i in order[:most]:
        name, read = explanation.columns[i], one.read_as[i]
        value = brief(one.given[i]) + (f" → {brief(read)}" if read else "")
        parts.append(
            Part(
                f"{cut_text(name, MOST_NAME)} = {cut_text(value, MOST_VALUE)}",
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
    one, parts = explanation.decisions[row], find_parts(explanation, row)
    last = len(parts)
    figure = go.Figure(
        go.Bar(
            x=[part.size for part in parts],
            y=list(range(last)),
            orientation="h",
            width=0.62,
            marker={"color": [RAISE if part.size > 0 else LOWER for part in parts]},
            error_x={
                "array": [_whisker(part.standard_error) for part in parts],
                "color": WAS,
                "thickness": 1.5,
                "width": 4,
            },
            hovertext=[
                "<br>".join([*map(plot_text, part.told), noisy(part.size, part.standard_error)])
                for part in parts
            ],
            hoverinfo="text",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[one.gap],
            y=[last],
            mode="markers",
            marker={"symbol": "diamond", "size": 11, "color": "#222"},
            error_x={"array": [_whisker(one.gap_error)], "color": WAS, "thickness": 1.5},
            hovertext=[f"together: {noisy(one.gap, one.gap_error)}"],
            hoverinfo="text",
        )
    )
    labels = [
        *(_two_lines(part.label, noisy(part.size, part.standard_error)) for part in parts),
        _two_lines("together", noisy(one.gap, one.gap_error)),
    ]
    wrong = prototype_name(explanation.labels, explanation.outputs, one.wrong)
    right = prototype_name(explanation.labels, explanation.outputs, one.right)
    return dress(
        figure,
        36 * (last + 1) + 60,
        showlegend=False,
        xaxis={
            "title": f"← nearer to {plot_text(wrong, 28)}   |   nearer to {plot_text(right, 28)} →",
            "zeroline": True,
            "zerolinecolor": "#999",
            "nticks": 6,
            "tickangle": 0,
        },
        yaxis={
            "tickvals": list(range(last + 1)),
            "ticktext": labels,
            "range": [last + 0.6, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
        },
        margin={"l": 40, "r": 16, "t": 8, "b": 45},
    )


def _whisker(standard_error: float) -> float | None:
    """Two standard errors; nothing can be drawn for an infinite one, and the label tells it."""
    return 2 * standard_error if math.isfinite(standard_error) else None


def _two_lines(label: str, number: str) -> str:
    return f'{plot_text(label)}<br><span style="color:#666">{number}</span>'
