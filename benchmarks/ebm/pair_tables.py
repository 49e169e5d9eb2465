"""Made-up tables with and without effects of two columns together, for the benchmark of pairs.

Every function draws a table of any number of rows: columns, target, and the pairs of columns that
do something together. Not a script: see `pairs.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drawn:
    """Rows of a table.

    Attributes
    ----------
    frame : DataFrame of shape (n, k)
    target : ndarray of shape (n,)
        Numbers, or numbers of classes.
    pairs : tuple of pairs of str
        Columns that do something together.
    """

    frame: pd.DataFrame
    target: NDArray
    pairs: Pairs = ()


def _uniform(rng: Generator, n: int, k: int) -> pd.DataFrame:
    return pd.DataFrame(rng.random((n, k)), columns=[f"x{j}" for j in range(k)])


def _normals(rng: Generator, n: int, k: int, shared: float = 0.0) -> pd.DataFrame:
    both = rng.standard_normal((n, 1)) * np.sqrt(shared)
    values = both + rng.standard_normal((n, k)) * np.sqrt(1 - shared)
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(k)])


def _levels(rng: Generator, n: int, counts: list[int]) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    codes = np.column_stack([np.minimum(rng.geometric(2.0 / c, n) - 1, c - 1) for c in counts])
    names = {f"c{k}": np.char.add("level ", codes[:, k].astype(str)) for k in range(len(counts))}
    return pd.DataFrame(names), codes


def _coin(rng: Generator, score: Array) -> NDArray[np.int64]:
    return (rng.random(len(score)) < expit(score)).astype(np.int64)


def _one_of(rng: Generator, scores: Array) -> NDArray[np.int64]:
    return np.argmax(scores + rng.gumbel(size=scores.shape), axis=1).astype(np.int64)


# -- numbers -------------------------------------------------------------------------------------


def friedman1(rng: Generator, n: int) -> Drawn:
    """Friedman's first: one product of two of ten columns."""
    f = _uniform(rng, n, 10)
    x = f.to_numpy()
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return Drawn(f, y + 5 * x[:, 4] + rng.standard_normal(n), (("x0", "x1"),))


def friedman2(rng: Generator, n: int) -> Drawn:
    """Friedman's second: an impedance of four columns."""
    x = rng.random((n, 4)) * [100, 520 * np.pi, 1, 10] + [0, 40 * np.pi, 0, 1]
    y = np.sqrt(x[:, 0] ** 2 + (x[:, 1] * x[:, 2] - 1 / (x[:, 1] * x[:, 3])) ** 2)
    f = pd.DataFrame(x, columns=["x0", "x1", "x2", "x3"])
    return Drawn(f, y + 125 * rng.standard_normal(n), (("x1", "x2"),))


def planes(rng: Generator, n: int) -> Drawn:
    """Two planes, of which one column says which holds (2dplanes)."""
    x = rng.integers(-1, 2, (n, 10)).astype(float)
    x[:, 0] = rng.choice([-1.0, 1.0], n)
    one = 3 + 3 * x[:, 1] + 2 * x[:, 2] + x[:, 3]
    other = -3 + 3 * x[:, 4] + 2 * x[:, 5] + x[:, 6]
    y = np.where(x[:, 0] > 0, one, other) + rng.standard_normal(n)
    f = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    return Drawn(f, y, tuple(("x0", f"x{j}") for j in range(1, 7)))


def switches(rng: Generator, n: int) -> Drawn:
    """A category says whether a number rises or falls (like mv)."""
    f = _uniform(rng, n, 6)
    c, codes = _levels(rng, n, [2, 3, 8])
    x = f.to_numpy()
    y = np.where(codes[:, 0] > 0, 3 * x[:, 0], -2 * x[:, 0]) + 2 * (x[:, 1] > 0.6)
    y = y + (codes[:, 1] == 1) * np.sin(6 * x[:, 2]) + 0.7 * rng.standard_normal(n)
    return Drawn(f.join(c), y, (("x0", "c0"), ("x2", "c1")))


