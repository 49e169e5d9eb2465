"""Servers and clients that lie, crash and restart: what leaves a client is what was paid for."""

import dataclasses
import hashlib
import itertools
import json
import math
import resource
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from pathlib import Path

import dp_accounting
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from dp_accounting.pld import pld_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from voile import (
    Budget,
    Category,
    EBMClassifier,
    GLVQClassifier,
    GMLVQClassifier,
    Ledger,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
    Unit,
    protect,
)
from voile.errors import BudgetExceeded, FederationError, VoileError
from voile.federated.federation import Federation
from voile.models.ebm.cyclic import LeafSums
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.misses import MissSizes
from voile.models.ebm.objectives import Aim
from voile.models.ebm.pair_cells import PairCells
from voile.models.ebm.pairs import PairCounts
from voile.models.ebm.queries import BinLayout, ResidualSizes, ResidualSums
from voile.models.locally_linear.inputs import Inputs, KeptPoints
from voile.models.locally_linear.pictures import STILL
from voile.models.locally_linear.projections import KeptSquares, ProjectedSteps
from voile.models.locally_linear.queries import Directions
from voile.models.lvq.metric_steps import MetricPulls
from voile.models.lvq.plain import MarginCosts
from voile.models.lvq.queries import ClassSums, ClusterSums, Lengths, Pulls
from voile.models.lvq.space import Space
from voile.models.pixels import PixelRanges
from voile.privacy import wire
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.channel import Silence
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.masks import Roster
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Lacking,
    Opening,
    Paid,
    Payment,
    RefusalMessage,
    SumAnswer,
    SumOver,
    Tallied,
    Tally,
    Work,
    envelope,
    open_envelope,
)
from voile.privacy.clients.terms import Terms
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian, Step, Unprotected
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.mechanisms.sums import gaussian_measure
from voile.privacy.queries import TARGET, CategoryCounts, NumberCounts, RowCount, Together
from voile.privacy.vault import keep
from voile.privacy.wire import Packer, Unpacker, sendable

SCHEMA = Schema({f"x{i}": Number(-4, 4) for i in range(4)}, target=Category([0, 1]))
EVENT = Gaussian(3, 5.0)
PLAN = Plan.of(a=EVENT)
NONE = np.zeros(0, dtype=np.int64)


def broken(reason):
    """A test that finds a fault that is still there; it must be changed with the fault."""
    return pytest.mark.xfail(strict=True, reason=reason)


def rows(count=200, seed=0):
    r = np.random.default_rng(seed)
    X = r.normal(size=(count, 4))
    return X, (X[:, 0] + r.normal(size=count) > 0.4).astype(int)


def split(X, y, cuts=(0, 30, 90, 91, 200)):
    return [(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]


def ebm(**given):
    return EBMClassifier(epsilon=1.0, rounds=3, **given)


def forged(cls, *values):
    """An object whose own checks were passed over, as another installation might send it."""
    result = object.__new__(cls)
    fields = dataclasses.fields(cls)
    left = tuple(one.default for one in fields[len(values) :])
    assert dataclasses.MISSING not in left
    for one, value in zip(fields, (*values, *left), strict=True):
        object.__setattr__(result, one.name, value)
    return result


class Server:
    """A server that says whatever it likes to one agent."""

    def __init__(self, agent, trust="nobody", job="job", others=(), schema=SCHEMA, **terms):
        self.agent, self.job, self.schema = agent, job, schema
        self.terms = Terms(trust, (agent.name, *others), **terms)
        self._packer = Packer()

    def say(self, question):
        packed = self._packer.pack(question)
        return Unpacker().unpack(self.agent.answer(envelope(self._packer, packed, set())))

    def open(self, **changes):
        first = Opening(self.job, self.schema, NeighbouringRelation.ADD_REMOVE, self.terms)
        return self.say(dataclasses.replace(first, **changes))

    def pay(self, plan=PLAN, number=0, final=True, what="test", unit=None):
        return self.say(forged(Payment, self.job, number, plan, what, unit, final))

    def ask(self, query, index=0, label="a", number=0, prepared=(), event=EVENT, **changes):
        grid = changes.pop("grid", None)
        if grid is None:
            per_unit = self.terms.clients_per_unit
            grid = gaussian_measure(query, event, NeighbouringRelation.ADD_REMOVE, per_unit).grid
        access, schema = forged(AccessId, number, label, index), changes.pop("schema", self.schema)
        roster = changes.pop("roster", None)
        return self.say(SumOver(self.job, access, schema, tuple(prepared), query, grid, roster))


def agent(X=None, y=None, schema=SCHEMA, ledger=None, **given):
    if X is None:
        X, y = rows()
    ledger = Ledger(Budget(50, 1e-5)) if ledger is None else ledger
    return ClientAgent(protect(X, y, schema=schema), ledger, name="a", **given)


def paid(one, plan=PLAN, **given):
    server = Server(one, **given)
    assert isinstance(server.open(), Joined)
    assert isinstance(server.pay(plan), Paid)
    return server


def grid_of(query, event=EVENT):
    return gaussian_measure(query, event, NeighbouringRelation.ADD_REMOVE, 1).grid


def layout(offsets=(0, 1, 2, 3, 4), link="logit", cuts=None, schema=SCHEMA):
    empty = (np.zeros(0),) * (len(offsets) - 1)
    return BinLayout(schema, link, empty if cuts is None else cuts, np.array(offsets))


def residuals(one, cells=4, outputs=1, scores=0.0, mixing=None):
    diagonal = (np.full(1, 2048),) * 4 if mixing is None else mixing
    return ResidualSums(one, np.full((cells, outputs), scores), np.zeros(outputs), 1.0, diagonal)


# -- a server that lies ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"grid": 2.0**-20},
        {"grid": 0.0},
        {"grid": -1.0},
        {"grid": math.nan},
        {"label": "b"},
        {"index": 3},
        {"index": -1},
        {"index": 2**80},
        {"index": "0"},
        {"index": None},
        {"number": 1},
        {"number": None},
        {"roster": Roster(0, {"a": bytes(32)})},
        {"schema": Schema({"zzz": Number(0, 1)}, target=Category([0, 1]))},
        {"schema": Schema(dict(SCHEMA), target=Category([0, 1]), unit=Unit("who", rows=1))},
        {"schema": None},
        {"schema": 7},
        {"query": 5},
        {"query": AccessId(0, "a", 0)},
        {"query": None},
        {"prepared": (5,)},
        {"prepared": (RowCount(),)},
        {"prepared": (SCHEMA,)},
        {"query": forged(Together, ())},
    ],
    ids=str,
)
@pytest.mark.parametrize("trust", ["nobody", "aggregator"])
def test_an_agent_answers_nothing_but_what_was_paid(trust, changed):
    changed = dict(changed)
    server = paid(agent(), trust=trust)
    query = changed.pop("query", RowCount())
    changed.setdefault("grid", grid_of(RowCount()))
    assert isinstance(server.ask(query, **changed), (RefusalMessage, Lacking))
    # And the honest question is answered all the same: nothing was used up or left half done.
    assert isinstance(server.ask(RowCount()), SumAnswer)
    assert server.agent.receipts()[0].lines[0].openings == 1


