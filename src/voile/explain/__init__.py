"""Explanations: what a model says about itself and about single rows, as data."""

from voile.explain.blackbox.local import BlackBoxLocalExplanation, Contribution
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate, Slope
from voile.explain.counterfactuals.record import (
    ColumnChange,
    Counterfactuals,
    RowSuggestions,
    Suggestion,
)
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.pair import ExplainedPair
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.explained_feature import ExplainedFeature
from voile.explain.explanation import Explanation
from voile.explain.locally_linear.local import LinearMapDecision, LocallyLinearLocalExplanation
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.lvq.local import (
    Change,
    JointChange,
    LVQLocalExplanation,
    PrototypeDecision,
)
from voile.explain.lvq.overall import LVQExplanation

__all__ = [
    "BlackBoxLocalExplanation",
    "Change",
    "ColumnChange",
    "Contribution",
    "Counterfactuals",
    "EBMExplanation",
    "EBMLocalExplanation",
    "ExplainedFeature",
    "ExplainedPair",
    "ExplainedTerm",
    "Explanation",
    "JointChange",
    "LVQExplanation",
    "LVQLocalExplanation",
    "LinearMapDecision",
    "LocalSurrogate",
    "LocallyLinearExplanation",
    "LocallyLinearLocalExplanation",
    "PrototypeDecision",
    "RowSuggestions",
    "Slope",
    "Suggestion",
]
