"""What a reader may conclude from a figure: clear, perhaps, or nothing; one rule for all of Voile.

A verdict comes from a p-value that allows for everything looked at together, of a test whose
standard errors hold the privacy noise *and* the sampling error (docs/proofs/verdicts.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Verdict = Literal["clear", "perhaps", "cannot be told from nothing"]
ColumnVerdict = Verdict | Literal["edited", "not known"]
"""Also where people changed the model, and where nothing is known of the sampling error."""

NOTHING: Verdict = "cannot be told from nothing"

CLEAR_LEVEL, PERHAPS_LEVEL = 0.01, 0.05
"""Among all that is looked at together and is nothing, the probability to call any of it so."""


def judge(p_value: float) -> Verdict:
    """The verdict on a p-value that allows for having looked at many.

    Examples
    --------
    >>> judge(0.001), judge(0.03), judge(0.2), judge(float("nan"))
    ('clear', 'perhaps', 'cannot be told from nothing', 'cannot be told from nothing')
    """
    if p_value <= CLEAR_LEVEL:
        return "clear"
    return "perhaps" if p_value <= PERHAPS_LEVEL else NOTHING


def allow_for_many(p_values: ArrayLike) -> NDArray[np.float64]:
    """P-values that allow for having looked at all of them (Holm 1979), in the same order.

    Whatever the dependence between the tests, the probability that any of those without an effect
    falls to or below a level is at most that level. NaN (no test could be made) counts as 1.

    Examples
    --------
    >>> allow_for_many([0.01, 0.5, 0.02]).tolist()
    [0.03, 0.5, 0.04]
    """
    given = np.nan_to_num(np.asarray(p_values, dtype=np.float64), nan=1.0).ravel()
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


MOST_LISTED = 12
"""Columns that a sentence lists."""

MARK = "may be nothing"
"""Stands beside what a column added to a row, if the column cannot be told from nothing."""

LEVELS = (
    "'clear' and 'perhaps' are more than privacy noise and sampling error, at the levels 1 % and "
    "5 % for all columns together."
)
"""What verdicts mean, in a sentence."""


def interval_text(*, whole: bool) -> str:
    """What intervals hold, in words."""
    if whole:
        return "95 % interval: privacy noise plus sampling error"
    return "two standard errors of the privacy noise alone; the sampling error is not known"


def error_bars_text(*, whole: bool) -> str:
    """What whiskers and ± are, after "are" or "is"."""
    return f"the {interval_text(whole=True)}" if whole else interval_text(whole=False)


def marked(text: str, *, nothing: bool) -> str:
    """A number, with a mark if its column cannot be told from nothing."""
    return f"{text} ({MARK})" if nothing else text


def nothing_text(names: Sequence[str], kinds: tuple[str, str] = ("column", "columns")) -> str:
    """The columns that cannot be told from nothing, in a sentence; empty if there are none.

    Parameters
    ----------
    names : sequence of str
    kinds : tuple of str
        What one of them is called, and what several are.

    Examples
    --------
    >>> nothing_text(["age"]), nothing_text([])
    ('1 column cannot be told from nothing: age', '')
    """
    if not names:
        return ""
    which = f"1 {kinds[0]}" if len(names) == 1 else f"{len(names)} {kinds[1]}"
    return f"{which} {NOTHING}: {_listed(names)}"


def something_text(names: Sequence[str], verdicts: Sequence[ColumnVerdict]) -> str:
    """The columns that are clear or perhaps something, each with its verdict, clear ones first.

    Examples
    --------
    >>> something_text(["age", "ward", "dose"], ["perhaps", NOTHING, "clear"])
    'dose (clear), age (perhaps)'
    """
    both = list(zip(names, verdicts, strict=True))
    texts = [
        f"{name} ({verdict})"
        for wanted in ("clear", "perhaps")
        for name, verdict in both
        if verdict == wanted
    ]
    return _listed(texts) or "none"


def _listed(texts: Sequence[str]) -> str:
    left = len(texts) - MOST_LISTED
    return ", ".join(texts[:MOST_LISTED]) + (f" and {left} more" if left > 0 else "")