def test_an_agent_opens_no_more_often_than_the_plan_says_whatever_the_looks_are_called():
    server = paid(agent())
    accesses = [0, 0.5, 0.25, 1, 1.5, True, 2, 2.999, 0.0]
    distinct = {
        tuple(reply.values.tolist())
        for reply in (server.ask(RowCount(), index=index) for index in accesses)
        if isinstance(reply, SumAnswer)
    }
    assert len(distinct) <= EVENT.count
    assert server.agent.receipts()[0].lines[0].openings <= EVENT.count


def test_plans_terms_and_relations_do_not_change_once_agreed_on():
    server = paid(agent())
    assert isinstance(server.pay(Plan.of(a=Gaussian(3, 0.1))), RefusalMessage)
    assert isinstance(server.pay(Plan.of(a=Gaussian(9, 5.0))), RefusalMessage)
    for trust, more in (("aggregator", {}), ("nobody", {"most_rows": 5})):
        other = Server(server.agent, trust, **more)
        assert isinstance(other.open(), RefusalMessage)
    assert isinstance(server.open(relation=NeighbouringRelation.REPLACE_ONE), RefusalMessage)
    assert isinstance(server.open(relation="add_remove"), RefusalMessage)
    assert isinstance(server.open(protocol=99), RefusalMessage)
    for _ in range(3):
        assert isinstance(server.pay(), Paid)
    assert len(server.agent.ledger.history()) == 1


def test_the_same_look_with_another_query_gets_the_first_answer():
    server = paid(agent())
    first = server.ask(RowCount())
    again = server.ask(NumberCounts("x0", (0.0,)))
    assert isinstance(first, SumAnswer)
    np.testing.assert_array_equal(first.values, again.values)


@pytest.mark.parametrize("trust", ["nobody", "shares"])
def test_without_trust_nothing_but_gaussian_sums_leaves(trust):
    others = () if trust == "nobody" else ("z",)
    one = agent(ledger=Ledger(Budget(math.inf, 1e-5)))
    plan = Plan.of(a=Unprotected(3), b=Laplace(1, 5.0), c=EVENT)
    server = paid(one, plan, trust=trust, others=others)
    for label, event in (("a", Unprotected(3)), ("b", Unprotected(1))):
        assert isinstance(server.ask(RowCount(), label=label, event=event), RefusalMessage)
    for label in "abc":
        access = AccessId(0, label, 0)
        assert isinstance(server.say(Tally("job", access, SCHEMA, "x0")), RefusalMessage)
        assert isinstance(
            server.say(Work("job", access, SCHEMA, (), RowCount(), 1.0)), RefusalMessage
        )
    assert sum(line.openings for line in one.receipts()[0].lines) == 0


def test_a_limited_ledger_pays_for_nothing_unprotected():
    server = Server(agent(), "aggregator")
    server.open()
    for final in (False, True):
        assert isinstance(server.pay(Plan.of(a=Unprotected(1)), final=final), RefusalMessage)
    assert server.agent.ledger.history() == ()


def test_guarantees_for_rows_and_for_clients_do_not_mix():
    one = agent()
    server = paid(one, trust="aggregator")
    assert isinstance(server.pay(number=1, unit="client"), RefusalMessage)
    assert isinstance(server.pay(number=1, unit="galaxy"), RefusalMessage)
    assert isinstance(
        server.say(Work("job", AccessId(0, "a", 0), SCHEMA, (), 5, 1.0)), RefusalMessage
    )
    assert len(one.ledger.history()) == 1


def test_the_servers_words_do_not_decide_what_a_ledger_counts():
    server = Server(agent(), "aggregator")
    server.open()
    first = server.pay(what="guarantee for whole clients")
    second = server.pay(number=1, unit="client")
    assert not (isinstance(first, Paid) and isinstance(second, Paid))


def test_a_restart_does_not_change_for_whom_a_plan_was_paid(tmp_path):
    ledger = Ledger(tmp_path / "book.db", Budget(50, 1e-5))
    memory = tmp_path / "memory.json"
    paid(agent(ledger=ledger, memory=memory), trust="aggregator")
    server = Server(agent(ledger=ledger, memory=memory), "aggregator")
    assert isinstance(server.open(), Joined)
    assert isinstance(server.pay(unit="client"), RefusalMessage)
    assert isinstance(server.pay(), Paid)


def test_rosters_must_shrink_and_keep_their_keys():
    keys = {name: X25519PrivateKey.generate().public_key().public_bytes_raw() for name in "bcd"}
    server = Server(agent(), "shares", others=("b", "c", "d"), dropouts=1)
    keys["a"] = server.open().key
    server.pay()
    ask = lambda attempt, names, **more: server.ask(  # noqa: E731
        RowCount(), roster=Roster(attempt, {name: keys[name] for name in names} | more)
    )
    first = ask(0, "abcd")
    assert isinstance(first, SumAnswer)
    np.testing.assert_array_equal(ask(0, "abcd").values, first.values)
    for bad in (
        ask(1, "abcd"),
        ask(1, "ab"),
        ask(1, "abc", e=keys["b"]),
        ask(1, "bcd"),
        ask(0, "abc"),
        ask(2, "abc"),
        ask(1, "abc", b=bytes(32)),
        ask(1, "abc", a=keys["b"]),
        ask(1, "abc", a=keys["a"][:32]),
    ):
        assert isinstance(bad, RefusalMessage)
    for attempt, more in ((-1, {}), (1.0, {}), (1, {"b": b"short"}), (1, {"b": "text"})):
        roster = forged(Roster, attempt, {name: keys[name] for name in "abc"} | more)
        assert isinstance(server.ask(RowCount(), roster=roster), RefusalMessage)
    assert isinstance(ask(1, "abc"), SumAnswer)
    # A late repetition of the first attempt gets what it got, and no other clients do.
    np.testing.assert_array_equal(ask(0, "abcd").values, first.values)
    for attempt, names in ((0, "abc"), (1, "abcd"), (1, "abd"), (1, "bcd")):
        assert isinstance(ask(attempt, names), RefusalMessage)


def test_a_refused_roster_does_not_count_as_an_attempt():
    keys = {name: X25519PrivateKey.generate().public_key().public_bytes_raw() for name in "bcd"}
    server = Server(agent(), "shares", others=("b", "c", "d"), dropouts=1)
    keys["a"] = server.open().key
    server.pay()
    assert isinstance(
        server.ask(RowCount(), roster=Roster(0, keys | {"b": bytes(32)})), RefusalMessage
    )
    assert isinstance(server.ask(RowCount(), roster=Roster(1, keys)), SumAnswer)


