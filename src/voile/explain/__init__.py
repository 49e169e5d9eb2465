"""Explanations: what a model says about itself and about single rows, as data."""

from voile.explain.explained_feature import ExplainedFeature
from voile.explain.explanation import Explanation
from voile.explain.filter_bank import FilterBank
from voile.explain.filter_decisions import FilterDecision, FilterDecisions
from voile.explain.global_explanation import GlobalExplanation
from voile.explain.influences import Influence, Influences
from voile.explain.local_explanation import LocalExplanation
from voile.explain.prototype_decisions import (
    Change,
    JointChange,
    PrototypeDecision,
    PrototypeDecisions,
)
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.term import ExplainedTerm

__all__ = [
    "Change",
    "ExplainedFeature",
    "ExplainedTerm",
    "Explanation",
    "FilterBank",
    "FilterDecision",
    "FilterDecisions",
    "GlobalExplanation",
    "Influence",
    "Influences",
    "JointChange",
    "LocalExplanation",
    "PrototypeDecision",
    "PrototypeDecisions",
    "PrototypeExplanation",
]
