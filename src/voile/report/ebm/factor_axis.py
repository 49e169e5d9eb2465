"""Ticks of an axis of logarithms, written as what they are the logarithms of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from voile.explain.wording import short

FEWEST_TICKS, MOST_TICKS = 3, 7

_STEPS = (1.0, 2.0, 5.0)
_MANTISSAS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))

_NARROW = 4.0
"""Up to this ratio of its ends an axis has equal steps, from there on powers of ten and parts."""


def power_ticks(
    low: float, high: float, before: str = "", most: int = MOST_TICKS
) -> dict[str, Any]:
    """Where an axis from ``low`` to ``high`` is written on, and what: settings of plotly's axis.

    Parameters
    ----------
    low, high : float
        Ends of the axis; its numbers are natural logarithms.
    before : str
        Stands before each number.
    most : int
        Numbers, at most.

    Examples
    --------
    >>> power_ticks(-0.75, 0.75, "x")["ticktext"]
    ['x0.5', 'x1', 'x1.5', 'x2']
    >>> power_ticks(-5, 0)["ticktext"]
    ['0.01', '0.02', '0.05', '0.1', '0.2', '0.5', '1']
    """
    low, high = max(low, -700.0), min(high, 700.0)
    if not low < high:
        return {}
    narrow = high - low <= math.log(_NARROW) + 0.5
    values = [] if narrow else _powers(low, high, most)
    if len(values) < FEWEST_TICKS and high - low < math.log(100.0):
        values = _equal(math.exp(low), math.exp(high), most)
    return {
        "tickvals": [math.log(one) for one in values],
        "ticktext": [before + short(one, digits=3) for one in values],
        "tickangle": 0,
    }


def _equal(low: float, high: float, most: int) -> list[float]:
    """Readable numbers with equal steps."""
    size = math.floor(math.log10(high - low)) - 1
    for power in (size, size + 1, size + 2):
        for part in _STEPS:
            step = part * 10.0**power
            places = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
            if len(places) <= most - 1:
                return [float(f"{place * step:.12g}") for place in places.tolist() if place > 0]
    return []


def _powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten, with parts between them where there is room."""
    first, last = math.floor(low / math.log(10)), math.ceil(high / math.log(10))
    for every in range(1, 1_000):
        for parts in _MANTISSAS if every == 1 else ((1.0,),):
            powers = (k for k in range(first, last + 1) if k % every == 0)
            values = [part * 10.0**k for k in powers if abs(k) < 300 for part in parts]
            inside = [one for one in values if low <= math.log(one) <= high]
            if len(inside) <= most:
                return inside
    return []
