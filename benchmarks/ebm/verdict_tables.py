"""Made-up tables on which verdicts are tried: the usual one, and ones that are harder to judge.

Not a script: see `verdicts.py`. Columns without any effect have names that begin with "null".
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voile import Category, Number, Schema, Unit

KINDS = ("two classes", "three classes", "regression")
LEVELS, SIDES = list("ABCDE"), list("PQRS")
REAL = ("half of a number", "half of the levels")


@dataclass
class Table:
    """Columns, the score of each row, and what a fit is told besides.

    Attributes
    ----------
    columns : dict of str to ndarray
    score : ndarray of shape (rows,)
        Log-odds, or the mean in regression.
    rare : float
        Added to the log-odds of the classes but the first.
    residuals : ndarray of shape (rows,), or None
        In regression; None for normal ones.
    unit : Unit or None
    settings, fit : dict
        For the estimator, and for its fit.
    """

    columns: dict[str, np.ndarray]
    score: np.ndarray
    rare: float = 0.0
    residuals: np.ndarray | None = None
    unit: Unit | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    fit: dict[str, Any] = field(default_factory=dict)

    def draw(self, kind, rng):
        """Target and schema."""
        unit = None if self.unit is None else self.unit.column
        columns = {
            name: Number(float(np.floor(values.min())), float(np.ceil(values.max())))
            if values.dtype.kind == "f"
            else Category(sorted(set(values)))
            for name, values in self.columns.items()
            if name != unit
        }
        rows = len(self.score)
        if kind == "regression":
            scale = math.pi / math.sqrt(3)  # of the logistic distribution: effects of the same size
            noise = rng.normal(size=rows) if self.residuals is None else self.residuals
            return self.score + scale * noise, Schema(
                columns, target=Number(-10, 10), unit=self.unit
            )
        classes = ["no", "yes"] if kind == "two classes" else ["no", "some", "much"]
        heights = np.stack([0 * self.score, self.rare + self.score, self.rare - self.score], axis=1)
        heights = heights[:, : len(classes)]
        drawn = (heights + rng.gumbel(size=heights.shape)).argmax(axis=1)
        return np.array(classes)[drawn], Schema(columns, target=Category(classes), unit=self.unit)


def usual(rng, rows, related=0.0):
    """Two real columns, a null number and category, and two whose halves differ by 0.3."""
    strong, null = rng.normal(size=rows), rng.normal(size=rows)
    null = related * strong + math.sqrt(1 - related**2) * null
    columns = {
        "wave": rng.uniform(0, 1, rows),
        "strong": np.clip((strong + 4) / 8, 0, 1),
        "null number": np.clip((null + 4) / 8, 0, 1),
        "null category": rng.choice(LEVELS, rows, p=[0.4, 0.3, 0.2, 0.08, 0.02]),
        REAL[0]: rng.uniform(0, 1, rows),
        REAL[1]: rng.choice(SIDES, rows),
    }
    score = 0.9 * np.sin(6 * columns["wave"]) + 0.8 * strong
    score = score + 0.3 * (columns[REAL[0]] > 0.5) + 0.3 * np.isin(columns[REAL[1]], SIDES[:2])
    return Table(columns, score - 0.3)


def skewed(rng, rows):
    """Counts of visits and sums of money, with and without an effect."""
    table = usual(rng, rows)
    table.columns["null visits"] = np.minimum(rng.poisson(1.2, rows), 30).astype(float)
    table.columns["null money"] = np.minimum(rng.lognormal(5, 1.5, rows), 50_000.0)
    table.columns["visits"] = np.minimum(rng.geometric(0.4, rows), 40).astype(float)
    table.score = table.score + 0.2 * np.minimum(table.columns["visits"], 8) - 0.5
    return table


def rare(rng, rows):
    """A class of 3 %."""
    table = usual(rng, rows)
    table.rare = -4.0
    return table


def wide(rng, rows):
    """24 more columns without an effect."""
    table = usual(rng, rows)
    for k in range(12):
        table.columns[f"null number {k}"] = rng.uniform(0, 1, rows)
        table.columns[f"null category {k}"] = rng.choice(LEVELS[: 2 + k % 4], rows)
    return table


def few(rng, rows):
    """A fifth of the rows."""
    return usual(rng, rows // 5)


def weighted(rng, rows):
    """Weights from 0 to 3, most of them small."""
    table = usual(rng, rows)
    table.settings = {"largest_weight": 3.0}
    table.fit = {"sample_weight": np.minimum(rng.exponential(0.7, rows), 3.0)}
    return table


def people(rng, rows):
    """Three rows of each person, who has an effect of his own, and columns that stay the same."""
    table = usual(rng, rows)
    person = np.arange(rows) // 3
    heads = person[-1] + 1
    table.columns["null of the person"] = rng.choice(LEVELS, heads)[person]
    table.columns["null number of the person"] = rng.uniform(0, 1, heads)[person]
    table.columns["person"] = np.array([f"p{one}" for one in person])
    table.score = table.score + rng.normal(size=heads)[person]
    table.unit = Unit("person", rows=3)
    return table


def monotone(rng, rows):
    """A null number that may only rise."""
    table = usual(rng, rows)
    table.settings = {"monotone": {"null number": "increasing", "strong": "increasing"}}
    return table


def tailed(rng, rows):
    """Regression with skewed residuals of long tails."""
    table = usual(rng, rows)
    table.residuals = np.clip((rng.lognormal(0, 0.9, rows) - 1.5) / 1.7, -4, 4)
    return table


TABLES = {
    "usual": usual,
    "skewed columns": skewed,
    "rare class": rare,
    "30 columns": wide,
    "few rows": few,
    "weights": weighted,
    "people with three rows": people,
    "monotone": monotone,
    "skewed residuals": tailed,
}
