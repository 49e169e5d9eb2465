"""Shape functions: what a term adds to the score, with its noise and its rows beneath."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from voile.explain.term import ExplainedTerm
from voile.explain.wording import edge_texts
from voile.report.ebm.levels import draw_levels
from voile.report.ebm.shape_text import (
    bin_texts,
    count_bars,
    count_range,
    drawn_noise,
    score_range,
    score_title,
)
from voile.report.kit.palette import (
    INK,
    WAS,
    dress,
    legend_room,
    see_through,
    series_colour,
    series_dash,
    series_symbol,
)
from voile.report.kit.text import plot_text

MOST_BANDS = 4
"""More classes than this would hide each other's noise bands: their noise is in the hover text."""

WIDEST_RATIO = 100
"""Bins whose widths differ by more than this cannot all be seen on an axis of values."""

MOST_TICKS = 7


def draw_shape(term: ExplainedTerm, outputs: tuple[str, ...], units: str) -> go.Figure:
    """Draw one term.

    Parameters
    ----------
    term : ExplainedTerm
    outputs : tuple of str
        Names of the scores; each gets a series.
    units : str
        Unit of the scores.

    Returns
    -------
    Figure
        A number: a step line with a band of two standard errors of the noise, the private
        histogram beneath, and missing values to the right. A category: a dot with a whisker per
        level, and counts aside.
    """
    if term.kind == "category":
        return draw_levels(term, outputs, units)
    return _draw_number(term, outputs, units)


def uses_ranks(term: ExplainedTerm) -> bool:
    """Whether a number is drawn on an axis of bins rather than values."""
    widths = term.edges[1:] - term.edges[:-1]
    return bool(widths.max() > WIDEST_RATIO * widths.min())


def _draw_number(term: ExplainedTerm, outputs: tuple[str, ...], units: str) -> go.Figure:
    figure = make_subplots(
        rows=2,
        cols=2,
        row_heights=[0.72, 0.28],
        column_widths=[0.88, 0.12],
        shared_xaxes=True,
        shared_yaxes=True,
        vertical_spacing=0.05,
        horizontal_spacing=0.015,
    )
    ranks = uses_ranks(term)
    edges = [float(i) for i in range(len(term.edges))] if ranks else term.edges.tolist()
    for k, output in enumerate(outputs):
        _add_steps(figure, term, edges, k, output, single=len(outputs) == 1)
    _add_histogram(figure, term, edges)
    figure.update_xaxes(range=[edges[0], edges[-1]], col=1, row=1, showticklabels=False)
    figure.update_xaxes(range=[edges[0], edges[-1]], col=1, row=2)
    figure.update_xaxes(title_text=plot_text(term.name, 60), col=1, row=2)
    if ranks:
        chosen = _choose_ticks(len(edges))
        texts = edge_texts(term.edges.tolist())
        # Level texts: tilted ones would reach down to "missing". A narrow screen shows fewer.
        figure.update_xaxes(
            tickvals=chosen, ticktext=[texts[i] for i in chosen], tickangle=0, col=1
        )
    # One line lower than the numbers, which may reach into its place on a narrow screen.
    figure.update_xaxes(range=[-0.5, 0.5], tickvals=[0], ticktext=["<br>missing"], col=2)
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False, col=2, row=1)
    figure.update_yaxes(ticklabelstandoff=4)
    figure.update_yaxes(title_text=score_title(outputs, units), row=1, col=1)
    figure.update_yaxes(zeroline=True, zerolinecolor="#999", range=score_range(term), row=1)
    figure.update_yaxes(title_text="rows", row=2, col=1, nticks=4, tickformat="~s")
    figure.update_yaxes(range=count_range(term), row=2)
    return dress(
        figure,
        380 + legend_room(len(outputs)),
        bargap=0,
        showlegend=len(outputs) > 1 or term.original is not None,
    )


def _add_steps(
    figure: go.Figure, term: ExplainedTerm, edges: list[float], k: int, output: str, *, single: bool
) -> None:
    """Add the line, the noise band and the point for missing values of one output."""
    colour = INK if single else series_colour(k)
    scores, errors = term.scores[:, k], drawn_noise(term)[:, k]
    name = "now" if single else plot_text(output, 30)
    inside, texts = slice(0, term.regular), bin_texts(term, k, output if not single else "")
    group = {"legendgroup": str(k)}
    if term.scores.shape[1] <= MOST_BANDS:
        for side, fill in ((scores - errors, None), (scores + errors, "tonexty")):
            figure.add_trace(
                go.Scatter(
                    x=edges,
                    y=_closed(side[inside]),
                    line={"shape": "hv", "width": 0},
                    mode="lines",
                    fill=fill,
                    fillcolor=see_through(colour, 0.25),
                    hoverinfo="skip",
                    showlegend=False,
                    **group,
                ),
                row=1,
                col=1,
            )
    if term.original is not None:
        figure.add_trace(
            go.Scatter(
                x=edges,
                y=_closed(term.original[inside, k]),
                line={"shape": "hv", "width": 1.5, "dash": "dot", "color": WAS},
                mode="lines",
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
            x=edges,
            y=_closed(scores[inside]),
            line={"shape": "hv", "width": 2, "color": colour, "dash": series_dash(k)},
            mode="lines",
            name=name,
            hovertext=[*texts[inside], texts[term.regular - 1]],
            hoverinfo="text",
            **group,
        ),
        row=1,
        col=1,
    )
    shift = 0.0 if single else 0.8 * (k + 0.5) / term.scores.shape[1] - 0.4
    figure.add_trace(
        go.Scatter(
            x=[shift],
            y=scores[term.regular :].tolist(),
            error_y={"array": errors[term.regular :].tolist(), "thickness": 1.5, "width": 3},
            mode="markers",
            marker={"color": colour, "size": 7, "symbol": series_symbol(0 if single else k)},
            hovertext=texts[term.regular :],
            hoverinfo="text",
            showlegend=False,
            **group,
        ),
        row=1,
        col=2,
    )


def _add_histogram(figure: go.Figure, term: ExplainedTerm, edges: list[float]) -> None:
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    widths = [b - a for a, b in pairwise(edges)]
    inside, apart = slice(0, term.regular), slice(term.regular, None)
    figure.add_trace(
        count_bars(term, inside, x=middles, width=widths, line={"color": "white", "width": 0.5}),
        row=2,
        col=1,
    )
    figure.add_trace(count_bars(term, apart, x=[0], width=[0.8], line={}), row=2, col=2)


def _closed(values: NDArray[np.float64]) -> list[float]:
    """Scores of intervals as the heights of a step line that ends at the last border."""
    return [*values.tolist(), float(values[-1])]


def _choose_ticks(borders: int) -> list[int]:
    """Positions of a few borders, the first and the last among them."""
    steps = min(MOST_TICKS, borders) - 1
    return sorted({round(i * (borders - 1) / steps) for i in range(steps + 1)})
