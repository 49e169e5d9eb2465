"""The form that explains any row of an additive model, computed in the reader's own browser."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

import numpy as np

from voile.explain.global_explanation import GlobalExplanation
from voile.explain.local_explanation import LocalExplanation
from voile.explain.plain_text import prediction_text, score_text
from voile.explain.wording import edge_texts
from voile.models.ebm.model import AdditiveModel, Term
from voile.report.kit.embedded import known, place_data, place_script
from voile.report.kit.page import heading, paragraph
from voile.report.kit.theme import read_asset
from voile.schema import Category, Number

MOST_ROWS = 200
"""Rows of the caller that the form offers."""

MOSTLY_MISSING = 0.5
"""Share of rows without a value above which a typical row has none."""


def draw_chooser(
    model: AdditiveModel,
    explanation: GlobalExplanation,
    columns: Mapping[str, Any] | None,
    told: LocalExplanation | None,
) -> list[str]:
    """The form, what it answers, and the numbers behind it, as HTML.

    Parameters
    ----------
    model : AdditiveModel
    explanation : GlobalExplanation
    columns : mapping of str to ndarray, or None
        Encoded rows of the caller to choose from.
    told : LocalExplanation or None
        The same rows, explained.
    """
    several = len(explanation.outputs) > 1
    score = "score of a class" if several else f"score, the {score_text(explanation)},"
    lead = (
        f"Set any values, and see how the {score} comes about: it "
        f"starts at the base value, and every column raises it (orange, to the right) or lowers it "
        f"(blue, to the left). ± and thin lines are two standard errors of the privacy noise; the "
        f"noise of different columns is taken to be independent. All this is computed in this "
        f"page, from released numbers alone, and sent nowhere."
    )
    rows = [] if columns is None else _read_rows(model, columns)
    parts = [paragraph(lead)]
    parts.append(
        "<noscript><p>This form needs scripts, which are switched off in this browser.</p>"
        "</noscript>"
    )
    parts += ['<form id="row-form" autocomplete="off">', _place_tools(rows, told)]
    parts.append('<fieldset><legend>Values of the row</legend><div class="fields">')
    parts += [_place_field(term, i) for i, term in enumerate(model.terms)]
    parts.append("</div></fieldset>")
    parts.append('<p class="answer" id="answer" role="status" aria-live="polite"></p>')
    if several:
        parts.append('<ul class="key" id="chances" aria-label="Probabilities"></ul>')
    parts.append(heading("What each column added", level=3))
    if several:
        options = "".join(
            f'<option value="{k}">{html.escape(name)}</option>'
            for k, name in enumerate(explanation.outputs)
        )
        parts.append(
            f'<p class="tools"><label for="told">Score of</label> <select id="told">'
            f'<option value="best">the predicted class</option>{options}</select></p>'
        )
    parts += ['<ol class="steps" id="steps"></ol>', "</form>"]
    parts.append(place_data("model-data", _describe(model, explanation, rows)))
    parts.append(place_script(read_asset("additive.js")))
    return parts


def typical_bin(term: Term) -> int:
    """The bin of a typical row by the private counts: the median, or the most frequent level.

    Missing is typical only where more than half of the rows are. The counts have noise in them, so
    the fullest of many bins of a number may be any: the median moves little.
    """
    counts = np.maximum(term.counts, 0.0)
    missing = term.bins - 1
    present = counts[:missing]
    if counts[missing] > MOSTLY_MISSING * counts.sum():
        return missing
    if isinstance(term.column, Category):
        levels = present[: len(term.column.levels or ())]
        return int(np.argmax(levels if levels.any() else present))
    if not present.any():
        return len(present) // 2
    return int(np.searchsorted(np.cumsum(present), present.sum() / 2))


def _place_tools(rows: list[list[float | int | None]], told: LocalExplanation | None) -> str:
    chooser = ""
    if rows and told is not None:
        options = "".join(
            f'<option value="{i}">Row {i + 1}: {html.escape(prediction_text(told, i))}</option>'
            for i in range(len(rows))
        )
        chooser = (
            f'<label for="row-choice">Row</label> <select id="row-choice">'
            f'<option value="">own values</option>{options}</select> '
        )
    return f'<p class="tools">{chooser}<button type="button" id="typical">Typical row</button></p>'


def _place_field(term: Term, i: int) -> str:
    name, column = html.escape(term.name), term.column
    label = f'<label for="field-{i}">{name}</label>'
    if isinstance(column, Category):
        options = "".join(
            f'<option value="{code}">{html.escape(text)}</option>'
            for code, text in enumerate(term.labels)
        )
        return f'<div class="field">{label}<select id="field-{i}">{options}</select></div>'
    low, high = edge_texts([float(term.edges[0]), float(term.edges[-1])])
    return (
        f'<div class="field">{label}<div class="pair">'
        f'<input type="number" id="field-{i}" step="any" min="{float(term.edges[0])!r}" '
        f'max="{float(term.edges[-1])!r}" aria-describedby="bounds-{i}">'
        f'<label><input type="checkbox" id="missing-{i}" aria-label="missing: {name}"> missing'
        f'</label></div><p class="note" id="bounds-{i}">from {low} to {high}</p></div>'
    )


def _describe(
    model: AdditiveModel, explanation: GlobalExplanation, rows: list[list[float | int | None]]
) -> dict[str, Any]:
    """Everything that the script computes with; numbers keep every bit."""
    target = model.schema.target
    bounds = (target.lower, target.upper) if isinstance(target, Number) else (None, None)
    return {
        "link": model.link,
        "outputs": list(explanation.outputs),
        "classes": [str(one) for one in model.classes],
        "lower": bounds[0],
        "upper": bounds[1],
        "intercept": model.intercept.tolist(),
        "intercept_errors": [known(one) for one in model.intercept_errors],
        "terms": [_describe_term(term) for term in model.terms],
        "typical": [_typical_value(term) for term in model.terms],
        "rows": rows,
    }


def _describe_term(term: Term) -> dict[str, Any]:
    number = isinstance(term.column, Number)
    return {
        "name": term.name,
        "kind": "number" if number else "category",
        "lower": float(term.edges[0]) if number else None,
        "upper": float(term.edges[-1]) if number else None,
        "cuts": term.cuts.tolist(),
        "scores": term.scores.tolist(),
        "errors": [[known(one) for one in line] for line in term.standard_errors],
    }


def _typical_value(term: Term) -> float | int | None:
    place = typical_bin(term)
    if isinstance(term.column, Category):
        return place
    if place == term.bins - 1:
        return None
    low, high = float(term.edges[place]), float(term.edges[place + 1])
    counts = np.maximum(term.counts[:-1], 0.0)
    # Where in the bin the median is, if rows lie evenly in it: a bin may be as wide as a gap.
    before, inside = counts[:place].sum(), counts[place]
    part = min((counts.sum() / 2 - before) / inside, 0.99) if inside > 0 else 0.5
    middle = float(low * (1 - part) + high * part)
    # As few digits as stay close, within the bin: nobody is 37.4166667 years old.
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low <= value < high and abs(value - middle) <= (high - low) / 4:
            return value
    return low


def _read_rows(model: AdditiveModel, columns: Mapping[str, Any]) -> list[list[float | int | None]]:
    encoded = [columns[term.name][:MOST_ROWS] for term in model.terms]
    return [
        [_read_value(term, value) for term, value in zip(model.terms, values, strict=True)]
        for values in zip(*encoded, strict=True)
    ]


def _read_value(term: Term, value: Any) -> float | int | None:
    if isinstance(term.column, Category):
        return min(int(value), term.bins - 1)
    return None if np.isnan(value) else float(value)
