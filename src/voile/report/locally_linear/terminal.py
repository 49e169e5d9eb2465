"""Linear maps and decisions in a terminal: tables with bars, or small pictures of characters."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from voile.explain.ebm.text import cut_text
from voile.explain.locally_linear import local_text as row_text
from voile.explain.locally_linear import overall_text as text
from voile.explain.locally_linear.local import LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.picture_shape import PictureShape
from voile.models.verdict import nothing_text
from voile.rendering import prints
from voile.report.kit import terminal as kit
from voile.report.kit.bars import Part
from voile.report.kit.pictures import Floats, sum_channels
from voile.report.locally_linear.bars import find_contrast, find_lead

MOST_CLASSES, MOST_FEATURES, WIDE = 20, 6, 32


_FEATURES = ("feature", "part", "against", "for")


@prints(LocallyLinearExplanation)
def print_bank(console: Console, bank: LocallyLinearExplanation) -> None:
    """Print what each class looks for."""
    kit.say(console, f"Typical pattern of each class: {text.size_text(bank)}", style="bold")
    kit.say(console, text.verdicts_text(bank), nothing_text(bank.nothing))
    for k, name in enumerate(bank.outputs[:MOST_CLASSES]):
        told = (text.spread_text(bank, k), text.noise_text(bank, k))
        about = "; ".join(one for one in told if one)
        console.print(Text(f"'{cut_text(name, 40)}'", style="bold"), Text(about))
        if bank.image_shape is None:
            console.print(kit.tabulate_parts(find_contrast(bank, k)[:MOST_FEATURES], _FEATURES))
        else:
            assert bank.likeness is not None
            drawn = (bank.likeness[k], bank.contrast[k])
            console.print(_pictures(("typical pattern", "linear map"), *drawn, bank.image_shape))
    left = len(bank.outputs) - MOST_CLASSES
    if left > 0:
        console.print(f"... and {left} more classes: to_frame() has them all")
    kit.say(
        console, text.teacher_text(bank), text.ranking_text(bank), text.no_rows_text(bank.receipt)
    )
    kit.print_receipt(console, bank)


@prints(LocallyLinearLocalExplanation)
def print_decisions(console: Console, record: LocallyLinearLocalExplanation) -> None:
    """Print why the first rows got their classes."""
    kit.print_rows(console, len(record), lambda row: _print_row(console, record, row))
    kit.say(console, text.no_rows_text(record.receipt))
    kit.print_receipt(console, record)


def _print_row(console: Console, record: LocallyLinearLocalExplanation, row: int) -> None:
    one = record.decisions[row]
    kit.say(console, row_text.decision_title(record, row), style="bold")
    kit.say(console, row_text.decision_text(record, row))
    if record.image_shape is not None:
        values = [float(f.place(one.values[j])) for j, f in enumerate(record.features)]
        names = ("this row", "what decided" if one.runner_up >= 0 else "what it added")
        drawn = (np.array(values), record.against(row))
        console.print(_pictures(names, *drawn, record.image_shape))
    elif one.runner_up >= 0:
        together = Part("together", (), one.margin, one.margin_error)
        sides = kit.name_sides(
            "for", record.outputs[one.runner_up], "for", record.outputs[one.predicted]
        )
        head = ("column", "part", *sides)
        console.print(kit.tabulate_parts(find_lead(record, row), head, after=[together]))
    kit.say(
        console,
        row_text.maps_text(record, row, one.predicted),
        row_text.doubt_text(one, whole=record.whole),
        row_text.filled_text(record, row),
    )
    console.print()


def _pictures(names: tuple[str, str], shares: Floats, signed: Floats, shape: PictureShape) -> Table:
    """A picture in grey beside one in orange and blue, their channels joined."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, no_wrap=True)
    channels = len(shares) // (shape[0] * shape[1])
    grey = sum_channels(shares, shape) / channels
    table.add_row(
        kit.shade_grey(grey.reshape(shape[:2]), WIDE),
        kit.shade_signed(sum_channels(signed, shape).reshape(shape[:2]), WIDE),
    )
    return table
