"""Maps of pairs: what two columns do together beyond their own terms, cell by cell.

A cell has a colour only where its interval leaves zero out and rows are known to be in it: all
others are grey, so that nobody takes them for an effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from voile.explain.ebm.factors import LOG_UNIT, factor_range_text, factor_text
from voile.explain.ebm.pair import ExplainedPair, ExplainedSide
from voile.explain.ebm.text import leading_output
from voile.explain.wording import noisy, signed, spread
from voile.models.ebm.pair_term import pair_name
from voile.models.verdict import MARK, marked
from voile.report.ebm.shapes import MOST_BANDS, choose_ticks, score_title
from voile.report.kit import theme
from voile.report.kit.drawing.letters import measure_text
from voile.report.kit.text import plot_labels, plot_text
from voile.schema.value_texts import edge_texts

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

NO_ROWS = "few rows or none"
"""Where two standard errors of the count reach to zero."""

LEAST_SHARE = 0.03
"""Part of an axis of values that an interval has at least, or all are drawn equally wide."""

MOST_LABEL = 14
HIGH, LINE, APART = 230, 30, 26
"""Pixels of a map of a number, of a line of a category's map, and of what is apart."""

WIDE, LETTERS = 460, 14
"""Pixels that a map has across on a wide page, at least, and that a line of letters has."""

LEAST_SIGN = 8
"""Pixels of height that a plus or minus needs."""


@dataclass(frozen=True, eq=False)
class MapAxis:
    """Where the parts of one side lie.

    Attributes
    ----------
    side : ExplainedSide
    borders : tuple of float
        Of the parts that have a place on the axis, one more than those.
    ticks : dict
        Settings of plotly's axis: where it is written on, and what.
    apart : bool
        Whether rows are known to be in what has no place on it: missing values, other levels.
    """

    side: ExplainedSide
    borders: tuple[float, ...]
    ticks: dict[str, Any]
    apart: bool

    @property
    def blocks(self) -> list[tuple[slice, list[float]]]:
        """Which parts lie side by side, and their borders: those on the axis, then those apart."""
        regular = self.side.regular
        found = [(slice(0, regular), [*self.borders])] if regular else []
        last = [(slice(regular, None), [-0.5, 0.5])] if self.apart or not regular else []
        return found + last


