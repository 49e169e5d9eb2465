"""The report of a model, with its ledger, and cards for notebooks."""

from voile.report.model import cards, report

__all__ = ["cards", "report"]
