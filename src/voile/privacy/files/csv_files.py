"""CSV files: their line of names, their first rows, and their columns as texts.

The names are read by themselves. Rows are taken apart by one parser, for guesses and for the table,
and a row that cannot be is left out: nothing in a row decides whether there is an error.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.errors import DataError
from voile.privacy.files.encodings import UNREADABLE, Encoding, Utf8Stream, find_encoding
from voile.progress import PATIENCE, progress_bar

GUESSED_FROM = 1_000
"""Rows from which kinds and spellings are guessed."""
FIRST_BYTES, MOST_BYTES = 2**18, 2**26
"""How much is read for the names or for the guess, at first and at most.

A quote that is never closed would otherwise take the whole file into memory."""

_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = re.compile(rb"[\r\n]*sep=([,;\t|])(\r\n|\r|\n)", re.IGNORECASE)
"""What Excel writes, and hides, before the names."""
_LINE = re.compile(rb"[^\r\n]*(\r\n|\r|\n)?")
_QUOTED = re.compile(rb'"[^"]*("|$)')
_BLOCK_BYTES, _LARGEST_BLOCK = 2**22, 2**30


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line of a CSV file says.

    Attributes
    ----------
    names : tuple of str
    separator : str
    size : int
        Bytes before the first row, in UTF-8.
    lines : int
        Lines before the first row.
    encoding : Encoding
    """

    names: tuple[str, ...]
    separator: str
    size: int
    lines: int
    encoding: Encoding


class _Unparsed(DataError):
    """The parser gave up, on a row that is longer than a block or for another reason."""


class _Incomplete(Exception):
    """The names go on beyond what was read."""


def read_heading(path: Path, encoding: str | None = None, *, own: bool = False) -> Heading:
    """The names, the separator and the encoding of a file.

    Parameters
    ----------
    path : Path
    encoding : str or None
        What a person says; otherwise it is guessed from the beginning of the file.
    own : bool
        Whether the rows are the asker's own, so that any of them may decide the encoding.
    """
    with _unpacking(path), _open_raw(path) as stream:
        raw = stream.read(MOST_BYTES if own else FIRST_BYTES)
    whole = raw[: max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1]
    written = find_encoding(whole or raw, encoding, own=own)
    with _unpacking(path), _open(path, written) as stream:
        raw, size = b"", FIRST_BYTES
        while True:
            raw += stream.read(size - len(raw))
            try:
                heading = _heading(raw, path, written, ended=len(raw) < size)
                break
            except _Incomplete:
                if size >= MOST_BYTES:
                    raise DataError(
                        f"The first line of {str(path)!r} does not end within {MOST_BYTES >> 20} "
                        "MiB: give a table with a line of names."
                    ) from None
                size = min(4 * size, MOST_BYTES)
    for place, name in enumerate(heading.names, 1):
        if not name.strip():
            raise DataError(
                f"Column {place} of {str(path)!r} has no name: the first line must name the "
                "columns."
            )
    return heading


def read_first_rows(path: Path, heading: Heading) -> Any:
    """The first rows, all columns as texts, in an Arrow table.

    Raises
    ------
    DataError
        If most of them have another number of fields than the names.
    """
    import pyarrow as pa

    size, wanted = FIRST_BYTES, list(heading.names)
    with _unpacking(path), _open(path, heading.encoding, heading.size) as stream:
        raw = b""
        while True:
            raw += stream.read(size - len(raw))
            ended = len(raw) < size
            whole = raw[: codecs.utf_8_decode(raw)[1]]  # not a part of a letter
            table, bad = _parse(pa.BufferReader(whole), len(whole) + 1, heading, wanted, path)
            if ended or table.num_rows + bad > GUESSED_FROM or size >= MOST_BYTES:
                break
            size = min(4 * size, MOST_BYTES)
    if bad > table.num_rows:
        raise DataError(
            f"Most lines of {str(path)!r} do not have the {len(heading.names)} fields of its first "
            "line: check the separator and the quotes."
        )
    # The last row of a part may be cut.
    count = table.num_rows if ended else max(table.num_rows - 1, min(table.num_rows, 1))
    return table.slice(0, min(count, GUESSED_FROM))


def read_columns(path: Path, heading: Heading, wanted: list[str]) -> Any:
    """The wanted columns as texts, in an Arrow table; with a mark where bytes are no text."""
    block = _BLOCK_BYTES
    while True:
        table = _read_blocks(path, block, heading, wanted, last=block >= _LARGEST_BLOCK)
        if table is not None:
            return table
        block = min(16 * block, _LARGEST_BLOCK)


# -- the line of names ----------------------------------------------------------------------------


