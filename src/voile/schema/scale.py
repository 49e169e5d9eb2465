"""How values of a numeric column are counted: any number, whole ones, days, or instants."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Scale = Literal["number", "whole", "day", "time"]
"""Any number; whole numbers; days or instants, both in seconds since 1970-01-01 UTC."""

DAY = 86_400.0
"""Seconds of a day."""

_STEPS: dict[Scale, float] = {"number": 0.0, "whole": 1.0, "day": DAY, "time": 0.0}
_LEADS: dict[Scale, float] = {"number": 0.0, "whole": 0.5, "day": 0.0, "time": 0.0}


def step_of(scale: Scale) -> float:
    """How far two neighbouring values are apart; 0 where there is always one between."""
    return _STEPS[scale]


def lead_of(scale: Scale) -> float:
    """How far below a value the numbers begin that are rounded to it.

    A whole number is rounded, halves upwards, and a time of a day belongs to that day. So cuts lie
    halfway between whole numbers, and at midnight.
    """
    return _LEADS[scale]


def on_scale(values: Floats, scale: Scale) -> Floats:
    """Numbers as values of the scale, shape as given; NaN stays."""
    step = step_of(scale)
    if step == 0.0:
        return values
    return np.asarray(np.floor((values + lead_of(scale)) / step) * step)