def draw_pair(pair: ExplainedPair, outputs: tuple[str, ...], units: str) -> go.Figure:
    """Draw one pair.

    Parameters
    ----------
    pair : ExplainedPair
    outputs : tuple of str
        Names of the scores; each has a map, all in the same colours. Of more than `MOST_BANDS` only
        the leading one is drawn.
    units : str
        Unit of the scores.

    Returns
    -------
    Figure
        Orange raises the score and blue lowers it. Missing values and levels that are not listed
        are apart from the others, where there are any.
    """
    drawn = drawn_outputs(pair)
    across, up = place_sides(pair)
    # What is apart lies beneath, as it lies to the right.
    columns, rows = across.blocks, up.blocks
    high = _height(up.side, single=len(drawn) == 1)
    heights = [high if place.start == 0 and up.side.regular else APART for place, _ in rows]
    widths = [WIDE - WIDE // 10, WIDE // 10] if len(columns) == 2 else [WIDE]
    figure = make_subplots(
        rows=len(rows) * len(drawn),
        cols=len(columns),
        row_heights=heights * len(drawn),
        column_widths=widths,
        vertical_spacing=0.1 / (len(rows) * len(drawn)),
        horizontal_spacing=0.015,
    )
    grid = _MapGrid(pair, drawn, turned=across.side is pair.first, factors=units == LOG_UNIT)
    title = score_title(outputs, units)
    for place, k in enumerate(drawn):
        for i, (part, ends) in enumerate(rows):
            for j, (other, others) in enumerate(columns):
                block = _MapPart(part, other, ends, others, heights[i], widths[j])
                for trace in grid.draw(k, block, title):
                    figure.add_trace(trace, row=place * len(rows) + i + 1, col=j + 1)
    named = [outputs[k] for k in drawn] if len(outputs) > 1 else [""]
    _dress_axes(figure, across, up, named, high)
    listed = len(grid.named)
    return theme.dress(
        figure,
        sum(heights) * len(drawn) + 124 + theme.legend_room(max(listed, 1)),
        "map",
        showlegend=listed > 0,
    )


def drawn_outputs(pair: ExplainedPair) -> list[int]:
    """Positions of the outputs that have a map: all, or of many the leading one."""
    count = len(pair.importance)
    return [*range(count)] if count <= MOST_BANDS else [leading_output(pair)]


def empty_cells(pair: ExplainedPair) -> Bools:
    """Cells in which no rows are known to be, shape (rows, columns).

    A released count is never far below what independent columns would have, so that a part of a
    column without any rows has counts of about their error.
    """
    return np.asarray(~(pair.counts > 2 * pair.count_errors))


def told_cells(pair: ExplainedPair) -> Bools:
    """Cells that say something by themselves, shape (rows, columns, outputs).

    Their interval leaves zero out, rows are in them, and the pair is more than nothing.
    """
    clear = np.abs(pair.scores) > 2 * pair.standard_errors
    told: Bools = clear & ~empty_cells(pair)[:, :, None]
    return told & (not pair.is_nothing)


def cell_text(pair: ExplainedPair, i: int, j: int, k: int) -> str:
    """The score of a cell with its interval, and a mark if it may be nothing."""
    told = noisy(float(pair.scores[i, j, k]), float(pair.standard_errors[i, j, k]))
    return marked(told, nothing=not told_cells(pair)[i, j, k])


def cell_rows(pair: ExplainedPair, i: int, j: int) -> str:
    """About how many rows are in a cell."""
    count, error = float(pair.counts[i, j]), float(pair.count_errors[i, j])
    text = f"{count:,.0f}" + (spread(error) if error > 0 else "")
    return f"{NO_ROWS} ({text})" if empty_cells(pair)[i, j] else text


def cell_name(pair: ExplainedPair, i: int, j: int) -> str:
    """Both parts of a cell: "[17, 22) & night"."""
    return pair_name(pair.first.labels[i], pair.second.labels[j])


def place_sides(pair: ExplainedPair) -> tuple[MapAxis, MapAxis]:
    """The axis from left to right, then the one upwards.

    A number is easier to read from left to right, and many levels beneath each other.
    """
    sides = [pair.first, pair.second]
    seen = ~empty_cells(pair)
    aparts = [bool(seen[-1].any()), bool(seen[:, -1].any())]
    order = [0, 1]
    if sides[1].is_number and not sides[0].is_number:
        order = [1, 0]
    elif sides[0].is_number == sides[1].is_number and not sides[0].is_number:
        order.sort(key=lambda i: sides[i].regular)
    across, up = order
    return _axis(sides[across], apart=aparts[across]), _axis(sides[up], apart=aparts[up])


def equal_widths(side: ExplainedSide) -> bool:
    """Whether intervals are drawn equally wide, for some would be too thin to be seen."""
    widths = np.diff(side.edges)
    return bool(len(widths)) and not bool(widths.min() >= LEAST_SHARE * widths.sum() > 0)


def _axis(side: ExplainedSide, *, apart: bool) -> MapAxis:
    count = side.regular
    if not side.is_number:
        names = plot_labels(side.labels[:count], MOST_LABEL)
        ticks = {"tickvals": [i + 0.5 for i in range(count)], "ticktext": names}
        return MapAxis(side, tuple(float(i) for i in range(count + 1)), ticks, apart)
    edges = [float(i) for i in range(count + 1)] if equal_widths(side) else side.edges.tolist()
    texts, chosen = edge_texts(side.edges.tolist(), side.scale), choose_ticks(count + 1)
    ticks = {"tickvals": [edges[i] for i in chosen], "ticktext": [texts[i] for i in chosen]}
    return MapAxis(side, tuple(edges), ticks, apart)


def _height(side: ExplainedSide, *, single: bool) -> int:
    most = HIGH if single else 2 * HIGH // 3
    return most if side.is_number else max(LINE * side.regular, 2 * LINE)


@dataclass(frozen=True)
class _MapPart:
    """Cells side by side: which parts upwards and across, their borders, and pixels in all."""

    up: slice
    across: slice
    ends_up: list[float]
    ends_across: list[float]
    high: float
    wide: float


class _MapGrid:
    """Draws blocks of cells; ``turned`` if the first column runs from left to right."""

    def __init__(
        self, pair: ExplainedPair, outputs: list[int], *, turned: bool, factors: bool
    ) -> None:
        self.named: set[str] = set()
        self._scaled = False
        self._pair, self._turned, self._factors = pair, turned, factors
        told, empty = told_cells(pair)[..., outputs], empty_cells(pair)
        sizes = np.abs(pair.scores[..., outputs])
        seen = sizes[told] if told.any() else sizes[~empty]
        self._top = float(seen.max(initial=0.0)) or 1.0

    def _turn(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.T if self._turned else values

    def draw(self, k: int, block: _MapPart, title: str) -> list[go.Heatmap | go.Bar]:
        """What can be told in colours, and in grey what may be nothing or has no rows."""
        pair, part = self._pair, (block.up, block.across)
        told = self._turn(told_cells(pair)[..., k])[part]
        empty = self._turn(empty_cells(pair))[part]
        scores = np.where(told, self._turn(pair.scores[..., k])[part], 0.0)
        texts = np.empty((pair.rows, pair.columns), dtype=object)
        for i, j in np.ndindex(texts.shape):
            texts[i, j] = "<br>".join(self._tell(i, j, k))
        heat = go.Heatmap(
            z=scores.tolist(),
            x=block.ends_across,
            y=block.ends_up,
            zmin=-self._top,
            zmax=self._top,
            colorscale=theme.signed_scale(),
            hovertext=self._turn(texts)[part].tolist(),
            hoverinfo="text",
            text=self._write(scores, told, block),
            texttemplate="%{text}",
            textfont={"color": "#222"},
            showscale=not self._scaled,
            colorbar={**theme.look("map scale"), "title": {"text": f"adds to the {title}"}},
        )
        self._scaled = True
        grey = self._grey(~told & ~empty, block, MARK, "/")
        return [heat, *grey, *self._grey(empty, block, NO_ROWS, "x")]

    def _write(self, scores: Floats, told: Bools, block: _MapPart) -> list[list[str]]:
        """What each cell adds, as far as it has the room; its sign is there in print, too."""
        wide, high = (
            size * np.diff(ends) / (ends[-1] - ends[0])
            for size, ends in ((block.wide, block.ends_across), (block.high, block.ends_up))
        )
        texts = np.full(told.shape, "", dtype=object)
        # Signs in some rows alone would look as if those rows were special.
        signs = told.any(axis=1)
        low = float(high[signs].min()) if signs.any() else 0.0
        places = np.argwhere(told & (low >= LEAST_SIGN)).tolist()
        for i, j in places:
            size = float(scores[i, j])
            texts[i, j] = factor_text(size) if self._factors else signed(float(f"{size:.2g}"))
        if low < LETTERS or any(wide[j] < measure_text(texts[i, j]) for i, j in places):
            for i, j in places:
                texts[i, j] = "+" if scores[i, j] > 0 else "-"
        found: list[list[str]] = texts.tolist()
        return found

    def _tell(self, i: int, j: int, k: int) -> list[str]:
        pair = self._pair
        lines = [f"<b>{plot_text(cell_name(pair, i, j))}</b>", cell_text(pair, i, j, k)]
        if self._factors:
            error = float(pair.standard_errors[i, j, k])
            lines.insert(1, factor_range_text(float(pair.scores[i, j, k]), error))
        if pair.original is not None:
            lines.append(f"as trained: {signed(float(pair.original[i, j, k]))}")
        return [*lines, f"rows: {cell_rows(pair, i, j)}"]

    def _grey(self, cells: Bools, block: _MapPart, name: str, pattern: str) -> list[go.Bar]:
        ups, acrosses = np.nonzero(cells)
        if not len(ups):
            return []
        fresh = name not in self.named
        self.named.add(name)
        x, y = np.array(block.ends_across), np.array(block.ends_up)
        marker: dict[str, Any] = {"color": theme.FAINT, "line": {"color": "white", "width": 1}}
        if pattern:
            marker["pattern"] = {"shape": pattern, "solidity": 0.4}
        return [
            go.Bar(
                x=((x[:-1] + x[1:]) / 2)[acrosses].tolist(),
                width=np.diff(x)[acrosses].tolist(),
                base=y[:-1][ups].tolist(),
                y=np.diff(y)[ups].tolist(),
                marker=marker,
                name=name,
                legendgroup=name,
                showlegend=fresh,
                hoverinfo="skip",
            )
        ]


def _dress_axes(
    figure: go.Figure, across: MapAxis, up: MapAxis, outputs: list[str], high: int
) -> None:
    """Ends, texts and titles of all axes."""
    rows, columns = up.blocks, across.blocks
    last = len(rows) * len(outputs)
    figure.update_xaxes(theme.look("map axis"))
    figure.update_yaxes(theme.look("map axis"))
    for j, (part, ends) in enumerate(columns):
        own = part.start == 0 and across.side.regular > 0
        # One line lower than the others, which may reach into its place on a narrow screen.
        ticks = (
            across.ticks if own else {"tickvals": [0], "ticktext": [_apart_text(across, "<br>")]}
        )
        figure.update_xaxes(range=[ends[0], ends[-1]], **ticks, col=j + 1)
        figure.update_xaxes(showticklabels=True, row=last, col=j + 1)
    figure.update_xaxes(title_text=plot_text(across.side.name, 60), row=last, col=1)
    for place, output in enumerate(outputs):
        about = f", for {plot_text(output, 14)}" if output else ""
        for i, (part, ends) in enumerate(rows):
            own = part.start == 0 and up.side.regular > 0
            ticks = up.ticks if own else {"tickvals": [0], "ticktext": [_apart_text(up, "")]}
            # The first level is at the top.
            reach = [ends[0], ends[-1]] if up.side.is_number else [ends[-1], ends[0]]
            if own and up.side.is_number:
                # What is written at both ends has room of its own.
                room = LETTERS / 2 / high * (ends[-1] - ends[0])
                reach = [ends[0] - room, ends[-1] + room]
            row = place * len(rows) + i + 1
            figure.update_yaxes(range=reach, **ticks, row=row)
            figure.update_yaxes(showticklabels=True, row=row, col=1)
            if i == 0:
                title = plot_text(up.side.name, 18) + about
                figure.update_yaxes(title_text=title, row=row, col=1)


def _apart_text(axis: MapAxis, before: str) -> str:
    """What is apart, in one word."""
    return before + ("missing" if axis.side.is_number else "other")
