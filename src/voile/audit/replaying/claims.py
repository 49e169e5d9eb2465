"""What is claimed of a run, ledger and receipts, beside what its tape shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from voile.audit.replaying.judging import where
from voile.audit.replaying.laws import least_epsilon
from voile.audit.replaying.record import Violation
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.clients.terms import CLIENT
from voile.privacy.events import Event, Unprotected
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.entry import EntryKind
from voile.privacy.receipt import Receipt
from voile.privacy.tape import Access, Tape

_ROOM = 1e-6
"""Relative room for roots that were found numerically."""


def observed(accesses: Iterable[Access]) -> list[Event]:
    """What was carried out, one event each."""
    return [replace(one.event, count=1) for one in accesses]


def judge_ledger(tape: Tape, ledger: Ledger) -> Iterator[Violation]:
    """No access without its payment, and no more of them than were paid."""
    entries = {entry.id: entry for entry in ledger.history()}
    made: Counter[tuple[str, str, str]] = Counter()
    for place, access in enumerate(tape.accesses):
        if access.entry not in entries:
            yield Violation("payment", where(place, access), "the ledger has no entry for it")
        elif access.label not in entries[access.entry].plan:
            yield Violation("payment", where(place, access), "its entry has no such step")
        elif replace(entries[access.entry].plan[access.label], count=1) != replace(
            access.event, count=1
        ):
            yield Violation("payment", where(place, access), "the ledger has another event for it")
        for one in (access, *access.inside):
            made[one.client, one.entry, one.label] += 1
            if one.paid is not None and made[one.client, one.entry, one.label] > one.paid.count:
                yield Violation(
                    "payment", where(place, access), f"{one.paid.count} accesses were paid"
                )
    if any(access.relation is not ledger.relation for access in tape.accesses):
        yield Violation("relation", "the whole run", "an access has not the ledger's relation")
    yield from _judge_total(ledger)


def _judge_total(ledger: Ledger) -> Iterator[Violation]:
    """What the ledger says was spent is no less than its own entries cost."""
    if ledger.budget.unlimited:
        return
    spent = ledger.spent()
    kinds = (EntryKind.SPEND, EntryKind.CHARGE)
    paid = [entry for entry in ledger.history() if entry.kind in kinds]
    events = [event for entry in paid for event in entry.plan.events]
    least = least_epsilon(events, ledger.relation, spent.delta)
    if least > spent.epsilon * (1 + _ROOM) + _ROOM:
        text = f"it says that epsilon {spent.epsilon:.6g} is spent, its entries cost {least:.6g}"
        yield Violation("composition", "the ledger", text)


def judge_budget(
    tape: Tape, budget: Budget, relation: NeighbouringRelation
) -> tuple[float, list[Violation]]:
    """What all accesses cost at least, and whether the budget covers it."""
    least = least_epsilon(observed(tape.accesses), relation, budget.delta)
    if budget.unlimited or least <= budget.epsilon * (1 + _ROOM) + _ROOM:
        return least, []
    text = f"its accesses cost epsilon {least:.6g}, and the budget is {budget.epsilon:g}"
    return least, [Violation("composition", "the whole run", text)]


def judge_receipts(tape: Tape, receipts: Sequence[Receipt]) -> Iterator[Violation]:
    """Receipts name every access, as often as it was made, and state no smaller epsilon."""
    named = {(line.label, replace(line.event, count=1)) for one in receipts for line in one.lines}
    if receipts:
        for place, access in enumerate(tape.accesses):
            if (access.label, replace(access.event, count=1)) not in named:
                yield Violation("receipt", where(place, access), "no receipt names it")
    for receipt in receipts:
        accesses = _accesses_of(receipt, tape.accesses)
        made = Counter(one.label for one in accesses)
        for line in receipt.lines:
            if made[line.label] > line.openings:
                yield Violation(
                    "receipt",
                    line.label,
                    f"{made[line.label]} accesses were made, and the receipt says {line.openings}",
                )
        if accesses and any(one.relation is not receipt.relation for one in accesses):
            yield Violation("relation", receipt.what, "the receipt states another relation")
        if any(receipt.unit not in (one.unit, CLIENT) for one in accesses):
            yield Violation("receipt", receipt.what, "it names others than the table protects")
        events = observed(accesses)
        if math.isinf(receipt.epsilon) or any(isinstance(one, Unprotected) for one in events):
            if math.isfinite(receipt.epsilon):
                yield Violation(
                    "receipt", receipt.what, "it guarantees, and an access had no noise"
                )
            continue
        least = least_epsilon(events, receipt.relation, receipt.delta)
        if least > receipt.epsilon * (1 + _ROOM) + _ROOM:
            text = f"it states epsilon {receipt.epsilon:.6g}, and the accesses cost {least:.6g}"
            yield Violation("composition", receipt.what, text)


def _accesses_of(receipt: Receipt, accesses: Sequence[Access]) -> list[Access]:
    """The accesses that a receipt is for: those of its entry, or of all entries of its job."""
    labels = {line.label for line in receipt.lines}
    own = [one for one in accesses if one.entry == receipt.entry]
    if own and {one.label for one in own} == labels:
        return own
    return [one for one in accesses if one.label in labels]
