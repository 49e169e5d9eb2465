"""Explanations by one noised release of (A, b) per question, and offline ones of earlier answers.

The whole pair costs no more than a single gradient step of the published algorithm, whatever the
radius, and everything after it is post-processing: an exact solution instead of hundreds of noisy
steps. Questions asked together are answered in one pass. Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.answer import Answer, unknown
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.local_fit import LocalFit, fit_local
from voile.explain.blackbox.solvers.products import LocalProducts
from voile.privacy.events import Event, Gaussian, Plan, Step, Unprotected
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.mechanisms import gaussian_sum

Floats = NDArray[np.float64]

PAIR_ACCESS = "products around asked rows"

_TOGETHER = 64
"""Most questions in one access: their sums must fit into memory."""


class ReleaseAnswerer:
    """Answers questions by releasing their (A, b).

    Parameters
    ----------
    allowance : Allowance
    settings : Settings
    mu_squared : float
        What one question costs; infinite: without noise.
    outputs : int
    """

    def __init__(
        self, allowance: Allowance, settings: Settings, mu_squared: float, outputs: int
    ) -> None:
        self._allowance, self._settings = allowance, settings
        self._mu_squared, self._outputs = mu_squared, outputs

    def plan(self, questions: int) -> Plan:
        """What some questions cost that are asked together."""
        event: Event = Unprotected(1)
        if math.isfinite(self._mu_squared):
            # A row is in the sums of so many questions; their norms add in squares.
            together = -(-questions // self._settings.parts)
            event = Gaussian(1, 1.0 / math.sqrt(self._mu_squared * together) * (1.0 + 1e-9))
        return Plan((Step(PAIR_ACCESS, event),))

    def answer(self, points: NDArray[np.int32], history: Sequence[Answer]) -> list[Answer | None]:
        """Answer as many as the budget allows, in order; None for the rest."""
        result: list[Answer | None] = []
        start = 0
        while start < len(points):
            batch = points[start : start + _TOGETHER]
            found = self._batch(batch)
            while found is None and len(batch) > 1:
                # All together do not fit any more: perhaps some do.
                batch = batch[: len(batch) // 2]
                found = self._batch(batch)
            if found is None:
                break
            result += found
            start += len(batch)
        return result + [None] * (len(points) - len(result))

    def _batch(self, points: NDArray[np.int32]) -> list[Answer | None] | None:
        settings = self._settings
        plan = self.plan(len(points))
        with self._allowance.reserve(plan) as payment:
            if payment is None:
                return None
            query = LocalProducts(
                points, settings.weight, self._outputs, settings.intercept, settings.parts
            )
            grant = payment.pay(plan)
            release = gaussian_sum(self._allowance.table, query, grant.take(PAIR_ACCESS))
        matrices, vectors = query.split(release.values)
        error = release.standard_error
        return [
            self._read(point, matrix, vector, error)
            for point, matrix, vector in zip(points, matrices, vectors, strict=True)
        ]

    def _read(
        self, point: NDArray[np.int32], matrix: Floats, vector: Floats, error: float
    ) -> Answer:
        settings = self._settings
        # Noise makes A uncertain by about error x sqrt(width) in every direction.
        ridge = error * math.sqrt(len(matrix) / 2.0)
        fit = fit_local(
            matrix, vector, radius=settings.radius, intercept=settings.intercept, ridge=ridge
        )
        effective_share, distance = math.inf, math.inf
        if settings.intercept and matrix[-1, -1] > 0:
            spread = float(np.trace(matrix[:-1, :-1])) / float(matrix[-1, -1])
            distance = math.sqrt(max(spread, 0.0))
        # Scores are in [-1, 1]; noise that leaves little mass would carry the offset anywhere.
        fit = replace(fit, offset=np.clip(fit.offset, -1.0, 1.0))
        return answer_of(point, fit, error, "release", effective_share, distance)


def answer_of(
    point: NDArray[np.int32],
    fit: LocalFit,
    error: float,
    answered: str,
    effective_share: float,
    distance: float,
) -> Answer:
    """An answer with the standard errors that noise on every entry of (A, b) makes."""
    d, k = fit.phi.shape
    errors, offset_errors = np.empty((d, k)), np.zeros(k)
    for output in range(k):
        # Noise on b - A w: that of b, and of a symmetric matrix times w, whose covariance is
        # (|w|^2 + w w') / 2 of the variance on the diagonal.
        w, moves = fit.unknowns(output), fit.moves[output]
        square = (1.0 + 0.5 * float(w @ w)) * (moves**2).sum(axis=1) + 0.5 * (moves @ w) ** 2
        deviations = error * np.sqrt(square)
        errors[:, output] = deviations[:d]
        offset_errors[output] = deviations[d] if len(w) > d else 0.0
    return Answer(
        point=point,
        phi=fit.phi,
        errors=errors,
        offset=fit.offset,
        offset_errors=offset_errors,
        agreement=unknown(k),
        r2=unknown(k),
        effective_share=effective_share,
        distance=distance,
        answered=answered,
    )


class OfflineAnswerer:
    """Earlier answers put together when the budget is gone: free, of released values alone.

    In the place of Algorithm 4, which fits a model to labels of earlier questions: the released
    local models themselves, each moved to the asked point, are averaged, those asked about near it
    counting most. What the black box says of an earlier row takes no part.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def answer(self, points: NDArray[np.int32], history: Sequence[Answer]) -> list[Answer | None]:
        """Answer what can be answered from what was paid for before; None for the rest."""
        known = [one for one in history if one.computed]
        return [self._answer(point, known) for point in points]

    def _answer(self, point: NDArray[np.int32], known: list[Answer]) -> Answer | None:
        if not known:
            return None
        moved = (point - np.array([one.point for one in known])) / ONE
        far = np.sqrt((moved**2).sum(axis=1))
        weights = self._settings.weight.at(far)
        total = float(weights.sum())
        if total <= 0.0:
            return None
        parts = weights / total
        phis = np.array([one.phi for one in known])
        phi = np.einsum("i,ijk->jk", parts, phis)
        offset = np.zeros(phi.shape[1])
        if self._settings.intercept:
            here = np.array([one.offset for one in known]) + np.einsum("ij,ijk->ik", moved, phis)
            offset = np.clip(parts @ np.clip(here, -1.0, 1.0), -1.0, 1.0)
        # What noise the earlier answers had, and how they differ from here, is not followed up.
        return Answer(
            point=point,
            phi=phi,
            errors=np.full(phi.shape, math.inf),
            offset=offset,
            offset_errors=unknown(len(offset)),
            agreement=unknown(len(offset)),
            r2=unknown(len(offset)),
            effective_share=0.0,
            distance=math.sqrt(float(parts @ far**2)),
            answered="offline",
            computed=False,
        )
