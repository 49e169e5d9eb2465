"""Traces of a plotly figure as marks: lines, bands, bars, points, whiskers, cells and pictures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voile.report.kit.drawing.chart import (
    ColourScale,
    DrawnBand,
    DrawnBoxes,
    DrawnLine,
    DrawnPicture,
    DrawnPieces,
    DrawnPoints,
    Floats,
    LegendEntry,
    Mark,
    Stroke,
)
from voile.report.kit.drawing.colours import read_scale, sample_scale, split_colour
from voile.report.kit.drawing.letters import plain_text

SHADES = 48
"""Shades of a scale that are told apart: cells and points of one shade are drawn together."""


@dataclass
class TraceMarks:
    """What a trace becomes.

    Attributes
    ----------
    marks : list of Mark
        In the order in which they are drawn.
    hints : list of (float, float, tuple of str)
        Places in units of the data, and what there is to tell there.
    halves : list of (float, float)
        Half the width and half the height of each cell that a hint is about.
    reach_x, reach_y : list of float
        What axes must hold if their ends are open.
    tight : bool
        Whether open axes end where it ends, as around pictures.
    scale : ColourScale or None
    """

    marks: list[Mark] = field(default_factory=list)
    hints: list[tuple[float, float, tuple[str, ...]]] = field(default_factory=list)
    halves: list[tuple[float, float]] = field(default_factory=list)
    reach_x: list[float] = field(default_factory=list)
    reach_y: list[float] = field(default_factory=list)
    tight: bool = False
    scale: ColourScale | None = None


def numbers(values: Any) -> Floats:
    """Numbers of a trace; what is missing is NaN."""
    if values is None:
        return np.zeros(0)
    return np.array([np.nan if one is None else float(one) for one in values])


class TraceReader:
    """Reads the traces of a figure one after another: bars may stand on those before.

    Parameters
    ----------
    figure : Figure
    colours : sequence of str
        For traces without one.
    """

    def __init__(self, figure: Any, colours: Sequence[str]) -> None:
        self._layout, self._colours, self._count = figure.layout, colours, 0
        bars = [one for one in figure.data if one.type == "bar" and one.width is None]
        self._beside = Counter((one.xaxis, one.yaxis) for one in bars)
        self._placed: Counter[Any] = Counter()
        self._stacks: defaultdict[tuple[Any, ...], float] = defaultdict(float)
        self._line_before: tuple[Floats, Floats] | None = None

    def read(self, trace: Any) -> TraceMarks:
        """The marks of one trace."""
        readers = {
            "scatter": self._scatter,
            "scattergl": self._scatter,
            "bar": self._bars,
            "heatmap": self._cells,
            "image": self._picture,
        }
        if trace.type not in readers:
            raise NotImplementedError(f"no form of a figure has a trace of type {trace.type!r}")
        self._count += 1
        return readers[trace.type](trace)

    def entry(self, trace: Any) -> LegendEntry:
        """How a trace stands in the legend."""
        name = plain_text(trace.name or "")
        if trace.type == "bar":
            colour = _each(trace.marker.color, 1, self._colour(trace))[0]
            return LegendEntry(name, colour=colour, pattern=_pattern(trace))
        mode = _mode(trace)
        line = self._stroke(trace) if "lines" in mode else None
        symbol, colour = "", ""
        if "markers" in mode:
            symbol = trace.marker.symbol or "circle"
            colour = _each(trace.marker.color, 1, self._colour(trace))[0]
            colour = trace.marker.line.color or colour if "line" in symbol else colour
        return LegendEntry(name, line, symbol, colour)

    def _colour(self, trace: Any) -> str:
        for own in (getattr(trace, "line", None), trace.marker):
            if own is not None and isinstance(own.color, str):
                return own.color
        return self._colours[(self._count - 1) % len(self._colours)]

    def _stroke(self, trace: Any) -> Stroke:
        line = trace.line
        colour, opacity = split_colour(line.color or self._colour(trace))
        width = 2.0 if line.width is None else float(line.width)
        opacity *= 1.0 if trace.opacity is None else trace.opacity
        return Stroke(colour, width, line.dash or "solid", opacity)

    def _scatter(self, trace: Any) -> TraceMarks:
        x, y, mode = numbers(trace.x), numbers(trace.y), _mode(trace)
        x = x if len(x) else np.arange(len(y), dtype=float)
        made = TraceMarks(reach_x=x.tolist(), reach_y=y.tolist())
        stepped = trace.line.shape == "hv"
        if trace.fill in ("tonexty", "tozeroy", "toself"):
            made.marks.append(self._band(trace, x, y, stepped=stepped))
        if "lines" in mode:
            stroke = self._stroke(trace)
            if stroke.width > 0:
                made.marks.append(DrawnLine(x, y, stroke, stepped))
            self._line_before = (x, y)
        _add_whiskers(made, trace, x, y, self._colour(trace))
        if "markers" in mode:
            made.marks.append(self._points(trace, x, y))
            made.scale = _scale_of(trace.marker)
        if stepped and len(x) > 1:
            # A step is pointed at in its middle; the last point only closes the line.
            x, y = (x[:-1] + x[1:]) / 2, y[:-1]
        made.hints = _hints(trace, x, y)
        return made

    def _band(self, trace: Any, x: Floats, y: Floats, *, stepped: bool) -> DrawnBand:
        lower = np.zeros_like(y)
        if trace.fill == "tonexty" and self._line_before is not None:
            before_x, lower = self._line_before
            if len(before_x) != len(x):
                lower = np.interp(x, before_x, lower)
        elif trace.fill == "toself":
            half = len(x) // 2
            x, y, lower = x[:half], y[:half], y[half : 2 * half][::-1]
        given = trace.fillcolor or trace.line.color or self._colour(trace)
        colour, opacity = split_colour(given)
        return DrawnBand(x, y, lower, colour, opacity if trace.fillcolor else 0.25, stepped)

    def _points(self, trace: Any, x: Floats, y: Floats) -> DrawnPoints:
        marker = trace.marker
        symbol = marker.symbol or "circle"
        size = float(np.max(marker.size)) if marker.size is not None else 6.0
        if symbol == "line-ns":
            colours = [split_colour(marker.line.color or self._colour(trace))[0]] * len(x)
        else:
            colours = _each(_shaded(marker), len(x), self._colour(trace))
        opacity = 1.0 if marker.opacity is None else float(np.max(marker.opacity))
        return DrawnPoints(x, y, tuple(colours), size, symbol, opacity)

    def _bars(self, trace: Any) -> TraceMarks:
        lying = trace.orientation == "h"
        sizes = numbers(trace.x if lying else trace.y)
        places = numbers(trace.y if lying else trace.x)
        if not len(places):
            places = np.arange(len(sizes), dtype=float)
        starts = self._stand(trace, places, sizes)
        places, halves = self._sides(trace, places)
        ends = np.column_stack([starts, starts + sizes, places - halves, places + halves])
        ends = np.column_stack([np.sort(ends[:, :2]), ends[:, 2:]])
        ends = ends if lying else ends[:, [2, 3, 0, 1]]
        colours = _each(_shaded(trace.marker), len(sizes), self._colour(trace))
        opacities = _each(trace.marker.opacity, len(sizes), 1.0)
        border = trace.marker.line
        stroke = (
            Stroke(border.color, float(border.width)) if border.color and border.width else None
        )
        made = TraceMarks()
        made.marks.append(
            DrawnBoxes(ends, tuple(colours), tuple(opacities), stroke, _pattern(trace))
        )
        made.reach_x, made.reach_y = ends[:, :2].ravel().tolist(), ends[:, 2:].ravel().tolist()
        tips = starts + sizes
        x, y = (tips, places) if lying else (places, tips)
        _add_whiskers(made, trace, x, y, colours[0] if colours else "")
        made.hints = _hints(trace, x, y)
        return made

    def _stand(self, trace: Any, places: Floats, sizes: Floats) -> Floats:
        """Where bars begin: at their base, on those before, or at zero."""
        if trace.base is not None:
            base = trace.base
            return np.broadcast_to(numbers([base] if np.isscalar(base) else base), sizes.shape)
        if self._layout.barmode not in ("stack", "relative"):
            return np.zeros_like(sizes)
        starts = []
        for place, size in zip(places.tolist(), sizes.tolist(), strict=True):
            key = (trace.xaxis, trace.yaxis, place, size >= 0)
            starts.append(self._stacks[key])
            self._stacks[key] += size
        return np.array(starts)

    def _sides(self, trace: Any, places: Floats) -> tuple[Floats, Floats]:
        """Middles of bars across their length, and half their widths."""
        width = trace.width
        if width is not None:
            given = numbers([width] if np.isscalar(width) else width)
            return places, np.broadcast_to(given / 2, places.shape)
        apart = np.diff(np.unique(places))
        gap = 0.2 if self._layout.bargap is None else float(self._layout.bargap)
        whole = (apart.min() if len(apart) else 1.0) * (1.0 - gap)
        key = (trace.xaxis, trace.yaxis)
        count = self._beside[key] if self._layout.barmode in (None, "group") else 1
        shift = whole * ((self._placed[key] + 0.5) / count - 0.5) if count > 1 else 0.0
        self._placed[key] += 1
        return places + shift, np.full(places.shape, whole / count / 2)

    def _cells(self, trace: Any) -> TraceMarks:
        z = np.array([numbers(row) for row in trace.z])
        down, across = z.shape
        left, right = _borders(trace.x, across)
        bottom, top = _borders(trace.y, down)
        low = float(np.nanmin(z)) if trace.zmin is None else float(trace.zmin)
        high = float(np.nanmax(z)) if trace.zmax is None else float(trace.zmax)
        stops = read_scale(trace.colorscale or "Blues")
        ends, shades, texts, made = [], [], [], TraceMarks(tight=True)
        told = trace.hovertext is not None and trace.hoverinfo != "skip"
        written = bool(trace.texttemplate) and trace.text is not None
        for i, k in zip(*np.nonzero(np.isfinite(z)), strict=True):
            share = (z[i, k] - low) / ((high - low) or 1.0)
            colour, opacity = sample_scale(stops, round(share * SHADES) / SHADES)
            text = plain_text(str(trace.text[i][k])) if written else ""
            if opacity > 0 or text:
                ends.append([left[k], right[k], bottom[i], top[i]])
                shades.append((colour, opacity))
                texts.append(text)
            if told:
                lines = plain_text(str(trace.hovertext[i][k])).split("\n")
                x, y = float(left[k] + right[k]) / 2, float(bottom[i] + top[i]) / 2
                made.hints.append((x, y, tuple(lines)))
                made.halves.append((float(right[k] - x), float(top[i] - y)))
        border = Stroke("white", float(trace.xgap)) if trace.xgap else None
        ink = trace.textfont.color or ""
        boxes = np.array(ends).reshape(-1, 4)
        colours, opacities = zip(*shades, strict=True) if shades else ((), ())
        made.marks.append(
            DrawnBoxes(boxes, colours, opacities, border, "", tuple(texts) if written else (), ink)
        )
        made.reach_x = [float(left.min()), float(right.max())]
        made.reach_y = [float(bottom.min()), float(top.max())]
        title = plain_text(trace.colorbar.title.text or "")
        made.scale = ColourScale(stops, low, high, trace.showscale is not False, title)
        return made

    def _picture(self, trace: Any) -> TraceMarks:
        pixels = np.asarray(trace.z, dtype=np.uint8)
        down, across = pixels.shape[:2]
        made = TraceMarks(reach_x=[-0.5, across - 0.5], reach_y=[-0.5, down - 0.5], tight=True)
        made.marks.append(DrawnPicture(pixels))
        return made


def _borders(places: Any, count: int) -> tuple[Floats, Floats]:
    """Both ends of so many cells, of which borders are given, or middles of equal ones."""
    given = numbers(places) if places is not None else np.arange(count, dtype=float)
    if len(given) == count + 1:
        return given[:-1], given[1:]
    half = float(np.diff(given).min()) / 2 if len(given) > 1 else 0.5
    return given - half, given + half


def _mode(trace: Any) -> str:
    return str(trace.mode or ("lines" if len(numbers(trace.y)) > 20 else "lines+markers"))


def _pattern(trace: Any) -> str:
    shape = trace.marker.pattern.shape
    return shape if isinstance(shape, str) else ""


def _each(given: Any, count: int, otherwise: Any) -> list[Any]:
    """A setting of all points, or of each: one for each."""
    if given is None:
        given = otherwise
    if isinstance(given, (str, int, float)):
        return [given] * count
    return list(given)


def _shaded(marker: Any) -> Any:
    """Colours of points; numbers become colours of the marker's scale."""
    given = marker.color
    if given is None or isinstance(given, str) or not len(given) or isinstance(given[0], str):
        return given
    scale, values = _scale_of(marker), numbers(given)
    assert scale is not None
    shares = np.clip((values - scale.low) / ((scale.high - scale.low) or 1.0), 0.0, 1.0)
    return [
        sample_scale(scale.stops, round(share * SHADES) / SHADES)[0] for share in shares.tolist()
    ]