def test_a_question_about_no_column_uses_no_look_up():
    server = paid(agent())
    assert isinstance(server.ask(CategoryCounts("x9", 2)), RefusalMessage)
    assert isinstance(server.ask(RowCount()), SumAnswer)


def test_a_failed_preparation_leaves_the_old_ones():
    server = paid(agent())
    one = layout()
    assert isinstance(server.ask(residuals(one), prepared=(one,)), SumAnswer)
    assert isinstance(server.ask(residuals(one), 1, prepared=(5,)), RefusalMessage)
    assert isinstance(server.ask(residuals(one), 1, prepared=(one,)), SumAnswer)


# -- queries that lie about their bound ------------------------------------------------------------


def moved(make, X, y, schema=SCHEMA):
    """How far the last row moves the sum, relative to the bound; not at all if it is refused.

    ``make`` gives a query and what is kept for it.
    """
    try:
        query, prepared = make()
    except VoileError:
        return 0.0
    found = []
    for some in (X, X[:-1]):
        server = paid(agent(some, y[: len(some)], schema), trust="aggregator", schema=schema)
        reply = server.ask(query, prepared=prepared)
        if isinstance(reply, RefusalMessage):
            return 0.0
        found.append(reply.values.astype(np.float64) * grid_of(query))
    return float(np.linalg.norm(found[0] - found[1])) / query.bound


def honest_queries():
    one = layout((0, 3, 6, 9, 12), cuts=(np.array([0.0]),) * 4)
    space = Space(SCHEMA, np.zeros(4), 1.0)
    yield "count", RowCount(), ()
    yield "numbers", NumberCounts("x0", (0.0, 1.0)), ()
    yield "together", Together((RowCount(), NumberCounts("x1", (0.0,)))), ()
    yield "residuals", residuals(one, 12, mixing=(np.full(3, 2048),) * 4), (one,)
    yield "pairs", PairCounts(one, np.zeros(12, dtype=np.int64)), (one,)
    yield "classes", ClassSums(space, True), (space,)


@pytest.mark.parametrize("name", [name for name, _, _ in honest_queries()])
@pytest.mark.parametrize("count", [1, 2, 40])
def test_one_row_at_one_client_moves_sums_by_the_bound_at_most(name, count):
    X, y = rows(count)
    pair = next((q, p) for n, q, p in honest_queries() if n == name)
    # No row of the first table is the same as none: something must move.
    assert 0.0 < moved(lambda: pair, X, y) <= 1.0


def test_overlapping_terms_do_not_move_sums_further():
    def make():
        one = layout((0, 0, 0, 0, 2))
        return residuals(one, 2, mixing=(NONE,) * 3 + (np.full(2, 4096),)), (one,)

    X, _ = rows(5)
    assert moved(make, X, np.ones(5, dtype=int)) <= 1.0


def test_scores_whose_sum_overflows_do_not_move_sums_further():
    schema = Schema(dict(SCHEMA), target=Category([0, 1, 2]))

    def make():
        one = layout(link="softmax", schema=schema)
        return residuals(one, 4, 3, 1e308, (np.ones(1, dtype=np.int64),) * 4), (one,)

    X, y = rows(5)
    assert moved(make, X, y, schema) <= 1.0


def test_a_query_of_another_space_than_was_kept_does_not_move_sums_further():
    kept = Space(SCHEMA, np.zeros(4), 1e-9, np.ones((1, 4)))
    asked = Space(SCHEMA, np.zeros(4), 1.0, np.ones((400, 4)))
    X, y = rows(5)
    assert moved(lambda: (ClassSums(asked, False), (kept,)), X, y) <= 1.0


@pytest.mark.parametrize("what", ["centre", "radius", "filling"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -1e308, 0.0, 5e-324])
def test_no_inputs_of_maps_make_points_longer_than_one(what, value):
    X, y = rows(30)
    X[0] = math.nan
    inputs = Inputs.uncentred(SCHEMA, None, None, root=False, normalise=value != 0.0)
    odd = dataclasses.replace(inputs)
    object.__setattr__(odd, what, np.full(4, value))  # past its own checks
    lengths = []

    class Access:
        def prepare(self, block):
            with np.errstate(all="ignore"):
                KeptPoints(odd, (STILL,)).prepare(block)
            points = block.kept["maps points"].astype(np.int64)
            lengths.append((points**2).sum(axis=2).max())

    keep(protect(X, y, schema=SCHEMA), (*SCHEMA, TARGET), Access().prepare)
    assert lengths[0] <= 2**22


def test_a_query_of_another_projection_than_was_kept_does_not_move_sums_further():
    inputs = Inputs.uncentred(SCHEMA, None, None, root=False, normalise=True)
    large, none = np.full((1, 3, 4), 2**15 - 1), np.zeros((1, 3, 4), dtype=np.int64)
    query = ProjectedSteps(inputs, np.zeros((2, 1, 4)), 1.0, 0.001, 1.0, None, None, large)
    prepared = (KeptPoints(inputs, (STILL,)), KeptSquares(none))
    assert moved(lambda: (query, prepared), np.ones((5, 4)), np.ones(5, dtype=int)) <= 1.0


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: layout((0, 10**12, 10**12 + 1)), id="offsets beyond all cells"),
        pytest.param(lambda: layout((0, -5, 1, 2, 3)), id="negative offsets"),
        pytest.param(lambda: layout((0, 1, 2)), id="too few offsets"),
        pytest.param(lambda: layout((3, 4, 5, 6, 7)), id="offsets from 3"),
        pytest.param(lambda: layout((0, 1, 2, 3, 4), cuts=()), id="no cuts"),
        pytest.param(lambda: layout(cuts=(np.arange(9.0),) * 4), id="more cuts than bins"),
        pytest.param(lambda: layout(link="probit"), id="unknown link"),
        pytest.param(lambda: residuals(layout(), 1), id="too few scores"),
        pytest.param(lambda: residuals(layout(), 9), id="too many scores"),
        pytest.param(lambda: residuals(layout(link="softmax")), id="too few outputs"),
        pytest.param(lambda: residuals(layout(), mixing=(np.ones(1, int),) * 3), id="less mixing"),
        pytest.param(
            lambda: LeafSums(layout(), np.zeros((4, 1)), np.zeros(1), 99, np.zeros(1, int)),
            id="term 99",
        ),
        pytest.param(
            lambda: LeafSums(layout((0, 3, 6, 9, 12)), np.zeros((12, 1)), np.zeros(1), 0, NONE[:0]),
            id="no leaves",
        ),
        pytest.param(
            lambda: LeafSums(
                layout((0, 3, 6, 9, 12)), np.zeros((12, 1)), np.zeros(1), 0, np.zeros(1, int)
            ),
            id="fewer leaves than bins",
        ),
        pytest.param(lambda: PairCounts(layout(), NONE), id="no groups"),
        pytest.param(lambda: CategoryCounts("x0", -2), id="-2 levels"),
        pytest.param(lambda: RowCount(size=-1), id="-1 cells"),
    ],
)
def test_queries_that_do_not_fit_together_are_refused_when_they_are_made(make):
    with pytest.raises(VoileError):
        make()


