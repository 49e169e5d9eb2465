"""Explanations by noised gradient descent: the published algorithms, with sound accounting.

Patel, Shokri & Zick, "Model explanations with differential privacy", FAccT 2022. Algorithm 1 is
`descend`. Algorithms 2 and 3 choose a start and a number of steps by what earlier answers were:
published, they use the length of a gradient of the private rows as it is, which gives it away (the
number of steps tells it). Here that length is released with noise and paid for like a step, the
start is chosen by a private selection, and every question is allowed by the privacy filter with
the most it can cost. ``faithful`` keeps the published rule, for comparison, without a guarantee.
Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.answer import Answer, unknown
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.products import LocalProducts
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Gaussian, Plan, Pure, Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.mechanisms import PrivateSlopes

Floats = NDArray[np.float64]

STEP_ACCESS, START_ACCESS, LENGTH_ACCESS = (
    "gradient steps",
    "choice of a start",
    "length of a gradient",
)

_CANDIDATES = 16
"""Earlier answers among which a start is chosen: those asked nearest, which is public."""

OFFSET = 1.0
"""Largest size of an intercept: scores are in [-1, 1]."""


@dataclass(frozen=True)
class Costs:
    """Noise of the accesses of one question.

    Attributes
    ----------
    step : float
        Noise multiplier of a gradient step, and of the length of a gradient; 0: without noise.
    start : float
        Epsilon of the choice of a start; infinite: without noise.
    """

    step: float
    start: float

    def steps(self, count: int, times: float = 1.0) -> Event:
        """The event of some gradient steps with ``times`` the noise."""
        return Gaussian(count, self.step * times) if self.step > 0 else Unprotected(count)

    def choice(self) -> Event:
        """The event of the choice of a start."""
        return Pure(1, self.start) if math.isfinite(self.start) else Unprotected(1)


@dataclass(frozen=True, eq=False)
class DescentSchedule:
    """How one question is answered: from which start, in how many steps, with how much noise."""

    start: Floats
    steps: int
    times: float = 1.0


def costs_of(settings: Settings, mu_squared: float) -> Costs:
    """Noise for which T gradient steps cost ``mu_squared``; a choice costs about as much as two."""
    if not math.isfinite(mu_squared):
        return Costs(0.0, math.inf)
    step = math.sqrt(settings.steps / mu_squared) * (1.0 + 1e-9)
    return Costs(step, 1.0 / step)


class DescentAnswerer:
    """Answers questions by gradient descent on noised gradients.

    Parameters
    ----------
    allowance : Allowance
    settings : Settings
    costs : Costs
    rows : float
        How many rows there are: public, or released.
    shape : tuple of int
        Features and outputs.
    """

    def __init__(
        self,
        allowance: Allowance,
        settings: Settings,
        costs: Costs,
        rows: float,
        shape: tuple[int, int],
    ) -> None:
        self._allowance, self._settings, self._costs = allowance, settings, costs
        self._rows = rows
        self._features, self._outputs = shape
        self._steepness = self._query(np.zeros((1, self._features), dtype=np.int32)).steepness
        sides = 1.0 if allowance.ledger.relation is NeighbouringRelation.ADD_REMOVE else 2.0
        each = sides * allowance.table.rows_per_unit * self._steepness
        self._noise = costs.step * each / rows
        # The loss is no more curved than this, so longer steps would overshoot.
        self._longest = 1.0 / max(1.0, settings.weight.curvature(intercept=settings.intercept))

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on an entry of the mean gradient (s of the paper)."""
        return self._noise

    def answer(self, points: NDArray[np.int32], history: Sequence[Answer]) -> list[Answer | None]:
        """Answer one after the other; None from where the budget is gone."""
        known = [one for one in history if one.computed]
        result: list[Answer | None] = []
        for point in points:
            found = self._answer(point, known)
            if found is not None and found.computed:
                known.append(found)
            result.append(found)
        return result

    def _answer(self, point: NDArray[np.int32], known: list[Answer]) -> Answer | None:
        settings, costs = self._settings, self._costs
        adaptive = settings.strategy != "interactive"
        nearest = self._nearest(point, known) if adaptive else []
        if nearest and _distance(point, nearest[0].point) <= settings.near:
            # Theorem 4.2: a nearby answer serves as well, and costs nothing.
            return nearest[0].copied("reused", point)
        steps = [Step(STEP_ACCESS, costs.steps(settings.steps))]
        if nearest:
            steps += [Step(START_ACCESS, costs.choice()), Step(LENGTH_ACCESS, self._length_event())]
        with self._allowance.reserve(Plan(tuple(steps))) as payment:
            if payment is None:
                return None
            slopes = PrivateSlopes(self._allowance.table, self._query(point[None]))
            schedule = DescentSchedule(np.zeros((self._width, self._outputs)), settings.steps)
            if nearest:
                grant = payment.pay(Plan(tuple(steps[1:])))
                schedule = self._prepare(slopes, nearest, grant)
            paid = Step(STEP_ACCESS, costs.steps(schedule.steps, schedule.times))
            phi = self._descend(slopes, schedule, payment.pay(Plan((paid,))))
        return self._read(point, phi, schedule)

    @property
    def _width(self) -> int:
        return self._features + int(self._settings.intercept)

    def _length_event(self) -> Event:
        return Unprotected(1) if self._settings.faithful else self._costs.steps(1)

    def _query(self, points: NDArray[np.int32]) -> LocalProducts:
        settings = self._settings
        return LocalProducts(
            points,
            settings.weight,
            self._outputs,
            settings.intercept,
            radius=settings.radius,
            offset=OFFSET,
        )

    def _nearest(self, point: NDArray[np.int32], known: list[Answer]) -> list[Answer]:
        far = [_distance(point, one.point) for one in known]
        return [known[i] for i in np.argsort(far, kind="stable")[:_CANDIDATES]]

    def _prepare(
        self, slopes: PrivateSlopes, nearest: list[Answer], grant: Grant
    ) -> DescentSchedule:
        """Algorithm 2: where to start, and how many steps to take with how much noise."""
        candidates = [self._unknowns(one) for one in nearest]
        start = candidates[slopes.flattest(candidates, grant.take(START_ACCESS))]
        length = slopes.steepness(start, grant.take(LENGTH_ACCESS))
        return self._plan(start, float(length.values[0]) / self._rows)

    def _plan(self, start: Floats, beta: float) -> DescentSchedule:
        """Theorem 4.4: steps that reach the same loss from a start with a gradient of length beta.

        "enhanced" trusts a beta below the noise of a step, too; no bound on the loss is known then.
        """
        most, strategy = self._settings.steps, self._settings.strategy
        floor = math.sqrt(self._width * self._outputs) * self._noise
        reach = min(max(beta if strategy == "enhanced" else max(beta, floor), 1e-12), 1.0)
        a = math.log(1.0 / reach) / math.log(math.log(max(most, 4)))
        # Noise as long as the gradient itself, in whole powers of two so that receipts stay short.
        times = 2.0 ** math.floor(math.log2(max(beta, floor) / floor)) if floor > 0 else 1.0
        if a <= 0.5:
            return DescentSchedule(start, most, times)
        return DescentSchedule(
            start, min(max(math.ceil(reach ** (1.0 - 0.5 / a) * most), 2), most), times
        )

    def _descend(self, slopes: PrivateSlopes, schedule: DescentSchedule, grant: Grant) -> Floats:
        """Algorithm 1: projected gradient steps of length 1 / sqrt t."""
        phi = self._project(schedule.start)
        for t in range(1, schedule.steps + 1):
            found = slopes.gradient(phi, grant.take(STEP_ACCESS)).values.reshape(phi.shape)
            phi = self._project(phi - self._longest / math.sqrt(t) * found / self._rows)
        return phi

    def _project(self, phi: Floats) -> Floats:
        """The nearest allowed point: coefficients in the ball, the intercept in [-1, 1]."""
        d = len(phi) - int(self._settings.intercept)
        lengths = np.linalg.norm(phi[:d], axis=0)
        short = phi[:d] * np.minimum(1.0, self._settings.radius / np.maximum(lengths, 1e-300))
        return np.vstack([short, np.clip(phi[d:], -OFFSET, OFFSET)])

    def _unknowns(self, answer: Answer) -> Floats:
        """An earlier answer as a start."""
        if not self._settings.intercept:
            return np.array(answer.phi)
        return self._project(np.vstack([answer.phi, answer.offset[None]]))

    def _read(self, point: NDArray[np.int32], phi: Floats, schedule: DescentSchedule) -> Answer:
        d, k = self._features, self._outputs
        # An upper estimate: the loss pulls noise back where it is curved.
        walk = math.sqrt(math.fsum(1.0 / t for t in range(1, schedule.steps + 1)))
        error = self._noise * schedule.times * self._longest * walk
        has_offset = self._settings.intercept
        return Answer(
            point=point,
            phi=phi[:d],
            errors=np.full((d, k), error),
            offset=phi[d] if has_offset else np.zeros(k),
            offset_errors=np.full(k, error if has_offset else 0.0),
            agreement=unknown(k),
            r2=unknown(k),
            effective_share=math.inf,
            distance=math.inf,
            answered=self._settings.strategy,
            steps=schedule.steps,
        )


def _distance(a: NDArray[np.int32], b: NDArray[np.int32]) -> float:
    return float(np.linalg.norm((a - b) / ONE))
