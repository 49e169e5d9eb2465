"""What clients, servers and their files do with messages, plans and numbers that are none."""

import base64
import dataclasses
import hashlib
import json
import math
import struct
from enum import StrEnum

import numpy as np
import pytest
from test_enemy import EVENT, PLAN, SCHEMA, Server, agent, paid, rows, split

from voile import Budget, Ledger, Number, Schema
from voile.errors import (
    DataError,
    FederationError,
    LedgerUnavailable,
    PlanError,
    SettingError,
    VaultError,
)
from voile.federated.federation import Federation
from voile.privacy.clients.agent_job import CLIENT
from voile.privacy.clients.channel import LocalChannel, Silence
from voile.privacy.clients.journal import Journal
from voile.privacy.clients.questions import (
    AccessId,
    Joined,
    Lacking,
    RefusalMessage,
    SumAnswer,
    Work,
)
from voile.privacy.clients.sampling import SampledClients, unprotected_client_sum
from voile.privacy.clients.terms import Terms
from voile.privacy.clients.updates import ClientWork, client_sum, noise_of_a_published_algorithm
from voile.privacy.events import Gaussian, Laplace, Plan, PoissonGaussian, Unprotected
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.mechanisms.aggregate import deal_rows
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import NumberCounts, Preparation, RowCount
from voile.privacy.vault import open_rows, protect
from voile.privacy.wire import MissingParts, Packer, Unpacker, sendable

ENDLESS = Budget(math.inf)
FRAME = struct.Struct("<Q8s")


@sendable
@dataclasses.dataclass(frozen=True)
class NoQuestion:
    job: str


@sendable
@dataclasses.dataclass(frozen=True)
class OddCount(RowCount):
    """A count that fails where a number is large."""

    columns: tuple[str, ...] = ("x0",)

    def total(self, block, grid):
        if (block["x0"] > 3.5).any():
            raise ValueError("row 3 is anna's")
        return super().total(block, grid)


@sendable
@dataclasses.dataclass(frozen=True)
class OddPreparation(Preparation):
    columns: tuple[str, ...] = ("x0",)

    def prepare(self, block):
        block.kept["halves"] = block["x0"] / 2
        if (block["x0"] > 3.5).any():
            raise ValueError("row 3 is anna's")

    def fits(self, prepared, schema):
        return True


@sendable
@dataclasses.dataclass(frozen=True)
class Halves(NumberCounts):
    """Reads what was kept; a count of halves above 0."""

    def cells(self, block):
        return [(block.kept["halves"] > 0).astype(np.int64)]


@sendable
@dataclasses.dataclass(frozen=True)
class Ones(ClientWork):
    columns: tuple[str, ...] = ("x0",)
    size: int = 2
    bound: float = 1.0

    def run(self, blocks):
        return np.array([0.5, 0.5])


# -- a agent ---------------------------------------------------------------------------------------


def test_an_agent_knows_its_job_its_name_and_its_questions():
    one = agent()
    assert repr(one) == "<ClientAgent 'a': rows private>"
    server = Server(one)
    assert server.pay() == Lacking(job_unknown=True)
    said = server.open(terms=Terms("nobody", ("z",)))
    assert isinstance(said, RefusalMessage)
    assert "not among the job's" in said.reason
    assert isinstance(server.open(), Joined)
    assert "no question" in server.say(NoQuestion("job")).reason
    assert one.ledger.history() == ()


def test_a_plan_of_countless_accesses_is_not_paid():
    server = Server(agent(ledger=Ledger(Budget(math.inf, 1e-5))))
    server.open()
    assert "accesses at most" in server.pay(Plan.of(a=Gaussian(2**52, 5.0))).reason


def test_a_payment_is_made_once():
    ledger = Ledger(Budget(50, 1e-5))
    server = Server(agent(ledger=ledger))
    server.open()
    first = server.pay()
    assert server.pay() == first
    server = Server(agent(ledger=ledger))
    server.open()
    assert server.pay() == first
    assert len(ledger.history()) == 1


def test_a_client_that_lost_its_ledger_does_not_go_on_with_the_job():
    server = Server(agent())
    head = server.open().head
    assert head == ""
    head = server.pay().head
    server = Server(agent())  # another ledger
    said = server.open(heads={"a": head})
    assert isinstance(said, RefusalMessage)
    assert "older copy" in said.reason
    assert isinstance(
        server.open(), Joined
    )  # a server that says nothing is not told from a new one


