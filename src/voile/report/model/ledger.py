"""A whole ledger in a page: who did what with the data set, at what cost, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

from markupsafe import Markup

from voile.explain.wording import short
from voile.privacy.ledger import Entry, EntryKind, Ledger
from voile.privacy.ledger.filter import Amount
from voile.report.kit.budget import BudgetPart, ShownBudget, share_text
from voile.report.kit.html import Templates
from voile.report.kit.theme import ROWS, series_colour, series_pattern

MOST_PARTS = 12
"""Jobs with a part of the bar of their own."""

_html = Templates("model/ledger.html")


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
            return EntryKind.SPEND.meaning
        used = math.fsum(one.price.loss for one in self.later if one.kind is EntryKind.CHARGE)
        given_back = any(one.kind is EntryKind.RELEASE for one in self.later)
        # What is used in full has nothing to give back, and no line that says so.
        settled = given_back or used >= self.first.price.loss * (1 - 1e-9)
        return (EntryKind.SPEND if settled else EntryKind.RESERVE).meaning


def draw_ledger(ledger: Ledger, entry: str) -> Markup:
    """The state of a ledger.

    Parameters
    ----------
    ledger : Ledger
    entry : str
        Name of the entry that the shown model was paid by.
    """
    history = ledger.history()
    jobs = find_jobs(history)
    limit = ledger.filter.limit.loss
    limited = history and math.isfinite(limit) and limit > 0
    return _html.state(
        _state_text(ledger, len(jobs)),
        elsewhere=not any(one.id == entry for one in history),
        budget=_show_budget(jobs, limit, closed=history[-1].alone) if limited else None,
        jobs=[
            _line(ledger, one.first, _mark(entry, one.first, *one.later), one.state, one.net)
            for one in jobs
        ],
        lines=[
            _line(ledger, one, _mark(entry, one), one.kind.meaning, one.price) for one in history
        ],
    )


def _state_text(ledger: Ledger, jobs: int) -> str:
    budget = ledger.budget
    done = f"{jobs} {'job' if jobs == 1 else 'jobs'}"
    if budget.unlimited:
        return (
            f"Ledger '{ledger.dataset}': {done}; its budget has no end, so it guarantees nothing."
        )
    return (
        f"Ledger '{ledger.dataset}': {done} so far. All of them together cost ε = "
        f"{short(ledger.spent().epsilon)} of {short(budget.epsilon)} at δ = {budget.delta:.3g}; "
        f"{share_text(ledger.fraction_spent())} of the budget is used. What is left is worth one "
        f"training with ε = {short(ledger.remaining().epsilon)}."
    )


def find_jobs(history: tuple[Entry, ...]) -> list[Job]:
    """Jobs in the order in which they began, each with all its lines."""
    later: dict[str, list[Entry]] = {
        one.id: [] for one in history if one.kind in (EntryKind.SPEND, EntryKind.RESERVE)
    }
    for one in history:
        if one.parent in later:
            later[one.parent].append(one)
    return [Job(one, tuple(later[one.id])) for one in history if one.id in later]


def _show_budget(jobs: list[Job], limit: float, *, closed: bool) -> ShownBudget:
    shares = [(one.first.what, one.net.loss / limit) for one in jobs]
    if closed:
        # A first job that used up everything by exact accounting.
        shares = [(name, 1.0 / len(shares)) for name, _ in shares]
    if len(shares) > MOST_PARTS:
        rest = shares[MOST_PARTS - 1 :]
        together = math.fsum(share for _, share in rest)
        shares = [*shares[: MOST_PARTS - 1], (f"{len(rest)} later jobs", together)]
    left = max(1.0 - math.fsum(share for _, share in shares), 0.0)
    parts = [
        BudgetPart(name, share, series_colour(i), series_pattern(i))
        for i, (name, share) in enumerate(shares)
    ]
    parts.append(BudgetPart("left", left, ROWS, "/"))
    return ShownBudget("ledger-bar", "Shares of the ledger's budget", parts)


def _line(ledger: Ledger, entry: Entry, mark: str, state: str, amount: Amount) -> list[str]:
    cost = _cost_text(ledger, entry, amount)
    return [f"{entry.seq}{mark}", entry.at, entry.who, entry.what, state, cost]


def _mark(entry: str, *lines: Entry) -> str:
    """A mark at what the shown model was paid by."""
    return " ← this model" if any(one.id == entry for one in lines) else ""


def _cost_text(ledger: Ledger, entry: Entry, amount: Amount) -> str:
    if entry.alone and entry.kind in (EntryKind.SPEND, EntryKind.RESERVE):
        return f"{short(ledger.budget.epsilon)} (all)"
    if ledger.budget.unlimited or not math.isfinite(amount.loss):
        return "without end"
    return short(ledger.filter.worth(amount).epsilon)
