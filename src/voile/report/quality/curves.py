"""Figures of an evaluation: ROC and precision-recall curves, and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from voile.explain.wording import short
from voile.models.evaluation.curves import CurvePoint
from voile.models.evaluation.measure import shown
from voile.models.evaluation.record import Evaluation, Reliability
from voile.report.kit import theme
from voile.report.kit.text import plot_text
from voile.report.quality.thresholds import threshold_text

MOST_BANDS = 3
"""More classes than this would hide each other's bands: theirs are in the hover text."""


@dataclass(frozen=True)
class Drawing:
    """A figure of a page, with its name in it and what it shows in words."""

    drawing: go.Figure
    name: str
    words: str
    banded: bool = True
    title: str = ""
    note: str = ""


def draw_curves(evaluation: Evaluation) -> list[Drawing]:
    """ROC and precision-recall curves of every class that was set against the rest."""
    classes = [
        (counts, curves)
        for counts, curves in zip(evaluation.scores, evaluation.curves, strict=True)
        if not any(one.lost for one in counts.measures)
    ]
    areas = [one for one in evaluation.measures if one.name in ("AUROC", "average precision")]
    if not classes or any(one.lost for one in areas):
        return []
    roc, recall = go.Figure(), go.Figure()
    roc.add_scatter(x=[0, 100], y=[0, 100], **_dashed())
    banded = len(classes) <= MOST_BANDS
    words: tuple[list[str], list[str]] = ([], [])
    for k, (counts, curves) in enumerate(classes):
        single = len(classes) == 1
        colour = theme.INK if single else theme.series_colour(k)
        rate = 100 * counts.prevalence.value
        recall.add_scatter(x=[0, 100], y=[rate, rate], **_dashed(theme.WAS if single else colour))
        for figure, points, names in (
            (roc, curves.roc, ("sensitivity", "false-positive rate")),
            (recall, curves.precision_recall, ("precision (PPV)", "recall (sensitivity)")),
        ):
            texts = [
                _hover(point, names, counts.scale, "" if single else counts.positive)
                for point in points
            ]
            _add_curve(figure, points, texts, colour, counts.positive, k, banded=banded)
        for i, one in enumerate((counts.measures or areas)[:2]):
            words[i].append(f"{counts.positive}: {one.name} {one.figure}")
    height = 380 + theme.legend_room(len(classes))
    axes = {"range": [0, 100], "constrain": "domain"}
    looks = {"showlegend": len(classes) > 1}
    for figure, x, y in (
        (roc, "false-positive rate, %", "sensitivity, %"),
        (recall, "recall (sensitivity), %", "precision (PPV), %"),
    ):
        theme.dress(figure, height, "reliability", **looks)
        figure.update_xaxes(title_text=x, **axes)
        figure.update_yaxes(title_text=y, range=[0, 101])
    return [
        Drawing(roc, "roc", "ROC curve. " + "; ".join(words[0]), banded),
        Drawing(recall, "precision-recall", "Precision-recall. " + "; ".join(words[1]), banded),
    ]


def draw_calibration(evaluation: Evaluation) -> Drawing | None:
    """What happened, or was observed, against what was predicted."""
    points = evaluation.reliability
    if not points:
        return None
    if evaluation.target == "regression":
        drawing = _draw_points(points, 1.0, _range(points))
        drawing.update_xaxes(title_text="predicted")
        drawing.update_yaxes(title_text="observed, mean")
        words = _words(points, 1.0, "")
        note = (
            "On the line, what is predicted is what is observed on average. Whiskers are 95 % "
            "intervals: privacy noise plus sampling error."
        )
        return Drawing(
            drawing, "reliability", words, title="Calibration: predicted and observed", note=note
        )
    drawing = _draw_points(points, 100.0, None)
    several = len(evaluation.classes) > 2
    title = "Calibration" + (" of the predicted class" if several else "")
    note = (
        "On the line, what is predicted is what happens"
        + (": so often is the predicted class the true one" if several else "")
        + f". Whiskers are {100 * evaluation.confidence:g} % intervals: privacy noise plus "
        "sampling error."
    )
    return Drawing(drawing, "reliability", _words(points, 100.0, " %"), title=title, note=note)


