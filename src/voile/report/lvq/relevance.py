"""What a learned distance looks at: a bar per column, and the pairs of features as a map."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.wording import percent, signed
from voile.report.kit.palette import INK, LOWER, NAMED_MARGIN, RAISE, dress, names_axis
from voile.report.kit.text import plot_labels, plot_text

MOST_COLUMNS, MOST_WRITTEN = 40, 10
"""Columns with a bar; features up to which the map has numbers in it."""

PALE_LOWER, PALE_RAISE, WRITTEN = "#6fb6e3", "#f0a06a", "#111"
"""Colours of a map with numbers in it, which dark letters can be read on."""


def draw_relevance(explanation: PrototypeExplanation) -> go.Figure:
    """Draw a bar per column (the first `MOST_COLUMNS`): its part of the distance."""
    sizes = explanation.column_relevance
    order = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS].tolist()
    names = [explanation.columns[i] for i in order]
    figure = go.Figure(
        go.Bar(
            x=[100 * float(sizes[i]) for i in order],
            y=list(range(len(order))),
            orientation="h",
            marker={"color": INK},
            hovertext=[
                f"<b>{plot_text(name)}</b>: {percent(float(sizes[i]))}"
                for name, i in zip(names, order, strict=True)
            ],
            hoverinfo="text",
        )
    )
    return dress(
        figure,
        24 * len(order) + 70,
        bargap=0.25,
        xaxis={"title": "part of the distance", "ticksuffix": " %", "rangemode": "tozero"},
        yaxis=names_axis(plot_labels(names, 24), ticklabelstandoff=4),
        margin=NAMED_MARGIN,
    )


def has_pairs(explanation: PrototypeExplanation) -> bool:
    """Whether the distance looks at features together, so that there is a map to draw."""
    pairs = explanation.pairs
    return bool(np.abs(pairs - np.diag(np.diag(pairs))).max(initial=0.0) > 0)


def pairs_text(explanation: PrototypeExplanation, *, most: int = 3) -> str:
    """The pairs of features that the distance looks at together most, in words."""
    sizes = np.abs(np.triu(explanation.pairs, 1))
    order = np.argsort(-sizes, axis=None, kind="stable")[:most]
    words = []
    for i, k in zip(*np.unravel_index(order, sizes.shape), strict=True):
        if sizes[i, k] > 0:
            one, other = (explanation.features[explanation.related[j]].name for j in (i, k))
            words.append(f"{one} with {other} ({signed(float(explanation.pairs[i, k]))})")
    return f"strongest: {'; '.join(words)}"


def draw_pairs(explanation: PrototypeExplanation) -> go.Figure:
    """Draw the metric between the most relevant features; its diagonal is in the bars."""
    pairs = explanation.pairs.copy()
    names = [explanation.features[j].name for j in explanation.related]
    # Numbers name the columns of the map: names would not fit beneath each other when tilted.
    labels = [f"{name}  {i}" for i, name in enumerate(plot_labels(names, 18), 1)]
    hover = [
        [
            f"<b>{plot_text(one)}</b><br><b>{plot_text(other)}</b><br>{signed(float(pairs[i, k]))}"
            for k, other in enumerate(names)
        ]
        for i, one in enumerate(names)
    ]
    np.fill_diagonal(pairs, np.nan)
    top = float(np.nanmax(np.abs(pairs)))
    places = list(range(len(names)))
    figure = go.Figure(
        go.Heatmap(
            z=[[None if np.isnan(one) else float(one) for one in row] for row in pairs],
            x=places,
            y=places,
            zmin=-top,
            zmax=top,
            colorscale=[[0, LOWER], [0.5, "#ffffff"], [1, RAISE]],
            hovertext=hover,
            hoverinfo="text",
            xgap=1,
            ygap=1,
            colorbar={
                "orientation": "h",
                "thickness": 12,
                "lenmode": "pixels",
                "len": 200,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "ypad": 28,
                "nticks": 4,
                "tickangle": 0,
                "outlinewidth": 0,
            },
        )
    )
    written = len(names) <= MOST_WRITTEN
    if written:
        figure.update_traces(
            text=[
                ["" if i == k else f"{one:+.2f}" for k, one in enumerate(row)]
                for i, row in enumerate(explanation.pairs.tolist())
            ],
            texttemplate="%{text}",
            textfont={"color": WRITTEN},
            colorscale=[[0, PALE_LOWER], [0.5, "#ffffff"], [1, PALE_RAISE]],
            showscale=False,
        )
    line = 48 if written else 20
    axis = {"tickvals": places, "automargin": True, "showgrid": False}
    return dress(
        figure,
        line * len(names) + 52 + (0 if written else 50),
        plot_bgcolor="#e8e8e8",
        # Squares at the left: a wide screen must not stretch them.
        xaxis={
            **axis,
            "ticktext": [str(i + 1) for i in places],
            "tickangle": 0,
            "zeroline": False,
            "constrain": "domain",
            "constraintoward": "left",
        },
        yaxis={
            **axis,
            "ticktext": labels,
            "range": [len(names) - 0.5, -0.5],
            "zeroline": False,
            "scaleanchor": "x",
            "constrain": "domain",
            "constraintoward": "bottom",
        },
        margin={"l": 40, "r": 12, "t": 12, "b": 40 + (0 if written else 50)},
    )
