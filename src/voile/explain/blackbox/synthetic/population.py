"""Explanations from a released population of synthetic rows: free for ever, any weight, any model.

Rows were drawn from a private summary and weighted to agree with it; the black box is asked about
them, which costs the private rows nothing. Everything here is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.local_fit import SINGLE, LocalFit, fit_local
from voile.explain.blackbox.solvers.weights import choose_width, gaussian

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Population:
    """Weighted synthetic rows, and what the black box says of them.

    Attributes
    ----------
    points : ndarray of shape (rows, features)
        In the unit ball.
    answers : ndarray of shape (rows, outputs)
        In [-1, 1].
    weights : ndarray of shape (rows,)
        They sum to 1.
    reweightings : ndarray of shape (rows, draws)
        By which part each weight would differ had the noise been another, for some draws of it.
    """

    points: Floats
    answers: Floats
    weights: Floats
    reweightings: Floats

    @property
    def outputs(self) -> int:
        """Answers per row."""
        return int(self.answers.shape[1])

    @cached_property
    def _singles(self) -> tuple[Singles, Singles]:
        """Points, and points with answers and 1 beside them, in single precision."""
        points = self.points.astype(np.float32)
        ones = np.ones((len(points), 1), dtype=np.float32)
        return points, np.hstack([points, self.answers.astype(np.float32), ones])

    @cached_property
    def _squares(self) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", self.points, self.points))

    def explain(self, point: NDArray[np.int32], settings: Settings) -> Answer:
        """Fit the local model around one point."""
        z = point / ONE
        d = len(z)
        points, wide = self._singles
        along = (points @ z.astype(np.float32)).astype(np.float64)
        far = np.sqrt(np.maximum(self._squares - 2.0 * along + z @ z, 0.0))
        width = choose_width(far, self.weights, d) if settings.local else math.nan
        near = gaussian(far, width) if settings.local else settings.weight.at(far)
        local = near * self.weights
        weighed = wide * (2.0 * local)[:, None].astype(np.float32)
        sums = (weighed.T @ wide).astype(np.float64)
        matrix, vectors = _around(z, sums, d, settings.intercept)
        fit = fit_local(
            matrix,
            vectors,
            radius=settings.radius,
            intercept=settings.intercept,
            ridge=settings.ridge,
            flat=SINGLE,
        )
        scores = (points @ fit.phi.astype(np.float32)).astype(np.float64)
        scores += fit.offset - z @ fit.phi
        mass = max(float(local.sum()), 1e-300)
        rest = self.answers - scores
        mean = local @ self.answers / mass
        variance = local @ (self.answers - mean) ** 2
        agrees = (scores >= 0) == (self.answers >= 0)
        squares = float(self.weights @ near**2)
        errors, offset_errors = self._errors(weighed, z, rest, fit, settings)
        return Answer(
            point=point,
            phi=fit.phi,
            errors=errors,
            offset=fit.offset,
            offset_errors=offset_errors,
            agreement=local @ agrees / mass,
            r2=1.0 - local @ rest**2 / np.maximum(variance, 1e-12),
            effective_share=min(mass**2 / squares, 1.0) if squares > 0 else 0.0,
            distance=float(np.sqrt(local @ far**2 / mass)),
            answered="summary",
            width=width,
        )

    def _errors(
        self,
        weighed: Singles,
        z: Floats,
        rest: Floats,
        fit: LocalFit,
        settings: Settings,
    ) -> tuple[Floats, Floats]:
        """Deviation of phi and offset when weights are reweighted by other draws of the noise."""
        d, k = len(z), self.outputs
        errors, offset_errors = np.zeros((d, k)), np.zeros(k)
        if not self.reweightings.shape[1]:
            return np.full((d, k), np.inf), np.full(k, np.inf)
        reweightings = self.reweightings.astype(np.float32)
        for output in range(k):
            # How the gradient at the solution moves with the weights, around the asked point.
            moved = reweightings * rest[:, output : output + 1].astype(np.float32)
            pushes = (weighed.T @ moved).astype(np.float64)
            around = pushes[:d] - np.outer(z, pushes[-1])
            if settings.intercept:
                around = np.vstack([around, pushes[-1:]])
            moves = fit.moves[output] @ around
            errors[:, output] = np.sqrt((moves[:d] ** 2).mean(axis=1))
            offset_errors[output] = np.sqrt((moves[d:] ** 2).mean()) if settings.intercept else 0.0
        return errors, offset_errors


def _around(z: Floats, sums: Floats, d: int, intercept: bool) -> tuple[Floats, Floats]:
    """A and b around a point from sums of 2a (x, f, 1)(x, f, 1)'."""
    first, mass = sums[:d, -1], float(sums[-1, -1])
    answers = sums[-1, d:-1]
    matrix = sums[:d, :d] - np.outer(first, z) - np.outer(z, first) + mass * np.outer(z, z)
    vectors = sums[:d, d:-1] - np.outer(z, answers)
    if not intercept:
        return matrix, vectors
    cross = (first - mass * z)[:, None]
    return np.block([[matrix, cross], [cross.T, np.array([[mass]])]]), np.vstack([vectors, answers])
