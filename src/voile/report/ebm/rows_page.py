"""The page of single rows: a waterfall each, and the prediction in words."""

from __future__ import annotations

from markupsafe import Markup

from voile.explain import plain_text
from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import row_text, told_values
from voile.explain.wording import noisy, percent
from voile.rendering import draws
from voile.report.ebm.waterfall import draw_waterfall, find_steps
from voile.report.kit.bars import parts_text
from voile.report.kit.html import Templates
from voile.report.kit.page import compose_page

MOST_ROWS = 20

_html = Templates("ebm/rows.html", text=plain_text)


@draws(LocalExplanation)
def draw_page(explanation: LocalExplanation) -> str:
    """The whole page as HTML."""
    body = _html.page(explanation, MOST_ROWS)
    for row in range(min(len(explanation), MOST_ROWS)):
        body += _draw_row(explanation, row)
    return compose_page(
        "Why these answers", body, explanation.receipt, cost=explanation.cost, holds_rows=True
    )


def _draw_row(explanation: LocalExplanation, row: int) -> Markup:
    k = explanation.told_output(row)
    several = len(explanation.outputs) > 1
    chances = [percent(one) for one in explanation.predictions[row].tolist()] if several else []
    named = zip(explanation.classes, chances, strict=False)
    return _html.row(
        explanation,
        row,
        title=row_text(explanation, row),
        chances=", ".join(f"{name} {share}" for name, share in named),
        told=k,
        figure=draw_waterfall(explanation, row),
        words=parts_text(find_steps(explanation, row, k)),
        table=_tabulate(explanation, row),
    )


def _tabulate(explanation: LocalExplanation, row: int) -> list[list[str]]:
    """What every feature added to each output, the base value, and the score."""
    lines = zip(
        (*explanation.features, "base value", "score"),
        (*told_values(explanation, row), "", ""),
        (*explanation.values[row], explanation.base_values, explanation.scores[row]),
        (
            *explanation.standard_errors[row],
            explanation.base_errors,
            explanation.score_errors[row],
        ),
        strict=True,
    )
    return [
        [name, text, *map(noisy, sizes.tolist(), errors.tolist())]
        for name, text, sizes, errors in lines
    ]
