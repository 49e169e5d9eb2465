"""The choice among explained rows of a model that is no sum: one explanation is shown at a time."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from voile.report.kit.embedded import place_script
from voile.report.kit.page import paragraph
from voile.report.kit.theme import read_asset

MOST_ROWS = 20
"""Rows that are explained in one page."""


def place_chooser(names: Sequence[str], draw: Callable[[int], list[str]]) -> list[str]:
    """A list to choose from, and the explanation of the chosen row, as HTML.

    Parameters
    ----------
    names : sequence of str
        What each row is; plain text.
    draw : callable
        HTML of the explanation of the row at a position.
    """
    if not names:
        return [paragraph("There is no row to explain.")]
    options = "".join(
        f'<option value="{i}">{html.escape(name)}</option>' for i, name in enumerate(names)
    )
    parts = [
        f'<p class="tools"><label for="row-choice">Row</label> '
        f'<select id="row-choice" autocomplete="off">{options}</select></p>'
    ]
    for i in range(len(names)):
        chosen = " chosen" if i == 0 else ""
        parts += [f'<div class="told{chosen}" id="told-{i}">', *draw(i), "</div>"]
    # Without scripts all rows are shown beneath each other, and the list has no use.
    return [*parts, place_script(read_asset("row_choice.js"))]
