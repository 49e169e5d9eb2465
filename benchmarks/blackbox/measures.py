"""Explanations beside the exact ones on the private rows, and how sure the means are.

Not a script: see `quality.py`. A benchmark may look at the private rows; nobody else may. What
`PrivateExplainer.quality` measures with public rows is measured here with the private ones, row by
row, and what does not depend on the explanation is computed once.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.blackbox.data import Task
from voile import PrivateExplainer
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.rows.given_model import read_model
from voile.explain.blackbox.rows.given_rows import read_rows
from voile.explain.blackbox.rows.points import ONE
from voile.explain.blackbox.settings import Settings, usual_radius
from voile.explain.blackbox.solvers.local_fit import fit_local
from voile.explain.blackbox.solvers.weights import read_weight
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.privacy.gaussian_dp import epsilon_of, mu_of
from voile.privacy.ledger.filter import SLACK

Floats = NDArray[np.float64]

DELTA = 1e-6
STRONGEST = 5
RIDGE = next(one.default for one in fields(Settings) if one.name == "ridge")


@dataclass(frozen=True)
class Setting:
    """Of the local models; `width` is that of a Gaussian weight (none: the stable weight).

    Without a radius it is the library's own for the schema.
    """

    name: str
    radius: float | None
    intercept: bool
    width: float | None = None

    def radius_for(self, task: Task) -> float:
        return usual_radius(task.schema) if self.radius is None else self.radius

    def options(self, task: Task) -> dict[str, Any]:
        """For the constructor and `with_model`, which would keep another setting's radius."""
        weight = "stable" if self.width is None else "gaussian"
        found: dict[str, Any] = {"radius": self.radius_for(task), "intercept": self.intercept}
        return found | {"weight": weight, "width": self.width}


