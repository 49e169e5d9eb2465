"""Pages of explained black boxes."""

from voile.report.blackbox import (
    contributions_page,
    contributions_terminal,
    surrogate_page,
    surrogate_terminal,
)

__all__ = [
    "contributions_page",
    "contributions_terminal",
    "surrogate_page",
    "surrogate_terminal",
]
