"""Voile's private locally linear maps beside the paper's figures, no privacy, and Opacus.

Run ``python benchmarks/locally_linear/quality.py [options]``;
without options, every set at six epsilons
(hours).

    --quick              mnist without copies and two tables, once each: two to three minutes
    --sets a,b           these sets only (an unknown one lists them)
    --eps .5,1,2,4,8,inf these epsilons only (inf: no privacy)
    --seeds N            so many fits of each; tables get a split of its own for each (default 3)
    --models a,b         these only: accurate, no_copies, readable, logistic; or none, for curves
    --presets            also the preset "readable"
    --maps 1,2,5,10      accuracy against the number of maps per class, without copies
    --projections 50,300 accuracy against the size of random projections, one per map and shared
    --sweep-eps 2,inf    epsilons of these two curves (default 2 and no privacy)
    --speed              the same training by Opacus; seconds and memory of fits in fresh processes
    --out DIR            where locally_linear.json and .md go (default: a new temporary
                         folder)

--maps and --projections may stand alone, for the usual values. Pictures are trained on the official
split without a schema, delta 1e-5; tables on the splits of `ebm` and `lvq` with their public
bounds and levels. With --speed, sets are run only if --sets or --quick names them. Opacus is needed
for its speed alone (``pip install opacus``, which brings torch); without it that is left out, which
is said. The status is 1 if a model failed (a refusal is no failure), and 0 otherwise, whoever is
better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of
from benchmarks.kit.timing import Moment, others_since
from benchmarks.locally_linear import data as locally_linear_data
from benchmarks.locally_linear import entrants
from benchmarks.locally_linear import opacus_ways as locally_linear_opacus
from benchmarks.locally_linear import report as locally_linear_report
from benchmarks.locally_linear import speed as locally_linear_speed
from benchmarks.locally_linear.data import PICTURES, Split, Task
from benchmarks.locally_linear.entrants import Outcome, Variant
from benchmarks.locally_linear.report import Cell, Findings, SetResult, epsilon_text
from voile.errors import VoileError

SEEDS = 3
MODELS = ("accurate", "no_copies", "readable", "logistic", "none")
USUAL_MODELS = ("accurate", "no_copies", "logistic")
QUICK_SETS = ("mnist", "segment", "telco_churn")
QUICK_EPSILONS, QUICK_SWEEP = (0.5, 2.0, math.inf), (2.0,)
QUICK_MAPS, QUICK_PROJECTIONS = (1, 5), (100,)
WARM_UP_ROWS = 500

Turn = tuple[Variant, float]
Past = list[Outcome | Exception]


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one set: models with their epsilons, once for each seed."""

    name: str
    turns: tuple[Turn, ...]
    seeds: int


def gather(variant: Variant, epsilon: float, past: Past) -> Cell:
    """One cell from the outcomes of all seeds; an error ends it."""
    facts = (variant.name, variant.label, variant.group, variant.at, epsilon)
    for outcome in past:
        if isinstance(outcome, Exception):
            text = f"{type(outcome).__name__}: {outcome}"
            return Cell(*facts, error=text, refused=isinstance(outcome, VoileError))
    done = [outcome for outcome in past if isinstance(outcome, Outcome)]
    return Cell(
        *facts,
        tuple(outcome.accuracy for outcome in done),
        tuple(outcome.area for outcome in done if outcome.area is not None),
        tuple(outcome.seconds for outcome in done),
    )


