"""Cells along the calendar: where the intervals of a date may end.

Everything here follows from public bounds.
"""

from __future__ import annotations

import math

from voile.schema import Date
from voile.schema.scale import DAY

CENTURIES = (-4_197_052_800.0, 28 * DAY)
"""Begin (1837-01-01) and width (four weeks) of cells for dates without bounds."""

_UNITS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 10_800.0, 21_600.0, 43_200.0)
"""Widths of cells shorter than a day, in seconds: what clocks show."""


def calendar_cells(column: Date, cells: int) -> tuple[float, float]:
    """Begin and width of equal cells over a date's bounds, at times that clocks and calendars show.

    Parameters
    ----------
    column : Date
        With bounds.
    cells : int
        How many; the last ones may lie beyond the upper bound.

    Returns
    -------
    start, width : float
        In seconds; ``start`` is at most the lower bound, ``start + cells * width`` is above the
        upper one.
    """
    assert column.lower is not None
    assert column.upper is not None
    for width in () if column.scale == "day" else _UNITS:
        start = math.floor(column.lower / width) * width
        if start + cells * width > column.upper:
            return start, width
    start = math.floor(column.lower / DAY) * DAY
    days = math.floor((column.upper - start) / (cells * DAY)) + 1
    return start, days * DAY
