"""Filters and decisions of tables as signed bars: a bar per feature or column."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from voile.explain.filter_bank import FilterBank
from voile.explain.filter_decision_text import lead_parts
from voile.explain.filter_decisions import FilterDecisions
from voile.explain.filter_text import strongest
from voile.explain.plain_text import cut_text
from voile.explain.prototype_text import brief, given_text
from voile.explain.wording import noisy
from voile.report.kit.bars import Part, draw_bars
from voile.report.kit.text import plot_text, short_names

MOST_BARS = 12
"""Features or columns with a bar of their own."""

MOST_NAME, MOST_VALUE = 28, 18


def find_contrast(bank: FilterBank, k: int) -> list[Part]:
    """The features that tell a class apart most."""
    shown = strongest(bank, k)[:MOST_BARS]
    names = short_names([bank.features[j].name for j in shown], MOST_NAME)
    return [
        Part(
            name,
            (
                bank.features[j].name,
                "blended filter: "
                + noisy(float(bank.typical[k, j]), float(bank.typical_errors[k, j])),
            ),
            float(bank.contrast[k, j]),
            float(bank.contrast_errors[k, j]),
        )
        for j, name in zip(shown, names, strict=True)
    ]


def draw_contrast(bank: FilterBank, k: int) -> go.Figure:
    """Draw the features that tell a class apart most, with their noise."""
    name = plot_text(bank.outputs[k], 28)
    return draw_bars(
        find_contrast(bank, k), None, f"← speaks against '{name}'   |   speaks for '{name}' →"
    )


def find_lead(explanation: FilterDecisions, row: int) -> list[Part]:
    """Parts of a row's lead over the runner-up, the greatest first, the rest summed, the base."""
    one = explanation.decisions[row]
    sizes, errors = lead_parts(explanation, row)
    order = np.argsort(-np.abs(sizes), kind="stable").tolist()
    # A sum of a single column would say less than the column itself.
    most = MOST_BARS if len(order) > MOST_BARS + 1 else len(order)
    parts = []
    names = short_names(explanation.columns, MOST_NAME)
    for i in order[:most]:
        name, read = explanation.columns[i], one.read_as[i]
        value = brief(one.given[i]) + (f" → {brief(read)}" if read else "")
        label = f"{names[i]} = {cut_text(value, MOST_VALUE)}"
        told = (f"{name} = {given_text(one, i)}",)
        parts.append(Part(label, told, float(sizes[i]), float(errors[i])))
    rest = order[most:]
    if rest:
        others = ", ".join(explanation.columns[i] for i in rest)
        told = (cut_text(f"{len(rest)} other columns: {others}", 150),)
        error = float(np.sqrt((errors[rest] ** 2).sum()))
        parts.append(Part(f"{len(rest)} other columns", told, float(sizes[rest].sum()), error))
    base = ("base: what the scores differ by where every input is average",)
    parts.append(Part("base: all as on average", base, explanation.base_lead(row), 0.0))
    return parts


def draw_lead(explanation: FilterDecisions, row: int) -> go.Figure:
    """Draw a bar per column, to the right what speaks for the class, to the left the runner-up."""
    one = explanation.decisions[row]
    right, wrong = (plot_text(explanation.outputs[k], 28) for k in (one.predicted, one.runner_up))
    return draw_bars(
        find_lead(explanation, row),
        Part("together", ("together",), one.margin, one.margin_error),
        f"← speaks for '{wrong}'   |   speaks for '{right}' →",
    )
