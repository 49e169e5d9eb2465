"""A federation of clients trains the model of the pooled rows, and survives what clients do."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from voile import (
    Budget,
    Category,
    EBMClassifier,
    EBMRegressor,
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
from voile.errors import (
    BudgetExceeded,
    FederationError,
    LedgerUnavailable,
    PlanError,
    SchemaError,
    SettingError,
    VaultError,
    VoileError,
)
from voile.federated.federation import Federation
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.channel import LocalChannel, Silence
from voile.privacy.clients.masks import Masker, Roster
from voile.privacy.clients.questions import SumAnswer
from voile.privacy.events import Gaussian, Plan
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import RowCount
from voile.privacy.wire import Packer, Unpacker

SCHEMA = Schema({f"x{i}": Number(-4, 4) for i in range(4)}, target=Category([0, 1]))
CUTS = (0, 30, 400, 430, 1500)


def rows(count=1500, seed=0):
    r = np.random.default_rng(seed)
    X = r.normal(size=(count, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 + r.normal(size=count) > 0.4).astype(int)


def split(X, y, cuts=CUTS):
    return [(X[a:b], y[a:b]) for a, b in itertools.pairwise(cuts)]


def ebm(**settings):
    return EBMClassifier(epsilon=1.0, rounds=4, **settings)


def chances(model, X):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.predict(X) if not hasattr(model, "prototypes_") else model.prototypes_


# -- the same model --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: EBMClassifier(epsilon=1.0),
        lambda: EBMClassifier(epsilon=1.0, method="cyclic", rounds=5, random_state=3),
        lambda: LVQ1Classifier(epsilon=1.0, random_state=3),
        lambda: GLVQClassifier(epsilon=1.0, random_state=3),
        lambda: GMLVQClassifier(epsilon=1.0, random_state=3),
    ],
    ids=["ebm", "cyclic", "lvq1", "glvq", "gmlvq"],
)
def test_federated_and_pooled_fits_are_equal(make):
    X, y = rows()
    with fixed_noise(5):
        pooled = make().set_params(schema=SCHEMA).fit(X, y)
    with fixed_noise(5):
        federated = make().fit_federated(Federation.local(split(X, y), SCHEMA))
    np.testing.assert_allclose(chances(federated, X), chances(pooled, X), atol=1e-9, rtol=0)
    assert federated.receipt_.epsilon == pooled.receipt_.epsilon


def test_regression_too():
    X, _ = rows()
    schema = Schema(dict(SCHEMA), target=Number(-8, 8))
    target = X[:, 0] - X[:, 1]
    with fixed_noise(5):
        pooled = EBMRegressor(epsilon=1.0, schema=schema).fit(X, target)
    with fixed_noise(5):
        parts = split(X, target)
        federated = EBMRegressor(epsilon=1.0).fit_federated(Federation.local(parts, schema))
    np.testing.assert_allclose(federated.predict(X), pooled.predict(X), atol=1e-9, rtol=0)


@pytest.mark.slow
def test_sampled_steps_of_maps_are_equal_where_the_coins_are():
    """Coins are drawn block by block; clients that hold one block each draw the same ones."""
    pixels = 784
    step = 4_194_304 // pixels
    r = np.random.default_rng(0)
    X = r.integers(0, 256, size=(step + 300, pixels)).astype(np.uint8)
    y = (X[:, 300] > 127).astype(int)
    schema = Schema({f"p{i}": Number(0, 255) for i in range(pixels)}, target=Category([0, 1]))
    settings = {"epsilon": 2.0, "image_shape": (28, 28), "random_state": 1, "steps": 6}
    with fixed_noise(5):
        pooled = LocallyLinearClassifier(schema=schema, **settings).fit(X, y)
    with fixed_noise(5):
        federation = Federation.local(split(X, y, (0, step, step + 300)), schema)
        federated = LocallyLinearClassifier(**settings).fit_federated(federation)
    np.testing.assert_allclose(federated.linear_maps_, pooled.linear_maps_, atol=1e-9, rtol=0)


def test_projected_maps_travel():
    X, y = rows(600)
    settings = {"epsilon": 3.0, "projection": 3, "random_state": 1, "steps": 5}
    model = LocallyLinearClassifier(**settings).fit_federated(
        Federation.local(split(X, y, (0, 200, 600)), SCHEMA)
    )
    assert model.predict(X).shape == (600,)


def test_what_the_schema_lacks_is_found_by_sums_over_clients():
    X, y = rows()
    frame = {"x": X[:, 0], "ward": np.where(X[:, 1] > 0, "a", "b")}
    schema = Schema({"x": Number(), "ward": Category()}, target=Category())
    parts = [
        ({name: v[a:b] for name, v in frame.items()}, y[a:b]) for a, b in itertools.pairwise(CUTS)
    ]
    with fixed_noise(5):
        pooled = EBMClassifier(epsilon=3.0, schema=schema).fit(frame, y)
    with fixed_noise(5):
        federated = EBMClassifier(epsilon=3.0).fit_federated(Federation.local(parts, schema))
    assert federated.model_.schema == pooled.model_.schema
    np.testing.assert_allclose(
        federated.predict_proba(frame), pooled.predict_proba(frame), atol=1e-9, rtol=0
    )


def test_without_noise_there_is_no_guarantee():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA)
    model = EBMClassifier(epsilon=math.inf).fit_federated(federation)
    assert not model.receipt_.has_guarantee
    assert "no guarantee" in str(federation.agents["client 0"].receipts()[0])


def test_weights_travel():
    X, y = rows()
    schema = SCHEMA
    weights = np.random.default_rng(1).uniform(0, 3, len(y))
    agents = {}
    for k, (a, b) in enumerate(itertools.pairwise(CUTS)):
        table = protect(X[a:b], y[a:b], schema=schema, weights=weights[a:b], largest_weight=2.0)
        agents[f"c{k}"] = ClientAgent(table, Ledger(Budget(9, 1e-5)), name=f"c{k}")
    with fixed_noise(5):
        pooled = ebm(schema=schema, largest_weight=2.0).fit(X, y, weights)
    with fixed_noise(5):
        federated = ebm().fit_federated(Federation.local(agents, schema))
    np.testing.assert_allclose(chances(federated, X), chances(pooled, X), atol=1e-9, rtol=0)
    odd = ClientAgent(protect(X, y, schema=schema), Ledger(Budget(9, 1e-5)), name="odd")
    with pytest.raises(FederationError, match="weights"):
        ebm().fit_federated(Federation.local({**agents, "odd": odd}, schema))


# -- ledgers and receipts --------------------------------------------------------------------------


def test_each_client_pays_from_its_own_ledger():
    X, y = rows()
    ledgers = {f"client {k}": Ledger(Budget(1.0, 1e-6)) for k in range(4)}
    federation = Federation.local(split(X, y), SCHEMA, ledgers=ledgers)
    model = ebm(ledger=(server := Ledger(Budget(3.0, 1e-5)))).fit_federated(federation)
    (line,) = server.history()
    for name, ledger in ledgers.items():
        (paid,) = ledger.history()
        assert paid.plan == line.plan
        (own,) = federation.agents[name].receipts(1e-6)
        assert own.epsilon == pytest.approx(model.receipt_.epsilon, abs=1e-9)
        assert {access.label: access.openings for access in own.lines} == {
            access.label: access.openings for access in model.receipt_.lines
        }


def test_a_client_without_means_stops_the_job_before_anybody_pays():
    X, y = rows()
    ledgers = {f"client {k}": Ledger(Budget(2.0 if k else 0.1, 1e-6)) for k in range(4)}
    federation = Federation.local(split(X, y), SCHEMA, ledgers=ledgers)
    server = Ledger(Budget(3.0, 1e-5))
    with pytest.raises(FederationError, match=r"client 0.*refused"):
        ebm(ledger=server).fit_federated(federation)
    assert [len(ledger.history()) for ledger in (server, *ledgers.values())] == [0] * 5


def test_a_server_without_means_leaves_the_clients_unpaid():
    X, y = rows()
    ledgers = {f"client {k}": Ledger(Budget(2.0, 1e-6)) for k in range(4)}
    with pytest.raises(BudgetExceeded):
        ebm(ledger=Ledger(Budget(0.1, 1e-5))).fit_federated(
            Federation.local(split(X, y), SCHEMA, ledgers=ledgers)
        )
    assert [len(ledger.history()) for ledger in ledgers.values()] == [0] * 4


@pytest.mark.parametrize(
    ("trust", "words"),
    [
        ("aggregator", "aggregator saw each client's exact sums and is trusted"),
        ("shares", "honest-but-curious server"),
        ("nobody", "each client added the whole noise itself"),
    ],
)
def test_the_receipt_says_who_is_protected_from_whom(trust, words):
    X, y = rows()
    model = ebm().fit_federated(Federation.local(split(X, y), SCHEMA, trust=trust))
    assert words in str(model.receipt_)
    assert "4 clients" in str(model.receipt_)
    read = type(model.receipt_).from_json(model.receipt_.to_json())
    assert read.notes == model.receipt_.notes
    assert model.receipt_.has_guarantee


def test_a_unit_at_several_clients_counts_at_each():
    X, y = rows()
    for places in (1, 3):
        federation = Federation.local(split(X, y), SCHEMA, clients_per_unit=places)
        ledger = Ledger(Budget(1, 1e-6))
        table = federation.join(ledger).table
        grant = ledger.pay(Plan.of(count=Gaussian(1, 7.0)), table, "count")
        release = gaussian_sum(table, RowCount(), grant.take("count"))
        assert release.standard_error == 7.0 * places
        assert abs(release.values[0] - len(y)) < 8 * release.standard_error
    assert "3 clients" in str(ebm().fit_federated(federation).receipt_)
    with pytest.raises(SettingError, match="one by one"):
        GLVQClassifier(epsilon=1.0, mechanism="sgd").fit_federated(
            Federation.local(split(X, y), SCHEMA, clients_per_unit=2)
        )


@pytest.mark.parametrize("places", [1, 2])
def test_the_receipt_says_at_how_many_clients_a_unit_is_believed_to_be(places):
    X, y = rows()
    schema = Schema(dict(SCHEMA), target=Category([0, 1]), unit=Unit("who", rows=2))
    frame = {f"x{i}": X[:, i] for i in range(4)} | {"who": np.arange(len(y)) // 2}
    parts = [({k: v[:700] for k, v in frame.items()}, y[:700])]
    parts.append(({k: v[700:] for k, v in frame.items()}, y[700:]))
    federation = Federation.local(parts, schema, clients_per_unit=places)
    model = ebm().fit_federated(federation)
    said = "more than one client" if places == 1 else "rows at 2 clients"
    for receipt in (model.receipt_, federation.agents["client 0"].receipts(1e-6)[0]):
        assert said in str(receipt)


def test_units_are_agreed_on():
    X, y = rows()
    schema = Schema(dict(SCHEMA), target=Category([0, 1]), unit=Unit("who", rows=2))
    with pytest.raises(FederationError, match="unit"):
        ebm().fit_federated(
            Federation(
                LocalChannel(Federation.local(split(X, y), SCHEMA)._channel._answers), schema
            )
        )


# -- trust -----------------------------------------------------------------------------------------


def test_without_trust_only_gaussian_sums_are_answered():
    X, y = rows()
    open_ended = Schema({**SCHEMA, "ward": Category()}, target=Category([0, 1]))
    frame = {f"x{i}": X[:, i] for i in range(4)} | {"ward": ["a"] * len(y)}
    for trust in ("shares", "nobody"):
        ledger = Ledger(Budget(9, 1e-5))
        with pytest.raises(PlanError, match="Gaussian sums alone"):
            ebm(ledger=ledger).fit_federated(
                Federation.local([(frame, y), (frame, y)], open_ended, trust=trust)
            )
        assert ledger.history() == ()
        with pytest.raises(PlanError):
            EBMClassifier(epsilon=math.inf).fit_federated(
                Federation.local(split(X, y), SCHEMA, trust=trust)
            )


def test_rows_cannot_be_gathered():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA)
    table = federation.join(Ledger(Budget(1, 1e-6))).table
    assert table.summed_only
    with pytest.raises(VaultError):
        len(table)
    with pytest.raises(SettingError, match="gathered"):
        GLVQClassifier(epsilon=1.0, mechanism="sample_aggregate", groups=10).fit_federated(
            federation
        )


def test_clients_choose_whom_they_trust():
    X, y = rows()
    ledger = Ledger(Budget(9, 1e-5))
    careful = ClientAgent(
        protect(X, y, schema=SCHEMA), ledger, name="b", accepts=("shares", "nobody")
    )
    parts = {"a": (X, y), "b": careful, "c": (X, y), "d": (X, y)}
    with pytest.raises(FederationError, match="accepts"):
        ebm().fit_federated(Federation.local(parts, SCHEMA))
    assert (
        ebm().fit_federated(Federation.local(parts, SCHEMA, trust="shares")).receipt_.has_guarantee
    )
    wary = ClientAgent(protect(X, y, schema=SCHEMA), ledger, name="b", colluders=2)
    parts["b"] = wary
    with pytest.raises(FederationError, match="collud"):
        ebm().fit_federated(Federation.local(parts, SCHEMA, trust="shares", colluders=1))
    with pytest.raises(SettingError):
        ClientAgent(protect(X, y, schema=SCHEMA), ledger, name="b", accepts="shares")


def test_masks_cancel_over_the_whole_roster_alone():
    names = ["a", "b", "c", "d"]
    maskers = {name: Masker(name) for name in names}
    roster = Roster(0, {name: maskers[name].public for name in names})
    values = {name: np.arange(5) * (k - 1) + 2**62 for k, name in enumerate(names)}
    hidden = {n: maskers[n].hide(values[n], roster, b"look") for n in names}
    total = sum(h.view(np.uint64) for h in hidden.values())
    expected = sum(v.view(np.uint64) for v in values.values())
    np.testing.assert_array_equal(total, expected)
    for name in names:
        assert not np.any(hidden[name] == values[name])
        again = maskers[name].hide(values[name], dataclasses.replace(roster, attempt=1), b"look")
        other = maskers[name].hide(values[name], roster, b"other")
        assert not np.any(again == hidden[name])
        assert not np.any(other == hidden[name])


def test_masked_messages_are_what_the_server_sees():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="shares")
    seen = []
    inner = federation._channel.ask

    def listen(messages):
        replies = inner(messages)
        seen.extend(Unpacker().unpack(reply) for reply in replies.values())
        return replies

    federation._channel.ask = listen
    ebm().fit_federated(federation)
    answers = [one.values for one in seen if isinstance(one, SumAnswer)]
    assert len(answers) >= 16
    # A uniform 64-bit word is below 2^56 in absolute value once in 128; sums never exceed it.
    small = np.mean(np.abs(np.concatenate(answers).astype(float)) < 2.0**56)
    assert small < 0.05


def test_agents_pin_keys():
    X, y = rows()
    keys = {name: X25519PrivateKey.generate() for name in "abc"}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    agents = {
        name: ClientAgent(
            protect(X, y, schema=SCHEMA),
            Ledger(Budget(9, 1e-5)),
            name=name,
            key=keys[name],
            known_keys=public,
        )
        for name in "abc"
    }
    good = Federation.local(agents, SCHEMA, trust="shares")
    assert ebm().fit_federated(good).receipt_.has_guarantee
    stranger = ClientAgent(protect(X, y, schema=SCHEMA), Ledger(Budget(9, 1e-5)), name="c")
    with pytest.raises(FederationError, match="agreed on beforehand"):
        ebm().fit_federated(Federation.local({**agents, "c": stranger}, SCHEMA, trust="shares"))


@pytest.mark.parametrize(
    "terms",
    [
        {"trust": "everybody"},
        {"dropouts": -1},
        {"dropouts": 4},
        {"dropouts": 1.5},
        {"dropouts": True},
        {"colluders": 9},
        {"clients_per_unit": 0},
        {"most_rows": 0},
        {"trust": "shares", "dropouts": 2, "colluders": 1},
        {"retries": -1},
    ],
)
def test_bad_terms_are_refused(terms):
    X, y = rows(40)
    with pytest.raises(SettingError):
        Federation.local(split(X, y, (0, 10, 20, 30, 40)), SCHEMA, **terms)


def test_bad_federations_are_refused():
    X, y = rows(40)
    with pytest.raises(SettingError):
        Federation.local([], SCHEMA)
    with pytest.raises(SchemaError):
        Federation.local([(X, y)], Schema(dict(SCHEMA)))
    with pytest.raises(SettingError, match="agreed"):
        ebm(schema=Schema({"z": Number(0, 1)}, target=Category([0, 1]))).fit_federated(
            Federation.local([(X, y)], SCHEMA)
        )
    with pytest.raises(SettingError, match="target"):
        EBMRegressor().fit_federated(Federation.local([(X, y)], SCHEMA))
    server = Ledger(Budget(1, 1e-6), relation="replace_one")
    with pytest.raises(FederationError, match="relation"):
        ebm(ledger=server).fit_federated(Federation.local([(X, y)], SCHEMA))


# -- faults ----------------------------------------------------------------------------------------


class Flaky:
    """A channel on which one client misbehaves, from some question on."""

    def __init__(self, inner, name, fault, start=6, stop=10**9):
        self.inner, self.name, self.fault = inner, name, fault
        self.start, self.stop, self.count = start, stop, 0

    @property
    def clients(self):
        return self.inner.clients

    def ask(self, messages):
        self.count += 1
        if not (self.start <= self.count < self.stop) or self.name not in messages:
            return self.inner.ask(messages)
        return self.fault(self.inner, self.name, messages)


def dies(inner, name, messages):
    rest = {n: m for n, m in messages.items() if n != name}
    return {**inner.ask(rest), name: Silence("connection lost")}


def says_nothing_at_all(inner, name, messages):
    return inner.ask({n: m for n, m in messages.items() if n != name})


def changed(change):
    def fault(inner, name, messages):
        replies = inner.ask(messages)
        reply = Unpacker().unpack(replies[name])
        if isinstance(reply, SumAnswer):
            replies[name] = Packer().pack(change(reply)).body
        return replies

    return fault


def sends_garbage(inner, name, messages):
    return {**inner.ask(messages), name: b"\x00\xff{]"}


FAULTS = {
    "dies": dies,
    "silent": says_nothing_at_all,
    "garbage": sends_garbage,
    "empty": lambda inner, name, messages: {**inner.ask(messages), name: b""},
    "shape": changed(lambda a: dataclasses.replace(a, values=a.values[:-1])),
    "matrix": changed(lambda a: dataclasses.replace(a, values=a.values[None])),
    "nan": changed(lambda a: dataclasses.replace(a, values=np.full(a.values.shape, np.nan))),
    "huge": changed(lambda a: dataclasses.replace(a, values=np.full_like(a.values, 2**61))),
    "other access": changed(
        lambda a: dataclasses.replace(a, access=dataclasses.replace(a.access, index=99))
    ),
    "no array": changed(lambda a: dataclasses.replace(a, values=3)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_round_finishes_without_the_bad_answer(fault):
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, dropouts=1)
    federation._channel = Flaky(federation._channel, "client 1", FAULTS[fault])
    model = ebm().fit_federated(federation)
    assert model.receipt_.has_guarantee
    assert {one.client for one in federation.incidents} == {"client 1"}
    assert all(one.reason for one in federation.incidents)
    assert all(line.openings <= line.event.count for line in model.receipt_.lines)


@pytest.mark.parametrize("fault", ["dies", "garbage", "huge"])
def test_too_many_missing_stop_the_job(fault):
    X, y = rows()
    server = Ledger(Budget(3, 1e-5))
    federation = Federation.local(split(X, y), SCHEMA)
    federation._channel = Flaky(federation._channel, "client 1", FAULTS[fault])
    with pytest.raises(FederationError, match="1 of 4 clients did not answer"):
        ebm(ledger=server).fit_federated(federation)
    assert len(server.history()) == 1


def test_a_client_that_comes_back_takes_part_again():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, dropouts=1, retries=0)
    federation._channel = Flaky(federation._channel, "client 3", dies, 8, 10)
    EBMClassifier(epsilon=1.0, rounds=15).fit_federated(federation)
    openings = {
        name: sum(line.openings for line in agent.receipts(1e-6)[0].lines)
        for name, agent in federation.agents.items()
    }
    assert openings["client 3"] < openings["client 0"] < openings["client 3"] + 8


def test_masks_are_made_anew_when_somebody_is_missing():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="shares", dropouts=1, retries=0)
    federation._channel = Flaky(federation._channel, "client 0", dies)
    model = ebm().fit_federated(federation)
    # Without the masks cancelling, scores would be noise of 2^63 grid steps.
    assert np.abs(model.model_.terms[0].scores).max() < 8
    errors = model.model_.terms[0].standard_errors
    assert np.isfinite(errors).all()
    stop = Federation.local(split(X, y), SCHEMA, trust="shares")
    stop._channel = Flaky(stop._channel, "client 0", dies)
    with pytest.raises(FederationError, match="did not answer"):
        ebm().fit_federated(stop)


def test_a_repeated_question_gets_the_same_answer():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA, trust="nobody")
    inner, differ = federation._channel.ask, []

    def twice(messages):
        first, second = inner(messages), inner(messages)
        differ.append(first != second)
        return second

    federation._channel.ask = twice
    model = ebm().fit_federated(federation)
    assert not any(differ)
    own = federation.agents["client 0"].receipts(1e-6)[0]
    assert [line.openings for line in own.lines] == [line.openings for line in model.receipt_.lines]


def test_an_agent_answers_no_more_looks_than_were_paid():
    X, y = rows()
    federation = Federation.local(split(X, y), SCHEMA)
    asked = []
    inner = federation._channel.ask
    federation._channel.ask = lambda m: (asked.append(m["client 0"]), inner(m))[1]
    ebm().fit_federated(federation)
    agent = federation.agents["client 0"]
    before = agent.receipts(1e-6)[0]
    # Everything the server ever said, again: old accesses are refused, nothing more is opened.
    kinds = [type(Unpacker().unpack(agent.answer(message))).__name__ for message in asked]
    assert kinds.count("RefusalMessage") >= 4
    assert agent.receipts(1e-6)[0].lines == before.lines


@pytest.mark.parametrize("message", [b"", b"\0" * 8, b"\xff" * 100, b"{}", None, "text", 7])
def test_agents_survive_any_message(message):
    X, y = rows(20)
    agent = ClientAgent(protect(X, y, schema=SCHEMA), Ledger(Budget(1, 1e-6)), name="a")
    reply = Unpacker().unpack(agent.answer(message))
    assert type(reply).__name__ == "RefusalMessage"
    assert agent.ledger.history() == ()


# -- restarts --------------------------------------------------------------------------------------


def test_the_server_goes_on_from_its_journal(tmp_path):
    X, y = rows()
    whole = ebm(random_state=1)
    server = Ledger(tmp_path / "server.db", Budget(1.0, 1e-6))
    agents = Federation.local(split(X, y), SCHEMA).agents
    path = tmp_path / "journal"
    first = Federation.local(agents, SCHEMA, journal=path)
    first._channel = Flaky(first._channel, "client 1", dies, 9)
    with pytest.raises(FederationError):
        whole.set_params(ledger=server).fit_federated(first)
    looked = sum(line.openings for line in agents["client 0"].receipts(1e-6)[0].lines)
    second = Federation.local(agents, SCHEMA, journal=path)
    model = ebm(random_state=1, ledger=server).fit_federated(second)
    assert len(server.history()) == 1
    assert all(len(agent.ledger.history()) == 1 for agent in agents.values())
    own = agents["client 0"].receipts(1e-6)[0]
    plan = sum(line.event.count for line in model.receipt_.lines)
    assert looked < sum(line.openings for line in own.lines) <= plan
    # Once more: all of it is in the journal, and nobody is asked anything.
    third = Federation.local(agents, SCHEMA, journal=path)
    again = ebm(random_state=1, ledger=server).fit_federated(third)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert agents["client 0"].receipts(1e-6)[0].lines == own.lines
    other = Federation.local(agents, SCHEMA, journal=path)
    with pytest.raises(FederationError, match="another plan"):
        EBMClassifier(epsilon=0.5, ledger=server).fit_federated(other)
    with pytest.raises(FederationError, match="other clients or terms"):
        ebm().fit_federated(Federation.local(agents, SCHEMA, journal=path, dropouts=1))


def test_a_cut_or_damaged_journal(tmp_path):
    X, y = rows()
    path, ledger = tmp_path / "journal", Ledger(Budget(1.0, 1e-6))
    agents = Federation.local(split(X, y), SCHEMA).agents
    model = ebm(ledger=ledger).fit_federated(Federation.local(agents, SCHEMA, journal=path))
    data = path.read_bytes()
    path.write_bytes(data[:-7])
    again = ebm(ledger=ledger).fit_federated(Federation.local(agents, SCHEMA, journal=path))
    # The last access is asked again and answered with the same sums; its noise is new.
    assert len(ledger.history()) == 1
    assert np.abs(again.predict_proba(X) - model.predict_proba(X)).max() < 0.5
    broken = bytearray(data)
    broken[len(data) // 2] ^= 255
    path.write_bytes(bytes(broken))
    with pytest.raises(FederationError, match="damaged"):
        ebm(ledger=ledger).fit_federated(Federation.local(agents, SCHEMA, journal=path))


def test_what_cannot_be_repeated_does_not_go_on(tmp_path):
    X, y = rows()
    schema = Schema(dict(SCHEMA), target=Category())
    path, ledger = tmp_path / "journal", Ledger(Budget(9.0, 1e-6))
    ebm(ledger=ledger).fit_federated(Federation.local(split(X, y), schema, journal=path))
    with pytest.raises(FederationError, match="begin it anew"):
        ebm(ledger=ledger).fit_federated(Federation.local(split(X, y), schema, journal=path))


class Restarting:
    """A client that forgets everything but its files before some messages."""

    def __init__(self, make, when):
        self.make, self.when, self.count, self.agent = make, when, 0, make()

    def answer(self, message):
        self.count += 1
        if self.count in self.when:
            self.agent.close()
            self.agent = self.make()
        return self.agent.answer(message)


@pytest.mark.parametrize("remembers", [True, False])
def test_a_restarted_client_goes_on(tmp_path, remembers):
    X, y = rows()
    (first, second) = split(X, y, (0, 700, 1500))
    book = tmp_path / "client.db"

    def make():
        ledger = Ledger(book, Budget(4.0, 1e-5))
        memory = tmp_path / "memory.json" if remembers else None
        return ClientAgent(protect(*first, schema=SCHEMA), ledger, name="a", memory=memory)

    other = ClientAgent(protect(*second, schema=SCHEMA), Ledger(Budget(4.0, 1e-5)), name="b")
    client = Restarting(make, {5, 9, 10, 15})
    channel = LocalChannel({"a": client.answer, "b": other.answer})
    with fixed_noise(3):
        pooled = ebm(schema=SCHEMA).fit(X, y)
    with fixed_noise(3):
        model = ebm().fit_federated(Federation(channel, SCHEMA))
    np.testing.assert_allclose(chances(model, X), chances(pooled, X), atol=1e-9, rtol=0)
    # What was paid and answered stands in its ledger; the memory is for answers that got lost.
    (entry,) = Ledger(book).history()
    (receipt,) = client.agent.receipts()
    assert receipt.lines[0].openings == entry.plan.events[0].count


def test_a_memory_that_cannot_be_written_answers_nothing(tmp_path):
    X, y = rows()
    folder = tmp_path / "memory"
    folder.mkdir()
    agent = ClientAgent(
        protect(X, y, schema=SCHEMA),
        Ledger(Budget(4.0, 1e-5)),
        name="a",
        memory=folder / "gone" / "memory.json",
    )
    with pytest.raises(FederationError, match="cannot be written"):
        ebm().fit_federated(Federation.local({"a": agent}, SCHEMA))
    (folder / "bad.json").write_text(json.dumps({"jobs": 3}))
    with pytest.raises(LedgerUnavailable):
        ClientAgent(protect(X), Ledger(Budget(1, 1e-6)), name="a", memory=folder / "bad.json")


# -- the wire --------------------------------------------------------------------------------------


def test_only_declared_classes_travel():
    class Foreign:
        pass

    with pytest.raises(VoileError, match="cannot be sent"):
        Packer().pack(Foreign())
    body = Packer().pack(RowCount()).body.replace(b"RowCount", b"Eviltype")
    with pytest.raises(VoileError, match="does not know"):
        Unpacker().unpack(body)
    for value in (np.array(["a"]), np.array([object()]), {1: 2}, {"a": object()}):
        with pytest.raises(VoileError):
            Packer().pack(value)


def test_values_come_back_as_they_were():
    value = {
        "n": None,
        "f": [math.inf, -0.0, 0.1, True, 3, "ü\0"],
        "t": (1, (2.5, "x")),
        "a": np.arange(6.0).reshape(2, 3)[:, ::-1],
        "e": np.zeros((0, 4), dtype=np.int16),
        "b": b"\0\1\2",
        "s": SCHEMA,
    }
    packed = Packer().pack(value)
    reader = Unpacker()
    reader.hold(packed.parts)
    back = reader.unpack(packed.body)
    assert back["f"] == value["f"]
    assert back["t"] == value["t"]
    assert back["b"] == value["b"]
    assert back["s"] == SCHEMA
    np.testing.assert_array_equal(back["a"], value["a"])
    assert back["e"].shape == (0, 4)
    assert back["e"].dtype == np.int16
    assert math.copysign(1, back["f"][1]) == -1
    assert math.isnan(Unpacker().unpack(Packer().pack(math.nan).body))


def test_cut_and_changed_messages_are_refused():
    body = Packer().pack({"a": np.arange(50), "b": "text"}).body
    for length in range(len(body)):
        with pytest.raises(VoileError):
            Unpacker().unpack(body[:length])
    r = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(body)
        broken[r.integers(len(body))] ^= int(r.integers(1, 256))
        try:
            Unpacker().unpack(bytes(broken))
        except VoileError:
            continue
