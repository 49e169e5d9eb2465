"""Pages of forecasts."""

from voile.report.plan import page, terminal

__all__ = ["page", "terminal"]
