"""The public description of a table: its columns, its target and, if public, its row count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from voile.errors import SchemaError
from voile.files import replace_file
from voile.schema.columns import Category, Column, Number
from voile.schema.dates import Date
from voile.schema.files import (
    Format,
    SchemaFacts,
    facts_from_dict,
    facts_to_dict,
    format_of,
    read_text,
    write_text,
)
from voile.schema.frames import FrameColumn, describe_frame
from voile.schema.kinds import Kind
from voile.schema.unit import ROW, Unit
from voile.strict import Strict, is_text, show

_MOST_ROWS = 2**53
"""Up to here whole numbers are exact as floats."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Schema(Mapping[str, Column]):
    """Everything that is publicly known about a table, as an immutable mapping of its columns.

    What a schema does not say is found privately, for a share of the budget. Nothing in it may be
    read off the private rows.

    Parameters
    ----------
    columns : mapping of str to Number, Date or Category
        The columns to use, in order. Columns of the data that are not listed are ignored.
    target : Number, Category or None
        The column to predict: its bounds, or its classes.
    rows : int or None
        The row count, >= 1, only if it is public.
    unit : Unit, "row" or None
        Who is protected: a person with several rows, ``Unit("patient_id", rows=4)``, or each row by
        itself because every row is another person's (``"row"``, which is ``Unit()``). None protects
        rows, too, and is refused where a column's name suggests people with several rows.

    Raises
    ------
    SchemaError
        If a name is not non-empty text, or a column is neither a Number nor a Category.

    Examples
    --------
    >>> schema = Schema({"age": Number(17, 90), "job": Category()}, target=Category([0, 1]))
    >>> schema["age"]
    Number(17, 90)
    >>> schema.missing_facts
    ("column 'job' has no categories",)
    """

    columns: Mapping[str, Column]
    _: KW_ONLY
    target: Column | None = None
    rows: int | None = None
    unit: Unit | None = None

    # Written out, because a unit may be given as a word.
    def __init__(
        self,
        columns: Mapping[str, Column],
        *,
        target: Column | None = None,
        rows: int | None = None,
        unit: Unit | Literal["row"] | None = None,
    ) -> None:
        is_row = isinstance(unit, str) and unit == ROW
        given = {"columns": columns, "target": target, "rows": rows}
        for name, value in {**given, "unit": Unit() if is_row else unit}.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise SchemaError(
                f"The columns of a Schema must be a mapping from names to Number or Category. Got "
                f"{type(self.columns).__name__} instead: give Schema({{'age': Number(0, 120)}})."
            )
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name or not is_text(name):
                raise SchemaError(
                    f"A column name must be non-empty text, without NUL and lone surrogates. Got "
                    f"{name!r} instead: rename the column."
                )
            _check_column(column, f"column {name!r}")
        if self.target is not None:
            _check_column(self.target, "the target")
            if isinstance(self.target, Date):
                raise SchemaError(
                    "A date cannot be the target: predict a number instead, such as the days until "
                    "then, as target=Number(0, 365)."
                )
        if self.rows is not None and not (type(self.rows) is int and 1 <= self.rows <= _MOST_ROWS):
            raise SchemaError(
                f"The 'rows' of a Schema must be a whole number from 1 to 2**53. Got "
                f"{show(self.rows)} instead: give the public row count, or leave it out."
            )
        if self.unit is not None and not isinstance(self.unit, Unit):
            raise SchemaError(
                f"The 'unit' of a Schema must be a Unit. Got {self.unit!r} instead: give "
                f"Unit('patient', rows=1), or 'row' if every row is another person's."
            )
        if self.unit is not None and self.unit.column in self.columns:
            raise SchemaError(
                f"Column {self.unit.column!r} is the privacy unit and cannot be a feature too: "
                f"leave it out of the columns."
            )
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    # -- a mapping ------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        # The order of columns is part of a schema: models number their features by it.
        return tuple(self.columns.items()), self.target, self.rows, self.unit

    def __repr__(self) -> str:
        parts = ["{" + ", ".join(f"{name!r}: {column!r}" for name, column in self.items()) + "}"]
        if self.target is not None:
            parts.append(f"target={self.target!r}")
        if self.rows is not None:
            parts.append(f"rows={self.rows}")
        if self.unit is not None:
            parts.append(f"unit={self.unit!r}")
        return f"Schema({', '.join(parts)})"

    # Read-only mapping views can be neither copied nor pickled, and schemas travel in estimators.
    def __getstate__(self) -> dict[str, Any]:
        return {
            "columns": dict(self.columns),
            "target": self.target,
            "rows": self.rows,
            "unit": self.unit,
        }

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(state["columns"])))
        object.__setattr__(self, "target", state["target"])
        object.__setattr__(self, "rows", state["rows"])
        object.__setattr__(self, "unit", state["unit"])

    # -- what is known --------------------------------------------------------------------------

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the numeric columns, in order."""
        return tuple(name for name, column in self.items() if isinstance(column, Number))

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the categorical columns, in order."""
        return tuple(name for name, column in self.items() if isinstance(column, Category))

    @property
    def known(self) -> bool:
        """Whether every bound and level is given (the row count may still be private)."""
        return not self.missing_facts

    @property
    def missing_facts(self) -> tuple[str, ...]:
        """What would have to be found privately, in words."""
        facts = [
            f"column {name!r} has no {'bounds' if isinstance(column, Number) else 'categories'}"
            for name, column in self.items()
            if not column.known
        ]
        if self.target is not None and not self.target.known:
            missing = "bounds" if isinstance(self.target, Number) else "classes"
            facts.append(f"the target has no {missing}")
        return tuple(facts)

    @property
    def privacy_unit(self) -> Unit:
        """Who is protected: each row by itself where nothing is said."""
        return Unit() if self.unit is None else self.unit

    # -- other schemas --------------------------------------------------------------------------

    def with_column(self, name: str, column: Column) -> Schema:
        """Return a schema with one column replaced, or added at the end."""
        return replace(self, columns={**self.columns, name: column})

    def with_target(self, target: Column | None) -> Schema:
        """Return a schema with another target."""
        return replace(self, target=target)

    def with_rows(self, rows: int | None) -> Schema:
        """Return a schema with another public row count."""
        return replace(self, rows=rows)

    def with_unit(self, unit: Unit | Literal["row"] | None) -> Schema:
        """Return a schema with another privacy unit, whose column is no feature any more."""
        own = unit.column if isinstance(unit, Unit) else None
        kept = {name: column for name, column in self.items() if name != own}
        return Schema(kept, target=self.target, rows=self.rows, unit=unit)

    def select(self, names: Iterable[str]) -> Schema:
        """Return a schema with the named columns only, in the order of `names`."""
        if isinstance(names, str):
            names = [names]
        chosen: dict[str, Column] = {}
        for name in names:
            if name not in self.columns:
                raise SchemaError(
                    f"The schema has no column {name!r}: select from "
                    f"{', '.join(map(repr, self.columns)) or 'nothing (it is empty)'}."
                )
            if name in chosen:
                raise SchemaError(f"Column {name!r} is selected twice: name it once.")
            chosen[name] = self.columns[name]
        return replace(self, columns=chosen)

    # -- from data: names and types, never values -----------------------------------------------

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        target: Column | None = None,
        unit: Unit | Literal["row"] | None = None,
    ) -> Schema:
        """Describe a table by its column names and types alone; no value is looked at.

        Numbers and durations become ``Number()`` without bounds, dates ``Date()`` and instants
        ``Date(time=True)``; text and everything else becomes ``Category()`` without levels; truth
        values become ``Category([False, True])``, and a polars Enum, whose levels its user
        declared, keeps them. The levels of any other categorical type come from the values, so they
        are not taken over.

        Parameters
        ----------
        frame : data frame, array, mapping, list of rows, path or dataset
            A pandas, polars or other eager data frame, a pyarrow Table or RecordBatch; a numpy
            array of shape (rows, columns) or (rows,), whose columns are named "x0", "x1", ...; a
            mapping from names to arrays of shape (rows,); a list of rows; the path of a Parquet
            file or folder, or a pyarrow dataset. Arrays of Python objects and lists have no types,
            so all of their columns become ``Category()``.
        target : Number, Category or None
            The column to predict, which is not part of `frame`.
        unit : Unit, "row" or None
            Who is protected; the column of a unit is no feature.

        Raises
        ------
        DataError
            If `frame` is not such a table, or a column name occurs twice.
        """
        return cls.from_columns(describe_frame(frame)).with_target(target).with_unit(unit)

    @classmethod
    def from_columns(cls, columns: Iterable[FrameColumn]) -> Schema:
        """The same from names and types that are known already."""
        return cls({column.name: _column_of(column) for column in columns})

    # -- files ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain dictionaries, lists, text and numbers."""
        return facts_to_dict(SchemaFacts(self.columns, self.target, self.rows, self.unit))

    @classmethod
    def from_dict(cls, data: object) -> Schema:
        """Read a schema from the form `to_dict` gives; refuse anything else (SchemaError)."""
        facts = facts_from_dict(data)
        return cls(facts.columns, target=facts.target, rows=facts.rows, unit=facts.unit)

    def to_json(self) -> str:
        """Return the schema as JSON."""
        return write_text(self.to_dict(), Format.JSON)

    @classmethod
    def from_json(cls, text: str) -> Schema:
        """Read a schema from JSON, strictly (SchemaError)."""
        return cls.from_dict(read_text(text, Format.JSON))

    def to_yaml(self) -> str:
        """Return the schema as YAML."""
        return write_text(self.to_dict(), Format.YAML)

    @classmethod
    def from_yaml(cls, text: str) -> Schema:
        """Read a schema from YAML, strictly and by the safe loader (SchemaError)."""
        return cls.from_dict(read_text(text, Format.YAML))

    def save(self, path: str | Path) -> None:
        """Write the schema to a .json, .yaml or .yml file."""
        text = write_text(self.to_dict(), format_of(Path(path)))
        try:
            replace_file(path, lambda place: place.write_bytes(text.encode()))
        except ValueError as error:
            raise SchemaError(f"No file can be called {str(path)!r}: rename it.") from error

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a .json, .yaml or .yml file (SchemaError)."""
        path = Path(path)
        text_format = format_of(path)
        text = Strict(SchemaError, "a schema").load_text(path)
        return cls.from_dict(read_text(text, text_format))


def _check_column(column: object, where: str) -> None:
    """Refuse what is neither a Number nor a Category."""
    if not isinstance(column, (Number, Category)):
        remedy = " (an instance: add parentheses)" if isinstance(column, type) else ""
        raise SchemaError(
            f"In a Schema, {where} must be a Number or a Category{remedy}. Got {column!r} instead."
        )


def _column_of(column: FrameColumn) -> Column:
    """Translate the type of a frame's column into what is publicly known of it."""
    match column.kind:
        case Kind.NUMBER | Kind.DURATION:
            return Number()
        case Kind.DATE | Kind.TIME:
            return Date(time=column.kind is Kind.TIME)
        case Kind.BOOLEAN:
            return Category([False, True])
        case Kind.OTHER:
            return Category(column.levels)
