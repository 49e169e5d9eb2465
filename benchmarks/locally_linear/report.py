"""What the benchmark of locally linear maps found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import digits, table
from benchmarks.kit.timing import mark, with_warning
from benchmarks.locally_linear.entrants import PAPER, PAPER_NETWORK, PAPER_OPEN, Group
from benchmarks.locally_linear.speed import (
    LEAST_RATIO,
    MOST_MEGABYTES,
    MOST_SECONDS,
    OUR_STEPS,
    OURS,
    FreshFit,
    Race,
)

MOST_LETTERS = 200
CURVES: dict[Group, str] = {
    "maps": "maps per class",
    "projection": "coordinates, a projection for each map",
    "shared": "coordinates, one projection for all maps",
}
KINDS = {"copies": "moved copies", "plain": "no copies"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One model at one epsilon (inf: no privacy) on one set, a value per seed.

    `areas` are those under the ROC curve, for two classes; `error` says why there is nothing, and
    `refused` whether the library declined.
    """

    model: str
    label: str
    group: Group
    at: int | None
    epsilon: float
    accuracies: tuple[float, ...] = ()
    areas: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    error: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class SetResult:
    """Everything found on one set."""

    name: str
    pictures: bool
    rows: int
    features: int
    tested_on: int
    delta: float
    note: str
    cells: tuple[Cell, ...]
    others: float | None

    def cell(self, model: str, epsilon: float) -> Cell | None:
        for one in self.cells:
            if (one.model, one.epsilon) == (model, epsilon):
                return one
        return None

    def models(self, *groups: Group) -> dict[str, str]:
        """Names and labels of the models of some groups, in order."""
        return {cell.model: cell.label for cell in self.cells if cell.group in groups}

    def curve(self, group: Group, epsilon: float) -> list[Cell]:
        """Points of a curve, from left to right."""
        found = [c for c in self.cells if (c.group, c.epsilon) == (group, epsilon)]
        return sorted(found, key=lambda cell: cell.at or 0)


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    sets: list[SetResult] = field(default_factory=list)
    race: Race | None = None
    fresh: list[FreshFit] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a model failed without saying why it declined, or something was not measured."""
        return bool(self.problems) or any(
            cell.error and not cell.refused for one in self.sets for cell in one.cells
        )

    def to_dict(self) -> dict[str, Any]:
        facts = asdict(self)
        if self.race is not None:
            ratios = {"whole_fit": self.race.ratio(OURS), "steps": self.race.ratio(OUR_STEPS)}
            facts["race"] |= {"fastest": self.race.fastest, "ratios": ratios}
        return facts


def epsilon_text(epsilon: float) -> str:
    return "no privacy" if math.isinf(epsilon) else f"eps {epsilon:g}"


def epsilons_of(sets: list[SetResult], *groups: Group) -> list[float]:
    return sorted({c.epsilon for one in sets for c in one.cells if c.group in groups})


def percent(values: tuple[float, ...]) -> str:
    """Mean, and standard deviation if there are several."""
    spread = f" ± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.2f}{spread}"


def decimal(values: tuple[float, ...]) -> str:
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}"


def show(cell: Cell | None, text: Callable[[tuple[float, ...]], str], areas: bool = False) -> str:
    if cell is None:
        return "-"
    if cell.error:
        return "refused" if cell.refused else "failed"
    values = cell.areas if areas else cell.accuracies
    return text(values) if values else "-"


def paper_rows(one: SetResult, epsilons: list[float]) -> list[list[str]]:
    rows = []
    for label, known, free in (
        ("locally linear maps, the paper's figures", PAPER, PAPER_OPEN),
        ("convolutional network by DP-SGD, the paper's figures", PAPER_NETWORK, {}),
    ):
        if one.name in known:
            at = known[one.name] | ({math.inf: free[one.name]} if one.name in free else {})
            shown = [f"{100 * at[eps]:.1f}" if eps in at else "-" for eps in epsilons]
            rows.append(["", label, *shown])
    return rows


def score_table(sets: list[SetResult], *, areas: bool = False) -> str:
    """Every preset and peer by epsilon: accuracy, or the area under the ROC curve."""
    epsilons, rows = epsilons_of(sets, "preset", "peer"), []
    for one in sets:
        if areas and not any(cell.areas for cell in one.cells):
            continue
        title = f"{one.name} ({one.rows:,} x {one.features})"
        for model, label in one.models("preset", "peer").items():
            text = decimal if areas else percent
            shown = [show(one.cell(model, eps), text, areas) for eps in epsilons]
            rows.append([title, label, *shown])
            title = ""
        if not areas:
            rows += paper_rows(one, epsilons)
    header = ["set (rows trained on x features)", "model", *map(epsilon_text, epsilons)]
    return table(header, rows) if rows else ""


def curve_table(sets: list[SetResult], group: Group) -> str:
    """Accuracy against the number of maps, or of projected coordinates."""
    places = sorted({c.at for one in sets for c in one.cells if c.group == group and c.at})
    rows = []
    for one in sets:
        title = one.name
        for epsilon in epsilons_of([one], group):
            found = {cell.at: cell for cell in one.curve(group, epsilon)}
            shown = [show(found.get(place), percent) for place in places]
            rows.append([title, epsilon_text(epsilon), *shown])
            title = ""
    header = ["set", f"accuracy by {CURVES[group]}", *map(str, places)]
    return table(header, rows) if rows else ""


def seconds_table(sets: list[SetResult]) -> str:
    rows = []
    for one in sets:
        for model, label in one.models("preset", "peer", "maps", "projection", "shared").items():
            took = [s for cell in one.cells if cell.model == model for s in cell.seconds]
            if took:
                rows.append([one.name, label, f"{digits(np.mean(took), 3)} s{mark(one.others)}"])
    return table(["set", "model", "fit"], rows) if rows else ""


def problems_text(sets: list[SetResult]) -> str:
    lines = []
    for one in sets:
        for cell in one.cells:
            if cell.error:
                why = cell.error[:MOST_LETTERS] + "..." * (len(cell.error) > MOST_LETTERS)
                lines.append(f"- {one.name}, {cell.label}, {epsilon_text(cell.epsilon)}: {why}")
    return "\n".join(["Refused or failed:", "", *lines]) if lines else ""


def race_text(race: Race) -> str:
    rows = []
    for name, took in race.seconds.items():
        ratios = ["", ""]
        if name not in (OURS, OUR_STEPS):
            ratios = [f"{took / race.seconds[ours]:.1f}" for ours in (OURS, OUR_STEPS)]
        rows.append([name, f"{digits(took, 3)} s{mark(race.others)}", race.how[name], *ratios])
    header = ["implementation", "seconds", "how", "/ whole fit", "/ steps alone"]
    text = (
        f"mnist, {race.rows:,} rows of {race.size} coordinates, {race.classes} classes x "
        f"{race.maps} maps, {race.steps} steps by Poisson lots of {race.lot:,}, no copies, medians "
        "of rounds in which all take turns in one process. Opacus gets the points ready-made, and "
        "its seconds are steps alone: gradients, clipping, noise and Adam. Voile's whole fit is "
        "also reading, classes, centre, calibration and ledger, its sums are exact, and its noise "
        "is drawn from a secure source."
    )
    lines = [text, table(header, rows)]
    lines += [f"Did not run: {name} ({why[:MOST_LETTERS]})." for name, why in race.failed.items()]
    return "\n\n".join(lines)


def bars(found: Findings) -> list[list[str]]:
    """What was to be reached, what was, and whether that is so."""
    rows = []
    if found.race is not None and found.race.fastest is not None:
        for ours, label in ((OURS, "the whole fit"), (OUR_STEPS, "the steps alone")):
            ratio = found.race.ratio(ours) or 0.0
            what = f"times as fast as {found.race.fastest}, {label}"
            rows.append([what, f">= {LEAST_RATIO:g}", f"{ratio:.1f}", _met(ratio >= LEAST_RATIO)])
    for one in found.fresh:
        kind, most = KINDS[one.kind], MOST_SECONDS[one.kind]
        took = f"{one.seconds:.1f} s{mark(one.others)}"
        rows.append([f"fit of mnist, {kind}", f"< {most:g} s", took, _met(one.seconds < most)])
        peak = f"{one.peak_megabytes:,.0f} MB ({one.before_megabytes:,.0f} before the fit)"
        fine = _met(one.peak_megabytes < MOST_MEGABYTES)
        rows.append(
            [f"peak memory of its process, {kind}", f"< {MOST_MEGABYTES:,.0f} MB", peak, fine]
        )
    return rows


def _met(fine: bool) -> str:
    return "yes" if fine else "no"


def speed_text(found: Findings) -> str:
    parts = [race_text(found.race)] if found.race is not None else []
    rows = bars(found)
    if rows:
        parts.append(table(["what", "to be reached", "found", "reached"], rows))
    return "\n\n".join(parts)


def sets_text(sets: list[SetResult]) -> list[str]:
    notes = "; ".join(
        f"{one.name}: {one.note} (tested on {one.tested_on:,}, delta {one.delta:g})" for one in sets
    )
    return [
        "Accuracy on test rows in percent, higher is better: mean ± standard deviation over seeds "
        "(for tables, each seed has a split of its own). Pictures come without a schema, tables "
        "with public bounds, levels and classes. *The paper's figures*: Harder, Bauer and Park "
        f"2020, not measured here. {notes}.",
        score_table(sets),
        "Area under the ROC curve, for sets of two classes:"
        if score_table(sets, areas=True)
        else "",
        score_table(sets, areas=True),
        *(curve_table(sets, group) for group in CURVES),
        problems_text(sets),
        "Fit: mean wall seconds on this machine, all epsilons. Curves are without copies.",
        seconds_table(sets),
    ]


def markdown(found: Findings) -> str:
    parts = [f"Left out: {one}." for one in found.absent]
    parts += [f"Not measured: {one}." for one in found.problems]
    parts += sets_text(found.sets) if found.sets else []
    return with_warning("\n\n".join(part for part in [*parts, speed_text(found)] if part) + "\n")


def write(found: Findings, folder: Path) -> None:
    """Write `locally_linear.json` and `locally_linear.md`."""
    write_findings(folder, "locally_linear", found.to_dict(), markdown(found))
