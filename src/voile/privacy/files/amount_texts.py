"""Texts that are amounts to a person and no numbers to a model: €1234.50, 35%, CHF 12.

Kinds are guessed from what can be read, and these would be guessed to be categories, of which each
row has another level. So whoever leaves the guess to the file is asked before anything is paid.
"""

from __future__ import annotations

from typing import Any

from voile.privacy.files.cells import MAJORITY, FileCells
from voile.privacy.files.dialect import CellKind

_CODES = (
    "EUR|EURO|USD|CHF|GBP|JPY|CNY|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|TRY|INR|AUD|CAD|NZD|BRL|MXN|"
    r"ZAR|KRW|SGD|HKD|ILS|UAH|RUB|S?FR\.?|KR\.?|ZŁ|RS\.?"
)
_SIGN = rf"%|‰|(?:US|AU|CA|NZ|HK|MX|A|C|S|R)?\p{{Sc}}|(?i:{_CODES})"
_BLANK = r"[ \x{00a0}\x{2009}\x{202f}]"
_AMOUNT = (
    rf"^[+-]?{_BLANK}?(?P<before>{_SIGN})?{_BLANK}*[+-]?\d[\d.,'’ \x{{00a0}}\x{{2009}}\x{{202f}}]*"
    rf"(?:-|–|—)?{_BLANK}*(?P<after>{_SIGN})?$"
)


def find_sign(first: FileCells) -> str | None:
    """The sign that stands most often beside numbers, if nearly all first cells are such amounts.

    None if they are not, or so few have a sign that the others are read as numbers.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    told = first.telling()
    count = len(told.texts)
    parts = pc.extract_regex(told.trimmed, _AMOUNT).drop_null()
    fits = len(parts)
    if told.kinds is not None:
        fits += pc.sum(pc.equal(told.kinds, str(CellKind.NUMBER))).as_py() or 0
    if count == 0 or fits < MAJORITY * count:
        return None
    signs = pc.binary_join_element_wise(
        pc.struct_field(parts, "before"), pc.struct_field(parts, "after"), ""
    )
    signs = signs.filter(pc.not_equal(signs, ""))
    if len(signs) <= (1 - MAJORITY) * count:
        return None
    counted: Any = pc.value_counts(pa.chunked_array([signs.combine_chunks()]))
    most = max(counted.to_pylist(), key=lambda one: (one["counts"], one["values"]))
    return str(most["values"])
