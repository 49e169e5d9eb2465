"""Pages of attacks."""

from voile.report.audit import leakage, membership, page, terminal

__all__ = ["leakage", "membership", "page", "terminal"]
