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

_TOLD = 0.05
"""Share of rows with an unlisted class from which on a receipt tells of them."""

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
    raise NothingFound(
        f"Training stopped when the target had been read: of about {rows:,.0f} rows, about "
        f"{unlisted:,.0f} have none of the classes {_named(levels)}. Give those that they have, "
        "and check their spelling and type; for amounts use a regressor."
    )


def unlisted_note(levels: Sequence[object], counts: Floats, error: float, column: str = "") -> str:
    """What a receipt says of rows with another class or level than those listed.

    Parameters
    ----------
    levels : sequence
        The classes, or the levels of a column.
    counts : ndarray of shape (levels + 2,)
        Released rows of each, of others, and of missing values.
    error : float
        Standard deviation of the noise on each.
    column : str
        Its name; empty for the target.

    Returns
    -------
    str
        Empty if there are hardly any.
    """
    unlisted, rows = float(counts[len(levels)]), float(np.maximum(counts, 0.0).sum())
    if unlisted <= _CLEAR * error or unlisted < _TOLD * rows:
        return ""
    what = f"levels of {column!r} that are listed" if column else f"classes {_named(levels)}"
    so = "count as (other)" if column else "taught nothing"
    return (
        f"About {unlisted:,.0f} of {rows:,.0f} rows have none of the {what} and {so}: check the "
        "spelling, or list what is lacking."
    )


def _named(levels: Sequence[object]) -> str:
    """The first few classes."""
    return ", ".join(repr(level) for level in levels[:8]) + (", ..." if len(levels) > 8 else "")


def stop_if_fewer(
    levels: Sequence[object], listed: Floats, rows: float, listed_error: float, rows_error: float
) -> None:
    """The same from the number of all rows: those without a listed class are the rest."""
    if rows > FEWEST_ROWS:
        unlisted = rows - float(listed.sum())
        error = math.hypot(rows_error, listed_error * math.sqrt(len(listed)))
        stop_if_unlisted(levels, listed, unlisted, listed_error, error, MOST_WITHOUT)
