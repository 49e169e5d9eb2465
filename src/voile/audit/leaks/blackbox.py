"""What the number of gradient steps gives away: the published adaptive explanations, and ours.

How it works. Patel, Shokri & Zick 2022 (Algorithm 2) take more steps where the private gradient at
an earlier answer is long: T' = ceil(sqrt(log T) beta T), beta the length of that gradient divided
by the number of rows, used as it is. Whoever asks sees how long an answer took, or what it cost.
So two tables are built that differ in one row and whose exact betas lie on either side of one of
the rule's thresholds:

- one number in [-1, 1], the published setting without an intercept, and a radius so small that
  whatever the first answer was, it does not matter for beta;
- all rows at 0, where the model says a little less than the threshold needs, as far from the
  question as a row counts most; the row that is added lies on its other side, and says -1;
- one question far away, to have an earlier answer, then the one whose steps are counted.

The published rule (``faithful=True``) then always takes two steps without the row and three with
it, whatever epsilon was set. The sound rule reads a noised beta, and its step count may tell no
more than its receipt says. Every run makes two whole explainers through the public interface, each
with a ledger of its own; the attacker's alarm ("three steps or more") is fixed beforehand, so all
runs judge it.

A sound rule that passes is not thereby proved: docs/proofs/explainer.md is what proves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from voile.audit.bounds import epsilon_by_rates
from voile.audit.two_worlds import Attack, Estimate, allowed_advantage, allowed_auc, tell_apart
from voile.codec import Order, Writable
from voile.errors import SettingError
from voile.explain.blackbox.explainer import PrivateExplainer
from voile.privacy.gaussian_dp import mu_of
from voile.privacy.receipt import Receipt
from voile.schema import Number, Schema
from voile.stored import Stored

Floats = NDArray[np.float64]

STEPS, QUESTIONS = 4, 4
"""T, most steps of a question, and questions that the budget is divided into; two are asked."""

ALARM = 3
"""So many steps raise the alarm."""

_COUNTS_MOST = (math.sqrt(3.0) - 1.0) / 2.0
"""Distance at which a row moves a gradient most: the stable weight's, c = 1."""

_RADIUS = 1e-6


@dataclass(frozen=True)
class StepCountTest(Writable):
    """How well the number of steps tells whether one row is in the table.

    Attributes
    ----------
    strategy : str
    faithful : bool
        Whether it is the published rule, or the sound one.
    runs, rows : int
        Runs in either world, and rows of the table without the row.
    epsilon, delta : float
        What was asked for in all; the published rule claims it, too.
    spent : float
        Largest epsilon that a receipt stated; infinite without a guarantee.
    steps_without, steps_with : float
        Mean number of steps.
    false_alarms, right_alarms : int
        Runs of at least three steps, without and with the row.
    advantage, auc : Estimate
        Of an attacker who sees the number of steps.
    allowed_advantage, allowed_auc : float
        What (epsilon, delta) allows any attacker.
    lowest_epsilon : float
        With confidence ``confidence``, no smaller epsilon (at this delta) can be true.
    confidence : float
    """

    file_order: ClassVar[Order] = (..., "broken")

    strategy: str
    faithful: bool
    runs: int
    rows: int
    epsilon: float
    delta: float
    spent: Annotated[float, Stored(null=math.inf)]
    steps_without: float
    steps_with: float
    false_alarms: int
    right_alarms: int
    advantage: Estimate
    auc: Estimate
    allowed_advantage: float
    allowed_auc: float
    lowest_epsilon: float
    confidence: float

    @property
    def broken(self) -> bool:
        """Whether the attacker shows that the epsilon asked for is not kept."""
        return self.lowest_epsilon > self.epsilon

    def __str__(self) -> str:
        rule = "published rule" if self.faithful else "sound rule"
        verdict = "BROKEN" if self.broken else "not exceeded"
        return (
            f"Steps of {self.strategy!r}, {rule}, with and without one of {self.rows + 1} rows"
            f" ({self.runs} runs each)\n"
            f"  mean steps {self.steps_without:.3g} without the row, {self.steps_with:.3g} with it;"
            f" alarms {self.false_alarms} and {self.right_alarms}\n"
            f"  advantage: {self.advantage}; any attacker: at most {self.allowed_advantage:.4g}\n"
            f"  epsilon is at least {self.lowest_epsilon:.3g} ({self.confidence:.0%} confidence);"
            f" asked for: {self.epsilon:g}, {verdict}"
        )


