"""What the prototype benchmark found, as Markdown tables and a JSON file.

Not a script: see `quality.py`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.kit.script import write_findings
from benchmarks.kit.tables import digits, table
from benchmarks.kit.timing import mark, with_warning
from benchmarks.lvq.entrants import ENTRANTS, PAPER, PAPER_EPSILONS, PAPER_OPEN
from benchmarks.lvq.speed import OUR_STEPS, OURS, Race

KINDS = {"glvq": "GLVQ", "gmlvq": "GMLVQ"}
MOST_LETTERS = 200


@dataclass(frozen=True, slots=True)
class Cell:
    """One model at one epsilon (none without privacy) on one set, a value per fold.

    `error` says why there is none; `refused` whether the library declined.
    """

    model: str
    epsilon: float | None
    errors: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()
    error: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class SetResult:
    """Everything found on one set."""

    name: str
    rows: int
    features: int
    trained_on: int
    folds: int
    repeats: int
    note: str
    cells: tuple[Cell, ...]
    others: float | None

    def cell(self, model: str, epsilon: float | None) -> Cell | None:
        for one in self.cells:
            if (one.model, one.epsilon) == (model, epsilon):
                return one
        return None

    def models(self) -> list[str]:
        return list(dict.fromkeys(cell.model for cell in self.cells))


@dataclass(slots=True)
class Findings:
    """All that a run found so far."""

    settings: dict[str, object]
    sets: list[SetResult] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a model failed without saying why it declined, or something was not measured."""
        return bool(self.problems) or any(
            cell.error and not cell.refused for one in self.sets for cell in one.cells
        )


def show(cell: Cell | None, fits: int) -> str:
    """Mean error; the number of fits where it is not that of the others."""
    if cell is None:
        return "-"
    if cell.error:
        return "refused" if cell.refused else "failed"
    count = len(cell.errors)
    few = f" ({count} fit{'s' if count > 1 else ''})" if count != fits else ""
    return f"{np.mean(cell.errors):.4f}{few}"


def epsilons_of(sets: list[SetResult]) -> list[float]:
    return sorted({c.epsilon for one in sets for c in one.cells if c.epsilon is not None})


def fits_of(one: SetResult) -> int:
    return one.folds * one.repeats


def paper_row(one: SetResult, kind: str, epsilons: list[float]) -> list[str]:
    known = dict(zip(PAPER_EPSILONS, PAPER[one.name][kind], strict=True))
    shown = [f"{known[eps]:.4f}" if eps in known else "-" for eps in epsilons]
    where = " (Motion)" if one.name == "hapt_har561" else ""
    label = f"{KINDS[kind]}, the paper's figures{where}"
    return ["", label, *shown, f"{PAPER_OPEN[one.name][kind]:.4f}"]


def rows_of(one: SetResult, epsilons: list[float]) -> list[list[str]]:
    """Table rows of one set: every model with one prototype per class, and the paper's figures."""
    rows, fits = [], fits_of(one)
    for model in one.models():
        entrant = ENTRANTS[model]
        if entrant.several or not entrant.private:
            continue
        shown = [show(one.cell(model, eps), fits) for eps in epsilons]
        rows.append(["", entrant.label, *shown, show(one.cell(f"{model}_open", None), fits)])
    rows += [paper_row(one, kind, epsilons) for kind in KINDS]
    rows[0][0] = f"{one.name} ({one.trained_on:,} x {one.features})"
    return rows


def accuracy_table(sets: list[SetResult]) -> str:
    every = {
        cell.epsilon
        for one in sets
        for cell in one.cells
        if cell.model not in KINDS and not ENTRANTS[cell.model].several
    } | {eps for eps in PAPER_EPSILONS if eps in epsilons_of(sets)}
    epsilons = sorted(eps for eps in every if eps is not None) or epsilons_of(sets)
    header = ["set (rows trained on x features)", "model"]
    header += [f"eps {eps:g}" for eps in epsilons] + ["no privacy"]
    return table(header, [row for one in sets for row in rows_of(one, epsilons)])


