"""Linear maps and decisions of tables as signed bars: a bar per feature or column."""

from __future__ import annotations

import plotly.graph_objects as go

from voile.explain.locally_linear.local import LocallyLinearLocalExplanation
from voile.explain.locally_linear.local_text import lead_parts
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.locally_linear.overall_text import strongest
from voile.explain.lvq.text import brief, given_text
from voile.explain.wording import noisy
from voile.report.kit.bars import MOST_BARS, Part, draw_bars, rank_parts, value_label
from voile.report.kit.text import plot_text, short_names

MOST_NAME = 28


def find_contrast(bank: LocallyLinearExplanation, k: int) -> list[Part]:
    """The features that tell a class apart most."""
    shown = strongest(bank, k)[:MOST_BARS]
    names = short_names([bank.features[j].name for j in shown], MOST_NAME)
    return [
        Part(
            name,
            (
                bank.features[j].name,
                "blended map: "
                + noisy(float(bank.typical[k, j]), float(bank.typical_errors[k, j])),
            ),
            float(bank.contrast[k, j]),
            float(bank.contrast_errors[k, j]),
        )
        for j, name in zip(shown, names, strict=True)
    ]


def draw_contrast(bank: LocallyLinearExplanation, k: int) -> go.Figure:
    """Draw the features that tell a class apart most, with their errors."""
    name = plot_text(bank.outputs[k], 28)
    return draw_bars(
        find_contrast(bank, k), None, f"← speaks against '{name}'   |   speaks for '{name}' →"
    )


def find_lead(record: LocallyLinearLocalExplanation, row: int) -> list[Part]:
    """Parts of a row's lead over the runner-up, the greatest first, the rest summed, the base."""
    one, columns = record.decisions[row], record.columns
    names = short_names(columns, MOST_NAME)

    def tell(i: int) -> tuple[str, tuple[str, ...]]:
        label = value_label(names[i], brief(one.given[i]), brief(one.read_as[i] or ""))
        return label, (f"{columns[i]} = {given_text(one, i)}",)

    base = ("base: what the scores differ by where every input is average",)
    return [
        *rank_parts(columns, *lead_parts(record, row), tell, nothing=record.nothing),
        Part("base: all as on average", base, record.base_lead(row), 0.0),
    ]


def draw_lead(record: LocallyLinearLocalExplanation, row: int) -> go.Figure:
    """Draw a bar per column, to the right what speaks for the class, to the left the runner-up."""
    one = record.decisions[row]
    right, wrong = (plot_text(record.outputs[k], 28) for k in (one.predicted, one.runner_up))
    return draw_bars(
        find_lead(record, row),
        Part("together", ("together",), one.margin, one.margin_error),
        f"← speaks for '{wrong}'   |   speaks for '{right}' →",
    )
