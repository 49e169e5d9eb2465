"""How good a model is on rows it has not seen, measured privately: counts, noise, intervals."""

from voile.models.evaluation.measure import Measure
from voile.models.evaluation.record import Evaluation, GroupScores

__all__ = ["Evaluation", "GroupScores", "Measure"]
