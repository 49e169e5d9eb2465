"""Numbers as people write them (few digits, no exponent for ordinary sizes), and lines of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence

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
    """
    text = signed(number) if added else short(number)
    return text + (spread(standard_error) if standard_error != 0 else "")


def spread(standard_error: float) -> str:
    """Write two standard errors, to follow a number."""
    return f" ± {short(2 * standard_error, digits=2)}"


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


def edge_texts(edges: Sequence[float]) -> tuple[str, ...]:
    """Write the borders of intervals with as many digits as tell them apart.

    Examples
    --------
    >>> edge_texts([0, 0.5, 100]), edge_texts([1.00001, 1.00002])
    (('0', '0.5', '100'), ('1.00001', '1.00002'))
    """
    texts: tuple[str, ...] = ()
    for digits in range(4, MOST_DIGITS + 1):
        texts = tuple(short(edge, digits=digits, grouped=False) for edge in edges)
        if len(set(texts)) == len(texts):
            break
    return texts


def interval_texts(edges: Sequence[float]) -> tuple[str, ...]:
    """Name the intervals between borders; a border belongs to the right, the last to both.

    Examples
    --------
    >>> interval_texts([17, 30, 90])
    ('[17, 30)', '[30, 90]')
    """
    texts = edge_texts(edges)
    last = len(texts) - 2
    return tuple(f"[{texts[i]}, {texts[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


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
        What their parts are: the rest of the first line, and the second one.
    lines_of : callable
        From the number of a row to its lines.
    told : sequence of str
        What is said at the end.
    """
    lines = [f"{'Row' if count == 1 else 'Rows'} explained: {count}. {lead[0]}", lead[1]]
    for row in range(min(count, most)):
        lines += ["", *lines_of(row)]
    if count > most:
        lines += ["", f"... and {count - most} more rows: to_frame() has them all"]
    return "\n".join([*lines, "", *(line for text in told for line in wrapped(text, ""))])
