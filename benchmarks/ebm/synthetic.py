"""Tables made from a fixed public seed, for the EBM benchmark: what the public sets do not cover.

Many rare levels, few positives, heavy tails, several classes, no signal at all, and tables too big
to keep. Every function returns features (pandas) and target (numpy) and depends on its arguments
alone. Not a script: `data.py` describes and names these tables.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit, ndtr, softmax

Array = NDArray[np.float64]
Table = tuple[pd.DataFrame, NDArray]

SEED = 20_240_501
PIECE = 500_000
BIG_BOUNDS = (-4.0, 4.0)
BIG_TARGET_BOUNDS = (-8.0, 8.0)

# A normal draw z becomes a value; only the shape differs, so effects can be written in z.
SHAPES: tuple[Callable[[Array], Array], ...] = (
    lambda z: 50 + 12 * z,
    lambda z: np.exp(8 + 1.2 * z),
    lambda z: np.where(z < 0.4, 0.0, np.round(np.exp(5 + 1.5 * z))),
    lambda z: np.where(z < 0, -3 + 0.8 * z, 3 + 0.5 * z),
    lambda z: np.floor(100 * ndtr(z)),
)

# What a number adds to the score: smooth curves and thresholds.
EFFECTS: tuple[Callable[[Array], Array], ...] = (
    lambda z: 0.8 * z,
    lambda z: 1.2 * (z > 0.8),
    lambda z: 0.6 * np.sin(2 * z),
    lambda z: 0.4 * (z**2 - 1),
    lambda z: np.tanh(2 * z),
    lambda z: -1.0 * (z < -1),
    lambda z: np.exp(-2 * z**2),
    lambda z: 0.5 * np.abs(z),
    lambda z: 0.7 * (z > -0.5) - 0.7 * (z > 1.2),
    lambda z: -0.5 * z,
)


def correlated_normals(rng: Generator, n: int, count: int) -> Array:
    """Standard normals, shape (n, count); each group of four shares 40 % of its variance."""
    shared = rng.standard_normal((n, (count + 3) // 4))
    own = rng.standard_normal((n, count))
    return np.sqrt(0.4) * shared[:, np.arange(count) // 4] + np.sqrt(0.6) * own


def zipf_codes(rng: Generator, z: Array, levels: int) -> NDArray[np.int64]:
    """Level of each row: frequencies 1/rank, ranks shuffled over codes, ordered along z."""
    weights = 1 / np.arange(1, levels + 1)
    order = rng.permutation(levels)
    edges = np.cumsum(weights[order] / weights.sum())
    return np.minimum(np.searchsorted(edges, ndtr(z)), levels - 1)


def mixed(
    rng: Generator, n: int, *, numbers: int, categories: int, most_levels: int = 200
) -> tuple[pd.DataFrame, Array, NDArray[np.int64]]:
    """Features of many shapes, with the normals behind the numbers and the codes of the levels."""
    z = correlated_normals(rng, n, numbers)
    columns: dict[str, object] = {
        f"number_{k:02}": SHAPES[k % len(SHAPES)](z[:, k]) for k in range(numbers)
    }
    codes = np.empty((n, categories), np.int64)
    for k, levels in enumerate(np.geomspace(5, most_levels, categories).round().astype(int)):
        behind = rng.standard_normal(n)
        if k % 3 == 0:  # every third category goes along with a number
            behind = 0.7 * z[:, k % numbers] + np.sqrt(0.51) * behind
        codes[:, k] = zipf_codes(rng, behind, levels)
        names = np.array([f"level_{level:03}" for level in range(levels)], dtype=object)
        columns[f"category_{k:02}"] = names[codes[:, k]]
    return pd.DataFrame(columns), z, codes


def additive_score(
    rng: Generator, z: Array, codes: NDArray[np.int64], *, numbers: int, categories: int
) -> Array:
    """A sum of curves of some numbers and of random effects of the levels of some categories."""
    score = np.zeros(len(z))
    for effect, k in enumerate(rng.choice(z.shape[1], numbers, replace=False)):
        score += EFFECTS[effect % len(EFFECTS)](z[:, k])
    for k in rng.choice(codes.shape[1], categories, replace=False):
        score += rng.normal(0.0, 0.6, codes[:, k].max() + 1)[codes[:, k]]
    return score


def positives(rng: Generator, score: Array, rate: float) -> NDArray[np.int64]:
    """Labels whose log-odds are the score plus the intercept that gives the wanted rate."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(score + middle).mean() < rate else (low, middle)
    return (rng.random(len(score)) < expit(score + low)).astype(np.int64)


def wide(n: int = 30_000) -> Table:
    """40 features, half of them categories with 5 to 200 levels; about 6 % positives."""
    rng = np.random.default_rng([SEED, 1])
    frame, z, codes = mixed(rng, n, numbers=20, categories=20)
    return frame, positives(rng, additive_score(rng, z, codes, numbers=10, categories=8), 0.06)


def few_positives(n: int = 20_000) -> Table:
    """50 features, half of them categories with rare levels; 1.5 % positives."""
    rng = np.random.default_rng([SEED, 2])
    frame, z, codes = mixed(rng, n, numbers=25, categories=25)
    return frame, positives(rng, additive_score(rng, z, codes, numbers=10, categories=8), 0.015)


