"""What must be true of a tape by itself, and of two tapes of neighbouring tables together.

Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from voile.audit.replaying.laws import apart, choice_law, stretched_delta
from voile.audit.replaying.record import ReplayedAccess, Violation
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.terms import Trust
from voile.privacy.events import (
    Approximate,
    Gaussian,
    Laplace,
    PoissonGaussian,
    Pure,
    Threshold,
    Unprotected,
)
from voile.privacy.tape import Access, Added, Coins, Tape

ROUNDING = 1e-9
"""Relative room for the rounding of norms and logarithms in double precision."""

Whole = NDArray[np.int64]

_GAUSSIAN = (Gaussian, PoissonGaussian, Threshold, Approximate)
_SURPRISE = 40.0
"""Bits of coincidence at which samples are called the same."""

_FALSE_ALARM = 1e-12
"""Probability that correct noise of one access looks too small (or too large) by its squares."""


def where(place: int, access: Access) -> str:
    """An access in words."""
    return f"access {place + 1} ({access.label})"


def noised(access: Access) -> list[Added]:
    """The noise by which an access is protected from whom it is guaranteed to be."""
    if access.trust in ("", str(Trust.AGGREGATOR)):
        return access.added
    return [one for inner in access.inside for one in inner.added]


# -- one tape -------------------------------------------------------------------------------------


def judge_alone(tape: Tape) -> Iterator[Violation]:
    """Every access has the noise that was paid for: drawn for it, added once, to one total."""
    for text in dict.fromkeys(tape.stray):
        yield Violation("stray", "outside of any access", text)
    for place, access in enumerate(tape.accesses):
        at = where(place, access)
        for one in (access, *access.inside):
            if one.paid is None or replace(one.paid, count=1) != replace(one.event, count=1):
                yield Violation("payment", at, "another event was paid than was carried out")
            if len(one.asked) > 1:
                text = f"rows were added up {len(one.asked)} times for one access"
                yield Violation("payment", at, text)
        if isinstance(access.event, Unprotected):
            continue
        for text in _noise_faults(access):
            yield Violation("noise", at, text)
        for text in _declared_faults(access):
            yield Violation("sensitivity", at, text)
        for text in _coin_faults(access):
            yield Violation("sampling", at, text)


def _noise_faults(access: Access) -> Iterator[str]:
    event, drawn = access.event, noised(access)
    per_client = drawn is not access.added
    everything = [*access.added, *(one for inner in access.inside for one in inner.added)]
    if isinstance(event, Pure):
        if everything or len(access.choices) != 1:
            yield f"one choice was paid, and {len(access.choices)} were made"
        elif access.choices[0].exponents is None:
            yield "the choice is not random"
        return
    if access.choices:
        yield "a choice was made that was not paid as one"
    expected = len(access.inside) if per_client else 1
    if len(drawn) != expected or len(everything) != expected or not expected:
        yield f"{expected} noised releases were paid, and noise was drawn {len(everything)} times"
    kind = "laplace" if isinstance(event, Laplace) else "gaussian"
    if not isinstance(event, (*_GAUSSIAN, Laplace)):
        yield f"nothing is known of events of kind {event.kind!r}"
    for one in drawn:
        if one.kind != kind:
            yield f"a {event.kind} event was paid, and {one.kind} noise was drawn"
        if one.uses == 0 and one.noise.size:
            yield "noise was drawn and not added to a total as it was"
        if one.uses > 1:
            yield "the same noise was added to several totals"
        if _unlikely(one):
            yield "the squares of the noise do not fit its scale"


def _declared_faults(access: Access) -> Iterator[str]:
    """The noise is no narrower than the bound of the query asks for, whatever rows there are."""
    for one in [access, *(access.inside if access.trust != str(Trust.SHARES) else ())]:
        if len(one.asked) != 1 or len(one.added) != 1:
            continue
        query, grid = one.asked[0].query, one.asked[0].grid
        event, added = access.event, one.added[0]
        if len(added.noise) != query.size or not isinstance(event, (Gaussian, PoissonGaussian)):
            continue
        rows = one.rows_per_unit
        if one.relation is NeighbouringRelation.REPLACE_ONE and isinstance(event, Gaussian):
            # A sampled event counts one side; its accountant knows that there are two.
            rows *= 2.0 if query.signed else math.sqrt(2.0)
        if added.scale * grid < event.noise_multiplier * query.bound * rows * (1 - ROUNDING):
            yield "its noise is narrower than the bound of its query and the paid event ask for"


def _unlikely(added: Added) -> bool:
    """Whether the sum of squares (absolute values) is one that correct noise does not have."""
    if not added.noise.size:
        return False
    relative = np.abs(added.noise.astype(np.float64)) / added.scale
    # Twice an exponential variable is chi-squared with 2 degrees of freedom.
    laplace = added.kind == "laplace"
    value = 2 * float(relative.sum()) if laplace else float((relative**2).sum())
    freedom = relative.size * (2 if laplace else 1)
    tail = float(chdtrc(freedom, value))
    # Rounding puts a whole step into zero, so a small draw may be 0: not looked at from below.
    low = 1 - tail if relative.size > 8 else 1.0
    return min(tail, low) < _FALSE_ALARM


def _coin_faults(access: Access) -> Iterator[str]:
    event = access.event
    rate = event.rate if isinstance(event, PoissonGaussian) else 1.0
    flipped = [
        (one, coins)
        for one in (access, *access.inside)
        for coins in one.coins
        if coins.kind == "sample"
    ]
    for _, coins in flipped:
        if coins.rate != rate:
            yield f"rows were sampled at the rate {coins.rate:g}, and {rate:g} was paid"
    dealt = [coins for coins in access.coins if coins.kind == "deal"]
    if access.groups and (not dealt or any(one.rate != access.groups for one in dealt)):
        yield "rows were put into groups, and not by secret random numbers"
    if rate == 1.0:
        return
    if not flipped:
        yield "a sample of the rows was paid, and no coin was flipped"
    for one in (access, *access.inside):
        own = [coins.values for holder, coins in flipped if holder is one]
        count = sum(len(values) for values in own)
        if own and one.rows is not None and count not in (len(one.rows), 1):
            yield f"{len(one.rows)} rows take part in a sample of {count} coins"


def judge_freshness(tapes: Sequence[Tape]) -> Iterator[Violation]:
    """No noise is another's, of the same run or of another one."""
    seen: dict[float, tuple[str, list[float]]] = {}
    alike = 0
    for number, tape in enumerate(tapes):
        for place, access in enumerate(tape.accesses):
            for added in [one for each in (access, *access.inside) for one in each.added]:
                # In units of the scale, so that the same bits at another scale are found, too.
                begin = np.round(added.noise[:3] / added.scale * 2**28).tolist()
                if not begin or begin[0] == 0:
                    continue
                name = f"run {number + 1}, {where(place, access)}"
                before, others = seen.setdefault(begin[0], (name, begin))
                if others is begin:
                    continue
                alike += sum(a == b for a, b in zip(begin, others, strict=False))
                # One number may be met again by chance, once in 2^28 pairs; two may not.
                if alike >= 2:
                    yield Violation("noise", name, f"its noise is that of {before}")
                    return


