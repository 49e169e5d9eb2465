"""A term while it is trained: its sums averaged over the rounds, and their noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import ColumnBins
from voile.models.ebm.losses import TrainingLoss
from voile.models.ebm.smoothing import Smoothed, Smoother, plain_smoother, shaped_smoother

Floats = NDArray[np.float64]


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
    weight : float
        Total of its weights.
    variance : float
        Of the noise on it, before the noise's shape.
    scale : float
        Prior variance of the scores that was found.
    smoothed : list of Smoothed
        Per output, how the scores follow from the sums.
    """

    counts: Floats
    weights: Floats
    smoother: Smoother
    sums: Floats
    weight: float = 0.0
    variance: float = 0.0
    scale: float = 0.25
    smoothed: list[Smoothed] = field(default_factory=list)

    def average(self, sums: Floats, variance: float, discount: float) -> None:
        """Take in a round's sums; older ones lose weight by ``discount``."""
        old, fresh = discount * self.weight, 1.0 / variance
        self.sums = (old * self.sums + fresh * sums) / (old + fresh)
        self.variance = (old**2 * self.variance + fresh) / (old + fresh) ** 2
        self.weight = old + fresh

    def errors(self) -> Floats:
        """Standard deviation of the scores by the noise, shape (bins, outputs)."""
        columns = []
        for response in (one.response for one in self.smoothed):
            if response.ndim == 1:
                variance = response**2 * self.smoother.noise
            else:
                variance = np.einsum("ij,jk,ik->i", response, self.smoother.noise, response)
            # By the weight, not the smaller variance: an upper estimate, because what the noise of
            # other columns does to these scores is not in it.
            columns.append(np.sqrt(np.maximum(variance, 0.0) / self.weight))
        return np.stack(columns, axis=1)


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
    if len(one.cuts) > 0:
        spread = np.full(len(intercept), 0.5)[:, None]
        slope = loss.curvature(intercept, zero, spread).mean(axis=1) * counts
        variance = loss.variance(intercept, zero, spread).mean(axis=1) * counts
        smoother = shaped_smoother(counts, slope, variance, noise, unit)
    else:
        smoother = plain_smoother(len(counts))
    return TermState(counts, weights, smoother, zero, scale=0.25 * unit)
