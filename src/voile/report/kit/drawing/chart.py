"""What a figure shows, as plain facts: panels with their axes, marks in them, a legend, texts.

All that plotly leaves open (ends of axes, stacked bars, which bands belong together) is settled
here, once for every form that a figure is drawn in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.report.kit.drawing.colours import ColourStop

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Attributes
    ----------
    low, high : float
        Its ends: left and right, or bottom and top; logarithms to the base 10 if `log`.
    log : bool
    title : str
        In plotly's form, as all texts here.
    places, texts : tuple or None
        Where it is written on, in units of the data, and what; None to choose.
    form, suffix : str
        How numbers are written, in the form of d3, and what follows them.
    step : float or str or None
        Distance of two numbers on a logarithmic axis, as plotly takes it: 1 or "D2".
    most : int or None
        How many numbers may be written.
    labels, grid : bool
        Whether it is written on, and whether lines cross the panel.
    zero : str
        Colour of the line at zero; "" for none.
    """

    low: float
    high: float
    log: bool = False
    title: str = ""
    places: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    form: str = ""
    suffix: str = ""
    step: float | str | None = None
    most: int | None = None
    labels: bool = True
    grid: bool = True
    zero: str = ""

    @property
    def named(self) -> bool:
        """Whether names stand on it instead of numbers."""
        return self.texts is not None and not self.log

    def along(self, values: Sequence[float] | Floats) -> Floats:
        """Where values lie, from 0 at its low end to 1 at its high end."""
        given = np.asarray(values, dtype=float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                given = np.where(np.isinf(given), given, np.log10(given))
        return np.asarray((given - self.low) / ((self.high - self.low) or 1.0))


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn: its colour, width in pixels, dashes by plotly's name, opacity."""

    colour: str
    width: float = 2.0
    dash: str = "solid"
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class DrawnLine:
    """A line through points, or of steps that hold until the next point; NaN is a gap."""

    x: Floats
    y: Floats
    stroke: Stroke
    stepped: bool = False


@dataclass(frozen=True, eq=False)
class DrawnBand:
    """The area between an upper and a lower line."""

    x: Floats
    upper: Floats
    lower: Floats
    colour: str
    opacity: float
    stepped: bool = False


@dataclass(frozen=True, eq=False)
class DrawnBoxes:
    """Bars, or other boxes: ends of shape (boxes, 4) as left, right, bottom, top; infinite ends
    reach to the border of the panel.
    """

    ends: Floats
    colours: tuple[str, ...]
    opacities: tuple[float, ...]
    border: Stroke | None = None
    pattern: str = ""
    texts: tuple[str, ...] = ()
    text_colour: str = ""


@dataclass(frozen=True, eq=False)
class DrawnPoints:
    """Single points: a symbol of so many pixels, each in a colour."""

    x: Floats
    y: Floats
    colours: tuple[str, ...]
    size: float
    symbol: str
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class DrawnPieces:
    """Straight pieces, such as whiskers: ends of shape (pieces, 4) as x and y, then x and y."""

    ends: Floats
    stroke: Stroke


@dataclass(frozen=True, eq=False)
class DrawnPicture:
    """A picture over a whole panel: numbers of shape (height, width, 3)."""

    pixels: NDArray[np.uint8]


Mark = DrawnLine | DrawnBand | DrawnBoxes | DrawnPoints | DrawnPieces | DrawnPicture


@dataclass(frozen=True)
class Panel:
    """A rectangle with two axes; its sides are parts of the figure, from its left and bottom.

    A caption, in plotly's form, stands above it.
    """

    x: Axis
    y: Axis
    left: float
    right: float
    bottom: float
    top: float
    marks: tuple[Mark, ...]
    backdrop: str = ""
    caption: str = ""

    @property
    def headed(self) -> int:
        """How many lines stand above it."""
        lines = self.caption.count("<br>") + 1 if self.caption else 0
        return max(lines, 1 if self.y.title else 0)


@dataclass(frozen=True)
class FigureText:
    """A text in the figure; its place is in parts of it, from its left and bottom."""

    text: str
    x: float
    y: float
    across: str = "middle"
    """Which of its ends is there: start, middle or end."""

    above: bool = False
    """Whether it stands on its place rather than around it."""

    size: float = 12.0
    colour: str = ""
    name: bool = False
    """Whether it names a line of the figure: its last line then stands on its place."""


@dataclass(frozen=True)
class LegendEntry:
    """A line of the legend: what it is called, and what marks it has."""

    name: str
    stroke: Stroke | None = None
    symbol: str = ""
    colour: str = ""
    pattern: str = ""


@dataclass(frozen=True)
class Hint:
    """Something to point at: its place in parts of the figure, and its lines of plain text.

    Of a cell also half its width and half its height.
    """

    x: float
    y: float
    lines: tuple[str, ...]
    half: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class ColourScale:
    """What colours mean: their stops from 0 to 1, the numbers at the two ends, whether it must
    be seen even where every cell says its number, and what the numbers are.
    """

    stops: tuple[ColourStop, ...]
    low: float
    high: float
    needed: bool = True
    title: str = ""


@dataclass(frozen=True)
class Chart:
    """A whole figure.

    Attributes
    ----------
    panels : tuple of Panel
    height : float
        Of all panels together, in pixels.
    legend : tuple of LegendEntry
    notes : tuple of FigureText
    hints : tuple of Hint
    by : str
        What tells which hint is meant: "x", "y", both ("xy"), or the cell that is pointed at.
    square : float
        Width over height, where it must not be stretched; 0 where it may.
    scale : ColourScale or None
    """

    panels: tuple[Panel, ...]
    height: float
    legend: tuple[LegendEntry, ...] = ()
    notes: tuple[FigureText, ...] = ()
    hints: tuple[Hint, ...] = ()
    by: str = "xy"
    square: float = 0.0
    scale: ColourScale | None = None
