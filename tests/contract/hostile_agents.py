"""Two worlds of clients that differ by one hostile row (or person), and what a question moves."""

import contextlib
import itertools
import logging
import math
import time
import tracemalloc
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
from hostile_queries import NETWORK, NUMBERED, NUMBERS, OWN, PIXELS, forged

from voile import Budget, Ledger, protect
from voile.errors import VoileError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Opening,
    Paid,
    Payment,
    RefusalMessage,
    SumAnswer,
    SumOver,
    envelope,
)
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Gaussian, Plan
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import Query
from voile.privacy.wire import Packer, Unpacker

EVENT = Gaussian(900_000, 5.0)
ROUNDING = Fraction(1, 10**12)
SLOWEST, LARGEST = 2.0, 300 * 2**20
"""Seconds and bytes of a question."""

ROWS = (0, 1, 2, 30)

VALUES = [math.nan, None, math.inf, -math.inf, 1e300, -1e300, 0.0, -2.0, 3.0, 255.0, 5e-324, "x"]
LEVELS = ["a", "b", 1, None, math.nan, "zzz", "", 7]


class World:
    """The clients of one job, whose rows are given; all questions are one server's."""

    def __init__(self, own, trust, tables):
        self.names = tuple("ab"[: len(tables)])
        self.terms = Terms(trust, self.names)
        self.own = own
        self.agents = {}
        self.keys = {}
        for name, (frame, target, weights) in zip(self.names, tables, strict=True):
            given = {} if weights is None else {"weights": weights, "largest_weight": 2.0}
            table = protect(frame, target, schema=OWN[own], **given)
            self.agents[name] = ClientAgent(table, Ledger(Budget(math.inf, 1e-5)), name=name)
        opening = Opening("job", OWN[own], NeighbouringRelation.ADD_REMOVE, self.terms)
        for name in self.names:
            joined = self.say(name, opening)
            assert isinstance(joined, Joined), joined
            self.keys[name] = joined.key
            paid = self.say(name, Payment("job", 0, Plan.of(a=EVENT), "test", None, True))
            assert isinstance(paid, Paid), paid

    def say(self, name, question):
        packer = Packer()
        message = envelope(packer, packer.pack(question), set())
        # The client's work alone, in processor time: a busy machine changes nothing.
        start = time.process_time()
        answer = self.agents[name].answer(message)
        self.spent = time.process_time() - start
        return Unpacker().unpack(answer)

    def ask(self, case, index, grid):
        """The sum over all clients, or the first refusal."""
        roster = Roster(0, self.keys) if self.terms.trust == "shares" else None
        total = None
        for name in self.names:
            question = forged(
                SumOver,
                job="job",
                access=AccessId(0, "a", index),
                schema=case.schema,
                preparations=case.preparations,
                query=case.query,
                grid=grid,
                roster=roster,
            )
            reply = self.say(name, question)
            if isinstance(reply, RefusalMessage):
                return reply.reason
            assert isinstance(reply, SumAnswer), reply
            total = reply.values if total is None else total + reply.values
        return total


def frame_of(own, rows):
    """A table of rows (values of numbers, a level, a class, a person)."""
    names = PIXELS if own == "pictures" else NUMBERS
    frame = {name: _column([row[0][i] for row in rows]) for i, name in enumerate(names)}
    if own != "pictures":
        frame["c"] = _column([row[1] for row in rows])
    if own == "units":
        frame["who"] = _column([row[3] for row in rows])
    weights = np.array([row[4] for row in rows]) if own == "weighted" else None
    return frame, _column([row[2] for row in rows]), weights


def _column(values):
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def rows_of(own, count, generator):
    for number in range(count):
        values = generator.normal(size=4) * (100.0 if own == "pictures" else 1.0)
        label = float(generator.normal()) if own in NUMBERED else "ab"[int(generator.integers(2))]
        yield (
            values.tolist(),
            ["a", "b", 1][int(generator.integers(3))],
            label,
            f"p{number % 20}",
            float(generator.choice([0.0, 0.5, 1.0, 2.0])),
        )


def hostile_row(own, rows, variant):
    """One row more: each value of the worst there is, a copy of another, or of the far corner."""
    generator = np.random.default_rng(variant)
    label = (
        ["a", "b", "a", 1][variant % 4] if own not in NUMBERED else [3.0, -2.0, 1e300][variant % 3]
    )
    if variant == 0 and rows:
        return (*rows[0][:3], "new", 2.0)
    if variant in (1, 2):
        corner = [[3.0, 1e3, 255.0, 255.0], [-2.0, -1e3, 0.0, 0.0]][variant - 1]
        return corner, "b", label, "new", 2.0
    values = [VALUES[int(generator.integers(len(VALUES)))] for _ in range(4)]
    level = LEVELS[int(generator.integers(len(LEVELS)))]
    weight = [math.nan, -1.0, 1e300, 2.0][variant % 4]
    odd = LEVELS[int(generator.integers(len(LEVELS)))] if variant % 3 == 0 else label
    return values, level, odd, "new", weight