def test_no_memory_that_nobody_wrote_leaves_a_client(monkeypatch):
    one = layout()
    server = paid(agent(), trust="aggregator")
    with monkeypatch.context() as patch:
        # Whatever was in this memory before: rows of a patient, a key.
        patch.setattr(np, "empty_like", lambda like, **_: np.full_like(like, 7))
        reply = server.ask(residuals(one, mixing=()), prepared=(one,))
    assert isinstance(reply, RefusalMessage) or not reply.values.any()


CRASH = """
    import sys; sys.path.insert(0, {folder!r})
    from test_enemy import *
    kept = layout()
    asked = forged(BinLayout, SCHEMA, "logit", kept.cuts, np.arange(5) * 10**12)
    asked = forged(ResidualSums, asked, np.zeros((4, 1)), np.zeros(1), 1.0, (np.ones(1, int),) * 4)
    server = paid(agent())
    print(type(server.ask(asked, prepared=(kept,))).__name__)
"""


def test_no_question_kills_a_client(tmp_path):
    text = textwrap.dedent(CRASH.format(folder=str(Path(__file__).parent)))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.split() == [b"RefusalMessage"]


# -- refusals that tell ----------------------------------------------------------------------------


def replies(tables, ask):
    """What agents over several tables say; a private difference between them must not show."""
    return [ask(paid(agent(X, y))) for X, y in tables]


def test_whether_a_client_is_empty_does_not_decide_whether_it_refuses():
    X, y = rows(1)
    one = layout()
    found = replies([(X[:0], y[:0]), (X, y)], lambda server: server.ask(residuals(one)))
    assert len({type(reply) for reply in found}) == 1


def _odd_schema():
    """A number read as a category without levels, and a layout that takes it for one with some."""
    listed = Schema({**SCHEMA, "x0": Category([0, 1])}, target=Category([0, 1]))
    unlisted = Schema({**SCHEMA, "x0": Category()}, target=Category([0, 1]))
    return unlisted, layout(schema=listed)


@pytest.mark.parametrize("value", [np.nan, -1.0, 70_000.0], ids=["missing", "negative", "large"])
def test_no_single_row_decides_whether_a_client_refuses(value):
    X, y = rows(20)
    X[:, 0] = 1.0
    other = X.copy()
    other[7, 0] = value
    unlisted, one = _odd_schema()
    offsets = np.array([0, 10**5, 10**5 + 1, 10**5 + 2, 10**5 + 3])
    wide = forged(BinLayout, one.schema, "logit", one.cuts, offsets)
    for prepared in (one, wide):
        found = replies(
            [(X, y), (other, y)],
            lambda server, p=prepared: server.ask(RowCount(), prepared=(p,), schema=unlisted),
        )
        assert len({type(reply) for reply in found}) == 1


def test_refusals_say_nothing_of_rows():
    X, y = rows(20)
    frame = {f"x{i}": X[:, i].astype(object) for i in range(4)}
    frame["x0"][3] = "Mme Secret"
    one = ClientAgent(protect(frame, y, schema=SCHEMA), Ledger(Budget(50, 1e-5)), name="a")
    server = paid(one)
    unlisted, prepared = _odd_schema()
    for reply in (
        server.ask(RowCount(), prepared=(prepared,), schema=unlisted),
        server.ask(CategoryCounts("x0", 1)),
        server.ask(NumberCounts("x0", (0.0,)), schema=unlisted),
    ):
        assert "Secret" not in str(reply)


def test_only_looks_for_levels_are_answered_with_raw_values():
    server = paid(agent(), trust="aggregator")
    unlisted, _ = _odd_schema()
    reply = server.say(Tally("job", AccessId(0, "a", 0), unlisted, "x0"))
    assert isinstance(reply, RefusalMessage)


def test_a_clients_receipt_says_whom_it_trusted():
    server = paid(agent(), trust="aggregator")
    assert isinstance(server.ask(RowCount()), SumAnswer)
    assert "aggregator" in str(server.agent.receipts()[0])


# -- masks -----------------------------------------------------------------------------------------


def _masked_pair(names, forget=False):
    """Two answers of a client with a lasting key, asked for the opposite under two names."""
    keys = {name: X25519PrivateKey.generate() for name in "az"}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    found = []
    one = agent(key=keys["a"], known_keys=public)
    for (job, label), cut in zip(names, (100.0, -100.0), strict=True):
        plan = Plan((Step(label, EVENT),))
        if forget:  # all its files are gone, and it begins anew with the same key
            one = agent(key=keys["a"], known_keys=public)
        server = paid(one, plan, trust="shares", others=("z",), job=job)
        roster = Roster(0, public | {"a": server.open().key})
        query = NumberCounts("x0", (cut,))
        reply = server.ask(query, label=label, roster=roster)
        found.append(reply.values * grid_of(query))
    return found[1] - found[0]


def test_a_mask_is_not_used_again_after_a_restart():
    assert np.abs(_masked_pair((("J", "b"), ("J", "b")), forget=True)).min() > 1e4


def test_a_mask_is_not_used_for_two_looks():
    assert np.abs(_masked_pair((("J", "0b"), ("J0", "b")))).min() > 1e4


# -- memory of a agent -----------------------------------------------------------------------------


def _answers_over_restarts(tmp_path, ask, between=lambda memory: None, times=3):
    """Distinct answers of a client that is restarted, and what it paid."""
    ledger, memory = Ledger(tmp_path / "book.db", Budget(50, 1e-5)), tmp_path / "memory.json"
    found = set()
    for again in range(times):
        server = Server(agent(ledger=ledger, memory=memory))
        server.open()
        for reply in ask(server, again):
            if isinstance(reply, SumAnswer):
                found.add(tuple(reply.values.tolist()))
        server.agent.close()
        between(memory)
    return len(found), len(ledger.history())


def _honest(server, again):
    server.pay()
    return [server.ask(RowCount(), index=k) for k in range(3)]


def test_a_restarted_client_answers_no_look_twice(tmp_path):
    assert _answers_over_restarts(tmp_path, _honest) == (3, 1)


def test_a_client_whose_memory_is_lost_answers_no_look_twice(tmp_path):
    lose = lambda memory: memory.unlink(missing_ok=True)  # noqa: E731
    assert _answers_over_restarts(tmp_path, _honest, lose) == (3, 1)


def test_looks_with_broken_numbers_are_counted_over_restarts(tmp_path):
    def ask(server, again):
        server.pay()
        return [server.ask(RowCount(), index=0.1 * (3 * again + k + 1)) for k in range(3)]

    found, paid_for = _answers_over_restarts(tmp_path, ask)
    assert found <= 3 * paid_for


