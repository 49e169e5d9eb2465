"""What the hospital benchmark found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.hospital.models import BY_NAME, Outcome
from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import table

PAPER = (
    "The paper, on its own table (not public): 82.0 ± 0.4 % at eps 1.5, 82.8 ± 0.5 % without "
    "privacy, 84 ± 0.5 % a network without privacy."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One model at one epsilon (infinite without privacy), an outcome per split."""

    model: str
    epsilon: float
    outcomes: tuple[Outcome, ...] = ()
    error: str | None = None


@dataclass(frozen=True, eq=False)
class Bars:
    """Filters of one model, classes by features."""

    epsilon: float
    classes: tuple[str, ...]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TaskResult:
    """Everything found on one target."""

    name: str
    note: str
    trained_on: int
    tested_on: int
    columns: int
    splits: int
    cells: list[Cell]
    bars: list[Bars]


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    tasks: list[TaskResult] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any(cell.error for one in self.tasks for cell in one.cells)


def at(epsilon: float) -> str:
    return "no privacy" if math.isinf(epsilon) else f"eps {epsilon:g}"


def protected(unit: int) -> str:
    if not unit:
        return "encounter"
    return f"patient, {unit} encounter{'s' if unit > 1 else ''} used"


def mean(values: list[float | None], percent: bool) -> str:
    """Mean and, over several splits, standard deviation."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    scale, places = (100.0, 2) if percent else (1.0, 3)
    text = f"{scale * np.mean(known):.{places}f}"
    if len(known) > 1:
        text += f" ± {scale * np.std(known, ddof=1):.{places}f}"
    return text + (" %" if percent else "")


def row_of(cell: Cell) -> list[str]:
    entrant = BY_NAME[cell.model]
    guarded = "-" if math.isinf(cell.epsilon) else protected(entrant.unit)
    head = [entrant.label, at(cell.epsilon), guarded]
    if cell.error:
        return [*head, "failed", "", "", ""]
    picks: list[tuple[Callable[[Outcome], float | None], bool]] = [
        (lambda one: one.accuracy, True),
        (lambda one: one.balanced, True),
        (lambda one: one.auc, False),
    ]
    shown = [mean([pick(one) for one in cell.outcomes], percent) for pick, percent in picks]
    return [*head, *shown, f"{np.mean([one.seconds for one in cell.outcomes]):.1f} s"]


HEAD = ["model", "epsilon", "protected", "accuracy", "balanced accuracy", "mean AUC", "fit"]


def found_text(one: TaskResult) -> list[str]:
    """Which classes were found privately, split by split."""
    lines = []
    for cell in one.cells:
        named = [outcome.found for outcome in cell.outcomes if outcome.found]
        for classes in dict.fromkeys(named):
            times = f"{named.count(classes)} of {len(named)} splits"
            lines.append(f"{BY_NAME[cell.model].label} ({times}): {', '.join(classes)}.")
    return lines


def likeness_text(one: TaskResult) -> str:
    """How like the private filters are to those without privacy."""
    plain = next((b for b in one.bars if math.isinf(b.epsilon)), None)
    others = [b for b in one.bars if math.isfinite(b.epsilon)]
    if plain is None or not others:
        return ""
    parts = []
    for bars in others:
        lengths = np.linalg.norm(bars.values, axis=1) * np.linalg.norm(plain.values, axis=1)
        cosines = (bars.values * plain.values).sum(axis=1) / np.maximum(lengths, 1e-300)
        shown = ", ".join(f"{name} {c:.2f}" for name, c in zip(bars.classes, cosines, strict=True))
        parts.append(f"{at(bars.epsilon)}: {shown}")
    return f"Cosine of the filters with and without privacy, {'; '.join(parts)}."


def about(one: TaskResult) -> str:
    return (
        f"{one.note[0].upper()}{one.note[1:]}. {one.columns} columns, about {one.trained_on:,} "
        f"encounters to train on and {one.tested_on:,} of other patients to test on; "
        f"{one.splits} split{'s' if one.splits > 1 else ''}, delta 2e-5."
    )


def markdown(found: Findings) -> str:
    parts = [f"Left out: {one}." for one in found.absent]
    for one in found.tasks:
        parts += [f"## {one.name}", about(one), table(HEAD, [row_of(cell) for cell in one.cells])]
        parts += [f"Failed: {c.model}, {at(c.epsilon)}: {c.error}" for c in one.cells if c.error]
        parts += found_text(one)
        parts.append(likeness_text(one))
    parts.append(PAPER)
    return "\n\n".join(part for part in parts if part) + "\n"


def write(found: Findings, folder: Path) -> None:
    cells = ("name", "note", "trained_on", "tested_on", "columns", "splits", "cells")
    tasks = [
        {name: value for name, value in asdict(one).items() if name in cells} for one in found.tasks
    ]
    data = {"settings": found.settings, "absent": found.absent, "tasks": tasks}
    write_findings(folder, "hospital", data, markdown(found))
