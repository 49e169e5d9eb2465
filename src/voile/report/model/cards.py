"""Small cards for notebooks: a fitted model or a ledger at a glance, without scripts.

Colours are those of the surrounding page, so that a card is readable on dark and on light.
"""

from __future__ import annotations

import html
import math
from typing import Any

from voile.errors import SettingError
from voile.explain.filter_bank import FilterBank
from voile.explain.global_explanation import GlobalExplanation
from voile.explain.prototype_explanation import PrototypeExplanation
from voile.explain.wording import short
from voile.privacy.ledger import Entry, EntryKind, Ledger

MOST_LINES = 12

_FRAME = (
    '<div style="border:1px solid currentColor;border-radius:6px;padding:.6em .9em;'
    'max-width:46em;font-family:system-ui,sans-serif;line-height:1.45">{inside}</div>'
)
_LINE = (
    '<tr><td style="text-align:left;padding:.1em .8em .1em 0">{name}</td>'
    '<td style="text-align:left;width:14em">{bar}</td>'
    '<td style="text-align:right;padding-left:.8em">{value}</td></tr>'
)
_BAR = (
    '<div style="background:#0072B2;height:.75em;width:{width:.1f}%;min-width:1px" '
    'role="presentation"></div>'
)


def draw_card(record: Any) -> str:
    """HTML of a fitted estimator or a ledger, to stand among other things."""
    if isinstance(record, Ledger):
        return _ledger(record)
    if hasattr(record, "receipt_"):
        return _model(record)
    raise SettingError(f"No card can be drawn of a {type(record).__name__}.")


def _model(estimator: Any) -> str:
    try:
        whole = estimator.explain_global()
    except SettingError:  # a network has no whole to tell
        whole = None
    told = _terms(whole) if isinstance(whole, GlobalExplanation) else ""
    if isinstance(whole, FilterBank | PrototypeExplanation):
        told = _classes(whole)
    inside = [
        f"<strong>{html.escape(type(estimator).__name__)}</strong>",
        f"<div>{html.escape(estimator.receipt_.promise)}</div>",
        told,
        "<div>More: <code>.explain_global()</code>, <code>.explain_local(rows)</code>, "
        "<code>.receipt_</code>, <code>.report('report.html')</code></div>",
    ]
    return _FRAME.format(inside="\n".join(inside))


def _terms(whole: GlobalExplanation) -> str:
    ranked = whole.ranked[:MOST_LINES]
    sizes = [float(term.importance.sum()) for term in ranked]
    top = max([*sizes, 1e-300])
    lines = [
        _LINE.format(
            name=html.escape(term.name),
            bar=_BAR.format(width=100 * size / top),
            value=short(size),
        )
        for term, size in zip(ranked, sizes, strict=True)
    ]
    rest = len(whole.terms) - len(ranked)
    more = f"<div>and {rest} more</div>" if rest > 0 else ""
    return f"<table><caption>What matters, {_units(whole)}</caption>{''.join(lines)}</table>{more}"


def _units(whole: GlobalExplanation) -> str:
    return html.escape(whole.units)


def _classes(whole: FilterBank | PrototypeExplanation) -> str:
    names = [str(one) for one in whole.outputs]
    shown = ", ".join(names[:MOST_LINES]) + (", ..." if len(names) > MOST_LINES else "")
    return f"<div>Classes: {html.escape(shown)}</div>"


def _ledger(ledger: Ledger) -> str:
    history = ledger.history()
    part = ledger.fraction_spent()
    paid = [one for one in history if one.kind in (EntryKind.SPEND, EntryKind.CHARGE)]
    lines = [
        _LINE.format(
            name=html.escape(f"{one.seq}. {one.what}"),
            bar=_BAR.format(width=100 * _share(ledger, one)),
            value=f"{_share(ledger, one):.1%}",
        )
        for one in paid[-MOST_LINES:]
    ]
    before = len(paid) - len(lines)
    inside = [
        f"<strong>Ledger of {html.escape(ledger.dataset)}</strong>",
        f"<div>{html.escape(str(ledger.budget))}; {part:.0%} of the loss is spent, epsilon "
        f"{short(ledger.remaining().epsilon)} is left for one training.</div>",
        f"<div>{before} earlier entries</div>" if before > 0 else "",
        f"<table>{''.join(lines)}</table>" if lines else "<div>Nothing was spent.</div>",
    ]
    return _FRAME.format(inside="\n".join(inside))


def _share(ledger: Ledger, entry: Entry) -> float:
    limit = ledger.filter.limit.loss
    if entry.alone:
        return 1.0
    return min(entry.price.loss / limit, 1.0) if math.isfinite(limit) and limit > 0 else 0.0