def test_plans_with_odd_numbers_are_counted_over_restarts(tmp_path):
    def ask(server, again):
        number = 1 if again else True
        server.pay(number=number)
        if not again:
            server.pay(number=1)
        return [server.ask(RowCount(), index=k, number=number) for k in range(3)]

    found, paid_for = _answers_over_restarts(tmp_path, ask, times=2)
    assert found <= 3 * paid_for


def test_a_memory_that_is_rolled_back_is_noticed(tmp_path):
    kept = {}

    def ask(server, again):
        server.pay()
        first = server.ask(RowCount())
        kept.setdefault("old", (tmp_path / "memory.json").read_bytes())
        return [first, *(server.ask(RowCount(), index=k) for k in (1, 2))]

    found, paid_for = _answers_over_restarts(
        tmp_path, ask, lambda memory: memory.write_bytes(kept["old"])
    )
    assert found <= 3 * paid_for


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jobs": []}', '{"jobs": {"job": 3}}'])
def test_a_damaged_memory_answers_nothing_for_free(tmp_path, text):
    path, ledger = tmp_path / "memory.json", Ledger(tmp_path / "book.db", Budget(50, 1e-5))
    path.write_text(text)
    try:
        server = Server(agent(ledger=ledger, memory=path))
    except VoileError:
        return
    server.open()
    server.pay()
    got = [server.ask(RowCount(), index=k) for k in range(3)]
    assert sum(isinstance(reply, SumAnswer) for reply in got) <= 3 * len(ledger.history())


# -- clients that lie to a server ------------------------------------------------------------------


def lying(federation, change, name="client 1"):
    """The federation with one client whose replies are changed on their way."""
    inner = federation._channel

    class Channel:
        clients = inner.clients

        def ask(self, messages):
            found = inner.ask(messages)
            if name in found and not isinstance(found[name], Silence):
                said = change(Unpacker().unpack(found[name]))
                found[name] = said if isinstance(said, bytes) else Packer().pack(said).body
            return found

    federation._channel = Channel()
    return federation


def instead(kind, **changes):
    return lambda reply: dataclasses.replace(reply, **changes) if isinstance(reply, kind) else reply


LIES = {
    "key is a number": instead(Joined, key=5),
    "key is text": instead(Joined, key="x" * 32),
    "key of low order": instead(Joined, key=bytes(32)),
    "weight is a list": instead(Joined, largest_weight=[1]),
    "weight is no number": instead(Joined, largest_weight=math.nan),
    "somebody else": instead(Joined, name="client 0"),
    "look is an array": instead(SumAnswer, access=np.arange(3)),
    "reason is a number": lambda r: RefusalMessage(5) if isinstance(r, SumAnswer) else r,
    "reason is an array": lambda r: RefusalMessage(np.ones(2)) if isinstance(r, SumAnswer) else r,
    "lacking for ever": lambda r: Lacking(("x",)) if isinstance(r, SumAnswer) else r,
    "a mapping": lambda r: {"a": 1} if isinstance(r, SumAnswer) else r,
    "unsigned": lambda r: (
        SumAnswer(r.access, r.values.view("u8")) if isinstance(r, SumAnswer) else r
    ),
    "nested": lambda r: b"\0\0\1\0" + b"[" * 65536 if isinstance(r, SumAnswer) else r,
    "payment": lambda r: {"entry": 1} if isinstance(r, Paid) else r,
}


@pytest.mark.parametrize("lie", LIES)
def test_one_lying_client_is_left_out_and_the_job_goes_on(lie):
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="shares", dropouts=1)
    model = ebm().fit_federated(lying(federation, LIES[lie]))
    assert model.receipt_.has_guarantee
    assert "client 1" in {one.client for one in federation.incidents}


TALLIES = {
    "unhashable": {"levels": ([1], [2])},
    "text as counts": {"counts": ("x", "y")},
    "infinite": {"counts": (math.inf, 1)},
    "no levels": {"levels": None},
    "one count": {"counts": (1,)},
    "less than nothing": {"counts": (-1, 5)},
    "pairs as levels": {"levels": ((1, 2), None), "counts": (5000, 5000)},
    "not a number": {"levels": (True, math.nan), "counts": (5000, 5000)},
    "bytes": {"levels": (b"a", 2**70), "counts": (5000, 5000)},
}


@pytest.mark.parametrize("lie", TALLIES)
def test_one_lying_tally_is_left_out(lie):
    X, y = rows()
    schema = Schema({"x": Number(-4, 4), "w": Category()}, target=Category([0, 1]))
    parts = [({"x": A[:, 0], "w": np.where(A[:, 1] > 0, "a", "b")}, b) for A, b in split(X, y)]
    federation = Federation.local(parts, schema, dropouts=1)
    model = EBMClassifier(epsilon=9.0, rounds=2, ledger=Ledger(Budget(9, 1e-5)))
    model.fit_federated(lying(federation, instead(Tallied, **TALLIES[lie])))
    assert "client 1" in {one.client for one in federation.incidents}


class Away:
    """A channel on which a client is silent for some questions."""

    def __init__(self, inner, name, start, stop):
        self.inner, self.name, self.start, self.stop, self.count = inner, name, start, stop, 0

    @property
    def clients(self):
        return self.inner.clients

    def ask(self, messages):
        self.count += 1
        if not self.start <= self.count < self.stop or self.name not in messages:
            return self.inner.ask(messages)
        rest = {name: one for name, one in messages.items() if name != self.name}
        return {**self.inner.ask(rest), self.name: Silence("away")}


def test_a_client_that_joins_late_does_not_stop_masked_sums():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="shares", dropouts=1)
    federation._channel = Away(federation._channel, "client 3", 0, 4)
    model = EBMClassifier(epsilon=1.0, rounds=12).fit_federated(federation)
    assert model.receipt_.has_guarantee


def test_a_client_that_was_away_at_the_payment_takes_part_later():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, dropouts=1)
    federation._channel = Away(federation._channel, "client 3", 2, 6)
    EBMClassifier(epsilon=1.0, rounds=12).fit_federated(federation)
    assert federation.agents["client 3"].receipts(1e-6)


# -- restarts of the server ------------------------------------------------------------------------


class Killed(BaseException):
    """The server is gone."""


def killed_at(monkeypatch, line, after):
    """Let the server die at its n-th line, before or after it is on disk."""
    write, count = Journal.write, itertools.count()

    def wrapped(self, what):
        mine = next(count)
        if mine == line and not after:
            raise Killed
        write(self, what)
        if mine == line:
            raise Killed

    monkeypatch.setattr(Journal, "write", wrapped)


