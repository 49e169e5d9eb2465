"""What the explainer benchmark found, as Markdown tables and a JSON file; plots beside them.

Not a script: see `quality.py`.
"""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.blackbox import plots as explainer_plots
from benchmarks.blackbox.bars import Findings, bars, gain
from benchmarks.blackbox.data import PAPER_LOSSES
from benchmarks.blackbox.measures import Estimate
from benchmarks.blackbox.useful import PAPER_LIME
from benchmarks.kit.tables import table
from benchmarks.kit.timing import mark

__all__ = ["Findings", "bars", "markdown", "write"]


def short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def show(one: Estimate, form: str = ".3g") -> str:
    """A mean, its standard error over rows and, in brackets, over seeds."""
    seeds = "" if one.seed_error is None else f" ({one.seed_error:.1g})"
    return f"{one.value:{form}} ± {one.error:.1g}{seeds}"


def bars_text(found: Findings) -> str:
    rows = [
        [
            one.what,
            f"{one.value:.4g}",
            f"{'<=' if one.at_most else '>='} {one.limit:g}",
            one.verdict,
        ]
        for one in bars(found)
    ]
    return table(["bar", "found", "demanded", ""], rows) if rows else ""


def losses_text(found: Findings) -> str:
    if not found.losses:
        return ""
    rows = []
    for one in found.losses:
        paper = PAPER_LOSSES.get(one.set, {}).get(one.epsilon) if one.queries == 1 else None
        rows.append(
            [
                f"{one.set} ({one.rows:,} x {one.features})",
                one.setting,
                f"{one.epsilon:g}",
                f"{one.queries:,}",
                one.strategy,
                show(one.loss),
                short(one.zero),
                short(gain(found.losses, one, one.strategy)),
                show(one.agreement, ".3f"),
                show(one.shared, ".2f"),
                f"{one.steps:.0f}, {one.reused:.0%}" if one.steps or one.reused else "",
                f"{one.opening:.1f} s + {1e3 * one.seconds:.0f} ms",
                short(paper) if paper else "",
            ]
        )
    header = [
        "set",
        "setting",
        "eps",
        "queries",
        "strategy",
        "utility loss",
        "phi = 0",
        "/ summary",
    ]
    header += ["agreement", "top 5", "steps, reused", "seconds", "paper"]
    asked = sorted({one.asked for one in found.losses})
    text = (
        f"The budget is divided into all the queries; the loss is measured on {_join(asked)} rows "
        "asked of them, since the noise of a question depends on the number of queries alone "
        "(where there are fewer queries than rows, the budget grows with the rows, so that each "
        "question has the same noise). ± is the standard error over asked rows, in brackets over "
        "explainers. Seconds: to open, the model's answers known, and per question."
    )
    return f"## Utility loss at equal total epsilon\n\n{table(header, rows)}\n\n{text}"


def _join(numbers: list[int]) -> str:
    return " or ".join(map(str, numbers))


def crossover_text(found: Findings) -> str:
    if not found.crosses:
        return ""
    counts = sorted({one.queries for one in found.crosses})
    lines: dict[tuple[str, float, str], dict[int, str]] = {}
    for one in found.crosses:
        lines.setdefault((one.set, one.epsilon, one.strategy), {})[one.queries] = show(one.loss)
    rows = [
        [name, f"{eps:g}", strategy, *(cells.get(n, "-") for n in counts)]
        for (name, eps, strategy), cells in lines.items()
    ]
    header = ["set", "eps", "strategy", *(f"Q = {n:,}" for n in counts)]
    where = [
        [one.set, f"{one.epsilon:g}", *map(short, (one.release, one.interactive, one.rule))]
        for one in found.crossings
    ]
    fits = "; ".join(
        f"{one.set}: release {one.release:.3g} Q / (rows mu)^2, summary {one.floor:.2g} + "
        f"{one.summary:.3g} / (rows mu)^2"
        for one in found.constants
    )
    crossed = table(["set", "eps", "against release", "against interactive", "the rule"], where)
    return (
        f"## Loss by number of questions, equal total epsilon\n\n{table(header, rows)}\n\n"
        f"Questions from which on the summary is better:\n\n{crossed}\n\n"
        f"What fits the measured losses best: {fits}."
    )


