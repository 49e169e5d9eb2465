"""Small cards for notebooks: a fitted model or a ledger at a glance, without scripts."""

from __future__ import annotations

import math

from voile.errors import SettingError
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.locally_linear.overall import LocallyLinearExplanation
from voile.explain.lvq.overall import LVQExplanation
from voile.explain.wording import short
from voile.models.estimator import PrivateEstimator
from voile.privacy.ledger import Entry, EntryKind, Ledger
from voile.rendering import draws_card
from voile.report.kit.html import Templates

MOST_LINES = 12

_html = Templates("model/cards.html")


@draws_card(PrivateEstimator)
def draw_model(estimator: PrivateEstimator) -> str:
    """HTML of a fitted estimator, to stand among other things."""
    try:
        whole = estimator.explain_global()
    except SettingError:  # a network has no whole to tell
        whole = None
    terms, classes, rest = [], "", 0
    if isinstance(whole, EBMExplanation):
        ranked = whole.ranked_parts[:MOST_LINES]
        sizes = [float(term.importance.sum()) for term in ranked]
        top = max([*sizes, 1e-300])
        terms = [
            (term.name, 100 * size / top, short(size))
            for term, size in zip(ranked, sizes, strict=True)
        ]
        rest = len(whole.parts) - len(ranked)
    elif isinstance(whole, LocallyLinearExplanation | LVQExplanation):
        names = [str(one) for one in whole.outputs]
        classes = ", ".join(names[:MOST_LINES]) + (", ..." if len(names) > MOST_LINES else "")
    return str(
        _html.model(
            type(estimator).__name__,
            estimator.receipt_.guarantee,
            notes=estimator.receipt_.notes,
            units=getattr(whole, "units", ""),
            terms=terms,
            rest=rest,
            classes=classes,
        )
    )


@draws_card(Ledger)
def draw_ledger(ledger: Ledger) -> str:
    """HTML of a ledger, to stand among other things."""
    paid = [one for one in ledger.history() if one.kind in (EntryKind.SPEND, EntryKind.CHARGE)]
    shares = [(one, _share(ledger, one)) for one in paid[-MOST_LINES:]]
    return str(
        _html.ledger(
            ledger,
            part=f"{ledger.fraction_spent():.0%}",
            left=short(ledger.remaining().epsilon),
            before=len(paid) - len(shares),
            jobs=[(f"{one.seq}. {one.what}", 100 * share, f"{share:.1%}") for one, share in shares],
        )
    )


def _share(ledger: Ledger, entry: Entry) -> float:
    limit = ledger.filter.limit.loss
    if entry.alone:
        return 1.0
    return min(entry.price.loss / limit, 1.0) if math.isfinite(limit) and limit > 0 else 0.0