@pytest.mark.slow
@pytest.mark.parametrize("trust", ["aggregator", "shares"])
def test_a_server_killed_at_any_line_goes_on_and_nobody_pays_twice(tmp_path, monkeypatch, trust):
    X, y = rows()
    make = lambda ledger: ebm(random_state=1, ledger=ledger)  # noqa: E731
    total = 9
    for line, after in itertools.product(range(total), (False, True)):
        folder = tmp_path / f"{line} {after}"
        folder.mkdir()
        server = Ledger(Budget(3.0, 1e-6))
        agents = Federation.local(split(X, y), SCHEMA).agents
        given = {"journal": folder / "journal", "trust": trust}
        with monkeypatch.context() as patch:
            killed_at(patch, line, after)
            with pytest.raises(Killed):
                make(server).fit_federated(Federation.local(agents, SCHEMA, **given))
        before = {
            str(one["look"]): one["values"]
            for one in Journal(folder / "journal").lines
            if one["line"] == "release"
        }
        model = make(server).fit_federated(Federation.local(agents, SCHEMA, **given))
        lines = [one for one in Journal(folder / "journal").lines if one["line"] == "release"]
        # A vector that was on disk is used as it is, and no access has two.
        assert len({str(one["look"]) for one in lines}) == len(lines)
        for one in lines:
            if str(one["look"]) in before:
                np.testing.assert_array_equal(one["values"], before[str(one["look"])])
        # Line 1 is the payment: killed between ledger and journal, it is counted twice, not less.
        unsure = 2 if line == 1 and not after else 1
        assert len(server.history()) == unsure
        # Line 0 is the start of a job; one that was never written down is another job.
        for one in agents.values():
            assert len(one.ledger.history()) == 1
            (receipt,) = one.receipts(1e-6)
            assert all(access.openings <= access.event.count for access in receipt.lines)
        assert model.receipt_.has_guarantee


def test_a_job_goes_on_after_server_and_clients_died_together(tmp_path, monkeypatch):
    X, y = rows()
    parts = split(X, y)

    def start():
        agents = {
            f"c{k}": ClientAgent(
                protect(*part, schema=SCHEMA),
                Ledger(tmp_path / f"{k}.db", Budget(2.0, 1e-6)),
                name=f"c{k}",
                memory=tmp_path / f"{k}.json",
            )
            for k, part in enumerate(parts)
        }
        return Federation.local(agents, SCHEMA, journal=tmp_path / "journal")

    server = Ledger(tmp_path / "server.db", Budget(2.0, 1e-6))
    with monkeypatch.context() as patch:
        killed_at(patch, 4, False)
        with pytest.raises(Killed):
            ebm(random_state=1, ledger=server).fit_federated(start())
    ebm(random_state=1, ledger=server).fit_federated(start())


def test_a_stopped_job_goes_on_with_the_same_federation(tmp_path):
    X, y = rows()
    server = Ledger(Budget(4, 1e-5))
    federation = Federation.local(split(X, y), SCHEMA, journal=tmp_path / "journal")
    federation._channel = Away(federation._channel, "client 1", 7, 9)
    with pytest.raises(FederationError, match="go on from the journal"):
        ebm(random_state=1, ledger=server).fit_federated(federation)
    ebm(random_state=1, ledger=server).fit_federated(federation)
    assert len(server.history()) == 1


def test_two_servers_with_one_journal(tmp_path):
    X, y = rows()
    agents = Federation.local(split(X, y), SCHEMA).agents
    server, plan, released = Ledger(Budget(4, 1e-5)), Plan.of(c=Gaussian(1, 5.0)), set()
    try:
        jobs = []
        for _ in range(2):
            table = (
                Federation.local(agents, SCHEMA, journal=tmp_path / "journal").join(server).table
            )
            jobs.append((table, server.pay(plan, table, "count")))
        for table, grant in jobs:
            released.add(float(gaussian_sum(table, RowCount(), grant.take("c")).values[0]))
    except VoileError:
        pass
    assert len(released) <= len(server.history())


@pytest.mark.parametrize("make", [LVQ1Classifier, GLVQClassifier, GMLVQClassifier])
@broken("a resumed job asks for a new reservation of what it has paid: the budget is used up")
def test_adaptive_jobs_go_on_from_the_journal(tmp_path, make):
    X, y = rows()
    agents = Federation.local(split(X, y), SCHEMA).agents
    server, given = Ledger(Budget(1.0, 1e-6)), {"journal": tmp_path / "journal"}
    first = make(epsilon=1.0, random_state=3, ledger=server)
    first.fit_federated(Federation.local(agents, SCHEMA, **given))
    again = make(epsilon=1.0, random_state=3, ledger=server)
    again.fit_federated(Federation.local(agents, SCHEMA, **given))
    np.testing.assert_array_equal(first.prototypes_, again.prototypes_)


def test_a_full_disk_does_not_damage_the_journal(tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.write({"line": "start", "values": np.arange(10)})
    room, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, hard))
    try:
        with pytest.raises(FederationError, match="cannot be written"):
            journal.write({"line": "release", "values": np.arange(500)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    journal.write({"line": "end"})
    journal.close()
    assert [one["line"] for one in Journal(path).lines] == ["start", "end"]


def test_a_line_that_is_not_on_disk_is_not_released(tmp_path, monkeypatch):
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, journal=tmp_path / "journal")
    server = Ledger(Budget(9, 1e-6))
    job = federation.join(server)
    table = job.table
    grant = server.pay(Plan.of(c=EVENT), table, "count")

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("voile.privacy.clients.journal.os.fsync", full)
        with pytest.raises(FederationError, match="cannot be written"):
            gaussian_sum(table, RowCount(), grant.take("c"))
    job.session.journal.close()
    assert [one["line"] for one in Journal(tmp_path / "journal").lines] == ["start", "paid"]


# -- accounting ------------------------------------------------------------------------------------


def independent_epsilon(receipts, delta):
    """Privacy loss distributions of dp-accounting, from nothing but the events on paper."""
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    for line in (line for receipt in receipts for line in receipt.lines):
        event = line.event
        one = dp_accounting.GaussianDpEvent(event.noise_multiplier)
        if isinstance(event, PoissonGaussian):
            one = dp_accounting.PoissonSampledDpEvent(event.rate, one)
        else:
            assert isinstance(event, Gaussian)
        accountant.compose(one, event.count)
    return accountant.get_epsilon(delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda **given: EBMClassifier(**given),
        lambda **given: LocallyLinearClassifier(steps=3, random_state=1, **given),
        lambda **given: GMLVQClassifier(random_state=1, **given),
    ],
    ids=["ebm", "maps", "gmlvq"],
)
def test_receipts_agree_with_an_independent_accountant(make):
    X, y = rows()
    ledgers = {f"client {k}": Ledger(Budget(3, 1e-5)) for k in range(4)}
    federation = Federation.local(split(X, y), SCHEMA, ledgers=ledgers, trust="nobody")
    model = make(epsilon=1.0, delta=1e-6).fit_federated(federation)
    receipt = model.receipt_
    assert receipt.epsilon <= 1.0 + 1e-9
    assert receipt.epsilon == pytest.approx(independent_epsilon([receipt], 1e-6), rel=0.01)
    for one in federation.agents.values():
        own = independent_epsilon(one.receipts(1e-6), 1e-6)
        assert own == pytest.approx(receipt.epsilon, rel=0.01)


