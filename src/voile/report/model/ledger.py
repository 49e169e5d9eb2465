"""A whole ledger in a page: who did what with the data set, at what cost, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import plotly.graph_objects as go

from voile.explain.wording import short
from voile.privacy.filter import Amount
from voile.privacy.ledger import Entry, EntryKind, Ledger
from voile.report.kit.budget import share_text
from voile.report.kit.page import fold, paragraph, place_figure, place_key, place_table
from voile.report.kit.palette import ROWS, dress, series_colour, series_pattern
from voile.report.kit.text import plot_text

MOST_PARTS = 12
"""Jobs with a part of the bar of their own."""

_HEAD = ["no.", "when", "who", "what", "state", "cost (ε alone)"]

_MEANING = {
    EntryKind.SPEND: "paid",
    EntryKind.ADMIT: "set aside",
    EntryKind.CHARGE: "used of what was set aside",
    EntryKind.RELEASE: "given back",
}


@dataclass(frozen=True)
class Job:
    """One job of a ledger: its first line, and the lines that were written for it later."""

    first: Entry
    later: tuple[Entry, ...] = ()

    @property
    def net(self) -> Amount:
        """What it took in the end: what was paid or set aside, less what was given back."""
        back = [one.price for one in self.later if one.kind is EntryKind.RELEASE]
        return reduce(Amount.__sub__, back, self.first.price)

    @property
    def state(self) -> str:
        """Whether it is paid, or may still give something back."""
        if self.first.kind is EntryKind.SPEND:
            return _MEANING[EntryKind.SPEND]
        used = math.fsum(one.price.loss for one in self.later if one.kind is EntryKind.CHARGE)
        given_back = any(one.kind is EntryKind.RELEASE for one in self.later)
        # What is used in full has nothing to give back, and no line that says so.
        settled = given_back or used >= self.first.price.loss * (1 - 1e-9)
        return _MEANING[EntryKind.SPEND if settled else EntryKind.ADMIT]


def draw_ledger(ledger: Ledger, entry: str) -> list[str]:
    """The state of a ledger as HTML.

    Parameters
    ----------
    ledger : Ledger
    entry : str
        Name of the entry that the shown model was paid by.
    """
    history = ledger.history()
    jobs = find_jobs(history)
    parts = [paragraph(_state_text(ledger, len(jobs)))]
    if not any(one.id == entry for one in history):
        parts.append(
            paragraph(
                "This model's own entry is not in this ledger: it was paid for elsewhere.",
            )
        )
    limit = ledger.filter.limit.loss
    if history and math.isfinite(limit) and limit > 0:
        parts += _bar(jobs, limit, closed=history[-1].alone)
    if history:
        rows = [
            _line(ledger, one.first, _mark(entry, one.first, *one.later), one.state, one.net)
            for one in jobs
        ]
        parts.append(place_table(_HEAD, rows, numbers=1))
        if len(history) > len(jobs):
            rows = [
                _line(ledger, one, _mark(entry, one), _MEANING[one.kind], one.price)
                for one in history
            ]
            title = f"All {len(history)} lines of the ledger"
            parts.append(fold(title, place_table(_HEAD, rows, numbers=1)))
        parts.append(
            paragraph(
                "A cost is what the job alone would be worth, at the δ of the ledger. Costs of "
                "several jobs do not add up as ε: together they are less than their sum, and the "
                "bar shows them in the measure that does add up.",
                note=True,
            )
        )
    return parts


def _state_text(ledger: Ledger, jobs: int) -> str:
    budget = ledger.budget
    done = f"{jobs} {'job' if jobs == 1 else 'jobs'}"
    if budget.unlimited:
        return f"Ledger '{ledger.dataset}': {done}; its budget has no end, so it promises nothing."
    return (
        f"Ledger '{ledger.dataset}': {done} so far. All of them together cost ε = "
        f"{short(ledger.spent().epsilon)} of {short(budget.epsilon)} at δ = {budget.delta:.3g}; "
        f"{share_text(ledger.fraction_spent())} of the budget is used. What is left is worth one "
        f"training with ε = {short(ledger.remaining().epsilon)}."
    )


def find_jobs(history: tuple[Entry, ...]) -> list[Job]:
    """Jobs in the order in which they began, each with all its lines."""
    later: dict[str, list[Entry]] = {
        one.id: [] for one in history if one.kind in (EntryKind.SPEND, EntryKind.ADMIT)
    }
    for one in history:
        if one.parent in later:
            later[one.parent].append(one)
    return [Job(one, tuple(later[one.id])) for one in history if one.id in later]


def _bar(jobs: list[Job], limit: float, *, closed: bool) -> list[str]:
    shares = [(one.first.what, 100 * one.net.loss / limit) for one in jobs]
    if closed:
        # A first job that used up everything by exact accounting.
        shares = [(name, 100.0 / len(shares)) for name, _ in shares]
    if len(shares) > MOST_PARTS:
        rest = shares[MOST_PARTS - 1 :]
        together = math.fsum(share for _, share in rest)
        shares = [*shares[: MOST_PARTS - 1], (f"{len(rest)} later jobs", together)]
    left = max(100.0 - math.fsum(share for _, share in shares), 0.0)
    figure = go.Figure()
    for i, (name, share) in enumerate([*shares, ("left", left)]):
        last = i == len(shares)
        figure.add_trace(
            go.Bar(
                x=[share],
                y=[0],
                name=plot_text(name),
                orientation="h",
                marker={
                    "color": ROWS if last else series_colour(i),
                    "pattern": {"shape": "/" if last else series_pattern(i), "solidity": 0.3},
                    "line": {"color": "white", "width": 1},
                },
                hovertext=f"{plot_text(name)}: {share:.1f} %",
                hoverinfo="text",
            )
        )
    dress(
        figure,
        90,
        barmode="stack",
        showlegend=False,
        margin={"l": 12, "r": 24, "t": 6, "b": 30},
        xaxis={"range": [0, 100], "ticksuffix": " %"},
        yaxis={"visible": False},
    )
    words = [f"{name} ({share_text(share / 100)})" for name, share in [*shares, ("left", left)]]
    colours = [*(series_colour(i) for i in range(len(shares))), ROWS]
    return [
        place_figure(figure, "ledger-bar", f"Shares of the ledger's budget: {', '.join(words)}"),
        place_key(zip(colours, words, strict=True)),
    ]


def _line(ledger: Ledger, entry: Entry, mark: str, state: str, amount: Amount) -> list[str]:
    cost = _cost_text(ledger, entry, amount)
    return [f"{entry.seq}{mark}", entry.at, entry.who, entry.what, state, cost]


def _mark(entry: str, *lines: Entry) -> str:
    """A mark at what the shown model was paid by."""
    return " ← this model" if any(one.id == entry for one in lines) else ""


def _cost_text(ledger: Ledger, entry: Entry, amount: Amount) -> str:
    if entry.alone and entry.kind in (EntryKind.SPEND, EntryKind.ADMIT):
        return f"{short(ledger.budget.epsilon)} (all)"
    if ledger.budget.unlimited or not math.isfinite(amount.loss):
        return "without end"
    return short(ledger.filter.worth(amount).epsilon)