def judge_coins(tape: Tape) -> Iterator[Violation]:
    """No two accesses have the same sample, unless that is probable."""
    surprise = 0.0
    flipped: list[Coins] = []
    for place, access in enumerate(tape.accesses):
        for one in (access, *access.inside):
            own = [coins for coins in one.coins if coins.kind == "sample"]
            if not own:
                continue
            coins = Coins("sample", own[0].rate, np.concatenate([c.values for c in own]))
            if any(np.array_equal(coins.values, other.values) for other in flipped):
                alike = coins.rate**2 + (1 - coins.rate) ** 2
                surprise -= len(coins.values) * math.log2(alike)
            if surprise > _SURPRISE:
                yield Violation("sampling", where(place, access), "its sample is an earlier one")
                return
            flipped.append(coins)


# -- two tapes ------------------------------------------------------------------------------------


def judge_pair(first: Tape, second: Tape) -> tuple[list[ReplayedAccess], list[Violation]]:
    """Compare the tape of one table with its replay on a neighbour."""
    lines: list[ReplayedAccess] = []
    found: list[Violation] = []
    if len(first.accesses) != len(second.accesses):
        found.append(
            Violation(
                "order",
                "the whole run",
                f"{len(first.accesses)} accesses on one table and {len(second.accesses)} on the "
                "other, with the same releases",
            )
        )
    for place, (one, other) in enumerate(zip(first.accesses, second.accesses)):  # noqa: B905
        at = where(place, one)
        texts = list(_unlike(one, other))
        if texts:
            found += [Violation(kind, at, text) for kind, text in texts]
            break  # from here on releases belong to other questions
        if isinstance(one.event, Unprotected):
            continue
        found_here = _movement(one, other)
        allowed, moved = found_here.allowed, found_here.moved
        size = len(noised(one)[0].noise) if noised(one) else len(_law(one))
        lines.append(ReplayedAccess(one.label, one.event.describe(), size, allowed, moved))
        if not moved <= allowed * (1 + ROUNDING):
            found.append(
                Violation(
                    "sensitivity",
                    at,
                    f"one unit moved the total by {moved / allowed:.6g} of what its noise is for"
                    if allowed > 0
                    else "one unit moved a total that has no noise",
                )
            )
    return lines, found