def arm(rng: Generator, n: int) -> Drawn:
    """The torque of an arm of two links (like puma8NH): products of sines, much noise."""
    f = pd.DataFrame(rng.uniform(-1.5, 1.5, (n, 8)), columns=[f"x{j}" for j in range(8)])
    x = f.to_numpy()
    y = 3 * np.sin(x[:, 0]) * x[:, 1] + np.cos(x[:, 2]) * x[:, 3] ** 2 + 0.5 * x[:, 4] * x[:, 5]
    return Drawn(f, y + 1.5 * rng.standard_normal(n), (("x0", "x1"), ("x2", "x3"), ("x4", "x5")))


def places(rng: Generator, n: int) -> Drawn:
    """Prices by place: two related coordinates, towns of different dearness, a long tail."""
    town = rng.integers(0, 6, n)
    centre = np.random.default_rng(11).uniform(0, 10, (6, 2))
    at = centre[town] + 0.9 * rng.standard_normal((n, 2))
    f = _normals(rng, n, 5, 0.3)
    f["lat"], f["lon"] = at[:, 0], at[:, 1]
    dear = np.array([0.8, -0.6, 0.3, 1.2, -0.9, 0.0])[town]
    x = f.to_numpy()
    y = np.exp(0.5 * dear + 0.4 * x[:, 0] - 0.2 * x[:, 1] ** 2 + 0.3 * rng.standard_normal(n))
    return Drawn(f, np.minimum(y, 8.0), (("lat", "lon"),))


def nearly_explained(rng: Generator, n: int) -> Drawn:
    """21 related, skewed columns that explain nearly all of a number with a tail (like cpu_act)."""
    load = rng.gamma(2.0, 1.0, n)
    mix = np.random.default_rng(5).uniform(0.2, 1.0, 21)
    x = np.exp(mix * np.log1p(load)[:, None] + 0.5 * rng.standard_normal((n, 21))) ** 1.5
    f = pd.DataFrame(x, columns=[f"x{j:02}" for j in range(21)])
    y = 99 - 6 * np.log1p(x[:, 0]) - 4 * np.log1p(x[:, 1]) - 3 * np.log1p(x[:, 2])
    idle = rng.random(n) < 0.03
    y = np.where(idle, rng.uniform(0, 10, n), y + 1.5 * rng.standard_normal(n))
    f["x03"] = np.where(idle, rng.uniform(2000, 4000, n), f["x03"] + 50)
    return Drawn(f, np.clip(y, 0, 99), ())


def idle(rng: Generator, n: int) -> Drawn:
    """A number that a few columns explain, but for one row in twenty where it is about 0, which one
    column tells (like cpu_act); 8,192 rows at most."""
    return _idle(rng, n, told_by=1)


def idle_by_three(rng: Generator, n: int) -> Drawn:
    """The same, told by three columns, each of which tells four of five such rows."""
    return _idle(rng, n, told_by=3)


def _idle(rng: Generator, n: int, told_by: int) -> Drawn:
    n = min(n, 8_192)
    load = rng.gamma(1.0, 1.0, n)
    mix = np.random.default_rng(5).uniform(0.2, 1.0, 21)
    noise = 0.6 * rng.standard_normal((n, 21))
    x = np.exp(1.5 * mix * np.log1p(load)[:, None] + noise) ** 1.5
    y = 97 - 2.2 * np.log1p(x[:, 0]) ** 1.3 - 1.5 * np.log1p(x[:, 1]) - 1.5 * np.log1p(x[:, 2])
    rest = rng.random(n) < 0.05
    y = np.where(rest, rng.uniform(0, 3, n), y - 0.02 * x[:, 3] + 1.5 * rng.standard_normal(n))
    if told_by == 1:
        x[:, 5] = np.where(rest, rng.uniform(0, 60, n), 60 + 3 * x[:, 5])
    else:
        for k in range(5, 5 + told_by):
            x[:, k] = np.where(rest & (rng.random(n) < 0.8), rng.uniform(300, 2000, n), x[:, k])
    f = pd.DataFrame(x, columns=[f"x{j:02}" for j in range(21)])
    return Drawn(f, np.clip(y, 0, 99))


