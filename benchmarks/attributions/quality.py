"""Private filters beside gradient attributions of a CNN by DP-SGD at the same epsilon.

Run ``python benchmarks/attributions/quality.py [options]``; without options, all of it (hours).

    --quick              mnist, 20,000 rows, fewer epochs, no moved copies: a few minutes
    --sets a,b           of mnist and fashion_mnist
    --eps .5,2           these epsilons; "inf" (without privacy) is always among them
    --seeds N            so many trainings of each model, two at least (default 2)
    --pictures N         so many test pictures, out of those that every model gets right
    --threads N          of torch (default 1: on a busy machine, more are far slower)
    --out DIR            where attributions.json and .md go (default: a temporary folder)

As Figures 2, 4, 8 and 9 of Harder, Bauer & Park (2020), with numbers beside the pictures:
integrated gradients and SmoothGrad of a small CNN (captum; Opacus trains it on Poisson lots, PRV
accountant, delta 1e-5), and the weighted filters and contributions of LocallyLinearClassifier.
Measured: how much an explanation changes if the model is trained anew, and if it is trained
privately; how true it is to its own model (deletion and insertion); how far the two kinds of model
agree. Needs torch, captum and opacus. The status is 1 if something cannot be imported or read, and
0 otherwise, whoever is better.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.attributions import models as attributions_models
from benchmarks.attributions import report as attributions_report
from benchmarks.attributions.measures import alike, faithfulness, roughness
from benchmarks.attributions.models import DELTA, SETS, SIDE, Cnn, Fitted, Maps, Pictures
from benchmarks.attributions.report import (
    Agreement,
    Explained,
    Findings,
    SetResult,
    Trained,
)
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of

EPSILONS = (0.5, 2.0)
QUICK_ROWS = 20_000

PAIRS = (
    ("IG", "filter"),
    ("SmoothGrad", "filter"),
    ("IG x input", "filter x input"),
    ("IG x input", "contributions"),
    ("IG", "SmoothGrad"),
)
"""What is compared at the same epsilon: like with like."""

ADDED = ("IG x input", "filter x input", "contributions")
"""What tells how much a pixel adds; the others tell what more of it would add."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to run on one set; `epochs` are those of the CNN, private and not."""

    name: str
    epsilons: tuple[float, ...]
    seeds: int = 2
    pictures: int = 300
    rows: int | None = None
    epochs: tuple[int, int] = (20, 8)
    makes: tuple[tuple[str, Callable[[float, int], Any]], ...] = (
        ("cnn", Cnn),
        ("maps", Maps),
        ("readable", partial(Maps, preset="readable")),
    )


Key = tuple[str, float, int]
"""Model, epsilon, seed."""

Seen = dict[Key, dict[str, NDArray[np.float64]]]


def train_all(data: Pictures, job: Job) -> dict[Key, Fitted]:
    fitted: dict[Key, Fitted] = {}
    for seed, eps in itertools.product(range(job.seeds), job.epsilons):
        for name, make in job.makes:
            epochs = job.epochs[math.isinf(eps)]
            one = attributions_models.train(make, data, eps, seed, epochs)
            fitted[name, eps, seed] = one
            note(
                f"{data.name}: {name}, eps {eps:g}, seed {seed}: {one.accuracy:.4f} in "
                f"{one.seconds:.0f} s"
            )
    return fitted