def step_count_test(
    *,
    faithful: bool,
    strategy: Literal["adaptive", "enhanced"] = "adaptive",
    epsilon: float = 1.0,
    delta: float = 1e-6,
    rows: int = 200,
    runs: int = 1000,
    confidence: float = 0.99,
) -> StepCountTest:
    """Explain with and without one row, and count the steps of an answer.

    Parameters
    ----------
    faithful : bool
        The published rule, or the sound one.
    strategy : {"adaptive", "enhanced"}
    epsilon, delta : float
        The price of an explainer, in all.
    rows : int
        Rows of the smaller table: enough that beta stands clear of the noise of a step, or the
        published rule, too, sees nothing.
    runs : int
        Explainers in either world, at least 4.
    confidence : float
        Of the lower bound on epsilon.
    """
    if runs < 4:
        raise SettingError("runs must be 4 or more.")
    needed = math.ceil(4.0 * math.sqrt(STEPS * QUESTIONS) / mu_of(epsilon, delta))
    if rows < needed:
        raise SettingError(f"At this epsilon and delta, give {needed} rows or more.")
    counts, spent = np.empty((2, runs)), 0.0
    for i in range(runs):
        for world in (0, 1):
            steps, receipt = count_steps_once(rows, world, faithful, strategy, epsilon, delta)
            counts[world, i] = steps
            spent = max(spent, receipt.epsilon)
    alarms = [int((one >= ALARM).sum()) for one in counts]
    attack: Attack = tell_apart(*counts)
    return StepCountTest(
        strategy=strategy,
        faithful=faithful,
        runs=runs,
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        spent=spent,
        steps_without=float(counts[0].mean()),
        steps_with=float(counts[1].mean()),
        false_alarms=alarms[0],
        right_alarms=alarms[1],
        advantage=attack.advantage,
        auc=attack.auc,
        allowed_advantage=allowed_advantage(epsilon, delta),
        allowed_auc=allowed_auc(epsilon, delta),
        lowest_epsilon=epsilon_by_rates(
            alarms[0], alarms[1], runs, delta=delta, confidence=confidence
        ),
        confidence=confidence,
    )


def count_steps_once(
    rows: int, added: int, faithful: bool, strategy: Any, epsilon: float, delta: float
) -> tuple[int, Receipt]:
    """Steps of the second answer of a new explainer, and its receipt."""
    said = _said_at_zero(rows)

    def model(X: Floats) -> Floats:
        return np.where(X[:, 0] < _COUNTS_MOST, said, -1.0)

    X = np.append(np.zeros(rows), np.full(added, 2.0 * _COUNTS_MOST))[:, None]
    explainer = PrivateExplainer(
        model,
        X,
        # The public row count is an approximate one: it does not tell the worlds apart.
        schema=Schema({"place": Number(-1, 1)}, rows=rows),
        epsilon=epsilon,
        delta=delta,
        strategy=strategy,
        queries=QUESTIONS,
        radius=_RADIUS,
        intercept=False,
        steps=STEPS,
        faithful=faithful,
        shared_questions=True,  # the one who asks is the attacker
    )
    found = explainer.explain_slopes(np.array([[-1.0], [_COUNTS_MOST]]))
    return found.steps[1], explainer.receipt_


def _said_at_zero(rows: int) -> float:
    """What the model says of the rows, so that beta is half a row's share below the threshold."""
    # A row at this distance adds 2 a(r) r = 2 r to the sum of gradients, times what is said.
    share = 2.0 * _COUNTS_MOST
    threshold = (ALARM - 1) / STEPS / math.sqrt(math.log(STEPS))
    return (threshold - 0.5 * share / rows) / share
