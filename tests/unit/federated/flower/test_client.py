"""The client's side on Flower: agents in the process and beside it, and what the server is told."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import flwr  # noqa: F401
import pytest
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from voile import Budget, Category, Ledger, Number, Schema, protect
from voile.errors import SettingError
from voile.federated import ClientAgent, vocabulary
from voile.federated.flower import client, place, resident
from voile.federated.flower.client import answer_message, client_app
from voile.federated.flower.members import Introduction
from voile.federated.flower.server import open_channel, server_app
from voile.federated.flower.wire import pack, unpack


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(TaskIdentity, "_run_id", 7)
    monkeypatch.setattr(TaskIdentity, "_task_id", 8)
    monkeypatch.setattr(TaskIdentity, "_node_id", 3)
    monkeypatch.setattr(client, "_agents", {})
    monkeypatch.setattr(place, "_held", {})
    # Not tmp_path: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="v", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield
        for lock in place._held.values():
            lock.close()


class Echo:
    """Counts what it was asked."""

    def __init__(self, name):
        self.name, self.asked = name, 0

    def answer(self, message):
        self.asked += 1
        return f"{self.name} {self.asked} ".encode() + message


def open_echo(context):
    return Echo(context.node_config["client-name"])


def context_of(run=7, node=3, run_config=None, **config):
    config = {key.replace("_", "-"): value for key, value in config.items()}
    return Context(
        run_id=run,
        node_id=node,
        node_config=config,
        state=RecordDict(),
        run_config=run_config or {},
    )


def ask(open_agent, context, kind="ask", body=b"x"):
    message = Message(pack(kind, body), dst_node_id=3, message_type="query", ttl=20.0)
    return unpack(answer_message(open_agent, message, context))


def test_the_app_answers_queries_with_the_agents_bytes():
    app = client_app(open_echo)
    message = Message(pack("ask", b"x"), dst_node_id=3, message_type="query")
    reply = app(message, context_of(client_name="north"))
    assert unpack(reply.content) == ("answer", b"north 1 x")


def test_an_agent_is_kept_while_the_process_lives():
    north, south = context_of(client_name="north"), context_of(node=4, client_name="south")
    assert ask(open_echo, north) == ("answer", b"north 1 x")
    assert ask(open_echo, south) == ("answer", b"south 1 x")
    assert ask(open_echo, north) == ("answer", b"north 2 x")


def test_rows_of_an_earlier_run_are_let_go():
    ask(open_echo, context_of(client_name="north"))
    assert ask(open_echo, context_of(run=8, client_name="north")) == ("answer", b"north 1 x")
    assert [run for run, _ in client._agents] == [8]


def test_whoever_says_its_name_has_opened_its_agent():
    opened = []
    kind, body = ask(opened.append, context_of(client_name="north"), "hello", b"")
    assert (kind, Introduction.from_bytes(body).name) == ("answer", "north")
    assert len(opened) == 1
    _, body = ask(opened.append, context_of(node=4, partition_id=3), "hello", b"")
    assert Introduction.from_bytes(body).name == "client-0003"


def test_a_client_that_cannot_open_its_agent_does_not_introduce_itself():
    kind, body = ask(open_nothing, context_of(client_name="north"), "hello", b"")
    assert kind == "refusal"
    assert b"Alice" not in body


@pytest.mark.parametrize("config", [{}, {"client_name": 3}, {"partition_id": "x"}])
def test_a_node_without_a_name_says_what_to_do(config):
    kind, body = ask(open_echo, context_of(**config), "hello", b"")
    assert kind == "refusal"
    assert b"client-name" in body


def test_the_text_of_an_error_stays_with_the_client(caplog):
    def broken(context):
        raise ValueError("row 17: Alice, HIV positive")

    kind, body = ask(broken, context_of(client_name="north"))
    assert kind == "refusal"
    assert b"Alice" not in body
    assert "Alice" in caplog.text


def test_wrong_messages_are_refused():
    context = context_of(client_name="north")
    assert ask(open_echo, context, "answer")[0] == "refusal"
    message = Message(RecordDict(), dst_node_id=3, message_type="query")
    assert unpack(answer_message(open_echo, message, context))[0] == "refusal"


def test_an_unknown_place_for_the_agent_is_refused():
    kind, body = ask(open_echo, context_of(client_name="north", agent="attic"))
    assert kind == "refusal"
    assert b"'here' or 'resident'" in body


def test_on_a_supernode_the_agent_is_resident(monkeypatch):
    asked = []
    monkeypatch.setattr(resident, "ask_resident", lambda *facts: asked.append(facts) or b"there")
    monkeypatch.setattr(sys, "argv", ["/usr/bin/flwr-clientapp", "--token", "x"])
    assert ask(open_echo, context_of(client_name="north")) == ("answer", b"there")
    assert ask(open_echo, context_of(client_name="north", agent="here"))[1] == b"north 1 x"
    assert len(asked) == 1


def test_a_second_agent_of_one_client_is_refused(monkeypatch):
    context = context_of(client_name="north")
    assert ask(open_echo, context)[0] == "answer"
    first = place._held
    monkeypatch.setattr(client, "_agents", {})
    monkeypatch.setattr(place, "_held", {})  # as another process would see it
    kind, body = ask(open_echo, context)
    assert kind == "refusal"
    assert b"open in another process" in body
    for lock in first.values():
        lock.close()
    assert ask(open_echo, context)[0] == "answer"


def test_the_apps_configuration_chooses_where_the_node_does_not(monkeypatch):
    monkeypatch.setattr(resident, "ask_resident", lambda *facts: b"there")
    context = context_of(client_name="north", run_config={"agent": "resident"})
    assert ask(open_echo, context) == ("answer", b"there")
    context = context_of(client_name="north", agent="here", run_config={"agent": "resident"})
    assert ask(open_echo, context) == ("answer", b"north 1 x")


# -- the resident agent ------------------------------------------------------------------------


@pytest.fixture
def keeper(monkeypatch):
    """A process that stands for the SuperNode."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    monkeypatch.setattr(os, "getppid", lambda: process.pid)
    monkeypatch.setattr(resident, "_started", [])
    yield process
    process.kill()
    process.communicate()
    for agent in resident._started:
        agent.kill()
        agent.wait()


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def sockets():
    return list(Path(tempfile.gettempdir()).rglob("*.sock"))