def _words(points: Sequence[Reliability], scale: float, unit: str) -> str:
    parts = [
        f"{short(scale * one.predicted, digits=2)}{unit} predicted, "
        f"{short(scale * one.happened.value, digits=2)}{unit} happened"
        for one in points
    ]
    return "Calibration: " + ", ".join(parts)


def _range(points: Sequence[Reliability]) -> list[float]:
    ends = [one.predicted for one in points]
    ends += [end for one in points for end in (one.happened.low, one.happened.high)]
    room = 0.05 * (max(ends) - min(ends)) or 1.0
    return [min(ends) - room, max(ends) + room]


def _draw_points(
    points: Sequence[Reliability], scale: float, ends: list[float] | None
) -> go.Figure:
    figure = go.Figure()
    line = [0, 100] if ends is None else ends
    figure.add_scatter(x=line, y=line, **_dashed())
    shown_points = [one for one in points if not one.happened.lost]
    figure.add_scatter(
        x=[scale * one.predicted for one in shown_points],
        y=[scale * one.happened.value for one in shown_points],
        error_y={
            "array": [scale * (one.happened.high - one.happened.value) for one in shown_points],
            "arrayminus": [scale * (one.happened.value - one.happened.low) for one in shown_points],
            "thickness": 1.5,
            "width": 4,
        },
        mode="markers",
        marker={"color": theme.INK, "size": 8},
        hovertext=[_point_text(one, scale) for one in shown_points],
        hoverinfo="text",
    )
    theme.dress(figure, 360, "reliability")
    return figure if ends is None else figure.update_layout(xaxis_range=ends, yaxis_range=ends)


def _point_text(one: Reliability, scale: float) -> str:
    unit = " %" if scale == 100 else ""
    found = one.happened
    happened = shown(scale * found.value, scale * found.low, scale * found.high)
    return (
        f"predicted {short(scale * one.predicted)}{unit}<br>happened {happened}{unit}"
        f"<br>about {one.rows:,.0f} rows"
    )


def _add_curve(
    figure: go.Figure,
    points: Sequence[CurvePoint],
    texts: Sequence[str],
    colour: str,
    name: str,
    position: int,
    *,
    banded: bool,
) -> None:
    x = [100 * one.x for one in points]
    group = {"legendgroup": str(position)}
    if banded:
        for side, fill in (("low", None), ("high", "tonexty")):
            figure.add_scatter(
                x=x,
                y=[100 * getattr(one, side) for one in points],
                mode="lines",
                line={"width": 0},
                fill=fill,
                fillcolor=theme.see_through(colour, 0.25),
                hoverinfo="skip",
                showlegend=False,
                **group,
            )
    figure.add_scatter(
        x=x,
        y=[100 * one.y for one in points],
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": theme.series_dash(position)},
        marker={"color": colour, "size": 4},
        name=plot_text(name, 30),
        hovertext=list(texts),
        hoverinfo="text",
        **group,
    )


def _hover(point: CurvePoint, names: tuple[str, str], scale: str, positive: str) -> str:
    height = shown(100 * point.y, 100 * point.low, 100 * point.high)
    lines = [f"{names[0]} {height} %", f"{names[1]} {short(100 * point.x)} %"]
    if point.threshold == point.threshold:
        lines.insert(0, f"threshold {threshold_text(point.threshold, scale)}")
    return "<br>".join([f"<b>{plot_text(positive)}</b>"] * bool(positive) + lines)


def _dashed(colour: str = theme.WAS) -> dict[str, object]:
    line = {"color": colour, "width": 1, "dash": "dash"}
    return {"mode": "lines", "hoverinfo": "skip", "line": line, "showlegend": False}