def choose_pictures(data: Pictures, fitted: dict[Key, Fitted], count: int) -> NDArray[np.int64]:
    """The first test pictures that every model gets right, as many of each class as can be."""
    able = np.flatnonzero(np.logical_and.reduce([one.right for one in fitted.values()]))
    each = max(count // 10, 1)
    classes = data.test_classes[able]
    kept = [able[classes == k][:each] for k in range(10)]
    return np.concatenate(kept)


def stability(seen: Seen, job: Job, name: str, eps: float, kind: str) -> dict[str, float]:
    """How alike explanations of two trainings are, over all pairs of seeds."""
    pairs = itertools.combinations(range(job.seeds), 2)
    found = [alike(seen[name, eps, a][kind], seen[name, eps, b][kind]) for a, b in pairs]
    return mean_of(found)


def kept_by_privacy(seen: Seen, job: Job, name: str, eps: float, kind: str) -> dict[str, float]:
    """How alike explanations with and without privacy are, over pairs of different seeds."""
    found = [
        alike(seen[name, eps, a][kind], seen[name, math.inf, b][kind])
        for a, b in itertools.permutations(range(job.seeds), 2)
    ]
    return mean_of(found)


def mean_of(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def worth(kind: str, found: NDArray[Any], shown: NDArray[Any]) -> NDArray[Any]:
    """What taking a pixel away should cost."""
    return found if kind in ADDED else found * shown


def judge(
    fitted: dict[Key, Fitted], seen: Seen, job: Job, shown: NDArray[Any], classes: NDArray[Any]
) -> list[Explained]:
    """Every explanation of every model at every epsilon."""
    rng = np.random.default_rng(0).random(shown.shape)
    results = []
    for (name, _), eps in itertools.product(job.makes, job.epsilons):
        kinds, seeds = list(seen[name, eps, 0]), range(job.seeds)
        every = [fitted[name, eps, seed].model.scores for seed in seeds]
        by_chance = mean_of([faithfulness(scores, shown, classes, rng) for scores in every])
        true: dict[str, dict[str, float]] = {}
        for kind in kinds:
            found = [seen[name, eps, seed][kind] for seed in seeds]
            # The product with the input is what the plain one is judged by.
            true[kind] = true.get(kind.removesuffix(" x input")) or mean_of(
                [
                    faithfulness(scores, shown, classes, worth(kind, one, shown))
                    for scores, one in zip(every, found, strict=True)
                ]
            )
            results.append(
                Explained(
                    name,
                    eps,
                    kind,
                    stability(seen, job, name, eps, kind),
                    kept_by_privacy(seen, job, name, eps, kind),
                    true[kind],
                    by_chance,
                    float(np.mean([roughness(one, SIDE).mean() for one in found])),
                )
            )
        note(f"judged {name}, eps {eps:g}")
    return results


def agree(seen: Seen, job: Job) -> list[Agreement]:
    """Explanations of the CNN beside those of the maps at the same epsilon."""
    results = []
    for eps, (one, other) in itertools.product(job.epsilons, PAIRS):
        theirs = "cnn" if other == "SmoothGrad" else "maps"
        found = [
            alike(seen["cnn", eps, seed][one], seen[theirs, eps, seed][other])
            for seed in range(job.seeds)
        ]
        results.append(Agreement(eps, one, other, mean_of(found)))
    return results


def explain_all(data: Pictures, fitted: dict[Key, Fitted], job: Job) -> SetResult:
    """Explain the same pictures with every model, and judge what comes out."""
    rows = choose_pictures(data, fitted, job.pictures)
    shown, classes = data.test[rows] / 255.0, data.test_classes[rows]
    seen = {key: one.model.explain(shown, classes) for key, one in fitted.items()}
    trained = [
        Trained(name, eps, seed, one.accuracy, one.seconds, getattr(one.model, "spent", None))
        for (name, eps, seed), one in fitted.items()
    ]
    judged = judge(fitted, seen, job, shown, classes)
    return SetResult(data.name, len(data.train), len(rows), trained, judged, agree(seen, job))


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "epsilons": options.eps,
        "delta": DELTA,
        "seeds": options.seeds,
        "quick": options.quick,
        **machine("torch", "opacus", "captum"),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--sets", type=some_of(SETS, "set"))
    parser.add_argument("--eps", type=numbers, default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--pictures", type=int)
    parser.add_argument("--threads", type=int, default=1)
    return read_options(parser, arguments, "attributions", seeds=2)


def jobs(options: argparse.Namespace) -> list[Job]:
    epsilons = (*sorted({*options.eps} - {math.inf}), math.inf)
    names = options.sets or (("mnist",) if options.quick else SETS)
    if not options.quick:
        count = options.pictures or 300
        return [Job(name, epsilons, options.seeds, count) for name in names]
    makes = (("cnn", Cnn), ("maps", partial(Maps, copies=False)))
    count = options.pictures or 100
    return [Job(name, epsilons, options.seeds, count, QUICK_ROWS, (8, 4), makes) for name in names]


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    absent = attributions_models.missing()
    if absent:
        note(absent)
        return 1
    import torch

    torch.set_num_threads(options.threads)
    found = Findings(settings(options))
    for job in jobs(options):
        start = time.perf_counter()
        try:
            data = attributions_models.load(job.name, job.rows)
        except FileNotFoundError as error:
            found.problems.append(f"{job.name}: {error}")
            continue
        found.sets.append(explain_all(data, train_all(data, job), job))
        attributions_report.write(found, options.out)  # a run that is stopped keeps what it had
        note(f"{job.name}: {time.perf_counter() - start:.0f} s")
    attributions_report.write(found, options.out)
    print(attributions_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
