"""How a record finds the code that draws it: by the name of its type, without importing upwards.

Records (summaries, explanations, models) are data and lie below the report layer that draws them.
Their ``to_html`` asks here; the drawing module is loaded only then.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_DRAWN_BY = {"Summary": "voile.report.summary_page"}


def write_page(record: Any, path: str | Path) -> Path:
    """Write the self-contained HTML page of a record, and return its path."""
    drawer = import_module(_DRAWN_BY[type(record).__name__])
    written: Path = drawer.write_page(record, Path(path))
    return written
