"""The receipt: what is guaranteed, to whom, and every access to the rows that this covers."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from voile.codec import Order, Readable
from voile.errors import PlanError, ReceiptError
from voile.privacy import noise
from voile.privacy.accounting import compose, mu_squared
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.events import (
    Event,
    Gaussian,
    Plan,
    Step,
    Threshold,
    Unprotected,
)
from voile.privacy.gaussian_dp import epsilon_of
from voile.privacy.grant import Grant
from voile.privacy.ledger import Entry, KnownBy, Ledger
from voile.privacy.ledger.filter import Amount, Filter
from voile.privacy.signing import SIGNATURE, SigningKey, check_record
from voile.stored import Count, Stored, Unknown, ZeroToOne
from voile.strict import Strict
from voile.version import __version__

_RUNNING = "explanations ("

OfLedger = Annotated[str, Stored(inside="ledger")]
LaterOfLedger = Annotated[str, Stored(inside="ledger", later=True)]
"""What receipts of before do not have."""


@dataclass(frozen=True)
class ReceiptLine:
    """One step of the plan: what was announced, and how often the vault was opened for it."""

    label: str
    event: Event
    openings: Count
    # A little more than 1 by rounding.
    share: Annotated[float, Stored(least=0.0, most=1.0 + 1e-9, null=math.nan)]
    """Part of the loss that the step took, 0 to 1 (of mu^2; nan where it has no such part)."""


@dataclass(frozen=True)
class Receipt(Readable):
    """The privacy guarantee of one job, and what it rests on.

    Attributes
    ----------
    what : str
        The job.
    epsilon, delta : float
        The guarantee; epsilon is ``inf`` without one.
    relation : NeighbouringRelation
        Neighbouring tables.
    unit : str
        Who or what is protected.
    lines : tuple of ReceiptLine
        Every access to the rows.
    noise : str
        Where the noise came from.
    entry, dataset, at, who : str
        The ledger's line.
    version : str
        Version of voile.
    notes : tuple of str
        What else must be known, in sentences: what the guarantee does not cover.
    known_by : str
        How ``who`` is known.
    digest : str
        Of the ledger's line and all before it: a ledger that lacks it is older, or another one.
    signature : mapping or None
        Of all this, by `signed`.
    """

    strict: ClassVar[Strict] = Strict(ReceiptError, "a receipt")
    format: ClassVar[int] = 1
    file_order: ClassVar[Order] = (
        *(
            "format",
            "version",
            "what",
            "guarantee=guarantee",
            "epsilon",
            "delta",
            "relation",
            "unit",
        ),
        *("noise", "entry", "dataset", "at", "who", "known_by", "digest", "lines", "notes"),
        "signature",
    )

    what: str
    epsilon: Unknown
    delta: ZeroToOne
    relation: NeighbouringRelation
    unit: str
    lines: Annotated[tuple[ReceiptLine, ...], Stored(name="accesses")]
    noise: str
    entry: OfLedger
    dataset: OfLedger
    at: OfLedger
    who: OfLedger
    version: Annotated[str, Stored(name="voile")] = __version__
    notes: Annotated[tuple[str, ...], Stored(optional=True)] = ()
    known_by: LaterOfLedger = str(KnownBy.LOGIN)
    digest: LaterOfLedger = ""
    signature: Annotated[Mapping[str, str] | None, Stored(optional=True)] = None

    @property
    def has_guarantee(self) -> bool:
        """Whether there is one."""
        return math.isfinite(self.epsilon) and self.noise == str(noise.NoiseSource.SYSTEM)

    @property
    def guarantee(self) -> str:
        """The guarantee in a sentence."""
        if not math.isfinite(self.epsilon):
            if not self.lines:
                return "no guarantee is known: the receipt does not say how the rows were read"
            return "no guarantee: at least one access to the rows had no noise"
        if not self.has_guarantee:
            return f"no guarantee: the noise came from a {self.noise}"
        other = (
            "added or removed" if self.relation is NeighbouringRelation.ADD_REMOVE else "replaced"
        )
        return (
            f"({self.epsilon:.4g}, {self.delta:.3g})-differential privacy for one {self.unit} "
            f"{other}"
        )

    def signed(self, key: SigningKey) -> Self:
        """The same receipt with a signature, which `from_dict` and ``voile verify`` check."""
        return replace(self, signature=key.sign_record(self.to_dict())[SIGNATURE])

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave; a signature must be of this content (ReceiptError)."""
        if isinstance(data, Mapping):
            check_record(cls.strict.plain(data))
        return super().from_dict(data)

    def __str__(self) -> str:
        width = max([len(line.label) for line in self.lines] + [8])
        rows = [
            f"  {line.label:<{width}}  {line.openings:>6} / {line.event.count:<7} "
            f"{_percent(line.share):>15}  {line.event.describe()}"
            for line in self.lines
        ]
        return "\n".join(
            [
                f"Receipt for {self.what}",
                f"  {self.guarantee}",
                f"  {'queries':<{width}}  {'used':>6} / {'planned':<7} {'share of budget':>15}  "
                "noise / sensitivity",
                *rows,
                f"  noise from {self.noise}; voile {self.version}",
                f"  ledger '{self.dataset}', entry {self.entry[:12]}, {self.at}, {self.who} "
                f"({self.known_by})",
                *(f"  {note}" for note in self.notes),
            ]
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _percent(share: float) -> str:
    return "" if math.isnan(share) else f"{100 * share:.1f} %"


def write_receipt(grant: Grant, budget: Budget, *later: Grant) -> Receipt:
    """The receipt of a job that has finished.

    Parameters
    ----------
    grant : Grant
        What was paid and how much of it was used.
    budget : Budget
        The job's own budget; its delta is the one for which epsilon is stated.
    *later : Grant
        Of the same reservation, decided on after the first: Gaussian accesses only, whose adaptive
        composition is that of accesses fixed in advance (docs/proofs/filter.md).
    """
    plan = Plan(tuple(step for one in (grant, *later) for step in one.plan))
    known = (Gaussian, Threshold, Unprotected)
    if later and not all(isinstance(event, known) for event in plan.events):
        raise PlanError("Accesses that were decided on one after the other must all be Gaussian.")
    loss = compose(plan.events, grant.relation)
    openings = {label: n for one in (grant, *later) for label, n in one.openings.items()}
    return Receipt(
        what=grant.entry.what,
        epsilon=loss.epsilon(budget.delta),
        delta=budget.delta,
        relation=grant.relation,
        unit=grant.unit,
        lines=tuple(
            ReceiptLine(step.label, step.event, openings[step.label], share)
            for step, share in zip(plan, _shares(plan), strict=True)
        ),
        noise=str(_worst_noise((grant, *later))),
        entry=grant.entry.id,
        dataset=grant.dataset,
        at=grant.entry.at,
        who=grant.entry.who,
        known_by=str(grant.entry.known_by),
        digest=grant.entry.digest,
        notes=tuple(dict.fromkeys(note for paid in (grant, *later) for note in paid.table_notes)),
    )


def name_running(name: str) -> str:
    """What a job that is never finished is called in a ledger: explanations, by their name."""
    return f"{_RUNNING}{name})"


def is_running(what: str) -> bool:
    """Whether a job is one of those: its receipt tells all that was paid so far."""
    return what.startswith(_RUNNING)


def write_running_receipt(
    ledger: Ledger,
    entries: Sequence[Entry],
    budget: Budget,
    *,
    what: str,
    unit: str,
    source: noise.NoiseSource,
    notes: tuple[str, ...] = (),
) -> Receipt:
    """The receipt of a job that is never finished: all that its ledger entries have paid so far.

    Each entry may have been decided on after seeing what the ones before it released; the totals of
    mu^2 add up all the same (docs/proofs/filter.md).

    Parameters
    ----------
    ledger : Ledger
    entries : sequence of Entry
        Of the job: what was spent or charged.
    budget : Budget
        The job's own; its delta is the one for which epsilon is stated.
    what : str
        The job.
    unit : str
        Who is protected.
    source : NoiseSource
        Where all noise came from.
    notes : tuple of str
    """
    counts: dict[tuple[str, Event], int] = {}
    for entry in entries:
        for step in entry.plan:
            key = (step.label, replace(step.event, count=1))
            counts[key] = counts.get(key, 0) + step.event.count
    steps = [Step(label, replace(event, count=n)) for (label, event), n in counts.items() if n]
    events = [step.event for step in steps]
    prices = Filter(Budget(budget.epsilon, budget.delta), ledger.relation)
    paid = prices.price_apart(events) if math.isfinite(budget.epsilon) else Amount(math.inf)
    delta = budget.delta - paid.failure
    known = math.isfinite(paid.loss) and delta > 0
    parts = [mu_squared(event) for event in events]
    whole = math.fsum(parts)
    last = entries[-1] if entries else None
    return Receipt(
        what=what,
        epsilon=epsilon_of(math.sqrt(paid.loss), delta) if known else math.inf,
        delta=budget.delta,
        relation=ledger.relation,
        unit=unit,
        lines=tuple(
            ReceiptLine(step.label, step.event, step.event.count, part / whole if whole else 0.0)
            for step, part in zip(steps, parts, strict=True)
        ),
        noise=str(source),
        entry="" if last is None else last.id,
        dataset=ledger.dataset,
        at="" if last is None else last.at,
        who="" if last is None else last.who,
        known_by=str(KnownBy.LOGIN if last is None else last.known_by),
        digest="" if last is None else last.digest,
        notes=notes,
    )


def _worst_noise(grants: tuple[Grant, ...]) -> noise.NoiseSource:
    """One fixed seed spoils the whole."""
    found = {one.noise for one in grants}
    return noise.NoiseSource.FIXED if noise.NoiseSource.FIXED in found else noise.NoiseSource.SYSTEM


def _shares(plan: Plan) -> list[float]:
    parts = [mu_squared(event) for event in plan.events]
    total = math.fsum(parts)
    return [part / total if total > 0 else math.nan for part in parts]
