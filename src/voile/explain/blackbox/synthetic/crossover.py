"""From how many questions on a summary is better than a release per question: by public facts."""

from __future__ import annotations

from voile.explain.blackbox.settings import Strategy
from voile.privacy.budget import Budget
from voile.privacy.gaussian_dp import mu_of
from voile.schema import Schema

_FLOOR = 9.2e-6
"""Utility loss of a summary without noise: what its form cannot tell."""

_RELEASE, _SUMMARY = 1_190.0, 825.0
"""Utility loss times (rows x mu)^2, of one release for one question, and of a summary's noise."""


def crossover(rows: float, budget: Budget) -> float:
    """Number of questions from which on a summary has the smaller utility loss.

    Measured with ``benchmarks/blackbox/quality.py`` on the adult table, near the crossings: a
    release for each of Q questions loses about 1190 Q / (rows x mu)^2, a summary
    9.2e-6 + 825 / (rows x mu)^2.

    Parameters
    ----------
    rows : float
        How many there are.
    budget : Budget
        For all questions together.
    """
    if budget.unlimited:
        return float("inf")
    strength = (rows * mu_of(budget.epsilon, budget.delta)) ** 2
    return (_FLOOR * strength + _SUMMARY) / _RELEASE


def choose_strategy(queries: int, schema: Schema, budget: Budget) -> Strategy:
    """Choose "release" for few questions at a large budget, "summary" otherwise.

    Without a public row count in the schema it is always "summary".
    """
    if schema.rows is None:
        return "summary"
    return "release" if queries < crossover(schema.rows, budget) else "summary"
