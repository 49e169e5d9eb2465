"""The one guarantee on top of a report: for whom, at what epsilon, and which parts make it up.

All epsilons of a report that stand beside each other are for one delta. Parts do not add up as
epsilon; the whole is composed of all accesses, or told by the ledger that has added them up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from markupsafe import Markup

from voile.explain.wording import short
from voile.privacy.accounting import Loss, compose, mu_squared
from voile.privacy.events import Event
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.filter import Amount
from voile.privacy.receipt import Receipt
from voile.report.kit.budget import share_text
from voile.report.kit.html import Templates
from voile.report.model.ledger import Job, find_jobs
from voile.schema.unit import unit_of

MODEL, QUALITY = "this model", "estimate of its quality"

_LARGE = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))

_html = Templates("model/guarantee.html")


@dataclass(frozen=True)
class CostPart:
    """One of several jobs: its epsilon alone, and its share of the loss, which adds up."""

    name: str
    epsilon: float
    share: float

    @property
    def epsilon_text(self) -> str:
        """Its epsilon, for people."""
        return short(self.epsilon, digits=4)

    @property
    def share_text(self) -> str:
        """Its share, for people."""
        return "" if math.isnan(self.share) else share_text(self.share)

    @property
    def width(self) -> str:
        """Of its bar, in percent."""
        return "0" if math.isnan(self.share) else f"{100 * min(self.share, 1.0):.1f}"


@dataclass(frozen=True)
class WholeCost:
    """What all of it together costs.

    Attributes
    ----------
    epsilon, delta : float
    covers : str
        Who sees what, in words.
    parts : tuple of CostPart
        At the same delta; empty if there is one job alone.
    allowed : float
        Epsilon of the ledger's budget; nan without a ledger.
    after : str
        A sentence on what is left, or not counted.
    """

    epsilon: float
    delta: float
    covers: str
    parts: tuple[CostPart, ...] = ()
    allowed: float = math.nan
    after: str = ""

    @property
    def limited(self) -> bool:
        """Whether a ledger limits it."""
        return math.isfinite(self.allowed)

    @property
    def epsilon_text(self) -> str:
        """Epsilon, for people."""
        return short(self.epsilon, digits=4)

    @property
    def delta_text(self) -> str:
        """Delta, for people."""
        return f"{self.delta:.3g}"

    @property
    def allowed_text(self) -> str:
        """What is allowed in all, to follow epsilon."""
        return f" of {short(self.allowed, digits=4)}" if self.limited else ""

    @property
    def share_text(self) -> str:
        """The share of all parts together, where it is of a budget."""
        total = math.fsum(one.share for one in self.parts)
        return share_text(min(total, 1.0)) if self.limited and math.isfinite(total) else ""

    @property
    def times_text(self) -> str:
        """By how much a conclusion may be likelier, in words."""
        # Beyond that nobody reads the factor, and far beyond no float holds it.
        if self.epsilon >= 14:
            return f"e^{short(self.epsilon)}"
        return f"about {short(math.exp(self.epsilon), digits=2)}"

    @property
    def chance_text(self) -> str:
        """What delta adds to it, in words."""
        if not 1e-12 < self.delta < 1:
            return ""
        many = float(f"{1 / self.delta:.1g}")  # the exact delta is told beside it
        for size, name in _LARGE:
            if many >= size:
                count = "a" if many == size else f"{many / size:.0f}"
                return f", plus a probability of about one in {count} {name}"
        return f", plus a probability of about one in {many:,.0f}"


def draw_guarantee(
    receipt: Receipt,
    quality: Receipt | None = None,
    ledger: Ledger | None = None,
    asked: float | None = None,
) -> Markup:
    """What is guaranteed, to whom, and how it is made up.

    Parameters
    ----------
    receipt : Receipt
        Of the model.
    quality : Receipt, optional
        Of the estimate of quality in the same report: who sees both learns from both.
    ledger : Ledger, optional
        Of the data set: all jobs together then count.
    asked : float, optional
        Epsilon that the training was asked for.
    """
    if not receipt.has_guarantee:
        return _html.missing(f"This model makes no guarantee of privacy: {receipt.guarantee}.")
    if quality is not None and not quality.has_guarantee:
        return _html.missing(
            "This report makes no guarantee of privacy, because its estimate of quality has none "
            f"({quality.guarantee}). The model alone: {receipt.guarantee}."
        )
    whole = find_cost(receipt, quality, ledger)
    unit = unit_of(receipt.unit)
    return _html.guarantee(
        whole,
        who=receipt.unit if unit is None else unit.described,
        person=receipt.unit if unit is None else unit.person,
        asked=""
        if asked is None
        else f"The training asked for ε = {short(asked, digits=4)} and spent "
        f"{short(receipt.epsilon, digits=4)}.",
        apart="" if quality is None or _alike(receipt, quality) else quality.guarantee,
    )


def find_cost(receipt: Receipt, quality: Receipt | None, ledger: Ledger | None) -> WholeCost:
    """The whole cost: of everything in the ledger that the model was paid from, or of the report.

    Parameters are those of `draw_guarantee`.
    """
    if ledger is not None and not ledger.budget.unlimited:
        jobs = find_jobs(ledger.history())
        if any(_paid(job, receipt) for job in jobs):
            return _of_ledger(jobs, receipt, quality, ledger)
    if quality is None or not _alike(receipt, quality):
        covers = "this report or the model" if quality is None else "the model"
        return WholeCost(receipt.epsilon, receipt.delta, covers, after=_NOT_COUNTED)
    loss = compose([*_events(receipt), *_events(quality)], receipt.relation)
    epsilon, delta = _at_round_delta(loss, (receipt, quality))
    measures = [math.fsum(map(mu_squared, _events(one))) for one in (receipt, quality)]
    parts = tuple(
        CostPart(name, _epsilon_at(one, delta), measure / math.fsum(measures))
        for name, one, measure in zip((MODEL, QUALITY), (receipt, quality), measures, strict=True)
    )
    return WholeCost(epsilon, delta, "this report", parts, after=_NOT_COUNTED)


_NOT_COUNTED = "Other jobs on the same data are not counted here: no ledger tells of them."


def _of_ledger(
    jobs: Sequence[Job], receipt: Receipt, quality: Receipt | None, ledger: Ledger
) -> WholeCost:
    """All jobs of the ledger together; those that the report does not show are one part."""
    spent, limit = ledger.spent(), ledger.filter.limit.loss
    shown = [(MODEL, receipt), *([] if quality is None else [(QUALITY, quality)])]
    groups = [(name, [job for job in jobs if _paid(job, one)]) for name, one in shown]
    others = [job for job in jobs if not any(_paid(job, one) for _, one in shown)]
    if others:
        groups.append((f"{len(others)} other {'job' if len(others) == 1 else 'jobs'}", others))
    parts = []
    for name, some in groups:
        if some:
            net = reduce(Amount.__add__, (job.net for job in some))
            alone = any(job.first.alone for job in some)
            epsilon = ledger.budget.epsilon if alone else ledger.filter.worth(net).epsilon
            parts.append(CostPart(name, epsilon, net.loss / limit if limit else math.nan))
    left = short(ledger.remaining().epsilon)
    after = f"What is left of the budget is worth one training with ε = {left}."
    covers = "everything made of this data so far, this report included,"
    elsewhere = quality is not None and not any(_paid(job, quality) for job in jobs)
    if elsewhere:
        after += " The estimate of quality was paid for elsewhere, and is not counted."
    allowed = ledger.budget.epsilon
    return WholeCost(spent.epsilon, spent.delta, covers, tuple(parts), allowed, after)


def _paid(job: Job, receipt: Receipt) -> bool:
    """Whether a receipt names a line of a job."""
    return any(one.id == receipt.entry for one in (job.first, *job.later))


def _alike(receipt: Receipt, quality: Receipt) -> bool:
    """Whether two guarantees can be put together from the accesses that they list."""
    same = (receipt.relation, receipt.unit) == (quality.relation, quality.unit)
    return same and _is_explained(receipt) and _is_explained(quality)


def _is_explained(receipt: Receipt) -> bool:
    """Whether the lines account for the guarantee; it may rest on more than they tell."""
    loss = compose(_events(receipt), receipt.relation)
    return loss.epsilon(receipt.delta) >= receipt.epsilon * (1 - 1e-6)


def _events(receipt: Receipt) -> list[Event]:
    return [line.event for line in receipt.lines]


def _at_round_delta(loss: Loss, receipts: Sequence[Receipt]) -> tuple[float, float]:
    """Epsilon of several jobs for a delta that reads well, and that delta."""
    largest, total = max(one.delta for one in receipts), math.fsum(one.delta for one in receipts)
    # A larger delta is right, too; chances of rare mishaps add up, but never beyond their sum.
    whole = 10.0 ** math.ceil(math.log10(largest) - 1e-9) if largest > 0 else 0.0
    for delta in (whole, total):
        if math.isfinite(epsilon := loss.epsilon(delta)):
            return epsilon, delta
    return math.fsum(one.epsilon for one in receipts), total


def _epsilon_at(receipt: Receipt, delta: float) -> float:
    """Epsilon of a job for a delta that is not smaller than its own."""
    return min(compose(_events(receipt), receipt.relation).epsilon(delta), receipt.epsilon)
