"""Seconds of the prototype benchmark: whole fits beside per-example gradients.

Called by `quality.py`. Per-example steps are timed on a few rows or steps and extrapolated.
"""

import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import voile
from benchmarks.kit.timing import Moment, others_since
from benchmarks.lvq import data as lvq_data
from benchmarks.lvq.steps import CLIP, in_ball, row_by_row, row_tensors

Floats = NDArray[np.float64]

EPSILON, DELTA = 1.5, 1e-5
ROUNDS = 3
SOME_ROWS, TENSOR_ROWS = 2_000, 256
SLOPE = 15.0
OURS, OUR_STEPS = "Voile, whole fit", "Voile, steps alone"


@dataclass(frozen=True, slots=True)
class Race:
    """Seconds of one model.

    Attributes
    ----------
    name : str
        The model.
    rows, features, steps : int
        What was trained on, and the steps that Voile took.
    seconds : dict of str to float
        Per implementation, medians: measured for Voile, extrapolated for the others.
    how : dict of str to str
        How each was timed.
    fits : list of float
        Each timed fit of Voile; one before them was not counted.
    others : float or None
        How many cores other programs kept busy meanwhile.
    """

    name: str
    rows: int
    features: int
    steps: int
    seconds: dict[str, float]
    how: dict[str, str]
    fits: list[float]
    others: float | None


def opacus_installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "opacus"))


def opacus_step(points: Floats, classes: NDArray[np.int64], prototypes: Floats) -> Floats:
    """Sum of clipped gradients with Opacus: torch makes every row's gradient."""
    import torch
    from opacus import GradSampleModule

    class Prototypes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = torch.nn.Parameter(torch.tensor(prototypes, dtype=torch.float32))

        def forward(self, rows: Any) -> Any:
            return ((rows[:, None] - self.places) ** 2).sum(dim=2)

    inner = Prototypes()
    model = GradSampleModule(inner, loss_reduction="sum")
    rows = torch.tensor(points, dtype=torch.float32)
    own = torch.nn.functional.one_hot(torch.tensor(classes), len(prototypes)).bool()
    slope = SLOPE * points.shape[1] ** (1 / 3)
    total = torch.zeros(prototypes.shape)
    for start in range(0, len(rows), TENSOR_ROWS):
        part = slice(start, start + TENSOR_ROWS)
        far, right = model(rows[part]), own[part]
        near = far[right]
        other = far.masked_fill(right, torch.inf).min(dim=1).values
        loss = torch.nn.functional.softplus(slope * (near - other) / (near + other)).sum()
        loss.backward()
        gradients = inner.places.grad_sample
        norms = gradients.flatten(1).norm(dim=1)
        total += torch.einsum("i,ijk->jk", (CLIP / norms).clamp(max=1.0), gradients)
        model.zero_grad(set_to_none=True)
        inner.places.grad_sample = None
    return np.asarray(total.numpy(), dtype=np.float64)


def in_parts(points: Floats, classes: NDArray[np.int64], prototypes: Floats) -> Floats:
    """All rows by `row_tensors`, some at a time."""
    slope, total = SLOPE * points.shape[1] ** (1 / 3), np.zeros_like(prototypes)
    for start in range(0, len(points), TENSOR_ROWS):
        part = slice(start, start + TENSOR_ROWS)
        total += row_tensors(points[part], classes[part], prototypes, slope)
    return total


def one_by_one(points: Floats, classes: NDArray[np.int64], prototypes: Floats) -> Floats:
    return row_by_row(points, classes, prototypes, SLOPE * points.shape[1] ** (1 / 3))


def timed(
    step: Callable[[Floats, NDArray[np.int64], Floats], Floats],
    points: Floats,
    classes: NDArray[np.int64],
    prototypes: Floats,
) -> float:
    """Median seconds of a step over some rows, after one that does not count, per row."""
    took = []
    some, own = points[:SOME_ROWS], classes[:SOME_ROWS]
    for turn in range(ROUNDS + 1):
        start = time.perf_counter()
        step(some, own, prototypes)
        if turn:
            took.append(time.perf_counter() - start)
    return statistics.median(took) / len(some)


def peers() -> dict[str, Callable[[Floats, NDArray[np.int64], Floats], Floats]]:
    found = {"numpy, row by row": one_by_one, "numpy, tensors of row gradients": in_parts}
    if opacus_installed():
        found["Opacus"] = opacus_step
    return found


def race(kind: str, one: lvq_data.DataSet, rows: NDArray[np.int64]) -> Race:
    """Fit a fold of a set, then time per-example steps on its points from the class means."""
    frame, target = one.frame.iloc[rows], one.target[rows]
    make = getattr(voile, f"{kind}Classifier")
    facts = {"epsilon": EPSILON, "delta": DELTA, "schema": one.schema}
    took: list[float] = []
    start_only: list[float] = []
    begin = Moment.now()
    for turn in range(ROUNDS + 1):
        for model, seconds_of in (
            (make(**facts, typical=1.0), start_only),
            (make(**facts), took),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                start = time.perf_counter()
                model.fit(frame, target)
            if turn:
                seconds_of.append(time.perf_counter() - start)
    steps = next(line.event.count for line in model.receipt_.lines if line.label == "steps")
    trained = model.model_
    through = trained.omega.T
    points = in_ball((lvq_data.scaled(one.schema, frame) - trained.centre) @ through)
    prototypes = (trained.means - trained.centre) @ through
    classes = np.searchsorted(model.classes_, target)
    whole, first = statistics.median(took), statistics.median(start_only)
    seconds = {OURS: whole, OUR_STEPS: whole - first}
    how = {OURS: "measured", OUR_STEPS: "less a fit that stops before the steps"}
    for name, step in peers().items():
        each = timed(step, points, classes, prototypes)
        seconds[name] = each * len(rows) * steps
        how[name] = (
            f"extrapolated from {min(SOME_ROWS, len(rows)):,} rows, {1e6 * each:.0f} us each"
        )
    return Race(kind, len(rows), len(one.schema), steps, seconds, how, took, others_since(begin))


def races() -> list[Race]:
    """GLVQ and GMLVQ on one fold of mnist: 14,000 x 784.

    Raises
    ------
    FileNotFoundError
        If the set is not there.
    """
    one = lvq_data.load("mnist")
    rows, _ = next(lvq_data.folds_of(one.name, len(one.target)))
    return [race(kind, one, rows) for kind in ("GLVQ", "GMLVQ")]
