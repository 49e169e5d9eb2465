"""The shape of a category: a dot with a whisker per level, and its rows aside."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from voile.explain.plain_text import leading_output
from voile.explain.term import ExplainedTerm
from voile.report.ebm.shape_text import (
    bin_texts,
    count_bars,
    count_range,
    drawn_noise,
    score_range,
    score_title,
)
from voile.report.kit.palette import INK, WAS, dress, legend_room, series_colour, series_symbol
from voile.report.kit.text import plot_labels, plot_text

MOST_NAME = 22
GAP = 0.5
"""Between the levels and what is apart from them, in lines."""


def order_levels(term: ExplainedTerm) -> list[int]:
    """Bins from the bottom of the figure to its top: those apart, then levels by their score.

    With several outputs, the one whose scores differ most decides.
    """
    levels = np.argsort(term.scores[: term.regular, leading_output(term)], kind="stable").tolist()
    return [*range(len(term.labels) - 1, term.regular - 1, -1), *levels]


def draw_levels(term: ExplainedTerm, outputs: tuple[str, ...], units: str) -> go.Figure:
    """Draw a category; parameters as in `voile.report.ebm.shapes.draw_shape`."""
    figure = make_subplots(
        rows=1, cols=2, column_widths=[0.7, 0.3], shared_yaxes=True, horizontal_spacing=0.06
    )
    order = order_levels(term)
    apart = len(term.labels) - term.regular
    height_of = dict(
        zip(order, (float(i) + (GAP if i >= apart else 0) for i in range(len(order))), strict=True)
    )
    heights = [height_of[i] for i in range(len(order))]
    for k, output in enumerate(outputs):
        _add_dots(figure, term, heights, k, output, len(outputs))
    figure.add_trace(
        count_bars(term, slice(None), y=heights, width=[0.7] * len(heights), line={}), row=1, col=2
    )
    figure.update_yaxes(
        range=[-0.7, max(heights) + 0.7],
        tickvals=[height_of[i] for i in order],
        ticktext=plot_labels([term.labels[i] for i in order], MOST_NAME),
        automargin=True,
        zeroline=False,
        ticklabelstandoff=4,
    )
    if term.regular:
        figure.add_hline(y=apart - 0.5 + GAP / 2, line={"color": "#bbb", "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text=score_title(outputs, units), nticks=6, row=1, col=1)
    figure.update_xaxes(zeroline=True, zerolinecolor="#999", range=score_range(term), row=1, col=1)
    figure.update_xaxes(
        title_text="rows", range=count_range(term), nticks=3, tickformat="~s", row=1, col=2
    )
    line = max(26 if len(order) < 30 else 19, 8 * len(outputs))
    return dress(
        figure,
        round(line * (len(order) + GAP)) + 70 + legend_room(len(outputs)),
        showlegend=len(outputs) > 1 or term.original is not None,
        margin={"l": 40, "r": 12, "t": 12, "b": 45},
    )


def _add_dots(
    figure: go.Figure, term: ExplainedTerm, heights: list[float], k: int, output: str, count: int
) -> None:
    single = count == 1
    colour = INK if single else series_colour(k)
    # Several dots of a level are drawn above each other, so that their whiskers stay apart.
    shift = 0.0 if single else 0.8 * ((k + 0.5) / count - 0.5)
    if term.original is not None:
        changed = np.flatnonzero((term.original != term.scores).any(axis=1)).tolist()
        figure.add_trace(
            go.Scatter(
                x=term.original[changed, k].tolist(),
                y=[heights[i] - shift for i in changed],
                mode="markers",
                marker={"color": WAS, "size": 9, "symbol": f"{series_symbol(k)}-open"},
                name="as trained",
                showlegend=k == 0,
                legendgroup="as trained",
                hoverinfo="skip",
            ),
            row=1,
            col=1,
        )
    figure.add_trace(
        go.Scatter(
            x=term.scores[:, k].tolist(),
            y=[height - shift for height in heights],
            error_x={"array": drawn_noise(term)[:, k].tolist(), "thickness": 1.5},
            mode="markers",
            marker={"color": colour, "size": 8, "symbol": series_symbol(k)},
            name="now" if single else plot_text(output, 30),
            hovertext=bin_texts(term, k, "" if single else output),
            hoverinfo="text",
        ),
        row=1,
        col=1,
    )
