"""Contributions of many rows in one figure: importances, a beeswarm, and how a value matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.importances import find_importances
from voile.explain.blackbox.local import BlackBoxLocalExplanation
from voile.explain.blackbox.units import amount_text, times, unit_text
from voile.report.kit.bars import MOST_BARS, Part, draw_bars
from voile.report.kit.text import plot_labels, plot_text, short_names
from voile.report.kit.theme import INK, SERIES, WAS, dress, names_axis

Floats = NDArray[np.float64]

MOST_POINTS = 200
"""Rows that are drawn as points: the first ones."""

MOST_NAME, MOST_LEVELS, MOST_WHISKERS = 20, 12, 60

_NEAR = 0.012
"""Points of a beeswarm that are nearer than this part of the axis stand beside each other."""

_THIRDS = (
    ("value in the lowest third", SERIES[4], "circle"),
    ("middle third", SERIES[6], "square"),
    ("highest third", SERIES[5], "triangle-up"),
    ("not a number", SERIES[3], "diamond"),
)
"""Name, colour and symbol of points by the row's own value, among the rows shown."""


def draw_importances(record: BlackBoxLocalExplanation, output: int) -> go.Figure:
    """Draw how much each column adds or takes on average over the rows, with its interval."""
    factor, found = times(record.units), find_importances(record, output)
    names = short_names(record.columns, MOST_NAME)
    parts = []
    for one in found[:MOST_BARS]:
        mark = "" if one.verdict == "clear" else f", {one.verdict}"
        parts.append(
            Part(
                names[record.columns.index(one.column)],
                (one.column, str(one.verdict)),
                factor * one.size,
                factor * one.standard_error,
                text=amount_text(one.size, one.standard_error, record.units, added=False) + mark,
            )
        )
    unit = plot_text(unit_text(record.units), 40)
    title = f"mean contribution to '{plot_text(record.outputs[output], 28)}' (size), {unit}"
    figure = draw_bars(parts, None, title)
    pale = [1.0 if part.told[1] in ("clear", "not known") else 0.45 for part in parts]
    return figure.update_traces(
        marker={"color": INK, "opacity": pale}, selector={"type": "bar"}
    ).update_xaxes(rangemode="tozero")


def draw_beeswarm(record: BlackBoxLocalExplanation, output: int) -> go.Figure:
    """Draw every row's contributions of the greatest columns, a point each."""
    factor, some = times(record.units), record[:MOST_POINTS]
    shown = [record.columns.index(one.column) for one in find_importances(record, output)]
    shown = shown[:MOST_BARS]
    labels = plot_labels([record.columns[j] for j in shown], MOST_NAME)
    values = factor * some.values[:, shown, output]
    near = _NEAR * (float(np.ptp(values)) or 1.0)
    groups = [_thirds(_read_values(some, j)) for j in shown]
    figure = go.Figure()
    for kind, (name, colour, symbol) in enumerate(_THIRDS):
        x, y, told = [], [], []
        for place, j in enumerate(shown):
            ups = _spread(values[:, place], near)
            for i in np.flatnonzero(groups[place] == kind).tolist():
                x.append(float(values[i, place]))
                y.append(place + float(ups[i]))
                given = some.given[i][j] if some.given[i] else ""
                told.append(plot_text(f"row {i + 1}" + (f": {given}" if given else ""), 40))
        if x:
            figure.add_scatter(
                x=x,
                y=y,
                mode="markers",
                name=name,
                marker={"color": colour, "symbol": symbol, "size": 6, "opacity": 0.8},
                hovertext=told,
                hoverinfo="text",
            )
    unit = plot_text(unit_text(record.units), 40)
    axis = {
        "title": f"contribution to '{plot_text(record.outputs[output], 28)}', {unit}",
        "zeroline": True,
        "zerolinecolor": "#999",
        "nticks": 6,
    }
    dress(figure, 38 * len(shown) + 120, "signed bars", xaxis=axis, yaxis=names_axis(labels))
    return figure.update_layout(showlegend=True, margin={"t": 52})