def _unlike(one: Access, other: Access) -> Iterator[tuple[str, str]]:
    """What may depend on earlier releases alone, and is not the same."""
    for name in ("label", "event", "relation", "client", "trust"):
        if getattr(one, name) != getattr(other, name):
            yield "order", f"its {name} is not the same on both tables"
    if len(one.inside) != len(other.inside) or len(one.choices) != len(other.choices):
        yield "order", "it has not the same parts on both tables"
        return
    mine, theirs = noised(one), noised(other)
    if len(mine) != len(theirs):
        yield "order", "noise is not drawn equally often on both tables"
        return
    for a, b in zip(mine, theirs, strict=True):
        keyed = a.names is not None and b.names is not None
        if (a.noise.shape != b.noise.shape or (a.total is None) != (b.total is None)) and not keyed:
            yield "shape", f"{a.noise.shape} numbers on one table, {b.noise.shape} on the other"
        if a.scale != b.scale and not isinstance(one.event, Approximate):
            yield "noise", f"the scale of its noise is {a.scale:g} or {b.scale:g}, by the table"
    for choice, again in zip(one.choices, other.choices, strict=True):
        if len(choice.exponents or ()) != len(again.exponents or ()):
            yield "shape", "there are not equally many candidates on both tables"
    if [_facts(one_coin) for one_coin in one.coins[:1]] != [_facts(c) for c in other.coins[:1]]:
        yield "sampling", "rows are not sampled, or dealt, alike on both tables"


def _facts(coins: Coins) -> tuple[str, float]:
    return coins.kind, coins.rate


@dataclass(frozen=True)
class _Movement:
    allowed: float
    moved: float


def _movement(one: Access, other: Access) -> _Movement:
    """What one unit may move, and what it moved."""
    event = one.event
    if isinstance(event, Pure):
        a, b = _law(one), _law(other)
        return _Movement(event.epsilon, float(np.abs(a - b).max()) if len(a) else math.nan)
    pairs = [
        _Pair(a, b, a.total, b.total)
        for a, b in zip(noised(one), noised(other), strict=True)
        if a.total is not None and b.total is not None
    ]
    if not pairs:
        # Nothing of no size: an access that had no values to count, on either table.
        empty = noised(one) and all(not a.noise.size for a in noised(one))
        return _Movement(1.0, 0.0) if empty else _Movement(0.0, math.nan)
    if isinstance(event, Approximate):
        return _Movement(event.delta, pairs[0].stretched(event.epsilon))
    if not isinstance(event, (Gaussian, PoissonGaussian, Threshold, Laplace)):
        return _Movement(0.0, math.nan)
    allowed = min(pair.first.scale for pair in pairs) / event.noise_multiplier
    if one.trust == str(Trust.SHARES):
        # A server sees the sum of all answers; the noise of some of them is enough.
        gap = np.sum([pair.total - pair.other_total for pair in pairs], axis=0)
        return _Movement(allowed * math.sqrt(one.honest), apart(gap, 0 * gap, "gaussian"))
    return _Movement(allowed, math.hypot(*(pair.gap for pair in pairs)))


@dataclass(frozen=True, eq=False)
class _Pair:
    """The noise of one release on both tables, and what it was added to."""

    first: Added
    second: Added
    total: Whole
    other_total: Whole

    @property
    def gap(self) -> float:
        """How far the totals lie apart; what only one table has counts 0 in the other."""
        if self.first.names is None or self.second.names is None:
            return apart(self.total, self.other_total, self.first.kind)
        mine = dict(zip(self.first.names, self.total.tolist(), strict=True))
        theirs = dict(zip(self.second.names, self.other_total.tolist(), strict=True))
        names = mine.keys() | theirs.keys()
        return math.hypot(*(mine.get(name, 0) - theirs.get(name, 0) for name in names))

    def stretched(self, epsilon: float) -> float:
        """Delta of two Gaussians that differ in place and scale, the larger of the directions."""
        first, second, size = self.first.scale, self.second.scale, len(self.total)
        return max(
            stretched_delta(self.gap, first, second, size, epsilon),
            stretched_delta(self.gap, second, first, size, epsilon),
        )


def _law(access: Access) -> NDArray[np.float64]:
    choices = access.choices
    if not choices or choices[0].exponents is None:
        return np.zeros(0)
    return choice_law(choices[0])
