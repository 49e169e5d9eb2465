"""The page of single rows: a waterfall each, and the prediction in words."""

from __future__ import annotations

from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import (
    class_scores_text,
    edits_text,
    row_text,
    score_text,
    sum_text,
    told_values,
)
from voile.explain.wording import noisy, percent, signed
from voile.report.ebm.waterfall import draw_waterfall, find_steps
from voile.report.kit.page import compose_page, fold, heading, paragraph, place_figure, place_table

MOST_ROWS = 20


def draw_page(explanation: LocalExplanation) -> str:
    """The whole page as HTML."""
    count = len(explanation)
    whose = "one row got its" if count == 1 else f"{count} rows got their"
    several = len(explanation.outputs) > 1
    score = "class, by its score" if several else f"score, the {score_text(explanation)}"
    lead = (
        f"How {whose} {score}. It starts at the base value, and every feature raises it "
        f"(orange, to the right) or lowers it (blue, to the left). Whiskers are two standard "
        f"errors of the privacy noise; the noise of different features is taken to be independent."
    )
    body = [paragraph(text) for text in (lead, class_scores_text(explanation)) if text]
    if explanation.edits or explanation.history:
        body.append(paragraph(f"By people, this model was {edits_text(explanation)}.", note=True))
    if count > MOST_ROWS:
        body.append(
            paragraph(f"The first {MOST_ROWS} of {count} rows; to_frame() has all.", note=True)
        )
    for row in range(min(count, MOST_ROWS)):
        body += _row(explanation, row)
    return compose_page(
        "Why these answers", body, explanation.receipt, cost=explanation.cost, holds_rows=True
    )


def _row(explanation: LocalExplanation, row: int) -> list[str]:
    k = explanation.told_output(row)
    steps = find_steps(explanation, row, k)
    words = ", ".join(f"{step.label} {signed(step.size)}" for step in steps[:5])
    title = row_text(explanation, row)
    parts = [heading(title)]
    if len(explanation.outputs) > 1:
        others = ", ".join(
            f"{name} {percent(float(share))}"
            for name, share in zip(explanation.classes, explanation.predictions[row], strict=True)
        )
        parts.append(paragraph(f"Probabilities: {others}.", note=True))
        parts.append(paragraph(f"Shown: the {sum_text(explanation, k)}.", note=True))
    parts.append(
        place_figure(
            draw_waterfall(explanation, row),
            f"row-{row}",
            f"{title}. Greatest contributions: {words}",
        )
    )
    parts.append(fold("All features", _numbers(explanation, row)))
    return parts


def _numbers(explanation: LocalExplanation, row: int) -> str:
    head = ["feature", "value", *explanation.outputs]
    rows = [
        [
            name,
            text,
            *(noisy(float(part), float(error)) for part, error in zip(parts, errors, strict=True)),
        ]
        for i, (name, text, parts, errors) in enumerate(
            zip(
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
        )
    ]
    return place_table(head, rows, numbers=len(explanation.outputs))
