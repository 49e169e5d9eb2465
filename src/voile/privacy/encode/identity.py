"""Whose row it is: one form of every id, however it was typed, and a looser one where in doubt.

A person whose id comes as 12 in one file and as "12" in another must be one person, or a guarantee
for persons is off by a factor. `identity_of` gives ids that are certainly the same the same form:

- whole numbers of any type, and their text: 12, 12.0, "12", " 12 ", "12.0", b"12" and
  Decimal("12.00"); other numbers by their value; truth values as 1 and 0;
- dates and times by their instant, as objects or as ISO 8601 text;
- UUIDs by their digits, as objects, text or 16 bytes; other bytes as the UTF-8 text that they are.

What is missing or says so ("", "nan", "null", ...), cannot be read (a list, a stranger's object) or
may have lost digits (a float of 2^53 or more; of 32 bits, 2^24; "1.23457E+11") is no id: None.

`loosely` goes further, to what may be one id written in two ways or may be two ids: leading zeros,
case, blanks, quotes, invisible characters, forms of one character (NFKC), powers of ten, marks
between thousands, ="12". Who uses
it must be right in both cases (docs/proofs/gaussian-sum.md).
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np

from voile.privacy.encode.value import PrivateColumn, UnfitValue, encode_list, float_of, plain_value
from voile.schema import Column


@dataclass(frozen=True, slots=True)
class Identity:
    """Stands in place of a column's description where its values are ids."""


Described: TypeAlias = "Column | Identity"
"""What values are encoded as."""

_EXACT: Final = 2.0**53
"""Floats tell whole numbers below this apart."""

_NARROW: Final[tuple[tuple[type[np.floating[Any]], float], ...]] = (
    (np.float16, 2.0**11),
    (np.float32, 2.0**24),
)
"""The same for narrow ones."""

_MOST_DIGITS: Final = 400
"""Of a decimal number that is written out."""