class Worlds:
    """Pairs of neighbouring worlds, made once; and the next access's number."""

    def __init__(self, trust):
        self.trust = trust
        self._made = {}
        self._index = itertools.count()

    def pair(self, own, count, variant):
        key = own, count, variant
        if key not in self._made:
            generator = np.random.default_rng(7)
            rows = list(rows_of(own, count, generator))
            one = hostile_row(own, rows, variant)
            more = [one, (*hostile_row(own, rows, variant + 3)[:3], "new", 2.0)]
            more = more if own == "units" else more[:1]
            # In front or behind: nobody's place may matter.
            with_row = [*more, *rows] if variant % 2 else [*rows, *more]
            rest = [frame_of(own, list(rows_of(own, 3, generator)))] * (self.trust == "shares")
            self._made[key] = tuple(
                World(own, self.trust, [frame_of(own, table), *rest]) for table in (rows, with_row)
            )
        return self._made[key]

    def ask(self, case, count, variant):
        """What both worlds say, and what the client reads of the question (None: nothing)."""
        read, grid = read_back(case, 2 if case.own == "units" else 1)
        index, found = next(self._index), []
        for world in self.pair(case.own, count, variant):
            with fixed_noise(index):
                found.append(world.ask(case, index, grid))
        return found, read, grid


def read_back(case, per_unit):
    """The query as the client reads it, and the grid of what was paid for it."""
    try:
        packer, unpacker = Packer(), Unpacker()
        packed = packer.pack(case.query)
        unpacker.hold(packed.parts)
        query = unpacker.unpack(packed.body)
        if not isinstance(query, Query):
            return None, 1.0
        return query, gaussian_measure(query, EVENT, NeighbouringRelation.ADD_REMOVE, per_unit).grid
    except (VoileError, ArithmeticError, AttributeError, TypeError, ValueError):
        return None, 1.0


class Broken(AssertionError):
    """A property does not hold."""


@contextlib.contextmanager
def as_in_production():
    """Warnings are no errors there (one would make a row fail), and nobody reads the log here."""
    log = logging.getLogger("voile.clients")
    before, log.disabled = log.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = before


def check_case(worlds, case, seed, *, memory=False):
    """Ask a question in two worlds; returns whether it was answered.

    Raises
    ------
    Broken
        If the worlds differ in whether and how they refuse, or by more than the bound; if a
        question took too long or too much memory, or a client failed otherwise than by a refusal.
    """
    generator = np.random.default_rng([seed, 1])
    count = ROWS[int(generator.integers(len(ROWS)))]
    variant = int(generator.integers(6))
    worlds.pair(case.own, count, variant)
    if memory:
        tracemalloc.start()
    try:
        with as_in_production():
            (without, with_row), query, grid = worlds.ask(case, count, variant)
            spent = max(world.spent for world in worlds.pair(case.own, count, variant))
            if spent > SLOWEST:  # the first question of a kind compiles its kernel: once more
                worlds.ask(case, count, variant)
                spent = max(world.spent for world in worlds.pair(case.own, count, variant))
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
    finally:
        if memory:
            tracemalloc.stop()
    told = f"seed {seed}, {type(case.query).__name__}, {count} rows and row {variant}"
    if spent > SLOWEST or peak > LARGEST:
        raise Broken(f"{told}: {spent:.1f} s, {peak / 2**20:.0f} MB")
    refused = [one for one in (without, with_row) if isinstance(one, str)]
    if len(refused) == 1 or len(set(refused)) > 1:
        raise Broken(f"{told}: only one world refuses: {refused}")
    if refused:
        if "failed with" in refused[0]:
            raise Broken(f"{told}: {refused[0]}")
        return False
    moved = (with_row - without).tolist()
    rows = 2 if case.own == "units" else 1
    allowed = Fraction(query.sensitivity(NeighbouringRelation.ADD_REMOVE)) * rows / Fraction(grid)
    square = sum(one * one for one in moved)
    if square > (allowed * (1 + ROUNDING)) ** 2:
        times = math.sqrt(square) / float(allowed)
        raise Broken(f"{told}: moved by {times:g} times the bound")
    return True


def check_many(trust, seeds, draw, *, memory_every=0):
    """Check all cases; how many of each kind of query were answered and refused."""
    worlds, found = Worlds(trust), Counter()
    for number, seed in enumerate(seeds):
        case = draw(seed)
        memory = bool(memory_every) and number % memory_every == 0
        answered = check_case(worlds, case, seed, memory=memory)
        found["answered" if answered else "refused"] += 1
        found[type(case.query).__name__, answered] += 1
    return found


assert NETWORK