def additive(rng: Generator, n: int) -> Drawn:
    """A number that is a sum of curves of eight of twelve columns."""
    f = _normals(rng, n, 12)
    x = f.to_numpy()
    y = np.sin(2 * x[:, 0]) + (x[:, 1] > 0.5) + 0.3 * x[:, 2] ** 2 + 0.5 * x[:, 3]
    y = y + np.abs(x[:, 4]) + np.tanh(2 * x[:, 5]) - 0.4 * x[:, 6] + 0.2 * x[:, 7]
    return Drawn(f, y + rng.standard_normal(n))


def related(rng: Generator, n: int) -> Drawn:
    """The same of closely related columns."""
    f = _normals(rng, n, 12, 0.8)
    x = f.to_numpy()
    y = np.sin(2 * x[:, 0]) + (x[:, 1] > 0.5) + 0.3 * x[:, 2] ** 2 + 0.5 * x[:, 3]
    return Drawn(f, y + np.abs(x[:, 4]) - 0.4 * x[:, 6] + rng.standard_normal(n))


def skewed(rng: Generator, n: int) -> Drawn:
    """A long-tailed number of long-tailed columns, additive in its middle."""
    f = np.exp(_normals(rng, n, 8))
    x = f.to_numpy()
    y = np.log1p(x[:, 0]) + 0.5 * np.sqrt(x[:, 1]) + rng.gamma(0.7, 1.0, n)
    return Drawn(f, np.minimum(y, 15.0))


# -- classes -------------------------------------------------------------------------------------


def product(rng: Generator, n: int) -> Drawn:
    """Two classes: a product of two columns beside curves of four others."""
    f = _normals(rng, n, 10)
    x = f.to_numpy()
    score = 1.2 * x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * x[:, 3] ** 2 - 0.8 * (x[:, 4] > 0)
    return Drawn(f, _coin(rng, score - 0.5 + 0.5 * x[:, 0]), (("x0", "x1"),))


def ellipses(rng: Generator, n: int) -> Drawn:
    """Two classes that differ in how columns are related (like magic)."""
    y = _coin(rng, np.full(n, -0.6))
    x = rng.standard_normal((n, 10))
    x[:, 1] = np.where(y > 0, 0.8, -0.3) * x[:, 0] + 0.6 * x[:, 1]
    x[:, 3] = np.where(y > 0, -0.7, 0.4) * x[:, 2] + 0.7 * x[:, 3]
    x[:, 4] += 0.6 * y
    x[:, 5] *= 1 + 0.5 * y
    f = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    return Drawn(f, y, (("x0", "x1"), ("x2", "x3")))


