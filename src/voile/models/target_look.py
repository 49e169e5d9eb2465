"""The first look at a target: whether its listed classes are those that the rows have.

A class that is misspelt in the schema ("yes" for "Yes") makes rows count as of no class at all. The
first released counts show it, and training stops by them alone, before the rest of the budget is
used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from voile.errors import NothingFound

Floats = NDArray[np.float64]

MOST_UNLISTED = 0.5
"""Share of rows with an unlisted class above which training stops, if it is clear of the noise."""

MOST_WITHOUT = 0.9
"""The same where rows without any target cannot be told from them."""

FEW_UNLISTED = 0.1
"""The same where one of two classes has no rows."""

_CLEAR = 4.0
"""Noise deviations by which a count must stand out."""


FEWEST_ROWS = 10.0
"""A released number of rows is taken for no smaller, so that it says nothing if it is this."""


def stop_if_unlisted(
    levels: Sequence[object],
    listed: Floats,
    unlisted: float,
    listed_error: float,
    error: float,
    most: float = MOST_UNLISTED,
) -> None:
    """Stop a training whose rows have other classes than the schema lists.

    Parameters
    ----------
    levels : sequence
        The listed classes.
    listed : ndarray of shape (classes,)
        Released rows of each.
    unlisted : float
        Released rows with another class.
    listed_error, error : float
        Standard deviation of the noise on a count of a listed class, and on ``unlisted``.
    most : float
        Share of unlisted rows above which training stops.

    Raises
    ------
    NothingFound
        A function of these numbers alone.
    """
    known = float(listed.sum())
    noise = math.hypot(error, listed_error * math.sqrt(len(listed)))
    rows = max(known, 0.0) + max(unlisted, 0.0)
    clear = unlisted > _CLEAR * error and unlisted - most * rows > _CLEAR / 2 * noise
    if not clear and len(listed) == 2:
        empty = float(listed.min()) <= _CLEAR * listed_error
        clear = empty and unlisted > max(_CLEAR * error, FEW_UNLISTED * rows)
    if not clear:
        return
    names = ", ".join(repr(level) for level in levels[:8]) + (", ..." if len(levels) > 8 else "")
    raise NothingFound(
        f"Training stopped after its first access, to the target: of about {rows:,.0f} rows, about "
        f"{unlisted:,.0f} have none of the classes {names}. Give those that they have, and check "
        "their spelling and type."
    )


def stop_if_fewer(
    levels: Sequence[object], listed: Floats, rows: float, listed_error: float, rows_error: float
) -> None:
    """The same from the number of all rows: those without a listed class are the rest."""
    if rows > FEWEST_ROWS:
        unlisted = rows - float(listed.sum())
        error = math.hypot(rows_error, listed_error * math.sqrt(len(listed)))
        stop_if_unlisted(levels, listed, unlisted, listed_error, error, MOST_WITHOUT)
