"""The page of an explainer's quality: what each group of rows pays for privacy."""

from __future__ import annotations

import plotly.graph_objects as go

from voile.explain.blackbox.quality import Quality
from voile.explain.wording import short
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.text import plot_labels, plot_text
from voile.report.kit.theme import INK, RAISE, dress, names_axis

_html = Templates("quality/explainer.html")


@draws(Quality)
def draw_page(quality: Quality) -> str:
    """The whole page as HTML."""
    rows = [
        (
            one.group,
            f"{one.rows}",
            f"{short(one.loss)} ± {short(2 * one.loss_error)}",
            f"{100 * one.agreement:.1f} %",
            f"{100 * one.best_agreement:.1f} %",
            f"{one.shared:.2f}",
            f"{one.effective_share:.2f}",
        )
        for one in (*quality.groups, quality.overall)
    ]
    body = _html.page(quality, _draw_losses(quality), rows)
    return compose_page("How good the explanations are", body, quality.receipt)


@plots(Quality)
def plot(quality: Quality, request: FigureRequest) -> go.Figure:
    """What each group pays for privacy."""
    request.refuse("name", "row", "output")
    return _draw_losses(quality)


def _draw_losses(quality: Quality) -> go.Figure:
    lines = (*quality.groups, quality.overall)
    figure = go.Figure(
        go.Bar(
            x=[one.loss for one in lines],
            y=list(range(len(lines))),
            orientation="h",
            marker={"color": [INK] * len(quality.groups) + ["#999"]},
            error_x={
                "array": [2 * one.loss_error for one in lines],
                "color": RAISE,
                "thickness": 1,
                "width": 3,
            },
            hovertext=[f"{plot_text(one.group)}: {short(one.loss)}" for one in lines],
            hoverinfo="text",
        )
    )
    names = plot_labels([one.group for one in lines], 28)
    return dress(figure, 30 * len(lines) + 90, "losses", yaxis=names_axis(names))
