"""Epsilon spent against questions answered, for the published strategies; the published noise.

Not a script: see `quality.py`. As Figures 2 and 3 of Patel, Shokri & Zick (2022).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.blackbox.data import take
from benchmarks.blackbox.measures import (
    DELTA,
    PAPER,
    Estimate,
    Reference,
    Setting,
    equal_epsilon,
    open_explainer,
)
from benchmarks.kit.script import note
from voile import Number, PrivateExplainer, Schema
from voile.privacy.gaussian_dp import epsilon_of, mu_of
from voile.privacy.ledger.filter import SLACK

STRATEGIES = ("interactive", "adaptive", "enhanced")
NOISE_LENGTH = 0.05
"""sqrt(n) s_min, the length of the noise of a step: the paper's is .03 to .1."""

CHECKPOINTS = (1, 3, 10, 30, 60, 100, 200, 300, 500, 750, 1_000, 1_250, 1_500)
STEPS = 300


@dataclass(frozen=True, slots=True)
class Curve:
    """One strategy over many questions.

    Attributes
    ----------
    strategy : str
    counts, epsilons : tuple
        Questions answered, and what the receipt says was spent on them.
    noise_length : float
        sqrt(n) s: the noise of a step at full price.
    steps, steps_computed : float
        Mean gradient steps per question, and per question that was not answered by a copy.
    reused, offline : float
        Share of questions answered by a copy, and from earlier answers for want of budget.
    loss : Estimate
        On some of the questions, evenly spaced.
    seconds : float
        Per question.
    """

    set: str
    strategy: str
    counts: tuple[int, ...]
    epsilons: tuple[float, ...]
    noise_length: float
    steps: float
    steps_computed: float
    reused: float
    offline: float
    loss: Estimate
    zero: float
    seconds: float

    @property
    def spent(self) -> float:
        return self.epsilons[-1]


@dataclass(frozen=True, slots=True)
class Offline:
    """Loss of answers from earlier ones alone (Algorithm 4), beside that of those earlier ones."""

    set: str
    history: int
    loss: Estimate
    before: Estimate
    zero: float


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """Noise of one of T gradient steps on a sum with sensitivity c, at the same epsilon."""

    epsilon: float
    steps: int
    published: float
    ours: float

    @property
    def ratio(self) -> float:
        return self.published / self.ours


def needed_epsilon(reference: Reference, questions: int, setting: Setting) -> float:
    """Budget for which a step's noise is `NOISE_LENGTH` long, from public facts alone."""
    found = open_explainer(
        reference.task, reference.model, "interactive", 1.0, setting, queries=questions
    )
    length = found.explainer._opened.reader.noise * math.sqrt(reference.features)
    inner = DELTA * (1.0 - SLACK)
    return epsilon_of(mu_of(1.0, inner) * length / NOISE_LENGTH, inner)


def spend(
    reference: Reference,
    strategy: str,
    epsilon: float,
    questions: int,
    sample: Sequence[int],
    setting: Setting = PAPER,
) -> Curve:
    """Ask one question after the other; the receipt tells what was spent.

    `reference` has the questions as asked rows.
    """
    task = reference.task
    explainer = open_explainer(
        task, reference.model, strategy, epsilon, setting, queries=questions
    ).explainer
    ends = [n for n in CHECKPOINTS if n < questions] + [questions]
    epsilons, answered, steps, losses, zeros = [], [], [], [], []
    start, begin, measuring = time.perf_counter(), 0, 0.0
    for end in ends:
        found = explainer.explain_slopes(take(reference.asked, slice(begin, end)))
        epsilons.append(float(explainer.receipt_.epsilon))
        answered += found.answered
        steps += found.steps
        pause = time.perf_counter()
        for k in (k for k in sample if begin <= k < end):
            one = reference.measure(found[k - begin], setting, k)
            losses.append(one.loss[0])
            zeros.append(one.zero[0])
        measuring += time.perf_counter() - pause
        begin = end
    seconds = (time.perf_counter() - start - measuring) / questions
    took = [n if by == strategy else 0 for n, by in zip(steps, answered, strict=True)]
    own = [n for n, by in zip(steps, answered, strict=True) if by == strategy]
    found_curve = Curve(
        task.name,
        strategy,
        tuple(ends),
        tuple(epsilons),
        explainer._opened.reader.noise * math.sqrt(reference.features),
        float(np.mean(took)),
        float(np.mean(own)) if own else 0.0,
        answered.count("reused") / questions,
        answered.count("offline") / questions,
        Estimate.of(losses),
        float(np.mean(zeros)),
        seconds,
    )
    note(
        f"{task.name}, {strategy}: eps {found_curve.spent:.3g} for {questions:,} questions, "
        f"{found_curve.steps:.0f} steps each, {found_curve.reused:.0%} reused, loss "
        f"{found_curve.loss.value:.3g}"
    )
    return found_curve