def test_a_resident_agent_outlives_messages_and_ends_with_its_keeper(keeper, monkeypatch):
    started = []

    class Process(subprocess.Popen):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            started.append(self)

    monkeypatch.setattr(resident.subprocess, "Popen", Process)
    context = context_of(client_name="north", agent="resident")
    assert Introduction.from_bytes(ask(open_echo, context, "hello")[1]).name == "north"
    assert len(sockets()) == 1
    assert ask(open_echo, context) == ("answer", b"north 1 x")
    large = bytes(3_000_000)
    assert ask(open_echo, context, body=large) == ("answer", b"north 2 " + large)
    assert len(started) == 1
    (place,) = sockets()
    assert place.parent.stat().st_mode & 0o077 == 0
    keeper.kill()
    keeper.communicate()
    assert started[0].wait(20) == 0
    assert sockets() == []


@pytest.mark.slow
def test_a_resident_agent_that_was_killed_is_started_again(keeper, monkeypatch):
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(
        resident.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1]
    )
    context = context_of(client_name="north", agent="resident")
    ask(open_echo, context)
    started[0].kill()
    started[0].wait()
    assert ask(open_echo, context) == ("answer", b"north 1 x")
    keeper.kill()
    keeper.communicate()
    assert started[1].wait(20) == 0


def open_nothing(context):
    raise ValueError("row 17: Alice")


@pytest.mark.slow
def test_a_resident_agent_that_cannot_open_is_a_refusal(keeper):
    kind, body = ask(open_nothing, context_of(client_name="north", agent="resident"))
    assert kind == "refusal"
    assert b"Alice" not in body
    assert resident._started[-1].wait(20) == 1
    assert sockets() == []


SCHEMA = Schema({"age": Number(0, 9)}, target=Category(["no", "yes"]))


def open_real(context):
    """A agent that holds its ledger's lock, wherever the test keeps the ledger."""
    table = protect({"age": [1.0, 2.0]}, ["no", "yes"], schema=SCHEMA)
    ledger = Ledger(context.run_config["ledger"], Budget(1, 1e-6), dataset="north")
    return ClientAgent(table, ledger, name="north")


@pytest.fixture
def with_ledger():
    """Contexts of one client with one ledger, by the run."""
    facts = {"ledger": str(Path(tempfile.gettempdir()) / "ledger.db")}
    return lambda run: context_of(run=run, run_config=facts, client_name="north", agent="resident")


@pytest.mark.slow
def test_an_agent_of_another_run_that_is_at_work_keeps_the_ledger(keeper, with_ledger):
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    kind, body = ask(open_real, with_ledger(8), "hello", b"")
    assert kind == "refusal"
    assert b"'north' works with the ledger" in body
    assert b"already" in body
    assert resident._started[-1].wait(20) == 1
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    assert resident._started[-2].poll() is None


@pytest.mark.slow
def test_an_agent_that_nobody_asks_makes_room_for_one_of_another_run(
    keeper, with_ledger, monkeypatch
):
    monkeypatch.setattr(resident, "_QUIET_SECONDS", 0.0)
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    assert ask(open_real, with_ledger(8), "hello", b"")[0] == "answer"
    assert resident._started[-2].wait(20) == 0


@pytest.mark.slow
def test_an_agent_whose_keeper_is_gone_makes_room(keeper, with_ledger, monkeypatch):
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    keeper.kill()
    keeper.communicate()
    monkeypatch.setattr(os, "getppid", os.getpid)  # the SuperNode was started again
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    assert resident._started[-2].wait(20) == 0


