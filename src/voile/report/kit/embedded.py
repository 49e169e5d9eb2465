"""Data and scripts inside a page, written so that no name in them can end or begin anything."""

from __future__ import annotations

import json
import math
from typing import Any

_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def place_data(name: str, data: Any) -> str:
    """Plain data as a script element that is not run, as HTML.

    Parameters
    ----------
    name : str
        Unique in the page; letters, digits and hyphens.
    data
        Dictionaries, lists, text, finite numbers and None.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)
    return f'<script type="application/json" id="{name}">{text}</script>'


def place_script(text: str) -> str:
    """A script of this package as HTML."""
    return f"<script>{text}</script>"


def known(number: float) -> float | None:
    """A number for JSON, which has no infinity: None is unknown."""
    return float(number) if math.isfinite(number) else None
