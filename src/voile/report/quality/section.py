"""The quality of a model as a part of a page: measures, calibration, groups."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from voile.explain.wording import short
from voile.models.evaluation.record import Evaluation, Measure, told_figures
from voile.report.kit.page import heading, paragraph, place_figure, place_table
from voile.report.kit.palette import INK, WAS, dress


def draw_section(evaluation: Evaluation) -> list[str]:
    """HTML parts, without a heading of their own."""
    whole = (
        f"Measured on about {max(evaluation.rows, 0):,.0f} rows. Intervals hold the true figure at "
        f"{100 * evaluation.confidence:g} % confidence: the privacy noise and the chance of which "
        f"people were among these rows together."
    )
    parts = [
        paragraph(whole),
        place_table(
            ["measure", "estimate", "from", "to", "noise alone, ±"],
            [_line(one) for one in evaluation.measures],
            numbers=4,
        ),
        *(paragraph(note, note=True) for note in evaluation.notes),
    ]
    if evaluation.reliability:
        told = ", ".join(
            f"{100 * one.predicted:.0f} % predicted, {100 * one.happened.value:.0f} % happened"
            for one in evaluation.reliability
        )
        parts += [
            heading("Are its probabilities true?", level=3),
            place_figure(draw_reliability(evaluation), "reliability", f"Calibration: {told}"),
            paragraph(
                "On the diagonal, what is predicted is what happens. Whiskers are intervals.",
                note=True,
            ),
        ]
    if evaluation.groups:
        parts += [heading("By group", level=3), *_groups(evaluation)]
    parts.append(paragraph(f"What this estimate cost: {evaluation.receipt.promise}.", note=True))
    return parts


def draw_reliability(evaluation: Evaluation) -> go.Figure:
    """What happened against what was predicted."""
    points = evaluation.reliability
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[0, 100], y=[0, 100], mode="lines", hoverinfo="skip", line={"color": WAS, "width": 1}
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[100 * one.predicted for one in points],
            y=[100 * one.happened.value for one in points],
            error_y={
                "array": [100 * (one.happened.high - one.happened.value) for one in points],
                "arrayminus": [100 * (one.happened.value - one.happened.low) for one in points],
                "thickness": 1.5,
                "width": 4,
            },
            mode="markers",
            marker={"color": INK, "size": 8},
            hovertext=[
                f"predicted {100 * one.predicted:.1f} %, happened "
                f"{100 * one.happened.value:.1f} %, about {one.rows:,.0f} rows"
                for one in points
            ],
            hoverinfo="text",
        )
    )
    return dress(
        figure,
        340,
        showlegend=False,
        xaxis={"title": "predicted, %", "range": [-2, 102]},
        yaxis={"title": "happened, %", "range": [-2, 102]},
        margin={"l": 60, "r": 20, "t": 10, "b": 50},
    )


def _groups(evaluation: Evaluation) -> list[str]:
    parts = []
    for column in dict.fromkeys(one.column for one in evaluation.groups):
        mine = [one for one in evaluation.groups if one.column == column]
        names = [measure.name for measure in mine[0].measures]
        rows = [
            [one.level, f"{one.rows:,.0f}", *(_interval(measure) for measure in one.measures)]
            for one in mine
        ]
        parts += [
            paragraph(f"By {column}:"),
            place_table([column, "rows", *names], rows, numbers=1 + len(names)),
        ]
    return parts


def _line(measure: Measure) -> list[str]:
    if math.isnan(measure.value):
        return [measure.name, "lost in the noise", "", "", ""]
    unit = f" ({measure.unit})" if measure.unit else ""
    return [f"{measure.name}{unit}", *told_figures(measure), short(2 * measure.noise, digits=2)]


def _interval(measure: Measure) -> str:
    if math.isnan(measure.value):
        return "lost in the noise"
    value, low, high = told_figures(measure)
    return f"{value} ({low} to {high})"
