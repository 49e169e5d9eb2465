"""The budget bar: which purpose took which part of a job's budget."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from voile.privacy.receipt import Receipt

_COLOURS = ("#31688e", "#35b779", "#e9a23b", "#d1495b", "#7b5ea7", "#6b7280", "#0f766e", "#b45309")


def budget_bar(receipt: Receipt) -> go.Figure:
    """One stacked bar: the steps of a receipt by their share of the loss."""
    figure = go.Figure()
    for i, line in enumerate(receipt.lines):
        share = 0.0 if math.isnan(line.share) else 100 * line.share
        figure.add_trace(
            go.Bar(
                x=[share],
                y=["budget"],
                name=f"{line.label} ({share:.0f} %)",
                orientation="h",
                marker={"color": _COLOURS[i % len(_COLOURS)]},
                hovertemplate=f"{line.label}: %{{x:.1f}} %<extra></extra>",
            )
        )
    figure.update_layout(
        barmode="stack",
        height=140,
        template="plotly_white",
        margin={"l": 60, "r": 20, "t": 10, "b": 30},
        xaxis={"range": [0, 100], "ticksuffix": " %"},
        yaxis={"visible": False},
        legend={"orientation": "h", "y": 1.4, "traceorder": "normal"},
    )
    return figure
