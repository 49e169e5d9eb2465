"""Voile's private prototypes beside the published ways, the paper's figures and no privacy.

Run ``python benchmarks/lvq/quality.py [options]``; without options, every set and model (hours).

    --quick              segment, and one fold of mnist with fewer models: about two minutes
    --sets a,b           these sets only (an unknown one lists them)
    --eps .75,1.5,2.5    these epsilons only (default: those of the paper; 8 for several prototypes)
    --models a,b         these models only (an unknown one lists them)
    --folds N            so many of the five folds (default 5)
    --repeats N          so many cross-validations, each with folds of its own (default 1; paper: 5)
    --slow               also what takes an hour a fold: GMLVQ by gradient on wide sets; and all
                         folds of DP-SGD there, which is otherwise run on one
    --speed              fit times, beside per-example gradients of the same steps
    --out DIR            where lvq.json and lvq.md go (default: a new temporary folder)

The protocol is that of Table 1 of Brinkrolf, Goepfert and Hammer (2019): five folds, delta 1e-5;
mnist trains on one fold and is tested on the others. With --speed, sets are run only if --sets or
--quick names them. All models get the same folds, bounds and classes, and take turns. The status is
1 if a model failed (a refusal is no failure), and 0 otherwise, whoever is better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import time
from dataclasses import dataclass

from benchmarks.ebm.data import DataSet
from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of
from benchmarks.kit.timing import Moment, others_since
from benchmarks.lvq import data as lvq_data
from benchmarks.lvq import entrants as lvq_entrants
from benchmarks.lvq import report as lvq_report
from benchmarks.lvq import speed as lvq_speed
from benchmarks.lvq.entrants import ENTRANTS, WIDE, Entrant, Outcome
from benchmarks.lvq.report import Cell, Findings, SetResult
from voile.errors import VoileError

MORE_EPSILONS = (8.0,)
QUICK_TEST_ROWS = 10_000
WARM_UP_ROWS = 500


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one set.

    Attributes
    ----------
    name : str
        The set.
    models : tuple of str
    epsilons, more : tuple of float
        For all models, and for those that several prototypes are compared with.
    folds, repeats : int
    slow : bool
        Whether slow models are run on wide sets, and on all folds.
    brief : bool
        Whether slow models are run on one fold everywhere, and large tests on fewer rows.
    """

    name: str
    models: tuple[str, ...]
    epsilons: tuple[float, ...]
    more: tuple[float, ...]
    folds: int
    repeats: int
    slow: bool = False
    brief: bool = False

    def turns(self) -> list[tuple[Entrant, float | None]]:
        wide = self.name in WIDE
        able = [ENTRANTS[m] for m in self.models if self.slow or not (wide and ENTRANTS[m].slow)]
        return [(one, eps) for one in able for eps in one.epsilons(self.epsilons, self.more)]

    def once(self, entrant: Entrant) -> bool:
        """Whether a model is run on the first fold alone."""
        wide = self.name in WIDE
        return entrant.one_fold and (self.brief or (wide and not self.slow))


Past = list[Outcome | Exception]


def gather(entrant: Entrant, epsilon: float | None, past: Past) -> Cell:
    """One cell from the outcomes of all folds; an error ends it."""
    for outcome in past:
        if isinstance(outcome, Exception):
            text = f"{type(outcome).__name__}: {outcome}"
            refused = isinstance(outcome, VoileError)
            return Cell(entrant.name, epsilon, error=text, refused=refused)
    done = [outcome for outcome in past if isinstance(outcome, Outcome)]
    errors = tuple(outcome.error for outcome in done)
    return Cell(entrant.name, epsilon, errors, tuple(outcome.seconds for outcome in done))


