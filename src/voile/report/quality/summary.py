"""The page of a private summary: one self-contained HTML file that needs no network."""

from __future__ import annotations

from itertools import pairwise

import plotly.graph_objects as go

from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.kit.axis import value_ticks
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.text import plot_labels, plot_text
from voile.report.kit.theme import INK, RAISE, dress, names_axis
from voile.schema.value_texts import interval_texts
from voile.summary.summary import CategorySummary, NumberSummary, Summary

_html = Templates("quality/summary.html")


@draws(Summary)
def draw_page(summary: Summary) -> str:
    """The whole page as HTML."""
    body = _html.page(summary, [draw_column(one) for one in summary.columns])
    return compose_page("A private summary", body, summary.receipt)


@plots(Summary)
def plot(summary: Summary, request: FigureRequest) -> go.Figure:
    """The noised counts of the column that is named."""
    request.refuse("row", "output")
    columns = {one.name: one for one in summary.columns}
    return draw_column(columns[request.choose_name(list(columns))])


def draw_column(column: NumberSummary | CategorySummary) -> go.Figure:
    """The noised counts of one column, with whiskers of two standard errors."""
    figure = go.Figure()
    if isinstance(column, NumberSummary):
        figure.add_trace(_number(column))
        return dress(
            figure,
            250,
            "summary",
            xaxis={
                "title": plot_text(column.name, 40),
                "range": [column.edges[0], column.edges[-1]],
                **value_ticks(column.lower, column.upper, column.scale),
            },
            yaxis={"title": "rows", "rangemode": "tozero", "tickformat": "~s"},
        )
    figure.add_trace(_category(column))
    return dress(
        figure,
        22 * len(column.levels) + 80,
        "summary",
        bargap=0.3,
        xaxis={"title": "rows", "rangemode": "tozero", "tickformat": "~s", "nticks": 5},
        yaxis=names_axis(plot_labels(column.levels, 20)),
    )


def _number(column: NumberSummary) -> go.Bar:
    edges, counts = column.edges, column.counts
    return go.Bar(
        x=[(a + b) / 2 for a, b in pairwise(edges)],
        y=counts,
        width=[b - a for a, b in pairwise(edges)],
        marker={"color": INK, "line": {"color": "white", "width": 0.5}},
        error_y=_whiskers(column.standard_errors),
        hovertext=[
            f"<b>{text}</b><br>{count:,.0f} rows"
            for text, count in zip(interval_texts(edges, column.scale), counts, strict=True)
        ],
        hoverinfo="text",
    )


def _category(column: CategorySummary) -> go.Bar:
    # Positions, not the levels themselves: plotly would read some levels as numbers or dates.
    return go.Bar(
        x=list(column.counts),
        y=list(range(len(column.levels))),
        orientation="h",
        marker={"color": INK},
        error_x=_whiskers([column.standard_error] * len(column.counts)),
        hovertext=[
            f"<b>{plot_text(level)}</b><br>{count:,.0f} rows"
            for level, count in zip(column.levels, column.counts, strict=True)
        ],
        hoverinfo="text",
    )


def _whiskers(errors: tuple[float, ...] | list[float]) -> dict[str, object]:
    return {"array": [2 * one for one in errors], "color": RAISE, "thickness": 1, "width": 3}
