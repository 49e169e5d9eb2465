"""Charts as figures of matplotlib, with its own axes, which may be changed as any other figure."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, NullLocator

from voile.report.kit.drawing.chart import (
    Axis,
    Chart,
    DrawnBand,
    DrawnBoxes,
    DrawnLine,
    DrawnPicture,
    DrawnPieces,
    DrawnPoints,
    LegendEntry,
    Mark,
    Panel,
    Stroke,
)
from voile.report.kit.drawing.letters import break_title, measure_text, plain_text
from voile.report.kit.drawing.panels import look_beneath, measure_around, upright_ticks
from voile.report.kit.drawing.standalone import PIXELS, arrange
from voile.report.kit.drawing.ticks import Tick, scale_texts

POINTS = 72 / 96
"""Of a pixel."""

LETTERS = 9
"""Points of all letters."""

_DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-.", "longdash": "--"}
_SYMBOLS = {
    **{"circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "triangle-down": "v"},
    **{"x": "X", "star": "*", "line-ns": "|"},
}
_HATCHES = {"/": "///", ".": "...", "x": "xxx"}


def draw_matplotlib(chart: Chart, width: float) -> Figure:
    """A figure of so many centimetres; nothing of it is known to pyplot."""
    room = width * PIXELS
    chart = arrange(chart, room)
    around = measure_around(chart, room)
    widest = max((measure_text(one.name) for one in chart.legend), default=0.0)
    beside = max(1, int(room // (widest + 50)))
    legend = 20 * -(-len(chart.legend) // beside) + 8 if chart.legend else 0
    scale = 0
    if chart.scale is not None and chart.scale.needed:
        scale = 70 if chart.scale.title else 50
    height = chart.height + around.top + around.bottom + legend + scale
    layout = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.04, wspace=0.02, hspace=0.02)
    figure = Figure(figsize=(room / 96, height / 96), layout=layout)
    inner = room - around.left - around.right
    for panel, axes in _place(figure, chart):
        for order, mark in enumerate(panel.marks):
            _draw(axes, panel, mark, 2 + order / 100)
        _write(axes, chart, panel, inner)
    if chart.legend:
        figure.legend(
            handles=[_sample(entry) for entry in chart.legend],
            loc="outside upper left",
            ncols=beside,
            frameon=False,
            fontsize=LETTERS,
            handlelength=2.2,
        )
    if scale and chart.scale is not None:
        stops = [(one.at, to_rgba(one.colour, one.opacity)) for one in chart.scale.stops]
        colours = LinearSegmentedColormap.from_list("scale", stops)
        shown = ScalarMappable(Normalize(chart.scale.low, chart.scale.high), colours)
        ends = (chart.scale.low, chart.scale.high)
        bar = figure.colorbar(shown, ax=figure.axes, location="bottom", shrink=0.6, aspect=30)
        bar.set_ticks(list(ends), labels=list(scale_texts(*ends)), fontsize=LETTERS)
        bar.set_label(_plain(chart.scale.title), fontsize=LETTERS)
        bar.outline.set_visible(False)
    return figure


def _place(figure: Figure, chart: Chart) -> list[tuple[Panel, Any]]:
    """Axes for every panel, in rows and columns of their sizes."""
    columns = sorted({(panel.left, panel.right) for panel in chart.panels})
    rows = sorted({(panel.bottom, panel.top) for panel in chart.panels}, reverse=True)
    grid = figure.add_gridspec(
        len(rows),
        len(columns),
        width_ratios=[right - left for left, right in columns],
        height_ratios=[top - bottom for bottom, top in rows],
    )
    return [
        (
            panel,
            figure.add_subplot(
                grid[
                    rows.index((panel.bottom, panel.top)), columns.index((panel.left, panel.right))
                ]
            ),
        )
        for panel in chart.panels
    ]


def _write(axes: Any, chart: Chart, panel: Panel, inner: float) -> None:
    """Ends, numbers, names, titles and texts."""
    below = look_beneath(panel, inner)
    _set_axis(axes.xaxis, panel.x, below.ticks)
    _set_axis(axes.yaxis, panel.y, upright_ticks(chart, panel))
    axes.set_xlabel("\n".join(map(_plain, below.title)), fontsize=LETTERS)
    axes.set_ylabel(_plain(" ".join(break_title(panel.y.title, 1e9))), fontsize=LETTERS)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    if panel.backdrop:
        axes.set_facecolor(panel.backdrop)
    axes.tick_params(length=0, labelsize=LETTERS)
    axes.set_axisbelow(True)
    if panel.caption:
        axes.set_title(_plain(plain_text(panel.caption)), fontsize=LETTERS)
    for note in chart.notes:
        x = (note.x - panel.left) / (panel.right - panel.left)
        y = (note.y - panel.bottom) / (panel.top - panel.bottom)
        if -1e-6 <= x <= 1 + 1e-6 and -1e-6 <= y <= 1 + 1e-6:
            axes.text(
                x,
                y,
                _plain(plain_text(note.text)),
                transform=axes.transAxes,
                ha={"start": "left", "middle": "center", "end": "right"}[note.across],
                va="bottom" if note.above or note.name else "center",
                fontsize=note.size * POINTS,
                color=note.colour or "#222222",
            )


def _set_axis(own: Any, axis: Axis, ticks: tuple[Tick, ...]) -> None:
    ends = np.array([axis.low, axis.high])
    places = ends[0] + np.array([tick.at for tick in ticks]) * (ends[1] - ends[0])
    if axis.log:
        ends, places = 10.0**ends, 10.0**places
    upright = own.axis_name == "y"
    (own.axes.set_yscale if upright else own.axes.set_xscale)("log" if axis.log else "linear")
    (own.axes.set_ylim if upright else own.axes.set_xlim)(*ends)
    own.set_major_locator(FixedLocator(places.tolist()))
    own.set_minor_locator(NullLocator())
    texts = ["\n".join("".join(one.text for one in line) for line in tick.lines) for tick in ticks]
    own.set_ticklabels([_plain(text) for text in texts] if axis.labels else [""] * len(ticks))
    if axis.grid:
        own.grid(color="#dddddd", linewidth=0.7)
    if axis.zero and not axis.log:
        line = own.axes.axhline if upright else own.axes.axvline
        line(0.0, color=axis.zero, linewidth=1.1, zorder=1.9)


def _plain(text: str) -> str:
    """A text without the mathematics that matplotlib reads between dollars."""
    return text.replace("$", r"\$")


def _draw(axes: Any, panel: Panel, mark: Mark, order: float) -> None:
    match mark:
        case DrawnLine():
            style = "steps-post" if mark.stepped else "default"
            axes.plot(mark.x, mark.y, drawstyle=style, zorder=order, **_line(mark.stroke))
        case DrawnBand():
            step: Any = "post" if mark.stepped else None
            axes.fill_between(
                *(mark.x, mark.lower, mark.upper),
                step=step,
                color=mark.colour,
                alpha=mark.opacity,
                linewidth=0,
                zorder=order,
            )
        case DrawnBoxes():
            _draw_boxes(axes, mark, order)
        case DrawnPieces():
            _draw_pieces(axes, mark, order)
        case DrawnPoints():
            _draw_points(axes, mark, order)
        case DrawnPicture():
            ends = (panel.x.low, panel.x.high, panel.y.low, panel.y.high)
            axes.imshow(
                mark.pixels, extent=ends, aspect="equal", interpolation="nearest", zorder=order
            )


def _line(stroke: Stroke) -> dict[str, Any]:
    return {
        "color": stroke.colour,
        "linewidth": stroke.width * POINTS,
        "linestyle": _DASHES.get(stroke.dash, "-"),
        "alpha": stroke.opacity,
    }


def _draw_boxes(axes: Any, mark: DrawnBoxes, order: float) -> None:
    for i, (left, right, bottom, top) in enumerate(mark.ends.tolist()):
        look = {"color": mark.colours[i], "alpha": mark.opacities[i], "linewidth": 0}
        if np.isinf([left, right]).any():
            axes.axhspan(bottom, top, zorder=order, **look)
        elif np.isinf([bottom, top]).any():
            axes.axvspan(left, right, zorder=order, **look)
    inside = np.asarray(np.isfinite(mark.ends).all(axis=1))
    left, right, bottom, top = mark.ends[inside].T
    edge = mark.border
    axes.bar(
        left,
        top - bottom,
        width=right - left,
        bottom=bottom,
        align="edge",
        color=[
            (colour, opacity)
            for colour, opacity, kept in zip(mark.colours, mark.opacities, inside, strict=True)
            if kept
        ],
        edgecolor="white" if edge or mark.pattern else "none",
        linewidth=edge.width * POINTS if edge else 0.0,
        hatch=_HATCHES.get(mark.pattern),
        zorder=order,
    )
    for (left, right, bottom, top), text in zip(mark.ends.tolist(), mark.texts, strict=False):
        middle = ((left + right) / 2, (bottom + top) / 2)
        place: dict[str, Any] = {"ha": "center", "va": "center", "zorder": order + 0.5}
        axes.text(*middle, _plain(text), color=mark.text_colour, fontsize=LETTERS - 1, **place)


def _draw_pieces(axes: Any, mark: DrawnPieces, order: float) -> None:
    whole = mark.ends[np.isfinite(mark.ends).all(axis=1)]
    look = _line(mark.stroke)
    names = {"colors": look.pop("color"), "linestyles": look.pop("linestyle")}
    axes.add_collection(
        LineCollection(list(whole.reshape(-1, 2, 2)), zorder=order, **names, **look)
    )
    for x0, y0, x1, y1 in mark.ends.tolist():
        if np.isinf([x0, x1]).any():
            axes.axhline(y0, zorder=order, **_line(mark.stroke))
        elif np.isinf([y0, y1]).any():
            axes.axvline(x0, zorder=order, **_line(mark.stroke))


def _draw_points(axes: Any, mark: DrawnPoints, order: float) -> None:
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for i, colour in enumerate(mark.colours):
        alike[colour].append(i)
    for colour, places in alike.items():
        axes.plot(
            mark.x[places],
            mark.y[places],
            linestyle="",
            zorder=order,
            clip_on=True,
            **_marker(mark.symbol, mark.size, colour),
            alpha=mark.opacity,
        )


def _marker(symbol: str, size: float, colour: str) -> dict[str, Any]:
    kind = symbol.split("-open", maxsplit=1)[0].removesuffix("-dot")
    return {
        "marker": _SYMBOLS.get(kind, "o"),
        "markersize": size * POINTS * (0.8 if kind == "diamond" else 1.0),
        "markeredgewidth": 1.6 if kind == "line-ns" else 1.2 if "-open" in symbol else 0.0,
        "markeredgecolor": colour,
        "markerfacecolor": "none" if "-open" in symbol else colour,
    }


def _sample(entry: LegendEntry) -> Any:
    name = _plain(entry.name)
    if entry.stroke is None and not entry.symbol:
        hatch = _HATCHES.get(entry.pattern)
        return Patch(facecolor=entry.colour, edgecolor="white", hatch=hatch, label=name)
    line = _line(entry.stroke) if entry.stroke is not None else {"linestyle": ""}
    marker = _marker(entry.symbol, 8, entry.colour) if entry.symbol else {}
    return Line2D([], [], label=name, **{**line, **marker})
