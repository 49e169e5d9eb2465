"""Private explanations of black boxes: every strategy at equal epsilon, beside the paper's figures.

Run ``python benchmarks/blackbox/quality.py [options]``;
without options, everything (an hour or two).

    --sets a,b           of adult, diabetes130, imdb and fer
    --only a,b           of loss, crossover, budget, useful, models, speed and groups
    --eps .1,1           total epsilons of `loss` and `crossover` (the latter has 10 beside them)
    --settings a,b       of paper (unit ball, no intercept) and default (its own radius, intercept)
    --strategies a,b     of summary, release, interactive, adaptive and enhanced, for `loss`
    --queries N          questions that the budget is divided into (default 4,500; imdb 1,000)
    --asked N            rows that are explained (default 100), out of those questions
    --slow N             the same for strategies that take gradient steps (default 30)
    --seeds N            explainers of each kind, with noise of their own (default 2; three times
                         as many summaries, whose noise is drawn once for all rows)
    --questions N        of `budget` (default 1,500)
    --trees N            of the forests (default 500; 100 on imdb)
    --full               pictures of 48x48 pixels instead of 24x24
    --quick              adult alone, 50 trees, few rows and one seed: some minutes
    --json FILE          where the records go
    --plots DIR          where explainer.html and explainer.md go

All after Patel, Shokri & Zick (2022), delta 1e-6. A loss is measured against the exact explanation
on the private rows, which a benchmark may look at. What is explained are rows held out. Needs lime
and shap for `useful`; what is missing is skipped and said to be. The status is 1 if something
failed, and 0 otherwise, whoever is better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import math
import os
import time
from functools import partial

from benchmarks.blackbox import budget as explainer_budget
from benchmarks.blackbox import data as explainer_data
from benchmarks.blackbox import loss as explainer_loss
from benchmarks.blackbox import models as explainer_models
from benchmarks.blackbox import report as explainer_report
from benchmarks.blackbox import speed as explainer_speed
from benchmarks.blackbox import useful as explainer_useful
from benchmarks.blackbox.data import Task
from benchmarks.blackbox.loss import Plan
from benchmarks.blackbox.measures import DEFAULT, DELTA, SETTINGS, Reference
from benchmarks.blackbox.models import Remembered
from benchmarks.blackbox.report import Findings
from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note, numbers, parser_of, some_of

EXPERIMENTS = ("loss", "crossover", "budget", "useful", "models", "groups", "speed")
TABLES = ("adult", "made")
"""Sets for the experiments that are run on one table."""

TRAINED = (0.5, 2.0, 10.0, math.inf)
PICTURE_EPSILONS = (0.01, 0.1)
USEFUL_EPSILON = 1.0
MORE_EPSILONS = (10.0,)


def plan_of(options: argparse.Namespace) -> Plan:
    return Plan(options.asked, options.slow, options.seeds)


def run_loss(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    task, pictures = reference.task, reference.task.name == "fer"
    found.losses += explainer_loss.losses(
        reference,
        [SETTINGS[name] for name in options.settings],
        PICTURE_EPSILONS if pictures else options.eps,
        options.strategies,
        plan_of(options),
        task.queries if pictures else options.queries,
    )


def run_crossover(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    if reference.task.name not in (*TABLES, "imdb"):
        return
    plan = Plan(options.slow, options.slow, options.seeds)
    epsilons = sorted({*options.eps, *(() if options.quick else MORE_EPSILONS)})
    cells = explainer_loss.crossing_cells(reference, epsilons, plan)
    rows = len(reference.points)
    found.crosses += cells
    found.crossings += explainer_loss.crossings(cells, rows)
    found.constants.append(explainer_loss.fit_constants(cells, rows))


def run_budget(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    found.noises = explainer_budget.noise_rows()
    if reference.task.name not in TABLES:
        return
    questions, history = options.questions, max(options.questions // 5, 2)
    count = max(questions, history + options.slow + 2)
    many = Reference(reference.task, reference.model, reference.task.ask(count, seed=7))
    found.curves += explainer_budget.curves(many, questions, options.slow)
    found.offline.append(explainer_budget.offline(many, questions, history, options.slow))


def run_useful(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    task, plan = reference.task, plan_of(options)
    if task.name in TABLES:
        found.useful += explainer_loss.losses(
            reference, (DEFAULT,), (USEFUL_EPSILON,), ("summary",), plan
        )
    peer = {"adult": "SHAP", "made": "SHAP", "imdb": "LIME"}.get(task.name)
    if peer is None:
        return
    if not explainer_useful.installed(peer.lower()):
        found.absent.append(f"{peer} on {task.name}: pip install {peer.lower()}")
        return
    asked = min(options.slow, task.most_asked)
    found.peers += explainer_useful.peer_cells(
        reference, peer, USEFUL_EPSILON, asked, options.seeds
    )


def run_models(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    task, plan = reference.task, Plan(options.slow, options.slow, max(options.seeds // 2, 1))
    if task.name not in TABLES:
        return
    trained = TRAINED[1:3] if options.quick else TRAINED
    few = options.trees or 100
    found.models += explainer_useful.private_models(
        task, reference.asked, USEFUL_EPSILON, plan, trained
    )
    found.models += explainer_useful.overfitted(
        task, reference.asked, USEFUL_EPSILON, plan, trees=min(few, 100)
    )
    found.density += explainer_useful.density(reference, USEFUL_EPSILON, plan_of(options))


def run_groups(found: Findings, options: argparse.Namespace, reference: Reference) -> None:
    if reference.task.name not in TABLES:
        return
    asked = min(4 * options.asked, len(reference.task.others))
    found.groups += explainer_useful.groups(
        reference, USEFUL_EPSILON, ("sex", "race"), asked, options.seeds
    )


RUNS = {
    "loss": run_loss,
    "crossover": run_crossover,
    "budget": run_budget,
    "useful": run_useful,
    "models": run_models,
    "groups": run_groups,
}


def settings(options: argparse.Namespace) -> dict[str, object]:
    plain = {
        name: value
        for name, value in vars(options).items()
        if name not in ("json", "plots") and value is not None
    }
    return {
        **plain,
        "delta": DELTA,
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        **machine("scikit-learn", "lime", "shap"),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", type=some_of((*explainer_data.NAMES, "made"), "set"))
    parser.add_argument("--only", type=some_of(EXPERIMENTS, "experiment"), default=EXPERIMENTS)
    parser.add_argument("--eps", type=numbers, default=(0.1, 1.0))
    parser.add_argument(
        "--settings", type=some_of(tuple(SETTINGS), "setting"), default=tuple(SETTINGS)
    )
    parser.add_argument(
        "--strategies",
        type=some_of(explainer_loss.STRATEGIES, "strategy"),
        default=explainer_loss.STRATEGIES,
    )
    for name in ("queries", "asked", "slow", "seeds", "questions", "trees"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plots", type=Path)
    options = parser.parse_args(arguments)
    quick = options.quick
    options.sets = options.sets or (("adult",) if quick else explainer_data.NAMES)
    options.asked = options.asked or (20 if quick else 100)
    options.slow = options.slow or min(options.asked, 10 if quick else 30)
    options.seeds = options.seeds or (1 if quick else 2)
    options.questions = options.questions or (100 if quick else 1_500)
    options.trees = options.trees or (50 if quick else None)
    for name in ("queries", "asked", "slow", "seeds", "questions", "trees"):
        value = getattr(options, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1")
    return options


def run_set(found: Findings, options: argparse.Namespace, task: Task) -> None:
    start = time.perf_counter()
    model = explainer_models.usual(task, options.trees)
    words = explainer_models.called(task, options.trees)
    accuracy = explainer_models.accuracy(model, task)
    note(f"{task.name}: {words}, accuracy {accuracy:.4f}, {time.perf_counter() - start:.0f} s")
    found.sets[task.name] = f"{task.note}; {words}, accuracy {accuracy:.4f}"
    asked = task.ask(min(max(options.asked, options.slow), task.most_asked))
    reference = Reference(task, Remembered(model), asked)
    for name, run in RUNS.items():
        if name not in options.only:
            continue
        start = time.perf_counter()
        try:
            run(found, options, reference)
        # One experiment that fails must not end a run of hours; the report names it.
        except Exception as error:
            found.problems.append(f"{name} on {task.name}: {type(error).__name__}: {error}")
            note(found.problems[-1])
        note(f"{task.name}, {name}: {time.perf_counter() - start:.0f} s")
        explainer_report.write(found, options.json, options.plots)  # a stopped run keeps these


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    found = Findings(settings(options))
    if set(options.only) & set(RUNS):
        for task in load_all(partial(explainer_data.load, full=options.full), options.sets):
            run_set(found, options, task)
    if "speed" in options.only:
        rows = 10_000 if options.quick else explainer_speed.ROWS
        try:
            found.speeds = explainer_speed.speeds(rows)
        except RuntimeError as error:
            found.problems.append(f"speed: {error}")
    explainer_report.write(found, options.json, options.plots)
    print(explainer_report.markdown(found))
    return 1 if found.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
