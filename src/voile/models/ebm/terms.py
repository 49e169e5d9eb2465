"""A term while it is trained (sums averaged over the rounds, their noise), and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import ColumnBins
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.losses import TrainingLoss, against_rest
from voile.models.ebm.pair_grid import ReleasedPair
from voile.models.ebm.smoothing import Smoothed, Smoother, plain_smoother, shaped_smoother

Floats = NDArray[np.float64]

_OTHERS, _ROUGH = 1.12, 1.3
"""Allowances for what the other terms' errors add: in the sampling variance, and with three or more
classes, whose responses leave the spread of the other terms out, and with counts, amounts and
quantiles, whose slopes are estimated, in all of it. By them, columns
without an effect are called clear no more often than stated (docs/proofs/verdicts.md)."""


@dataclass(eq=False)
class TermState:
    """A term while it is trained; all of it released.

    Attributes
    ----------
    counts, weights : ndarray of shape (bins,)
        Rows of each bin, never below the noise, and their share.
    smoother : Smoother
    sums : ndarray of shape (bins, outputs)
        Weighted mean of the rounds' sums.
    apart : int
        How many bins at the end have no place in an order.
    weight : float
        Total of its weights.
    variance : float
        Of the noise on it, before the noise's shape.
    settled_sums, settled_weight
        The same of the rounds since the scores settled, without a discount: what verdicts rest on.
        The noise on it has the variance 1 / weight.
    scale : float
        Prior variance of the scores that was found.
    smoothed : Smoothed or None
        How the scores follow from the sums; None before the first round.
    scatter : ndarray of shape (bins, outputs)
        Variance of the sums by which rows there are, if rows are independent.
    """

    counts: Floats
    weights: Floats
    smoother: Smoother
    sums: Floats
    apart: int
    weight: float = 0.0
    variance: float = 0.0
    settled_sums: Floats | float = 0.0
    settled_weight: float = 0.0
    scale: float = 0.25
    smoothed: Smoothed | None = None
    scatter: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def average(self, sums: Floats, variance: float, discount: float, *, settled: bool) -> None:
        """Take in a round's sums; older ones lose weight by ``discount``."""
        old, fresh = discount * self.weight, 1.0 / variance
        self.sums = (old * self.sums + fresh * sums) / (old + fresh)
        self.variance = (old**2 * self.variance + fresh) / (old + fresh) ** 2
        self.weight = old + fresh
        if settled:
            before, self.settled_weight = self.settled_weight, self.settled_weight + fresh
            gained = before * self.settled_sums + fresh * sums
            self.settled_sums = gained / self.settled_weight

    def count_less(self, factor: float) -> None:
        """Let the sums so far weigh less beside those to come."""
        self.weight *= factor
        self.settled_weight *= factor

    def restate(self, old: Floats, new: Floats, ratio: Floats) -> None:
        """Put the sums in terms of another loss, linearly around the present scores.

        Parameters
        ----------
        old, new : ndarray of shape (bins, outputs)
            What the present scores explain of the sums, by the loss until now and by the other.
        ratio : ndarray of shape (bins, outputs)
            Slope of the other loss relative to that until now.
        """
        if not self.weight:
            return
        growth = float(self.weights @ ratio.mean(axis=1)) ** 2
        self.sums = new + ratio * (self.sums - old)
        self.weight, self.variance = self.weight / growth, self.variance * growth
        if self.settled_weight:
            self.settled_sums = new + ratio * (self.settled_sums - old)
            self.settled_weight /= growth

    def whole_errors(self, per_unit: float) -> Floats:
        """Standard deviation of the scores around the truth, shape (bins, outputs).

        By noise, sampling and smoothing together (docs/proofs/verdicts.md). The smoothing takes
        rows for independent ones of weight 1; what units of more weight add is added here.
        """
        assert self.smoothed is not None
        response, more = self.smoothed.response, (per_unit - 1.0) * self.scatter.T
        if response.ndim == 2:
            spread = response**2 * more
        else:
            spread = np.stack([one**2 @ own for one, own in zip(response, more, strict=True)])
        return np.asarray(np.sqrt(self.smoothed.variance + np.maximum(spread, 0.0))).T

    def errors(self) -> Floats:
        """Standard deviation of the scores by the noise, shape (bins, outputs)."""
        assert self.smoothed is not None
        response, noise = self.smoothed.response, self.smoother.noise
        if response.ndim == 2:
            variance = response**2 * noise
        else:
            variance = np.stack([((one @ noise) * one).sum(axis=1) for one in response])
        # By the weight, not the smaller variance: an upper estimate, because what the noise of
        # other columns does to these scores is not in it.
        return np.asarray(np.sqrt(np.maximum(variance, 0.0) / self.weight)).T