def blobs(rng: Generator, n: int) -> Drawn:
    """Two classes in clusters of five columns (like phoneme); a third of the rows."""
    n = max(n // 3, 1000)
    rules = np.random.default_rng(8)
    centres, kinds = rules.uniform(-2, 2, (14, 5)), rules.random(14) < 0.35
    at = rng.integers(0, 14, n)
    x = centres[at] + 0.6 * rng.standard_normal((n, 5))
    y = np.where(rng.random(n) < 0.05, 1 - kinds[at], kinds[at]).astype(np.int64)
    f = pd.DataFrame(x, columns=[f"x{j}" for j in range(5)])
    return Drawn(f, y, tuple((f"x{i}", f"x{j}") for i in range(5) for j in range(i + 1, 5)))


def crossed_levels(rng: Generator, n: int) -> Drawn:
    """Two classes by categories alone, two of which do something together."""
    f, codes = _levels(rng, n, [4, 6, 3, 10, 5, 20, 2])
    effects = np.random.default_rng(3).normal(0, 1.2, (4, 6))
    score = effects[codes[:, 0], codes[:, 1]] + 0.5 * (codes[:, 2] == 1) - 0.1 * codes[:, 3]
    return Drawn(f, _coin(rng, score), (("c0", "c1"),))


def three_crossed(rng: Generator, n: int) -> Drawn:
    """Three classes, one of them by a product."""
    f = _normals(rng, n, 8)
    x = f.to_numpy()
    scores = np.column_stack(
        [1.2 * x[:, 0] * x[:, 1], x[:, 2] - 0.3, 0.7 * x[:, 3] + 0.5 * x[:, 4]]
    )
    return Drawn(f, _one_of(rng, scores), (("x0", "x1"),))


def sum_of_curves(rng: Generator, n: int) -> Drawn:
    """Two classes, additive."""
    f = _normals(rng, n, 12, 0.3)
    x = f.to_numpy()
    score = np.sin(2 * x[:, 0]) + x[:, 1] + 0.4 * x[:, 2] ** 2 - (x[:, 3] > 1) - 0.5 * x[:, 4]
    return Drawn(f, _coin(rng, score - 0.8))


def sum_of_levels(rng: Generator, n: int) -> Drawn:
    """Two classes, additive, categories and numbers (like a survey)."""
    f, codes = _levels(rng, n, [3, 5, 9, 15, 40, 4, 6, 2])
    numbers = _normals(rng, n, 6, 0.4)
    score = 0.5 * (codes[:, 0] == 0) - 0.15 * codes[:, 2] + 0.6 * numbers["x0"].to_numpy()
    score = score + 0.8 * (codes[:, 5] == 1) + 0.4 * np.abs(numbers["x1"].to_numpy())
    return Drawn(numbers.join(f), _coin(rng, score - 1.2))


def rare(rng: Generator, n: int) -> Drawn:
    """Two classes, additive, 3 % positives."""
    f = _normals(rng, n, 15, 0.2)
    x = f.to_numpy()
    return Drawn(f, _coin(rng, x[:, 0] + 0.7 * x[:, 1] + 0.5 * np.abs(x[:, 2]) - 4.6))


def many_columns(rng: Generator, n: int) -> Drawn:
    """Two classes, additive in ten of 60 columns; a third of the rows."""
    n = max(n // 3, 1000)
    f = _normals(rng, n, 60, 0.2)
    x = f.to_numpy()
    return Drawn(f, _coin(rng, 0.5 * x[:, :6].sum(axis=1) + np.sin(2 * x[:, 6:10]).sum(axis=1)))


def nothing(rng: Generator, n: int) -> Drawn:
    """Two classes that no column says anything about."""
    return Drawn(_normals(rng, n, 10), _coin(rng, np.full(n, -1.0)))


def five_kinds(rng: Generator, n: int) -> Drawn:
    """Five classes, one of which has nine of ten rows (like page_blocks); a third of the rows."""
    n = max(n // 3, 1000)
    f = np.exp(0.8 * _normals(rng, n, 10, 0.3))
    x = np.log(f.to_numpy())
    scores = np.column_stack(
        [np.full(n, 5.5), 3 * x[:, 0], 2 * x[:, 1] - 2 * x[:, 2], -3 * x[:, 3], 2.5 * x[:, 4]]
    )
    return Drawn(f, _one_of(rng, scores))


TABLES: dict[str, tuple[str, Callable[[Generator, int], Drawn]]] = {
    **{
        make.__name__: ("regression", make)
        for make in (
            *(friedman1, friedman2, planes, switches, arm, places),
            *(nearly_explained, idle, idle_by_three, additive, related, skewed),
        )
    },
    **{
        make.__name__: ("classes", make)
        for make in (
            *(product, ellipses, blobs, crossed_levels, three_crossed, sum_of_curves),
            *(sum_of_levels, rare, many_columns, nothing, five_kinds),
        )
    },
}
