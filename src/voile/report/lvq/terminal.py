"""Prototypes and decisions in a terminal: tables, with bars or small pictures of characters."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.ebm.text import cut_text
from voile.explain.lvq import text
from voile.explain.lvq.local import LVQLocalExplanation
from voile.explain.lvq.overall import LVQExplanation
from voile.explain.wording import short
from voile.models.verdict import nothing_text
from voile.rendering import prints
from voile.report.kit import terminal as kit
from voile.report.kit.bars import Part
from voile.report.lvq.rows_page import find_parts

MOST_PROTOTYPES, MOST_FEATURES, WIDE = 20, 4, 24


@prints(LVQExplanation)
def print_prototypes(console: Console, record: LVQExplanation) -> None:
    """Print the typical points."""
    kit.say(console, "Typical points", style="bold")
    kit.say(console, text.verdicts_text(record), nothing_text(record.nothing))
    console.print(tabulate_prototypes(record))
    kit.say(console, text.relevance_text(record), text.no_rows_text(record.receipt))
    kit.print_receipt(console, record)


@prints(LVQLocalExplanation)
def print_decisions(console: Console, record: LVQLocalExplanation) -> None:
    """Print why the first rows got their classes."""

    def print_row(row: int) -> None:
        one = record.decisions[row]
        kit.say(console, text.decision_title(record, row), style="bold")
        kit.say(console, text.decision_text(record, row))
        if one.wrong >= 0 and record.image_shape is None:
            together = Part("together", (), one.gap, one.gap_error)
            wrong, right = (record.outputs[record.labels[p]] for p in (one.wrong, one.right))
            head = ("column", "part", *kit.name_sides("for", wrong, "for", right))
            console.print(kit.tabulate_parts(find_parts(record, row), head, after=[together]))
        doubt = text.doubt_text(one, whole=record.whole)
        kit.say(console, doubt, text.changes_text(record, row))
        console.print()

    kit.print_rows(console, len(record), print_row)
    kit.say(console, text.no_rows_text(record.receipt))
    kit.print_receipt(console, record)


def tabulate_prototypes(record: LVQExplanation) -> Table:
    """A line per prototype, with its most relevant features or a small picture."""
    picture = record.image_shape is not None
    table = kit.plain_table()
    table.add_column("prototype", no_wrap=True, max_width=20)
    table.add_column("rows", no_wrap=True, justify="right")
    table.add_column("off mean", no_wrap=True, justify="right")
    table.add_column("picture" if picture else "typical", max_width=36)
    for p, label in enumerate(record.labels[:MOST_PROTOTYPES]):
        name = text.prototype_name(record.labels, record.outputs, p)
        count = float(record.counts[label])
        table.add_row(
            Text(cut_text(name, 20)),
            f"{count:,.0f}" if np.isfinite(count) else "?",
            text.mean_share(float(record.distance_from_mean[p])),
            _small_picture(record, p) if picture else Text(_features(record, p)),
        )
    left = len(record.labels) - MOST_PROTOTYPES
    if left > 0:
        table.add_row(Text(f"... {left} more"))
    return table


def _features(record: LVQExplanation, p: int) -> str:
    texts = [
        f"{cut_text(record.features[j].name, 20)} "
        + text.feature_text(record.features[j], float(record.values[p, j]))
        for j in record.shown[:MOST_FEATURES]
    ]
    left = len(record.shown) - MOST_FEATURES
    return ", ".join(texts) + (f" and {short(left)} more" if left > 0 else "")


def _small_picture(record: LVQExplanation, p: int) -> Text:
    """A prototype as lines of characters."""
    assert record.image_shape is not None
    values = record.values[p]
    shares = [float(one.place(values[j])) for j, one in enumerate(record.features)]
    return kit.shade_grey(np.reshape(shares, record.image_shape), WIDE)