@dataclass(frozen=True, eq=False)
class MoreOfTerm:
    """What is added to the curve of a column, all of shape (bins,).

    Attributes
    ----------
    scores : ndarray
    noise : ndarray
        Their variance by the noise.
    variance : ndarray
        Their variance around the truth.
    """

    scores: Floats
    noise: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class ReleasedTerms:
    """Released scores: shape (cells, outputs), with their standard errors by the noise.

    The *whole* errors hold the sampling error, too; they and the evidence for each term are known
    where the terms are estimated from sums of all rows.
    """

    scores: Floats
    standard_errors: Floats
    intercept: Floats
    intercept_errors: Floats
    whole_errors: Floats | None = None
    whole_intercept_errors: Floats | None = None
    evidence: tuple[TermEvidence, ...] | None = None
    pairs: tuple[ReleasedPair, ...] = ()

    def with_more(
        self, more: Sequence[MoreOfTerm], scores: Floats, level: float, variance: float
    ) -> ReleasedTerms:
        """With what was added to the columns' only scores, and a level and its variance."""
        assert self.whole_errors is not None
        assert self.whole_intercept_errors is not None
        assert self.evidence is not None
        last = sum(len(one.scores) for one in more)
        errors, whole = self.standard_errors.copy(), self.whole_errors.copy()
        noise = np.concatenate([one.noise for one in more])
        around = np.concatenate([one.variance for one in more])
        errors[:last, 0] = np.sqrt(errors[:last, 0] ** 2 + noise)
        whole[:last, 0] = np.sqrt(whole[:last, 0] ** 2 + around)
        evidence = [
            replace(
                told,
                estimates=told.estimates + one.scores[:, None],
                sampling_variances=told.sampling_variances + one.variance[:, None],
            )
            for told, one in zip(self.evidence, more, strict=False)
        ]
        return replace(
            self,
            scores=scores,
            standard_errors=errors,
            intercept=self.intercept + level,
            whole_errors=whole,
            whole_intercept_errors=np.sqrt(self.whole_intercept_errors**2 + variance),
            evidence=(*evidence, *self.evidence[len(more) :]),
        )


def start_term(
    one: ColumnBins, loss: TrainingLoss, intercept: Floats, noise: float, unit: float
) -> TermState:
    """A term before the first round.

    Parameters
    ----------
    one : ColumnBins
    loss : TrainingLoss
    intercept : ndarray of shape (outputs,)
    noise : float
        Variance of the noise on one sum if all rounds were one.
    unit : float
        Typical variance of the scores.
    """
    # No count is taken below its own noise: a step is a sum divided by a count.
    counts = np.maximum(one.counts, np.maximum(one.count_errors, 1.0))
    weights = np.maximum(one.counts, 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else counts / counts.sum()
    zero = np.zeros((len(counts), len(intercept)))
    if one.ordered:
        spread = np.full(len(intercept), 0.5)[:, None]
        slope = loss.curvature(intercept, zero, spread).mean(axis=1) * counts
        variance = loss.variance(intercept, zero, spread).mean(axis=1) * counts
        smoother = shaped_smoother(counts, slope, variance, noise, unit, one.apart)
    else:
        smoother = plain_smoother(len(counts))
    return TermState(counts, weights, smoother, zero, one.apart, scale=0.25 * unit)


def weigh_term(
    term: TermState,
    loss: TrainingLoss,
    intercept: Floats,
    scores: Floats,
    spread: Floats,
    cross: Floats | float,
    unit: float,
    curves: Floats | None = None,
    part: Floats | None = None,
) -> TermEvidence:
    """One Newton step of a term from its scores, without a prior, and its errors.

    Parameters
    ----------
    term : TermState
    loss : TrainingLoss
    intercept, scores : ndarray of shape (outputs,), (bins, outputs)
    spread : ndarray of shape (outputs, 1)
        Variance of the other terms' scores over the rows.
    cross : ndarray of shape (bins, outputs), or 0
        What the other terms explain of the sums, where that is known.
    unit : float
        Typical variance of the scores.
    curves : ndarray of shape (cells, outputs), optional
        Of a pair, what the curves of its columns say in each cell; ``scores`` holds it, too.
    part : ndarray of shape (cells,), optional
        Of a pair, the rows of each cell as a part of the term's counts.
    """
    counts = term.counts[:, None]
    explained = counts * loss.response(intercept, scores, spread) + cross
    slope = counts * loss.curvature(intercept, scores, spread)
    scatter = counts * loss.variance(intercept, scores, spread)
    # A class's sums tell it apart from all others together, whatever errors their scores have.
    start = against_rest(intercept + scores) if loss.link == "softmax" else scores
    if curves is not None:
        # Log-odds against the rest of two curves are no sum of two curves: what they say without
        # the pair is not the pair's.
        start = start - (against_rest(intercept + curves) if loss.link == "softmax" else curves)
    rows = np.ones_like(counts) if part is None else part[:, None]
    more = _ROUGH if loss.rough else 1.0
    length, plain = term.smoother.shape
    return TermEvidence(
        estimates=start + (term.settled_sums - explained) / (slope * rows),
        sampling_variances=more * _OTHERS * scatter / (slope**2 * rows),
        noise_scales=np.sqrt(more / term.settled_weight) / (slope * rows),
        noise_length=length,
        noise_plain=plain,
        prior=unit,
        apart=term.apart if length > 0 else 1,
    )
