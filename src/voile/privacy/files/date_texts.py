"""Texts as dates and times: 2024-12-31, 31.12.2024, 31/12/2024 or 12/31/2024, with a time or not.

In seconds since 1970-01-01 UTC, to the microsecond, as the times of Parquet files are read; without
a time zone they are taken as UTC. Own code, because Arrow's parser knows neither fractions of a
second nor zones, and the calendar of numpy does the counting.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.files.dialect import DateOrder, Spelling

_CLOCK = (
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?"
    r"\s?(?P<half>[AaPp][Mm])?\s?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?$"
)
_YEAR_FIRST = (
    r"^(\d{4}-\d{1,2}-\d{1,2}|\d{4}/\d{1,2}/\d{1,2}|\d{4}\.\d{1,2}\.\d{1,2})([T ].*)?$",
    r"^(?P<year>\d{4}).(?P<month>\d{1,2}).(?P<day>\d{1,2})",
)
_POINTS = r"^\d{1,2}\.\d{1,2}\.\d{4}([T ].*)?$"
_STROKES = r"^(\d{1,2}/\d{1,2}/\d{4}|\d{1,2}-\d{1,2}-\d{4})([T ].*)?$"
_DAY_FIRST = r"^(?P<day>\d{1,2}).(?P<month>\d{1,2}).(?P<year>\d{4})"
_MONTH_FIRST = r"^(?P<month>\d{1,2}).(?P<day>\d{1,2}).(?P<year>\d{4})"
_MICROSECONDS = 1_000_000


def read_seconds(texts: Any, spelling: Spelling) -> Any:
    """Texts without outer blanks as float64; what is no date, or may be two, is missing.

    Parameters
    ----------
    texts : pyarrow.Array or ChunkedArray of strings
    spelling : Spelling
    """
    import pyarrow.compute as pc

    found = _read(texts, *_YEAR_FIRST)
    match spelling.dates:
        case DateOrder.YMD:
            return found
        case DateOrder.MDY:
            return pc.coalesce(
                found, by_order(texts, DateOrder.MDY), read_pointed(texts, month=True)
            )
        case DateOrder.DMY:
            return pc.coalesce(found, by_order(texts, DateOrder.DMY), read_pointed(texts))
    orders = [by_order(texts, order) for order in (DateOrder.DMY, DateOrder.MDY)]
    doubtful = pc.fill_null(pc.not_equal(*orders), False)
    return pc.coalesce(found, read_pointed(texts), pc.if_else(doubtful, None, pc.coalesce(*orders)))


def by_order(texts: Any, order: DateOrder) -> Any:
    """Dates with strokes, such as 03/04/2024, as float64, the day or the month first."""
    return _read(texts, _STROKES, _DAY_FIRST if order is DateOrder.DMY else _MONTH_FIRST)


def read_pointed(texts: Any, *, month: bool = False) -> Any:
    """Dates such as 31.12.2024; with points the day is first, unless somebody says the month is."""
    return _read(texts, _POINTS, _MONTH_FIRST if month else _DAY_FIRST)


def _read(texts: Any, shape: str, date: str) -> Any:
    """Texts of a shape as seconds, in float64."""
    import pyarrow as pa

    if not hasattr(texts, "chunks"):
        return _read_chunk(texts, shape, date + _CLOCK)
    read = [_read_chunk(one, shape, date + _CLOCK) for one in texts.chunks]
    return pa.chunked_array(read, pa.float64())


def _read_chunk(texts: Any, shape: str, pattern: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.fill_null(pc.match_substring_regex(texts, shape), False)
    rows = np.flatnonzero(fits.to_numpy(zero_copy_only=False))
    seconds = np.full(len(texts), np.nan)
    if len(rows):
        parts = pc.extract_regex(texts.take(pa.array(rows)), pattern)
        there = parts.is_valid().to_numpy(zero_copy_only=False)
        fields = {one.name: pc.struct_field(parts.filter(there), one.name) for one in parts.type}
        seconds[rows[there]] = _count(fields)
    return pa.array(seconds, from_pandas=True)


def _count(fields: dict[str, Any]) -> NDArray[np.float64]:
    """Seconds since 1970 of dates in parts, shape (rows,); NaN for days that never were."""
    import pyarrow.compute as pc

    year, month, day, hour, minute, second = (
        _whole(fields[name]) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    part = _whole(pc.utf8_slice_codeunits(pc.utf8_rpad(fields["part"], 6, "0"), 0, 6))
    half = pc.utf8_lower(fields["half"]).to_numpy(zero_copy_only=False)
    right = (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1) & (minute < 60) & (second < 60)
    right &= np.where(half == "", hour < 24, (hour >= 1) & (hour <= 12))
    hour = np.where(half == "", hour, hour % 12 + 12 * (half == "pm"))
    first = ((year - 1970) * 12 + np.clip(month, 1, 12) - 1).astype("M8[M]")
    days = (first.astype("M8[D]") + (day - 1)).astype(np.int64)
    right &= (first + 1).astype("M8[D]").astype(np.int64) > days
    whole = days * 86_400 + hour * 3_600 + minute * 60 + second - _offset(fields["zone"])
    return np.where(right, (whole * _MICROSECONDS + part) / _MICROSECONDS, np.nan)


def _offset(zones: Any) -> NDArray[np.int64]:
    """How many seconds zones such as +02:00 are ahead of UTC, shape (rows,)."""
    import pyarrow.compute as pc

    digits = pc.replace_substring_regex(zones, r"\D", "")
    ahead = _whole(pc.utf8_slice_codeunits(digits, 0, 2)) * 3_600
    ahead += _whole(pc.utf8_slice_codeunits(digits, 2, 4)) * 60
    return np.where(pc.starts_with(zones, "-").to_numpy(zero_copy_only=False), -ahead, ahead)


def _whole(texts: Any) -> NDArray[np.int64]:
    """Digits as whole numbers, shape (rows,); 0 where there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(texts, ""), "0", texts)
    numbers: NDArray[np.int64] = pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False)
    return numbers
