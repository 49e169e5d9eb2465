"""One set of the catalogue, read from its file in ``sets/``: facts, schema, and how rows are kept.

A file is YAML, read by the strict reader of schemas. Beside the fields of `DataSetFacts`, of
`StoredSet` and of `Download` it can say ``same_experiment``, instead of a schema of its own. Among
the columns of a schema, an entry with ``names`` stands for a family of columns that are alike:
each name is a pattern, in which ``{a|b}`` is a or b, and ``{00..12}`` a number in that range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from voile.codec import decode
from voile.datasets.data_set import DataSetFacts
from voile.errors import DataError
from voile.schema import Schema
from voile.schema.files import Format, read_text
from voile.stored import Size, Stored
from voile.strict import Strict

_STRICT = Strict(DataError, "the file of a data set")
_OPTIONAL = Stored(optional=True)


@dataclass(frozen=True, slots=True)
class Download:
    """How a table of OpenML becomes the stored one.

    Attributes
    ----------
    openml : int or None
        Its number on OpenML; None for scikit-learn's own loader.
    numbers : str
        Arrow type of numbers. Whole-number levels are "int64", and everything else is "text".
    types : mapping of str to str
        Arrow types of columns, where they are others.
    extra : mapping of str to str
        Stored columns that are no features, and their types. Where OpenML lacks one it is kept
        without values, so that all copies have the same columns.
    in_names : mapping of str to str
        What stands in column names on OpenML, and what in the stored ones.
    numbered : str or None
        What precedes the number of a feature, from 1, where OpenML has numbers instead of names.
    renamed : mapping of str to str
        From a column's name on OpenML to the stored one.
    missing : str or None
        How missing texts are written.
    missing_in : mapping of str to str
        The same, for single columns.
    classes : mapping of str to str
        From a class on OpenML to the stored one.
    splits : mapping of str to mapping of str to int
        Published number of rows of each class, by which splits that OpenML joins are told apart.
    """

    openml: int | None = None
    numbers: str = "double"
    types: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    in_names: Mapping[str, str] = field(default_factory=dict)
    numbered: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None
    missing_in: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredSet:
    """A set of the catalogue: its facts, and how its rows are kept.

    Attributes
    ----------
    package : str or None
        What ships the rows, if they are not in a file.
    target : str or None
        The column to predict, of a table.
    carried : tuple of str
        Columns that are handed out beside the features: whose row it is, or the text itself.
    optional : tuple of str
        Columns that some published copies lack.
    same_experiment : str or None
        Another set of the same experiment, whose schema it has.
    download : Download or None
        How to fetch it, if it can be fetched.
    """

    facts: DataSetFacts
    package: str | None = None
    target: str | None = None
    carried: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    same_experiment: str | None = None
    download: Download | None = None

    @property
    def file(self) -> str | None:
        """Name of the file with its rows, or None if a package ships them."""
        if self.package is not None:
            return None
        return f"{self.facts.name}.{'parquet' if self.facts.image_shape is None else 'npz'}"


@dataclass(frozen=True)
class _DownloadFile:
    """A `Download` as its file has it: columns are listed by their type."""

    openml: Annotated[int | None, _OPTIONAL] = None
    numbers: Annotated[str, _OPTIONAL] = "double"
    types: Annotated[Mapping[str, tuple[str, ...]], _OPTIONAL] = field(default_factory=dict)
    extra: Annotated[Mapping[str, tuple[str, ...]], _OPTIONAL] = field(default_factory=dict)
    in_names: Annotated[Mapping[str, str], _OPTIONAL] = field(default_factory=dict)
    numbered: Annotated[str | None, _OPTIONAL] = None
    renamed: Annotated[Mapping[str, str], _OPTIONAL] = field(default_factory=dict)
    missing: Annotated[str | None, _OPTIONAL] = None
    missing_in: Annotated[Mapping[str, str], _OPTIONAL] = field(default_factory=dict)
    classes: Annotated[Mapping[str, str], _OPTIONAL] = field(default_factory=dict)
    splits: Annotated[Mapping[str, Mapping[str, int]], _OPTIONAL] = field(default_factory=dict)

    def build(self) -> Download:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("types", "extra"):
            listed = given[name].items()
            given[name] = {column: kind for kind, columns in listed for column in columns}
        return Download(**given)


@dataclass(frozen=True, kw_only=True)
class _SetFile:
    """What stands in the file of a set."""

    voile_data_set: Literal[1]
    title: str
    task: str
    rows: Size
    source: str
    bounds: str
    licence: str
    citation: str
    note: Annotated[str, _OPTIONAL] = ""
    splits: Annotated[tuple[str, ...], _OPTIONAL] = ()
    image_shape: Annotated[tuple[int, ...] | None, _OPTIONAL] = None
    package: Annotated[str | None, _OPTIONAL] = None
    target: Annotated[str | None, _OPTIONAL] = None
    carried: Annotated[tuple[str, ...], _OPTIONAL] = ()
    optional: Annotated[tuple[str, ...], _OPTIONAL] = ()
    same_experiment: Annotated[str | None, _OPTIONAL] = None
    schema: Annotated[_FamilySchema | None, _OPTIONAL] = None
    download: Annotated[_DownloadFile | None, _OPTIONAL] = None


class _FamilySchema:
    """A schema in whose file families of columns may stand; spelled out by its reader."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @classmethod
    def from_dict(cls, data: object) -> _FamilySchema:
        content: Any = data
        columns: dict[str, object] = {}
        for name, column in content["columns"].items():
            family = {key: value for key, value in column.items() if key != "names"}
            patterns = column.get("names", [])
            if not isinstance(patterns, list) or not all(type(one) is str for one in patterns):
                raise DataError(f"In a schema, the names of {name!r} must be a list of texts.")
            members = [one for pattern in patterns for one in spell_out(pattern)] or [name]
            for one in members:
                if columns.setdefault(one, family) is not family:
                    raise DataError(f"In a schema, column {one!r} must be described once.")
        return cls(Schema.from_dict({**content, "columns": columns}))


