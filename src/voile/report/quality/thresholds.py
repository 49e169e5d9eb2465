"""The form that chooses a threshold in the reader's own browser, and a table of a few of them."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from voile.models.evaluation.intervals import reach_of
from voile.models.evaluation.measure import Measure, shown
from voile.models.evaluation.record import Evaluation
from voile.models.evaluation.thresholds import OperatingPoint, ScoreCounts
from voile.report.kit.html import Templates

_html = Templates("quality/thresholds.html")

_SHOWN = ("sensitivity", "specificity", "PPV", "NPV")
TABLE_HEAD = ["threshold", *(f"{one}, %" for one in _SHOWN), "alarms per 1,000"]


def draw_thresholds(evaluation: Evaluation) -> Markup:
    """The form with its numbers, and a table of a few thresholds for paper."""
    scores = evaluation.scores
    if not scores:
        return Markup("")
    tables = [
        {
            "positive": one.positive,
            "head": TABLE_HEAD,
            "rows": threshold_lines(one, evaluation.confidence),
        }
        for one in scores
    ]
    what = "probability" if scores[0].scale == "probability" else "relative distance"
    data = {
        "reach": reach_of(evaluation.confidence),
        "scores": [_describe(one) for one in scores],
    }
    return _html.part(scores, data, [one for one in tables if one["rows"]], what)


def percent_figure(measure: Measure) -> str:
    """A share of 1 with its interval, in percent, without the sign."""
    if measure.lost:
        return measure.figure
    return shown(100 * measure.value, 100 * measure.low, 100 * measure.high)


def threshold_text(threshold: float, scale: str) -> str:
    """A threshold as people write it."""
    return f"{100 * threshold:g} %" if scale == "probability" else f"{threshold:g}"


def threshold_lines(counts: ScoreCounts, confidence: float) -> list[list[str]]:
    """A few thresholds and what they do, as texts."""
    return [_line(point, counts) for point in counts.round_points(confidence)]


def _line(point: OperatingPoint, counts: ScoreCounts) -> list[str]:
    rates = [percent_figure(point[name]) for name in _SHOWN]
    return [threshold_text(point.threshold, counts.scale), *rates, point["alarms"].figure]


def _describe(counts: ScoreCounts) -> dict[str, Any]:
    """What the script computes with."""
    usual = 0.5 if counts.scale == "probability" else 0.0
    return {
        "positive": counts.positive,
        "scale": counts.scale,
        "thresholds": list(counts.thresholds),
        "sides": counts.sides.tolist(),
        "above": list(counts.noise_above),
        "below": list(counts.noise_below),
        "both": list(counts.noise_both),
        "together": counts.together,
        "usual": counts.nearest(usual),
    }
