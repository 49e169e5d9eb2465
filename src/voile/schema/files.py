"""Schemas as dictionaries, JSON and YAML: a strict reader and a faithful writer.

The format, here in YAML::

    voile_schema: 1
    columns:
      age: {kind: number, lower: 17, upper: 90}
      visits: {kind: number, lower: 0, upper: 50, whole: true, missing: false}
      income: {kind: number}                       # bounds to be found privately
      admitted: {kind: date, lower: "2019-01-01", upper: "2024-12-31"}
      job: {kind: category, levels: [clerk, nurse]}
      pain: {kind: category, levels: [none, mild, severe], ordered: true}
    target: {kind: category, levels: [false, true]}
    rows: 48842                                    # only if the row count is public
    unit: {column: patient, rows: 2}               # who is protected: a patient with all rows;
                                                   # {rows: 5}: a person, who has 5 rows at most;
                                                   # row: each row, every one another person's

Whatever the reader does not know, it refuses: a misspelt key must not turn a given bound into one
that is paid for. How YAML is read and written is in `yaml_text.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from voile.errors import SchemaError
from voile.schema.columns import Category, Column, Number
from voile.schema.dates import Date
from voile.schema.unit import ROW, Unit
from voile.schema.yaml_text import read_yaml, write_yaml
from voile.strict import Strict

FORMAT_KEY = "voile_schema"
FORMAT_VERSION = 1


class Format(StrEnum):
    """How a schema is written as text."""

    JSON = "json"
    YAML = "yaml"


_STRICT = Strict(SchemaError, "the schema")
_SUFFIXES = {".json": Format.JSON, ".yaml": Format.YAML, ".yml": Format.YAML}


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """What a schema file says, before it becomes a Schema."""

    columns: Mapping[str, Column]
    target: Column | None
    rows: int | None
    unit: Unit | None = None


def facts_to_dict(facts: SchemaFacts) -> dict[str, Any]:
    """Write facts as plain dictionaries, lists, text and numbers."""
    data: dict[str, Any] = {
        FORMAT_KEY: FORMAT_VERSION,
        "columns": {name: _column_to_dict(column) for name, column in facts.columns.items()},
    }
    if facts.target is not None:
        data["target"] = _column_to_dict(facts.target)
    if facts.rows is not None:
        data["rows"] = facts.rows
    if facts.unit is not None:
        data["unit"] = _unit_to_dict(facts.unit)
    return data


def facts_from_dict(data: object) -> SchemaFacts:
    """Read facts back, refusing everything that `facts_to_dict` would not write.

    Raises
    ------
    SchemaError
        Naming the place, if a key is unknown or missing, or a value has the wrong type.
    """
    content = _mapping(data, "the schema")
    _refuse_unknown(content, (FORMAT_KEY, "columns", "target", "rows", "unit"), "the schema")
    version = content.get(FORMAT_KEY)
    if type(version) is not int or version != FORMAT_VERSION:
        raise SchemaError(
            f"The schema's '{FORMAT_KEY}' must be {FORMAT_VERSION}, the format this version of "
            f"Voile reads. Got {version!r} instead: write '{FORMAT_KEY}: {FORMAT_VERSION}' first, "
            f"or upgrade Voile."
        )
    if "columns" not in content:
        raise SchemaError("The schema has no 'columns': list them, as name: {kind: ...}.")
    columns = {
        name: _column_from_dict(column, f"column {name!r}")
        for name, column in _mapping(content["columns"], "'columns'").items()
    }
    target = content.get("target")
    rows = content.get("rows")
    if rows is not None and type(rows) is not int:
        raise SchemaError(
            f"The schema's 'rows' must be a whole number. Got {rows!r} instead: give the public "
            f"row count, or leave it out."
        )
    return SchemaFacts(
        columns=columns,
        target=None if target is None else _column_from_dict(target, "the target"),
        rows=rows,
        unit=_unit_from_dict(content.get("unit")),
    )


def _unit_to_dict(unit: Unit) -> object:
    """Write who is protected; a unit that nothing is said of is each row."""
    if unit.column is None:
        return ROW if unit.rows == 1 else {"rows": unit.rows}
    return {"column": unit.column, "rows": unit.rows}


def _unit_from_dict(data: object) -> Unit | None:
    if data is None:
        return None
    if data == ROW:
        return Unit()
    if isinstance(data, str):
        raise SchemaError(
            f"The unit is {data!r}: write 'unit: {{column: {data}, rows: ...}}', or 'unit: row' if "
            "every row is another person's."
        )
    content = _mapping(data, "the unit")
    _refuse_unknown(content, ("column", "rows"), "the unit")
    if not content or content.get("column", ROW) is None:
        raise SchemaError("The unit says nothing: name its 'column', or write 'unit: row'.")
    return Unit(content.get("column"), content.get("rows", 1))


def format_of(path: Path) -> Format:
    """Tell the format from a file name's ending."""
    try:
        return _SUFFIXES[path.suffix.lower()]
    except KeyError:
        raise SchemaError(
            f"The schema file {str(path)!r} must end in .json, .yaml or .yml: rename it."
        ) from None


