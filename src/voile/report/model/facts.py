"""What a model is, in plain words: kind, what it predicts, from what, and what it guarantees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from voile.explain.ebm.text import cut_text
from voile.explain.wording import edge_texts, short
from voile.privacy.accounting import compose
from voile.privacy.receipt import Receipt
from voile.report.kit.html import Templates, start_upper
from voile.report.kit.text import short_names
from voile.schema import Category, Schema
from voile.schema.columns import Column

MOST_NAMES, MOST_LEVELS = 30, 12
"""Columns and levels that are named in a line; the table beneath has all columns."""

FAMILIES = {
    "global": "an additive model (explainable boosting machine)",
    "filters": "a locally linear model",
    "prototypes": "a model of prototypes",
}
"""What each kind of explanation is of."""

html = Templates("model/report.html")
"""The parts of the report."""


_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def guarantee_text(
    receipt: Receipt, quality: Receipt | None = None, *, delta: float | None = None
) -> str:
    """What the guarantee means, in a sentence or two for who does not know epsilon.

    Parameters
    ----------
    receipt : Receipt
        Of the model.
    quality : Receipt, optional
        Of the estimate of quality in the same report: who sees both learns from both.
    delta : float, optional
        For which both together are told, that of the ledger; by default the larger of the two.
    """
    if not receipt.has_guarantee:
        return f"This model makes no guarantee of privacy: {receipt.guarantee}."
    if quality is None:
        return f"Whoever sees this report or the model {_meaning(receipt)}"
    if not quality.has_guarantee:
        return (
            f"This report makes no guarantee of privacy, because its estimate of quality has none "
            f"({quality.guarantee}). Whoever sees the model alone {_meaning(receipt)}"
        )
    text = f"Whoever sees the model {_meaning(receipt)} This report tells its quality, too: "
    both = _compose_both(receipt, quality, delta)
    if both is None:
        return f"{text}that estimate has a guarantee of its own, {quality.guarantee}."
    return f"{text}both together cost at most ε = {short(both[0], digits=4)} at δ = {both[1]:.3g}."


def _compose_both(
    receipt: Receipt, quality: Receipt, delta: float | None
) -> tuple[float, float] | None:
    """Epsilon and delta of two jobs together, from all accesses; None if that is not known."""
    if (receipt.relation, receipt.unit) != (quality.relation, quality.unit):
        return None
    jobs = [[line.event for line in one.lines] for one in (receipt, quality)]
    for one, events in zip((receipt, quality), jobs, strict=True):
        # A receipt may rest on more than its lines tell; those must not be counted for less.
        if compose(events, one.relation).epsilon(one.delta) < one.epsilon * (1 - 1e-6):
            return None
    loss = compose([event for events in jobs for event in events], receipt.relation)
    whole = receipt.delta + quality.delta
    # Chances of rare mishaps add up and may exceed the smaller deltas, but never their sum.
    for failure in (delta, max(receipt.delta, quality.delta), whole):
        if failure is not None and math.isfinite(epsilon := loss.epsilon(failure)):
            return epsilon, failure
    return receipt.epsilon + quality.epsilon, whole


def _meaning(receipt: Receipt) -> str:
    epsilon, delta = receipt.epsilon, receipt.delta
    # Beyond that nobody reads the factor, and far beyond no float holds it.
    times = f"about {short(math.exp(epsilon), digits=2)}" if epsilon < 14 else f"e^{short(epsilon)}"
    return (
        f"can hardly tell whether any one {receipt.unit} was in the table: anything that is "
        f"concluded from it is at most {times} times as likely with that {receipt.unit} as "
        f"without, or without as with{_chance_text(delta)} (ε = {short(epsilon, digits=4)}, "
        f"δ = {delta:.3g})."
    )


def _chance_text(delta: float) -> str:
    if not 1e-12 < delta < 1:
        return ""
    many = float(f"{1 / delta:.1g}")  # the exact delta is told beside it
    for size, name in _LARGE:
        if many >= size:
            count = "a" if many == size else f"{many / size:.0f}"
            return f", plus a chance of about one in {count} {name}"
    return f", plus a chance of about one in {many:,.0f}"


def draw_facts(estimator: Any, kind: str, edits: str) -> Markup:
    """A short list of facts about a model, and the table of its columns.

    Parameters
    ----------
    estimator
        Fitted.
    kind : str
        Of the explanation of the whole model.
    edits : str
        How often people changed it after training, in words; empty if never.
    """
    schema: Schema = estimator.model_.schema
    receipt: Receipt = estimator.receipt_
    count = f"{len(schema)} {'column' if len(schema) == 1 else 'columns'}"
    facts = [
        ("Kind", f"{FAMILIES[kind]}, {type(estimator).__name__}"),
        ("Predicts", _target_text(schema.target)),
        ("From", f"{count}: {_some(short_names(list(schema), 100), MOST_NAMES)}"),
        ("Edits", f"{edits}, by people; see below" if edits else "as it was trained"),
        ("Trained", _origin_text(receipt)),
        ("Who is protected", f"one {receipt.unit}"),
        ("Guarantee", start_upper(receipt.guarantee)),
    ]
    columns = [[name, *_column_texts(column)] for name, column in schema.items()]
    return html.facts(facts, columns)


def _some(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are."""
    more = f", and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _origin_text(receipt: Receipt) -> str:
    parts = [f"on data set '{receipt.dataset}'"]
    if receipt.at:
        parts.append(f"at {receipt.at}")
    if receipt.who:
        parts.append(f"by {receipt.who}")
    return ", ".join(parts)


def _target_text(target: Column | None) -> str:
    if target is None:
        return "nothing that the schema names"
    if not isinstance(target, Category):
        return f"a number, {_bounds_text(target)}"
    levels = [f"'{cut_text(str(one), 40)}'" for one in target.levels or ()]
    return f"one of {len(levels)} classes: {_some(levels, MOST_LEVELS)}"


def _column_texts(column: Column) -> tuple[str, str]:
    if not isinstance(column, Category):
        return "number", _bounds_text(column)
    levels = [cut_text(str(one), 60) for one in column.levels or ()]
    return "category", _some(levels, MOST_LEVELS)


def _bounds_text(column: Any) -> str:
    if column.lower is None:
        return "bounds not known"
    low, high = edge_texts([column.lower, column.upper])
    return f"from {low} to {high}"
