"""How a record finds the code that draws it: by the name of its type, without importing upwards.

Records (summaries, explanations, models) are data and lie below the report layer that draws them.
Their ``to_html`` and ``show`` ask here; the drawing module is loaded only then.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from voile.errors import SettingError
from voile.files import replace_file

_DRAWN_BY = {
    "AuditReport": "voile.report.audit.page",
    "FilterBank": "voile.report.locally_linear.model_page",
    "FilterDecisions": "voile.report.locally_linear.rows_page",
    "Evaluation": "voile.report.quality.evaluation",
    "Finding": "voile.report.audit.page",
    "Forecast": "voile.report.plan.page",
    "GlobalExplanation": "voile.report.ebm.model_page",
    "HeatMaps": "voile.report.networks.page",
    "Influences": "voile.report.blackbox.page",
    "LeakageReport": "voile.report.audit.leakage",
    "LocalExplanation": "voile.report.ebm.rows_page",
    "MembershipReport": "voile.report.audit.membership",
    "PrototypeDecisions": "voile.report.lvq.rows_page",
    "PrototypeExplanation": "voile.report.lvq.model_page",
    "Quality": "voile.report.quality.explainer",
    "Summary": "voile.report.quality.summary",
}
_FRAMED_BY, _PRINTED_BY = "voile.report.kit.page", "voile.report.terminal"
_REPORTED_BY, _CARDS = "voile.report.model.report", "voile.report.model.cards"


def write_page(record: Any, path: str | Path) -> Path:
    """Write the self-contained HTML page of a record, and return its path."""
    return _write(_draw_page(record), path)


def write_report(estimator: Any, path: str | Path, **parts: Any) -> Path:
    """Write the self-contained HTML report of a fitted estimator, and return its path.

    Parameters
    ----------
    estimator
    path : str or path
    **parts
        As `voile.report.model.report.draw_report` takes them.
    """
    return _write(import_module(_REPORTED_BY).draw_report(estimator, **parts), path)


def _write(page: str, path: str | Path) -> Path:
    # A title may hold lone surrogates: they are shown as what they are.
    data = page.encode("utf-8", "backslashreplace")
    try:
        return replace_file(path, lambda place: place.write_bytes(data))
    except ValueError as error:
        raise SettingError(f"No file can be called {str(path)!r}: give another name.") from error


def draw_inline(record: Any) -> str:
    """HTML of a record for a notebook: its page inside a frame, which needs nothing around it."""
    text: str = import_module(_FRAMED_BY).frame_page(_draw_page(record))
    return text


def draw_card(record: Any) -> str:
    """HTML of a fitted estimator or a ledger for a notebook: small, and without scripts."""
    text: str = import_module(_CARDS).draw_card(record)
    return text


def print_record(record: Any) -> None:
    """Print a record in the terminal, with colours and bars if it can show them."""
    import_module(_PRINTED_BY).print_record(record)


def _draw_page(record: Any) -> str:
    for one in type(record).__mro__:
        if one.__name__ in _DRAWN_BY:
            page: str = import_module(_DRAWN_BY[one.__name__]).draw_page(record)
            return page
    raise SettingError(
        f"No page can be drawn of a {type(record).__name__}: give one of {', '.join(_DRAWN_BY)}."
    )
