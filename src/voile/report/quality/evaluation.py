"""How good a model is, as a page and as a section of one: measures, calibration, groups."""

from __future__ import annotations

import math

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.wording import short
from voile.models.evaluation.record import Evaluation, Measure, told_figures
from voile.rendering import draws
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.theme import INK, WAS, dress

_html = Templates("quality/evaluation.html")


@draws(Evaluation)
def draw_page(evaluation: Evaluation) -> str:
    """The whole page as HTML."""
    title = f"How good a {evaluation.model} is"
    return compose_page(title, draw_section(evaluation), evaluation.receipt)


def draw_section(evaluation: Evaluation) -> Markup:
    """All that the page tells, without a heading of its own."""
    points = evaluation.reliability
    words = ", ".join(
        f"{100 * one.predicted:.0f} % predicted, {100 * one.happened.value:.0f} % happened"
        for one in points
    )
    return _html.section(
        evaluation,
        measures=[_line(one) for one in evaluation.measures],
        reliability=draw_reliability(evaluation) if points else None,
        words=words,
        groups=_groups(evaluation),
    )


def draw_reliability(evaluation: Evaluation) -> go.Figure:
    """What happened against what was predicted."""
    points = evaluation.reliability
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 100], y=[0, 100], mode="lines", hoverinfo="skip", line={"color": WAS, "width": 1}
    )
    figure.add_scatter(
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
    return dress(figure, 340, "reliability")


def _groups(evaluation: Evaluation) -> list[tuple[str, list[str], list[list[str]]]]:
    """Of each column: its name, the head of its table, and a line per group."""
    tables = []
    for column in dict.fromkeys(one.column for one in evaluation.groups):
        mine = [one for one in evaluation.groups if one.column == column]
        head = [column, "rows", *(measure.name for measure in mine[0].measures)]
        rows = [
            [one.level, f"{one.rows:,.0f}", *(_interval(measure) for measure in one.measures)]
            for one in mine
        ]
        tables.append((column, head, rows))
    return tables


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
