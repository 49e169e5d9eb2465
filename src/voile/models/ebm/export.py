"""The scores of a model as a table: as CSV, and as an Excel file a person can read.

Names of columns, levels and classes are other people's text, and a spreadsheet runs text that
begins with =, +, - or @ as a formula. In Excel files such text is marked as text. CSV has no such
mark, so there it gets an apostrophe in front, as does text that begins with an apostrophe: take one
leading apostrophe away to have the text back. Numbers are numbers in both: to the last bit in CSV,
to 16 digits in Excel.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from voile.errors import MissingExtra, ModelError
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.score_rows import (
    HEADER,
    PAIR_HEADER,
    PairRow,
    ScoreRow,
    outputs_of,
    pair_table,
    score_table,
)
from voile.models.history import tell_edits
from voile.models.json_files import replace_file
from voile.schema import Category

_SECOND = ("second bin", "second from", "second to", "second level")
"""Further columns of a CSV file with pairs."""

_FORMULA_STARTS = frozenset("=+-@＝＋－＠")
_MOST_SHEET_ROWS = 1_048_576
_LARGEST_EXACT = 2**53


# -- CSV ----------------------------------------------------------------------------------------


def write_csv(model: EBMModel, path: str | Path) -> Path:
    """Write all scores as CSV (UTF-8, one header line), and return the path.

    A line for each bin of a column, then for each cell of a pair, if the model has pairs: the usual
    columns are then about the pair's first side, and further ones about its second. What does not
    apply is empty. Text that a spreadsheet could run has an apostrophe in front.

    Raises
    ------
    ModelError
        If the file cannot be written.
    """

    def fill(place: Path) -> None:
        with place.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            for line in _csv_lines(model):
                writer.writerow([_harmless(one) if isinstance(one, str) else one for one in line])

    return replace_file(path, fill)


def _csv_lines(model: EBMModel) -> Iterator[tuple[object, ...]]:
    """The header and all scores; pairs have the same columns, and more for their second side."""
    more = _SECOND if model.pairs else ()
    yield (*HEADER, *more)
    for row in score_table(model):
        yield (*astuple(row), *(None for _ in more))
    for pair in pair_table(model):
        yield (
            *(pair.pair, pair.label, pair.lower, pair.upper, pair.levels, pair.output),
            *(pair.score, pair.standard_error, pair.count),
            *(pair.second_label, pair.second_lower, pair.second_upper, pair.second_levels),
        )


def _harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    risky = text[:1] in ("'", "\t", "\r", "\n") or text.lstrip()[:1] in _FORMULA_STARTS
    return f"'{text}" if text and risky else text


# -- Excel --------------------------------------------------------------------------------------


def write_excel(model: EBMModel, path: str | Path) -> Path:
    """Write an Excel file for a person to read, and return its path.

    The sheet "Scores" has one line per score of a column, "Pairs" one per score of a pair, if there
    are some; "How to read this" has the intercept, the formula, an
    example worked out, the changes that people made, and the receipt.

    Raises
    ------
    MissingExtra
        If openpyxl is not installed.
    ModelError
        If the file cannot be written, or a sheet cannot hold so many scores.
    """
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
    except ImportError as error:
        raise MissingExtra("openpyxl", "excel") from error

    sheets: list[tuple[str, tuple[str, ...], Sequence[ScoreRow | PairRow]]] = [
        ("Scores", HEADER, score_table(model))
    ]
    if model.pairs:
        sheets.append(("Pairs", PAIR_HEADER, pair_table(model)))
    for _, _, rows in sheets:
        if len(rows) >= _MOST_SHEET_ROWS:
            raise ModelError(
                f"The model has {len(rows)} scores, more than an Excel sheet has lines: use "
                "write_csv."
            )
    book = Workbook()
    book.remove(book.active)
    for title, header, rows in sheets:
        _fill_sheet(book.create_sheet(title), header, rows)

    guide = book.create_sheet("How to read this")
    guide.column_dimensions["A"].width = 34
    guide.column_dimensions["B"].width = 24
    for number, text_line in enumerate(_guide(model), 1):
        for position, value in enumerate(text_line.cells, 1):
            cell = guide.cell(number, position)
            _fill_cell(cell, value)
            if text_line.style == "title":
                cell.font = Font(bold=True, size=13)
            elif text_line.style == "code":
                cell.font = Font(name="Courier New")
    return replace_file(path, book.save)


def _fill_sheet(sheet: Any, header: tuple[str, ...], rows: Sequence[ScoreRow | PairRow]) -> None:
    """Write a table that can be filtered, under a header that stays in sight."""
    from openpyxl.styles import Font

    lines = [tuple(name.capitalize() for name in header), *map(astuple, rows)]
    for number, line in enumerate(lines, 1):
        for position, value in enumerate(line, 1):
            _fill_cell(sheet.cell(number, position), value)
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = sheet.dimensions
    for column in sheet.columns:
        longest = max(len(_shown(cell.value)) for cell in column)
        sheet.column_dimensions[column[0].column_letter].width = min(max(longest + 2, 9), 50)


def _fill_cell(cell: Any, value: object) -> None:
    """Write a value as what it is: text stays text, whatever it begins with."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)  # a sheet has no infinity
    if isinstance(value, int) and abs(value) > _LARGEST_EXACT:
        value = str(value)  # a sheet would round it
    if not isinstance(value, str):
        cell.value = value
        return
    cell.value = ILLEGAL_CHARACTERS_RE.sub(lambda found: f"\\x{ord(found[0]):02x}", value)
    # openpyxl guesses from the text: "=1+1" a formula, "#N/A" an error.
    cell.data_type = "s"
    # Otherwise it would become a formula as soon as somebody edits the cell.
    cell.quotePrefix = _harmless(value) != value


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _GuideLine:
    """A line of the sheet that explains the other."""

    cells: tuple[object, ...] = ()
    style: str = "text"


