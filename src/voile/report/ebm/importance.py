"""Importance bars: how much each term matters, and how much noise alone would."""

from __future__ import annotations

import plotly.graph_objects as go

from voile.explain.global_explanation import GlobalExplanation
from voile.explain.wording import short
from voile.report.kit.palette import INK, dress, legend_room, series_colour, series_pattern
from voile.report.kit.text import plot_labels, plot_text

MOST_TERMS = 40


def draw_importance(explanation: GlobalExplanation) -> go.Figure:
    """Draw a bar per term (the first `MOST_TERMS`), with a mark at what noise alone would give.

    Several outputs are stacked: the length of a bar is the sum over outputs.
    """
    terms = explanation.ranked[:MOST_TERMS]
    single = len(explanation.outputs) == 1
    heights = list(range(len(terms)))
    figure = go.Figure()
    for k, output in enumerate(explanation.outputs):
        about = "" if single else f" ({plot_text(output)})"
        figure.add_trace(
            go.Bar(
                x=[float(term.importance[k]) for term in terms],
                y=heights,
                orientation="h",
                marker={
                    "color": INK if single else series_colour(k),
                    "pattern": {"shape": series_pattern(k), "solidity": 0.4},
                    "line": {"color": "white", "width": 0.5},
                },
                name="importance" if single else plot_text(output, 30),
                hovertext=[
                    f"<b>{plot_text(term.name)}</b>{about}: {short(float(term.importance[k]))}"
                    for term in terms
                ],
                hoverinfo="text",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[float(term.noise_importance.sum()) for term in terms],
            y=heights,
            mode="markers",
            marker={"symbol": "line-ns", "size": 14, "line": {"width": 2, "color": "#000"}},
            name="noise alone",
            hovertext=[
                f"noise alone would give about {short(float(term.noise_importance.sum()))}"
                for term in terms
            ],
            hoverinfo="text",
        )
    )
    units = plot_text(explanation.units) if single else "all scores together"
    return dress(
        figure,
        24 * len(terms) + 110 + legend_room(len(explanation.outputs)),
        barmode="stack",
        bargap=0.25,
        xaxis={
            "title": f"importance ({units})",
            "rangemode": "tozero",
        },
        yaxis={
            "tickvals": heights,
            "ticktext": plot_labels([term.name for term in terms], 22),
            "range": [len(terms) - 0.4, -0.6],
            "automargin": True,
            "ticklabelstandoff": 4,
        },
        margin={"l": 40, "r": 12, "t": 12, "b": 45},
    )
