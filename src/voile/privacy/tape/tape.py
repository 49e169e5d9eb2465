"""A tape: records all releases of a run, or answers a second run with those of the first.

Recording, it keeps the exact total behind every noised value and the coins of every row. Replaying
another tape, it hands out that tape's releases instead of new ones, whatever the rows, gives rows
that both tables have the same coins, and keeps the totals that would have been released. It judges
nothing. Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from voile.errors import PlanError, VoileError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Threshold, Unprotected
from voile.privacy.noise_shapes import GAUSSIAN, Shape
from voile.privacy.tape.drawn import Drawn
from voile.privacy.tape.records import (
    Access,
    Added,
    AskedQuery,
    Choice,
    Coins,
    Whole,
    partners,
)

if TYPE_CHECKING:
    from voile.privacy.grant import Ticket
    from voile.privacy.queries import Query

_TARGET = "\0target"


class Tape:
    """What is heard of one run.

    Parameters
    ----------
    script : Tape, optional
        Of an earlier run: its releases are given out again. Without it, the tape records.
    """

    def __init__(self, script: Tape | None = None) -> None:
        self.accesses: list[Access] = []
        self.splits: list[Access] = []
        self.stray: list[str] = []
        self._script = script
        self._at: list[Access | None] = [None]
        self._clients: list[str] = [""]
        self._names: tuple[object, ...] | None = None
        self._probed: int | None = None
        self._flips: list[float] = []
        self._each_once: bool | None = None
        self._choosing = False

    # -- openings -----------------------------------------------------------------------------

    def open(self, source: Any, ticket: Ticket) -> None:
        """The vault was opened for one access that was paid for."""
        terms = getattr(source, "terms", None)
        entry, unit = ticket.grant.entry, source.schema.privacy_unit
        try:
            paid = entry.plan[ticket.label]
        except PlanError:
            paid = None
        self.begin(
            Access(
                ticket.label,
                ticket.event,
                ticket.relation,
                entry.id,
                paid,
                self._clients[-1],
                "" if terms is None else str(terms.trust),
                1 if terms is None else terms.honest,
                str(unit),
                unit.rows * source.holders.per_unit,
                source,
            )
        )

    def begin(self, access: Access) -> None:
        """All that is drawn from now on belongs to this access."""
        outer = self._at[0] if len(self._at) > 1 else None
        self._names = None
        if outer is not None:
            outer.inside.append(access)
        else:
            self.accesses.append(access)
        self._at[-1] = access

    @contextmanager
    def at_client(self, name: str) -> Iterator[None]:
        """A client answers; what it opens is inside of what the job has opened."""
        self._clients.append(name)
        self._at.append(None)
        try:
            yield
        finally:
            self._clients.pop()
            self._at.pop()

    def name(self, names: Sequence[object]) -> None:
        """The next noise belongs to these values."""
        self._names = tuple(names)

    def sum(self, query: Query, grid: float) -> None:
        """A query is about to be added up."""
        access = self._at[-1]
        if access is None:
            self.stray.append("rows were added up while the vault was closed")
        else:
            access.asked.append(AskedQuery(query, grid))

    def group(self, groups: int) -> None:
        """Rows are about to be dealt into groups."""
        access = self._at[-1]
        if access is not None:
            access.groups = groups

    # -- noise --------------------------------------------------------------------------------

    def draw(self, draw: Callable[..., Whole], shape: Shape, size: Any, scale: float) -> Whole:
        """Noise was asked for."""
        values = draw(shape, size, scale)
        kind = "gaussian" if shape is GAUSSIAN else "laplace"
        names = self._names if self._names is not None and len(self._names) == len(values) else None
        added = Added(kind, float(scale), values, names)
        self._names = None
        access = self._at[-1]
        if access is None:
            self.stray.append(f"{kind} noise was drawn while the vault was closed")
            return values
        access.added.append(added)
        return Drawn.of(added, self._use)

    def _use(self, added: Added, total: NDArray[Any]) -> NDArray[Any]:
        added.uses += 1
        if added.uses > 1 or total.shape != added.noise.shape:
            return np.asarray(total + added.noise)
        added.total = np.array(total)
        said = self._said(added)
        if said is None:
            added.released = np.asarray(total + added.noise)
        elif added.names is None or said.names is None:
            added.released = said.released
        else:
            added.released = self._by_name(added, said)
        assert added.released is not None
        return added.released.copy()

    def _by_name(self, added: Added, said: Added) -> NDArray[Any]:
        """What both tables have is released as before. What only this one has gets the largest
        noise that is not among the improbable: if it shows, it shows too often.
        """
        assert added.names is not None
        assert added.total is not None
        assert said.names is not None
        assert said.released is not None
        before = dict(zip(said.names, said.released, strict=True))
        lone = sum(name not in before for name in added.names)
        event = self._at[-1].event if self._at[-1] is not None else None
        delta = event.delta if isinstance(event, Threshold) else 1e-9
        most = math.floor(added.scale * float(-ndtri(delta / max(lone, 1))))
        return np.array(
            [
                before.get(name, total + most)
                for name, total in zip(added.names, added.total.tolist(), strict=True)
            ],
            dtype=added.total.dtype,
        )

    def _said(self, added: Added) -> Added | None:
        """The same draw of the script, if it is one that can be replayed here."""
        earlier = self._same_access()
        access = self._at[-1]
        if earlier is None or access is None:
            return None
        place = next(i for i, one in enumerate(access.added) if one is added)
        if place >= len(earlier.added):
            return None
        said = earlier.added[place]
        if said.released is None or (said.names is None) is not (added.names is None):
            return None
        fits = said.names is not None or said.noise.shape == added.noise.shape
        return said if fits else None

    def _same_access(self) -> Access | None:
        """The access of the script that stands where the current one does."""
        if self._script is None or self._at[-1] is None:
            return None
        mine, theirs = self.accesses, self._script.accesses
        if len(mine) > len(theirs) or not mine:
            return None
        if self._at[-1] is mine[-1]:
            return theirs[len(mine) - 1]
        inner = mine[-1].inside
        other = theirs[len(mine) - 1].inside
        if inner and self._at[-1] is inner[-1] and len(inner) <= len(other):
            return other[len(inner) - 1]
        return None

    # -- coins --------------------------------------------------------------------------------

    def bernoulli(
        self, draw: Callable[..., NDArray[np.bool_]], size: Any, rate: float
    ) -> NDArray[np.bool_]:
        """Coins of a sample were flipped, for the next rows of the access."""
        drawn = draw(size, rate)
        if self._names is not None:
            return self._per_row(
                "split", float(rate), drawn, alone=lambda own: own, instead=lambda other: other
            )
        # A row that only this table has takes part; one that was replaced does what the other did
        # not, so that each counts by itself.
        return self._per_row(
            "sample", float(rate), drawn, alone=lambda own: True, instead=lambda other: not other
        )

    def deal(self, draw: Callable[..., Whole], size: Any, groups: int) -> Whole:
        """Rows were dealt into groups."""
        drawn = draw(size, groups)
        return self._per_row(
            "deal", float(groups), drawn, alone=lambda own: own, instead=lambda other: other
        )

    def _per_row(
        self,
        kind: str,
        rate: float,
        drawn: NDArray[Any],
        *,
        alone: Callable[[Any], Any],
        instead: Callable[[Any], Any],
    ) -> NDArray[Any]:
        access, earlier = self._at[-1], self._same_access()
        if self._names is not None:
            access, earlier = self._split(self._names)
            self._names = None
        if access is None:
            self.stray.append("coins were flipped while the vault was closed")
            return drawn
        start = sum(len(one.values) for one in access.coins)
        if access.rows is None:
            access.rows = _digests(access.source)
        values = drawn
        if earlier is not None and earlier.coins:
            said = np.concatenate([one.values for one in earlier.coins])
            values = drawn.copy()
            found = _pairing(earlier, access, len(said))
            for i, row in enumerate(range(start, start + len(drawn))):
                partner, place = found(row)
                if partner is not None and partner < len(said):
                    values[i] = said[partner]
                elif place is not None and place < len(said):
                    values[i] = instead(said[place])
                else:
                    values[i] = alone(drawn[i])
        access.coins.append(Coins(kind, rate, values))
        return values

    def _split(self, names: tuple[object, ...]) -> tuple[Access, Access | None]:
        """Rows are split before anything private is done with them."""
        rows = tuple(repr(name).encode() for name in names)
        access = Access("split", Unprotected(), NeighbouringRelation.ADD_REMOVE, rows=rows)
        self.splits.append(access)
        earlier = [] if self._script is None else self._script.splits[len(self.splits) - 1 :]
        return access, earlier[0] if earlier else None

    # -- choices ------------------------------------------------------------------------------

    def choose(self, sampler: Callable[[], int], candidates: int) -> int:
        """A private selection: its law is read off its coins, then it is drawn or repeated."""
        access = self._at[-1]
        if access is None:
            self.stray.append("a choice was made while the vault was closed")
            return sampler()
        exponents = self._exponents(sampler, candidates)
        each_once = bool(self._each_once)
        self._choosing = True
        try:
            chosen = sampler()
        finally:
            self._choosing = False
        earlier = self._same_access()
        place = len(access.choices)
        if earlier is not None and place < len(earlier.choices):
            chosen = min(earlier.choices[place].chosen, candidates - 1)
        access.choices.append(Choice(chosen, exponents, each_once))
        return chosen

    def _exponents(self, sampler: Callable[[], int], candidates: int) -> tuple[float, ...] | None:
        """Let each candidate be proposed first and be accepted: its coin says how probably."""
        found = []
        for candidate in range(candidates):
            chosen = self._propose(sampler, candidate)
            if chosen != candidate or len(self._flips) != 1 or self._each_once is None:
                return None
            found.append(self._flips[0])
        return tuple(found)

    def _propose(self, sampler: Callable[[], int], candidate: int) -> int:
        self._probed, self._flips, self._each_once = candidate, [], None
        try:
            return sampler()
        finally:
            self._probed = None

    def flip_exp(self, draw: Callable[[Fraction], bool], exponent: Fraction) -> bool:
        """A coin of a selection was flipped."""
        if self._probed is not None:
            self._flips.append(float(exponent))
            return True
        self._expect_choice()
        return draw(exponent)

    def permutation(self, draw: Callable[[Any], Whole], size: Any) -> Whole:
        """The order in which candidates are proposed was drawn."""
        if self._probed is not None:
            self._each_once = True
            return np.roll(np.arange(int(size), dtype=np.int64), -self._probed)
        self._expect_choice()
        return draw(size)

    def uniform_below(self, draw: Callable[[int], int], bound: int) -> int:
        """A candidate was proposed."""
        if self._probed is not None:
            self._each_once = False
            return self._probed
        self._expect_choice()
        return draw(bound)

    def _expect_choice(self) -> None:
        if not self._choosing:
            self.stray.append("a coin was flipped outside of a selection")


def _pairing(
    earlier: Access, access: Access, coins: int
) -> Callable[[int], tuple[int | None, int | None]]:
    """For a row: the earlier access's row that it is, and the one in its place if it was replaced.

    Coins that are not one per row (a coin per client) go by their order.
    """
    before, after = earlier.rows, access.rows
    if before is None or after is None or coins != len(before):
        return lambda row: (row, None)
    found = partners(before, after)
    replaced = len(before) == len(after)

    def pair(row: int) -> tuple[int | None, int | None]:
        partner = found[row] if row < len(found) else row
        return partner, row if partner is None and replaced else None

    return pair


def _digests(source: Any) -> tuple[bytes, ...] | None:
    """A digest of each row that takes part, as queries see it; None where rows lie elsewhere."""
    if source is None:
        return None
    names = [*source.schema, *([_TARGET] if source.schema.target is not None else [])]
    result: list[bytes] = []
    try:
        for block in source.blocks(names):
            columns = [block[name] for name in names]
            columns += [] if block.weights is None else [block.weights]
            for i in range(block.rows):
                text = repr([(type(c[i]).__name__, c[i]) for c in columns])
                result.append(hashlib.blake2b(text.encode(), digest_size=16).digest())
    except VoileError:
        return None
    return tuple(result)
