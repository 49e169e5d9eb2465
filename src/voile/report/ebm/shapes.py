"""Shape functions: what a term adds to the score, with its noise and its rows beneath.

A number is a step line over its values, a category a dot with a whisker per level.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from voile.explain.ebm.factors import LOG_UNIT
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import CLASS_SCORE, PREDICTION, leading_output
from voile.report.ebm.bin_hints import bin_texts, rows_text
from voile.report.ebm.factor_axis import power_ticks
from voile.report.kit import theme
from voile.report.kit.axis import value_ticks
from voile.report.kit.text import plot_labels, plot_text
from voile.schema.value_texts import edge_texts

Floats = NDArray[np.float64]

MOST_BANDS = 4
"""More classes than this would hide each other's noise bands: their noise is in the hover text."""

WIDEST_RATIO = 100
"""Bins whose widths differ by more than this cannot all be seen on an axis of values."""

MOST_TICKS = 7

_MAIN = {"row": 1, "col": 1}
"""Where scores are drawn; counts are beneath or aside."""

MOST_NAME = 22
MULTIPLIES = "multiplies the prediction by"

GAP = 0.5
"""Between the levels and what is apart from them, in lines."""


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
        return _draw_levels(term, outputs, units)
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
        told = bin_texts(term, k, output * (len(outputs) > 1), factors=units == LOG_UNIT)
        _add_steps(figure, term, edges, k, output, told, single=len(outputs) == 1)
    _add_histogram(figure, term, edges)
    figure.update_xaxes(range=[edges[0], edges[-1]], col=1, row=1, showticklabels=False)
    figure.update_xaxes(range=[edges[0], edges[-1]], col=1, row=2)
    figure.update_xaxes(title_text=plot_text(term.name, 60), col=1, row=2)
    if ranks:
        chosen = choose_ticks(len(edges))
        texts = edge_texts(term.edges.tolist(), term.scale)
        # Level texts: tilted ones would reach down to "missing". A narrow screen shows fewer.
        figure.update_xaxes(
            tickvals=chosen, ticktext=[texts[i] for i in chosen], tickangle=0, col=1
        )
    else:
        figure.update_xaxes(**value_ticks(edges[0], edges[-1], term.scale), col=1)
    # One line lower than the numbers, which may reach into its place on a narrow screen.
    figure.update_xaxes(range=[-0.5, 0.5], tickvals=[0], ticktext=["<br>missing"], col=2)
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False, col=2, row=1)
    figure.update_yaxes(ticklabelstandoff=4)
    # Both panels have the same lines across.
    figure.update_yaxes(**_score_axis(term, outputs, units), row=1)
    figure.update_yaxes(title_text="", row=1, col=2)
    figure.update_yaxes(zeroline=True, zerolinecolor="#999", range=score_range(term), row=1)
    figure.update_yaxes(title_text="rows", row=2, col=1, nticks=4, tickformat="~s")
    figure.update_yaxes(range=count_range(term), row=2)
    return theme.dress(
        figure,
        380 + theme.legend_room(len(outputs)),
        bargap=0,
        showlegend=len(outputs) > 1 or term.original is not None,
    )


