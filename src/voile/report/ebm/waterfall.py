"""The waterfall of one row: from the base value to the score, feature by feature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import cut_text, told_values
from voile.explain.wording import noisy
from voile.report.ebm.shape_text import score_title
from voile.report.kit.palette import LOWER, RAISE, WAS, dress
from voile.report.kit.text import plot_text, short_names

MOST_STEPS = 12
"""Features with a step of their own; what the rest added is summed."""

MOST_NAME, MOST_VALUE = 20, 18


@dataclass(frozen=True)
class Step:
    """One step of a waterfall: what was added, from where, and the noise of it.

    Attributes
    ----------
    label, told : str
        A name to show, and everything there is to tell on pointing at it; plain text.
    start, size, standard_error : float
        In units of the score.
    """

    label: str
    told: str
    start: float
    size: float
    standard_error: float


def find_steps(explanation: LocalExplanation, row: int, output: int) -> list[Step]:
    """Steps of one row, the greatest first, the rest summed (their noise taken as independent)."""
    parts = explanation.values[row, :, output]
    errors = explanation.standard_errors[row, :, output]
    order = np.argsort(-np.abs(parts), kind="stable").tolist()
    texts = told_values(explanation, row)
    level = float(explanation.base_values[output])
    # A sum of a single feature would say less than the feature itself.
    most = MOST_STEPS if len(order) > MOST_STEPS + 1 else len(order)
    steps = []
    labels = short_names(explanation.features, MOST_NAME)
    for j in order[:most]:
        name = explanation.features[j]
        read = explanation.read_as[row][j]
        value = explanation.given[row][j] + (f" → {read}" if read else "")
        label = f"{labels[j]} = {cut_text(value, MOST_VALUE)}"
        part = float(parts[j])
        steps.append(Step(label, f"{name} = {texts[j]}", level, part, float(errors[j])))
        level += part
    rest = order[most:]
    if rest:
        names = ", ".join(explanation.features[j] for j in rest)
        steps.append(
            Step(
                f"{len(rest)} other features",
                cut_text(f"{len(rest)} other features: {names}", 150),
                level,
                float(parts[rest].sum()),
                float(np.sqrt((errors[rest] ** 2).sum())),
            )
        )
    return steps


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
    steps = find_steps(explanation, row, k)
    base, score = float(explanation.base_values[k]), float(explanation.scores[row, k])
    base_error = float(explanation.base_errors[k])
    score_error = float(explanation.score_errors[row, k])
    last = len(steps) + 1
    figure = go.Figure()
    figure.add_trace(
        go.Bar(
            base=[step.start for step in steps],
            x=[step.size for step in steps],
            y=list(range(1, last)),
            orientation="h",
            width=0.62,
            marker={"color": [RAISE if step.size > 0 else LOWER for step in steps]},
            error_x={
                "array": [_whisker(step.standard_error) for step in steps],
                "color": WAS,
                "thickness": 1.5,
                "width": 4,
            },
            hovertext=[
                f"{plot_text(step.told)}<br>{noisy(step.size, step.standard_error)}"
                for step in steps
            ],
            hoverinfo="text",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[base, score],
            y=[0, last],
            mode="markers",
            marker={"symbol": "diamond", "size": 11, "color": "#222"},
            error_x={
                "array": [_whisker(base_error), _whisker(score_error)],
                "color": WAS,
                "thickness": 1.5,
            },
            hovertext=["base value", "score"],
            hoverinfo="text",
        )
    )
    _connect(figure, steps, base, score)
    labels = [
        _two_lines("base value", noisy(base, base_error, added=False)),
        *(_two_lines(step.label, noisy(step.size, step.standard_error)) for step in steps),
        _two_lines("score", noisy(score, score_error, added=False)),
    ]
    about = (explanation.outputs[k],)
    return dress(
        figure,
        34 * (last + 1) + 60,
        showlegend=False,
        xaxis={
            "title": score_title(about, explanation.units),
            "zeroline": False,
            "nticks": 5,
            "tickangle": 0,
        },
        yaxis={
            "tickvals": list(range(last + 1)),
            "ticktext": labels,
            "range": [last + 0.6, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
        },
        margin={"l": 40, "r": 16, "t": 8, "b": 45},
    )


def _connect(figure: go.Figure, steps: list[Step], base: float, score: float) -> None:
    """Thin lines from where one step ends to where the next starts."""
    ends = [base, *(step.start + step.size for step in steps)]
    ends[-1] = score if steps else base
    xs: list[float | None] = []
    ys: list[float | None] = []
    for i, end in enumerate(ends):
        xs += [end, end, None]
        ys += [i, i + 1, None]
    figure.add_trace(
        go.Scatter(x=xs, y=ys, mode="lines", line={"color": "#999", "width": 1}, hoverinfo="skip")
    )


def _whisker(standard_error: float) -> float | None:
    """Two standard errors; nothing can be drawn for an infinite one, and the label tells it."""
    return 2 * standard_error if math.isfinite(standard_error) else None


def _two_lines(label: str, number: str) -> str:
    return f'{plot_text(label)}<br><span style="color:#666">{number}</span>'
