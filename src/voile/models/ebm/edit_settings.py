"""What the settings of an edit say: numbers, choices, ranges and levels.

They are checked here, because they may come from a file or be meant for another model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.ebm.model import MISSING, OTHER
from voile.schema import Category, Date, Number
from voile.schema.dates import read_moment
from voile.schema.scale import lead_of, on_scale, step_of
from voile.schema.value_texts import edge_texts

Settings = Mapping[str, Any]
Bins = NDArray[np.int64]
Outputs = NDArray[np.int64]


def read_number(value: object, name: str) -> float:
    """A finite number."""
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise SettingError(f"{name!r} of an edit must be a finite number. Got {value!r} instead.")
    return number


def read_choice(value: object, name: str, yes: str, no: str) -> bool:
    """Whether the first of two words is given."""
    if value != yes and value != no:
        raise SettingError(f"{name!r} of an edit must be {yes!r} or {no!r}. Got {value!r} instead.")
    return bool(value == yes)


def find_ends(
    name: str, column: Number, between: object, form: str = "between=(a, b)"
) -> tuple[float, float]:
    """Where to cut for a range; of whole numbers and days both ends belong to it."""
    if not isinstance(between, list) or len(between) != 2:
        raise SettingError(f"A range of {name!r} must be a pair {form}. Got {between!r} instead.")
    assert column.lower is not None
    assert column.upper is not None
    if isinstance(column, Date):
        first, last = read_moment(between[0]), read_moment(between[1], last=column.time)
    else:
        first, last = (read_number(end, "between") for end in between)
    first, last = on_scale(np.array([first, last]), column.scale).tolist()
    step, lead = step_of(column.scale), lead_of(column.scale)
    low = first if first == column.lower else first - lead
    high = min(last + step - lead, column.upper) if step else last
    if not column.lower <= low < high <= column.upper:
        ends = edge_texts([column.lower, column.upper], column.scale)
        raise SettingError(
            f"A range of {name!r} must be {form} with {ends[0]} <= a < b <= {ends[1]}. Got "
            f"({between[0]!r}, {between[1]!r}) instead."
        )
    return low, high


def find_levels(
    name: str, column: Category, levels: object, *, missing: bool = False
) -> NDArray[np.int64]:
    """Codes of some levels: "(other)" is that of levels that are not listed.

    With ``missing``, None and "(missing)" are that of missing values.
    """
    codes: dict[object, int] = {level: code for code, level in enumerate(column.levels or ())}
    count = len(codes)
    codes.setdefault(OTHER, count)
    if missing:
        codes.setdefault(MISSING, count + 1)
        codes[None] = count + 1
    if not isinstance(levels, list) or not levels:
        raise SettingError(f"'levels' must be a list of levels. Got {levels!r} instead.")
    for level in levels:
        known = isinstance(level, str | int | float) or (missing and level is None)
        if not known or level not in codes:
            raise SettingError(
                f"Term {name!r} has no level {level!r}: it has "
                f"{', '.join(map(repr, (one for one in codes if one is not None)))}."
            )
    return np.array([codes[level] for level in levels])
