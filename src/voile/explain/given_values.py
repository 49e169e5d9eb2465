"""Rows to explain as readable text: what was given, and how it was read where that differs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.explained_feature import ExplainedFeature
from voile.explain.row_texts import Row, RowTexts, TextMaker
from voile.models.ebm.model import MISSING, OTHER
from voile.models.ebm.pair_term import pair_name
from voile.models.features import Feature, Features
from voile.privacy.held_rows import hold_public
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Date, Number, Schema
from voile.schema.columns import Column
from voile.schema.dates import read_instant
from voile.schema.scale import Scale
from voile.schema.value_texts import value_text

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
    maker = _make_texts(schema, X, columns, ())
    given, read_as = maker.make(0, maker.rows)
    return tuple(given), tuple(read_as)


def hold_texts(
    schema: Schema,
    X: object,
    columns: Mapping[str, NDArray[Any]],
    pairs: Sequence[tuple[str, str]] = (),
) -> tuple[RowTexts, RowTexts]:
    """The same texts, made when they are read, with those of pairs after them: "52 & nurse".

    Parameters
    ----------
    schema, X, columns
        As for `tell_rows`.
    pairs : sequence of tuple of str
        Names of both columns of each pair.
    """
    maker = _make_texts(schema, X, columns, pairs)
    return RowTexts(maker, 0), RowTexts(maker, 1)


def _make_texts(
    schema: Schema,
    X: object,
    columns: Mapping[str, NDArray[Any]],
    pairs: Sequence[tuple[str, str]],
) -> TextMaker:
    """Both kinds of texts of any of the rows."""
    # What is not there was refused before, or is not used: it is missing.
    held = hold_public(X, schema)
    place = {name: i for i, name in enumerate(schema)}
    places = [(place[first], place[second]) for first, second in pairs]

    def make(start: int, stop: int) -> tuple[list[Row], list[Row]]:
        plain = held.read(start, stop)
        told = [
            _tell_column(column, plain[name], columns[name][start:stop])
            for name, column in schema.items()
        ]
        told += [_tell_pair(told[i], told[j]) for i, j in places]
        given, read_as = (
            list(zip(*([one[side] for one in column] for column in told), strict=True))
            for side in (0, 1)
        )
        return given, read_as

    return TextMaker(make, held.row_count, len(schema) + len(places))


def _tell_column(
    column: Column, values: NDArray[Any], codes: NDArray[Any]
) -> list[tuple[str, str]]:
    """Each value of a column as given, and how it was read if not so."""
    both = zip(values, codes, strict=True)
    if not isinstance(column, Category):
        return [_tell_number(value, float(code), column) for value, code in both]
    labels = (*map(str, column.levels or ()), OTHER, MISSING)
    never = UNREADABLE if column.missing else MISSING
    return [_tell_level(value, int(code), labels, never) for value, code in both]


def _tell_pair(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The same of both columns of a pair; as read if one of them was read otherwise."""
    return [
        (
            pair_name(given, other),
            pair_name(read or given, read_other or other) if read or read_other else "",
        )
        for (given, read), (other, read_other) in zip(first, second, strict=True)
    ]


def note_rows(schema: Schema, X: object, may_lack: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Of each row, the values that are not taken as they stand: "age = 140, read as 90"."""
    schema = schema.with_unit(None)
    columns = encode_public(X, schema, may_lack=tuple(may_lack))
    given, read_as = tell_rows(schema, X, columns)
    return [
        tuple(
            f"{name} = {value}, read as {read}"
            for name, value, read in zip(schema, values, reads, strict=True)
            if read and name not in may_lack
        )
        for values, reads in zip(given, read_as, strict=True)
    ]


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
            return value_text(float(filling[j]), features[j].scale, digits=4)
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
    scale: Scale
    if isinstance(described, Number):
        assert described.lower is not None
        assert described.upper is not None
        lower, upper, level = described.lower, described.upper, None
        scale = described.scale
    else:
        assert isinstance(described, Category)
        lower, upper, level = 0.0, 1.0, str((described.levels or ())[one.level])
        scale = "number"
    return ExplainedFeature(
        name=one.name, column=one.column, level=level, lower=lower, upper=upper, scale=scale
    )


def _tell_number(value: Any, code: float, column: Number) -> tuple[str, str]:
    """A value of a number as given, and how it was read if not so."""
    missing = bool(np.isnan(code))
    if value is None and not column.missing:
        return MISSING, value_text(code, column.scale)
    if value is None:
        return (MISSING, "") if missing else (value_text(code, column.scale), "")
    if isinstance(value, str):
        text = value
        try:
            value = float(value) if not isinstance(column, Date) else _instant(value)
        except ValueError:  # a date (read as seconds), or nothing that can be read
            if not column.missing:
                return text, value_text(code, column.scale)
            return text, MISSING if missing else ""
        if isinstance(column, Date):
            text = value_text(value, "time").removesuffix(" 00:00")
    else:
        date = isinstance(column, Date) and value == value
        text = value_text(value, "time" if date else "number").removesuffix(" 00:00")
    if missing:
        return (text, "") if value != value else (text, MISSING)
    return text, "" if value == code else value_text(code, column.scale)


def _instant(text: str) -> float:
    found = read_instant(text)
    if found is None:
        raise ValueError
    return found


def _tell_level(value: Any, code: int, labels: tuple[str, ...], unreadable: str) -> tuple[str, str]:
    """A value of a category as given, and how it was read if not so."""
    label = labels[min(code, len(labels) - 1)]
    if label == MISSING or code < len(labels) - 2:
        return label, ""
    text = unreadable if value is None else str(value)
    return text, OTHER