FAILING = {
    "query": (OddCount(), ()),
    "preparation": (Halves("x0", (0.0,)), (OddPreparation(), OddPreparation())),
}


@pytest.mark.parametrize("trust", ["nobody", "aggregator"])
@pytest.mark.parametrize("where", FAILING)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 64])
def test_a_row_that_fails_counts_as_nothing_and_the_others_as_ever(where, trust, count):
    X, y = rows(count + 1)
    X[:, 0] = np.linspace(-3, 3, count + 1)
    bad = X.copy()
    bad[count // 3, 0] = 3.9
    query, prepared = FAILING[where]
    without = np.delete(bad, count // 3, axis=0), np.delete(y, count // 3)
    found = []
    for table in ((bad, y), without):
        with fixed_noise(3):
            said = paid(agent(*table), trust=trust).ask(query, prepared=prepared)
        assert isinstance(said, SumAnswer)
        found.append(said.values)
    np.testing.assert_array_equal(*found)


def test_a_table_that_fails_as_a_whole_is_answered_like_an_empty_one():
    X, y = rows(5)
    X[:] = 3.9
    query, prepared = FAILING["preparation"]
    found = []
    for some in (X, X[:0]):
        with fixed_noise(3):
            found.append(paid(agent(some, y[: len(some)])).ask(query, prepared=prepared).values)
    np.testing.assert_array_equal(*found)


def worked(trust):
    one = agent(ledger=Ledger(Budget(math.inf, 1e-5)))
    server = Server(one, trust)
    server.open()
    server.pay(unit=CLIENT)
    access = AccessId(0, "a", 0)
    return server, lambda work: server.say(Work("job", access, SCHEMA, (), work, 2.0**-20))


def test_updates_of_whole_clients_are_made_once_and_for_the_trusted_alone():
    server, ask = worked("aggregator")
    assert "no work" in ask(RowCount()).reason
    first = ask(Ones())
    np.testing.assert_array_equal(first.values, ask(Ones()).values)
    assert server.agent.receipts()[0].lines[0].openings == 1
    _, ask = worked("nobody")
    assert "trusted aggregator" in ask(Ones()).reason


def test_an_envelope_holds_bytes_alone():
    one, packer = agent(), Packer()
    for outer in (5, {"parts": {}}, {"parts": {"x": 5}, "body": b""}, {"parts": 5, "body": b""}):
        said = Unpacker().unpack(one.answer(packer.pack(outer).body))
        assert isinstance(said, RefusalMessage)


# -- the server ------------------------------------------------------------------------------------


def test_a_client_that_raises_is_silent_and_its_words_stay_with_it():
    def fail(message):
        raise ValueError("anna has 3 rows")

    said = LocalChannel({"a": fail}).ask({"a": b""})
    assert said == {"a": Silence("the client failed with ValueError")}


def joined():
    X, y = rows()
    ledger = Ledger(Budget(50, 1e-5))
    return Federation.local(split(X, y), SCHEMA).join(ledger).table, ledger


def test_a_job_over_clients_has_one_relation():
    table, _ = joined()
    with pytest.raises(FederationError, match="one relation"):
        Ledger(Budget(50, 1e-5), relation="replace_one").pay(PLAN, table, "job")


def test_rows_of_clients_are_summed_with_a_ticket_and_never_gathered():
    table, ledger = joined()
    grant = ledger.pay(PLAN, table, "job")
    source = open_rows(table, grant.take("a"))
    with pytest.raises(VaultError, match="cannot be gathered"):
        source.blocks(["x0"])
    with pytest.raises(VaultError, match="in one place"):
        deal_rows(source, ["x0"], 3)
    with pytest.raises(SettingError, match="sendable object"):
        source.keep(["x0"], lambda block: None)
    source._at = None
    with pytest.raises(PlanError, match="ticket alone"):
        source.total(RowCount(), 1.0)


def test_a_journal_of_another_job_is_not_gone_on_with(tmp_path):
    X, y = rows()

    def count(query):
        federation = Federation.local(split(X, y), SCHEMA, journal=tmp_path / "journal")
        ledger = Ledger(tmp_path / "l.db", Budget(50, 1e-5))
        table = federation.join(ledger).table
        return gaussian_sum(table, query, ledger.pay(PLAN, table, "job").take("a"))

    released = count(RowCount())
    np.testing.assert_array_equal(count(RowCount()).values, released.values)
    with pytest.raises(FederationError, match="asked something else"):
        count(NumberCounts("x0", (0.0,)))


@pytest.mark.parametrize("names", [("a", ""), ("a", "\n"), ("a", 5)])
def test_names_of_clients_are_printable(names):
    with pytest.raises(SettingError, match="printable"):
        Terms("nobody", names)


# -- files -----------------------------------------------------------------------------------------


def test_a_journal_that_is_none_is_refused(tmp_path):
    with pytest.raises(FederationError, match="cannot be opened"):
        Journal(tmp_path)
    body = b"no message"
    path = tmp_path / "journal"
    path.write_bytes(FRAME.pack(len(body), hashlib.sha256(body).digest()[:8]) + body)
    with pytest.raises(FederationError, match="cannot be read"):
        Journal(path)


@pytest.mark.parametrize("values", [5, "?", base64.b64encode(b"12345").decode()])
def test_a_memory_whose_last_answer_is_damaged_is_refused(tmp_path, values):
    path = tmp_path / "memory.json"
    server = Server(agent(memory=path))
    server.open()
    server.pay()
    server.ask(RowCount())
    text = json.loads(path.read_text())
    (kept,) = text["answers"].values()
    kept["values"] = values
    path.write_text(json.dumps(text))
    with pytest.raises(LedgerUnavailable, match="values"):
        agent(memory=path)


# -- looks at whole clients ------------------------------------------------------------------------


def one_table(event, budget=ENDLESS):
    table = protect({"x0": [1.0]}, schema=Schema({"x0": Number(0, 1)}))
    return table, Ledger(budget).pay(Plan.of(q=event), table, "job").take("q")


def test_updates_are_noised_as_they_were_paid():
    table, ticket = one_table(Laplace(1, 5.0))
    with pytest.raises(PlanError, match="updates need Gaussian"):
        client_sum(table, Ones(), ticket)
    table, ticket = one_table(Gaussian(1, 5.0), Budget(10, 1e-6))
    with pytest.raises(PlanError, match="use client_sum"):
        unprotected_client_sum(table, Ones(), ticket, 1.0)
    table, ticket = one_table(PoissonGaussian(1, 5.0, 0.5), Budget(10, 1e-6))
    assert client_sum(table, Ones(), ticket).standard_error == 5.0
    table, ticket = one_table(Unprotected())
    left_out = unprotected_client_sum(table, Ones(), ticket, 0.0)
    np.testing.assert_array_equal(left_out.values, [0.0, 0.0])
    np.testing.assert_array_equal(noise_of_a_published_algorithm(3, 0.0), np.zeros(3))


@pytest.mark.slow
def test_sampled_clients_at_the_ends_of_the_scale():
    assert SampledClients(1.0, 1, 1e-12, 0.5).epsilon(1e-5) == 0.0  # hardly ever chosen
    assert SampledClients(0.02, 5, 1.0, 1.0).epsilon(1e-5) == math.inf


# -- the wire --------------------------------------------------------------------------------------


class Foreign(StrEnum):
    A = "a"


def test_what_travels_and_what_does_not():
    packer = Packer()
    for value in (np.float64(0.5), np.int32(3), np.bool_(True), EVENT, PLAN):
        again = Unpacker().unpack(packer.pack(value).body)
        assert again == value
    with pytest.raises(DataError, match="Foreign cannot be sent"):
        packer.pack(Foreign.A)


def test_parts_are_what_their_digests_say_and_the_oldest_are_let_go_of():
    packer, schemas = Packer(), [Schema({f"a{i}": Number(0, 1)}) for i in range(3)]
    packed = [packer.pack(schema) for schema in schemas]
    parts = [dict(one.parts) for one in packed]
    (digest,) = parts[0]
    with pytest.raises(DataError, match="not what its digest says"):
        Unpacker().hold({digest: b"another"})
    small = Unpacker(most=1)
    for one in parts:
        small.hold(one)
    assert small.unpack(packed[-1].body) == schemas[-1]
    with pytest.raises(MissingParts, match="send them again"):
        small.unpack(packed[0].body)
