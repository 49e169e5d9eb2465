"""The channel over Flower: answers, silences, and everything that can go wrong in between."""

import logging
from dataclasses import dataclass, field
from types import SimpleNamespace

import flwr  # noqa: F401
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from voile.errors import FederationError, SettingError
from voile.federated.flower.channel import FlowerChannel
from voile.federated.flower.members import Introduction
from voile.federated.flower.wire import WireError, pack, unpack
from voile.privacy.clients.channel import Silence

TIMEOUT = 10.0


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    """Flower's messages carry who sends them, which its own processes set."""
    monkeypatch.setattr(TaskIdentity, "_run_id", 7)
    monkeypatch.setattr(TaskIdentity, "_task_id", 8)
    monkeypatch.setattr(TaskIdentity, "_node_id", 1)


@dataclass
class Node:
    """A pretended SuperNode; ``reply`` maps a message to replies and the seconds they take."""

    name: str
    registered: str = ""
    key: bytes = b""
    online: bool = True
    reply: object = None
    seen: list = field(default_factory=list)


class Grid:
    """A pretended grid with a clock of its own: nothing here waits."""

    def __init__(self, nodes):
        self.nodes, self.now = dict(nodes), 0.0
        self.mail, self.sent, self.pulls = [], [], 0
        self.refused_nodes, self.push_fails, self.pull_fails = set(), 0, set()

    def clock(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += max(seconds, 1e-3)

    def get_nodes(self):
        return [
            SimpleNamespace(node_id=k, name=n.registered, public_key=n.key)
            for k, n in self.nodes.items()
            if n.online
        ]

    def push_messages(self, messages):
        if self.push_fails:
            self.push_fails -= 1
            raise RuntimeError("busy")
        names = []
        for message in messages:
            target = message.metadata.dst_node_id
            name = f"m{len(self.sent)}"
            self.sent.append(message)
            message.metadata.__dict__["_message_id"] = name
            names.append(None if target in self.refused_nodes else name)
            node = self.nodes.get(target)
            if node is None or target in self.refused_nodes:
                continue
            kind, body = unpack(message.content)
            node.seen.append((kind, body))
            if kind == "hello" and node.reply is not hello_liar:
                self._post(0.0, say(message, "answer", Introduction(node.name).to_bytes(), target))
            elif node.reply is not None:
                for delay, reply in node.reply(message, body, target):
                    self._post(delay, reply)
            else:
                self._post(0.1, say(message, "answer", node.name.encode() + b":" + body, target))
        return names

    def _post(self, delay, reply):
        self.mail.append((self.now + delay, reply))

    def pull_messages(self, names):
        self.pulls += 1
        names = set(names)
        if names & self.pull_fails:
            raise ValueError("cannot inflate")
        due = [m for m in self.mail if m[0] <= self.now]
        self.mail = [m for m in self.mail if m[0] > self.now]
        return [reply for _, reply in due]


def say(message, kind, body, node):
    reply = Message(pack(kind, body), reply_to=message)
    reply.metadata.__dict__["_src_node_id"] = node
    return reply


def hello_liar(message, body, node):
    return [(0.0, say(message, "answer", b'{"name": "../../etc", "version": "1"}', node))]


def open_channel(grid, clients=None, **options):
    options.setdefault("timeout", TIMEOUT)
    return FlowerChannel(
        grid,
        clients=len(grid.nodes) if clients is None else clients,
        clock=grid.clock,
        sleep=grid.sleep,
        **options,
    )


def three(**options):
    return Grid({10 + k: Node(name, **options) for k, name in enumerate("abc")})


ALL = {"a": b"1", "b": b"2", "c": b"3"}


def test_every_client_gets_its_message_and_its_answer_comes_back():
    grid = three()
    channel = open_channel(grid)
    assert channel.clients == ("a", "b", "c")
    assert channel.ask(ALL) == {"a": b"a:1", "b": b"b:2", "c": b"c:3"}
    assert channel.ask({"b": b""}) == {"b": b"b:"}
    assert grid.now < 1


def test_asking_nobody_is_no_question():
    channel = open_channel(three())
    assert channel.ask({}) == {}


def test_messages_expire_soon_after_the_wait():
    grid = three()
    open_channel(grid).ask(ALL)
    assert all(TIMEOUT < m.metadata.ttl <= TIMEOUT + 10 for m in grid.sent[3:])


def test_names_come_from_the_nodes_not_from_their_numbers():
    grid = Grid({99: Node("a"), 5: Node("b")})
    assert open_channel(grid).ask({"a": b"x"}) == {"a": b"a:x"}
    assert grid.nodes[5].seen == [("hello", b"")]


def test_a_dead_client_is_silent_after_the_timeout_and_the_others_count():
    grid = three()
    grid.nodes[11].reply = lambda *_: []
    found = open_channel(grid).ask(ALL)
    assert found["a"] == b"a:1"
    assert found["c"] == b"c:3"
    assert isinstance(found["b"], Silence)
    assert "did not answer within 10 s" in found["b"].reason
    assert TIMEOUT <= grid.now < TIMEOUT + 0.6


def test_a_dead_client_holds_up_the_next_rounds_only_a_little():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[11].reply = lambda *_: []
    channel.ask(ALL)
    before = grid.now
    assert isinstance(channel.ask(ALL)["b"], Silence)
    assert 3 <= grid.now - before < 4
    before = grid.now
    assert isinstance(channel.ask({"b": b""})["b"], Silence)
    assert grid.now - before >= TIMEOUT  # how long answers take is not known


def test_a_doubtful_client_that_answers_is_believed_again():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[11].reply = lambda *_: []
    channel.ask(ALL)
    grid.nodes[11].reply = None
    assert channel.ask(ALL)["b"] == b"b:2"
    grid.nodes[11].reply = lambda *_: []
    before = grid.now
    channel.ask(ALL)
    assert grid.now - before >= TIMEOUT


def test_a_doubtful_client_asked_alone_has_twice_the_usual_time():
    grid = three()
    for node in grid.nodes.values():
        node.reply = lambda m, b, n: [(3.0, say(m, "answer", b, n))]
    channel = open_channel(grid)
    channel.ask(ALL)
    grid.nodes[11].reply = lambda *_: []
    channel.ask(ALL)
    grid.nodes[11].reply = lambda m, b, n: [(4.0, say(m, "answer", b"slow", n))]
    assert channel.ask({"b": b"2"}) == {"b": b"slow"}
    grid.nodes[11].reply = lambda *_: []
    channel.ask({"b": b"2"})
    before = grid.now
    channel.ask({"b": b"2"})
    assert 8 <= grid.now - before < TIMEOUT


def test_an_error_reply_counts_at_once():
    grid = three()
    error = Error(code=5, reason="Node\nis   gone\x1b[31m")
    grid.nodes[10].reply = lambda m, b, n: [(0.1, Message(error, reply_to=m))]
    found = open_channel(grid).ask(ALL)
    assert found["a"] == Silence("Flower's error 5: Node is gone?[31m")
    assert found["b"] == b"b:2"
    assert grid.now < 1


def test_a_refusal_is_silence_with_its_reason():
    grid = three()
    grid.nodes[10].reply = lambda m, b, n: [(0, say(m, "refusal", b"no \xff table " * 99, n))]
    reason = open_channel(grid).ask(ALL)["a"].reason
    assert reason.startswith("it refused: no")
    assert len(reason) < 400


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({"voile": ConfigRecord({"format": 1, "kind": "answer"})}),
        RecordDict({"voile": ConfigRecord({"format": 2, "kind": "answer"})}),
        RecordDict({"voile": ArrayRecord()}),
        pack("ask", b"x"),
        pack("hello", b"x"),
        RecordDict(
            {
                "voile": ConfigRecord({"format": 1, "kind": "answer"}),
                "voile-parts": ArrayRecord({"body": Array("uint8", (9,), "voile.bytes", b"x")}),
            }
        ),
        RecordDict(
            {
                "voile": ConfigRecord({"format": 1, "kind": "answer"}),
                "voile-parts": ArrayRecord({"body": Array("uint8", (1,), "numpy.ndarray", b"x")}),
            }
        ),
        RecordDict(
            {
                "voile": ConfigRecord({"format": 1, "kind": [b"answer"]}),
                "voile-parts": ConfigRecord({"body": b"x"}),
            }
        ),
    ],
)
def test_wrong_content_is_silence_at_once(content):
    def reply(message, body, node):
        one = Message(content, reply_to=message)
        one.metadata.__dict__["_src_node_id"] = node
        return [(0, one)]

    grid = three()
    grid.nodes[12].reply = reply
    found = open_channel(grid).ask(ALL)
    assert "cannot be used" in found["c"].reason
    assert found["a"] == b"a:1"
    assert grid.now < 1