def _heading(raw: bytes, path: Path, encoding: Encoding, *, ended: bool) -> Heading:
    told = _SEPARATOR_LINE.match(raw)
    start = 0 if told is None else told.end()
    start = len(raw) - len(raw[start:].lstrip(b"\r\n"))
    first = next(_lines(raw, start, ended=ended), b"")
    if not first.strip() and ended and not raw[start:].strip():
        raise DataError(f"The file {str(path)!r} is empty: give a table with a line of names.")
    if b"\0" in first:
        raise DataError(f"The file {str(path)!r} is not text: save the table as CSV in UTF-8.")
    if UNREADABLE.encode() in first:
        raise DataError(
            f"The names of {str(path)!r} are not {encoding.name}: say --encoding, or save the "
            "table as CSV in UTF-8."
        )
    bare = _QUOTED.sub(b"", first)
    separator = max(_SEPARATORS, key=lambda one: bare.count(one.encode()))
    if told is not None:
        separator = told[1].decode()
    # Names that go over several lines, or seem to, must be beyond doubt: behind an open quote come
    # rows, and names are shown.
    for strict in (first.count(b'"') % 2 == 1, True):
        taken: list[bytes] = []
        texts = _decoded(_lines(raw, start, ended=ended), taken)
        try:
            names = next(csv.reader(texts, delimiter=separator, strict=strict), [])
        except csv.Error:
            names = [UNREADABLE]
        # Of later lines, which may be rows, nothing is told but that they were taken for names.
        if any(UNREADABLE in name for name in names):
            raise DataError(
                f"The file {str(path)!r} cannot be read: the quotes of its names do not match; "
                "correct the first line."
            )
        if len(taken) == 1:
            break
    size = start + sum(map(len, taken))
    return Heading(tuple(names), separator, size, len(raw[:size].splitlines()), encoding)


def _lines(raw: bytes, start: int, *, ended: bool) -> Iterator[bytes]:
    """Lines with their ends, as far as they are sure to be whole."""
    while start < len(raw) or not ended:
        found = _LINE.match(raw, start)
        if found is None or (not ended and (found[1] is None or found.end() == len(raw))):
            raise _Incomplete
        yield found[0]
        start = found.end()


def _decoded(lines: Iterator[bytes], taken: list[bytes]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line.decode()


# -- rows -----------------------------------------------------------------------------------------


def _read_blocks(
    path: Path, block: int, heading: Heading, wanted: list[str], *, last: bool
) -> Any | None:
    """The wanted columns; None if larger blocks may help.

    A row that is longer than a block would be an error, and tell of itself: so the file is read
    once more, in larger ones. All are of the length of a block in memory, and most rows are short.
    """
    with open_rows_of(path, heading) as stream:
        try:
            return _parse(_Blocks(stream), block, heading, wanted, path)[0]
        except _Unparsed:
            if not last:
                return None
            raise


class _Blocks(io.RawIOBase):
    """The bytes of a file for the parser, so that no block ends inside a line break.

    The parser takes what one reading gives for a block, and would leave out the second half of a
    line break at the beginning of a block, inside quotes, too.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._left = stream, b""

    def readable(self) -> bool:
        """Whether there is something to read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, more than one; none at the end."""
        self._left += self._stream.read(max(size + 1 - len(self._left), 0))
        end = size - self._left[:size].endswith(b"\r") * (len(self._left) > size)
        block, self._left = self._left[:end], self._left[end:]
        return block


def _parse(
    source: Any, block: int, heading: Heading, wanted: list[str], path: Path
) -> tuple[Any, int]:
    """The wanted columns as texts, and how many rows were left out."""
    import pyarrow as pa
    import pyarrow.csv as pc

    bad = itertools.count()

    def skip(row: Any) -> str:
        next(bad)  # in one step: blocks are parsed side by side
        return "skip"

    try:
        table = pc.read_csv(
            source,
            read_options=pc.ReadOptions(column_names=list(heading.names), block_size=block),
            parse_options=pc.ParseOptions(
                delimiter=heading.separator, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=pc.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if str(error) == "Empty CSV file":
            return pa.schema([(name, pa.string()) for name in wanted]).empty_table(), 0
        # The parser's own words may quote a row.
        raise _Unparsed(
            f"The file {str(path)!r} cannot be read as a table with {len(heading.names)} columns "
            f"({type(error).__name__}): check its quotes and line ends."
        ) from None
    return table, next(bad)


@contextmanager
def open_rows_of(path: Path, heading: Heading) -> Iterator[Utf8Stream]:
    """The bytes of a file behind its names, unpacked and in UTF-8; a bar shows long readings."""
    with (
        _unpacking(path),
        progress_bar(f"reading {path.name}", path.stat().st_size, after=PATIENCE) as show,
        _open(path, heading.encoding, heading.size, show) as stream,
    ):
        yield stream


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    """Say that a file cannot be unpacked, in the words of this library."""
    try:
        yield
    except PermissionError:
        raise
    except OSError:
        raise DataError(f"The file {str(path)!r} cannot be unpacked: is it complete?") from None


def _open(
    path: Path, encoding: Encoding, start: int = 0, show: Callable[[int], None] | None = None
) -> Utf8Stream:
    """The bytes of a file, unpacked and in UTF-8, behind so many of them."""
    stream = Utf8Stream(_open_raw(path, show), encoding)
    stream.read(start)
    return stream


def _open_raw(path: Path, show: Callable[[int], None] | None = None) -> Any:
    """The bytes of a file, unpacked; ``show`` is told how many of them were read."""
    import pyarrow as pa

    file = _Watched(path, show)
    return pa.input_stream(file, compression="gzip") if path.suffix.lower() == ".gz" else file


class _Watched(io.FileIO):
    """A file that tells how far it was read."""

    def __init__(self, path: Path, show: Callable[[int], None] | None) -> None:
        super().__init__(path)
        self._show = show

    def read(self, size: int | None = -1) -> bytes:
        """As of any file."""
        data = super().read(size)
        if self._show is not None:
            self._show(self.tell())
        return data
