"""Parquet and Arrow files: each is read by the types that it declares itself.

Where the files of a folder declare different types of a column, their common type follows from
the declarations alone. Arrow would convert all to the first file's types, and a value that cannot
be converted would be told in an error.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from voile.errors import DataError

ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
PARQUET_ENDINGS = (".parquet", ".pq")


class _DeclaredFile(Protocol):
    """One file: what it declares, and its rows."""

    @property
    def physical_schema(self) -> Any: ...

    def to_table(self, *, columns: list[str]) -> Any: ...


class _ArrowStream:
    """A file with an Arrow stream, which has no table of contents."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as reader:
            self.physical_schema = reader.schema

    def _open(self) -> Any:
        import pyarrow as pa

        return pa.ipc.open_stream(pa.memory_map(str(self._path)))

    def to_table(self, *, columns: list[str]) -> Any:
        with self._open() as reader:
            return reader.read_all().select(columns)


class ColumnFiles:
    """A Parquet file, a folder of them, or an Arrow file, of which only the declaration is read.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    names : list of list of str
        The names of the columns of each file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts = _open_parts(path)
        self.names = [list(part.physical_schema.names) for part in self._parts]

    @cached_property
    def types(self) -> dict[str, Any]:
        """The common Arrow type of each column, of names that occur once in a file."""
        declared: dict[str, list[Any]] = {}
        for part in self._parts:
            for field in part.physical_schema:
                declared.setdefault(field.name, []).append(field.type)
        common = {name: _common_type(types) for name, types in declared.items()}
        for name, kind in common.items():
            if kind is None:
                told = " and ".join(dict.fromkeys(map(str, declared[name])))
                raise DataError(
                    f"The files in {str(self._path)!r} declare different types of column {name!r} "
                    f"({told}): write them with one type."
                )
        return common

    def read(self, wanted: list[str]) -> Any:
        """The wanted columns of all files, in the order of the files' names, as an Arrow table."""
        import pyarrow as pa

        types = {name: self.types[name] for name in wanted}
        try:
            return pa.concat_tables([_read(part, types) for part in self._parts])
        except Exception as error:
            raise DataError(
                f"The file {str(self._path)!r} is damaged ({type(error).__name__}): write it again."
            ) from None


def _open_parts(path: Path) -> list[_DeclaredFile]:
    import pyarrow as pa
    import pyarrow.dataset

    arrow = path.name.lower().endswith(ARROW_ENDINGS)
    try:
        opened = pyarrow.dataset.dataset(path, format="ipc" if arrow else "parquet")
        parts: list[Any] = sorted(opened.get_fragments(), key=lambda one: one.path)
        for one in parts:
            # Read now: that of the first file is known, others may be none, or names no UTF-8.
            _ = one.physical_schema.names
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PermissionError):
            raise
        stream = _open_stream(path) if arrow else None
        if stream is None:
            raise DataError(
                f"The file {str(path)!r} is no {'Arrow' if arrow else 'Parquet'} file: was it "
                "copied completely?"
            ) from None
        return [stream]
    if not parts:
        raise DataError(f"The folder {str(path)!r} holds no Parquet files: check the path.")
    return parts


def _open_stream(path: Path) -> _ArrowStream | None:
    import pyarrow as pa

    try:
        stream = _ArrowStream(path)
        _ = stream.physical_schema.names
    except (pa.ArrowException, OSError, ValueError):
        return None
    return stream


def _read(part: _DeclaredFile, types: dict[str, Any]) -> Any:
    import pyarrow as pa

    there = set(part.physical_schema.names)
    table = part.to_table(columns=[name for name in types if name in there])
    rows = table.num_rows
    columns = [
        _as_type(table[name], kind) if name in there else pa.nulls(rows, kind)
        for name, kind in types.items()
    ]
    return pa.table(columns, schema=pa.schema(list(types.items())))


def _as_type(column: Any, kind: Any) -> Any:
    """A column as a type that its declaration allows; no value makes this fail."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = pa.chunked_array([_sound(chunk) for chunk in column.chunks], column.type)
    if pa.types.is_run_end_encoded(column.type):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.value_type)
    if column.type != kind:
        # Not safely, as Arrow calls it: a value that does not fit would be an error.
        column = pc.cast(column, kind, safe=False)
    if not _is_text(_value_type(kind)):
        return column
    return pa.chunked_array([_readable(chunk) for chunk in column.chunks], kind)


def _sound(chunk: Any) -> Any:
    """The same, if no length or position in it leads out of its memory (ArrowInvalid otherwise).

    Of a damaged Arrow file nobody has checked them, and whoever follows them brings the process
    down. Text is checked as bytes: whether it is UTF-8 decides nothing here.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = chunk.type
    bytes_of = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    bytes_of[pa.string_view()] = pa.binary_view()
    if pa.types.is_dictionary(kind):
        _sound(chunk.dictionary)
        _sound(chunk.indices)
        ends = pc.min_max(chunk.indices).as_py()
        if ends["min"] is not None and not 0 <= ends["min"] <= ends["max"] < len(chunk.dictionary):
            raise pa.ArrowInvalid("a position beyond the dictionary")
    elif kind in bytes_of:
        chunk.view(bytes_of[kind]).validate(full=True)
    elif pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        try:
            chunk.validate(full=True)
        except pa.ArrowInvalid:  # perhaps for text inside it, which must not be an error
            return pa.nulls(len(chunk), kind)
    else:
        chunk.validate(full=True)
    return chunk


def _readable(chunk: Any) -> Any:
    """Text of which bytes that are no UTF-8 are missing: nobody has checked them before."""
    import pyarrow as pa

    try:
        chunk.validate(full=True)
    except pa.ArrowInvalid:
        raw = chunk.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
        return pa.array(map(_decoded, raw), pa.large_string()).cast(chunk.type)
    return chunk


def _decoded(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


# -- types ----------------------------------------------------------------------------------------


def _common_type(declared: Iterable[Any]) -> Any:
    """A type for all that are declared, or None."""
    import pyarrow as pa

    kinds = {_plain(kind) for kind in declared}
    if len(kinds) > 1:
        # A column without a value is often declared as one of nothing at all.
        kinds = {kind for kind in kinds if not pa.types.is_null(kind)}
    if len(kinds) > 1:
        kinds = {_value_type(kind) for kind in kinds}
    if len(kinds) == 1:
        return kinds.pop()
    if all(map(pa.types.is_integer, kinds)):
        if all(map(pa.types.is_unsigned_integer, kinds)):
            return pa.uint64()
        return pa.float64() if pa.uint64() in kinds else pa.int64()
    if all(map(_is_number, kinds)):
        return pa.float64()
    if all(map(_is_text, kinds)):
        return pa.large_string()
    if all(map(_is_bytes, kinds)):
        return pa.large_binary()
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in kinds):
        return pa.timestamp("us", "UTC")  # without a time zone they are taken as UTC, everywhere
    return None


def _plain(kind: Any) -> Any:
    """The type itself, or one like it of which Arrow can take rows."""
    import pyarrow as pa

    if kind == pa.string_view():
        return pa.large_string()
    if kind == pa.binary_view():
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return _plain(kind.value_type)
    if pa.types.is_dictionary(kind) and _plain(kind.value_type) != kind.value_type:
        return _plain(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(_plain(one.type)) for one in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_plain(kind.value_type)))
    return kind


def _value_type(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