def several_table(sets: list[SetResult]) -> str:
    """One prototype per class beside several, where several were run."""
    epsilons, rows = epsilons_of(sets), []
    for one in sets:
        if not any(ENTRANTS[model].several for model in one.models()):
            continue
        title = one.name
        for kind, name in KINDS.items():
            for count in ("1", "3", "5", "auto"):
                model = kind if count == "1" else f"{kind}_{count}"
                if model in one.models():
                    shown = [show(one.cell(model, eps), fits_of(one)) for eps in epsilons]
                    rows.append([title, name, count, *shown])
                    title = ""
    header = ["set", "model", "prototypes per class", *(f"eps {eps:g}" for eps in epsilons)]
    return table(header, rows) if rows else ""


def seconds_table(sets: list[SetResult]) -> str:
    rows = []
    for one in sets:
        for model in one.models():
            took = [s for cell in one.cells if cell.model == model for s in cell.seconds]
            if took:
                entrant = ENTRANTS[model]
                label = entrant.label + ("" if entrant.private else ", no privacy")
                rows.append([one.name, label, f"{np.mean(took):.2f} s{mark(one.others)}"])
    return table(["set", "model", "fit"], rows)


def problems_text(sets: list[SetResult]) -> str:
    """Each reason once per set and model."""
    lines = []
    for one in sets:
        for model in one.models():
            found = [cell for cell in one.cells if cell.model == model and cell.error]
            if found:
                at = ", ".join(
                    "no privacy" if c.epsilon is None else f"{c.epsilon:g}" for c in found
                )
                why = str(found[0].error)
                why = why if len(why) <= MOST_LETTERS else why[:MOST_LETTERS] + "..."
                lines.append(f"- {one.name}, {ENTRANTS[model].label}, eps {at}: {why}")
    return "\n".join(["Refused or failed:", "", *lines]) if lines else ""


def speed_text(found: Findings) -> str:
    rows = []
    for race in found.races:
        title = f"{race.name}, {race.rows:,} x {race.features}, {race.steps} steps"
        for name, took in race.seconds.items():
            ratios = ["", ""]
            if name not in (OURS, OUR_STEPS):
                ratios = [f"{took / race.seconds[ours]:.1f}" for ours in (OURS, OUR_STEPS)]
            shown = f"{digits(took, 3)} s{mark(race.others)}"
            rows.append([title, name, shown, race.how[name], *ratios])
            title = ""
    if not rows:
        return ""
    header = ["eps 1.5", "implementation", "seconds", "how", "/ whole fit", "/ steps alone"]
    text = (
        "The whole fit is reading, centre, class means, metric, steps, noise and ledger. The "
        "others are the same number of the same steps on the same rows, without noise or ledger: "
        "each row's gradient is made and cut. Voile works on all cores, numpy's loops on one."
    )
    return f"{table(header, rows)}\n\n{text}"


def markdown(found: Findings) -> str:
    parts = [f"Left out: {one}." for one in found.absent]
    parts += [f"Not measured: {one}." for one in found.problems]
    if found.sets:
        notes = "; ".join(
            f"{one.name}: {one.note} ({one.folds} of 5 folds, {one.repeats} repeat"
            f"{'s' if one.repeats > 1 else ''})"
            for one in found.sets
        )
        parts += [
            "Error rates, lower is better: means over the folds of a 5-fold cross-validation, the "
            "same for every model; delta 1e-5; one prototype per class; bounds and classes are "
            "public. *The paper's noise* is its formula 2 q sqrt(T) log(1/delta) / eps in the "
            "steps of DP-SGD (rate .01, clip .5, 50 epochs), which is not valid in general, from a "
            "better start than the paper's; "
            "*DP-SGD* has those settings and an accountant. *The paper's figures*: Brinkrolf et "
            f"al. 2019, Table 1, not measured here. {notes}.",
            accuracy_table(found.sets),
            several_table(found.sets),
            problems_text(found.sets),
            "Fit: mean wall seconds on this machine, all epsilons.",
            seconds_table(found.sets),
        ]
    return with_warning("\n\n".join(part for part in [*parts, speed_text(found)] if part) + "\n")


def write(found: Findings, folder: Path) -> None:
    write_findings(folder, "lvq", found, markdown(found))
