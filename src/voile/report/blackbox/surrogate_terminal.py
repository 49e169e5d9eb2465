"""Local surrogates in a terminal: tables with bars, marked words, or heat maps of characters."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from voile.explain.blackbox.surrogate import text
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.units import PROBABILITY
from voile.explain.blackbox.words import cut_words, split_text
from voile.rendering import prints
from voile.report.blackbox.marked_words import words_of
from voile.report.blackbox.slope_bars import find_slopes
from voile.report.kit import terminal as kit
from voile.report.kit.pictures import sum_channels

MOST_PARTS, MOST_TEXT, WIDE = 8, 400, 32


@prints(LocalSurrogate)
def print_slopes(console: Console, record: LocalSurrogate) -> None:
    """Print what moved the scores of the first rows."""
    kit.say(console, text.meaning_text(record))
    console.print()
    kit.print_rows(console, len(record), lambda row: _print_row(console, record, row))
    kit.print_receipt(console, record)


def _print_row(console: Console, record: LocalSurrogate, row: int) -> None:
    kit.say(console, text.title_text(record, row), style="bold")
    if not record.outputs:
        return
    output = record.outputs_by_score(row)[0]
    if record.words and record.texts:
        console.print(_marked(record, row, output))
    if record.picture is not None:
        values = sum_channels(record.values[row, :, output], record.picture)
        console.print(kit.shade_signed(values.reshape(record.picture[:2]), WIDE))
        console.print()
    elif record.features:
        parts = find_slopes(record, row, output, most=MOST_PARTS)
        console.print(kit.tabulate_parts(parts, _head(record, output)))
    kit.say(
        console,
        text.local_score_text(record, row, output),
        text.trust_text(record, row, output),
        text.answer_text(record, row),
        text.reading_text(record, row),
        text.noise_text(record, row, output),
    )
    count = len(record.outputs)
    if count > 1:
        console.print(f"Told: the highest of {count} scores; to_frame() has them all.")
    console.print()


def _head(record: LocalSurrogate, output: int) -> tuple[str, ...]:
    if record.units != PROBABILITY:
        return ("feature", "part", "lowers", "raises")
    name = record.outputs[output]
    return ("feature", "part", *kit.name_sides("against", name, "for", name))


def _marked(record: LocalSurrogate, row: int, output: int) -> Text:
    """The text, its words in orange or blue if they are beyond their noise."""
    whole, text = record.texts[row], Text()
    seen = cut_words(whole, MOST_TEXT)
    doubtful, values = record.doubtful[row, :, output], record.values[row, :, output]
    for one in split_text(seen, words_of(record)):
        style = ""
        if one.feature is not None and not doubtful[one.feature]:
            style = "bold dark_orange" if values[one.feature] > 0 else "bold blue"
        text.append(one.text, style=style)
    return text if seen == whole else text.append(" …")
