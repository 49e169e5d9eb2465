"""Seconds and memory of the explainer benchmark, in processes of their own.

Called by `quality.py`. Peak memory is that of the
whole process, its table of private rows included.
"""

import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kit.timing import Moment, apart, others_since, peak_megabytes
from voile import Number, PrivateExplainer, Schema
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.solvers.weights import read_weight

ROWS, COLUMNS = 100_000, 50
STEPS = 300
QUESTIONS = 50
FEW_QUESTIONS = 10
LOOPS = 3
EPSILON = {"summary": 1.0, "rows": 10.0}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Speed:
    """One strategy on a table of numbers.

    Attributes
    ----------
    strategy : str
        "direct loop" is the peer: gradient steps over the rows, without noise or ledger.
    rows, columns : int
    opening : float
        Seconds to make the explainer; nan for the peer.
    each, spread : float
        Median seconds of one question, and half the distance of its quartiles.
    questions : int
    peak_megabytes : float
        Of the process.
    others : float or None
        How many cores other programs kept busy meanwhile.
    """

    strategy: str
    rows: int
    columns: int
    opening: float
    each: float
    spread: float
    questions: int
    peak_megabytes: float
    others: float | None


def table(rows: int, columns: int) -> tuple[Floats, Schema]:
    """Correlated numbers within [-1, 1]."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(rows, 4))
    X = common @ rng.normal(size=(4, columns)) / 6
    X += rng.normal(size=(rows, columns)) / 6
    np.clip(X, -1.0, 1.0, out=X)
    return X, Schema({f"x{j}": Number(-1, 1) for j in range(columns)})


class Ridge:
    """A cheap model: a bent sum of the columns."""

    def __init__(self, columns: int) -> None:
        self._slopes = np.random.default_rng(1).normal(size=columns) / math.sqrt(columns)

    def __call__(self, rows: Any) -> Floats:
        return np.asarray(np.tanh(3.0 * (np.asarray(rows, dtype=np.float64) @ self._slopes)))


def seconds_of(ask: Any, asked: Floats, warm_up: int = 2) -> tuple[float, float]:
    """Median and half the distance of the quartiles, of one question after the other."""
    took = []
    for number, row in enumerate(asked):
        start = time.perf_counter()
        ask(row[None])
        if number >= warm_up:
            took.append(time.perf_counter() - start)
    low, high = np.quantile(took, [0.25, 0.75])
    return statistics.median(took), float(high - low) / 2


def direct_loop(points: Floats, labels: Floats, z: Floats, steps: int = STEPS) -> Floats:
    """Algorithm 1 without noise: T gradients, each a sum over the rows."""
    weight = read_weight("stable")
    moved = points - z
    near = weight.at(np.sqrt(np.einsum("ij,ij->i", moved, moved)))
    phi = np.zeros(points.shape[1])
    for t in range(1, steps + 1):
        rest = moved @ phi - labels
        gradient = 2.0 / len(moved) * (moved.T @ (near * rest))
        phi = phi - gradient / math.sqrt(t)
        phi /= max(1.0, float(np.linalg.norm(phi)))
    return phi


def time_summary(rows: int, columns: int) -> list[dict[str, Any]]:
    X, schema = table(rows, columns)
    asked, model = X[: QUESTIONS + 2] * 0.9, Ridge(columns)
    begin, start = Moment.now(), time.perf_counter()
    explainer = PrivateExplainer(
        model, X, schema=schema, epsilon=EPSILON["summary"], weight="stable"
    )
    opening = time.perf_counter() - start
    each, spread = seconds_of(explainer.explain_slopes, asked)
    return [
        {
            "strategy": "summary",
            "rows": rows,
            "columns": columns,
            "opening": opening,
            "each": each,
            "spread": spread,
            "questions": QUESTIONS,
            "peak_megabytes": peak_megabytes(),
            "others": others_since(begin),
        }
    ]


def time_rows(rows: int, columns: int) -> list[dict[str, Any]]:
    """Strategies that read rows, and the peer, taking turns in one process."""
    X, schema = table(rows, columns)
    asked, model = X[: FEW_QUESTIONS + 2] * 0.9, Ridge(columns)
    results = []
    for strategy in ("release", "interactive"):
        begin, start = Moment.now(), time.perf_counter()
        explainer = PrivateExplainer(
            model,
            X,
            schema=schema,
            epsilon=EPSILON["rows"],
            strategy=strategy,
            queries=100,
            radius=1.0,
            intercept=False,
            shared_questions=True,  # made-up rows
        )
        opening = time.perf_counter() - start
        each, spread = seconds_of(explainer.explain_slopes, asked)
        assert {one.answered for one in explainer.history()} == {strategy}
        results.append((strategy, opening, each, spread, len(asked) - 2, others_since(begin)))
    points = explainer._opened.questions.read(X).points / ONE
    labels = model(X)
    begin = Moment.now()
    places = points[: LOOPS + 1] * 0.9
    each, spread = seconds_of(lambda z: direct_loop(points, labels, z[0]), places, 1)
    results.append(("direct loop", math.nan, each, spread, LOOPS, others_since(begin)))
    names = ("strategy", "opening", "each", "spread", "questions", "others")
    facts = {"rows": rows, "columns": columns, "peak_megabytes": peak_megabytes()}
    return [{**dict(zip(names, one, strict=True)), **facts} for one in results]


def speeds(rows: int = ROWS, columns: int = COLUMNS) -> list[Speed]:
    """Each in a fresh process; the peak of "rows" has the peer's own copy of the points in it."""
    found = []
    for work in (time_summary, time_rows):
        found += [Speed(**one) for one in apart(work, rows, columns)]
    return found