def budget_text(found: Findings) -> str:
    parts = []
    if found.curves:
        plain = {one.set: one.spent for one in found.curves if one.strategy == "interactive"}
        rows = [
            [
                one.set,
                one.strategy,
                *(f"{eps:.3g}" for n, eps in zip(one.counts, one.epsilons, strict=True) if n >= 10),
                f"{one.spent / plain.get(one.set, math.nan):.3f}",
                f"{one.noise_length:.3f}",
                f"{one.steps:.0f} ({one.steps_computed:.0f})",
                f"{one.reused:.1%}",
                show(one.loss),
                f"{1e3 * one.seconds:.0f} ms",
            ]
            for one in found.curves
        ]
        counts = [f"eps after {n:,}" for n in found.curves[0].counts if n >= 10]
        header = ["set", "strategy", *counts, "/ interactive", "sqrt(n) s", "steps (if computed)"]
        header += ["reused", "utility loss", "each"]
        parts.append(f"## Epsilon spent by questions answered\n\n{table(header, rows)}")
    parts += [
        f"Offline, after the budget was used up by {one.history} interactive answers on "
        f"{one.set}: loss {show(one.loss)}, of those answers {show(one.before)}, of phi = 0 "
        f"{short(one.zero)}."
        for one in found.offline
    ]
    if found.noises:
        rows = [
            [f"{one.epsilon:g}", *map(short, (one.published, one.ours, one.ratio))]
            for one in found.noises
        ]
        header = ["eps", "published (x c)", "ours (x c)", "published / ours"]
        title = f"Noise of one of {found.noises[0].steps} gradient steps, on sums:"
        parts.append(f"{title}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def useful_text(found: Findings) -> str:
    parts = []
    if found.useful:
        rows = [
            [
                one.set,
                f"{one.epsilon:g}",
                show(one.agreement, ".4f"),
                f"{one.best_agreement:.4f}",
                f"{one.majority:.4f}",
                show(one.shared, ".2f"),
                show(one.loss),
            ]
            for one in found.useful
        ]
        header = ["set", "eps", "agreement", "exact", "majority", "top 5 shared", "utility loss"]
        parts.append(f"## Default radius and intercept\n\n{table(header, rows)}")
    if found.peers:
        rows = [
            [
                one.set,
                one.peer,
                f"{one.setting}, eps {one.epsilon:g}",
                one.of,
                show(one.private, ".2f"),
                show(one.exact, ".2f"),
                f"{one.chance:.2f}",
                f"{PAPER_LIME}" if one.peer == "LIME" else "",
            ]
            for one in found.peers
        ]
        header = ["set", "peer", "setting", "top 5 of", "shared", "exact", "by chance", "paper"]
        parts.append(f"Shared with peers without privacy:\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def models_text(found: Findings) -> str:
    parts = []
    if found.models:
        rows = [
            [
                f"{one.kind}, {one.trained}",
                f"{one.accuracy:.4f}",
                one.strategy,
                one.setting,
                show(one.loss),
                short(one.zero),
                f"{one.agreement:.3f}",
            ]
            for one in found.models
        ]
        header = ["model", "accuracy", "strategy", "setting", "utility loss", "phi = 0"]
        header.append("agreement")
        title = f"## Other models (Sections 6.3 and 6.5), eps {found.models[0].epsilon:g}"
        parts.append(f"{title}\n\n{table(header, rows)}")
    if found.density:
        rows = [
            [one.strategy, one.setting, f"{one.quarter}", f"{one.effective:.3f}", show(one.loss)]
            for one in found.density
        ]
        header = ["strategy", "setting", "quarter", "effective share of rows", "utility loss"]
        title = "## Density (Section 6.4): quarters of the asked rows, the sparsest first"
        parts.append(f"{title}\n\n{table(header, rows)}")
    if found.groups:
        rows = [
            [
                one.by,
                one.group,
                one.setting,
                f"{one.asked}",
                show(one.loss),
                f"{one.agreement:.3f}",
                f"{one.best_agreement:.3f}",
                f"{one.shared:.2f}",
            ]
            for one in found.groups
        ]
        header = ["by", "group", "setting", "asked", "utility loss", "agreement", "exact", "top 5"]
        title = f"## What groups pay, eps {found.groups[0].epsilon:g}"
        parts.append(f"{title}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def speed_text(found: Findings) -> str:
    if not found.speeds:
        return ""
    rows = [
        [
            f"{one.rows:,} x {one.columns}",
            one.strategy,
            "-" if math.isnan(one.opening) else f"{one.opening:.2f} s",
            f"{1e3 * one.each:.1f} ± {1e3 * one.spread:.1f} ms{mark(one.others)}",
            f"{one.questions}",
            f"{one.peak_megabytes:,.0f} MB",
        ]
        for one in found.speeds
    ]
    header = ["table", "strategy", "opening", "one question (median)", "asked", "peak of process"]
    return f"## Seconds and memory\n\n{table(header, rows)}"


def markdown(found: Findings) -> str:
    parts = [f"- {name}: {words}" for name, words in found.sets.items()]
    parts += [f"- Skipped: {one}." for one in found.absent]
    parts += [f"- FAILED: {one}." for one in found.problems]
    texts = (
        bars_text,
        losses_text,
        crossover_text,
        budget_text,
        useful_text,
        models_text,
        speed_text,
    )
    told = ["# Private explanations", "\n".join(parts), *(one(found) for one in texts)]
    return "\n\n".join(one for one in told if one) + "\n"


def plain(value: Any) -> Any:
    """For JSON: an infinite or unknown number is none."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value


def write(found: Findings, path: Path | None, folder: Path | None) -> None:
    """Write the records, and the page of plots with the tables beside it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        told = [{**asdict(one), "verdict": one.verdict} for one in bars(found)]
        records = {**plain(asdict(found)), "bars": plain(told)}
        path.write_text(json.dumps(records, indent=1) + "\n")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "explainer.md").write_text(markdown(found))
        page = explainer_plots.page(found)
        if page:
            (folder / "explainer.html").write_text(page)
