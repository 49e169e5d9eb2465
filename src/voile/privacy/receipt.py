"""The receipt: what was promised, to whom, and every look at the rows that the promise covers."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from voile.errors import LedgerError, PlanError, ReceiptError, SettingError
from voile.privacy import noise
from voile.privacy.accounting import compose, mu_squared
from voile.privacy.budget import Budget, Relation
from voile.privacy.events import (
    Event,
    Gaussian,
    Plan,
    Step,
    Threshold,
    Unprotected,
)
from voile.privacy.filter import Amount, Filter
from voile.privacy.gaussian_dp import epsilon_of
from voile.privacy.grant import Grant
from voile.privacy.ledger import Entry, KnownBy, Ledger
from voile.privacy.signing import SIGNATURE, SigningKey, check_record
from voile.strict import Strict, show
from voile.version import __version__

FORMAT = 1

_RUNNING = "explanations ("

_STRICT = Strict(ReceiptError, "a receipt")
_OF_LEDGER = ("entry", "dataset", "at", "who")
_LATER = ("known_by", "digest")
"""Fields that receipts of before do not have."""
_FIELDS = (
    *("format", "voile", "what", "epsilon", "delta", "relation", "unit", "noise", "ledger"),
    "looks",
)


@dataclass(frozen=True)
class ReceiptLine:
    """One step of the plan: what was announced, and how often the vault was opened for it."""

    label: str
    event: Event
    openings: int
    share: float
    """Part of the loss that the step took, 0 to 1 (of mu^2; nan where it has no such part)."""


@dataclass(frozen=True)
class Receipt:
    """The privacy guarantee of one job, and what it rests on.

    Attributes
    ----------
    what : str
        The job.
    epsilon, delta : float
        The guarantee; epsilon is ``inf`` without one.
    relation : Relation
        Neighbouring tables.
    unit : str
        Who or what is protected.
    lines : tuple of ReceiptLine
        Every look at the rows.
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

    what: str
    epsilon: float
    delta: float
    relation: Relation
    unit: str
    lines: tuple[ReceiptLine, ...]
    noise: str
    entry: str
    dataset: str
    at: str
    who: str
    version: str = __version__
    notes: tuple[str, ...] = ()
    known_by: str = str(KnownBy.LOGIN)
    digest: str = ""
    signature: Mapping[str, str] | None = None

    @property
    def guarantee(self) -> bool:
        """Whether there is one."""
        return math.isfinite(self.epsilon) and self.noise == str(noise.NoiseSource.SYSTEM)

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        if not math.isfinite(self.epsilon):
            if not self.lines:
                return "no guarantee is known: nothing is told of how the rows were looked at"
            return "no guarantee: at least one look at the rows had no noise"
        if not self.guarantee:
            return f"no guarantee: the noise came from a {self.noise}"
        other = "added or removed" if self.relation is Relation.ADD_REMOVE else "replaced"
        return (
            f"({self.epsilon:.4g}, {self.delta:.3g})-differential privacy for one {self.unit} "
            f"{other}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "format": FORMAT,
            "voile": self.version,
            "what": self.what,
            "guarantee": self.promise,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "relation": str(self.relation),
            "unit": self.unit,
            "noise": self.noise,
            "ledger": {
                "entry": self.entry,
                "dataset": self.dataset,
                "at": self.at,
                "who": self.who,
                "known_by": self.known_by,
                "digest": self.digest,
            },
            "looks": [
                {
                    "label": line.label,
                    "event": line.event.to_dict(),
                    "openings": line.openings,
                    "share": None if math.isnan(line.share) else line.share,
                }
                for line in self.lines
            ],
            **({"notes": list(self.notes)} if self.notes else {}),
            **({} if self.signature is None else {SIGNATURE: dict(self.signature)}),
        }

    def signed(self, key: SigningKey) -> Self:
        """The same receipt with a signature, which `from_dict` and ``voile verify`` check."""
        return replace(self, signature=key.sign_record(self.to_dict())[SIGNATURE])

    def to_json(self, *, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave."""
        read = _STRICT
        if isinstance(data, Mapping) and data.get("format", FORMAT) != FORMAT:
            raise ReceiptError(
                f"The receipt has format {show(data['format'])}, this version of voile reads "
                f"format {FORMAT}: use the version that wrote it."
            )
        data = read.fields(
            read.plain(data), _FIELDS, "the receipt", ("notes", "guarantee", SIGNATURE)
        )
        signed = check_record(data)
        read.whole(data["format"], "'format'")
        ledger = read.fields(data["ledger"], _OF_LEDGER, "'ledger'", _LATER)
        texts = {name: read.text(data[name], f"'{name}'") for name in ("what", "unit", "noise")}
        return cls(
            **texts,
            **{name: read.text(ledger[name], f"'{name}'") for name in _OF_LEDGER},
            epsilon=read.number(data["epsilon"], "'epsilon'", 0.0, null=math.inf),
            delta=read.number(data["delta"], "'delta'", 0.0, 1.0),
            relation=Relation(read.choice(data["relation"], list(Relation), "'relation'")),
            lines=tuple(map(_read_line, read.listed(data["looks"], "'looks'"))),
            version=read.text(data["voile"], "'voile'"),
            notes=read.texts(data.get("notes", []), "'notes'"),
            **{name: read.text(ledger[name], f"'{name}'") for name in _LATER if name in ledger},
            signature=None if signed.key is None else dict(data[SIGNATURE]),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` gave."""
        return cls.from_dict(_STRICT.parse(text))

    def __str__(self) -> str:
        width = max([len(line.label) for line in self.lines] + [8])
        rows = [
            f"  {line.label:<{width}}  {line.openings:>5} of {line.event.count:<5} "
            f"{_percent(line.share):>7}  {line.event.describe()}"
            for line in self.lines
        ]
        return "\n".join(
            [
                f"Receipt for {self.what}",
                f"  {self.promise}",
                f"  {'looks at the rows':<{width}}  {'used':>5} of {'plan':<5} {'share':>7}  "
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


def _read_line(data: object) -> ReceiptLine:
    look = _STRICT.fields(data, ("label", "event", "openings", "share"), "a look")
    try:
        event = Event.from_dict(look["event"])
    except (LedgerError, SettingError) as error:
        raise ReceiptError(f"In a receipt, a look cannot be read. {error}") from error
    return ReceiptLine(
        _STRICT.text(look["label"], "a label"),
        event,
        _STRICT.whole(look["openings"], "'openings'"),
        # A little more than 1 by rounding.
        _STRICT.number(look["share"], "'share'", 0.0, 1.0 + 1e-9, null=math.nan),
    )


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
        Of the same admission, decided on after the first: Gaussian looks only, whose adaptive
        composition is that of looks fixed in advance (docs/proofs/filter.md).
    """
    plan = Plan(tuple(step for one in (grant, *later) for step in one.plan))
    known = (Gaussian, Threshold, Unprotected)
    if later and not all(isinstance(event, known) for event in plan.events):
        raise PlanError("Looks that were decided on one after the other must all be Gaussian.")
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
        notes=grant.table_notes,
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
    delta = budget.delta - paid.chance
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
