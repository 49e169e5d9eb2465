"""Texts of a CSV file as numbers, times, truth values and levels; what does not fit is missing.

The guess of a column's kind reads its texts by the same functions as the table itself is read:
what is guessed to be a number can be read as one.
"""

from __future__ import annotations

from typing import Any

from voile.schema.columns import Category, Column, Number
from voile.schema.frames import Kind

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "<NA>", "?")
"""Texts that are no level, unless the schema lists them as one."""

UNREADABLE = "\ufdd0"
"""Mark in the place of bytes that are no UTF-8; Unicode has no character there, and never will."""

# "none" and "-" may be levels (no medication), but they do not speak against numbers either.
_NO_EVIDENCE = sorted({text.lower() for text in MISSING} | {"none", "-"})
_MAJORITY = 0.95
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_TIME_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")
_TRUTHS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def guess_kind(texts: Any, *, comma: bool) -> Kind:
    """Kind of nearly all texts; one row alone cannot tip a large table's.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of strings
    comma : bool
        Whether a comma in a number is a decimal one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    # Bytes that are no text are evidence as well, by their mark: of neither numbers nor times.
    texts = pc.utf8_trim_whitespace(texts)
    small = pc.utf8_lower(texts)
    silent = pc.is_in(small, value_set=pa.array(_NO_EVIDENCE, small.type))
    told = texts.filter(pc.invert(silent))
    if len(told) == 0:
        return Kind.OTHER
    fewest = _MAJORITY * len(told)
    if len(told) - _numbers(told, comma=comma).null_count >= fewest:
        return Kind.NUMBER
    if len(told) - _seconds(told).null_count >= fewest:
        return Kind.TIME
    return Kind.OTHER


def read_texts(texts: Any, column: Column, *, comma: bool = False) -> Any:
    """A column of texts as its schema says; what does not fit is missing, not an error.

    Parameters
    ----------
    texts : pyarrow.ChunkedArray of strings
    column : Number or Category
    comma : bool
        Whether a comma in a number is a decimal one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    levels = () if isinstance(column, Number) else (column.levels or ())
    numeric = levels and not any(isinstance(level, str) for level in levels)
    if isinstance(column, Category) and not numeric:
        texts = without_unreadable(texts)
        missing = pa.array([text for text in MISSING if text not in levels], texts.type)
        return pc.if_else(pc.is_in(texts, value_set=missing), None, texts)
    trimmed = pc.utf8_trim_whitespace(texts)
    if numeric and all(isinstance(level, bool) for level in levels):
        small = pc.utf8_lower(trimmed)
        known = pa.array(list(_TRUTHS), small.type)
        truths = pa.array(list(_TRUTHS.values()))
        return pc.take(truths, pc.index_in(small, known))
    numbers = _numbers(trimmed, comma=comma)
    if isinstance(column, Number):
        numbers = pc.coalesce(numbers, _seconds(trimmed))
    return numbers


def without_unreadable(texts: Any) -> Any:
    """Texts of which those with a mark are missing."""
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring(texts, UNREADABLE), None, texts)


def _numbers(trimmed: Any, *, comma: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if comma:
        trimmed = pc.replace_substring(trimmed, ",", ".")
    fits = pc.match_substring_regex(trimmed, _NUMBER)
    return pc.cast(pc.if_else(fits, trimmed, None), pa.float64())


def _seconds(trimmed: Any) -> Any:
    """ISO dates and times as seconds since 1970; everything else missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pc.replace_substring(trimmed, "T", " ")
    plain = pc.replace_substring_regex(plain, r"([.,]\d+)?Z?$", "")
    found: Any = pa.nulls(len(trimmed), pa.timestamp("s"))
    for one in _TIME_FORMATS:
        found = pc.coalesce(found, pc.strptime(plain, one, "s", error_is_null=True))
    return pc.cast(pc.cast(found, pa.int64()), pa.float64())
