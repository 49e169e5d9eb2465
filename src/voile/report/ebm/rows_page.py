"""The page of single rows: a waterfall each, from the base value to the score, and words."""

from __future__ import annotations

import math
from dataclasses import replace

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.ebm import text as plain_text
from voile.explain.ebm.factors import (
    LOG_UNIT,
    factor_range_text,
    factor_text,
    level_range_text,
)
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.text import row_text, told_values
from voile.explain.wording import noisy, percent
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.ebm.factor_axis import power_ticks
from voile.report.ebm.feature_labels import label_features
from voile.report.ebm.shapes import MULTIPLIES, score_title
from voile.report.kit.bars import Part, draw_steps, parts_text, rank_parts
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.room import draw_some
from voile.report.kit.text import plot_text

MOST_ROWS, MOST_TICKS = 20, 5

_html = Templates("ebm/rows.html", text=plain_text)


@draws(EBMLocalExplanation)
def draw_page(record: EBMLocalExplanation) -> str:
    """The whole page as HTML."""
    rows = draw_some(lambda row: _draw_row(record, row), min(len(record), MOST_ROWS))
    body = _html.page(record, len(rows)) + Markup("").join(rows)
    return compose_page(
        "Why these answers", body, record.receipt, cost=record.cost, holds_rows=True
    )


@plots(EBMLocalExplanation)
def plot(record: EBMLocalExplanation, request: FigureRequest) -> go.Figure:
    """How one row got its score."""
    request.refuse("name")
    row = request.choose_row(len(record))
    return draw_waterfall(record, row, request.choose_output(record.outputs))


def _draw_row(record: EBMLocalExplanation, row: int) -> Markup:
    k = record.told_output(row)
    several = len(record.outputs) > 1
    chances = [percent(one) for one in record.predictions[row].tolist()] if several else []
    named = zip(record.classes, chances, strict=False)
    return _html.row(
        record,
        row,
        title=row_text(record, row),
        chances=", ".join(f"{name} {share}" for name, share in named),
        told=k,
        figure=draw_waterfall(record, row),
        words=_steps_text(record, find_steps(record, row, k)),
        head=_head(record),
        table=_tabulate(record, row),
    )


def _steps_text(record: EBMLocalExplanation, steps: list[Part]) -> str:
    """The greatest steps in words."""
    if record.units != LOG_UNIT:
        return parts_text(steps)
    return ", ".join(f"{step.label} {factor_text(step.size)}" for step in steps[:5])


def _head(record: EBMLocalExplanation) -> list[str]:
    """Head of the table of a row: scores, and probabilities where a score is one."""
    alone = plain_text.has_probability_scale(record)
    more = [plain_text.alone_head(float(record.base_values[0]))] if alone else []
    more += [MULTIPLIES] if record.units == LOG_UNIT else []
    return ["feature", "value", *record.outputs, *more]


def _tabulate(record: EBMLocalExplanation, row: int) -> list[list[str]]:
    """What every feature added to each output, the base value, and the score."""
    base = float(record.base_values[0])
    starts = [base] * len(record.features) + [0.0, 0.0]
    lines = zip(
        (*record.features, "base value", "score"),
        (*told_values(record, row), "", ""),
        (*record.values[row], record.base_values, record.scores[row]),
        (*record.standard_errors[row], record.base_errors, record.score_errors[row]),
        starts,
        strict=True,
    )
    alone = plain_text.has_probability_scale(record)
    factors = record.units == LOG_UNIT
    return [
        [
            name,
            text,
            *map(noisy, sizes.tolist(), errors.tolist()),
            *([plain_text.alone_text(start, float(sizes[0]), float(errors[0]))] if alone else []),
            *([_factor_text(name, float(sizes[0]), float(errors[0]))] if factors else []),
        ]
        for name, text, sizes, errors, start in lines
    ]


def _factor_text(name: str, size: float, error: float) -> str:
    """What a feature multiplies by; of the ends, the prediction itself."""
    whole = name in ("base value", "score")
    return (level_range_text if whole else factor_range_text)(size, error)


def find_steps(record: EBMLocalExplanation, row: int, output: int) -> list[Part]:
    """Steps of one row, the greatest first, the rest summed (their noise taken as independent)."""
    labels, texts = label_features(record, row), told_values(record, row)
    factors = record.units == LOG_UNIT

    def tell(j: int) -> tuple[str, tuple[str, ...]]:
        return labels[j], (f"{record.features[j]} = {texts[j]}",)

    steps, level = [], float(record.base_values[output])
    sizes, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    for part in rank_parts(record.features, sizes, errors, tell, "features"):
        text = factor_range_text(part.size, part.standard_error) if factors else ""
        steps.append(replace(part, start=level, text=text))
        level += part.size
    return steps


def find_ends(
    record: EBMLocalExplanation, row: int, output: int, total: str = "score"
) -> tuple[Part, Part]:
    """Where a row starts and where it ends."""
    start, error = record.base_values[output], record.base_errors[output]
    score, noise = record.scores[row, output], record.score_errors[row, output]
    texts = ("", "")
    if record.units == LOG_UNIT:
        total = "prediction"
        ends = ((float(start), float(error)), (float(score), float(noise)))
        texts = (level_range_text(*ends[0]), level_range_text(*ends[1]))
    return (
        Part("base value", (), float(start), float(error), added=False, text=texts[0]),
        Part(total, (), float(score), float(noise), added=False, text=texts[1]),
    )


def draw_waterfall(record: EBMLocalExplanation, row: int, output: int | None = None) -> go.Figure:
    """Draw how one row got its score.

    Parameters
    ----------
    record : EBMLocalExplanation
    row : int
        Position of the row.
    output : int or None
        Position of the output; None for the one that tells most (the predicted class).

    Returns
    -------
    Figure
        Base value at the top, a floating bar per feature, the score at the bottom; whiskers are
        two standard errors of the noise.
    """
    k = record.told_output(row) if output is None else output
    base, score = find_ends(record, row, k)
    title = score_title((record.outputs[k],), record.units)
    steps = find_steps(record, row, k)
    if record.units != LOG_UNIT:
        return draw_steps(base, steps, score, title)
    figure = draw_steps(base, steps, score, f"{plot_text(record.outputs[k], 40)}, log scale")
    ends = [
        part.start + part.size + side * part.standard_error
        for part in (base, *steps, score)
        for side in (-2, 2)
    ]
    known = [one for one in ends if math.isfinite(one)] or [base.size, score.size]
    low, high = min(known), max(known)
    return figure.update_xaxes(**power_ticks(low, high, most=MOST_TICKS))
