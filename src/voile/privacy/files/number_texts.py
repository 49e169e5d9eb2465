"""Texts as numbers: 1889.5, 1.889,50, 1,889.50, 1 889,50 and 1'889.50.

A text of digits and one sign may be readable in two ways: 1.889 is less than two, or close to two
thousand. Which one is meant is a matter of the whole column (`spelling.py`), never of the text.
"""

from __future__ import annotations

from typing import Any

from voile.privacy.files.dialect import Spelling

_PLAIN = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
_HOLDER = "\ufdd1"
"""Stands for a comma while signs are exchanged; no character of Unicode."""
_SIGNS = {",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
"""What parts thousands where a point is decimal, as people write it."""


def read_numbers(texts: Any, spelling: Spelling) -> Any:
    """Texts without outer blanks as float64; what is no number, or may be two, is missing.

    Parameters
    ----------
    texts : pyarrow.Array or ChunkedArray of strings
    spelling : Spelling
    """
    import pyarrow.compute as pc

    if spelling.decimal is not None:
        return by_sign(texts, spelling.decimal, spelling.thousands)
    points, commas = (by_sign(texts, sign, spelling.thousands) for sign in ".,")
    doubtful = pc.fill_null(pc.not_equal(points, commas), False)
    return pc.if_else(doubtful, None, pc.coalesce(points, commas))


def by_sign(texts: Any, decimal: str, thousands: str | None) -> Any:
    """Texts as float64 with a decimal sign; thousands are parted by a sign, or any if None."""
    import pyarrow.compute as pc

    if decimal == ",":
        texts, thousands = _exchange(texts), {".": ",", ",": "."}.get(thousands or "", thousands)
    plain = pc.if_else(pc.match_substring_regex(texts, _PLAIN), texts, None)
    numbers = _finite(plain)
    signs = list(_SIGNS.values()) if thousands is None else [_SIGNS[t] for t in thousands]
    if not signs or plain.null_count == texts.null_count:
        return numbers
    groups = "|".join(rf"({sign}\d{{3}})+" for sign in signs)
    parted = rf"^[+-]?[1-9]\d{{0,2}}({groups})(\.\d*)?$"
    fits = pc.match_substring_regex(texts, parted)
    bare = pc.replace_substring_regex(pc.if_else(fits, texts, None), "|".join(signs), "")
    return pc.coalesce(numbers, _finite(bare))


def _finite(plain: Any) -> Any:
    """Plain texts as float64; 1e400 is beyond what a number can be, and missing as "inf" is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(plain, pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, None)


def _exchange(texts: Any) -> Any:
    """Texts with points for commas and commas for points."""
    import pyarrow.compute as pc

    for sign, other in ((",", _HOLDER), (".", ","), (_HOLDER, ".")):
        texts = pc.replace_substring(texts, sign, other)
    return texts