def flat(n: int = 20_000) -> Table:
    """30 features that say nothing about the target, 20 % positives."""
    rng = np.random.default_rng([SEED, 3])
    frame, _, _ = mixed(rng, n, numbers=20, categories=10)
    return frame, positives(rng, np.zeros(n), 0.2)


def survey(n: int = 100_000) -> Table:
    """A health survey: 22 features, mostly yes/no answers and ordered scales; 14 % positives."""
    rng = np.random.default_rng([SEED, 4])
    health, age, wealth = rng.standard_normal((3, n))
    columns: dict[str, object] = {}
    score = np.zeros(n)
    answers = np.array(["no", "yes"], dtype=object)
    for k, rate in enumerate(np.geomspace(0.02, 0.9, 14)):
        loading = 0.6 * health + 0.3 * age if k % 2 else 0.5 * wealth
        tilt = loading + rng.standard_normal(n)
        yes = tilt > np.quantile(tilt, 1 - rate)
        columns[f"answer_{k:02}"] = answers[yes.astype(int)]
        if k % 3 == 0:
            score += rng.normal(0.0, 0.6) * yes
    bmi = np.clip(np.round(28 + 5 * (0.4 * health + rng.gamma(2.0, 0.7, n) - 1.4)), 12, 98)
    columns["bmi"] = bmi
    scales = {
        "general": (health, 5),
        "age": (age, 13),
        "education": (wealth, 6),
        "income": (wealth, 8),
    }
    for name, (latent, steps) in scales.items():
        noisy = 0.85 * latent + 0.53 * rng.standard_normal(n)
        columns[name] = 1 + np.floor(steps * np.clip(ndtr(noisy), 0, 1 - 1e-9))
    for name in ("bad_days_body", "bad_days_mind"):
        tilt = health + rng.standard_normal(n)
        columns[name] = np.minimum(30, np.round(6 * np.maximum(tilt - 0.7, 0) ** 1.5))
    columns["region"] = np.array([f"region_{k}" for k in range(10)], dtype=object)[
        zipf_codes(rng, rng.standard_normal(n), 10)
    ]
    score += 0.9 * health + 0.6 * np.tanh(age) - 0.2 * wealth + 0.08 * np.minimum(bmi - 28, 12)
    return pd.DataFrame(columns), positives(rng, score, 0.14)


def wide_regression(n: int = 20_000) -> Table:
    """The features of `wide`, Student noise (3 degrees of freedom), clipped to 0..100."""
    rng = np.random.default_rng([SEED, 5])
    frame, z, codes = mixed(rng, n, numbers=20, categories=20)
    score = additive_score(rng, z, codes, numbers=10, categories=8)
    return frame, np.clip(45 + 5 * score + 4 * rng.standard_t(3, n), *WIDE_TARGET_BOUNDS)


WIDE_TARGET_BOUNDS = (0.0, 100.0)
SKEWED_TARGET_BOUNDS = (0.0, 50_000.0)


def skewed_regression(n: int = 8_000) -> Table:
    """10 features, a lognormal target clipped to 0..50,000."""
    rng = np.random.default_rng([SEED, 6])
    frame, z, codes = mixed(rng, n, numbers=7, categories=3, most_levels=30)
    score = additive_score(rng, z, codes, numbers=5, categories=2)
    target = np.exp(7 + 0.6 * score + 0.5 * rng.standard_normal(n))
    return frame, np.clip(target, *SKEWED_TARGET_BOUNDS)


def several_classes(classes: int, n: int, seed: int) -> Table:
    """12 features; each class has an additive score of its own."""
    rng = np.random.default_rng([SEED, seed])
    frame, z, codes = mixed(rng, n, numbers=8, categories=4, most_levels=40)
    scores = np.column_stack(
        [additive_score(rng, z, codes, numbers=4, categories=2) for _ in range(classes)]
    )
    chances = softmax(1.5 * scores + np.linspace(1.0, 0.0, classes), axis=1).cumsum(axis=1)
    target = (rng.random((n, 1)) > chances[:, :-1]).sum(axis=1)
    return frame, target.astype(np.int64)


def three_class(n: int = 20_000) -> Table:
    return several_classes(3, n, 7)


def ten_class(n: int = 20_000) -> Table:
    return several_classes(10, n, 8)


def big_pieces(
    n: int, k: int = 14, task: str = "binary", dtype: str = "float64"
) -> Iterator[Table]:
    """Rows of numbers within `BIG_BOUNDS`, half a million at a time, so that none is kept."""
    for piece, start in enumerate(range(0, n, PIECE)):
        rng = np.random.default_rng([SEED, 9, piece])
        z = correlated_normals(rng, PIECE, k)
        score = sum((EFFECTS[j % len(EFFECTS)](z[:, j]) for j in range(k)), np.zeros(PIECE))
        if task == "binary":
            target = (rng.random(PIECE) < expit(score - 2)).astype(np.int64)
        else:
            target = np.clip(score + rng.standard_normal(PIECE), *BIG_TARGET_BOUNDS)
        rows = min(PIECE, n - start)
        values = np.clip(z[:rows], *BIG_BOUNDS).astype(dtype)
        yield pd.DataFrame({f"x{j:02}": values[:, j] for j in range(k)}), target[:rows]
