"""The form that explains any row of an additive model, computed in the reader's own browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from voile.arrays import Floats
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.text import interval_text, prediction_text, score_text
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_term import PairTerm
from voile.report.kit.html import Templates, known
from voile.schema import Category, Date, Number
from voile.schema.scale import Scale, on_scale, step_of
from voile.schema.value_texts import edge_texts, value_text

MOST_ROWS = 200
"""Rows of the caller that the form offers."""

MOSTLY_MISSING = 0.5
"""Share of rows without a value above which a typical row has none."""

_html = Templates("ebm/chooser.html", score_text=score_text, interval_text=interval_text)


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
        paired=bool(model.pairs),
    )


def _describe_field(term: Term) -> dict[str, Any]:
    if isinstance(term.column, Category):
        return {"name": term.name, "labels": term.labels}
    ends, scale = (float(term.edges[0]), float(term.edges[-1])), term.column.scale
    limits: tuple[float | str, float | str] = ends
    low, high = edge_texts(ends, scale)
    field: dict[str, Any] = {"type": "number", "step": 1 if scale == "whole" else "any"}
    if isinstance(term.column, Date):
        # What the browser's own fields for dates and times are told.
        limits = _field_text(ends[0], scale), _field_text(ends[1], scale)
        field = {"type": "date" if scale == "day" else "datetime-local"}
        field["step"] = 1 if scale == "day" else "any"
    bounds = {"lower": limits[0], "upper": limits[1], "low_text": low, "high_text": high}
    return {"name": term.name, "labels": (), **field, **bounds}


def _field_text(value: float, scale: Scale) -> str:
    return value_text(value, scale).replace(" ", "T")


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
    """Everything that the script computes with.

    Borders keep every bit, for a value may lie on one; scores have nine digits and errors three, or
    the numbers of a wide model would be most of its page.
    """
    target = model.schema.target
    bounds = (target.lower, target.upper) if isinstance(target, Number) else (None, None)
    return {
        "link": model.link,
        "rates": model.exposure is not None,
        "outputs": list(record.outputs),
        "classes": [str(one) for one in model.classes],
        "lower": bounds[0],
        "upper": bounds[1],
        "intercept": model.intercept.tolist(),
        "intercept_errors": [known(one) for one in record.intercept_errors],
        "interval": "95 % interval" if record.whole else "noise alone",
        "terms": [_describe_term(term) for term in model.terms],
        "pairs": [_describe_pair(model, pair) for pair in model.pairs],
        "typical": [_typical_value(term) for term in model.terms],
        "rows": rows,
    }


def _describe_term(term: Term) -> dict[str, Any]:
    number = isinstance(term.column, Number)
    return {
        "name": term.name,
        "kind": "number" if number else "category",
        "scale": term.column.scale if isinstance(term.column, Number) else None,
        "lower": float(term.edges[0]) if number else None,
        "upper": float(term.edges[-1]) if number else None,
        "cuts": term.cuts.tolist(),
        **_describe_scores(term.scores, term.errors),
    }


def _describe_pair(model: EBMModel, pair: PairTerm) -> dict[str, Any]:
    """The cells of a pair one after another, row by row."""
    places = {term.name: i for i, term in enumerate(model.terms)}
    outputs = model.outputs
    return {
        "name": pair.name,
        "sides": [
            {"term": places[side.name], "cuts": side.cuts.tolist(), "groups": side.groups.tolist()}
            for side in (pair.first, pair.second)
        ],
        "width": pair.second.parts,
        **_describe_scores(pair.scores.reshape(-1, outputs), pair.errors.reshape(-1, outputs)),
    }


def _describe_scores(scores: Floats, errors: Floats) -> dict[str, Any]:
    return {
        "scores": [[float(f"{one:.9g}") for one in line] for line in scores],
        "errors": [[known(float(f"{one:.3g}")) for one in line] for line in errors],
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
    if step_of(term.column.scale) or isinstance(term.column, Date):
        return _typical_step(term.column, low, high, middle)
    # As few digits as stay close, within the bin: nobody is 37.4166667 years old.
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low <= value < high and abs(value - middle) <= (high - low) / 4:
            return value
    return low


def _typical_step(column: Number, low: float, high: float, middle: float) -> float:
    """The whole number, day or minute next to the middle of a bin, within it."""
    step = step_of(column.scale) or 60.0
    near = float(on_scale(np.array(middle), column.scale)) if step != 60.0 else middle // 60 * 60
    return next((one for one in (near, near + step) if low <= one < high), low)


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
