"""Explanations: what a model says about itself and about single rows, as data."""

from voile.explain.explanation import Explanation
from voile.explain.global_explanation import GlobalExplanation
from voile.explain.local_explanation import LocalExplanation
from voile.explain.term import ExplainedTerm

__all__ = ["ExplainedTerm", "Explanation", "GlobalExplanation", "LocalExplanation"]
