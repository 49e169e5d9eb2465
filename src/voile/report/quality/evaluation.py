"""How good a model is, as a page and as a section of one: measures, curves, thresholds, groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from voile.figure_request import FigureRequest
from voile.models.evaluation.measure import Measure
from voile.models.evaluation.record import Evaluation, GroupScores, difference_texts
from voile.rendering import draws, plots
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.quality.curves import draw_calibration, draw_curves
from voile.report.quality.thresholds import draw_thresholds

_html = Templates("quality/evaluation.html")


@draws(Evaluation)
def draw_page(evaluation: Evaluation) -> str:
    """The whole page as HTML."""
    title = f"Quality of {evaluation.model}"
    return compose_page(title, draw_section(evaluation), evaluation.receipt)


@plots(Evaluation)
def plot(evaluation: Evaluation, request: FigureRequest) -> go.Figure:
    """A curve ("roc", "precision-recall"), or what happened against what was predicted."""
    request.refuse("row", "output")
    drawn = {one.name: one.drawing for one in draw_curves(evaluation)}
    calibration = draw_calibration(evaluation)
    if calibration is not None:
        drawn["calibration"] = calibration.drawing
    return drawn[request.choose_name(list(drawn))]


def draw_section(evaluation: Evaluation) -> Markup:
    """All that the page tells, without a heading of its own."""
    return _html.section(
        evaluation,
        measures=measure_lines(evaluation),
        lead=lead_text(evaluation),
        curves=draw_curves(evaluation),
        thresholds=draw_thresholds(evaluation),
        calibration=draw_calibration(evaluation),
        groups=_groups(evaluation),
    )


def lead_text(evaluation: Evaluation) -> str:
    """Whether the model is of any use, in a sentence; nothing if no measure has a baseline."""
    known = [one for one in evaluation.measures if one.baseline is not None and not one.lost]
    if not known:
        return ""
    first = known[0]
    assert first.baseline is not None
    name, verdict = first.baseline.name, first.baseline.verdict
    if verdict == "cannot be told from nothing":
        return f"By its {first.name}, the model cannot be told from {name}."
    better = "better" if first.baseline.better else "worse"
    return f"By its {first.name}, the model is {better} than {name}: {verdict}."


def measure_lines(evaluation: Evaluation) -> list[list[str]]:
    """Name, estimate, baseline and verdict of every measure, those of single classes last."""
    lines = [_line(replace(one, name=evaluation.name_of(one))) for one in evaluation.measures]
    for counts in evaluation.scores:
        lines += [_line(one, f" of '{counts.positive}'") for one in counts.measures]
    return lines


def _line(measure: Measure, of: str = "") -> list[str]:
    unit = f" ({measure.unit})" if measure.unit else ""
    known = measure.baseline
    if known is None or measure.lost:
        return [f"{measure.name}{of}{unit}", measure.figure, "", ""]
    baseline = Measure("", known.value, known.low, known.high, 0.0)
    verdict: str = known.verdict
    if verdict != "cannot be told from nothing":
        verdict = f"{'better' if known.better else 'worse'}: {verdict}"
    return [f"{measure.name}{of}{unit}", measure.figure, f"{known.name} {baseline.figure}", verdict]


def _groups(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Of each column: its name, a line per group, and what differences mean."""
    tables = []
    for column in dict.fromkeys(one.column for one in evaluation.groups):
        mine = tuple(one for one in evaluation.groups if one.column == column)
        head = [column, "rows", *(measure.name for measure in mine[0].measures)]
        rows = [
            [one.level, f"{one.rows:,.0f}", *(measure.figure for measure in one.measures)]
            for one in mine
        ]
        tables.append(
            {
                "column": column,
                "head": head,
                "rows": rows,
                "verdict": " ".join(difference_texts(mine)),
                "differences": _differences(mine),
            }
        )
    return tables


def _differences(groups: tuple[GroupScores, ...]) -> list[list[str]]:
    return [
        [group.level, one.name, one.figure, one.verdict]
        for group in groups
        for one in group.differences
    ]
