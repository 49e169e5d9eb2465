"""Where ours stands among the private peers of the EBM benchmark, in words and as a table.

Not a script: see `quality.py`.
"""

import math

import numpy as np

from benchmarks.ebm.cells import CEILINGS, LABELS, Cell, SetResult
from benchmarks.kit.tables import digits, table

OURS = ("ours", "ours_additive")
CLEARLY = 2.0
"""Standard errors of a mean of paired differences."""


def rivals(one: SetResult, epsilon: float) -> list[str]:
    """Private models of others, or by another published method, that gave a score."""
    return [
        cell.model
        for cell in one.cells
        if cell.epsilon == epsilon and cell.scores and cell.model not in (*OURS, *CEILINGS)
    ]


def behind(one: SetResult, epsilon: float) -> list[str]:
    """The rivals that are as good as ours or better, in the mean over splits."""
    gains = {model: one.gain(epsilon, model) for model in rivals(one, epsilon)}
    return [model for model, gain in gains.items() if gain is not None and gain[0] <= 0]


def is_clear(one: SetResult, epsilon: float) -> bool:
    """Whether ours is ahead of every rival by more than the splits' chance."""
    for model in rivals(one, epsilon):
        gain = one.gain(epsilon, model)
        if gain is None or not math.isfinite(gain[1]) or gain[0] <= CLEARLY * gain[1]:
            return False
    return True


def contests(sets: list[SetResult]) -> list[tuple[SetResult, float]]:
    """Pairs of a set and an epsilon at which ours met somebody."""
    return [
        (one, epsilon)
        for one in sets
        for epsilon in sorted({c.epsilon for c in one.cells if c.epsilon is not None})
        if one.cell("ours", epsilon) is not None and rivals(one, epsilon)
    ]


def standing_text(sets: list[SetResult]) -> str:
    """At how many sets and epsilons ours is ahead of every private peer, and where it is not."""
    met = contests(sets)
    if not met:
        return ""
    lost = [(one, epsilon, behind(one, epsilon)) for one, epsilon in met]
    ahead = [(one, epsilon) for one, epsilon, models in lost if not models]
    clear = sum(is_clear(one, epsilon) for one, epsilon in ahead)
    text = (
        f"Voile is ahead of every private peer on {len(ahead)} of {len(met)} pairs of set and "
        f"epsilon, on {clear} by more than {CLEARLY:g} standard errors (AUROC, RMSE or log loss)."
    )
    where = [
        f"{one.name} at {epsilon:g} ({', '.join(LABELS[model] for model in models)})"
        for one, epsilon, models in lost
        if models
    ]
    text += f" Not ahead: {'; '.join(where)}." if where else ""
    return f"{text} By means of other measures: {', '.join(tally(met))}."


OTHERS = {"losses": "log loss or RMSE", "error_rates": "error rate", "calibration": "ECE"}


def tally(met: list[tuple[SetResult, float]]) -> list[str]:
    """At how many pairs ours has the least of each other measure."""
    found = []
    for measure, label in OTHERS.items():
        ahead = asked = 0
        for one, epsilon in met:
            ours, *theirs = [
                float(np.mean(getattr(cell, measure)))
                for model in ("ours", *rivals(one, epsilon))
                if (cell := one.cell(model, epsilon)) is not None and getattr(cell, measure)
            ] or [math.nan]
            asked += bool(theirs)
            ahead += bool(theirs) and ours < min(theirs)
        if asked:
            found.append(f"{label} on {ahead} of {asked}")
    return found or ["none"]


def mean(values: tuple[float, ...], places: int) -> str:
    return f"{np.mean(values):.{places}f}" if values else "-"


def outcome_row(one: SetResult, cell: Cell) -> list[str]:
    epsilon = "no privacy" if cell.epsilon is None else f"{cell.epsilon:g}"
    main, wrong = mean(cell.scores, 4), mean(tuple(100 * e for e in cell.error_rates), 2)
    loss = mean(cell.losses, 4)
    if one.metric == "RMSE":
        main = loss = digits(float(np.mean(cell.scores)), 4)
    return [one.name, epsilon, LABELS[cell.model], main, loss, wrong, mean(cell.calibration, 3)]


def outcome_table(sets: list[SetResult]) -> str:
    """Every measure by set, epsilon and model, if there is more than the incumbent."""
    if not any(
        cell.model not in ("ours", "incumbent", "ceiling") for s in sets for cell in s.cells
    ):
        return ""
    rows = [outcome_row(one, cell) for one in sets for cell in one.cells if cell.scores]
    header = ["set", "eps", "model", "AUROC or RMSE", "log loss or RMSE", "error, %", "ECE"]
    return table(header, rows)
