"""What the hospital benchmark found, as Markdown tables, a JSON file and a page with signed bars.

Not a script: see `hospital.py`.
"""

import html
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from ebm_report import table
from hospital_models import BY_NAME, Outcome
from voile.report.kit.theme import SERIES

MOST_BARS = 18
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
    """Filters of one model, classes by features, and their noise."""

    epsilon: float
    classes: tuple[str, ...]
    features: tuple[str, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]


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


def figure(one: TaskResult) -> go.Figure:
    """Signed bars per class of the features that count most, from private and plain filters."""
    every = sorted(one.bars, key=lambda bars: -bars.epsilon)
    size = np.abs(every[0].values).max(axis=0)
    chosen = np.argsort(size, kind="stable")[-MOST_BARS:]
    classes = every[0].classes
    plot = make_subplots(
        1, len(classes), subplot_titles=classes, shared_yaxes=True, horizontal_spacing=0.02
    )
    for number, bars in enumerate(every):
        for k in range(len(classes)):
            noise = bars.errors[k, chosen]
            plot.add_trace(
                go.Bar(
                    y=[bars.features[j] for j in chosen],
                    x=bars.values[k, chosen],
                    error_x={"type": "data", "array": np.where(np.isfinite(noise), noise, 0.0)},
                    orientation="h",
                    name=at(bars.epsilon),
                    legendgroup=at(bars.epsilon),
                    showlegend=k == 0,
                    marker={"color": SERIES[number % len(SERIES)]},
                ),
                row=1,
                col=k + 1,
            )
    plot.update_layout(
        template="plotly_white",
        height=170 + 30 * len(chosen),
        barmode="group",
        margin={"l": 220, "r": 12, "t": 90, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 1.16},
    )
    return plot


STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
       color: #222; background: #fff }
table { border-collapse: collapse; font-size: .85rem; margin: .4rem 0 1rem }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid #ddd }
.note { color: #555; font-size: .9rem } .wide { overflow-x: auto }
"""


def html_table(head: list[str], rows: list[list[str]]) -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>{line(head, "th")}{body}</table></div>'


def note_of(text: str) -> str:
    return f"<p class=note>{html.escape(text)}</p>"


def page(found: Findings) -> str:
    """One HTML file with everything inside."""
    parts = [note_of(f"Left out: {one}.") for one in found.absent]
    for one in found.tasks:
        parts += [f"<h2>{html.escape(one.name)}</h2>", note_of(about(one))]
        parts.append(html_table(HEAD, [row_of(cell) for cell in one.cells]))
        parts += [note_of(text) for text in found_text(one)]
        if one.bars:
            parts += [
                "<h3>Filters, two maps per class</h3>",
                note_of(
                    "What raises (right) and lowers (left) the score of each class, compared with "
                    "the mean of the classes: per half a range of a number, and for a level "
                    f"compared with none. The {MOST_BARS} features that count most; lines: one "
                    "standard deviation of the privacy noise. " + likeness_text(one)
                ),
                figure(one).to_html(
                    include_plotlyjs=False, full_html=False, config={"displayModeBar": False}
                ),
            ]
    parts.append(note_of(PAPER))
    title = "Hospital tables, privately"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style><script>{get_plotlyjs()}</script></head><body><main>"
        f"<h1>{title}</h1>{''.join(parts)}</main></body></html>\n"
    )


def plain(one: TaskResult) -> dict[str, Any]:
    """A record that JSON can hold: no privacy is written as the text "inf"."""
    cells = [
        {**asdict(cell), "epsilon": "inf" if math.isinf(cell.epsilon) else cell.epsilon}
        for cell in one.cells
    ]
    facts = ("name", "note", "trained_on", "tested_on", "columns", "splits")
    return {**{name: getattr(one, name) for name in facts}, "cells": cells}


def write(found: Findings, folder: Path) -> None:
    """Write `hospital.json`, `hospital.md` and `hospital.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "settings": found.settings,
        "absent": found.absent,
        "tasks": [plain(one) for one in found.tasks],
    }
    (folder / "hospital.json").write_text(json.dumps(data, indent=1, allow_nan=False) + "\n")
    (folder / "hospital.md").write_text(markdown(found))
    (folder / "hospital.html").write_text(page(found), encoding="utf-8")
