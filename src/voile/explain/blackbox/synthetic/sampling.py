"""Synthetic rows for anyone: drawn from the released summary, each as often as its weight says.

Post-processing: a table that may be shown to all who may see the summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from voile.errors import SettingError
from voile.explain.blackbox.rows.given_rows import GivenRows
from voile.explain.blackbox.synthetic.summary import SYNTHETIC_ROWS, PaidSummary, SyntheticRows
from voile.explain.blackbox.synthetic.tree_rows import draw_values, spread_out
from voile.models.setting_checks import is_count
from voile.privacy.receipt import Receipt

MOST_ROWS = 1_000_000
_MOST_DRAWN = 60_000
"""Rows that are drawn and weighted; more are made of these, with values of their own."""

NOTE = (
    "Synthetic rows, drawn from a private summary of single columns and pairs of columns. Good "
    "for: trying out code, distributions of columns, pairs of columns, backgrounds of "
    "explanations. Not good for: rare groups, relations of three or more columns, questions of "
    "causes, training a final model. No row stands for a person."
)


def sample_table(
    summary: PaidSummary,
    given: GivenRows,
    n: object,
    random_state: object,
    receipt: Receipt,
    drawn: Mapping[int, SyntheticRows],
) -> Any:
    """Synthetic rows as a user's table has them; a pandas frame carries a note.

    Parameters
    ----------
    summary : PaidSummary
    given : GivenRows
        The form of the user's table.
    n, random_state : int
    receipt : Receipt
        Whose guarantee the note tells.
    drawn : mapping of int to SyntheticRows
        What was drawn before, by its seed: drawing takes seconds.
    """
    if not is_count(n, 1, MOST_ROWS):
        raise SettingError(
            f"'n' must be a whole number from 1 to {MOST_ROWS:,}. Got {n!r} instead."
        )
    if not is_count(random_state, 0, 2**32 - 1):
        raise SettingError(
            f"'random_state' must be a whole number >= 0. Got {random_state!r} instead."
        )
    count, seed = int(n), int(random_state)
    if count > SYNTHETIC_ROWS:
        rows = summary.draw(seed, rows=min(count, _MOST_DRAWN))
    else:
        rows = drawn[seed] if seed in drawn else summary.draw(seed)
    table: Any = given.rebuild(_sample(summary, rows, count, seed), count, summary.schema)
    if hasattr(table, "attrs"):
        table.attrs = {"note": NOTE, "guarantee": receipt.guarantee}
    return table


def _sample(summary: PaidSummary, drawn: SyntheticRows, n: int, seed: int) -> dict[str, Any]:
    """Encoded rows of equal weight.

    A row that weighs more than others is taken several times, each time with other values within
    the same cells of its numbers.
    """
    rng = np.random.default_rng([seed, n])
    chosen = spread_out(drawn.weights, n, rng)
    codes = [one.code(drawn.columns[one.name])[chosen].astype(np.int64) for one in summary.cells]
    return draw_values(summary.cells, codes, rng)
