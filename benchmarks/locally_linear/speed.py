"""Seconds and memory of the benchmark of locally linear maps: whole fits, and beside Opacus.

Called by `quality.py`. A fit of mnist is timed in a fresh process.
"""

import statistics
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import voile
from benchmarks.kit.timing import Moment, apart, others_since, peak_megabytes
from benchmarks.locally_linear import data as locally_linear_data
from benchmarks.locally_linear import opacus_ways as locally_linear_opacus
from benchmarks.locally_linear.data import Split
from benchmarks.locally_linear.opacus_ways import THREADS, WAYS, Lesson, Trainer

EPSILON = 2.0
ROUNDS = 3
SOME_STEPS, FEW_STEPS, WARM_UP_STEPS = 10, 20, 2
CONSTANT_INPUT, START_SPREAD = 0.3, 3.0
ROWS_AT_ONCE = 10_000
OURS, OUR_STEPS = "Voile, whole fit", "Voile, steps alone"

LEAST_RATIO, MOST_MEGABYTES = 8.0, 2_000.0
MOST_SECONDS = {"copies": 180.0, "plain": 20.0}
"""What is to be reached."""

TRAINING: dict[str, Any] = {
    "maps": 20,
    "inverse_temperature": 0.1,
    "copies": False,
    "sampling_rate": 0.1,
    "steps": 300,
    "clip": 0.05,
    "learning_rate": 0.3,
}
"""The race's own, whatever the rule of the library: lots of 6,000 and 300 steps."""


@dataclass(frozen=True, slots=True)
class Race:
    """Seconds of one training by each implementation.

    Attributes
    ----------
    rows, size, classes, maps, lot, steps : int
        Rows, coordinates of a point, classes, maps per class, expected rows of a lot, steps.
    seconds : dict of str to float
        Per implementation, medians over the rounds; those of Opacus are scaled up to all steps.
    rounds : dict of str to list of float
        The same for each round.
    how : dict of str to str
        How each was timed.
    failed : dict of str to str
        Ways that did not run, and why.
    others : float or None
        How many cores other programs kept busy meanwhile.
    """

    rows: int
    size: int
    classes: int
    maps: int
    lot: int
    steps: int
    seconds: dict[str, float]
    rounds: dict[str, list[float]]
    how: dict[str, str]
    failed: dict[str, str]
    others: float | None

    @property
    def fastest(self) -> str | None:
        """The fastest way of Opacus."""
        theirs = [name for name in self.seconds if name not in (OURS, OUR_STEPS)]
        return min(theirs, key=self.seconds.__getitem__, default=None)

    def ratio(self, ours: str) -> float | None:
        """The fastest way of Opacus over ours."""
        return None if self.fastest is None else self.seconds[self.fastest] / self.seconds[ours]


@dataclass(frozen=True, slots=True)
class FreshFit:
    """A fit of all of mnist by the library's own rule in a process of its own."""

    kind: str
    seconds: float
    before_megabytes: float
    peak_megabytes: float
    others: float | None


def build(**settings: Any) -> Any:
    return voile.LocallyLinearClassifier(
        epsilon=EPSILON, delta=locally_linear_data.DELTA, random_state=0, **settings
    )


def fit(model: Any, split: Split) -> float:
    """Fit; returns the seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(split.rows, split.classes)
        return time.perf_counter() - start


def lesson(model: Any, split: Split) -> Lesson:
    """What Opacus is to learn: the points of a fitted model, and a start like its own."""
    parts = []
    for start in range(0, len(split.rows), ROWS_AT_ONCE):
        columns = model._encode(split.rows[start : start + ROWS_AT_ONCE])
        parts.append(model.model_.spread(columns).points.astype(np.float32))
    points = np.concatenate(parts)
    points = np.column_stack([points, np.full(len(points), CONSTANT_INPUT, np.float32)])
    maps = TRAINING["maps"]
    first = np.random.default_rng(0).normal(0.0, START_SPREAD, (maps, points.shape[1]))
    steps = next(line.event for line in model.receipt_.lines if line.label == "steps")
    return Lesson(
        points,
        np.searchsorted(model.classes_, split.classes),
        np.repeat(first[None], len(model.classes_), axis=0),
        TRAINING["inverse_temperature"],
        TRAINING["clip"],
        steps.noise_multiplier,
        TRAINING["sampling_rate"],
        TRAINING["learning_rate"],
    )


def trainers(task: Lesson) -> tuple[dict[str, Trainer], dict[str, str]]:
    """Every way of Opacus that runs, after a few steps, and why others do not."""
    found, failed = {}, {}
    for way in WAYS:
        try:
            found[way.name] = Trainer(way, task)
            found[way.name].train(WARM_UP_STEPS)
        # What one version of Opacus cannot do must not keep the others from being timed.
        except Exception as error:
            found.pop(way.name, None)
            failed[way.name] = f"{type(error).__name__}: {error}"
    return found, failed


def race(split: Split, image_shape: tuple[int, ...] | None) -> Race:
    """Train the same maps on the same points, taking turns."""
    facts = {**TRAINING, "image_shape": image_shape}
    first = build(**facts | {"steps": FEW_STEPS})
    fit(first, split)
    task = lesson(first, split)
    theirs, failed = trainers(task) if locally_linear_opacus.installed() else ({}, {})
    steps = TRAINING["steps"]
    rounds: dict[str, list[float]] = {OURS: [], OUR_STEPS: [], **{name: [] for name in theirs}}
    begin = Moment.now()
    for _ in range(ROUNDS):
        whole = fit(build(**facts), split)
        start = fit(build(**facts | {"steps": FEW_STEPS}), split)
        rounds[OURS].append(whole)
        rounds[OUR_STEPS].append((whole - start) * steps / (steps - FEW_STEPS))
        for name, trainer in theirs.items():
            rounds[name].append(trainer.train(SOME_STEPS) * steps / SOME_STEPS)
    others = others_since(begin)
    how = dict.fromkeys(theirs, f"{SOME_STEPS} steps timed and scaled, {THREADS} threads")
    how[OURS] = "measured"
    how[OUR_STEPS] = f"less a fit of {FEW_STEPS} steps, scaled"
    classes, maps, size = task.start.shape
    return Race(
        len(split.classes),
        size - 1,
        classes,
        maps,
        round(TRAINING["sampling_rate"] * len(split.classes)),
        steps,
        {name: statistics.median(took) for name, took in rounds.items()},
        rounds,
        how,
        failed,
        others,
    )


def fresh_fit(kind: str) -> FreshFit:
    """Fit mnist in a fresh process.

    Raises
    ------
    RuntimeError
        If the process fails.
    """
    start = Moment.now()
    found = apart(fit_mnist, kind)
    return FreshFit(kind, **found, others=others_since(start))


def fit_mnist(kind: str) -> dict[str, float]:
    task = locally_linear_data.load("mnist")
    split = task.split(0)
    before = peak_megabytes()
    seconds = fit(build(image_shape=task.image_shape, copies=kind == "copies"), split)
    return {"seconds": seconds, "before_megabytes": before, "peak_megabytes": peak_megabytes()}
