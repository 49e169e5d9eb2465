"""Voile's private boosting machine beside the incumbent and the non-private one.

Run ``python benchmarks/ebm/quality.py [options]``;
without options, all public and synthetic sets at five epsilons (hours).

    --quick              3 splits of adult and cal_housing at eps .5, 1 and 8 (one split for the
                         non-private model, which takes minutes a fit)
    --sets a,b,c         these sets only (an unknown one lists them)
    --eps .5,1,2,4,8     these epsilons
    --splits N           so many splits (default 5; 3 for credit_fraud and diabetes130)
    --speed              fit times against the incumbent, and of the first call of a process
    --scale              ten million rows from a Parquet file: seconds and peak memory
    --out DIR            where ebm.json and ebm.md go (default: a new temporary folder)
    --no-peer            ours alone
    --no-ceiling         without the non-private model, which takes most of the time
    --ceiling-once       one split for models that are not private
    --every-peer         also DP-EBM with classic composition, a machine of few random trees, that
                         without its additive form, ours without pairs and as published, and
                         non-private boosting with pairs and with trees
    --linear PYTHON      with --every-peer: a Python that has diffprivlib, for linear models

With --speed or --scale, sets are run only if --sets or --quick names them. The peers are those of
interpret-core (``pip install interpret-core``); without it they are left out, which is said. Sets
may also be made-up tables (`pair_tables.py`), which run only if they are named. All
models get the same splits, bounds and levels, and take turns. The status is 1 if ours raised an
error, and 0 otherwise, whoever is better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import time
from collections.abc import Iterable

import numpy as np
from sklearn.model_selection import ShuffleSplit

from benchmarks.ebm import data as ebm_data
from benchmarks.ebm import linear
from benchmarks.ebm import peers as ebm_peers
from benchmarks.ebm import report as ebm_report
from benchmarks.ebm import speed as ebm_speed
from benchmarks.ebm.data import DataSet
from benchmarks.ebm.peers import Entrant, Outcome
from benchmarks.ebm.report import Cell, Findings, SetResult
from benchmarks.kit.data_folder import load_all
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of
from benchmarks.kit.timing import Moment, others_since

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SPLITS = 5
FEWER_SPLITS = {"credit_fraud": 3, "diabetes130": 3}
WARM_UP_ROWS = 2_000


def splits_of(one: DataSet, wanted: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    count = wanted or FEWER_SPLITS.get(one.name, SPLITS)
    return list(ShuffleSplit(count, test_size=0.2, random_state=0).split(one.target))


def gather(entrant: Entrant, epsilon: float | None, outcomes: list[Outcome | str]) -> Cell:
    """One cell from the outcomes of all splits; an error ends it."""
    for outcome in outcomes:
        if isinstance(outcome, str):
            return Cell(entrant.name, epsilon, error=outcome)
    done = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    return Cell(
        entrant.name,
        epsilon,
        scores=tuple(outcome.score for outcome in done),
        calibration=tuple(o.calibration for o in done if o.calibration is not None),
        seconds=tuple(outcome.seconds for outcome in done),
        losses=tuple(o.loss for o in done if o.loss is not None),
        error_rates=tuple(o.error_rate for o in done if o.error_rate is not None),
    )


def compare(
    one: DataSet,
    entrants: Iterable[Entrant],
    epsilons: Iterable[float],
    splits: int | None,
    *,
    ceiling_once: bool = False,
) -> SetResult:
    """Fit every model on every split of one set, taking turns."""
    able = [entrant for entrant in entrants if one.task in entrant.tasks]
    frames = {entrant.name: entrant.features(one) for entrant in able}
    turns: list[tuple[Entrant, float | None]] = [
        (entrant, epsilon) for epsilon in epsilons for entrant in able if entrant.private
    ]
    turns += [(entrant, None) for entrant in able if not entrant.private]
    outcomes: dict[tuple[str, float | None], list[Outcome | str]] = {
        (entrant.name, epsilon): [] for entrant, epsilon in turns
    }
    warm: set[str] = set()
    start = Moment.now()
    for turn, (train, test) in enumerate(splits_of(one, splits)):
        for entrant, epsilon in turns:
            past = outcomes[entrant.name, epsilon]
            # Minutes a fit: one split.
            slow = (ceiling_once or one.task == "multiclass") and not entrant.private
            if past and (slow or isinstance(past[-1], str)):
                continue
            frame = frames[entrant.name]
            try:
                if entrant.private and entrant.name not in warm:
                    warm.add(entrant.name)  # nobody's time includes compiling or importing
                    ebm_peers.fit(entrant, one, frame, train[:WARM_UP_ROWS], epsilon or 1.0)
                past.append(ebm_peers.run(entrant, one, frame, train, test, epsilon or 1.0))
            # One model that fails on one set must not end a run of hours; the report names it.
            except Exception as error:
                past.append(f"{type(error).__name__}: {error}")
        note(f"{one.name}: split {turn + 1} done")
    others = others_since(start)
    return SetResult(
        one.name,
        one.task,
        ebm_peers.METRICS[one.task],
        len(one.frame),
        len(one.schema),
        one.note,
        tuple(gather(entrant, eps, outcomes[entrant.name, eps]) for entrant, eps in turns),
        peaks(one, able),
        others,
    )


def peaks(one: DataSet, able: list[Entrant]) -> dict[str, float]:
    """Peak memory of ours and of the incumbent, each in a process of its own."""
    found = {}
    for entrant in able:
        if entrant in (ebm_peers.OURS, ebm_peers.INCUMBENT):
            try:
                found[entrant.name] = ebm_speed.memory(one.name, entrant.name)
            except RuntimeError as error:
                note(f"memory of {entrant.name} on {one.name}: {error}")
    return found


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "epsilons": options.eps,
        "delta": ebm_peers.DELTA,
        "splits": options.splits or {"default": SPLITS, **FEWER_SPLITS},
        **machine("interpret-core", "numba"),
        **({"diffprivlib": linear.version(options.linear)} if options.linear else {}),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", type=some_of(ebm_data.NAMES, "set"))
    parser.add_argument("--eps", type=numbers)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--scale-rows", type=int, default=ebm_speed.SCALE_ROWS)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--no-ceiling", action="store_true")
    parser.add_argument("--ceiling-once", action="store_true")
    parser.add_argument("--every-peer", action="store_true")
    parser.add_argument("--linear")
    options = read_options(parser, arguments, "ebm", splits=1)
    if options.quick:
        options.sets = options.sets or ("adult", "cal_housing")
        options.eps = options.eps or (0.5, 1.0, 8.0)
        options.splits = options.splits or 3
    elif not (options.speed or options.scale):
        options.sets = options.sets or ebm_data.USUAL
    options.sets = options.sets or ()
    options.eps = options.eps or EPSILONS
    return options


def measure_speed(
    options: argparse.Namespace, entrants: tuple[Entrant, ...], found: Findings
) -> None:
    if options.speed:
        found.races = ebm_speed.races(tuple(e for e in entrants if e in ebm_peers.USUAL))
    if ebm_peers.OURS not in entrants:
        return
    try:
        if options.speed:
            found.answers = ebm_speed.answers(entrants)
            raced = [race.name for race in found.races]
            found.first_fit = ebm_speed.first_fit("adult" if "adult" in raced else "wide")
        if options.scale:
            found.scale = ebm_speed.scale(options.scale_rows)
    except RuntimeError as error:
        found.problems.append(str(error))


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    wanted = ebm_peers.Wanted(
        not options.no_peer, not options.no_ceiling, options.every_peer, options.linear
    )
    entrants, absent = ebm_peers.present(wanted)
    for one in absent:
        note(f"left out: {one}")
    if not entrants:
        note("There is no model to run.")
        return 1
    found = Findings(settings(options), absent=absent)
    once = options.quick or options.ceiling_once
    for one in load_all(ebm_data.load, options.sets):
        start = time.perf_counter()
        result = compare(one, entrants, options.eps, options.splits, ceiling_once=once)
        found.sets.append(result)
        ebm_report.write(found, options.out)  # a run that is stopped keeps what it had
        note(f"{one.name}: {time.perf_counter() - start:.0f} s")
    measure_speed(options, entrants, found)
    ebm_report.write(found, options.out)
    print(ebm_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