@cache
def read_set(name: str) -> StoredSet:
    """Read what is known of a set, not its rows.

    Raises
    ------
    DataError, SchemaError
        If its file says something that is not understood.
    """
    text = files("voile.datasets").joinpath("sets", f"{name}.yaml").read_text(encoding="utf-8")
    found = decode(_SetFile, read_text(text, Format.YAML), _STRICT)
    if found.same_experiment is not None:
        schema = read_set(found.same_experiment).facts.schema
    elif found.schema is not None:
        schema = found.schema.schema
    else:
        raise DataError(f"The file of the set {name!r} has neither schema nor same_experiment.")
    names = [one.name for one in fields(DataSetFacts) if one.name not in ("name", "schema")]
    told = {one: getattr(found, one) for one in names}
    return StoredSet(
        DataSetFacts(name, schema=schema, **told),
        found.package,
        found.target,
        found.carried,
        found.optional,
        found.same_experiment,
        None if found.download is None else found.download.build(),
    )


def spell_out(pattern: str) -> list[str]:
    """Return the names that a pattern stands for; what is farther right varies faster."""
    opening = pattern.find("{")
    if opening < 0:
        return [pattern]
    depth, start, parts = 0, opening + 1, []
    for place in range(opening, len(pattern)):
        sign = pattern[place]
        depth += (sign == "{") - (sign == "}")
        if depth == 0 or (depth == 1 and sign == "|"):
            parts.append(pattern[start:place])
            start = place + 1
        if depth == 0:
            break
    else:
        raise DataError(f"In the pattern {pattern!r}, a brace is not closed: close it.")
    if len(parts) == 1:
        first, _, last = parts[0].partition("..")
        if not (first.isdigit() and last.isdigit()):
            raise DataError(f"In the pattern {pattern!r}, write braces as {{a|b}} or {{1..9}}.")
        parts = [str(k).zfill(len(first)) for k in range(int(first), int(last) + 1)]
    middles = [middle for part in parts for middle in spell_out(part)]
    tails = spell_out(pattern[start:])
    return [pattern[:opening] + middle + tail for middle in middles for tail in tails]
