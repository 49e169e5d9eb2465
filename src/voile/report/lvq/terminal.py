"""Prototypes and decisions in a terminal: tables, with bars or small pictures of characters."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.plain_text import cut_text
from voile.explain.prototype_decisions import PrototypeDecisions
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import (
    changes_text,
    decision_text,
    decision_title,
    doubt_text,
    mean_share,
    no_rows_text,
    prototype_name,
    relevance_text,
    value_text,
)
from voile.explain.wording import short
from voile.rendering import prints
from voile.report.kit.bars import Part
from voile.report.kit.terminal import (
    plain_table,
    print_receipt,
    print_rows,
    say,
    shade_grey,
    tabulate_parts,
)
from voile.report.lvq.bars import find_parts

MOST_PROTOTYPES, MOST_FEATURES, WIDE = 20, 4, 24


@prints(PrototypeExplanation)
def print_prototypes(console: Console, record: PrototypeExplanation) -> None:
    """Print the typical points."""
    say(console, "Typical points", style="bold")
    console.print(tabulate_prototypes(record))
    say(console, relevance_text(record), no_rows_text(record.receipt))
    print_receipt(console, record)


@prints(PrototypeDecisions)
def print_decisions(console: Console, record: PrototypeDecisions) -> None:
    """Print why the first rows got their classes."""

    def print_row(row: int) -> None:
        one = record.decisions[row]
        say(console, decision_title(record, row), style="bold")
        say(console, decision_text(record, row))
        if one.wrong >= 0 and record.image_shape is None:
            together = Part("together", (), one.gap, one.gap_error)
            console.print(tabulate_parts(find_parts(record, row), after=[together]))
        say(console, doubt_text(one), changes_text(record, row))
        console.print()

    print_rows(console, len(record), print_row)
    say(console, no_rows_text(record.receipt))
    print_receipt(console, record)


def tabulate_prototypes(explanation: PrototypeExplanation) -> Table:
    """A line per prototype, with its most relevant features or a small picture."""
    picture = explanation.image_shape is not None
    table = plain_table()
    table.add_column("prototype", no_wrap=True, max_width=20)
    table.add_column("rows", no_wrap=True, justify="right")
    table.add_column("off mean", no_wrap=True, justify="right")
    table.add_column("picture" if picture else "typical", max_width=36)
    for p, label in enumerate(explanation.labels[:MOST_PROTOTYPES]):
        name = prototype_name(explanation.labels, explanation.outputs, p)
        count = float(explanation.counts[label])
        table.add_row(
            Text(cut_text(name, 20)),
            f"{count:,.0f}" if np.isfinite(count) else "?",
            mean_share(float(explanation.distance_from_mean[p])),
            _small_picture(explanation, p) if picture else Text(_features(explanation, p)),
        )
    left = len(explanation.labels) - MOST_PROTOTYPES
    if left > 0:
        table.add_row(Text(f"... {left} more"))
    return table


def _features(explanation: PrototypeExplanation, p: int) -> str:
    texts = [
        f"{cut_text(explanation.features[j].name, 20)} "
        + value_text(explanation.features[j], float(explanation.values[p, j]))
        for j in explanation.ranked[:MOST_FEATURES]
    ]
    left = len(explanation.features) - MOST_FEATURES
    return ", ".join(texts) + (f" and {short(left)} more" if left > 0 else "")


def _small_picture(explanation: PrototypeExplanation, p: int) -> Text:
    """A prototype as lines of characters."""
    assert explanation.image_shape is not None
    values = explanation.values[p]
    shares = [float(one.place(values[j])) for j, one in enumerate(explanation.features)]
    return shade_grey(np.reshape(shares, explanation.image_shape), WIDE)