def test_a_late_reply_is_dropped_and_not_taken_for_the_next_round(caplog):
    grid = three()
    grid.nodes[11].reply = lambda m, b, n: [(TIMEOUT + 1, say(m, "answer", b"old:" + b, n))]
    channel = open_channel(grid)
    assert isinstance(channel.ask(ALL)["b"], Silence)
    grid.now += 2
    grid.nodes[11].reply = None
    with caplog.at_level(logging.WARNING, "voile.federated.flower"):
        assert channel.ask({**ALL, "b": b"new"})["b"] == b"b:new"
    assert "late, or a repetition" in caplog.text


def test_of_two_replies_the_first_counts(caplog):
    grid = three()
    grid.nodes[10].reply = lambda m, b, n: [
        (0, say(m, "answer", b"first", n)),
        (0, say(m, "answer", b"second", n)),
    ]
    with caplog.at_level(logging.WARNING, "voile.federated.flower"):
        assert open_channel(grid).ask(ALL)["a"] == b"first"
    assert "repetition" in caplog.text


def test_a_reply_of_another_node_is_not_taken(caplog):
    grid = three()
    grid.nodes[10].reply = lambda m, b, n: [
        (0, say(m, "answer", b"forged", 666)),
        (0.3, say(m, "answer", b"true", n)),
    ]
    with caplog.at_level(logging.WARNING, "voile.federated.flower"):
        assert open_channel(grid).ask(ALL)["a"] == b"true"
    assert "node 666" in caplog.text


