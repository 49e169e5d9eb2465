"""The form that explains any row of an additive model, computed in the reader's own browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.text import prediction_text, score_text
from voile.explain.wording import edge_texts
from voile.models.ebm.model import EBMModel, Term
from voile.report.kit.html import Templates, known
from voile.schema import Category, Number

MOST_ROWS = 200
"""Rows of the caller that the form offers."""

MOSTLY_MISSING = 0.5
"""Share of rows without a value above which a typical row has none."""

_html = Templates("ebm/chooser.html", score_text=score_text)


def draw_chooser(
    model: EBMModel,
    record: EBMExplanation,
    columns: Mapping[str, Any] | None,
    told: EBMLocalExplanation | None,
) -> Markup:
    """The form, what it answers, and the numbers behind it.

    Parameters
    ----------
    model : EBMModel
    record : EBMExplanation
    columns : mapping of str to ndarray, or None
        Encoded rows of the caller to choose from.
    told : EBMLocalExplanation or None
        The same rows, explained.
    """
    rows = [] if columns is None else _read_rows(model, columns)
    names = [] if told is None else [prediction_text(told, i) for i in range(len(rows))]
    return _html.form(
        record,
        fields=[_describe_field(term) for term in model.terms],
        rows=[f"Row {i}: {name}" for i, name in enumerate(names, 1)],
        data=_describe(model, record, rows),
    )


def _describe_field(term: Term) -> dict[str, Any]:
    if isinstance(term.column, Category):
        return {"name": term.name, "labels": term.labels}
    lower, upper = float(term.edges[0]), float(term.edges[-1])
    low, high = edge_texts([lower, upper])
    bounds = {"lower": lower, "upper": upper, "low_text": low, "high_text": high}
    return {"name": term.name, "labels": (), **bounds}


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


def _describe(
    model: EBMModel, record: EBMExplanation, rows: list[list[float | int | None]]
) -> dict[str, Any]:
    """Everything that the script computes with; numbers keep every bit."""
    target = model.schema.target
    bounds = (target.lower, target.upper) if isinstance(target, Number) else (None, None)
    return {
        "link": model.link,
        "outputs": list(record.outputs),
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


def _read_rows(model: EBMModel, columns: Mapping[str, Any]) -> list[list[float | int | None]]:
    encoded = [columns[term.name][:MOST_ROWS] for term in model.terms]
    return [
        [_read_value(term, value) for term, value in zip(model.terms, values, strict=True)]
        for values in zip(*encoded, strict=True)
    ]


def _read_value(term: Term, value: Any) -> float | int | None:
    if isinstance(term.column, Category):
        return min(int(value), term.bins - 1)
    return None if np.isnan(value) else float(value)
