"""One set of the catalogue, read from its file in ``sets/``: facts, schema, and how rows are kept.

A file is YAML, read by the strict reader of schemas. Beside the fields of `DataSetFacts`, of
`StoredSet` and of `Download` it can say ``same_experiment``, instead of a schema of its own. Among
the columns of a schema, an entry with ``names`` stands for a family of columns that are alike:
each name is a pattern, in which ``{a|b}`` is a or b, and ``{00..12}`` a number in that range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from voile.datasets.data_set import DataSetFacts
from voile.errors import DataError
from voile.schema import Schema
from voile.schema.files import Format, read_text
from voile.strict import Strict

FORMAT_KEY = "voile_data_set"
_STRICT = Strict(DataError, "the file of a data set")
_TEXTS = ("title", "task", "source", "bounds", "licence", "citation")
_LISTS = ("splits", "carried", "optional")
_CHOICES = ("note", "image_shape", "package", "target", "schema", "same_experiment", "download")


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


_DOWNLOAD = {
    "openml": int,
    **dict.fromkeys(("numbers", "numbered", "missing"), str),
    **dict.fromkeys(("types", "extra", "in_names", "renamed", "missing_in"), dict),
    **dict.fromkeys(("classes", "splits"), dict),
}
"""What a file can say of a download, and in which form."""


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


@cache
def read_set(name: str) -> StoredSet:
    """Read what is known of a set, not its rows.

    Raises
    ------
    DataError, SchemaError
        If its file says something that is not understood.
    """
    text = files("voile.datasets").joinpath("sets", f"{name}.yaml").read_text(encoding="utf-8")
    data = _STRICT.fields(
        read_text(text, Format.YAML), (FORMAT_KEY, "rows", *_TEXTS), name, (*_LISTS, *_CHOICES)
    )
    _STRICT.whole(data[FORMAT_KEY], FORMAT_KEY, 1, 1)
    lists = {key: _STRICT.texts(data.get(key, []), key) for key in _LISTS}
    words = {key: _STRICT.text(data[key], key) for key in _TEXTS}
    choices = {
        key: None if key not in data else _STRICT.text(data[key], key)
        for key in ("note", "package", "target", "same_experiment")
    }
    shape = data.get("image_shape")
    same = choices["same_experiment"]
    facts = DataSetFacts(
        name,
        rows=_STRICT.whole(data["rows"], "rows", 1),
        schema=_schema(data.get("schema")) if same is None else read_set(same).facts.schema,
        note=choices["note"] or "",
        splits=lists["splits"],
        image_shape=None if shape is None else tuple(_STRICT.listed(shape, "image_shape")),
        **words,
    )
    return StoredSet(
        facts,
        choices["package"],
        choices["target"],
        lists["carried"],
        lists["optional"],
        same,
        _download(data["download"]) if "download" in data else None,
    )


def _schema(data: object) -> Schema:
    """Read a schema, with its families of columns spelled out."""
    content = _STRICT.fields(data, ("voile_schema", "columns", "target"), "schema", ("unit",))
    columns: dict[str, object] = {}
    for name, column in content["columns"].items():
        family = {key: value for key, value in column.items() if key != "names"}
        patterns = _STRICT.texts(column["names"], name) if "names" in column else ()
        members = [one for pattern in patterns for one in spell_out(pattern)] or [name]
        for one in members:
            if columns.setdefault(one, family) is not family:
                _STRICT.refuse(f"column {one!r}", "described once", family)
    return Schema.from_dict({**content, "columns": columns})


def _download(data: object) -> Download:
    """Read how to fetch a set; in the file, columns are listed by their type."""
    content: dict[str, Any] = dict(_STRICT.fields(data, (), "download", tuple(_DOWNLOAD)))
    for key, value in content.items():
        kind = _DOWNLOAD[key]
        if not isinstance(value, kind):
            _STRICT.refuse(key, f"a {kind.__name__}", value)
    for key in ("types", "extra"):
        listed = content.get(key, {}).items()
        content[key] = {one: kind for kind, columns in listed for one in columns}
    return Download(**content)


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
