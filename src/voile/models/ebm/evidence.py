"""What the released sums say of a term without any smoothing, and the tests that rest on it.

All of it follows from released values, so it costs nothing. Formulas: docs/proofs/verdicts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from voile.arrays import Array, Floats
from voile.models.ebm.smoothing import PRIOR_LENGTH, correlation, noise_shape
from voile.models.significance import combine, exceed
from voile.stored import Stored

_SIZES = (0.0003, 0.01, 0.25)
"""Variances of effects that the test of a term looks for: weak broad ones to strong ones that a
few rows show."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TermEvidence:
    """Estimates of a term's bins that no prior has drawn to zero, and how far they may be wrong.

    Only differences between bins mean something: the level belongs to the intercept.

    Attributes
    ----------
    estimates : ndarray of shape (bins, outputs)
        In units of the score.
    sampling_variances : ndarray of shape (bins, outputs)
        Variance by which people were among the rows; bins are independent of each other.
    noise_scales : ndarray of shape (bins, outputs)
        Standard deviation by the privacy noise, before its shape.
    noise_length, noise_plain : float
        Shape of the noise: see `voile.models.ebm.smoothing.noise_shape`; (0, 1) for independent
        bins.
    prior : float
        Variance of large effects, in squared units of the score: 1 for log-odds.
    apart : int
        How many bins at the end have no place in the order: 1 for numbers (missing), 2 for levels
        in an order (other and missing).
    """

    estimates: Annotated[Floats, Array("bins", "outputs", most=math.inf)]
    sampling_variances: Annotated[Floats, Array("bins", "outputs", least=0.0, most=math.inf)]
    noise_scales: Annotated[Floats, Array("bins", "outputs", least=0.0, most=math.inf)]
    noise_length: float
    noise_plain: float
    prior: float
    apart: Annotated[int, Stored(optional=True)] = 1

    @property
    def bins(self) -> int:
        """Number of bins, those for other and missing values included."""
        return int(np.shape(self.estimates)[0])

    @property
    def outputs(self) -> int:
        """Scores per row."""
        return int(np.shape(self.estimates)[1])

    @property
    def ordered(self) -> bool:
        """Whether bins have an order, as those of a number, and vary together."""
        return self.noise_length > 0

    def of_units(self, weight: float, *, noisy: bool) -> TermEvidence:
        """The same where one privacy unit may have rows of a total weight, with or without noise.

        A unit's rows may all say the same: their sum varies by up to the weight times what as much
        weight of independent rows would.
        """
        return replace(
            self,
            sampling_variances=self.sampling_variances * weight,
            noise_scales=self.noise_scales * noisy,
        )

    def noise_covariance(self, output: int) -> Floats:
        """Covariance of one output's estimates by the privacy noise, shape (bins, bins)."""
        scales = self.noise_scales[:, output]
        if not self.ordered:
            return np.diag(scales**2)
        shape = noise_shape(self.bins, self.noise_length, self.noise_plain, self.apart)
        return np.asarray(scales[:, None] * np.linalg.inv(shape) * scales)

    def differ(self, weights: Floats, output: int) -> tuple[float, float, float]:
        """A contrast of the estimates, and its standard errors by noise and by sampling.

        Parameters
        ----------
        weights : ndarray of shape (bins,)
            Of each bin; they add up to 0.
        output : int
        """
        noise = float(weights @ self.noise_covariance(output) @ weights)
        sampling = float(weights**2 @ self.sampling_variances[:, output])
        value = float(weights @ self.estimates[:, output])
        return value, math.sqrt(max(noise, 0.0)), math.sqrt(sampling)

    def p_value(self) -> float:
        """How probable such estimates are for a term without any effect.

        Of all outputs and effects of three sizes, combined.
        """
        return combine([p for output in range(self.outputs) for p in self._p_values(output)])

    def _p_values(self, output: int) -> list[float]:
        """Tests of a variance component: Gaussian scores of a size against none at all."""
        variance = self.sampling_variances[:, output]
        covariance = self.noise_covariance(output)
        covariance[np.diag_indices_from(covariance)] += variance
        # Bins of very different sizes: the inverse is taken of correlations.
        sizes = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
        precision = np.linalg.inv(covariance / sizes[:, None] / sizes) / sizes[:, None] / sizes
        level = precision.sum(axis=1)
        free = precision - np.outer(level, level) / level.sum()
        pull = free @ self.estimates[:, output]
        prior = np.eye(self.bins)
        if self.ordered:
            prior = correlation(self.bins, PRIOR_LENGTH, self.apart)
        root = np.linalg.cholesky(prior)
        spectrum, vectors = np.linalg.eigh(root.T @ precision @ root)
        found = []
        for size in _SIZES:
            kept = 1.0 / (1.0 / (size * self.prior) + np.maximum(spectrum, 0.0))
            half = np.sqrt(kept)[:, None] * (root @ vectors).T
            weights = np.linalg.eigvalsh(half @ free @ half.T)
            found.append(exceed(float(((half @ pull) ** 2).sum()), weights))
        return found
