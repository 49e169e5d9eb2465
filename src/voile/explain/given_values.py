"""Rows to explain as readable text: what was given, and how it was read where that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.explained_feature import ExplainedFeature
from voile.explain.wording import short
from voile.models.ebm.model import MISSING, OTHER
from voile.models.features import Feature, Features
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number, Schema

UNREADABLE = "(unreadable)"
"""Stands for a given value that is neither a number, text, time nor missing."""

Texts = tuple[tuple[str, ...], ...]


def tell_rows(
    schema: Schema, X: object, columns: Mapping[str, NDArray[Any]]
) -> tuple[Texts, Texts]:
    """Rows as given, and how values were read where that differs, each (rows, columns).

    Parameters
    ----------
    schema : Schema
        Complete; the texts follow the order of its columns.
    X : data frame, array, mapping or list of rows
        The rows as the caller gave them.
    columns : mapping of str to ndarray of shape (rows,)
        The same rows as `voile.privacy.public_rows.encode_public` gave them.
    """
    # Without levels, the encoding leaves values as they are: numbers, text and times.
    # What is not there was refused before, or is not used: it is missing.
    plain = encode_public(X, Schema(dict.fromkeys(schema, Category())), may_lack=tuple(schema))
    told = []
    for name, column in schema.items():
        pairs = zip(plain[name], columns[name], strict=True)
        if isinstance(column, Category):
            labels = (*map(str, column.levels or ()), OTHER, MISSING)
            never = UNREADABLE if column.missing else MISSING
            told.append([_tell_level(value, int(code), labels, never) for value, code in pairs])
        else:
            told.append([_tell_number(value, float(code), column) for value, code in pairs])
    given = tuple(tuple(one[0] for one in row) for row in zip(*told, strict=True))
    read_as = tuple(tuple(one[1] for one in row) for row in zip(*told, strict=True))
    return given, read_as


def tell_features(
    schema: Schema,
    features: Sequence[ExplainedFeature],
    X: object,
    columns: Mapping[str, NDArray[Any]],
    filling: NDArray[np.float64],
) -> tuple[Texts, Texts]:
    """The same for models of features, which read a missing number as another one.

    Columns without features (a category without levels) are left out.

    Parameters
    ----------
    schema : Schema
    features : sequence of ExplainedFeature
    X, columns
        As for `tell_rows`.
    filling : ndarray of shape (features,)
        What a missing number is read as, in the columns' own units.
    """
    # Who is protected matters in training alone: rows to explain need not say whose they are.
    schema = schema.with_unit(None)
    given, read_as = tell_rows(schema, X, columns)
    first: dict[str, int] = {}
    for j, one in enumerate(features):
        first.setdefault(one.column, j)
    kept = [i for i, name in enumerate(schema) if name in first]

    def read(row: int, place: int, name: str) -> str:
        j = first[name]
        if features[j].level is None and np.isnan(columns[name][row]):
            return short(float(filling[j]), digits=4, grouped=False)
        return read_as[row][place]

    return (
        tuple(tuple(texts[i] for i in kept) for texts in given),
        tuple(
            tuple(read(row, i, name) for i, name in zip(kept, first, strict=True))
            for row in range(len(given))
        ),
    )


def explain_features(features: Features) -> tuple[ExplainedFeature, ...]:
    """Name the features of a model as explanations show them."""
    return tuple(map(_explain_feature, features.each))


def _explain_feature(one: Feature) -> ExplainedFeature:
    described = one.described
    if isinstance(described, Number):
        assert described.lower is not None
        assert described.upper is not None
        lower, upper, level = described.lower, described.upper, None
    else:
        assert isinstance(described, Category)
        lower, upper, level = 0.0, 1.0, str((described.levels or ())[one.level])
    return ExplainedFeature(name=one.name, column=one.column, level=level, lower=lower, upper=upper)


def _tell_number(value: Any, code: float, column: Number) -> tuple[str, str]:
    """A value of a number as given, and how it was read if not so."""
    missing = bool(np.isnan(code))
    if value is None and not column.missing:
        return MISSING, short(code, digits=10, grouped=False)
    if value is None:
        return (MISSING, "") if missing else (short(code, digits=10, grouped=False), "")
    if isinstance(value, str):
        text = value
        try:
            value = float(value)
        except ValueError:  # a date (read as seconds), or nothing that can be read
            if not column.missing:
                return text, short(code, digits=10, grouped=False)
            return text, MISSING if missing else ""
    else:
        text = short(value, digits=10, grouped=False)
    if missing:
        return (text, "") if value != value else (text, MISSING)
    return text, "" if value == code else short(code, digits=10, grouped=False)


def _tell_level(value: Any, code: int, labels: tuple[str, ...], unreadable: str) -> tuple[str, str]:
    """A value of a category as given, and how it was read if not so."""
    label = labels[min(code, len(labels) - 1)]
    if label == MISSING or code < len(labels) - 2:
        return label, ""
    text = unreadable if value is None else str(value)
    return text, OTHER
