"""The page of an explainer's quality: what each group of rows pays for privacy."""

from __future__ import annotations

import plotly.graph_objects as go

from voile.explain.of_blackbox.quality import Quality
from voile.explain.wording import short
from voile.report.kit.page import compose_page, paragraph, place_figure, place_table
from voile.report.kit.palette import INK, RAISE, dress
from voile.report.kit.text import plot_labels, plot_text

_HEAD = ("group", "asked", "utility loss", "agreement", "best", "top 5 shared", "density")


def draw_page(quality: Quality) -> str:
    """The whole page as HTML."""
    lines = (*quality.groups, quality.overall)
    by = f", by {quality.by}" if quality.by else ""
    worst = quality.worst
    body = [
        paragraph(
            f"Explanations of {quality.overall.rows} rows, compared with the best local models of "
            f"{quality.public_rows:,} public rows{by}."
        ),
        place_figure(_draw_losses(quality), "losses", "Utility loss of each group"),
        paragraph(
            "Utility loss is by how much an explanation fits the rows near the asked one worse "
            "than the best one does, in squared units of the score. Whiskers are two standard "
            "errors over the asked rows.",
            note=True,
        ),
    ]
    if quality.groups and quality.overall.loss > 0:
        times = worst.loss / quality.overall.loss
        body.append(paragraph(f"'{worst.group}' pays most: {times:.2g} times the mean loss."))
    body.append(
        place_table(
            _HEAD,
            [
                (
                    one.group,
                    f"{one.rows}",
                    f"{short(one.loss)} ± {short(2 * one.loss_error)}",
                    f"{100 * one.agreement:.1f} %",
                    f"{100 * one.best_agreement:.1f} %",
                    f"{one.shared:.2f}",
                    f"{one.effective:.2f}",
                )
                for one in lines
            ],
            numbers=len(_HEAD) - 1,
        )
    )
    return compose_page("How good the explanations are", body, quality.receipt)


def _draw_losses(quality: Quality) -> go.Figure:
    lines = (*quality.groups, quality.overall)
    heights = list(range(len(lines)))
    figure = go.Figure(
        go.Bar(
            x=[one.loss for one in lines],
            y=heights,
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
    return dress(
        figure,
        30 * len(lines) + 90,
        bargap=0.3,
        xaxis={"title": "utility loss", "rangemode": "tozero", "exponentformat": "power"},
        yaxis={
            "tickvals": heights,
            "ticktext": plot_labels([one.group for one in lines], 28),
            "range": [len(lines) - 0.4, -0.6],
            "automargin": True,
        },
        margin={"l": 40, "r": 12, "t": 12, "b": 45},
    )