def write_text(data: Mapping[str, Any], text_format: Format) -> str:
    """Write a dictionary as JSON or YAML, ending in a line break."""
    if text_format is Format.JSON:
        return json.dumps(data, indent=2, allow_nan=False) + "\n"
    return write_yaml(data)


def read_text(text: str, text_format: Format) -> object:
    """Read JSON or YAML strictly: no repeated keys, no NaN, no aliases.

    Raises
    ------
    SchemaError
        If the text is not valid in its format.
    """
    return _STRICT.parse(text) if text_format is Format.JSON else read_yaml(text)


def _column_to_dict(column: Column) -> dict[str, Any]:
    """Write one column."""
    data: dict[str, Any]
    if isinstance(column, Date):
        data = {"kind": "date"}
        if column.bound_texts is not None:
            data["lower"], data["upper"] = column.bound_texts
        if column.time:
            data["time"] = True
    elif isinstance(column, Number):
        data = {"kind": "number"}
        if column.lower is not None:
            data |= {"lower": column.lower, "upper": column.upper}
        if column.whole:
            data["whole"] = True
    else:
        data = {"kind": "category"}
        if column.levels is not None:
            data["levels"] = list(column.levels)
        if column.ordered:
            data["ordered"] = True
    # What is usual is left out, and such files are read by versions that knew nothing else.
    return data if column.missing else {**data, "missing": False}


def _column_from_dict(data: object, where: str) -> Column:
    """Read one column, naming its place in errors."""
    content = _mapping(data, where)
    kind = content.get("kind")
    if kind == "number":
        _refuse_unknown(content, ("kind", "lower", "upper", "whole", "missing"), where)
        build = _read_number
    elif kind == "date":
        _refuse_unknown(content, ("kind", "lower", "upper", "time", "missing"), where)
        build = _read_date
    elif kind == "category":
        _refuse_unknown(content, ("kind", "levels", "missing", "ordered"), where)
        build = _read_category
    else:
        raise SchemaError(
            f"In {where}, 'kind' must be 'number', 'date' or 'category'. Got {kind!r} instead."
        )
    try:
        return build(content)
    except SchemaError as error:
        raise SchemaError(f"In {where}: {error}") from error


def _read_number(content: Mapping[str, Any]) -> Column:
    """Read a Number; an absent bound and `null` mean the same."""
    whole, missing = content.get("whole", False), content.get("missing", True)
    return Number(content.get("lower"), content.get("upper"), whole=whole, missing=missing)


def _read_date(content: Mapping[str, Any]) -> Column:
    """Read a Date; YAML reads a date without quotes as one."""
    lower, upper = content.get("lower"), content.get("upper")
    for bound in (lower, upper):
        if not (bound is None or isinstance(bound, (str, date))):
            raise SchemaError(
                f"A bound of a Date must be a date such as '2019-01-31'. Got {bound!r} instead."
            )
    time, missing = content.get("time", False), content.get("missing", True)
    return Date(lower, upper, time=time, missing=missing)


def _read_category(content: Mapping[str, Any]) -> Column:
    """Read a Category; absent levels and `null` mean the same."""
    levels = content.get("levels")
    if levels is not None and not isinstance(levels, list):
        raise SchemaError(
            f"The levels of a Category must be a list, as [a, b]. Got {_told(levels)} instead."
        )
    missing, ordered = content.get("missing", True), content.get("ordered", False)
    return Category(levels, missing=missing, ordered=ordered)


def _mapping(data: object, where: str) -> Mapping[str, Any]:
    """Return a mapping from text, or say that the place holds something else."""
    if not isinstance(data, Mapping):
        raise SchemaError(
            f"In a schema, {where} must be a mapping (key: value). Got {_told(data)} instead."
        )
    for key in data:
        if not isinstance(key, str):
            raise SchemaError(
                f"In a schema, the keys of {where} must be text. Got {key!r} instead: put it in "
                f"quotes."
            )
    return data


def _told(data: object) -> str:
    """What stands somewhere, in words of the file."""
    if data is None:
        return "nothing"
    if isinstance(data, str):
        return "text"
    if isinstance(data, bool):
        return "a truth value"
    if isinstance(data, (int, float)):
        return "a number"
    if isinstance(data, (list, Mapping)):
        return "a list" if isinstance(data, list) else "a mapping"
    return "a date" if isinstance(data, date) else type(data).__name__


def _refuse_unknown(content: Iterable[str], allowed: tuple[str, ...], where: str) -> None:
    """Refuse keys outside the format."""
    for key in content:
        if key not in allowed:
            raise SchemaError(
                f"In a schema, {where} has the unknown key {key!r}: it can have "
                f"{', '.join(map(repr, allowed))}."
            )
