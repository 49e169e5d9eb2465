"""Files that lie beside the code of pages, and data written into pages."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

REPORT = Path(__file__).parents[1]
"""Where pages lie, each with its template beside it."""

_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@cache
def read_asset(name: str) -> str:
    """The text of a style sheet or script of this package."""
    return (REPORT / name).read_text(encoding="utf-8")


def write_data(data: Any) -> Markup:
    """Plain data for a script, written so that no name in it can end or begin anything.

    Dictionaries, lists, text, finite numbers and None.
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.translate(_ESCAPED))