PAPER = Setting("paper", 1.0, False)
DEFAULT = Setting("default", None, True)
NARROW = Setting("narrow", None, True, 0.25)
SETTINGS = {one.name: one for one in (PAPER, DEFAULT)}


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean.

    Attributes
    ----------
    value : float
    error : float
        Standard error over asked rows, each a mean over seeds; 0 for one row.
    seed_error : float or None
        Standard error over seeds (new noise each); None for one seed.
    """

    value: float
    error: float
    seed_error: float | None = None

    @classmethod
    def of(cls, values: Any) -> "Estimate":
        """From values of shape (seeds, asked)."""
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        seeds, asked = table.shape
        over = table.mean(axis=0).std(ddof=1) / math.sqrt(asked) if asked > 1 else 0.0
        means = table.mean(axis=1)
        other = float(means.std(ddof=1) / math.sqrt(seeds)) if seeds > 1 else None
        return cls(float(table.mean()), float(over), other)


@dataclass(frozen=True, eq=False)
class Measured:
    """One value per asked row, shape (asked,) each."""

    loss: Floats
    zero: Floats
    agreement: Floats
    best_agreement: Floats
    majority: Floats
    shared: Floats
    effective: Floats


@dataclass(frozen=True, eq=False)
class _Exact:
    """The local loss around one row is (theta' A theta) / 2 - b' theta + a constant."""

    matrix: Floats
    vector: Floats
    near: NDArray[np.float32]
    theta: Floats
    agreement: float

    def loss(self, theta: Floats) -> float:
        return float(0.5 * theta @ self.matrix @ theta - self.vector @ theta)


@dataclass(eq=False)
class Reference:
    """The private rows as points, what the model says of them, and exact local models.

    Parameters
    ----------
    task : Task
    model : object
        With one output.
    asked : table
    """

    task: Task
    model: Any
    asked: Any
    _exact: dict[tuple[Setting, int], _Exact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        black_box = read_model(
            self.model, output=None, scores="auto", output_range=None, target=None
        )
        schema = self.task.schema
        _, _, given = read_rows(self.task.rows, schema=schema, names_read=black_box.names_read)
        questions = Questions(schema, given, black_box)
        rows = questions.read(self.task.rows)
        self.points: Floats = rows.points / ONE
        self.labels: Floats = questions.ask(rows.columns, rows.rows)[:, 0]
        self.places: Floats = questions.read(self.asked).points / ONE
        self._squares = np.einsum("ij,ij->i", self.points, self.points)

    @property
    def features(self) -> int:
        return int(self.points.shape[1])

    def exact(self, setting: Setting, row: int) -> _Exact:
        """The best local model around an asked row, without privacy."""
        key = (setting, row)
        if key not in self._exact:
            self._exact[key] = self._fit(setting, self.places[row])
        return self._exact[key]

    def _fit(self, setting: Setting, z: Floats) -> _Exact:
        kind = "stable" if setting.width is None else "gaussian"
        weight = read_weight(kind, width=setting.width)
        far = np.sqrt(np.maximum(self._squares - 2.0 * (self.points @ z) + z @ z, 0.0))
        near = weight.at(far)
        moved = self.points - z
        if setting.intercept:
            moved = np.column_stack([moved, np.ones(len(moved))])
        weighed = moved * (2.0 * near / len(moved))[:, None]
        matrix, vector = weighed.T @ moved, weighed.T @ self.labels
        fit = fit_local(
            matrix,
            vector[:, None],
            radius=setting.radius_for(self.task),
            intercept=setting.intercept,
            ridge=RIDGE,
        )
        theta = fit.phi[:, 0]
        agreement = self._agreement(near, z, theta, float(fit.offset[0]))
        if setting.intercept:
            theta = np.append(theta, fit.offset[0])
        return _Exact(matrix, vector, near.astype(np.float32), theta, agreement)

    def _agreement(self, near: Any, z: Floats, phi: Floats, offset: float) -> float:
        """Share of rows by weight whose sign the local model has right."""
        told = self.points @ phi + (offset - z @ phi) >= 0
        return float(near @ (told == (self.labels >= 0)) / max(float(near.sum()), 1e-300))

    def measure(self, found: LocalSurrogate, setting: Setting, first: int = 0) -> Measured:
        """Compare explanations of the asked rows, from the `first` on, with the exact ones."""
        lines = []
        for k in range(len(found)):
            exact, z = self.exact(setting, first + k), self.places[first + k]
            phi, offset = found.coefficients[k, :, 0], float(found.intercepts[k, 0])
            theta = np.append(phi, offset) if setting.intercept else phi
            best = exact.loss(exact.theta)
            offset = offset if setting.intercept else 0.0
            up = float(exact.near @ (self.labels >= 0)) / float(exact.near.sum())
            lines.append(
                (
                    exact.loss(theta) - best,
                    -best,
                    self._agreement(exact.near, z, phi, offset),
                    exact.agreement,
                    max(up, 1.0 - up),
                    shared(phi, exact.theta[: len(phi)]),
                    float(exact.near.sum() ** 2 / (exact.near @ exact.near) / len(exact.near)),
                )
            )
        return Measured(*np.array(lines).reshape(-1, 7).T)


def shared(one: Floats, other: Floats, count: int = STRONGEST) -> int:
    """How many of the strongest are the same."""
    return len(set(strongest(one, count)) & set(strongest(other, count)))


def strongest(values: Floats, count: int = STRONGEST) -> list[int]:
    return [int(j) for j in np.argsort(-np.abs(values), kind="stable")[:count]]


def equal_epsilon(epsilon: float, queries: int, asked: int, delta: float = DELTA) -> float:
    """Budget at which each of `asked` questions has the noise of one out of `queries` at epsilon.

    So the loss of a single question can be averaged over many rows without opening an explainer for
    each: mu^2 per question is what makes the noise.
    """
    inner = delta * (1.0 - SLACK)
    return epsilon_of(mu_of(epsilon, inner) * math.sqrt(asked / queries), inner)


@dataclass(frozen=True, eq=False)
class Opened:
    """An explainer and the seconds it took to make it."""

    explainer: PrivateExplainer
    seconds: float


def open_explainer(
    task: Task,
    model: Any,
    strategy: str,
    epsilon: float,
    setting: Setting,
    *,
    queries: int | None = None,
    seed: int = 0,
) -> Opened:
    """An explainer with a ledger of its own, in memory."""
    start = time.perf_counter()
    explainer = PrivateExplainer(
        model,
        task.rows,
        schema=task.schema,
        epsilon=epsilon,
        delta=DELTA,
        strategy=strategy,  # type: ignore[arg-type]
        queries=queries or task.queries,
        random_state=seed,
        shared_questions=True,  # rows of public sets
        **setting.options(task),
    )
    return Opened(explainer, time.perf_counter() - start)


def timed(explain: Callable[[Any], LocalSurrogate], rows: Any) -> tuple[LocalSurrogate, float]:
    """Explanations, and seconds per row."""
    start = time.perf_counter()
    found = explain(rows)
    return found, (time.perf_counter() - start) / max(len(found), 1)


def stack(measured: Sequence[Measured], name: str) -> Floats:
    """One measure of several seeds, shape (seeds, asked)."""
    return np.array([getattr(one, name) for one in measured])
