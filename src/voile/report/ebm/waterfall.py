"""The waterfall of one row: from the base value to the score, feature by feature."""

from __future__ import annotations

from dataclasses import replace

import plotly.graph_objects as go

from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import told_values
from voile.report.ebm.shapes import score_title
from voile.report.kit.bars import Part, draw_steps, rank_parts, value_label
from voile.report.kit.text import short_names

MOST_NAME = 20


def find_steps(explanation: LocalExplanation, row: int, output: int) -> list[Part]:
    """Steps of one row, the greatest first, the rest summed (their noise taken as independent)."""
    names, texts = short_names(explanation.features, MOST_NAME), told_values(explanation, row)

    def tell(j: int) -> tuple[str, tuple[str, ...]]:
        read = explanation.read_as[row][j]
        label = value_label(names[j], explanation.given[row][j], read or "")
        return label, (f"{explanation.features[j]} = {texts[j]}",)

    steps, level = [], float(explanation.base_values[output])
    sizes, errors = explanation.values[row, :, output], explanation.standard_errors[row, :, output]
    for part in rank_parts(explanation.features, sizes, errors, tell, "features"):
        steps.append(replace(part, start=level))
        level += part.size
    return steps


def find_ends(
    explanation: LocalExplanation, row: int, output: int, total: str = "score"
) -> tuple[Part, Part]:
    """Where a row starts and where it ends."""
    start, error = explanation.base_values[output], explanation.base_errors[output]
    score, noise = explanation.scores[row, output], explanation.score_errors[row, output]
    return (
        Part("base value", (), float(start), float(error), added=False),
        Part(total, (), float(score), float(noise), added=False),
    )


def draw_waterfall(explanation: LocalExplanation, row: int, output: int | None = None) -> go.Figure:
    """Draw how one row got its score.

    Parameters
    ----------
    explanation : LocalExplanation
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
    k = explanation.told_output(row) if output is None else output
    base, score = find_ends(explanation, row, k)
    title = score_title((explanation.outputs[k],), explanation.units)
    return draw_steps(base, find_steps(explanation, row, k), score, title)
