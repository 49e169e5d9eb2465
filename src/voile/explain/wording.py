"""Numbers as people write them (few digits, no exponent for ordinary sizes), and lines of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence

from voile.schema.scale import Scale
from voile.schema.value_texts import duration_text, short, value_text

__all__ = [
    "list_rows",
    "noisy",
    "noisy_value",
    "p_text",
    "percent",
    "readable",
    "short",
    "signed",
    "spread",
    "wrapped",
]


def signed(number: float) -> str:
    """Write a number with its sign, as one adds it to something.

    Examples
    --------
    >>> signed(0.25), signed(-3), signed(0)
    ('+0.25', '-3', '0')
    """
    text = short(number)
    return f"+{text}" if number > 0 and text[0].isdigit() and text != "0" else text


def noisy(number: float, standard_error: float, *, added: bool = True) -> str:
    """Write a number with two standard errors of its noise, if it has any.

    Parameters
    ----------
    number, standard_error : float
    added : bool
        Whether the number is added to something, and needs a sign.

    Examples
    --------
    >>> noisy(-0.7123, 0.01724), noisy(2, 0.0), noisy(2, 0.1, added=False)
    ('-0.712 ± 0.034', '+2', '2 ± 0.2')
    >>> noisy(-6.21e-05, 0.095), noisy(-0.634, 0.095)
    ('0 ± 0.19', '-0.63 ± 0.19')
    """
    told = readable(number, standard_error)
    text = signed(told) if added else short(told)
    return text + (spread(standard_error) if standard_error != 0 else "")


def readable(number: float, standard_error: float) -> float:
    """Round a number to the decimals that two standard errors of it are written with.

    Examples
    --------
    >>> readable(-6.21e-05, 0.095), readable(0.6342, 0.095), readable(0.6342, 0.0)
    (0.0, 0.63, 0.6342)
    """
    half = 2 * abs(standard_error)
    if not (0.0 < half < math.inf and math.isfinite(number)):
        return number
    return round(number, max(1 - math.floor(math.log10(half)), 0)) + 0.0


def spread(standard_error: float) -> str:
    """Write two standard errors, to follow a number."""
    return f" ± {short(2 * standard_error, digits=2)}"


def noisy_value(value: float, standard_error: float, scale: Scale) -> str:
    """Write a value of a column with two standard errors of its noise, if it has any.

    Examples
    --------
    >>> noisy_value(2.7, 0.1, "whole"), noisy_value(1.6e9, 86400.0, "day")
    ('3 ± 0.2', '2020-09-13 ± 2 days')
    """
    if scale == "number":
        return noisy(value, standard_error, added=False)
    text = value_text(value, scale)
    if standard_error == 0:
        return text
    if scale == "whole":
        return text + spread(standard_error)
    return f"{text} ± {duration_text(2 * standard_error)}"


def percent(share: float) -> str:
    """Write a probability, without calling anything but 0 and 1 certain.

    Examples
    --------
    >>> percent(0.734), percent(0.99996), percent(0.0001)
    ('73 %', 'over 99.9 %', 'under 0.1 %')
    """
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    return f"{100 * share:.{1 if min(share, 1 - share) < 0.02 else 0}f} %"


def p_text(p_value: float) -> str:
    """A p-value as one writes it after "p".

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-9)
    ('= 0.031', '< 0.0001')
    """
    return "< 0.0001" if p_value < 1e-4 else f"= {short(p_value, digits=2)}"


def wrapped(text: str, indent: str = "  ") -> list[str]:
    """Break a text into lines, all but the first indented."""
    return textwrap.wrap(text, 96, initial_indent=indent, subsequent_indent="  ")


def list_rows(
    count: int,
    lead: tuple[str, str],
    lines_of: Callable[[int], list[str]],
    told: Sequence[str],
    most: int = 5,
) -> str:
    """Explained rows one beneath the other, the first ones of many.

    Parameters
    ----------
    count : int
        Rows in all.
    lead : tuple of str
        What their parts are: the rest of the first line, and what follows it.
    lines_of : callable
        From the number of a row to its lines.
    told : sequence of str
        What is said at the end.
    """
    lines = [f"{'Row' if count == 1 else 'Rows'} explained: {count}. {lead[0]}"]
    lines += wrapped(lead[1], "")
    for row in range(min(count, most)):
        lines += ["", *lines_of(row)]
    if count > most:
        lines += ["", f"... and {count - most} more rows: to_frame() has them all"]
    return "\n".join([*lines, "", *(line for text in told for line in wrapped(text, ""))])
