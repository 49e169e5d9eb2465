"""Ticks of an axis: whole numbers and dates, where plotly would show fractions or seconds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from voile.schema.dates import EPOCH
from voile.schema.scale import DAY, Scale

MOST_TICKS, MOST_YEARS = 6, 8
"""Days are long: more of them would not fit on a narrow screen."""

_WHOLE_RANGE = 8
"""Up to so many whole numbers each has a tick, at most."""

_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000, 12_000, 24_000)
_SECONDS = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 43_200)
_DAYS = (1, 2, 7, 14)


def value_ticks(lower: float, upper: float, scale: Scale) -> dict[str, Any]:
    """What an axis needs beyond plotly's own choice of ticks, as its settings.

    Parameters
    ----------
    lower, upper : float
        Ends of the axis, in the column's unit; for dates, seconds since 1970-01-01 UTC.
    scale : Scale

    Examples
    --------
    >>> value_ticks(0, 4, "whole")
    {'tick0': 0, 'dtick': 1}
    >>> value_ticks(0, 3 * 365 * 86400, "day")["ticktext"]
    ['1970', '1971', '1972']
    """
    if scale == "whole":
        return {"tick0": 0, "dtick": 1} if upper - lower <= _WHOLE_RANGE else {}
    if scale == "number":
        return {}
    return _calendar(lower, upper)


def _calendar(lower: float, upper: float) -> dict[str, Any]:
    for seconds in (*_SECONDS, *(DAY * days for days in _DAYS)):
        if (upper - lower) / seconds < MOST_TICKS:
            first = -(-lower // seconds)
            values = [first * seconds + i * seconds for i in range(MOST_TICKS + 1)]
            values = [value for value in values if lower <= value <= upper]
            form = "%Y-%m-%d" if seconds >= DAY else "%H:%M<br>%Y-%m-%d"
            form = form.replace("%M", "%M:%S") if seconds < 60 else form
            return _named(values, form)
    for months in _MONTHS:
        most = MOST_TICKS if months < 12 else MOST_YEARS
        if (upper - lower) / (months * 30 * DAY) < most or months == _MONTHS[-1]:
            return _named(list(_months(lower, upper, months)), "%Y-%m" if months < 12 else "%Y")
    raise AssertionError


def _named(values: list[float], form: str) -> dict[str, Any]:
    texts = [(EPOCH + dt.timedelta(seconds=value)).strftime(form) for value in values]
    return {"tickvals": values, "ticktext": texts, "tickangle": 0}


def _months(lower: float, upper: float, every: int) -> Iterator[float]:
    """Beginnings of every so many months between two instants."""
    begin = EPOCH + dt.timedelta(seconds=lower)
    month = (begin.year * 12 + begin.month - 1) // every * every
    while month < 10_000 * 12:
        if month >= 12:
            moment = (dt.datetime(month // 12, month % 12 + 1, 1) - EPOCH).total_seconds()
            if moment > upper:
                return
            if moment >= lower:
                yield moment
        month += every
