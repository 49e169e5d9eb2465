"""What is wanted of an additive model's answer, as linear conditions on its scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, logsumexp, softmax

from voile.explain.counterfactuals.goals import Goal
from voile.models.ebm.model import Link

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Need:
    """For each of some rows: ``weights . scores >= needed``.

    Attributes
    ----------
    weights : ndarray of shape (rows, outputs)
    needed : ndarray of shape (rows,)
    """

    weights: Floats
    needed: Floats

    def lead(self, scores: Floats) -> Floats:
        """By how much scores of shape (rows, outputs) pass it."""
        return np.asarray((self.weights * scores).sum(axis=1) - self.needed)

    def variance(self, squared: Floats) -> Floats:
        """Of the lead, for variances of the scores, shape (rows, outputs)."""
        parts = np.zeros_like(squared)  # an unknown error of a score that does not count is nothing
        np.multiply(self.weights**2, squared, out=parts, where=self.weights != 0)
        return np.asarray(parts.sum(axis=1))


def needs_of(link: Link, goal: Goal, scores: Floats) -> list[Need]:
    """All conditions that rows of these scores, shape (rows, outputs), must meet.

    The probability of one of several classes is no linear function of scores: its condition is the
    plane that touches it at the scores given. Where a probability is to be large, every such plane
    is a necessary condition.
    """
    rows, outputs = scores.shape
    if link != "softmax":
        return [
            Need(np.full((rows, 1), sign), np.full(rows, needed))
            for sign, needed in _single_needs(link, goal)
        ]
    unit = np.eye(outputs)
    if goal.kind == "range":
        return _share_needs(goal, scores, unit[goal.place])
    if goal.kind == "class":
        others = np.delete(unit, goal.place, axis=0)
        return [Need(np.tile(unit[goal.place] - one, (rows, 1)), np.zeros(rows)) for one in others]
    rivals = np.where(unit[goal.place] > 0, -np.inf, scores).argmax(axis=1)
    return [Need(unit[rivals] - unit[goal.place], np.zeros(rows))]


def ways_of(link: Link, goal: Goal, scores: Floats) -> list[list[Need]]:
    """Lists of conditions of which one must be met, for one row of these scores, (outputs,)."""
    if link != "softmax" or goal.kind != "other class":
        return [needs_of(link, goal, scores[None])]
    unit = np.eye(len(scores))
    return [
        [Need((unit[other] - unit[goal.place])[None], np.zeros(1))]
        for other in range(len(scores))
        if other != goal.place
    ]


def _single_needs(link: Link, goal: Goal) -> list[tuple[float, float]]:
    """Signs and least values of the one score of two classes, or of a prediction."""
    low, high, sign = goal.low, goal.high, 1.0
    if link == "logit":
        sign = 1.0 if goal.place == 1 else -1.0
        ends = (0.5, 1.0) if goal.kind == "class" else (max(low, 0.0), min(high, 1.0))
        low, high = (float(logit(end)) for end in ends)
    if link == "log":
        low, high = (math.log(end) if end > 0 else -math.inf for end in (low, high))
    below = [(sign, low)] if low > -math.inf else []
    return below + ([(-sign, -high)] if high < math.inf else [])


def _share_needs(goal: Goal, scores: Floats, own: Floats) -> list[Need]:
    """The log-odds of one class against all others, to first order around the scores."""
    rest = np.where(own > 0, -np.inf, scores)
    weights = own - softmax(rest, axis=1)
    odds = scores[:, goal.place] - logsumexp(rest, axis=1)
    offset = (weights * scores).sum(axis=1) - odds
    found = [Need(weights, offset + logit(goal.low))] if goal.low > -math.inf else []
    return found + ([Need(-weights, -offset - logit(goal.high))] if goal.high < math.inf else [])
