"""The part of a page that is about one pair: a sentence, its map, and its numbers."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from voile.explain.ebm import text as plain_text
from voile.explain.ebm.factors import LOG_UNIT, factor_range_text
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.ebm.text import leading_output
from voile.explain.wording import noisy, p_text, signed
from voile.report.ebm.pair_map import (
    cell_name,
    cell_rows,
    cell_text,
    draw_pair,
    drawn_outputs,
    empty_cells,
    equal_widths,
    told_cells,
)
from voile.report.ebm.shapes import MULTIPLIES
from voile.report.kit.html import Templates

NONE_CLEAR = "no single cell is clear by itself"

MOST_CELLS = 170
"""Cells in a table."""

_html = Templates("ebm/model.html", text=plain_text, p_text=p_text)


def draw_pair_part(
    record: EBMExplanation, pair: ExplainedPair, position: int, *, linked: bool
) -> Markup:
    """One pair as a part of the page of its model."""
    outputs = record.outputs
    names = ["score"] if len(outputs) == 1 else [*outputs]
    head = ["cell", *names, "rows"]
    if pair.original is not None:
        head[-1:-1] = [f"{name}, as trained" for name in names]
    factors = record.units == LOG_UNIT
    if factors:
        head.insert(2, MULTIPLIES)
    cells = list_cells(pair)
    k = leading_output(pair)
    return _html.pair(
        record,
        pair,
        position,
        linked=linked,
        sentence=pair_text(pair, outputs, factors=factors),
        equal=[side.name for side in (pair.first, pair.second) if equal_widths(side)],
        led=outputs[k] if len(drawn_outputs(pair)) < len(outputs) else "",
        figure=draw_pair(pair, outputs, record.units),
        description=f"Map of {pair.name}: {_extremes_text(pair, outputs, factors=factors)}",
        head=head,
        rows=[_tabulate(pair, i, j, factors=factors) for i, j in cells],
        left=pair.counts.size - len(cells),
    )


def list_cells(pair: ExplainedPair) -> list[tuple[int, int]]:
    """Cells that a table has, as they lie in the grid: all, or those that tell most."""
    cells = list(np.ndindex(pair.counts.shape))
    if len(cells) <= MOST_CELLS:
        return cells
    told, empty, sizes = told_cells(pair), empty_cells(pair), np.abs(pair.scores)

    def rank(cell: tuple[int, int]) -> tuple[bool, bool, float]:
        return not told[cell].any(), bool(empty[cell]), -float(sizes[cell].max())

    return sorted(sorted(cells, key=rank)[:MOST_CELLS])


def pair_text(pair: ExplainedPair, outputs: tuple[str, ...], *, factors: bool = False) -> str:
    """What a pair is, and where it does most, in plain words."""
    first, second = pair.names
    if factors:
        return (
            f"What {first} and {second} do together, beyond what each does by itself: "
            f"{_extremes_text(pair, outputs, factors=True)}."
        )
    return (
        f"What {first} and {second} add together, beyond what {first} and {second} add by "
        f"themselves: {_extremes_text(pair, outputs)}."
    )


def _extremes_text(pair: ExplainedPair, outputs: tuple[str, ...], *, factors: bool = False) -> str:
    """The cells that raise and lower a score most, among those that say something."""
    if pair.is_nothing:
        return "it cannot be told from nothing"
    k = leading_output(pair)
    texts = []
    for i, j in find_peaks(pair, k):
        score, error = float(pair.scores[i, j, k]), float(pair.standard_errors[i, j, k])
        words = "raises" if score > 0 else "lowers"
        told = (factor_range_text if factors else noisy)(score, error)
        told = told.replace(" (", ", ").rstrip(")")
        what = "prediction" if factors else "score"
        texts.append(f"{words} the {what} most at {cell_name(pair, i, j)} ({told})")
    about = f"for '{outputs[k]}', " if len(outputs) > 1 else ""
    if not texts:
        return about + NONE_CLEAR
    return f"{about}it {', and '.join(texts)}"


def find_peaks(pair: ExplainedPair, k: int) -> list[tuple[int, int]]:
    """The cells that raise and lower a score most, among those that say something by themselves."""
    scores = np.where(told_cells(pair)[..., k], pair.scores[..., k], 0.0)
    found = []
    for place, sign in ((scores.argmax(), 1), (scores.argmin(), -1)):
        i, j = (int(one) for one in np.unravel_index(place, scores.shape))
        if sign * scores[i, j] > 0:
            found.append((i, j))
    return found


def _tabulate(pair: ExplainedPair, i: int, j: int, *, factors: bool) -> list[str]:
    """The line of a cell in the table."""
    places = range(len(pair.importance))
    was = [] if pair.original is None else map(signed, pair.original[i, j].tolist())
    scores = [cell_text(pair, i, j, k) for k in places]
    if factors:
        error = float(pair.standard_errors[i, j, 0])
        scores.append(factor_range_text(float(pair.scores[i, j, 0]), error))
    return [cell_name(pair, i, j), *scores, *was, cell_rows(pair, i, j)]
