"""Profiles of prototypes, and what a learned distance looks at: columns, and pairs of features."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from voile.explain.lvq.overall import LVQExplanation
from voile.explain.lvq.text import feature_text, mean_text, prototype_name, share_text
from voile.explain.wording import signed
from voile.report.kit import theme
from voile.report.kit.text import plot_labels, plot_text
from voile.schema.value_texts import edge_texts

MOST_MARKS = 160
"""Dots in a figure; more features than fit are left out."""

MOST_FEATURES, FEWEST_FEATURES = 30, 8

VARIANTS = ("", "-open", "-open-dot", "-dot")
"""Markers of several prototypes of one class."""

MOST_COLUMNS, MOST_WRITTEN = 40, 10
"""Columns with a bar; features up to which the map has numbers in it."""

PALE_LOWER, PALE_RAISE, WRITTEN = "#6fb6e3", "#f0a06a", "#111"
"""Colours of a map with numbers in it, which dark letters can be read on."""


def choose_features(record: LVQExplanation) -> tuple[int, ...]:
    """Positions of the features that are drawn, the most relevant first.

    Those of columns that cannot be told from nothing are not.
    """
    fit = MOST_MARKS // max(len(record.labels), 1)
    return record.shown[: min(max(fit, FEWEST_FEATURES), MOST_FEATURES)]


def draw_profiles(record: LVQExplanation) -> go.Figure:
    """Draw a line per feature from its lower to its upper bound, and each prototype as a dot.

    Whiskers are two standard errors; an upright stroke is the private mean of a class. All
    prototypes of a feature are beneath each other, so that they can be compared.
    """
    picked = choose_features(record)
    count = len(record.labels)
    figure = go.Figure()
    _add_lines(figure, len(picked))
    for p in range(count):
        _add_prototype(figure, record, p, picked)
    names = plot_labels([record.features[j].name for j in picked], 26)
    labels = [
        f'{name}<br><span style="color:#666;font-size:10px">{_bounds(record, j)}</span>'
        for name, j in zip(names, picked, strict=True)
    ]
    return theme.dress(
        figure,
        max(40, 9 * count + 16) * len(picked) + 60 + theme.legend_room(count + 1),
        "profiles",
        yaxis={**theme.names_axis(labels), "range": [len(picked) - 0.5, -0.5]},
    )


def _bounds(record: LVQExplanation, j: int) -> str:
    feature = record.features[j]
    if feature.level is not None:
        return "0 to 100 % of rows"
    low, high = edge_texts([feature.lower, feature.upper], feature.scale)
    return f"{low} to {high}"


def _add_lines(figure: go.Figure, count: int) -> None:
    """A pale band behind every second feature, so that the eye stays on its line."""
    for i in range(0, count, 2):
        figure.add_hrect(
            y0=i - 0.5, y1=i + 0.5, fillcolor="#f4f4f2", line={"width": 0}, layer="below"
        )


def _add_prototype(
    figure: go.Figure, record: LVQExplanation, p: int, picked: tuple[int, ...]
) -> None:
    label, count = record.labels[p], len(record.labels)
    same = [q for q, one in enumerate(record.labels) if one == label]
    name = prototype_name(record.labels, record.outputs, p)
    shift = 0.76 * ((p + 0.5) / count - 0.5)
    heights = [i + shift for i in range(len(picked))]
    colour = theme.series_colour(label)
    features = [record.features[j] for j in picked]
    widths = np.array([one.upper - one.lower for one in features])
    errors = 2 * record.standard_errors[p, list(picked)] / widths
    means = [
        float(one.place(record.means[label, j])) for one, j in zip(features, picked, strict=True)
    ]
    figure.add_scatter(
        x=means,
        y=heights,
        showlegend=p == 0,
        hovertext=[
            f"mean of '{plot_text(record.outputs[label])}': "
            f"{mean_text(record, label, j) or feature_text(one, float(record.means[label, j]))}"
            for one, j in zip(features, picked, strict=True)
        ],
        **theme.look("class mean"),
    )
    figure.add_scatter(
        x=[float(one.place(record.values[p, j])) for one, j in zip(features, picked, strict=True)],
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
            "symbol": theme.series_symbol(label) + VARIANTS[same.index(p) % len(VARIANTS)],
        },
        name=plot_text(name, 30),
        hovertext=[
            f"<b>{plot_text(one.name)}</b>, typical {plot_text(name)}<br>"
            + feature_text(one, float(record.values[p, j]), float(record.standard_errors[p, j]))
            for one, j in zip(features, picked, strict=True)
        ],
        hoverinfo="text",
    )


def draw_relevance(record: LVQExplanation) -> go.Figure:
    """Draw a bar per column (the first `MOST_COLUMNS`): its part of the distance."""
    sizes = record.column_relevance
    order = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS].tolist()
    names = [record.columns[i] for i in order]
    figure = go.Figure(
        go.Bar(
            x=[100 * float(sizes[i]) for i in order],
            y=list(range(len(order))),
            orientation="h",
            marker={
                "color": [theme.ROWS if name in record.nothing else theme.INK for name in names]
            },
            error_x={
                # Nothing can be drawn for what is not known; the note says so.
                "array": [_whisker(float(record.column_relevance_errors[i])) for i in order],
                "color": theme.WAS,
                "thickness": 1.5,
            },
            hovertext=[
                f"<b>{plot_text(name)}</b>: {share_text(record, i)}"
                for name, i in zip(names, order, strict=True)
            ],
            hoverinfo="text",
        )
    )
    return theme.dress(
        figure,
        24 * len(order) + 70,
        "named bars",
        xaxis={"title": "part of the distance", "ticksuffix": " %"},
        yaxis=theme.names_axis(plot_labels(names, 24)),
    )


def _whisker(error: float) -> float | None:
    """Two standard errors in percent."""
    return 200 * error if np.isfinite(error) else None


def has_pairs(record: LVQExplanation) -> bool:
    """Whether the distance looks at features together, so that there is a map to draw."""
    pairs = record.pairs
    return bool(np.abs(pairs - np.diag(np.diag(pairs))).max(initial=0.0) > 0)


def pairs_text(record: LVQExplanation, *, most: int = 3) -> str:
    """The pairs of features that the distance looks at together most, in words."""
    sizes = np.abs(np.triu(record.pairs, 1))
    order = np.argsort(-sizes, axis=None, kind="stable")[:most]
    words = []
    for i, k in zip(*np.unravel_index(order, sizes.shape), strict=True):
        if sizes[i, k] > 0:
            one, other = (record.features[record.related[j]].name for j in (i, k))
            words.append(f"{one} with {other} ({signed(float(record.pairs[i, k]))})")
    return f"strongest: {'; '.join(words)}"


def draw_pairs(record: LVQExplanation) -> go.Figure:
    """Draw the metric between the most relevant features; its diagonal is in the bars."""
    pairs = record.pairs.copy()
    names = [record.features[j].name for j in record.related]
    # Numbers name the columns of the map: names would not fit beneath each other when tilted.
    labels = [f"{name}  {i}" for i, name in enumerate(plot_labels(names, 18), 1)]
    hover = [
        [
            f"<b>{plot_text(one)}</b><br><b>{plot_text(other)}</b><br>{signed(float(pairs[i, k]))}"
            for k, other in enumerate(names)
        ]
        for i, one in enumerate(names)
    ]
    np.fill_diagonal(pairs, np.nan)
    top = float(np.nanmax(np.abs(pairs)))
    places = list(range(len(names)))
    figure = go.Figure(
        go.Heatmap(
            z=[[None if np.isnan(one) else float(one) for one in row] for row in pairs],
            x=places,
            y=places,
            zmin=-top,
            zmax=top,
            colorscale=[[0, theme.LOWER], [0.5, "#ffffff"], [1, theme.RAISE]],
            hovertext=hover,
            hoverinfo="text",
            xgap=1,
            ygap=1,
            colorbar=theme.look("pairs scale"),
        )
    )
    written = len(names) <= MOST_WRITTEN
    if written:
        figure.update_traces(
            text=[
                ["" if i == k else f"{one:+.2f}" for k, one in enumerate(row)]
                for i, row in enumerate(record.pairs.tolist())
            ],
            texttemplate="%{text}",
            textfont={"color": WRITTEN},
            colorscale=[[0, PALE_LOWER], [0.5, "#ffffff"], [1, PALE_RAISE]],
            showscale=False,
        )
    room = 0 if written else 50
    # Squares at the left: a wide screen must not stretch them.
    return theme.dress(
        figure,
        (48 if written else 20) * len(names) + 52 + room,
        "pairs",
        xaxis={"tickvals": places, "ticktext": [str(i + 1) for i in places]},
        yaxis={"tickvals": places, "ticktext": labels, "range": [len(names) - 0.5, -0.5]},
        margin_b=40 + room,
    )