def test_a_message_that_is_not_taken_is_silence():
    grid = three()
    channel = open_channel(grid)
    grid.refused_nodes = {11}
    found = channel.ask(ALL)
    assert found["b"] == Silence("the SuperLink did not take the message for it")
    assert found["a"] == b"a:1"


def test_a_batch_that_is_refused_is_sent_one_by_one():
    grid = three()
    channel = open_channel(grid)
    grid.push_fails = 1
    assert channel.ask(ALL) == {"a": b"a:1", "b": b"b:2", "c": b"c:3"}


def test_a_reply_that_cannot_be_fetched_does_not_spoil_the_others():
    grid = three()
    channel = open_channel(grid)
    grid.pull_fails = {f"m{len(grid.sent)}"}
    found = channel.ask(ALL)
    assert found["a"] == Silence("its reply could not be fetched (ValueError)")
    assert (found["b"], found["c"]) == (b"b:2", b"c:3")


def test_a_client_that_vanished_is_not_waited_for():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[11].online = False
    assert channel.ask(ALL)["b"] == Silence("it is not connected")
    assert grid.now < 1


def test_a_client_that_comes_back_as_another_node_keeps_its_name():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[11].online = False
    channel.ask(ALL)
    grid.nodes[77] = Node("b")
    assert channel.ask(ALL)["b"] == b"b:2"
    assert channel.clients == ("a", "b", "c")


def test_a_silent_client_can_come_back_while_its_old_node_still_counts_as_online():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[11].reply = lambda *_: []
    channel.ask(ALL)
    grid.nodes[77] = Node("b")
    assert channel.ask(ALL)["b"] == b"b:2"
    assert grid.nodes[77].seen[-1] == ("ask", b"2")


