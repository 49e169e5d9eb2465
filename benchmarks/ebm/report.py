"""What the EBM benchmark found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.ebm.cells import CEILINGS, LABELS, Cell, SetResult
from benchmarks.ebm.speed import Answers, FirstFit, Race
from benchmarks.ebm.standing import outcome_table, standing_text
from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import digits, table
from benchmarks.kit.timing import mark, with_warning


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    sets: list[SetResult] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    answers: Answers | None = None
    first_fit: FirstFit | None = None
    scale: dict[str, float | None] | None = None
    absent: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether ours raised an error anywhere, or something could not be measured."""
        return bool(self.problems) or any(
            cell.error and cell.model == "ours" for one in self.sets for cell in one.cells
        )


def number(value: float, metric: str) -> str:
    return digits(value, 4) if metric == "RMSE" else f"{value:.4f}"


def show_gain(gain: tuple[float, float] | None) -> str:
    if gain is None:
        return "-"
    sign = "+" if gain[0] >= 0 else "-"
    spread = f" ± {digits(gain[1], 1)}" if math.isfinite(gain[1]) else ""
    return f"{sign}{digits(abs(gain[0]), 2)}{spread}"


def show_cell(cell: Cell | None, metric: str) -> str:
    return "-" if cell is None else number(float(np.mean(cell.scores)), metric)


def epsilons_of(sets: list[SetResult]) -> list[float]:
    return sorted({c.epsilon for one in sets for c in one.cells if c.epsilon is not None})


def show_ceiling(one: SetResult, model: str) -> str:
    """A score without privacy, and of how many splits it is if they are fewer."""
    cell = one.cell(model, None)
    shown = show_cell(cell, one.metric)
    if cell is not None and len(cell.scores) < max(len(other.scores) for other in one.cells):
        shown += f" ({len(cell.scores)} split)"
    return shown


def rows_of(one: SetResult, epsilons: list[float]) -> list[list[str]]:
    """Table rows of one set: every model, and the paired difference to the incumbent."""
    title = f"{one.name} ({one.rows:,} x {one.features})"
    ceiling = show_ceiling(one, "ceiling")
    rows = []
    for model, label in LABELS.items():
        if model not in CEILINGS and any(cell.model == model for cell in one.cells):
            shown = [show_cell(one.cell(model, eps), one.metric) for eps in epsilons]
            rows.append([title, one.metric if title else "", label, *shown, ceiling])
            title = ceiling = ""
    gains = [one.gain(eps) for eps in epsilons]
    if any(gains):
        rows.append(["", "", "better by", *map(show_gain, gains), ""])
    nothing = ["-"] * len(epsilons)
    for model in CEILINGS[bool(rows) :]:
        if any(cell.model == model for cell in one.cells):
            shown = show_ceiling(one, model)
            rows.append([title, one.metric if title else "", LABELS[model], *nothing, shown])
            title = ""
    return rows


def accuracy_table(sets: list[SetResult]) -> str:
    epsilons = epsilons_of(sets)
    header = ["set (rows x features)", "metric", "model"]
    header += [f"eps {eps:g}" for eps in epsilons] + ["no privacy"]
    return table(header, [row for one in sets for row in rows_of(one, epsilons)])


def cost_table(sets: list[SetResult]) -> str:
    """Calibration at the smallest and largest epsilon, seconds of a fit, peak memory."""
    epsilons = epsilons_of(sets)
    rows = []
    for one in sets:
        for model in dict.fromkeys(cell.model for cell in one.cells):
            cells = [cell for cell in one.cells if cell.model == model and cell.scores]
            if not cells:
                continue
            ends = [cells[0], cells[-1]]
            calibration = [
                f"{np.mean(cell.calibration):.3f}" if cell.calibration else "-" for cell in ends
            ]
            seconds = float(np.mean([took for cell in cells for took in cell.seconds]))
            peak = one.peak_megabytes.get(model)
            shown = "-" if peak is None else f"{peak:,.0f} MB"
            took = f"{seconds:.2f} s{mark(one.others)}"
            rows.append([one.name, LABELS[model], *calibration, took, shown])
    low, high = (f"eps {epsilons[0]:g}", f"eps {epsilons[-1]:g}") if epsilons else ("", "")
    header = ["set", "model", f"ECE {low}", f"ECE {high}", "fit", "peak memory of the process"]
    return table(header, rows)