def curves(
    reference: Reference,
    questions: int,
    sampled: int,
    setting: Setting = PAPER,
    strategies: Sequence[str] = STRATEGIES,
) -> list[Curve]:
    """Every strategy at the same noise per step."""
    epsilon = needed_epsilon(reference, questions, setting)
    sample = np.unique(np.linspace(0, questions - 1, sampled).astype(int)).tolist()
    return [spend(reference, one, epsilon, questions, sample, setting) for one in strategies]


def offline(
    reference: Reference,
    questions: int,
    history: int,
    sampled: int,
    setting: Setting = PAPER,
) -> Offline:
    """Use the budget up with `history` questions, at the noise of the curves; then ask on."""
    total = needed_epsilon(reference, questions, setting)
    explainer = open_explainer(
        reference.task,
        reference.model,
        "interactive",
        equal_epsilon(total, questions, history),
        setting,
        queries=history,
    ).explainer
    first = explainer.explain_slopes(take(reference.asked, slice(0, history)))
    # Rounding, or the noised count, may have left one question's worth.
    after = explainer.explain_slopes(take(reference.asked, slice(history, history + sampled + 1)))[
        1:
    ]
    assert set(after.answered) == {"offline"}, after.answered
    losses = reference.measure(after, setting, history + 1)
    known = reference.measure(first[:sampled], setting)
    found = Offline(
        reference.task.name,
        history,
        Estimate.of(losses.loss),
        Estimate.of(known.loss),
        float(losses.zero.mean()),
    )
    note(f"offline after {history} answers: loss {found.loss.value:.3g}")
    return found


def published_noise(
    epsilon: float, steps: int = STEPS, delta: float = DELTA, c: float = 1.0
) -> float:
    """Noise of a step as the paper sets it: strong composition of T Gaussian mechanisms.

    eps_ite = eps / sqrt(8 T log(1 / delta)), and s = c sqrt(2 log(2.5 T / delta)) / eps_ite.
    """
    each = epsilon / math.sqrt(8.0 * steps * math.log(1.0 / delta))
    return c * math.sqrt(2.0 * math.log(2.5 * steps / delta)) / each


def noise_rows(epsilons: Sequence[float] = (0.01, 0.1, 1.0), steps: int = STEPS) -> list[NoiseRow]:
    """The published noise beside that of an explainer for one question (the unit ball, c = 1)."""
    count = 1_000
    X = np.random.default_rng(0).uniform(-1, 1, (count, 2))
    schema = Schema({"a": Number(-1, 1), "b": Number(-1, 1)}, rows=count)
    results = []
    for epsilon in epsilons:
        explainer = PrivateExplainer(
            lambda rows: np.asarray(rows)[:, 0],
            X,
            schema=schema,
            epsilon=epsilon,
            delta=DELTA,
            strategy="interactive",
            queries=1,
            steps=steps,
            radius=PAPER.radius,
            intercept=PAPER.intercept,
        )
        ours = explainer._opened.reader.noise * count
        results.append(NoiseRow(epsilon, steps, published_noise(epsilon, steps), ours))
    return results