def draw_dependence(record: BlackBoxLocalExplanation, column: str, output: int) -> go.Figure:
    """Draw a column's contribution by the row's own value in it, a point per row."""
    if not all(record.given):
        raise SettingError(
            "The rows of this explanation have no values of single columns (they are texts or "
            "pictures): ask for 'beeswarm' or 'importances'."
        )
    j = record.columns.index(column)
    some = record[:MOST_POINTS]
    column_values = _read_values(some, j)
    y = times(record.units) * some.values[:, j, output]
    errors = 2 * times(record.units) * some.standard_errors[:, j, output]
    told = [
        plot_text(
            f"row {i + 1}: {column} = {some.given[i][j]}, "
            + amount_text(
                float(some.values[i, j, output]),
                float(some.standard_errors[i, j, output]),
                record.units,
            ),
            80,
        )
        for i in range(len(some))
    ]
    numbers = column_values.numbers
    if numbers is not None:
        x, axis = numbers, {"title": plot_text(column, 40), "nticks": 6}
    else:
        x, axis = _place_levels(column_values.texts, plot_text(column, 40))
    seen = np.isfinite(x)
    whiskers = seen.sum() <= MOST_WHISKERS and np.isfinite(errors).all()
    figure = go.Figure(
        go.Scatter(
            x=x[seen],
            y=y[seen],
            mode="markers",
            marker={"color": INK, "size": 6, "opacity": 0.8},
            error_y={"array": errors[seen], "color": WAS, "thickness": 1} if whiskers else None,
            hovertext=[one for one, there in zip(told, seen, strict=True) if there],
            hoverinfo="text",
        )
    )
    unit = plot_text(unit_text(record.units), 40)
    upright = {"title": f"contribution, {unit}", "zeroline": True, "zerolinecolor": "#999"}
    return dress(figure, 320, "whole", xaxis=axis, yaxis=upright, margin={"b": 56})


@dataclass(frozen=True, eq=False)
class _ColumnValues:
    """The values that rows have in a column: texts, and numbers if all that are there are."""

    texts: tuple[str, ...]
    numbers: Floats | None


def _read_values(record: BlackBoxLocalExplanation, column: int) -> _ColumnValues:
    if not all(record.given):
        return _ColumnValues(("",) * len(record), None)
    texts = tuple(
        read[column] or given[column]
        for given, read in zip(record.given, record.read_as, strict=True)
    )
    numbers = np.array([_number(one) for one in texts])
    known = np.isfinite(numbers)
    # What is missing has no number; if half of them have none, it is a category.
    return _ColumnValues(texts, numbers if 2 * known.sum() > len(texts) else None)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _thirds(values: _ColumnValues) -> NDArray[np.int64]:
    """Into which group of points each row falls."""
    numbers = values.numbers
    if numbers is None:
        return np.full(len(values.texts), len(_THIRDS) - 1)
    low, high = np.nanquantile(numbers, [1 / 3, 2 / 3])
    found = np.where(numbers <= low, 0, np.where(numbers <= high, 1, 2))
    return np.where(np.isfinite(numbers), found, len(_THIRDS) - 1)


def _spread(values: Floats, near: float) -> Floats:
    """How far points stand from their line, so that equal ones do not hide each other."""
    bins = np.floor(values / near).astype(np.int64)
    ups = np.zeros(len(values))
    for one in np.unique(bins):
        here = np.flatnonzero(bins == one)
        turn = np.arange(len(here))
        steps = ((turn + 1) // 2) * np.where(turn % 2, 1.0, -1.0)
        ups[here] = 0.38 * steps / max(8.0, float(np.abs(steps).max()))
    return ups


def _place_levels(texts: tuple[str, ...], title: str) -> tuple[Floats, dict[str, Any]]:
    """Places of levels along an axis, the commonest ones in the order of their names."""
    names, counts = np.unique(np.array(texts, dtype=object), return_counts=True)
    kept = sorted(names[np.argsort(-counts, kind="stable")[:MOST_LEVELS]].tolist())
    places = {name: place for place, name in enumerate(kept)}
    x = np.array([float(places.get(one, math.nan)) for one in texts])
    for place in range(len(kept)):
        here = np.flatnonzero(x == place)
        x[here] += np.linspace(-0.25, 0.25, len(here)) if len(here) > 1 else 0.0
    axis: dict[str, Any] = {
        "title": title,
        "tickvals": list(range(len(kept))),
        "ticktext": plot_labels(kept, 14),
        "range": [-0.6, len(kept) - 0.4],
    }
    return x, axis
