"""How far to trust an explanation, as a strip of figures with a verdict each."""

from __future__ import annotations

import html
from collections.abc import Iterable

from voile.explain.influence_trust import FAIR, GOOD, POOR, UNKNOWN, Reading
from voile.report.kit.palette import ROWS, SERIES

_LOOKS = {
    GOOD: (SERIES[2], "✓"),
    FAIR: (SERIES[5], "~"),
    POOR: (SERIES[3], "✗"),
    UNKNOWN: (ROWS, "?"),
}
"""Colour and sign of each verdict; neither colour nor sign says anything the word does not."""


def place_strip(readings: Iterable[Reading]) -> str:
    """Figures beside each other, as HTML."""
    return f'<div class="cards" style="gap:.8rem">{"".join(map(_place, readings))}</div>'


def _place(reading: Reading) -> str:
    colour, sign = _LOOKS[reading.verdict]
    said = (
        sign if reading.verdict == UNKNOWN else f"{reading.number}, {sign}\u00a0{reading.verdict}"
    )
    told = "not known" if reading.verdict == UNKNOWN else reading.words
    return (
        f'<div class="card" style="flex:1 1 13rem;border-left:.35rem solid {colour};'
        f'padding-left:.6rem"><b>{html.escape(reading.name)}: {html.escape(said)}</b>'
        f'<p class=note style="max-width:none">{html.escape(told)}</p></div>'
    )
