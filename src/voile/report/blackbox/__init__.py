"""Pages of explained black boxes."""

from voile.report.blackbox import page, terminal

__all__ = ["page", "terminal"]
