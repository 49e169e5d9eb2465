"""What spoke for a row's class and what against it: a bar per column."""

from __future__ import annotations

import plotly.graph_objects as go

from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_text import brief, given_text, prototype_name, value_text
from voile.report.kit.bars import Part, draw_bars, rank_parts, value_label
from voile.report.kit.text import plot_text, short_names

MOST_NAME = 24


def find_parts(explanation: PrototypeDecisions, row: int) -> list[Part]:
    """Parts of one row, the greatest first, the rest summed (their noise taken as independent)."""
    one, columns = explanation.decisions[row], explanation.columns
    names = short_names(columns, MOST_NAME)

    def tell(i: int) -> tuple[str, tuple[str, ...]]:
        label = value_label(names[i], brief(one.given[i]), brief(one.read_as[i] or ""))
        told = f"{columns[i]} = {given_text(one, i)}"
        return label, (told, *typical_texts(explanation, row, columns[i]))

    return rank_parts(columns, explanation.parts(row), one.part_errors, tell)


def typical_texts(explanation: PrototypeDecisions, row: int, column: str) -> list[str]:
    """What is typical of the two prototypes in a column: "typical 'no': 12 ± 0.7"."""
    one = explanation.decisions[row]
    return [
        f"typical {prototype_name(explanation.labels, explanation.outputs, p)}: "
        f"{typical_text(explanation, p, column)}"
        for p in (one.right, one.wrong)
        if p >= 0
    ]


def typical_text(explanation: PrototypeDecisions, p: int, column: str, *, most: int = 3) -> str:
    """A prototype's number, or its most frequent levels, with the noise."""
    found = [j for j, one in enumerate(explanation.features) if one.column == column]
    values, errors = explanation.prototypes[p], explanation.standard_errors[p]
    texts = [
        (f"{one.level} " if one.level is not None else "")
        + value_text(one, float(values[j]), float(errors[j]))
        for j in sorted(found, key=lambda j: -values[j])[:most]
        for one in (explanation.features[j],)
    ]
    return ", ".join(texts) + (", …" if len(found) > most else "")


def draw_parts(explanation: PrototypeDecisions, row: int) -> go.Figure:
    """Draw a bar per column, to the right what speaks for the class, to the left what against.

    Whiskers are two standard errors of the privacy noise of the two prototypes.
    """
    one = explanation.decisions[row]
    wrong = prototype_name(explanation.labels, explanation.outputs, one.wrong)
    right = prototype_name(explanation.labels, explanation.outputs, one.right)
    return draw_bars(
        find_parts(explanation, row),
        Part("together", ("together",), one.gap, one.gap_error),
        f"← nearer to {plot_text(wrong, 28)}   |   nearer to {plot_text(right, 28)} →",
    )
