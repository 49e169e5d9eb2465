"""The page of a private evaluation: how good a model is, and what it cost to know."""

from __future__ import annotations

from voile.models.evaluation.record import Evaluation
from voile.report.kit.page import compose_page
from voile.report.quality.section import draw_section


def draw_page(evaluation: Evaluation) -> str:
    """The whole page as HTML."""
    return compose_page(
        f"How good a {evaluation.model} is", draw_section(evaluation), evaluation.receipt
    )