def _add_steps(
    figure: go.Figure,
    term: ExplainedTerm,
    edges: list[float],
    k: int,
    output: str,
    texts: list[str],
    *,
    single: bool,
) -> None:
    """Add the line, the noise band and the point for missing values of one output."""
    colour = theme.INK if single else theme.series_colour(k)
    scores, errors = term.scores[:, k], drawn_noise(term)[:, k]
    name = "now" if single else plot_text(output, 30)
    inside = slice(0, term.regular)
    group = {"legendgroup": str(k)}
    if term.scores.shape[1] <= MOST_BANDS:
        for side, fill in ((scores - errors, None), (scores + errors, "tonexty")):
            figure.add_scatter(
                x=edges,
                y=_closed(side[inside]),
                line={"shape": "hv", "width": 0},
                mode="lines",
                fill=fill,
                fillcolor=theme.see_through(colour, 0.25),
                hoverinfo="skip",
                showlegend=False,
                **group,
                **_MAIN,
            )
    if term.original is not None:
        figure.add_scatter(
            x=edges,
            y=_closed(term.original[inside, k]),
            line={"shape": "hv", "width": 1.5, "dash": "dot", "color": theme.WAS},
            mode="lines",
            name="as trained",
            showlegend=k == 0,
            legendgroup="as trained",
            hoverinfo="skip",
            **_MAIN,
        )
    figure.add_scatter(
        x=edges,
        y=_closed(scores[inside]),
        line={"shape": "hv", "width": 2, "color": colour, "dash": theme.series_dash(k)},
        mode="lines",
        name=name,
        hovertext=[*texts[inside], texts[term.regular - 1]],
        hoverinfo="text",
        **group,
        **_MAIN,
    )
    shift = 0.0 if single else 0.8 * (k + 0.5) / term.scores.shape[1] - 0.4
    figure.add_scatter(
        x=[shift],
        y=scores[term.regular :].tolist(),
        error_y={"array": errors[term.regular :].tolist(), "thickness": 1.5, "width": 3},
        mode="markers",
        marker={"color": colour, "size": 7, "symbol": theme.series_symbol(0 if single else k)},
        hovertext=texts[term.regular :],
        hoverinfo="text",
        showlegend=False,
        **group,
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


def _closed(values: Floats) -> list[float]:
    """Scores of intervals as the heights of a step line that ends at the last border."""
    return [*values.tolist(), float(values[-1])]


def choose_ticks(borders: int) -> list[int]:
    """Positions of a few borders, the first and the last among them."""
    steps = min(MOST_TICKS, borders) - 1
    return sorted({round(i * (borders - 1) / steps) for i in range(steps + 1)})


def order_levels(term: ExplainedTerm) -> list[int]:
    """Bins from the bottom of the figure to its top: those apart, then levels by their score.

    With several outputs, the one whose scores differ most decides. Levels that have an order keep
    it, the first one at the top.
    """
    if term.ordered:
        return list(range(len(term.labels) - 1, -1, -1))
    levels = np.argsort(term.scores[: term.regular, leading_output(term)], kind="stable").tolist()
    return [*range(len(term.labels) - 1, term.regular - 1, -1), *levels]


def _draw_levels(term: ExplainedTerm, outputs: tuple[str, ...], units: str) -> go.Figure:
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
        told = bin_texts(term, k, output * (len(outputs) > 1), factors=units == LOG_UNIT)
        _add_dots(figure, term, heights, k, output, told)
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
    figure.update_xaxes(**{"nticks": 6, **_score_axis(term, outputs, units)}, row=1, col=1)
    figure.update_xaxes(zeroline=True, zerolinecolor="#999", range=score_range(term), row=1, col=1)
    figure.update_xaxes(
        title_text="rows", range=count_range(term), nticks=3, tickformat="~s", row=1, col=2
    )
    line = max(26 if len(order) < 30 else 19, 8 * len(outputs))
    return theme.dress(
        figure,
        round(line * (len(order) + GAP)) + 70 + theme.legend_room(len(outputs)),
        "levels",
        showlegend=len(outputs) > 1 or term.original is not None,
    )


def _add_dots(
    figure: go.Figure,
    term: ExplainedTerm,
    heights: list[float],
    k: int,
    output: str,
    texts: list[str],
) -> None:
    count = term.scores.shape[1]
    single = count == 1
    colour = theme.INK if single else theme.series_colour(k)
    # Several dots of a level are drawn above each other, so that their whiskers stay apart.
    shift = 0.0 if single else 0.8 * ((k + 0.5) / count - 0.5)
    if term.original is not None:
        changed = np.flatnonzero((term.original != term.scores).any(axis=1)).tolist()
        figure.add_scatter(
            x=term.original[changed, k].tolist(),
            y=[heights[i] - shift for i in changed],
            mode="markers",
            marker={"color": theme.WAS, "size": 9, "symbol": f"{theme.series_symbol(k)}-open"},
            name="as trained",
            showlegend=k == 0,
            legendgroup="as trained",
            hoverinfo="skip",
            **_MAIN,
        )
    figure.add_scatter(
        x=term.scores[:, k].tolist(),
        y=[height - shift for height in heights],
        error_x={"array": drawn_noise(term)[:, k].tolist(), "thickness": 1.5},
        mode="markers",
        marker={"color": colour, "size": 8, "symbol": theme.series_symbol(k)},
        name="now" if single else plot_text(output, 30),
        hovertext=texts,
        hoverinfo="text",
        **_MAIN,
    )


def _score_axis(term: ExplainedTerm, outputs: tuple[str, ...], units: str) -> dict[str, Any]:
    """Title of an axis of scores, and its ticks where those are factors."""
    if units == LOG_UNIT:
        low, high = score_range(term)
        return {"title_text": MULTIPLIES, **power_ticks(low, high, "x")}
    return {"title_text": score_title(outputs, units)}


def score_title(outputs: tuple[str, ...], units: str) -> str:
    """Title of an axis of scores."""
    if units == "log-odds" and len(outputs) == 1:
        return f"log-odds of {plot_text(outputs[0], 20)}"
    if units == CLASS_SCORE:
        return units if len(outputs) > 1 else f"score of {plot_text(outputs[0], 20)}"
    return f"score ({plot_text(units)})" if units != LOG_UNIT else f"log of the {PREDICTION}"


def score_range(term: ExplainedTerm) -> list[float]:
    """Ends of an axis of scores: it holds zero, every score, and the noise of bins with rows.

    The noise of a bin that nobody is in can be so great that nothing else would be seen.
    """
    seen = term.counts > 2 * term.count_errors
    noise = np.where(np.isfinite(term.standard_errors), 2 * term.standard_errors, 0.0)
    if seen.any():
        noise = noise * seen[:, None]
    parts = [term.scores - noise, term.scores + noise]
    if term.original is not None:
        parts.append(term.original)
    low = min(0.0, *(float(part.min()) for part in parts))
    high = max(0.0, *(float(part.max()) for part in parts))
    room = 0.06 * (high - low) or 1.0
    return [low - room, high + room]


def drawn_noise(term: ExplainedTerm) -> Floats:
    """Two standard errors of every score; an infinite one reaches beyond the figure.

    Returns
    -------
    ndarray of shape (bins, outputs)
    """
    low, high = score_range(term)
    return np.where(np.isfinite(term.standard_errors), 2 * term.standard_errors, 2 * (high - low))


def count_range(term: ExplainedTerm) -> list[float]:
    """Ends of an axis of counts, which starts at zero."""
    errors = np.nan_to_num(2 * term.count_errors, posinf=0.0)
    return [0.0, 1.05 * max(float((term.counts + errors).max()), 1.0)]


def count_bars(term: ExplainedTerm, part: slice, line: dict[str, Any], **place: Any) -> go.Bar:
    """Bars of private counts, with whiskers of two standard errors that stop at zero.

    Parameters
    ----------
    term : ExplainedTerm
    part : slice
        Which bins.
    line : dict
        Border of the bars.
    **place
        Position along the other axis: ``x`` for upright bars, ``y`` for lying ones.
    """
    counts = term.counts[part].tolist()
    errors = np.nan_to_num(2 * term.count_errors[part], posinf=0.0).tolist()
    upright = "x" in place
    whiskers = {
        "array": errors,
        "arrayminus": [min(error, count) for error, count in zip(errors, counts, strict=True)],
        "color": theme.WAS,
        "thickness": 1,
        "width": 0,
    }
    positions = range(len(term.labels))[part]
    return go.Bar(
        **{"y" if upright else "x": counts, "error_y" if upright else "error_x": whiskers},
        **place,
        orientation="v" if upright else "h",
        marker={"color": theme.ROWS, "line": line},
        hovertext=[
            f"<b>{plot_text(term.labels[i])}</b><br>{rows_text(term, i)}" for i in positions
        ],
        hoverinfo="text",
        showlegend=False,
    )
