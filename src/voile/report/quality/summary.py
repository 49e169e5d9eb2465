"""The page of a private summary: one self-contained HTML file that needs no network."""

from __future__ import annotations

from itertools import pairwise

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from voile.rendering import draws
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.text import plot_labels, plot_text
from voile.report.kit.theme import INK, RAISE, dress
from voile.summary.summary import CategorySummary, NumberSummary, Summary

_html = Templates("quality/summary.html")


@draws(Summary)
def draw_page(summary: Summary) -> str:
    """The whole page as HTML."""
    body = _html.page(summary, summary_figure(summary))
    return compose_page("A private summary", body, summary.receipt)


def summary_figure(summary: Summary) -> go.Figure:
    """One small picture per column, with error bars from the noise."""
    across = min(3, max(len(summary.columns), 1))
    down = max(-(-len(summary.columns) // across), 1)
    figure = make_subplots(
        rows=down,
        cols=across,
        subplot_titles=[plot_text(column.name, 40) for column in summary.columns],
        vertical_spacing=min(0.16, 0.5 / down),
    )
    for i, column in enumerate(summary.columns):
        row, col = i // across + 1, i % across + 1
        if isinstance(column, NumberSummary):
            figure.add_trace(_number(column), row=row, col=col)
        else:
            figure.add_trace(_category(column), row=row, col=col)
            figure.update_xaxes(
                tickvals=list(range(len(column.levels))),
                ticktext=plot_labels(column.levels, 20),
                row=row,
                col=col,
            )
    return dress(figure, 90 + 210 * down, "summary")


def _number(column: NumberSummary) -> go.Bar:
    edges, counts = column.edges, column.counts
    widths = [b - a for a, b in pairwise(edges)]
    return go.Bar(
        x=[(a + b) / 2 for a, b in pairwise(edges)],
        y=counts,
        width=widths,
        marker={"color": INK, "line": {"color": "white", "width": 0.5}},
        error_y={
            "array": [2 * error for error in column.standard_errors],
            "color": RAISE,
            "thickness": 1,
            "width": 0,
        },
        hovertemplate="%{x:.4g}: %{y:,.0f} rows<extra></extra>",
    )


def _category(column: CategorySummary) -> go.Bar:
    # Positions, not the levels themselves: plotly would read some levels as numbers or dates.
    return go.Bar(
        x=list(range(len(column.levels))),
        y=list(column.counts),
        width=0.7,
        marker={"color": INK},
        error_y={
            "array": [2 * column.standard_error] * len(column.counts),
            "color": RAISE,
            "thickness": 1,
            "width": 3,
        },
        hovertext=[
            f"{plot_text(level)}: {count:,.0f} rows"
            for level, count in zip(column.levels, column.counts, strict=True)
        ],
        hoverinfo="text",
    )
