"""What the EBM benchmark found of one model, and of one set; the models by their names.

Not a script: see `quality.py`.
"""

import math
from dataclasses import dataclass

import numpy as np

LABELS = {
    "ours": "Voile",
    "ours_additive": "Voile without pairs",
    "ours_cyclic": "DP-EBM as published, in Voile",
    "incumbent": "interpret DP-EBM",
    "incumbent_classic": "interpret DP-EBM, classic composition",
    "few_rounds": "few random additive trees",
    "random_trees": "few random trees of all columns",
    "linear": "diffprivlib linear",
    "ceiling": "EBM without privacy",
    "ceiling_pairs": "EBM with pairs, without privacy",
    "ceiling_trees": "boosted trees without privacy",
}
CEILINGS = ("ceiling", "ceiling_pairs", "ceiling_trees")


@dataclass(frozen=True, slots=True)
class Cell:
    """One model at one epsilon (none for the ceiling) on one set, a value per split."""

    model: str
    epsilon: float | None
    scores: tuple[float, ...] = ()
    calibration: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    error_rates: tuple[float, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class SetResult:
    """Everything found on one set."""

    name: str
    task: str
    metric: str
    rows: int
    features: int
    note: str
    cells: tuple[Cell, ...]
    peak_megabytes: dict[str, float]
    others: float | None

    def cell(self, model: str, epsilon: float | None) -> Cell | None:
        for one in self.cells:
            if (one.model, one.epsilon) == (model, epsilon) and one.scores:
                return one
        return None

    def gain(self, epsilon: float, other: str = "incumbent") -> tuple[float, float] | None:
        """How much better ours is than another: mean over splits and its standard error."""
        ours, theirs = self.cell("ours", epsilon), self.cell(other, epsilon)
        if ours is None or theirs is None or len(ours.scores) != len(theirs.scores):
            return None
        sign = 1 if self.metric == "AUROC" else -1
        better = sign * (np.array(ours.scores) - np.array(theirs.scores))
        spread = better.std(ddof=1) / math.sqrt(len(better)) if len(better) > 1 else math.nan
        return float(better.mean()), float(spread)
