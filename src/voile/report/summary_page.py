"""The page of a private summary: one self-contained HTML file that needs no network."""

from __future__ import annotations

import html
from itertools import pairwise
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from voile.report.budget_bar import budget_bar
from voile.summary.summary import CategorySummary, NumberSummary, Summary

_INK, _BAND = "#31688e", "#d1495b"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
         padding: 0 1rem; color: #222; background: #fff }}
  pre {{ background: #f4f4f2; padding: 1rem; overflow-x: auto; font-size: .85rem }}
  .note {{ color: #555 }}
</style><script>{script}</script></head><body>
<h1>{title}</h1>
<p>About <b>{rows}</b> rows (&plusmn; {error}, two standard errors). {promise}.</p>
{figure}
<p class="note">Bars are noised counts of rows, red lines two standard errors of the noise.</p>
<h2>What it cost</h2>
{budget}
<pre>{receipt}</pre>
<h2>What this does not protect</h2>
<p>The guarantee hides whether any one row was in the table. It does not hide facts about the group
as a whole, the names and kinds of columns, or anything said in the schema.</p>
</body></html>
"""


def write_page(summary: Summary, path: Path) -> Path:
    """Write the page and return its path."""
    figure = summary_figure(summary)
    page = _PAGE.format(
        title="A private summary",
        script=get_plotlyjs(),
        rows=f"{summary.rows:,.0f}",
        error=f"{2 * summary.rows_standard_error:,.1f}",
        promise=html.escape(summary.receipt.promise),
        figure=_inline(figure),
        budget=_inline(budget_bar(summary.receipt)),
        receipt=html.escape(str(summary.receipt)),
    )
    path.write_text(page, encoding="utf-8")
    return path


def summary_figure(summary: Summary) -> go.Figure:
    """One small picture per column, with error bars from the noise."""
    across = min(3, max(len(summary.columns), 1))
    down = -(-len(summary.columns) // across)
    figure = make_subplots(
        rows=max(down, 1),
        cols=across,
        subplot_titles=[column.name for column in summary.columns],
        vertical_spacing=min(0.16, 0.5 / max(down, 1)),
    )
    for i, column in enumerate(summary.columns):
        trace = _number(column) if isinstance(column, NumberSummary) else _category(column)
        figure.add_trace(trace, row=i // across + 1, col=i % across + 1)
    figure.update_layout(
        height=90 + 210 * down,
        showlegend=False,
        bargap=0,
        template="plotly_white",
        margin={"l": 50, "r": 20, "t": 50, "b": 40},
    )
    return figure


def _number(column: NumberSummary) -> go.Bar:
    edges, counts = column.edges, column.counts
    widths = [b - a for a, b in pairwise(edges)]
    return go.Bar(
        x=[(a + b) / 2 for a, b in pairwise(edges)],
        y=counts,
        width=widths,
        marker={"color": _INK, "line": {"color": "white", "width": 0.5}},
        error_y={
            "array": [2 * error for error in column.standard_errors],
            "color": _BAND,
            "thickness": 1,
            "width": 0,
        },
        hovertemplate="%{x:.4g}: %{y:,.0f} rows<extra></extra>",
    )


def _category(column: CategorySummary) -> go.Bar:
    return go.Bar(
        x=list(column.levels),
        y=list(column.counts),
        width=0.7,
        marker={"color": _INK},
        error_y={
            "array": [2 * column.standard_error] * len(column.counts),
            "color": _BAND,
            "thickness": 1,
            "width": 3,
        },
        hovertemplate="%{x}: %{y:,.0f} rows<extra></extra>",
    )


def _inline(figure: go.Figure) -> str:
    text = figure.to_html(include_plotlyjs=False, full_html=False, config={"displaylogo": False})
    return str(text)