def test_with_keys_a_name_stays_with_its_key(caplog):
    grid = Grid({10: Node("a", key=b"A"), 11: Node("b", key=b"B")})
    channel = open_channel(grid, authenticated=True)
    grid.nodes[11].online = False
    grid.nodes[66] = Node("b", key=b"X")
    messages = {"a": b"1", "b": b"2"}
    with caplog.at_level(logging.WARNING, "voile.federated.flower"):
        assert channel.ask(messages)["b"] == Silence("it is not connected")
    assert "another key" in caplog.text
    assert ("ask", b"2") not in grid.nodes[66].seen
    grid.nodes[67] = Node("b", key=b"B")
    assert channel.ask(messages)["b"] == b"b:2"
    assert ("ask", b"2") not in grid.nodes[66].seen


def test_a_newcomer_cannot_take_the_name_of_one_who_is_there():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[66] = Node("a")
    grid.nodes[12].online = False  # somebody is missing, so newcomers are met
    channel.ask(ALL)
    channel.ask(ALL)
    assert [kind for kind, _ in grid.nodes[66].seen] == ["hello"]


def test_a_stranger_is_not_taken_in_later():
    grid = three()
    channel = open_channel(grid)
    grid.nodes[66] = Node("d")
    grid.nodes[12].online = False
    channel.ask(ALL)
    assert channel.clients == ("a", "b", "c")
    with pytest.raises(SettingError, match="'d' is no client of this job"):
        channel.ask({"d": b""})


def test_a_node_registered_under_another_name_is_left_out(caplog):
    grid = Grid({1: Node("a", registered="a"), 2: Node("a", registered="b"), 3: Node("c")})
    with caplog.at_level(logging.WARNING, "voile.federated.flower"):
        channel = open_channel(grid, clients=2)
    assert channel.clients == ("a", "c")
    assert "registered as 'b'" in caplog.text


def test_two_nodes_of_one_name_stop_the_job():
    with pytest.raises(FederationError, match="both say they are 'a'"):
        open_channel(Grid({1: Node("a"), 2: Node("a")}))


def test_too_few_clients_stop_the_job_after_the_time_to_join():
    grid = three()
    with pytest.raises(FederationError, match="only 3 of 5 clients came within 30 s"):
        open_channel(grid, clients=5, join_timeout=30)
    assert 30 <= grid.now < 32


def test_named_clients_are_waited_for_and_others_are_left_out():
    grid = three()
    assert open_channel(grid, clients=["c", "a"]).clients == ("a", "c")
    with pytest.raises(FederationError, match="x, z did not come within 30 s"):
        open_channel(grid, clients=["z", "a", "x"], join_timeout=30)


def test_the_job_waits_for_clients_that_appear_later():
    grid = three()
    grid.nodes[12].online = False
    rest = grid.sleep

    def sleep(seconds):
        rest(seconds)
        grid.nodes[12].online = grid.now > 20

    grid.sleep = sleep
    assert open_channel(grid, clients=3).clients == ("a", "b", "c")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"name": 3, "version": "1"}', b"\xff", b"[" * 100_000]
)
def test_an_introduction_that_makes_no_sense_leaves_the_node_out(body):
    grid = three()
    grid.nodes[66] = Node("d", reply=hello_liar)
    assert open_channel(grid, clients=3).clients == ("a", "b", "c")
    with pytest.raises(FederationError):
        Introduction.from_bytes(body)


@pytest.mark.parametrize("name", ["", "a b", "-a", "../a", "a" * 65, "é", "a\n", None])
def test_names_that_could_do_harm_are_refused(name):
    with pytest.raises(FederationError, match="no name for a client"):
        Introduction(name)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timeout", 0),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("timeout", "3"),
        ("timeout", True),
        ("join_timeout", -1),
        ("clients", 0),
        ("clients", True),
        ("clients", []),
        ("clients", "abc"),
        ("clients", ["a", "a"]),
    ],
)
def test_settings_out_of_range_are_refused(option, value):
    with pytest.raises(SettingError, match=option):
        open_channel(three(), **{option: value})


@pytest.mark.parametrize("size", [0, 1, 6_000_000])
def test_bodies_of_any_size_come_back(size):
    body = bytes(range(256)) * (size // 256 + 1)
    assert unpack(pack("ask", body[:size])) == ("ask", body[:size])


def test_unknown_kinds_are_refused():
    content = pack("ask", b"")
    content["voile"]["kind"] = "exec"
    with pytest.raises(WireError, match="unknown kind"):
        unpack(content)