_MEANING = {
    "identity": (
        "prediction = intercept + the scores of all terms, kept inside the target's bounds",
        "Scores are in the target's own units.",
    ),
    "log": (
        "score = intercept + the scores of all terms; prediction = exp(score), kept inside the "
        "target's bounds (a rate per unit of exposure, if the model has one, is not)",
        "Scores multiply the prediction: +0.3 by 1.35, -0.3 by 0.74.",
    ),
    "logit": (
        "score = intercept + the scores of all terms; probability = 1 / (1 + exp(-score))",
        "Scores are log-odds: +0.7 about doubles the odds, -0.7 about halves them.",
    ),
    "softmax": (
        "score of a class = its intercept + its scores of all terms; probability = exp(its score) "
        "/ sum of exp(score) over all classes",
        "Only differences between the scores of two classes matter.",
    ),
}


def _guide(model: EBMModel) -> list[_GuideLine]:
    """What a reader needs to use the scores by hand."""
    formula, unit = _MEANING[model.link]
    outputs = outputs_of(model)
    lines = [
        _GuideLine(("How to read this model",), "title"),
        _GuideLine((formula.replace("all terms", "all terms and pairs"),))
        if model.pairs
        else _GuideLine((formula,)),
        _GuideLine((unit,)),
        _GuideLine(("Of each term, one score applies: that of the bin the value is in.",)),
        *_pair_lines(model),
        _GuideLine(("Intervals include their lower end, the last one also its upper end.",)),
        _GuideLine(
            ("A standard error says how far privacy noise and sampling may have moved a score.",)
        ),
        _GuideLine(("A private count estimates the rows of a bin.",)),
        _GuideLine(),
        _GuideLine(("Link", model.link)),
    ]
    for output, value, error in zip(outputs, model.intercept, model.intercept_errors, strict=True):
        name = "Intercept" if output is None else f"Intercept of {output}"
        lines.append(_GuideLine((name, float(value), f"standard error {error:.3g}")))
    lines += [_GuideLine(), *_worked_example(model, outputs), _GuideLine()]
    if model.history:
        lines.append(_GuideLine(("Changes made by people after training",), "title"))
        lines += [
            _GuideLine((edit.when, edit.who, f"{edit.term}: {words}", edit.why))
            for edit, words in tell_edits(model.history, model.edits)
        ]
        lines.append(_GuideLine())
    lines.append(_GuideLine(("Receipt: the privacy guarantee",), "title"))
    lines += [_GuideLine((line,), "code") for line in str(model.receipt).splitlines()]
    return lines


def _pair_lines(model: EBMModel) -> list[_GuideLine]:
    if not model.pairs:
        return []
    told = "Of each pair of columns (sheet Pairs), too: that of the cell both values are in."
    return [_GuideLine((told,))]


def _worked_example(model: EBMModel, outputs: Sequence[object]) -> list[_GuideLine]:
    """The prediction for a made-up row: the most frequent bin of every term.

    Pairs have other bins: theirs is the cell that the middles of those bins are in.
    """
    names = tuple("score" if output is None else f"score of {output}" for output in outputs)
    lines = [
        _GuideLine(("An example: a row in the most frequent bin of every term",), "title"),
        _GuideLine(("term", "bin", *names)),
        _GuideLine(("intercept", None, *map(float, model.intercept))),
    ]
    total = np.array(model.intercept)
    row: dict[str, Any] = {}
    for term in model.terms:
        bin_ = int(np.argmax(term.counts))
        total = total + term.scores[bin_]
        row[term.name] = np.array([_value_in(term, bin_)])
        lines.append(_GuideLine((term.name, term.labels[bin_], *map(float, term.scores[bin_]))))
    for pair in model.pairs:
        i, j = (int(found[0]) for found in pair.find_cells(*(row[name] for name in pair.columns)))
        total = total + pair.scores[i, j]
        label = f"{pair.first.labels[i]} & {pair.second.labels[j]}"
        lines.append(_GuideLine((pair.name, label, *map(float, pair.scores[i, j]))))
    lines.append(_GuideLine(("sum", None, *map(float, total))))
    response = model.respond(total[None, :])
    if isinstance(model.schema.target, Category):
        lines += [
            _GuideLine((f"probability of {name}", float(probability)))
            for name, probability in zip(model.classes, response[0], strict=True)
        ]
    else:
        lines.append(_GuideLine(("prediction", float(response[0]))))
    return lines


def _value_in(term: Term, bin_: int) -> float:
    """An encoded value in a bin: the middle of an interval, or a level's code."""
    if isinstance(term.column, Category):
        return float(bin_)
    return float("nan") if bin_ == term.bins - 1 else float(term.edges[bin_ : bin_ + 2].mean())
