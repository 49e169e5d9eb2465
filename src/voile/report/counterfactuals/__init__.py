"""The page of counterfactuals registers when this is loaded."""

from voile.report.counterfactuals import page

__all__ = ["page"]
