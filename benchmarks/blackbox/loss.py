"""Utility loss of every strategy at equal total epsilon, and where they cross.

Not a script: see `quality.py`. The noise of a question depends on the number of questions that
the budget is divided into, not on how many are asked: so the loss is measured on a sample.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks.blackbox.data import Task, take
from benchmarks.blackbox.measures import (
    DELTA,
    PAPER,
    Estimate,
    Measured,
    Reference,
    Setting,
    equal_epsilon,
    open_explainer,
    stack,
    timed,
)
from benchmarks.kit.script import note
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.synthetic.crossover import crossover as rule
from voile.privacy.budget import Budget
from voile.privacy.gaussian_dp import mu_of

STRATEGIES = ("summary", "release", "interactive", "adaptive", "enhanced")
SLOW = ("interactive", "adaptive", "enhanced")
QUESTIONS = (1, 10, 100, 1_000, 4_500)
MORE_SUMMARIES = 3


@dataclass(frozen=True, slots=True)
class LossCell:
    """One strategy at one epsilon on one set.

    Attributes
    ----------
    set, setting, strategy : str
    rows, features : int
    epsilon : float
        In all, for `queries` questions.
    queries, asked, seeds : int
        `asked` rows were explained, by each of `seeds` explainers.
    loss, agreement, shared : Estimate
    zero, best_agreement, majority : float
        Loss of phi = 0; agreement of the exact explanation, and of the majority class.
    steps, reused : float
        Mean steps of those computed, and share of answers taken from earlier ones.
    opening, seconds : float
        To make the explainer (the model's answers known), and per question.
    """

    set: str
    setting: str
    strategy: str
    rows: int
    features: int
    epsilon: float
    queries: int
    asked: int
    seeds: int
    loss: Estimate
    zero: float
    agreement: Estimate
    best_agreement: float
    majority: float
    shared: Estimate
    steps: float
    reused: float
    opening: float
    seconds: float


@dataclass(frozen=True, slots=True)
class CrossCell:
    """Loss of one strategy when the budget is divided into so many questions."""

    set: str
    epsilon: float
    strategy: str
    queries: int
    loss: Estimate
    zero: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """From how many questions on the summary has the smaller loss: by the rule, and measured.

    `release` and `interactive` are infinite if the summary never has it within what was measured.
    """

    set: str
    epsilon: float
    rule: float
    release: float
    interactive: float


@dataclass(frozen=True, slots=True)
class Constants:
    """What fits `voile.explain.blackbox.synthetic.crossover` best: losses times (rows x mu)^2."""

    set: str
    release: float
    summary: float
    floor: float


@dataclass(frozen=True)
class Plan:
    """How much is asked: rows for quick strategies, for slow ones, and explainers of each.

    The noise of a summary is drawn once for all rows, so that there must be more of them.
    """

    asked: int
    slow: int
    seeds: int

    def explainers(self, strategy: str) -> int:
        return MORE_SUMMARIES * self.seeds if strategy == "summary" else self.seeds

    def rows(self, strategy: str, task: Task) -> int:
        return min(self.slow if strategy in SLOW else self.asked, task.most_asked)


def cell(
    reference: Reference,
    setting: Setting,
    strategy: str,
    epsilon: float,
    queries: int,
    runs: Sequence[tuple[LocalSurrogate, float, float]],
) -> LossCell:
    """From explanations, seconds of opening and seconds per question of each seed."""
    task = reference.task
    found: list[Measured] = [reference.measure(one, setting) for one, _, _ in runs]
    told = [by for one, _, _ in runs for by in one.answered]
    steps = [
        n for one, _, _ in runs for n, by in zip(one.steps, one.answered, strict=True) if by in SLOW
    ]
    return LossCell(
        task.name,
        setting.name,
        strategy,
        len(reference.points),
        reference.features,
        epsilon,
        queries,
        len(runs[0][0]),
        len(runs),
        Estimate.of(stack(found, "loss")),
        float(found[0].zero.mean()),
        Estimate.of(stack(found, "agreement")),
        float(found[0].best_agreement.mean()),
        float(found[0].majority.mean()),
        Estimate.of(stack(found, "shared")),
        float(np.mean(steps)) if steps else 0.0,
        sum(by == "reused" for by in told) / max(len(told), 1),
        float(np.mean([opening for _, opening, _ in runs])),
        float(np.mean([each for _, _, each in runs])),
    )


def losses(
    reference: Reference,
    settings: Sequence[Setting],
    epsilons: Sequence[float],
    strategies: Sequence[str],
    plan: Plan,
    queries: int | None = None,
) -> list[LossCell]:
    """Every strategy in every setting; the settings of a summary share it, which is free."""
    task, model = reference.task, reference.model
    queries = queries or task.queries
    results = []
    for epsilon in epsilons:
        for strategy in strategies:
            count = plan.rows(strategy, task)
            rows = take(reference.asked, slice(0, count))
            # A budget for one question cannot answer many: see `equal_epsilon`.
            budget = equal_epsilon(epsilon, queries, count) if queries < count else epsilon
            runs: dict[Setting, list[tuple[LocalSurrogate, float, float]]] = {
                s: [] for s in settings
            }
            for seed in range(plan.explainers(strategy)):
                if strategy == "summary":
                    one = open_explainer(task, model, strategy, epsilon, settings[0], seed=seed)
                    for setting in settings:
                        other = one.explainer.with_model(None, **setting.options(task))
                        runs[setting].append(_turn(timed(other.explain_slopes, rows), one.seconds))
                    continue
                for setting in settings:
                    one = open_explainer(
                        task,
                        model,
                        strategy,
                        budget,
                        setting,
                        queries=max(queries, count),
                        seed=seed,
                    )
                    runs[setting].append(
                        _turn(timed(one.explainer.explain_slopes, rows), one.seconds)
                    )
            for setting in settings:
                found = cell(reference, setting, strategy, epsilon, queries, runs[setting])
                results.append(found)
                note(
                    f"{task.name}, eps {epsilon:g}, {setting.name}, {strategy}: loss "
                    f"{found.loss.value:.3g} +- {found.loss.error:.1g}, agreement "
                    f"{found.agreement.value:.3f}, top 5 {found.shared.value:.2f}, "
                    f"{found.opening:.1f} s + {1e3 * found.seconds:.0f} ms"
                )
    return results


def _turn(
    found: tuple[LocalSurrogate, float], opening: float
) -> tuple[LocalSurrogate, float, float]:
    return found[0], opening, found[1]


def crossing_cells(
    reference: Reference,
    epsilons: Sequence[float],
    plan: Plan,
    questions: Sequence[int] = QUESTIONS,
    setting: Setting = PAPER,
) -> list[CrossCell]:
    """Loss against the number of questions; that of a summary is the same for all."""
    results = []
    for epsilon in epsilons:
        for strategy in STRATEGIES:
            for queries in questions[:1] if strategy == "summary" else questions:
                found = losses(reference, (setting,), (epsilon,), (strategy,), plan, queries)[0]
                counts = questions if strategy == "summary" else (queries,)
                results += [
                    CrossCell(found.set, epsilon, strategy, n, found.loss, found.zero)
                    for n in counts
                ]
    return results


def crossings(cells: Sequence[CrossCell], rows: int) -> list[Crossing]:
    """Where the summary becomes better, by lines between what was measured (logarithms)."""
    results = []
    for name, epsilon in dict.fromkeys((one.set, one.epsilon) for one in cells):
        lines = {
            strategy: {
                one.queries: one.loss.value
                for one in cells
                if (one.set, one.epsilon, one.strategy) == (name, epsilon, strategy)
            }
            for strategy in ("summary", "release", "interactive")
        }
        level = float(np.mean(list(lines["summary"].values())))
        results.append(
            Crossing(
                name,
                epsilon,
                rule(rows, Budget(epsilon, DELTA)),
                meet(lines["release"], level),
                meet(lines["interactive"], level),
            )
        )
    return results


def meet(line: dict[int, float], level: float) -> float:
    """Where a rising line passes a level; beyond its ends it goes on in proportion."""
    places = sorted(line)
    if not places:
        return math.nan
    if line[places[0]] >= level:
        return places[0] * level / line[places[0]]
    for left, right in itertools.pairwise(places):
        low, high = line[left], line[right]
        if low < level <= high:
            part = math.log(level / low) / math.log(high / low)
            return float(left * (right / left) ** part)
    return math.inf


def fit_constants(cells: Sequence[CrossCell], rows: int) -> Constants:
    """The constants of the rule that fit best where lines cross.

    Losses stop growing in proportion to the noise as they come near that of phi = 0; so what counts
    are the questions nearest to each crossing, relative errors alike.
    """
    strengths, places, release = [], [], []
    for one in crossings(cells, rows):
        if not 0 < one.release < math.inf:
            continue
        strength = (rows * mu_of(one.epsilon, DELTA)) ** 2
        line = [c for c in cells if (c.epsilon, c.strategy) == (one.epsilon, "release")]
        near = min(line, key=lambda c: abs(math.log(c.queries / one.release)))
        strengths.append(strength)
        places.append(one.release)
        release.append(math.log(near.loss.value * strength / near.queries))
    if not places:
        return Constants(cells[0].set, math.nan, math.nan, math.nan)
    design = np.column_stack([strengths, np.ones(len(places))]) / np.array(places)[:, None]
    scale = design.max(axis=0)
    floor, noise = nnls(design / scale, np.ones(len(places)))[0] / scale
    each = math.exp(float(np.mean(release)))
    return Constants(cells[0].set, each, float(noise * each), float(floor * each))
