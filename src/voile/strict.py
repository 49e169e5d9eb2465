"""Strict reading of files and plain data that others wrote; `voile.codec` makes records of them.

Files of schemas, models, receipts, evaluations and explanations are JSON. What is read here is data
and nothing else; it is no deeper or stranger than anything Voile writes, so that whoever uses it
later needs no checks of its own.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

from voile.errors import VoileError

MOST_DEEP = 64
"""Lists and mappings inside each other, at most."""

LARGEST_WHOLE = 2**64
"""Whole numbers beyond this (in size) are refused: no column type holds them."""


def is_text(text: str) -> bool:
    """Whether a string can be written anywhere: as UTF-8 (no lone surrogates), and without NUL."""
    if text.isascii():
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def show(value: object) -> str:
    """A short picture of any value, for messages."""
    try:
        return reprlib.repr(value)
    except ValueError:  # whole numbers of thousands of digits
        return type(value).__name__


class Unfit(Exception):
    """Something that does not stand as it must; its place is told on the way out.

    Parameters
    ----------
    said : str
        What is wrong of the place, such as "must be a list".
    *got : object
        What stands there instead, if that helps.
    """

    def __init__(self, said: str, *got: object) -> None:
        self._said = said + "".join(f". Got {show(one)} instead." for one in got)
        self._path: list[str] = []

    def within(self, place: str) -> Self:
        """The same, seen from one step further out."""
        self._path.append(place)
        return self

    def told(self, what: str) -> str:
        """The whole sentence, of what was read."""
        if not self._path:
            return f"{what[0].upper()}{what[1:]} {self._said}"
        return f"In {what}, {' of '.join(self._path)} {self._said}"


@dataclass(frozen=True)
class Strict:
    """A strict reader of one kind of file.

    Attributes
    ----------
    error : type of VoileError
        What it raises.
    what : str
        What it reads, for messages: "a model".
    """

    error: type[VoileError]
    what: str

    def load_text(self, path: str | Path) -> str:
        """The text of a file, whatever its name and its bytes are."""
        place = repr(str(path))
        try:
            return Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                f"The file {place} cannot be read as {self.what}: it is not UTF-8 (at byte "
                f"{error.start}). Use an undamaged copy."
            ) from error
        except FileNotFoundError as error:
            raise self.error(f"There is no file {place}: check the path.") from error
        except OSError as error:
            told = error.strerror or type(error).__name__
            raise self.error(f"The file {place} cannot be read: {told}.") from error
        except ValueError as error:
            raise self.error(f"No file can be called {place}: check the path.") from error

    def parse(self, text: str) -> Any:
        """Plain data from JSON without repeated names, NaN, endless numbers and depth."""
        try:
            data = json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)
        except (ValueError, RecursionError) as error:
            if isinstance(error, self.error):
                raise
            told = "a number is too long"
            if isinstance(error, RecursionError):
                told = "it is nested too deeply"
            elif isinstance(error, json.JSONDecodeError):
                told = f"line {error.lineno}, column {error.colno} cannot be read"
                told = told if text.strip() else "it is empty"
            raise self.error(
                f"This is not valid JSON of {self.what} ({told}): was it copied completely?"
            ) from error
        return self.plain(data)

    def plain(self, data: Any) -> Any:
        """The same data, if it is lists, mappings, text, finite numbers, truth values and None."""
        waiting: list[tuple[Any, int]] = [([data], 0)]
        while waiting:
            holder, depth = waiting.pop()
            if depth > MOST_DEEP:
                raise self.error(f"In {self.what}, data are nested too deeply: use another copy.")
            if isinstance(holder, Mapping):
                for name in holder:
                    if type(name) is not str or not is_text(name):
                        self.refuse("a name", "text without NUL and lone surrogates", name)
                holder = holder.values()
            for value in holder:
                kind = type(value)
                if kind is float:
                    if not math.isfinite(value):
                        self.refuse("a number", "finite", value)
                elif kind is int:
                    if not -LARGEST_WHOLE <= value <= LARGEST_WHOLE:
                        self.refuse("a whole number", "of at most 64 bits", value)
                elif kind is str:
                    if not is_text(value):
                        self.refuse("text", "without NUL and lone surrogates", value)
                elif kind is list or isinstance(value, Mapping):
                    waiting.append((value, depth + 1))
                elif value is not None and kind is not bool:
                    self.refuse("a value", "plain data", value)
        return data

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise self.error(
                f"In {self.what}, {show(twice)} stands twice: use an undamaged copy, or keep one."
            )
        return built

    def _constant(self, constant: str) -> NoReturn:
        raise self.error(
            f"In {self.what} stands {constant}, which is not JSON: give a finite number, or use an "
            "undamaged copy."
        )

    def refuse(self, where: str, wanted: str, got: object) -> NoReturn:
        """Say that a place holds something else than it must."""
        raise self.error(f"In {self.what}, {where} must be {wanted}. Got {show(got)} instead.")
