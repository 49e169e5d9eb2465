"""Signed bars with whiskers of noise: what raised a number and what lowered it."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from voile.explain.ebm.text import cut_text
from voile.explain.wording import noisy, readable, signed
from voile.models.verdict import marked
from voile.report.kit.text import plot_text
from voile.report.kit.theme import LOWER, RAISE, ROWS, WAS, dress, names_axis

Floats = NDArray[np.float64]

MOST_BARS = 12
"""What has a bar of its own; what the rest added is summed."""

MOST_VALUE = 18


@dataclass(frozen=True)
class Part:
    """What one column or feature added.

    Attributes
    ----------
    label, told : str
        A name to show, and everything there is to tell on pointing at it; plain text, lines apart.
    size, standard_error : float
    start : float
        Where its bar begins.
    added : bool
        Whether it was added to something, rather than a number by itself.
    nothing : bool
        Whether its column cannot be told from nothing: drawn grey.
    text : str
        How the number is written, if it has another unit than its bar or a verdict beside it.
    """

    label: str
    told: tuple[str, ...]
    size: float
    standard_error: float
    start: float = 0.0
    added: bool = True
    nothing: bool = False
    text: str = ""

    @property
    def number(self) -> str:
        """The size with two standard errors."""
        return self.text or noisy(self.size, self.standard_error, added=self.added)

    @property
    def judged(self) -> str:
        """The same, with a mark if it may be nothing; in a figure the bar is grey."""
        return marked(self.number, nothing=self.nothing)


def value_label(name: str, given: str, read: str) -> str:
    """What a row has in a column, and as what it was read: "age = 140 → 90"."""
    return f"{name} = {cut_text(given + (f' → {read}' if read else ''), MOST_VALUE)}"


def rank_parts(
    names: Sequence[str],
    sizes: Floats,
    errors: Floats,
    tell: Callable[[int], tuple[str, tuple[str, ...]]],
    what: str = "columns",
    nothing: Container[str] = (),
) -> list[Part]:
    """What each of several columns added, the greatest first, the rest summed.

    Parameters
    ----------
    names : sequence of str
    sizes, errors : ndarray of shape (columns,)
        The noise of those that are summed is taken as independent.
    tell : callable
        Label, and everything there is to tell, of the column at a position.
    what : str
        What they are.
    nothing : container of str
        Names of those that cannot be told from nothing.
    """
    order = np.argsort(-np.abs(sizes), kind="stable").tolist()
    # A sum of a single column would say less than the column itself.
    most = MOST_BARS if len(order) > MOST_BARS + 1 else len(order)
    parts = [
        Part(*tell(i), float(sizes[i]), float(errors[i]), nothing=names[i] in nothing)
        for i in order[:most]
    ]
    rest = order[most:]
    if rest:
        label = f"{len(rest)} other {what}"
        told = cut_text(f"{label}: {', '.join(names[i] for i in rest)}", 150)
        error = float(np.sqrt((errors[rest] ** 2).sum()))
        parts.append(Part(label, (told,), float(sizes[rest].sum()), error))
    return parts


def parts_text(parts: Sequence[Part]) -> str:
    """The greatest parts in words, for those who do not see the bars."""
    return ", ".join(
        f"{part.label} {signed(readable(part.size, part.standard_error))}" for part in parts[:5]
    )


def draw_bars(parts: Sequence[Part], total: Part | None, title: str) -> go.Figure:
    """Draw a bar per part: to the right what is above 0, to the left what is below.

    Parameters
    ----------
    parts : sequence of Part
    total : Part or None
        What they add up to, drawn beneath.
    title : str
        Of the axis; escaped already.
    """
    figure = go.Figure(_bars(parts, 0))
    shown = [*parts]
    if total is not None:
        told = f"{plot_text(total.label)}: {total.number}"
        figure.add_trace(_marks({len(parts): total}, [told]))
        shown.append(total)
    axis = {"zeroline": True, "zerolinecolor": "#999", "nticks": 6}
    return _dress(figure, shown, 36, {"title": title, **axis})


def draw_steps(base: Part, steps: Sequence[Part], score: Part, title: str) -> go.Figure:
    """Draw a waterfall: each step begins where the one before ended, from a base to a score."""
    last = len(steps) + 1
    figure = go.Figure([_bars(steps, 1), _marks({0: base, last: score}, [base.label, score.label])])
    # Thin lines from where one step ends to where the next starts.
    ends = [base.size, *(step.start + step.size for step in steps)]
    ends[-1] = score.size if steps else base.size
    figure.add_scatter(
        x=[place for end in ends for place in (end, end, None)],
        y=[place for i in range(len(ends)) for place in (i, i + 1, None)],
        mode="lines",
        line={"color": "#999", "width": 1},
        hoverinfo="skip",
    )
    return _dress(
        figure, [base, *steps, score], 34, {"title": title, "zeroline": False, "nticks": 5}
    )


def _bars(parts: Sequence[Part], first: int) -> go.Bar:
    return go.Bar(
        base=[part.start for part in parts] if first else None,
        x=[part.size for part in parts],
        y=list(range(first, first + len(parts))),
        orientation="h",
        width=0.62,
        marker={"color": [_colour(part) for part in parts]},
        error_x={**_whiskers(parts), "width": 4},
        hovertext=["<br>".join([*map(plot_text, part.told), part.judged]) for part in parts],
        hoverinfo="text",
    )


def _colour(part: Part) -> str:
    if part.nothing:
        return ROWS
    return RAISE if part.size > 0 else LOWER


def _marks(ends: dict[int, Part], told: list[str]) -> go.Scatter:
    return go.Scatter(
        x=[part.size for part in ends.values()],
        y=list(ends),
        mode="markers",
        marker={"symbol": "diamond", "size": 11, "color": "#222"},
        error_x=_whiskers(list(ends.values())),
        hovertext=told,
        hoverinfo="text",
    )


def _whiskers(parts: Sequence[Part]) -> dict[str, Any]:
    """Two standard errors; nothing can be drawn for an infinite one, and the label tells it."""
    errors = [part.standard_error for part in parts]
    sizes = [2 * one if math.isfinite(one) else None for one in errors]
    return {"array": sizes, "color": WAS, "thickness": 1.5}


def _dress(figure: go.Figure, parts: Sequence[Part], line: int, axis: dict[str, Any]) -> go.Figure:
    labels = [
        f'{plot_text(part.label)}<br><span style="color:#666">{part.number}</span>'
        for part in parts
    ]
    return dress(
        figure, line * len(labels) + 60, "signed bars", xaxis=axis, yaxis=names_axis(labels)
    )
