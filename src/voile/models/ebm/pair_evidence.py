"""What the released sums say of a pair of columns without any smoothing, and the test of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from voile.arrays import Array, Floats
from voile.models.ebm.smoothing import PRIOR_LENGTH, correlation, noise_shape
from voile.models.significance import combine, exceed

_SIZES = (0.0003, 0.01, 0.25)
"""Variances of effects that the test looks for, as for single columns."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEvidence:
    """Estimates of a pair's cells that no prior has drawn to zero, and how far they may be wrong.

    Only what two columns do *together* means something: sums of an effect of each belong to the
    columns' own curves.

    Attributes
    ----------
    estimates : ndarray of shape (first, second, outputs)
        In units of the score.
    sampling_variances : ndarray of shape (first, second, outputs)
        Variance by which people were among the rows; cells are independent of each other.
    noise_scales : ndarray of shape (first, second, outputs)
        Standard deviation by the privacy noise, before its shape.
    noise_lengths, noise_plains : tuple of two floats
        Shape of the noise along each side: see `voile.models.ebm.smoothing.noise_shape`; (0, 1) for
        parts that are independent.
    aparts : tuple of two ints
        How many parts at the end of each side have no place in an order.
    prior : float
        Variance of large effects, in squared units of the score.
    candidates : int
        Pairs among which this one was chosen by the rows; 1 if a person named it.
    """

    estimates: Annotated[Floats, Array("first", "second", "outputs", most=math.inf)]
    sampling_variances: Annotated[
        Floats, Array("first", "second", "outputs", least=0.0, most=math.inf)
    ]
    noise_scales: Annotated[Floats, Array("first", "second", "outputs", least=0.0, most=math.inf)]
    noise_lengths: tuple[float, float]
    noise_plains: tuple[float, float]
    aparts: tuple[int, int]
    prior: float
    candidates: int

    @property
    def first(self) -> int:
        """Parts of the first column."""
        return int(np.shape(self.estimates)[0])

    @property
    def second(self) -> int:
        """Parts of the second column."""
        return int(np.shape(self.estimates)[1])

    @property
    def outputs(self) -> int:
        """Scores per row."""
        return int(np.shape(self.estimates)[2])

    def p_value(self) -> float:
        """How probable such estimates are if the columns do nothing together.

        Of all outputs and effects of three sizes, combined, and allowing for all pairs among which
        it was chosen.
        """
        found = [p for output in range(self.outputs) for p in self._p_values(output)]
        return min(1.0, combine(found) * self.candidates)

    def _side(self, side: int, parts: int) -> tuple[Floats, Floats]:
        """Inverse shape of the noise, and of the prior, along one side."""
        length, apart = self.noise_lengths[side], self.aparts[side]
        if length <= 0:
            return np.eye(parts), np.eye(parts)
        noise = np.linalg.inv(noise_shape(parts, length, self.noise_plains[side], apart))
        return np.asarray(noise), correlation(parts, PRIOR_LENGTH, apart)

    def _p_values(self, output: int) -> list[float]:
        """Tests of a variance component: Gaussian scores of a size against sums of two curves."""
        first, second = self._side(0, self.first), self._side(1, self.second)
        scales = self.noise_scales[:, :, output].ravel()
        covariance = scales[:, None] * np.kron(first[0], second[0]) * scales
        covariance[np.diag_indices_from(covariance)] += self.sampling_variances[
            :, :, output
        ].ravel()
        sizes = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
        precision = np.linalg.inv(covariance / sizes[:, None] / sizes) / sizes[:, None] / sizes
        # What curves of each column can say is not the pair's: it is taken out.
        curves = np.hstack(
            [
                np.kron(np.eye(self.first), np.ones((self.second, 1))),
                np.kron(np.ones((self.first, 1)), np.eye(self.second)),
            ]
        )
        told = precision @ curves
        free = precision - told @ np.linalg.pinv(curves.T @ told) @ told.T
        pull = free @ self.estimates[:, :, output].ravel()
        root = np.linalg.cholesky(np.kron(first[1], second[1]))
        spectrum, vectors = np.linalg.eigh(root.T @ free @ root)
        spectrum = np.maximum(spectrum, 0.0)
        basis = root @ vectors
        projected = (basis.T @ pull) ** 2
        found = []
        for size in _SIZES:
            kept = 1.0 / (1.0 / (size * self.prior) + spectrum)
            found.append(exceed(float(projected @ kept), spectrum * kept))
        return found