def compare(one: DataSet, job: Job) -> SetResult:
    """Fit every model on every fold of one set, taking turns."""
    turns = job.turns()
    outcomes: dict[tuple[str, float | None], Past] = {
        (entrant.name, epsilon): [] for entrant, epsilon in turns
    }
    start, trained_on = Moment.now(), 0
    for repeat in range(job.repeats):
        parts = lvq_data.folds_of(one.name, len(one.target), job.folds, repeat)
        for number, (train, test) in enumerate(parts):
            trained_on = len(train)
            rows = test[:QUICK_TEST_ROWS] if job.brief else test
            if repeat == number == 0:  # nobody's time includes compiling or importing
                lvq_entrants.run(ENTRANTS["glvq"], one, train[:WARM_UP_ROWS], rows[:1], 1.0)
            for entrant, epsilon in turns:
                past = outcomes[entrant.name, epsilon]
                if past and (job.once(entrant) or isinstance(past[-1], Exception)):
                    continue
                seed = lvq_data.FOLDS * repeat + number
                try:
                    past.append(lvq_entrants.run(entrant, one, train, rows, epsilon, seed))
                # One model that fails on one set must not end a run of hours; the report names it.
                except Exception as error:
                    past.append(error)
            note(f"{one.name}: repeat {repeat + 1}, fold {number + 1} done")
    return SetResult(
        one.name,
        len(one.frame),
        len(one.schema),
        trained_on,
        job.folds,
        job.repeats,
        one.note + (f", at most {QUICK_TEST_ROWS:,} of them" if job.brief else ""),
        tuple(gather(entrant, eps, outcomes[entrant.name, eps]) for entrant, eps in turns),
        others_since(start),
    )


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "epsilons": options.eps or lvq_entrants.PAPER_EPSILONS,
        "delta": lvq_entrants.DELTA,
        "folds": options.folds,
        "repeats": options.repeats,
        "quick": options.quick,
        "slow": options.slow,
        **machine("opacus", "torch"),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", type=some_of(lvq_data.NAMES, "set"))
    parser.add_argument("--eps", type=numbers)
    parser.add_argument(
        "--models", type=some_of(lvq_entrants.NAMES, "model"), default=lvq_entrants.NAMES
    )
    parser.add_argument("--folds", type=int, choices=range(1, 6), default=lvq_data.FOLDS)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--speed", action="store_true")
    return read_options(parser, arguments, "lvq", repeats=1)


def jobs(options: argparse.Namespace) -> list[Job]:
    epsilons = options.eps or lvq_entrants.PAPER_EPSILONS
    several = any(ENTRANTS[model].several for model in options.models)
    more = MORE_EPSILONS if several and options.eps is None else ()
    plain = not (options.quick or options.speed)
    names = options.sets or (lvq_data.NAMES if plain else ())
    found = [
        Job(name, options.models, epsilons, more, options.folds, options.repeats, options.slow)
        for name in names
    ]
    if options.quick and not options.sets:
        few = tuple(name for name in ("glvq", "gmlvq", "means") if name in options.models)
        found = [
            Job("segment", options.models, epsilons, more, options.folds, 1, brief=True),
            Job("mnist", few, options.eps or (1.5,), (), 1, 1, brief=True),
        ]
    return [job for job in found if job.models]


def measure_speed(found: Findings) -> None:
    if not lvq_speed.opacus_installed():
        found.absent.append("Opacus, for its speed: pip install opacus")
    try:
        found.races = lvq_speed.races()
    except FileNotFoundError as error:
        found.problems.append(f"speed: {error}")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    found = Findings(settings(options))
    for job in jobs(options):
        dropped = [m for m in job.models if ENTRANTS[m].slow and job.name in WIDE]
        if dropped and not job.slow:
            labels = ", ".join(dropped)
            found.absent.append(f"{labels} on {job.name}: an hour a fold, --slow runs them")
        for one in load_all(lvq_data.load, [job.name]):
            start = time.perf_counter()
            found.sets.append(compare(one, job))
            lvq_report.write(found, options.out)  # a run that is stopped keeps what it had
            note(f"{one.name}: {time.perf_counter() - start:.0f} s")
    if options.speed:
        measure_speed(found)
    lvq_report.write(found, options.out)
    print(lvq_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