def warm_up(task: Task, split: Split) -> None:
    """Nobody's time includes compiling or importing."""
    model = Variant("", "", settings={"steps": 2}).build(task, math.inf, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = max(len(split.classes) // WARM_UP_ROWS, 1)  # some sets come sorted by class
        model.fit(split.rows[::every], split.classes[::every])
        model.predict(split.test_rows[:1])


def compare(
    task: Task,
    job: Job,
    after: Callable[[SetResult], None] = lambda result: None,
) -> SetResult:
    """Fit every model once for each seed, taking turns.

    Parameters
    ----------
    after : callable
        Told what was found so far after each seed.
    """
    outcomes: dict[tuple[str, float], Past] = {(one.name, eps): [] for one, eps in job.turns}
    start = Moment.now()
    for seed in range(job.seeds):
        split = task.split(seed)
        if seed == 0:
            warm_up(task, split)
        for variant, epsilon in job.turns:
            past = outcomes[variant.name, epsilon]
            if past and isinstance(past[-1], Exception):
                continue
            try:
                outcome = entrants.run(variant, task, split, epsilon, seed)
                past.append(outcome)
                note(
                    f"{task.name}, seed {seed}, {variant.label}, {epsilon_text(epsilon)}: "
                    f"{outcome.accuracy:.2%} in {outcome.seconds:.1f} s"
                )
            # One model that fails on one set must not end a run of hours; the report names it.
            except Exception as error:
                past.append(error)
                note(f"{task.name}, {variant.label}, {epsilon_text(epsilon)}: {error}")
        result = SetResult(
            task.name,
            task.image_shape is not None,
            len(split.classes),
            task.features,
            len(split.test_classes),
            task.delta,
            task.note,
            tuple(gather(one, eps, outcomes[one.name, eps]) for one, eps in job.turns),
            others_since(start),
        )
        after(result)
    return result


def presets_of(name: str, models: tuple[str, ...], epsilons: tuple[float, ...]) -> list[Turn]:
    """The models of a set at every epsilon; peers know no privacy."""
    pictures = name in PICTURES
    known = (entrants.ACCURATE, *((entrants.PLAIN,) if pictures else ()), entrants.READABLE)
    found = [(one, eps) for one in known if one.name in models for eps in epsilons]
    if not pictures and "logistic" in models:
        found.append((entrants.LOGISTIC, math.inf))
    return found


def curves_of(
    name: str, maps: tuple[int, ...], sizes: tuple[int, ...], epsilons: tuple[float, ...]
) -> list[Turn]:
    pictures = name in PICTURES
    points = [entrants.with_maps(count, pictures=pictures) for count in maps]
    points += [entrants.with_projection(k, shared=way) for way in (False, True) for k in sizes]
    return [(one, eps) for one in points for eps in epsilons]


def quick_job(name: str, options: argparse.Namespace) -> Job:
    epsilons = options.eps or QUICK_EPSILONS
    if name not in PICTURES:
        return Job(name, tuple(presets_of(name, USUAL_MODELS, epsilons)), 1)
    turns = [(entrants.PLAIN, eps) for eps in epsilons]
    turns += [(entrants.READABLE_PLAIN, eps) for eps in QUICK_SWEEP]
    turns += curves_of(name, QUICK_MAPS, QUICK_PROJECTIONS, QUICK_SWEEP)
    return Job(name, tuple(turns), 1)


def jobs(options: argparse.Namespace) -> list[Job]:
    if options.quick:
        return [quick_job(name, options) for name in options.sets or QUICK_SETS]
    names = options.sets or (() if options.speed else locally_linear_data.NAMES)
    models = (*options.models, "readable") if options.presets else options.models
    found = []
    for name in names:
        turns = presets_of(name, models, options.eps or entrants.EPSILONS)
        turns += curves_of(name, options.maps, options.projections, options.sweep_eps)
        found.append(Job(name, tuple(turns), options.seeds))
    return [job for job in found if job.turns]


def counts(text: str) -> tuple[int, ...]:
    found = tuple(sorted({int(part) for part in text.split(",")}))
    if not all(value > 0 for value in found):
        raise argparse.ArgumentTypeError("every number must be above 0")
    return found


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    curve = {"type": counts, "nargs": "?", "default": ()}
    parser.add_argument("--sets", type=some_of(locally_linear_data.NAMES, "set"))
    parser.add_argument("--eps", type=numbers)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--models", type=some_of(MODELS, "model"), default=USUAL_MODELS)
    parser.add_argument("--presets", action="store_true")
    parser.add_argument("--maps", const=entrants.MAPS, **curve)
    parser.add_argument("--projections", const=entrants.PROJECTIONS, **curve)
    parser.add_argument("--sweep-eps", type=numbers, default=entrants.SWEEP_EPSILONS)
    parser.add_argument("--speed", action="store_true")
    return read_options(parser, arguments, "locally-linear", seeds=1)


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "epsilons": options.eps or (QUICK_EPSILONS if options.quick else entrants.EPSILONS),
        "seeds": 1 if options.quick else options.seeds,
        "quick": options.quick,
        **machine("numba", "opacus", "torch"),
    }


def measure_speed(found: Findings) -> None:
    if not locally_linear_opacus.installed():
        found.absent.append("Opacus, for its speed: pip install opacus")
    try:
        task = locally_linear_data.load("mnist")
        for kind in ("plain", "copies"):
            found.fresh.append(locally_linear_speed.fresh_fit(kind))
            note(f"a fit in a fresh process, {kind}: {found.fresh[-1].seconds:.1f} s")
        found.race = locally_linear_speed.race(task.split(0), task.image_shape)
    except (FileNotFoundError, RuntimeError) as error:
        found.problems.append(f"speed: {error}")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    found = Findings(settings(options))
    for job in jobs(options):
        for task in load_all(locally_linear_data.load, [job.name]):
            start, before = time.perf_counter(), [*found.sets]

            def keep(result: SetResult, before: list[SetResult] = before) -> None:
                found.sets = [*before, result]
                locally_linear_report.write(found, options.out)  # a run that is stopped keeps it

            compare(task, job, keep)
            note(f"{task.name}: {time.perf_counter() - start:.0f} s")
    if options.speed:
        measure_speed(found)
    locally_linear_report.write(found, options.out)
    print(locally_linear_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
