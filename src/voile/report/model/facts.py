"""What a model is, in plain words: kind, what it predicts, from what, and what it guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from voile.explain.ebm.text import cut_text
from voile.models.ebm.model import EBMModel
from voile.privacy.receipt import Receipt
from voile.report.kit.html import Templates
from voile.report.kit.text import short_names
from voile.schema import Category, Schema
from voile.schema.columns import Column
from voile.schema.unit import unit_of
from voile.schema.value_texts import edge_texts

MOST_NAMES, MOST_LEVELS = 30, 12
"""Columns and levels that are named in a line; the table beneath has all columns."""

MANY_ALIKE = 50
"""Columns that follow each other and are alike, from which on they share a line."""

FAMILIES = {
    "global": "an additive model (explainable boosting machine)",
    "linear maps": "a locally linear model",
    "prototypes": "a model of prototypes",
}
"""What each kind of explanation is of."""

html = Templates("model/report.html")
"""The parts of the report."""


def draw_facts(estimator: Any, kind: str, edits: str) -> Markup:
    """A short list of facts about a model, and the table of its columns.

    Parameters
    ----------
    estimator
        Fitted.
    kind : str
        Of the explanation of the whole model.
    edits : str
        How often people changed it after training, in words; empty if never.
    """
    schema: Schema = estimator.model_.schema
    receipt: Receipt = estimator.receipt_
    unit = unit_of(receipt.unit)
    count = f"{len(schema)} {'column' if len(schema) == 1 else 'columns'}"
    facts = [
        ("Kind", f"{FAMILIES[kind]}, {type(estimator).__name__}"),
        ("Predicts", _target_text(schema.target) + _aim_text(estimator.model_)),
        ("From", f"{count}: {_some(short_names(list(schema), 100), MOST_NAMES)}"),
        ("Edits", f"{edits}, by people; see below" if edits else "as it was trained"),
        ("Trained", _origin_text(receipt)),
        ("Who is protected", f"any one {receipt.unit if unit is None else unit.described}"),
        ("This model alone", receipt.guarantee),
    ]
    return html.facts(facts, list_columns(schema))


def list_columns(schema: Schema) -> list[list[str]]:
    """A line for each column; many that follow each other and are alike, as pixels, have one."""
    lines: list[list[str]] = []
    described = ((name, _column_texts(column)) for name, column in schema.items())
    for texts, alike in groupby(described, key=lambda pair: pair[1]):
        names = [name for name, _ in alike]
        if len(names) >= MANY_ALIKE:
            names = [f"{names[0]} to {names[-1]} ({len(names):,} columns)"]
        lines += [[name, *texts] for name in names]
    return lines


def _some(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _origin_text(receipt: Receipt) -> str:
    parts = [f"on data set '{receipt.dataset}'"]
    if receipt.at:
        parts.append(f"at {receipt.at}")
    if receipt.who:
        parts.append(f"by {receipt.who}")
    return ", ".join(parts)


def _target_text(target: Column | None) -> str:
    if target is None:
        return "nothing that the schema names"
    if not isinstance(target, Category):
        return f"a number, {_bounds_text(target)}"
    levels = [f"'{cut_text(str(one), 40)}'" for one in target.levels or ()]
    return f"one of {len(levels)} classes: {_some(levels, MOST_LEVELS)}"


def _aim_text(model: Any) -> str:
    """What is told of a number, where it is not its typical value."""
    if not isinstance(model, EBMModel) or model.objective == "squared":
        return ""
    if model.objective == "quantile":
        return f": its quantile {model.quantile:g}"
    return ": its mean" + (f" per unit of {model.exposure.name}" if model.exposure else "")


_KINDS = {"number": "number", "whole": "whole number", "day": "date", "time": "date and time"}


def _column_texts(column: Column) -> tuple[str, str]:
    if not isinstance(column, Category):
        return _KINDS[column.scale], _bounds_text(column)
    levels = [cut_text(str(one), 60) for one in column.levels or ()]
    return "ordered category" if column.ordered else "category", _some(levels, MOST_LEVELS)


def _bounds_text(column: Any) -> str:
    if column.lower is None:
        return "bounds not known"
    low, high = edge_texts([column.lower, column.upper], column.scale)
    return f"from {low} to {high}"
