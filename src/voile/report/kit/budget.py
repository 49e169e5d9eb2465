"""The budget bar: which purpose took which part of a job's budget."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from voile.privacy.receipt import Receipt
from voile.report.kit.palette import dress, series_colour
from voile.report.kit.text import plot_text


def share_text(share: float) -> str:
    """A share of a budget in whole percent; a little is not told as nothing, nor most as all.

    Examples
    --------
    >>> share_text(0.004), share_text(0.25), share_text(0.998), share_text(0.0)
    ('under 1 %', '25 %', 'over 99 %', '0 %')
    """
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def budget_key(receipt: Receipt) -> list[tuple[str, str]]:
    """Colour and meaning of each part of the bar; empty if no part has a share."""
    return [
        (series_colour(i), f"{line.label} ({share_text(line.share)})")
        for i, line in enumerate(receipt.lines)
        if not math.isnan(line.share)
    ]


def budget_bar(receipt: Receipt) -> go.Figure:
    """One stacked bar: the steps of a receipt by their share of the loss."""
    figure = go.Figure()
    for i, line in enumerate(receipt.lines):
        share = 0.0 if math.isnan(line.share) else 100 * line.share
        figure.add_trace(
            go.Bar(
                x=[share],
                y=[0],
                name=plot_text(line.label),
                orientation="h",
                marker={"color": series_colour(i), "line": {"color": "white", "width": 1}},
                hovertext=f"{plot_text(line.label)}: {share:.1f} %",
                hoverinfo="text",
            )
        )
    return dress(
        figure,
        90,
        barmode="stack",
        showlegend=False,
        margin={"l": 12, "r": 24, "t": 6, "b": 30},
        xaxis={"range": [0, 100], "ticksuffix": " %"},
        yaxis={"visible": False},
    )