_WORDS: Final[dict[str, str | None]] = {
    **dict.fromkeys(("", "nan", "snan", "na", "n/a", "#n/a", "<na>", "nat", "none", "null"), None),
    "true": "1",
    "false": "0",
}
_AROUND: Final = "\ufeff\0 \t\r\n"
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9][0-9]-[0-9][0-9](?:[ Tt].*)?")
_UUID: Final = re.compile(r"(?:urn:uuid:)?\{?([\da-f]{8}(-?)(?:[\da-f]{4}\2){3}[\da-f]{12})\}?")
_POWER: Final = re.compile(r"(-?)([0-9])(?:\.([0-9]+))?[eE](\+?)([0-9]{1,3})")
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(?:[,'’_]\d{3})+(?:\.0*)?")
_SEPARATORS: Final = re.compile("[,'’_]")
_COMMA_ZEROS: Final = re.compile(r"(?<=^\d),0{1,2}$|(?<=\d\d),0{1,2}$")
_LOOSE_NUMBER: Final = re.compile(r"([+-]?)(\d+)(\.\d*)?(e[+-]?\d+)?")


def encode_each(private_values: Sequence[object], column: Described) -> PrivateColumn:
    """Encode any Python values, one by one; ids as text, or None."""
    if not isinstance(column, Identity):
        return encode_list(private_values, column)
    private_ids = np.empty(len(private_values), object)
    private_ids[:] = [identity_of(value) for value in private_values]
    return private_ids


def identity_of(value: Any) -> str | None:
    """Return the form of an id that tells nothing of its type, or None; never an error."""
    kind = type(value)
    try:
        if kind is str:
            return _of_text(value)
        if kind is int:
            return _of_whole(str(value))
        # By type(), and by methods of the known types alone: those of others may do anything.
        for known, read in _READERS:
            if issubclass(kind, known):
                return read(value)
        # Dates and times become ISO text; what pandas and numpy have of their own, what it is.
        plain = plain_value(value)
    except (Exception, SystemExit):
        return None
    if isinstance(plain, str) and _DATE.fullmatch(plain):
        return plain
    return None if plain is None or isinstance(plain, UnfitValue) else identity_of(plain)


def loosely(identity: str) -> str:
    """Return the same text for ids that may be two ways of writing one."""
    if identity.isascii():
        if identity.isdecimal():
            return identity.lstrip("0") or "0"
        token = identity
    else:
        token = "".join(filter(_is_visible, unicodedata.normalize("NFKC", identity)))
    if not token.isprintable():
        token = token.translate(_CONTROLS)
    # A sheet writes ="12" to keep a number from being one.
    token = "".join(token.casefold().split()).removeprefix("=").strip("'\"`")
    if _GROUPED.fullmatch(token):
        token = _SEPARATORS.sub("", token)
    token = _COMMA_ZEROS.sub("", token)
    found = _LOOSE_NUMBER.fullmatch(token)
    if found is None:
        return token
    sign, whole, fraction, exponent = found.groups()
    number = float(token)
    if abs(number) < _EXACT and (number != 0.0 or exponent is None):
        return _of_float(number) or token
    digits = whole.lstrip("0") if not exponent and not (fraction or "").strip(".0") else ""
    return sign.strip("+") + digits if digits else token


def _of_whole(digits: str) -> str:
    """Digits of a number; so many as a UUID has are taken for one."""
    return _of_digits(digits) if len(digits) == 32 and digits.isdecimal() else digits


def _of_float(number: float) -> str | None:
    if not abs(number) < _EXACT:
        return None
    return str(int(number)) if number.is_integer() else repr(number)


def _of_floating(value: np.floating[Any]) -> str | None:
    number = float_of(value)
    for narrow, most in _NARROW:
        if issubclass(type(value), narrow):
            # By its shortest text: 12.3 is no 12.300000190734863.
            return _of_float(float(str(narrow(number)))) if abs(number) < most else None
    return _of_float(number)


def _of_decimal(value: Decimal) -> str | None:
    value = Decimal(Decimal.__str__(value))
    if value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value():
        return _of_whole(str(int(value)))
    return _of_float(float(value))


def _of_bytes(private: bytes) -> str | None:
    """Bytes as the text that they are; otherwise by their digits."""
    try:
        text = private.decode()
        if len(private) != 16 or text.isprintable():
            return _of_text(text)
    except UnicodeDecodeError:
        pass
    return _of_digits(private.hex())


def _of_digits(digits: str) -> str:
    """Hexadecimal digits of a UUID or other bytes; numpy drops zeros at their end."""
    while digits.endswith("00"):
        digits = digits[:-2]
    return f"#{digits}"


def _of_text(text: str) -> str | None:
    if text.isascii() and text.isdecimal():
        return _of_whole(text)
    text = text.strip(_AROUND).strip()
    private = _bytes_of(text)
    if private is not None:
        return _of_digits(private.hex())
    found = _POWER.fullmatch(text)
    if found is not None and (found[3] is not None or found[4]):
        return _of_power(*found.groups())
    found = _NUMBER.fullmatch(text)
    if found is not None:
        return _of_whole(text) if found[1] is None and text != "-0" else _of_float(float(text))
    if text[4:5] == "-" and _DATE.fullmatch(text):
        moment = _of_moment(text)
        if moment is not None:
            return moment
    if len(text) <= 5 and text.casefold() in _WORDS:
        return _WORDS[text.casefold()]
    if 32 <= len(text) <= 47:
        found = _UUID.fullmatch(text.lower())
        if found is not None:
            return _of_digits(found[1].replace("-", ""))
    return text


def _of_power(sign: str, first: str, rest: str | None, _: str, power: str) -> str | None:
    """A number as programs write large floats; None where digits may have been lost on the way."""
    digits, count = first + (rest or ""), int(power)
    if len(digits) <= count:
        return None
    whole = digits[: count + 1].lstrip("0") or "0"
    exact = not digits[count + 1 :].strip("0") and int(whole) < _EXACT
    return f"{sign}{whole}" if exact else None


def _bytes_of(text: str) -> bytes | None:
    """The bytes of what Python read as text although it was none; None for text."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode(errors="surrogateescape")
        except UnicodeEncodeError:
            return text.encode(errors="surrogatepass")
    return None


def _of_moment(text: str) -> str | None:
    """A date, or a date and time, in ISO 8601; None if it is none."""
    try:
        moment = dt.datetime.fromisoformat(text.upper().removesuffix("UTC").rstrip())
    except ValueError:
        return None
    instant = plain_value(moment)
    return instant if isinstance(instant, str) else None


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf")


_CONTROLS: Final = dict.fromkeys([*range(9), *range(14, 28), 127])

_READERS: Final[tuple[tuple[type, Callable[[Any], str | None]], ...]] = (
    (int, lambda value: _of_whole(str(int.__int__(value)))),
    (float, lambda value: _of_float(float.__float__(value))),
    (str, lambda value: _of_text(str.__str__(value))),
    (np.floating, _of_floating),
    (Decimal, _of_decimal),
    (uuid.UUID, lambda value: _of_text(uuid.UUID.__str__(value))),
    (bytes, lambda value: _of_bytes(bytes.__getitem__(value, slice(None)))),
    (bytearray, lambda value: _of_bytes(bytes(bytearray.__getitem__(value, slice(None))))),
    (memoryview, lambda value: _of_bytes(value.tobytes())),
    (np.void, lambda value: _of_bytes(np.void.tobytes(value))),
)
