"""The paper's hospital experiment on a public stand-in, with deep networks beside.

Run ``python benchmarks/hospital/quality.py [options]``; all of it takes about a quarter of an hour.

    --quick              20,000 rows and one split: about a minute
    --tasks a,b          of readmitted and conditions
    --models a,b         these models only (an unknown one lists them)
    --eps 1.5            epsilons (default: that of the paper); delta is 2e-5
    --splits N           so many random splits by patient (default 3)
    --threads N          of torch (default 1: on a busy machine, more are far slower)
    --out DIR            where hospital.json and .md go (default: a temporary folder)

Harder, Bauer & Park (2020), section 4.2: 62 examinations, three conditions turned into the four
most frequent classes of their power set; not public. Here: encounters of diabetic patients, with
two targets, readmission and a power set of three conditions (`data.py`). The guarantee is
for each encounter, as in the paper, and then for each patient with all encounters. Networks need
torch and opacus and are left out without them, which is said. The status is 1 if a model failed,
and 0 otherwise, whoever is better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import math

import numpy as np

from benchmarks.hospital import data as hospital_data
from benchmarks.hospital import models as hospital_models
from benchmarks.hospital import report as hospital_report
from benchmarks.hospital.data import Task
from benchmarks.hospital.models import BY_NAME, DELTA, WHOLE_TABLE, Answer, Entrant, Outcome
from benchmarks.hospital.report import Bars, Cell, Findings, TaskResult
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of

EPSILON = 1.5
QUICK_ROWS = 20_000
TASKS = ("readmitted", "conditions")
SHOWN = "maps_2"
"""The model whose filters are drawn."""

Turn = tuple[Entrant, float]


def turns(task: str, models: tuple[str, ...], epsilons: tuple[float, ...]) -> list[Turn]:
    """Every model that can be run, at every epsilon and without privacy."""
    found = []
    for name in models:
        entrant = BY_NAME[name]
        if entrant.absent() or entrant.only not in ("", task):
            continue
        for private in entrant.private:
            found += [(entrant, eps) for eps in (epsilons if private else (math.inf,))]
    return found


def bars_of(answer: Answer, epsilon: float) -> Bars:
    """The blended filter of each class, less the mean of the classes."""
    bank = answer.model.explain_global()
    return Bars(epsilon, tuple(bank.outputs), bank.contrast)


def compare(task: Task, wanted: list[Turn], splits: int) -> TaskResult:
    """Fit every model on every split of one task, taking turns."""
    outcomes: dict[tuple[str, float], list[Outcome]] = {(e.name, eps): [] for e, eps in wanted}
    errors: dict[tuple[str, float], str] = {}
    bars: list[Bars] = []
    for number in range(splits):
        every, test = hospital_data.split(task, number)
        known = task.known()
        train, test = np.intersect1d(every, known), np.intersect1d(test, known)
        for entrant, eps in wanted:
            key = (entrant.name, eps)
            if key in errors:
                continue
            rows = every if entrant.name in WHOLE_TABLE else train
            try:
                outcome, answer = hospital_models.run(entrant, task, rows, test, eps, number)
            # One model that fails must not end the run; the report names it.
            except Exception as error:
                errors[key] = f"{type(error).__name__}: {error}"
                note(f"{task.name}: {entrant.name} failed: {errors[key]}")
                continue
            outcomes[key].append(outcome)
            if number == 0 and entrant.name == SHOWN:
                bars.append(bars_of(answer, eps))
            note(
                f"{task.name}: split {number + 1}, {entrant.name}, eps {eps:g}: "
                f"{outcome.accuracy:.4f} in {outcome.seconds:.0f} s"
            )
    cells = [
        Cell(name, eps, tuple(found), errors.get((name, eps)))
        for (name, eps), found in outcomes.items()
    ]
    return TaskResult(
        task.name, task.note, len(train), len(test), len(task.schema), splits, cells, bars
    )


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "epsilons": options.eps,
        "delta": DELTA,
        "splits": options.splits,
        "quick": options.quick,
        **machine("torch", "opacus"),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--tasks", type=some_of(TASKS, "task"), default=TASKS)
    parser.add_argument("--models", type=some_of(tuple(BY_NAME), "model"), default=tuple(BY_NAME))
    parser.add_argument("--eps", type=numbers, default=(EPSILON,))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = read_options(parser, arguments, "hospital", splits=1)
    if options.quick:
        options.splits = 1
    return options


def absent(models: tuple[str, ...]) -> list[str]:
    """What is left out, and how to have it."""
    ways = {"torch": "pip install 'voile[federated]'", "opacus": "pip install opacus"}
    found = {m: BY_NAME[m].absent() for m in models}
    return [
        f"{BY_NAME[m].label}: {' and '.join(ways[one] for one in missing)}"
        for m, missing in found.items()
        if missing
    ]


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if not BY_NAME["deep"].absent():
        import torch

        torch.set_num_threads(options.threads)
    found = Findings(settings(options), absent=absent(options.models))
    try:
        every = hospital_data.tasks()
    except FileNotFoundError as error:
        note(str(error))
        return 1
    for task in every:
        if task.name not in options.tasks:
            continue
        some = task.only(np.arange(QUICK_ROWS)) if options.quick else task
        wanted = turns(task.name, options.models, options.eps)
        found.tasks.append(compare(some, wanted, options.splits))
        hospital_report.write(found, options.out)  # a run that is stopped keeps what it had
    print(hospital_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