def _scale_of(marker: Any) -> ColourScale | None:
    given = marker.color
    if given is None or isinstance(given, str) or not len(given) or isinstance(given[0], str):
        return None
    values = numbers(given)
    low = float(np.nanmin(values)) if marker.cmin is None else float(marker.cmin)
    high = float(np.nanmax(values)) if marker.cmax is None else float(marker.cmax)
    return ColourScale(read_scale(marker.colorscale or "Blues"), low, high, bool(marker.showscale))


def _add_whiskers(made: TraceMarks, trace: Any, x: Floats, y: Floats, colour: str) -> None:
    """Add error bars beneath what they belong to."""
    for lying, bars in ((True, trace.error_x), (False, trace.error_y)):
        if bars.array is None or bars.visible is False:
            continue
        up = np.nan_to_num(numbers(bars.array), nan=0.0)
        down = up if bars.arrayminus is None else np.nan_to_num(numbers(bars.arrayminus), nan=0.0)
        ends = (x - down, y, x + up, y) if lying else (x, y - down, x, y + up)
        seen = (up > 0) | (down > 0)
        stroke = Stroke(
            split_colour(bars.color or colour)[0],
            1.5 if bars.thickness is None else float(bars.thickness),
        )
        made.marks.append(DrawnPieces(np.column_stack(ends)[seen], stroke))
        reach = made.reach_x if lying else made.reach_y
        reach += [*ends[0 if lying else 1].tolist(), *ends[2 if lying else 3].tolist()]


def _hints(trace: Any, x: Floats, y: Floats) -> list[tuple[float, float, tuple[str, ...]]]:
    texts = trace.hovertext
    if texts is None or trace.hoverinfo == "skip":
        return []
    each: Iterator[Any] = iter([texts] * len(x) if isinstance(texts, str) else texts)
    return [
        (one, other, tuple(plain_text(str(text)).split("\n")))
        for one, other, text in zip(x.tolist(), y.tolist(), each, strict=False)
        if np.isfinite(one) and np.isfinite(other)
    ]
