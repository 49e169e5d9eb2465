"""Pages of additive models."""

from voile.report.ebm import model_page, rows_page, terminal

__all__ = ["model_page", "rows_page", "terminal"]