@pytest.mark.parametrize("make", [LVQ1Classifier, GMLVQClassifier])
@broken(
    "clients pay the parts of an adaptive job one by one, which costs them more than the server"
)
def test_a_client_whose_budget_is_that_of_the_job_can_take_part(make):
    X, y = rows()
    ledgers = {f"client {k}": Ledger(Budget(1.0, 1e-6)) for k in range(4)}
    federation = Federation.local(split(X, y), SCHEMA, ledgers=ledgers)
    model = make(epsilon=1.0, delta=1e-6, random_state=1, ledger=Ledger(Budget(1.0, 1e-6)))
    model.fit_federated(federation)


@given(
    spent=st.lists(st.floats(0.5, 50), max_size=3),
    multiplier=st.floats(0.2, 50),
    count=st.integers(1, 30),
)
@settings(max_examples=40, deadline=None)
def test_what_is_affordable_can_be_spent(spent, multiplier, count):
    ledger = Ledger(Budget(2.0, 1e-6))
    for one in spent:
        try:
            ledger.spend(Plan.of(a=Gaussian(1, one)), "before")
        except BudgetExceeded:
            continue
    plan = Plan.of(a=Gaussian(count, multiplier))
    before = len(ledger.history())
    try:
        ledger.check_can_pay(plan, "asked")
        affordable = True
    except BudgetExceeded:
        affordable = False
    assert len(ledger.history()) == before
    if affordable:
        ledger.spend(plan, "asked")
    else:
        with pytest.raises(BudgetExceeded):
            ledger.spend(plan, "asked")


def test_jobs_at_once_do_not_spend_more_than_there_is():
    ledger = Ledger(Budget(1.0, 1e-6))
    one = agent(ledger=ledger)
    event = Gaussian(1, 8.0)
    answers = []

    def run(k):
        server = Server(one, job=f"job {k}")
        server.open()
        if isinstance(server.pay(Plan.of(a=event)), Paid):
            answers.append(server.ask(RowCount(), event=event))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(answers) < 8
    assert len(ledger.history()) == len(answers)
    assert all(isinstance(reply, SumAnswer) for reply in answers)
    assert ledger.spent().epsilon <= 1.0


def test_two_jobs_of_one_federation_do_not_mix():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="shares")
    tables = []
    for _ in range(2):
        ledger = Ledger(Budget(9, 1e-5))
        table = federation.join(ledger).table
        tables.append((table, ledger.pay(Plan.of(c=Gaussian(4, 2.0)), table, "count")))
    found = [
        [gaussian_sum(table, RowCount(), grant.take("c")).values[0] for table, grant in tables]
        for _ in range(4)
    ]
    assert len({value for pair in found for value in pair}) == 8
    assert all(abs(value - 200) < 40 for pair in found for value in pair)
    for one in federation.agents.values():
        assert [line.openings for r in one.receipts() for line in r.lines] == [4, 4]


def test_units_of_several_rows_and_places_multiply_the_noise():
    schema = Schema({"x": Number(-1, 1)}, target=Category([0, 1]), unit=Unit("who", rows=2))
    who = np.repeat(np.arange(10), 3)
    frame = {"x": np.zeros(30), "who": who}
    y = np.zeros(30, dtype=int)
    for places in (1, 2):
        parts = [(frame, y), (frame, y)]
        federation = Federation.local(parts, schema, clients_per_unit=places, trust="nobody")
        ledger = Ledger(Budget(math.inf, 1e-6))
        table = federation.join(ledger).table
        grant = ledger.pay(Plan.of(c=Gaussian(1, 3.0)), table, "count")
        release = gaussian_sum(table, RowCount(), grant.take("c"))
        assert release.standard_error == pytest.approx(3.0 * 2 * places * math.sqrt(2))
        # No more than two rows of a person are used: 20 of 30 at each client.
        assert abs(release.values[0] - 40) < 8 * release.standard_error


# -- the wire --------------------------------------------------------------------------------------


def _seen_instances():
    """Everything that travels in small jobs of all kinds, by class."""
    X, y = rows(80)
    seen, bodies = {}, []
    pictures = Schema({f"p{i}": Number(0, 255) for i in range(16)}, target=Category([0, 1]))
    pixels = np.random.default_rng(0).integers(0, 256, (80, 16)).astype(float)
    open_ended = Schema({"x": Number(), "w": Category()}, target=Category())
    frame = {"x": X[:, 0], "w": np.where(X[:, 1] > 0, "a", "b")}
    maps = {"epsilon": math.inf, "random_state": 1, "steps": 2}
    jobs = [
        (EBMClassifier(epsilon=1.0, rounds=2), X, SCHEMA, "shares"),
        (EBMClassifier(epsilon=1.0, method="cyclic", rounds=1), X, SCHEMA, "nobody"),
        (EBMClassifier(epsilon=9.0, rounds=2), frame, open_ended, "aggregator"),
        (GLVQClassifier(epsilon=1.0, random_state=3), X, SCHEMA, "aggregator"),
        (GMLVQClassifier(epsilon=1.0, random_state=3), X, SCHEMA, "nobody"),
        (LocallyLinearClassifier(projection=3, **maps), X, SCHEMA, "aggregator"),
        (LocallyLinearClassifier(image_shape=(4, 4), **maps), pixels, pictures, "aggregator"),
    ]

    def walk(value):
        seen.setdefault(type(value).__name__, value)
        if dataclasses.is_dataclass(value):
            for one in dataclasses.fields(value):
                walk(getattr(value, one.name))
        elif isinstance(value, (tuple, list)):
            for one in value:
                walk(one)
        elif isinstance(value, dict):
            for one in value.values():
                walk(one)

    for model, values, schema, trust in jobs:
        federation = Federation.local([(values, y), (values, y), (values, y)], schema, trust=trust)
        inner, reader = federation._channel.ask, Unpacker()

        def listen(messages, inner=inner, reader=reader):
            for message in messages.values():
                outer = reader.unpack(message)
                reader.hold(outer["parts"])
                bodies.append(outer["body"])
                walk(reader.unpack(outer["body"]))
            replies = inner(messages)
            for reply in replies.values():
                walk(Unpacker().unpack(reply))
            return replies

        federation._channel.ask = listen
        model.fit_federated(federation)
    space, labels = Space(SCHEMA, np.zeros(4), 1.0), np.array([0, 1])
    for one in (
        Together((RowCount(), NumberCounts("x0", (0.0, math.inf)))),
        CategoryCounts("x0", 3),
        PairCounts(layout(), np.zeros(4, dtype=np.int64)),
        ClusterSums(space, np.zeros((2, 4)), labels),
        Lengths(space, np.eye(4), 2.0),
        MarginCosts(space, np.zeros((2, 4)), labels, 3.0),
        Pulls(space, np.zeros((2, 4)), labels, "lvq1", 1.0, 0.5, lot=(0, 3)),
        MetricPulls(space, np.zeros((2, 4)), labels, 1.0, 0.5, np.eye(4)),
        PixelRanges(("x0", "x1")),
        Directions(Inputs.uncentred(SCHEMA, None, None, root=False, normalise=True)),
        ResidualSizes(
            layout(link="identity", schema=SCHEMA.with_target(Number(0, 1))),
            np.zeros((4, 1)),
            np.zeros(1),
        ),
        MissSizes(
            dataclasses.replace(
                layout(link="identity", schema=SCHEMA.with_target(Number(0, 1))),
                aim=Aim("quantile", 0.9),
            ),
            np.zeros((4, 1)),
            np.zeros(1),
        ),
        GridCounts(
            layout(), (PairCells(0, 1, np.zeros(1, np.int64), np.zeros(1, np.int64), 2, 1),)
        ),
        RefusalMessage("no"),
        Lacking(("a", "b"), True),
        Work("job", AccessId(0, "a", 0), SCHEMA, (), RowCount(), 0.5),
    ):
        walk(one)
    return seen, bodies


