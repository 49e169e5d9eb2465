"""The page of counterfactuals: what would have to change, and how usual the changed row is."""

from __future__ import annotations

import math

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.counterfactuals import text
from voile.explain.counterfactuals.record import Counterfactuals, RowSuggestions, Suggestion
from voile.rendering import draws
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.text import plot_text
from voile.report.kit.theme import INK, RAISE, ROWS, SERIES, WAS, dress, names_axis

MOST_ROWS = 20

_LOOKS = {
    "clear": SERIES[2],
    "perhaps": SERIES[5],
    "cannot be told from nothing": SERIES[3],
}


def look_of(one: Suggestion) -> str:
    """Colour beside a suggestion, by its verdict or by whether it is fragile; words say it, too."""
    if one.verdict in _LOOKS:
        return _LOOKS[one.verdict]
    if math.isnan(one.steady):
        return ROWS
    return SERIES[2] if one.steady >= text.STEADY else SERIES[3]


_html = Templates("counterfactuals/page.html", text=text, look_of=look_of)


@draws(Counterfactuals)
def draw_page(record: Counterfactuals) -> str:
    """The whole page as HTML."""
    body = _html.lead(record, MOST_ROWS)
    for row in range(min(len(record), MOST_ROWS)):
        body += _draw_row(record, row)
    body += _html.foot(record)
    title = "What would have to change"
    return compose_page(title, body, record.receipt, cost=record.cost, holds_rows=True)


def _draw_row(record: Counterfactuals, number: int) -> Markup:
    row = record.rows[number]
    shown = record.unit != "label" and bool(row.suggestions)
    values = [
        [name, f"{given}, read as {read}" if read else given]
        for name, given, read in zip(record.columns, row.given, row.read_as, strict=True)
    ]
    return _html.row(record, row, number, draw_ways(record, row) if shown else None, values)


def draw_ways(record: Counterfactuals, row: RowSuggestions) -> go.Figure:
    """A line from the answer now to the answer after each suggestion, and what is wanted."""
    unit = 100.0 if record.unit == "probability" else 1.0
    count = len(row.suggestions)
    figure = go.Figure()
    for k, one in enumerate(row.suggestions):
        figure.add_scatter(
            x=[unit * row.before, unit * one.after],
            y=[k, k],
            mode="lines",
            line={"color": WAS, "width": 2},
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=[unit * row.before] * count,
        y=list(range(count)),
        mode="markers",
        marker={"size": 10, "color": INK, "symbol": "circle-open", "line": {"width": 2}},
        hovertext=[f"now: {text.number_text(record, row.before)}"] * count,
        hoverinfo="text",
    )
    figure.add_scatter(
        x=[unit * one.after for one in row.suggestions],
        y=list(range(count)),
        mode="markers",
        marker={"size": 12, "color": RAISE, "symbol": "diamond"},
        hovertext=[_hover(record, one) for one in row.suggestions],
        hoverinfo="text",
    )
    for limit in (row.low, row.high):
        if math.isfinite(limit):
            figure.add_vline(x=unit * limit, line={"color": "#999", "dash": "dash", "width": 1.5})
    title = plot_text(row.told, 40) + (", %" if record.unit == "probability" else "")
    return dress(
        figure,
        36 * count + 84,
        "counterfactuals",
        xaxis={"title": title, "nticks": 6, **({"range": [-2, 102]} if unit > 1 else {})},
        yaxis=names_axis([f"suggestion {k + 1}" for k in range(count)]),
    )


def _hover(record: Counterfactuals, one: Suggestion) -> str:
    return f"{plot_text(text.changes_text(one), 80)}<br>{text.number_text(record, one.after)}"
