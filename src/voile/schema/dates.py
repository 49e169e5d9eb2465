"""Dates and times: a kind of number with bounds that people write as dates."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from voile.errors import SchemaError
from voile.schema.columns import Number, check_truth
from voile.schema.scale import DAY, Scale

Moment: TypeAlias = "str | dt.date | np.datetime64 | float"
"""A bound of a date: ISO 8601 text, a date or time of any sort, or seconds since 1970 (a float)."""

EPOCH: Final = dt.datetime(1970, 1, 1)
_GERMAN: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Date(Number):
    """A column of dates or times, and its public bounds.

    Parameters
    ----------
    lower, upper : str, date, datetime, datetime64 or None
        Public bounds, both included: ISO 8601 text such as "2019-01-01" or "2019-01-01T08:30", or
        a date or time of Python, numpy or pandas. An upper bound without a time of day means the
        whole day. Values outside are clamped. Give both, or neither: without them they are found
        privately, for a share of the budget.
    time : bool
        Whether the time of day matters. If not, values are days: a time counts as its day.
    missing : bool
        Whether a value can be missing. If it cannot, one that is missing all the same counts as the
        middle of the bounds.

    Raises
    ------
    SchemaError
        If only one bound is given, a bound is no date, or they are not in order.

    Notes
    -----
    Values may come as dates and times of Python, numpy, pandas, polars or Arrow, as ISO 8601 text,
    or as text such as "31.12.2024". Without a time zone they are taken as UTC. Inside they are
    seconds since 1970-01-01 UTC, which `lower` and `upper` hold.

    Examples
    --------
    >>> Date("2019-01-01", "2024-12-31")
    Date('2019-01-01', '2024-12-31')
    >>> Date("2024-01-01", "2024-01-31", time=True)
    Date('2024-01-01', '2024-01-31T23:59:59', time=True)
    """

    whole: bool = field(default=False, init=False)
    time: bool = field(default=False, kw_only=True)

    def __init__(
        self,
        lower: Moment | None = None,
        upper: Moment | None = None,
        *,
        time: bool = False,
        missing: bool = True,
    ) -> None:
        check_truth(time, "time", "Date")
        check_truth(missing, "missing", "Date")
        for name, value in (("whole", False), ("time", time), ("missing", missing)):
            object.__setattr__(self, name, value)
        if (lower is None) != (upper is None):
            side = "lower" if lower is None else "upper"
            raise SchemaError(
                f"A Date needs both bounds or neither, and the {side} one is missing: give "
                f"Date('2019-01-01', '2024-12-31'), or Date() to have both found privately."
            )
        first = None if lower is None else _bound(lower, "lower", last=False)
        last = None if upper is None else _bound(upper, "upper", last=True)
        if first is not None and last is not None:
            if not time:
                # From the first second of a day to the last one of another.
                first, last = (math.floor(end / DAY) * DAY for end in (first, last))
            if not first < last:
                raise SchemaError(
                    f"The lower bound of a Date must be before the upper one. Got {str(lower)!r} "
                    f"and {str(upper)!r} instead: swap or widen them."
                )
            last = last if time else last + DAY - 1.0
        object.__setattr__(self, "lower", first)
        object.__setattr__(self, "upper", last)

    @property
    def scale(self) -> Scale:
        """What its values are: days, or instants."""
        return "time" if self.time else "day"

    @property
    def bound_texts(self) -> tuple[str, str] | None:
        """The bounds as ISO 8601 text, which `Date` reads as the same; None without any."""
        if self.lower is None or self.upper is None:
            return None
        first, last = (EPOCH + dt.timedelta(seconds=end) for end in (self.lower, self.upper))
        if not self.time:
            return first.date().isoformat(), last.date().isoformat()
        return first.isoformat().removesuffix("T00:00:00"), last.isoformat()

    def __repr__(self) -> str:
        told = [*map(repr, self.bound_texts or ()), *(["time=True"] if self.time else [])]
        return f"Date({', '.join([*told, *([] if self.missing else ['missing=False'])])})"


def read_instant(text: str) -> float | None:
    """Seconds since 1970-01-01 UTC of a date or time in ISO 8601, or as 31.12.2024; else None."""
    text = text.strip()
    german = _GERMAN.fullmatch(text)
    try:
        if german is not None:
            day, month, year, hour, minute, second = (int(part or 0) for part in german.groups())
            return _seconds(dt.datetime(year, month, day, hour, minute, second))
        return _seconds(dt.datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return None


def _seconds(moment: dt.datetime) -> float:
    """Seconds since the epoch, to the microsecond; without a time zone taken as UTC."""
    epoch = EPOCH if moment.tzinfo is None else EPOCH.replace(tzinfo=dt.UTC)
    return float((moment - epoch) // dt.timedelta(microseconds=1)) / 1e6


def read_moment(given: object, *, last: bool = False) -> float:
    """Seconds since 1970-01-01 UTC of a date or time that a person gives; NaN if it is none.

    Parameters
    ----------
    given : str, date, datetime or datetime64
    last : bool
        Whether a day is given for its last second, as an upper bound.
    """
    found: float | None = None
    day = False
    if isinstance(given, str):
        found = read_instant(given)
        day = ":" not in given and "T" not in given.upper()
    elif isinstance(given, np.datetime64) and not np.isnat(given):
        day = np.datetime_data(given)[0] in ("Y", "M", "W", "D")
        moment = given.astype("M8[us]").item()
        found = _seconds(moment) if isinstance(moment, dt.datetime) else None
    elif isinstance(given, dt.datetime):
        found = _seconds(given) if given == given else None  # pandas' NaT is a datetime
    elif isinstance(given, dt.date):
        day, found = True, _seconds(dt.datetime.combine(given, dt.time()))
    if found is None:
        return math.nan
    return found + DAY - 1.0 if last and day else found


def _bound(bound: object, side: str, *, last: bool) -> float:
    """A bound in seconds since the epoch; the last second of a day that is the upper one."""
    if isinstance(bound, float) and _is_instant(bound):
        return bound
    found = read_moment(bound, last=last)
    if math.isnan(found):
        raise SchemaError(
            f"The {side} bound of a Date must be a date such as '2019-01-31' or a time such as "
            f"'2019-01-31T08:30'. Got {bound!r} instead."
        )
    return found


def _is_instant(seconds: float) -> bool:
    """Whether seconds since the epoch lie in the years 1 to 9999."""
    try:
        EPOCH + dt.timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return False
    return True
