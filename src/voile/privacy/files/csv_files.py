"""CSV files: their line of names, a guess of what their columns are, and their columns as texts.

The names are read by themselves. Rows are taken apart by one parser, for the guess and for the
table, and a row that cannot be is left out: nothing in a row decides whether there is an error.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile.errors import DataError
from voile.privacy.files.csv_texts import UNREADABLE, guess_kind
from voile.schema.frames import Kind

GUESSED_FROM = 1_000
"""Rows from which kinds are guessed."""
FIRST_BYTES, MOST_BYTES = 2**18, 2**26
"""How much is read for the names or for the guess, at first and at most.

A quote that is never closed would otherwise take the whole file into memory."""

_SEPARATORS = ",;\t|"
_MARK = b"\xef\xbb\xbf"
_LINE = re.compile(rb"[^\r\n]*(\r\n|\r|\n)?")
_QUOTED = re.compile(rb'"[^"]*("|$)')
_BLOCK_BYTES, _LARGEST_BLOCK, _PIECE_BYTES = 2**22, 2**30, 2**24


@dataclass(frozen=True, slots=True)
class Heading:
    """What the first line of a CSV file says.

    Attributes
    ----------
    names : tuple of str
    separator : str
    size : int
        Bytes before the first row.
    """

    names: tuple[str, ...]
    separator: str
    size: int

    @property
    def comma(self) -> bool:
        """Whether a comma in a number is a decimal one.

        Between commas it would be quoted, and may as well part thousands: it makes no number then.
        """
        return self.separator != ","


class _Unparsed(DataError):
    """The parser gave up, on a row that is longer than a block or for another reason."""


class _Incomplete(Exception):
    """The names go on beyond what was read."""


def read_heading(path: Path) -> Heading:
    """The names and the separator of a file, from its first line alone."""
    with _unpacking(path), _open(path) as stream:
        raw, size = b"", FIRST_BYTES
        while True:
            raw += stream.read(size - len(raw))
            try:
                heading = _heading(raw, path, ended=len(raw) < size)
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


def guess_kinds(path: Path, heading: Heading) -> list[Kind]:
    """The kind of each column, from the first rows."""
    import pyarrow as pa

    size, wanted = FIRST_BYTES, list(heading.names)
    with _unpacking(path), _open(path, heading) as stream:
        raw = b""
        while True:
            raw += stream.read(size - len(raw))
            ended = len(raw) < size
            rows = _mark_unreadable(raw)
            table, bad = _parse(pa.BufferReader(rows), len(rows) + 1, heading, wanted, path)
            if ended or table.num_rows + bad > GUESSED_FROM or size >= MOST_BYTES:
                break
            size = min(4 * size, MOST_BYTES)
    # The last row of a part may be cut.
    count = table.num_rows if ended else max(table.num_rows - 1, min(table.num_rows, 1))
    table = table.slice(0, min(count, GUESSED_FROM))
    return [guess_kind(one, comma=heading.comma) for one in table.columns]


def read_columns(path: Path, heading: Heading, wanted: list[str]) -> Any:
    """The wanted columns as texts, in an Arrow table; with a mark where bytes are no UTF-8."""
    block = _BLOCK_BYTES
    while True:
        found = _read_blocks(path, block, heading, wanted, last=block >= _LARGEST_BLOCK)
        if found is not None:
            break
        block = min(16 * block, _LARGEST_BLOCK)
    table, bad = found
    if bad > table.num_rows:
        raise DataError(
            f"Most lines of {str(path)!r} do not have the {len(heading.names)} fields of its first "
            "line: check the separator and the quotes."
        )
    return table


# -- the line of names ----------------------------------------------------------------------------


def _heading(raw: bytes, path: Path, *, ended: bool) -> Heading:
    start = len(_MARK) if raw.startswith(_MARK) else 0
    start = len(raw) - len(raw[start:].lstrip(b"\r\n"))
    first = next(_lines(raw, start, ended=ended), b"")
    if not first.strip() and ended and not raw[start:].strip():
        raise DataError(f"The file {str(path)!r} is empty: give a table with a line of names.")
    if b"\0" in first:
        raise DataError(f"The file {str(path)!r} is not text: save the table as CSV in UTF-8.")
    bare = _QUOTED.sub(b"", first)
    separator = max(_SEPARATORS, key=lambda one: bare.count(one.encode()))
    # Names that go over several lines, or seem to, must be beyond doubt: behind an open quote come
    # rows, and names are shown.
    for strict in (first.count(b'"') % 2 == 1, True):
        taken: list[bytes] = []
        texts = _decoded(_lines(raw, start, ended=ended), taken)
        try:
            names = next(csv.reader(texts, delimiter=separator, strict=strict), [])
        except (UnicodeDecodeError, csv.Error) as error:
            # Of later lines, which may be rows, nothing is told but that they were taken for names.
            if isinstance(error, UnicodeDecodeError) and len(taken) == 1:
                raise DataError(
                    f"The names of {str(path)!r} are not UTF-8: save the table as CSV in UTF-8, or "
                    "convert it (iconv -f LATIN1 -t UTF-8)."
                ) from None
            raise DataError(
                f"The file {str(path)!r} cannot be read: the quotes of its names do not match; "
                "correct the first line."
            ) from None
        if len(taken) == 1:
            break
    return Heading(tuple(names), separator, start + sum(map(len, taken)))


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
) -> tuple[Any, int] | None:
    """The wanted columns, and how many rows were left out; None if larger blocks may help.

    A row that is longer than a block would be an error, and tell of itself: so the file is read
    once more, in larger ones. All are of the length of a block in memory, and most rows are short.
    """
    with _unpacking(path), _open(path, heading) as stream:
        try:
            return _parse(_Blocks(stream), block, heading, wanted, path)
        except _Unparsed:
            if not last:
                return None
            raise


class _Blocks(io.RawIOBase):
    """The bytes of a file for the parser, marked, so that no block ends inside a line break.

    The parser takes what one reading gives for a block, and would leave out the second half of a
    line break at the beginning of a block, inside quotes, too.
    """

    def __init__(self, stream: Any) -> None:
        self._stream, self._marker, self._left, self._ended = stream, _Marker(), b"", False

    def readable(self) -> bool:
        """Whether there is something to read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, more than one; none at the end."""
        while len(self._left) <= size and not self._ended:
            raw = self._stream.read(size)
            self._left += self._marker(raw)
            self._ended = not raw
        end = size - self._left[:size].endswith(b"\r") * (len(self._left) > size)
        block, self._left = self._left[:end], self._left[end:]
        return block


class _Marker:
    """Puts a mark in the place of bytes that are no UTF-8, piece after piece.

    The parser decodes a row that it leaves out, and bytes that it cannot decode would be an error.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors=_HANDLER)

    def __call__(self, buffer: Any) -> bytes:
        view = memoryview(buffer)
        starts = range(0, len(view), _PIECE_BYTES)
        pieces = [self._mark(bytes(view[a : a + _PIECE_BYTES])) for a in starts]
        # The end of a stream is told by an empty piece.
        return b"".join(pieces) if pieces else self._decoder.decode(b"", final=True).encode()

    def _mark(self, raw: bytes) -> bytes:
        if raw.isascii() and not self._decoder.getstate()[0]:
            return raw
        return self._decoder.decode(raw).encode()


def _mark_unreadable(raw: bytes) -> bytes:
    marker = _Marker()
    return marker(raw) + marker(b"")


def _replacement(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return UNREADABLE, error.end


_HANDLER = "voile.unreadable"
codecs.register_error(_HANDLER, _replacement)


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
def _unpacking(path: Path) -> Iterator[None]:
    """Say that a file cannot be unpacked, in the words of this library."""
    try:
        yield
    except PermissionError:
        raise
    except OSError:
        raise DataError(f"The file {str(path)!r} cannot be unpacked: is it complete?") from None


def _open(path: Path, heading: Heading | None = None) -> Any:
    """The bytes of a file, unpacked; behind the names if they are known."""
    import pyarrow as pa

    stream = pa.input_stream(str(path), compression="detect")
    if heading is not None:
        stream.read(heading.size)
    return stream