@pytest.fixture(scope="module")
def travelled():
    return _seen_instances()


ELSEWHERE = {"LocalTraining", "ClientUpdate", "PublishedUpload", "NetworkSteps", "Brightness"}
ELSEWHERE |= {"Standard", "KeptImages"}
"""What networks ask, which needs torch; tests of its own send it."""


def test_everything_that_is_declared_sendable_travels_and_comes_back(travelled):
    seen, _ = travelled
    own = {
        name
        for name, cls in wire._CLASSES.items()
        if cls.__module__.startswith("voile.") and name not in ELSEWHERE
    }
    assert own <= set(seen), own - set(seen)
    for name in own:
        value = seen[name]
        packer, reader = Packer(), Unpacker()
        packed = packer.pack(value)
        reader.hold(packed.parts)
        back = reader.unpack(packed.body)
        assert type(back) is type(value)
        again = Packer().pack(back)
        assert again.body == packed.body
        assert dict(again.parts) == dict(packed.parts)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(plain)
@settings(max_examples=150, deadline=None)
def test_plain_values_come_back_as_they_were(value):
    body = Packer().pack(value).body
    back = Unpacker().unpack(body)
    assert Packer().pack(back).body == body
    assert repr(back) == repr(value)


def test_broken_messages_raise_nothing_but_voile_errors(travelled):
    _, bodies = travelled
    r = np.random.default_rng(0)
    for body in [bodies[k] for k in r.integers(len(bodies), size=60)]:
        for _ in range(15):
            bad = bytearray(body)
            kind = r.integers(3)
            if kind == 0:
                bad = bad[: r.integers(len(bad))]
            elif kind == 1:
                bad[r.integers(min(len(bad), 400))] ^= 1 << int(r.integers(8))
            else:
                bad[r.integers(len(bad))] = int(r.integers(256))
            try:
                Unpacker().unpack(bytes(bad))
            except VoileError:
                continue


def _message(head, data=b""):
    text = json.dumps(head).encode()
    return len(text).to_bytes(4, "little") + text + data


BOMBS = {
    "giant": _message({"$a": ["<f8", [2**40], 0, 2**43]}),
    "giant but empty": _message({"$a": ["<f8", [2**62, 2**62, 0], 0, 0]}),
    "negative": _message({"$a": ["<f8", [-1, -8], 0, 64]}, bytes(64)),
    "negative start": _message({"$a": ["<f8", [1], -8, 8]}, bytes(64)),
    "floats as sizes": _message({"$a": ["<f8", [1.0], 0, 8.0]}, bytes(8)),
    "objects": _message({"$a": ["|O", [1], 0, 8]}, bytes(8)),
    "text": _message({"$a": ["<U2000000000", [0], 0, 0]}),
    "subarray": _message({"$a": ["(1000000,1000000)f8", [0], 0, 0]}),
    "records": _message({"$a": ["f8,O", [0], 0, 0]}),
    "bytes": _message({"$b": [[2**40], 0, 2**40]}),
    "digits": (20_000).to_bytes(4, "little") + b"9" * 20_000,
    "nested": (200_000).to_bytes(4, "little") + b"[" * 200_000,
    "deep objects": _message(json.loads('{"$t":[' * 40 + "1" + "]}" * 40)),
    "length": (2**32 - 1).to_bytes(4, "little"),
    "class is a list": _message({"$c": [1], "$d": {}}),
    "fields are a list": _message({"$c": "AccessId", "$d": [1, 2]}),
    "enum": _message({"$e": ["NeighbouringRelation", "other"]}),
    "plan": _message({"$plan": 7}),
    "event": _message({"$event": {"kind": "gaussian", "count": 1e400}}),
    "part is a list": _message({"$p": [1]}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_in_little_memory(bomb):
    tracemalloc.start()
    try:
        with pytest.raises(VoileError):
            Unpacker().unpack(BOMBS[bomb])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000_000


ENVELOPES = {
    "a lasting number": {hashlib.sha256(Packer().pack(5).body).hexdigest(): Packer().pack(5).body},
    "a number": 7,
    "nothing": None,
    "a list": [b"a"],
    "a part that is no text": {"y": 5},
}


@pytest.mark.parametrize("parts", ENVELOPES)
def test_broken_envelopes_raise_nothing_but_voile_errors(parts):
    message = Packer().pack({"parts": ENVELOPES[parts], "body": Packer().pack(5).body}).body
    with pytest.raises(VoileError):
        open_envelope(Unpacker(), message)


def test_two_classes_of_one_name_are_told_apart():
    with pytest.raises(TypeError, match="RowCount"):
        sendable(dataclasses.make_dataclass("RowCount", ["a"], frozen=True))
    assert wire._CLASSES["RowCount"] is RowCount


def test_what_is_declared_for_a_while_is_unknown_before_and_after():
    one = dataclasses.make_dataclass("ForAWhile", [("a", int)], frozen=True)
    with wire.declared(one, RowCount):
        body = Packer().pack(one(5)).body
        assert Unpacker().unpack(body) == one(5)
    assert "ForAWhile" not in wire._CLASSES
    assert wire._CLASSES["RowCount"] is RowCount
    with pytest.raises(VoileError):
        Unpacker().unpack(body)
    other = dataclasses.make_dataclass("RowCount", ["a"], frozen=True)
    with pytest.raises(TypeError), wire.declared(one, other):
        pass
    assert "ForAWhile" not in wire._CLASSES
