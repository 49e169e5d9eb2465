"""The bytes of a text file as UTF-8, whatever they were written in; what is no text has a mark.

In which encoding a file is written is said by the person who has it, by a mark at its beginning, or
guessed: from its names, which are no row, or else by the majority of its first lines.
"""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass
from typing import Any

from voile.errors import SettingError

UNREADABLE = "\ufdd0"
"""Mark in the place of bytes that are no text; Unicode has no character there, and never will."""

WESTERN = "cp1252"
"""What a text is taken for that is no Unicode: Windows in Western Europe, and Latin-1."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the one of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_KNOWN = re.compile(
    r"utf-?(8(-sig)?|16(-[lb]e)?|32(-[lb]e)?)|ascii|cp\d+|iso8859-\d+|latin-?1|mac-\w+|koi8-\w|"
    r"gb\w+|big5\w*|shift_jis\w*|euc_\w+"
)
_PIECE_BYTES = 2**24
_HANDLER = "voile.unreadable"


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the letters of a file are written.

    Attributes
    ----------
    name : str
        Of a codec of Python.
    mark : int
        Bytes at the beginning that are no letters.
    guessed : bool
        Whether first lines decided it, and not a person or a mark.
    """

    name: str
    mark: int = 0
    guessed: bool = False


def check_encoding(name: str) -> str:
    """The codec of a name that a person gives; SettingError if there is none for texts."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if not _KNOWN.fullmatch(known):
        raise SettingError(
            f"There is no encoding {name!r}: utf-8, cp1252 and utf-16 are the usual ones."
        )
    return known


def find_encoding(raw: bytes, declared: str | None, *, own: bool = False) -> Encoding:
    """How a file is written that begins with some bytes.

    Parameters
    ----------
    raw : bytes
        Whole lines, if there are several.
    declared : str or None
        What a person says.
    own : bool
        Whether the rows are the asker's own, so that one line may decide.
    """
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return Encoding(name, len(mark))
    if declared is not None:
        return Encoding(check_encoding(declared))
    head = raw[:64]
    if len(head) >= 4 and 0 not in head[::2] and head[1::2].count(0) > len(head) // 4:
        return Encoding("utf-16-le", guessed=True)
    if len(head) >= 4 and 0 not in head[1::2] and head[::2].count(0) > len(head) // 4:
        return Encoding("utf-16-be", guessed=True)
    western = not _is_utf8(raw) and _is_western(raw, fewest=1 if own else 2)
    return Encoding(WESTERN if western else "utf-8", guessed=True)


def _is_western(raw: bytes, fewest: int) -> bool:
    """Whether the names are no UTF-8, or if they do not tell, most lines that do, and a few."""
    lines = [line for line in re.split(rb"[\r\n]+", raw) if line]
    if lines and not lines[0].isascii():
        return not _is_utf8(lines[0])
    fits = [_is_utf8(line) for line in lines if not line.isascii()]
    return fits.count(False) >= fewest and fits.count(False) > fits.count(True)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


class Utf8Stream(io.RawIOBase):
    """The bytes of a file behind its mark, as UTF-8, with marks in the place of what is no text.

    Parameters
    ----------
    stream
        Has a method ``read``; closed together with this.
    encoding : Encoding
    """

    def __init__(self, stream: Any, encoding: Encoding) -> None:
        self._stream, self._left, self._ended = stream, b"", False
        self._recode = Recoder(encoding.name)
        stream.read(encoding.mark)

    def readable(self) -> bool:
        """Whether there is something to read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """So many bytes, fewer at the end alone."""
        whole = size is None or size < 0
        while (whole or len(self._left) < size) and not self._ended:
            raw = self._stream.read(_PIECE_BYTES if whole else max(size, 2**16))
            self._left += self._recode(raw)
            self._ended = not raw
        end = len(self._left) if whole else size
        data, self._left = self._left[:end], self._left[end:]
        return data

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; 0 at the end."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._stream.close()
        super().close()


class Recoder:
    """Writes bytes of an encoding as UTF-8, piece after piece; an empty piece tells the end.

    Whoever reads the result meets no byte that is not UTF-8: one such byte in a row must not be an
    error.
    """

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(errors=_HANDLER)
        plain = bytes(range(128))
        self._plain = encoding.startswith(("utf-8", "ascii", "cp", "iso8859", "latin", "mac")) and (
            plain.decode(encoding, "replace").encode() == plain
        )

    def __call__(self, raw: bytes) -> bytes:
        """The next piece in UTF-8."""
        starts = range(0, len(raw), _PIECE_BYTES)
        pieces = [self._recoded(raw[a : a + _PIECE_BYTES]) for a in starts]
        return b"".join(pieces) if pieces else _utf8(self._decoder.decode(b"", final=True))

    def _recoded(self, raw: bytes) -> bytes:
        if self._plain and raw.isascii() and not self._decoder.getstate()[0]:
            return raw
        return _utf8(self._decoder.decode(raw))


def _utf8(text: str) -> bytes:
    # Some codecs give lone surrogates, which are no text.
    return text.encode("utf-8", _HANDLER)


def _replacement(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, (UnicodeDecodeError, UnicodeEncodeError))
    return UNREADABLE, error.end


codecs.register_error(_HANDLER, _replacement)
