"""Pages of locally linear models."""

from voile.report.locally_linear import model_page, rows_page, terminal

__all__ = ["model_page", "rows_page", "terminal"]
