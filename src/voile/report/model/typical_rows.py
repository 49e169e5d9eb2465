"""Rows that nobody brought: made of a model's released values, for reports without rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.explained_feature import ExplainedFeature
from voile.explain.filter_bank import FilterBank
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.prototype_text import prototype_name
from voile.schema import Category, Schema
from voile.schema.columns import Column

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TypicalRows:
    """Rows to explain, and what each is.

    Attributes
    ----------
    table : mapping of str to list, or ndarray of shape (rows, ...)
        Columns by name, or pictures.
    names : tuple of str
    """

    table: Mapping[str, list[Any]] | NDArray[Any]
    names: tuple[str, ...]


def typical_of_prototypes(
    explanation: PrototypeExplanation, schema: Schema, most: int
) -> TypicalRows:
    """Every prototype as a row: of a category the level with the greatest share."""
    count = min(len(explanation.labels), most)
    table: dict[str, list[Any]] = {}
    for name, column in schema.items():
        places = [j for j, one in enumerate(explanation.features) if one.column == name]
        values = explanation.values[:count, places]
        table[name] = _read(column, [explanation.features[j] for j in places], values)
    names = tuple(
        f"the typical {prototype_name(explanation.labels, explanation.outputs, p)}"
        for p in range(count)
    )
    return TypicalRows(table, names)


def typical_of_filters(bank: FilterBank, schema: Schema, most: int) -> TypicalRows:
    """Pictures of what each class looks for; of other columns, the middle of the schema."""
    if bank.image_shape is not None and bank.likeness is not None:
        lower = np.array([one.lower for one in bank.features])
        upper = np.array([one.upper for one in bank.features])
        pictures = lower + bank.likeness[:most] * (upper - lower)
        names = tuple(f"what '{name}' looks for" for name in bank.outputs[:most])
        return TypicalRows(pictures.reshape(len(pictures), *bank.image_shape), names)
    middle = {name: [_middle(column)] for name, column in schema.items()}
    return TypicalRows(middle, ("the middle of every number, and first levels",))


def _read(column: Column, features: Sequence[ExplainedFeature], values: Floats) -> list[Any]:
    if not isinstance(column, Category):
        lower, upper = features[0].lower, features[0].upper
        return [_rounded(float(value), lower, upper) for value in values[:, 0]]
    levels = column.levels or ()
    if not features or not levels:
        return [None] * len(values)
    return [levels[int(np.argmax(row))] for row in values]


def _rounded(value: float, lower: float, upper: float) -> float:
    """As many digits as people write, within the bounds."""
    return min(max(float(f"{value:.4g}"), lower), upper)


def _middle(column: Column) -> Any:
    if isinstance(column, Category):
        return (column.levels or (None,))[0]
    if column.lower is None or column.upper is None:
        return None
    return column.lower / 2 + column.upper / 2
