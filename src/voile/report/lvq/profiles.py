"""Profiles of prototypes: where each lies on every feature's own scale, with its noise."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import prototype_name, value_text
from voile.explain.wording import edge_texts
from voile.report.kit.palette import dress, legend_room, names_axis, series_colour, series_symbol
from voile.report.kit.text import plot_labels, plot_text

MOST_MARKS = 160
"""Dots in a figure; more features than fit are left out."""

MOST_FEATURES, FEWEST_FEATURES = 30, 8

VARIANTS = ("", "-open", "-open-dot", "-dot")
"""Markers of several prototypes of one class."""


def choose_features(explanation: PrototypeExplanation) -> tuple[int, ...]:
    """Positions of the features that are drawn, the most relevant first."""
    fit = MOST_MARKS // max(len(explanation.labels), 1)
    return explanation.ranked[: min(max(fit, FEWEST_FEATURES), MOST_FEATURES)]


def draw_profiles(explanation: PrototypeExplanation) -> go.Figure:
    """Draw a line per feature from its lower to its upper bound, and each prototype as a dot.

    Whiskers are two standard errors of the privacy noise; an upright stroke is the private mean of
    a class. All prototypes of a feature are beneath each other, so that they can be compared.
    """
    picked = choose_features(explanation)
    count = len(explanation.labels)
    figure = go.Figure()
    _add_lines(figure, len(picked))
    for p in range(count):
        _add_prototype(figure, explanation, p, picked)
    names = plot_labels([explanation.features[j].name for j in picked], 26)
    labels = [
        f'{name}<br><span style="color:#666;font-size:10px">{_bounds(explanation, j)}</span>'
        for name, j in zip(names, picked, strict=True)
    ]
    return dress(
        figure,
        max(40, 9 * count + 16) * len(picked) + 60 + legend_room(count + 1),
        xaxis={
            "range": [-0.02, 1.02],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "ticktext": ["lower<br>bound", "", "middle", "", "upper<br>bound"],
            "zeroline": False,
        },
        yaxis={
            **names_axis(labels, showgrid=False, zeroline=False, ticklabelstandoff=6),
            "range": [len(picked) - 0.5, -0.5],
        },
        margin={"l": 40, "r": 16, "t": 12, "b": 45},
    )


def _bounds(explanation: PrototypeExplanation, j: int) -> str:
    feature = explanation.features[j]
    if feature.level is not None:
        return "0 to 100 % of rows"
    low, high = edge_texts([feature.lower, feature.upper])
    return f"{low} to {high}"


def _add_lines(figure: go.Figure, count: int) -> None:
    """A pale band behind every second feature, so that the eye stays on its line."""
    for i in range(0, count, 2):
        figure.add_hrect(
            y0=i - 0.5, y1=i + 0.5, fillcolor="#f4f4f2", line={"width": 0}, layer="below"
        )


def _add_prototype(
    figure: go.Figure, explanation: PrototypeExplanation, p: int, picked: tuple[int, ...]
) -> None:
    label, count = explanation.labels[p], len(explanation.labels)
    same = [q for q, one in enumerate(explanation.labels) if one == label]
    name = prototype_name(explanation.labels, explanation.outputs, p)
    shift = 0.76 * ((p + 0.5) / count - 0.5)
    heights = [i + shift for i in range(len(picked))]
    colour = series_colour(label)
    features = [explanation.features[j] for j in picked]
    widths = np.array([one.upper - one.lower for one in features])
    errors = 2 * explanation.standard_errors[p, list(picked)] / widths
    means = [
        float(one.place(explanation.means[label, j]))
        for one, j in zip(features, picked, strict=True)
    ]
    figure.add_scatter(
        x=means,
        y=heights,
        mode="markers",
        marker={"symbol": "line-ns", "size": 11, "line": {"width": 2, "color": "#222"}},
        name="class mean",
        legendgroup="mean",
        legendrank=2000,
        showlegend=p == 0,
        hovertext=[
            f"mean of '{plot_text(explanation.outputs[label])}': "
            f"{value_text(one, float(explanation.means[label, j]))}"
            for one, j in zip(features, picked, strict=True)
        ],
        hoverinfo="text",
    )
    figure.add_scatter(
        x=[
            float(one.place(explanation.values[p, j]))
            for one, j in zip(features, picked, strict=True)
        ],
        y=heights,
        # What is not known reaches beyond the figure.
        error_x={
            "array": np.nan_to_num(errors, posinf=2.0).tolist(),
            "color": colour,
            "thickness": 2,
            "width": 3,
        },
        mode="markers",
        marker={
            "color": colour,
            "size": 9,
            "symbol": series_symbol(label) + VARIANTS[same.index(p) % len(VARIANTS)],
        },
        name=plot_text(name, 30),
        hovertext=[
            f"<b>{plot_text(one.name)}</b>, typical {plot_text(name)}<br>"
            + value_text(
                one,
                float(explanation.values[p, j]),
                float(explanation.standard_errors[p, j]),
            )
            for one, j in zip(features, picked, strict=True)
        ],
        hoverinfo="text",
    )