@pytest.mark.slow
def test_a_stopped_agent_is_in_the_way_until_it_is_killed(keeper, with_ledger, monkeypatch):
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"
    stopped = resident._started[-1]
    stopped.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(os, "getppid", os.getpid)
    kind, body = ask(open_real, with_ledger(7), "hello", b"")
    assert kind == "refusal"
    assert b"open in another process" in body
    assert resident._started[-1].wait(20) == 1
    stopped.kill()
    stopped.wait()
    assert ask(open_real, with_ledger(7), "hello", b"")[0] == "answer"


def test_in_one_process_the_agent_of_an_earlier_run_lets_go_of_its_ledger():
    def context(run):
        facts = {"ledger": str(Path(tempfile.gettempdir()) / "ledger.db")}
        return context_of(run=run, run_config=facts, client_name="north", agent="here")

    kept = []

    def open_kept(context):
        kept.append(open_real(context))
        return kept[-1]

    assert ask(open_kept, context(7), "hello", b"")[0] == "answer"
    assert ask(open_kept, context(8), "hello", b"")[0] == "answer"
    kept[-1].close()


def test_a_resident_agent_needs_a_function_with_an_address(keeper):
    kind, body = ask(lambda context: Echo("x"), context_of(client_name="n", agent="resident"))
    assert kind == "refusal"
    assert b"top level of an importable module" in body


def test_a_folder_that_others_may_enter_is_not_used(keeper):
    folder = Path(tempfile.gettempdir()) / f"voile-{os.getuid()}"
    folder.mkdir(mode=0o755)
    kind, body = ask(open_echo, context_of(client_name="north", agent="resident"))
    assert kind == "refusal"
    assert b"Others may enter" in body


def test_a_caller_who_hangs_up_does_not_stop_the_agent():
    class Fails(Echo):
        def answer(self, message):
            if message == b"bad":
                raise RuntimeError("a agent never raises, but if it does")
            return super().answer(message)

    place = f"/tmp/v{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        thread = threading.Thread(
            target=resident.serve,
            args=(Fails("a"), door),
            kwargs={"keeper": os.getpid(), "idle": 2.0},
        )
        thread.start()
        try:
            for first in (b"", b"\0\0", b"\xff" * 8, b"\0" * 7 + b"\4abad"):
                with socket.socket(socket.AF_UNIX) as line:
                    line.connect(place)
                    line.sendall(first)
                    line.shutdown(socket.SHUT_WR)
                    assert line.recv(99) == b""
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(place)
                line.sendall(b"\0" * 7 + b"\3ahi")
                assert line.recv(15, socket.MSG_WAITALL)[8:] == b"aa 1 hi"
        finally:
            thread.join(20)  # nobody comes for two seconds
            Path(place).unlink()
        assert not thread.is_alive()


def test_an_ended_process_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_until(lambda: not resident.is_alive(process.pid))  # ended, and not collected
    process.wait()
    assert not resident.is_alive(process.pid)
    assert resident.is_alive(os.getpid())


# -- the server's app -------------------------------------------------------------------------


def test_the_server_app_trains_over_a_channel(monkeypatch):
    trained = []
    grid = SimpleNamespace()
    monkeypatch.setattr(
        "voile.federated.flower.server.FlowerChannel",
        lambda grid, **options: SimpleNamespace(grid=grid, **options),
    )
    app = server_app(lambda channel, context: trained.append(channel))
    context = context_of(run_config={"clients": 4, "timeout": 9, "authenticated": True})
    app(grid, context)
    (channel,) = trained
    assert channel.grid is grid
    assert (channel.clients, channel.timeout, channel.authenticated) == (4, 9.0, True)


@pytest.mark.parametrize(
    "config",
    [{}, {"clients": "4"}, {"clients": 4, "timeout": "9"}, {"clients": 4, "timeout": True}],
)
def test_a_configuration_that_says_too_little_is_refused(config):
    with pytest.raises(SettingError, match="configuration"):
        open_channel(SimpleNamespace(), context_of(run_config=config))


# -- what clients understand ------------------------------------------------------------------


def test_a_client_learns_every_question_that_is_declared():
    source = Path(vocabulary.__file__).parents[1]
    known = {*vocabulary.TABLE_QUESTIONS, *vocabulary.NETWORK_QUESTIONS}
    for path in source.rglob("*.py"):
        if re.search(r"^@(sendable|lasting)\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            name = "voile." + ".".join(path.relative_to(source).with_suffix("").parts)
            # The agent imports these itself.
            own = name.startswith("voile.privacy.clients.") or name == "voile.privacy.queries"
            assert own or name in known, f"voile.federated.vocabulary lacks {name}"


def test_learning_about_tables_needs_neither_torch_nor_flower():
    text = (
        "from voile.federated.vocabulary import learn_questions; learn_questions()\n"
        "import sys; print(*sorted({'torch', 'flwr'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