def errors(sets: list[SetResult]) -> str:
    lines = [
        f"- {one.name}, {LABELS[cell.model]}, eps {cell.epsilon}: {cell.error}"
        for one in sets
        for cell in one.cells
        if cell.error
    ]
    return "\n".join(["Errors:", "", *lines]) if lines else ""


def speed_text(found: Findings) -> str:
    rows = []
    for race in found.races:
        shown = [
            f"{np.median(race.seconds[m]):.2f} s" if race.seconds.get(m) else "-"
            for m in ("ours", "incumbent")
        ]
        ratio = "-" if race.ratio is None else f"{race.ratio:.1f}"
        rows.append([race.name + mark(race.others), f"{race.rows:,}", *shown, ratio])
    header = ["fit, eps 1", "rows", LABELS["ours"], LABELS["incumbent"], "times as fast"]
    parts = [table(header, rows)] if rows else []
    if found.races:
        parts.append(
            f"{found.races[0].cores} cores: ours uses all of them for its looks at the rows, the "
            "incumbent one for its rounds. How many times as fast depends on that, and on the rows."
        )
        fewer = [
            f"{race.name} {race.fewer_vectors['AVX2']:.1f} and {race.fewer_vectors['none']:.1f}"
            for race in found.races
            if race.fewer_vectors
        ]
        if fewer:
            parts.append(
                "The same beside the incumbent with AVX2 alone, and without vector instructions: "
                + ", ".join(fewer)
                + "."
            )
    if found.answers is not None:
        told = ", ".join(
            f"{LABELS[model]} {millions:.1f}" for model, millions in found.answers.millions.items()
        )
        parts.append(
            f"Probabilities of {found.answers.rows:,} rows x 14 from a data frame, millions of "
            f"rows per CPU second: {told}."
        )
    if found.first_fit is not None:
        empty, filled = found.first_fit.empty_cache, found.first_fit.filled_cache
        parts.append(
            f"First fit of a process ({found.first_fit.name}): {empty['first_seconds']:.1f} s with "
            f"nothing compiled yet (the next: {empty['second_seconds']:.2f} s), "
            f"{filled['first_seconds']:.1f} s once compiled code is on disk"
            f"{mark(found.first_fit.others)}."
        )
    if found.scale is not None:
        one = found.scale
        parts.append(
            f"{one['rows']:,} rows x 14 from a Parquet file of {one['file_megabytes']:,.0f} MB: "
            f"{one['seconds']:.1f} s{mark(one['others'])}, peak memory "
            f"{one['peak_megabytes']:,.0f} MB ({one['before_megabytes']:,.0f} MB before the fit)."
        )
    return "\n\n".join(parts)


def markdown(found: Findings) -> str:
    parts = [f"Left out: {one}." for one in found.absent]
    parts += [f"Not measured: {one}." for one in found.problems]
    if found.sets:
        parts += [
            "Means over random 80/20 splits, the same for every model; delta 1e-6. AUROC: higher "
            "is better; RMSE and log loss: lower is better. *better by*: mean of the differences "
            "per split to interpret's DP-EBM, positive where Voile is better, ± standard error "
            "(the splits overlap, so it is a rough one). Bounds and levels are public, the same "
            "for every model; for the peers missing numbers are set to the lower bound.",
            accuracy_table(found.sets),
            "ECE: 10 bins of equal width over the probability of the positive class (of the "
            "likeliest class, if there are several). Fit: mean wall seconds on this machine, all "
            "epsilons; memory: a process that reads the set and fits it once.",
            cost_table(found.sets),
            errors(found.sets),
        ]
        parts += [standing_text(found.sets), outcome_table(found.sets)]
    return with_warning("\n\n".join(part for part in [*parts, speed_text(found)] if part) + "\n")


def write(found: Findings, folder: Path) -> None:
    write_findings(folder, "ebm", found, markdown(found))
