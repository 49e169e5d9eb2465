"""Pages of prototype models."""

from voile.report.lvq import model_page, rows_page, terminal

__all__ = ["model_page", "rows_page", "terminal"]
