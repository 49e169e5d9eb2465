"""Odd values that a private cell may hold, and that must not be seen from outside."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

SECRET = "hush-hush-31337"
"""What hostile values would say; it must appear nowhere."""


def _shout(*anything: object) -> Any:
    print(SECRET)
    raise RuntimeError(SECRET)


class Hostile:
    """Every method prints a secret and raises it."""

    __eq__ = __ne__ = __hash__ = __float__ = __int__ = __index__ = __lt__ = __bool__ = _shout
    __len__ = __iter__ = __getitem__ = __array__ = __repr__ = __str__ = _shout


class Liar(Hostile):
    """Says that it is of another class."""

    def __init__(self, claimed: type) -> None:
        self.claimed = claimed

    @property
    def __class__(self) -> Any:
        return self.claimed


class Leaver:
    """Ends the program when it is asked what it is."""

    @property
    def __class__(self) -> Any:
        raise SystemExit(SECRET)


class HostileText(str):
    """Text whose methods shout."""

    __slots__ = ()
    __eq__ = __hash__ = __str__ = __repr__ = _shout


class HostileDecimal(Decimal):
    """A decimal whose conversion ends the program."""

    def __float__(self) -> float:
        raise SystemExit(SECRET)


class HostileDate(dt.date):
    """A date whose methods shout."""

    __ne__ = __eq__ = __sub__ = __hash__ = _shout


class HostileMoment(dt.datetime):
    """A date and time whose time zone shouts."""

    @property
    def tzinfo(self) -> Any:
        """Never returns."""
        return _shout()


class HostileWhole(np.int64):
    """A whole number of numpy whose conversions shout."""

    __int__ = __float__ = __index__ = __repr__ = _shout


class NoZone(dt.tzinfo):
    """A time zone that ends the program."""

    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        """Never returns."""
        raise SystemExit(SECRET)

    tzname = dst = utcoffset


def odd_values() -> dict[str, Any]:
    """Values by a word that says what is odd about them.

    None of them is out of the ordinary for whoever reads a file that others have written, but for
    the hostile ones: objects that run code of their own when they are looked at.
    """
    return {
        "not a number": math.nan,
        "infinite": math.inf,
        "minus infinite": -math.inf,
        "huge": 1e308,
        "denormal": 5e-324,
        "beyond floats": 10**400,
        "beyond 64 bits": 2**64,
        "text": "hello",
        "digits": "1" * 5000,
        "long text": "x" * 100_000,
        "lone surrogate": "\ud800",
        "zero byte": "\0",
        "missing": None,
        "truth": True,
        "bytes": b"\xff",
        "decimal": Decimal("1.5"),
        "signalling decimal": Decimal("sNaN"),
        "large decimal": Decimal("1e99999"),
        "fraction": Fraction(1, 3),
        "complex": 1j,
        "date": dt.date(2024, 1, 31),
        "latest moment": dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-23))),
        "time": dt.time(1, 2),
        "longest duration": dt.timedelta.max,
        "no time": np.datetime64("NaT"),
        "far year": np.datetime64(2**62, "Y"),
        "numpy text": np.str_("a"),
        "long double": np.longdouble("1e4000"),
        "array": np.ones(3),
        "scalar array": np.array(1.0),
        "list": [1, [2]],
        "mapping": {"a": 1},
        "identifier": uuid.UUID(int=1),
        "type": int,
        "function": len,
        "hostile": Hostile(),
        "hostile text": HostileText("a"),
        "hostile decimal": HostileDecimal(1),
        "hostile date": HostileDate(2024, 1, 1),
        "hostile moment": HostileMoment(2024, 1, 1),
        "hostile whole number": HostileWhole(1),
        "hostile time zone": dt.datetime(2024, 1, 1, tzinfo=NoZone()),
        "says it is text": Liar(str),
        "says it is a number": Liar(float),
        "says it is a decimal": Liar(Decimal),
        "says it is a date": Liar(dt.date),
        "ends the program": Leaver(),
    }
