"""Pages of figures: how good models and explanations are, and what a table looks like."""

from voile.report.quality import evaluation, explainer, summary, terminal

__all__ = ["evaluation", "explainer", "summary", "terminal"]
