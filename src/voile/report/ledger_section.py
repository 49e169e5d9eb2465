"""A whole ledger in a page: who did what with the data set, at what cost, and what is left."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from voile.explain.wording import short
from voile.privacy.ledger import Entry, EntryKind, Ledger
from voile.report.page import paragraph, place_figure, place_key, place_table
from voile.report.palette import ROWS, dress, series_colour, series_pattern
from voile.report.plot_text import plot_text

MOST_PARTS = 12
"""Jobs with a part of the bar of their own."""

_MEANING = {
    EntryKind.SPEND: "paid",
    EntryKind.ADMIT: "set aside",
    EntryKind.CHARGE: "used of what was set aside",
    EntryKind.RELEASE: "given back",
}


def draw_ledger(ledger: Ledger, entry: str) -> list[str]:
    """The state of a ledger as HTML.

    Parameters
    ----------
    ledger : Ledger
    entry : str
        Name of the entry that the shown model was paid by.
    """
    history = ledger.history()
    jobs = _net_costs(history)
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
        head = ["no.", "when", "who", "what", "line", "cost (ε alone)"]
        rows = [
            [
                f"{one.seq}{' ← this model' if one.id == entry else ''}",
                one.at,
                one.who,
                one.what,
                _MEANING[one.kind],
                _cost_text(ledger, one),
            ]
            for one in history
        ]
        parts.append(place_table(head, rows, numbers=1))
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
        f"{100 * ledger.fraction_spent():.0f} % of the budget is used. What is left is worth one "
        f"training with ε = {short(ledger.remaining().epsilon)}."
    )


def _net_costs(history: tuple[Entry, ...]) -> list[tuple[str, float]]:
    """Jobs in order, and what each took in the end."""
    taken: dict[str, list[float]] = {}
    names: dict[str, str] = {}
    for one in history:
        if one.kind in (EntryKind.SPEND, EntryKind.ADMIT):
            names[one.id] = one.what
            taken[one.id] = [one.price.loss]
        elif one.kind is EntryKind.RELEASE and one.parent in taken:
            taken[one.parent].append(-one.price.loss)
    return [(names[name], max(math.fsum(parts), 0.0)) for name, parts in taken.items()]


def _bar(jobs: list[tuple[str, float]], limit: float, *, closed: bool) -> list[str]:
    shares = [(name, 100 * loss / limit) for name, loss in jobs]
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
    words = [f"{name} ({share:.0f} %)" for name, share in [*shares, ("left", left)]]
    colours = [*(series_colour(i) for i in range(len(shares))), ROWS]
    return [
        place_figure(figure, "ledger-bar", f"Shares of the ledger's budget: {', '.join(words)}"),
        place_key(zip(colours, words, strict=True)),
    ]


def _cost_text(ledger: Ledger, entry: Entry) -> str:
    if entry.alone and entry.kind in (EntryKind.SPEND, EntryKind.ADMIT):
        return f"{short(ledger.budget.epsilon)} (all)"
    if ledger.budget.unlimited or not math.isfinite(entry.price.loss):
        return "without end"
    return short(ledger.filter.worth(entry.price).epsilon)
