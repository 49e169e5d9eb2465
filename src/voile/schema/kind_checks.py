"""Whether what a schema says can be true of a table, by the types of its columns alone.

Types are public, values are not: these checks come before anything is paid, and look at no value.
"""

from __future__ import annotations

from collections.abc import Iterable

from voile.errors import DataError, SchemaError
from voile.schema.columns import Category, Column, Number
from voile.schema.dates import Date
from voile.schema.frames import FrameColumn, adopt_column
from voile.schema.kinds import Kind, is_declared_text, kind_of_values
from voile.schema.names import looks_like_identifier, rank_suggestive
from voile.schema.proposal import looks_like_code
from voile.schema.schema import Schema

_NO_DATES = {
    Kind.NUMBER: "numbers",
    Kind.BOOLEAN: "truth values",
    Kind.DURATION: "durations or times of day",
}


def check_kinds(columns: Iterable[FrameColumn], y: object, schema: Schema) -> None:
    """Refuse a schema whose dates, or whose target, cannot be what the table holds.

    Parameters
    ----------
    columns : iterable of FrameColumn
        Of the table.
    y : column, str or None
        Target values, or the name of their column.
    schema : Schema

    Raises
    ------
    SchemaError, DataError
        Before any value is looked at.
    """
    by_name = {column.name: column for column in columns}
    for name, column in schema.items():
        found = by_name.get(name)
        if isinstance(column, Date) and found is not None and found.kind in _NO_DATES:
            raise SchemaError(
                f"Column {name!r} is a Date in the schema and of {_NO_DATES[found.kind]} in the "
                f"table: convert it (pandas.to_datetime), or describe it as a Number."
            )
    if isinstance(y, str):
        found = by_name.get(y)
        if found is not None:
            _check_target(schema.target, found.kind, text=found.text)
    elif y is not None:
        values = adopt_column(y, "the target")
        _check_target(schema.target, kind_of_values(values), text=is_declared_text(values))


def refuse_meaningless_numbers(columns: Iterable[FrameColumn], y: object) -> None:
    """Refuse to learn from numbers whose column's name says that they are names, as an id's are.

    For tables that no schema describes: a schema says what a column is, whatever it is called.

    Parameters
    ----------
    columns : iterable of FrameColumn
    y : column or str
        What is predicted; a name if it is one of them.

    Raises
    ------
    SchemaError
    """
    target = y if isinstance(y, str) else None
    for column in columns:
        if column.kind is not Kind.NUMBER or column.name == target:
            continue
        code = looks_like_code(column.name)
        # Whose rows they are is asked when the table is protected.
        whose = rank_suggestive([column.name]) != ()
        if code or (looks_like_identifier(column.name) and not whose):
            what = "a code" if code else "an identifier"
            raise SchemaError(
                f"Column {column.name!r} looks like {what}, whose numbers mean nothing to a model: "
                f"leave it out, or say what it is in a schema: Category(), or Number() if they do."
            )


def _check_target(target: Column | None, kind: Kind, *, text: bool) -> None:
    """Refuse a target that is no number where one is to be predicted, or of another type."""
    levels = target.levels or () if isinstance(target, Category) else ()
    texts = [isinstance(level, str) for level in levels]
    if levels and ((kind is Kind.NUMBER and all(texts)) or (text and not any(texts))):
        has, given = ("text", "numbers") if text else ("numbers", "texts")
        raise DataError(
            f"The target is of {has}, and the classes that are listed are {given}, so that no row "
            f"has one of them: list the classes as they are in the table."
        )
    told = {Kind.BOOLEAN: "truth values", Kind.DATE: "dates", Kind.TIME: "dates"}
    what = "text" if text else told.get(kind)
    if isinstance(target, Number) and what is not None:
        raise DataError(
            f"The target is of {what}, and regression needs numbers: use EBMClassifier for "
            f"classes, or convert the target."
        )
