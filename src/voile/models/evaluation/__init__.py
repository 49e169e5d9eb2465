"""How good a model is on rows it has not seen, measured privately: counts, noise, intervals."""

from voile.models.evaluation.record import Evaluation, GroupScores, Measure

__all__ = ["Evaluation", "GroupScores", "Measure"]
