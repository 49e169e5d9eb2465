"""Values and ranges of a column as people write them: few digits, whole numbers, dates."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from itertools import pairwise

from voile.schema.dates import EPOCH
from voile.schema.scale import DAY, Scale

MOST_DIGITS = 17
"""Significant digits that tell any two floats apart."""


def short(number: float, *, digits: int = 3, grouped: bool = True) -> str:
    """Write a number with few significant digits, never cutting its whole part.

    Parameters
    ----------
    number : float
    digits : int
        Significant digits, if the whole part does not need more.
    grouped : bool
        Whether thousands are set apart by commas.

    Examples
    --------
    >>> short(0.1 + 0.2), short(1234.56), short(17.0), short(4.2e-7)
    ('0.3', '1,235', '17', '4.2e-07')
    """
    if not math.isfinite(number):
        return "unknown"
    size = abs(number)
    if size != 0 and not 1e-4 <= size < 1e15:
        return f"{number:.{digits}g}"
    decimals = 0 if size == 0 else max(0, digits - 1 - math.floor(math.log10(size)))
    text = f"{number:,.{decimals}f}" if grouped else f"{number:.{decimals}f}"
    if decimals:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def value_text(value: float, scale: Scale, *, digits: int = 10) -> str:
    """Write a value of a column.

    Parameters
    ----------
    value : float
        In the column's unit; for dates, seconds since 1970-01-01 UTC.
    scale : Scale
    digits : int
        Significant digits of a number that need not be whole.

    Examples
    --------
    >>> value_text(2.6, "number"), value_text(2.6, "whole"), value_text(1.6e9, "day")
    ('2.6', '3', '2020-09-13')
    >>> value_text(1.6e9, "time"), value_text(1599955200.0, "time")
    ('2020-09-13 12:26:40', '2020-09-13 00:00')
    """
    if scale == "number" or not math.isfinite(value):
        return short(value, digits=digits, grouped=False)
    if scale == "whole":
        return short(math.floor(value + 0.5), digits=digits, grouped=False)
    try:
        moment = EPOCH + dt.timedelta(seconds=value)
    except OverflowError:
        return "a date before the year 1" if value < 0 else "a date after the year 9999"
    if scale == "day":
        return moment.date().isoformat()
    text = moment.isoformat(" ", "seconds" if moment.microsecond == 0 else "milliseconds")
    return text.removesuffix(":00") if moment.microsecond == 0 else text


def duration_text(seconds: float) -> str:
    """Write a duration in the largest unit that it fills.

    Examples
    --------
    >>> duration_text(86400.0 * 40), duration_text(5400.0), duration_text(0.2)
    ('40 days', '1.5 hours', '0.2 seconds')
    """
    for unit, size in (("day", DAY), ("hour", 3_600.0), ("minute", 60.0), ("second", 1.0)):
        if seconds >= size or unit == "second":
            text = short(seconds / size, digits=2)
            return f"{text} {unit}{'' if text == '1' else 's'}"
    raise AssertionError


def edge_texts(edges: Sequence[float], scale: Scale = "number") -> tuple[str, ...]:
    """Write the borders of intervals with as many digits as tell them apart.

    Examples
    --------
    >>> edge_texts([0, 0.5, 100]), edge_texts([1.00001, 1.00002])
    (('0', '0.5', '100'), ('1.00001', '1.00002'))
    >>> edge_texts([0, 86400 * 365 - 1], "day")
    ('1970-01-01', '1970-12-31')
    """
    if scale != "number":
        days = scale == "time" and _are_days(edges)
        return tuple(value_text(edge, "day" if days else scale) for edge in edges)
    texts: tuple[str, ...] = ()
    for digits in range(4, MOST_DIGITS + 1):
        texts = tuple(short(edge, digits=digits, grouped=False) for edge in edges)
        if len(set(texts)) == len(texts):
            break
    return texts


def interval_texts(edges: Sequence[float], scale: Scale = "number") -> tuple[str, ...]:
    """Name the intervals between borders; a border belongs to the right, the last to both.

    Examples
    --------
    >>> interval_texts([17, 30, 90])
    ('[17, 30)', '[30, 90]')
    >>> interval_texts([0, 0.5, 3.5, 9], "whole")
    ('0', '1 to 3', '4 to 9')
    """
    if scale in ("whole", "day") or (scale == "time" and _are_days(edges)):
        return _step_texts(edges, "whole" if scale == "whole" else "day")
    texts = edge_texts(edges, scale)
    last = len(texts) - 2
    if scale == "time":
        # On one day, the day is said once: "2024-03-01 08:00 to 16:00".
        return tuple(f"{a} to {b.removeprefix(f'{a[:10]} ')}" for a, b in pairwise(texts))
    return tuple(f"[{texts[i]}, {texts[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def _step_texts(edges: Sequence[float], scale: Scale) -> tuple[str, ...]:
    """Intervals by the first and the last value in them."""
    step = 1.0 if scale == "whole" else DAY
    firsts = [math.ceil(edge / step) for edge in edges[:-1]]
    lasts = [*(first - 1 for first in firsts[1:]), math.floor(edges[-1] / step)]
    ends = [
        (value_text(first * step, scale), value_text(max(first, last) * step, scale))
        for first, last in zip(firsts, lasts, strict=True)
    ]
    return tuple(low if low == high else f"{low} to {high}" for low, high in ends)


def _are_days(edges: Sequence[float]) -> bool:
    """Whether instants are beginnings of days; the last one may be the end of one."""
    last = edges[-1] % DAY
    return all(edge % DAY == 0 for edge in edges[:-1]) and (last == 0 or last >= DAY - 1)
