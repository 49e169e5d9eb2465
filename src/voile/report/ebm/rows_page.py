"""The page of single rows: a waterfall each, from the base value to the score, and words."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go
from markupsafe import Markup

from voile.explain.ebm import text as plain_text
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.text import row_text, told_values
from voile.explain.wording import noisy, percent
from voile.figure_request import FigureRequest
from voile.rendering import draws, plots
from voile.report.ebm.feature_labels import label_features
from voile.report.ebm.shapes import score_title
from voile.report.kit.bars import Part, draw_steps, parts_text, rank_parts
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page
from voile.report.kit.room import draw_some

MOST_ROWS = 20

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
        words=parts_text(find_steps(record, row, k)),
        head=_head(record),
        table=_tabulate(record, row),
    )


def _head(record: EBMLocalExplanation) -> list[str]:
    """Head of the table of a row: scores, and probabilities where a score is one."""
    alone = plain_text.has_probability_scale(record)
    more = [plain_text.alone_head(float(record.base_values[0]))] if alone else []
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
    return [
        [
            name,
            text,
            *map(noisy, sizes.tolist(), errors.tolist()),
            *([plain_text.alone_text(start, float(sizes[0]), float(errors[0]))] if alone else []),
        ]
        for name, text, sizes, errors, start in lines
    ]


def find_steps(record: EBMLocalExplanation, row: int, output: int) -> list[Part]:
    """Steps of one row, the greatest first, the rest summed (their noise taken as independent)."""
    labels, texts = label_features(record, row), told_values(record, row)

    def tell(j: int) -> tuple[str, tuple[str, ...]]:
        return labels[j], (f"{record.features[j]} = {texts[j]}",)

    steps, level = [], float(record.base_values[output])
    sizes, errors = record.values[row, :, output], record.standard_errors[row, :, output]
    for part in rank_parts(record.features, sizes, errors, tell, "features"):
        steps.append(replace(part, start=level))
        level += part.size
    return steps


def find_ends(
    record: EBMLocalExplanation, row: int, output: int, total: str = "score"
) -> tuple[Part, Part]:
    """Where a row starts and where it ends."""
    start, error = record.base_values[output], record.base_errors[output]
    score, noise = record.scores[row, output], record.score_errors[row, output]
    return (
        Part("base value", (), float(start), float(error), added=False),
        Part(total, (), float(score), float(noise), added=False),
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
    return draw_steps(base, find_steps(record, row, k), score, title)
