"""The client's side: a Flower ClientApp that hands every message to the client agent.

A SuperNode starts a new process for each message, a simulation keeps its processes. So a agent
lives

- ``here``, in the process that got the message: in simulations, whatever starts them;
- ``resident``, in one process of its own that outlives the messages and ends with the SuperNode.

A node (``--node-config 'client-name="north" agent="resident"'``) or else the app's configuration
may choose. One agent works for a client at a time: a second one is refused, with the reason.

What goes wrong on the client is written to the client's own log. The server is told only that
something did, because the text of an error may contain private values.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from voile.errors import FederationError, MissingExtra, SettingError
from voile.federated.flower.members import Introduction
from voile.federated.flower.place import hold_place
from voile.federated.flower.wire import Kind, WireError, pack, unpack

try:
    from flwr.app import Context, Message, RecordDict
    from flwr.clientapp import ClientApp
except ImportError:
    raise MissingExtra("flwr", "federated") from None

log = logging.getLogger("voile.federated.flower")


class AnswersMessages(Protocol):
    """What answers a client's messages: bytes with bytes, refusals included."""

    def answer(self, message: bytes) -> bytes:
        """Answer one message; never raises."""


OpenAgent = Callable[[Context], AnswersMessages]

_agents: dict[tuple[int, int], AnswersMessages] = {}
"""Client agents of this process, by run and node."""

_opening = threading.Lock()


def client_app(open_agent: OpenAgent) -> ClientApp:
    """A ClientApp whose answers are those of a agent.

    Parameters
    ----------
    open_agent : callable
        Given Flower's context (``run_config``, ``node_config``), opens the client's table and
        ledger. For ``agent="resident"`` it must stand at the top level of a module.

    Notes
    -----
    A agent can vanish at any time (a restart, an idle resident), so `open_agent` must be able to
    open it again in the middle of a job: the client's ledger belongs in a file, and the agent's
    ``memory``, too.
    """
    app = ClientApp()

    # Only calls a function of this module: Flower ships it to other processes by value.
    @app.query()
    def answer(message: Message, context: Context) -> Message:
        return Message(answer_message(open_agent, message, context), reply_to=message)

    return app


def name_of(context: Context) -> str:
    """The client's stable name: ``client-name`` of its node's configuration, or its partition."""
    config = context.node_config
    name, partition = config.get("client-name"), config.get("partition-id")
    if name is None and isinstance(partition, int):
        name = f"client-{partition:04}"
    if not isinstance(name, str):
        raise FederationError(
            "This node has no name: start the SuperNode with --node-config 'client-name=\"...\"'."
        )
    return Introduction(name).name


def answer_message(open_agent: OpenAgent, message: Message, context: Context) -> RecordDict:
    """The content of the reply to one message."""
    try:
        kind, body = unpack(message.content)
        return pack(*_answer(kind, body, open_agent, message, context))
    except (FederationError, SettingError) as error:
        # Written here, from public settings alone.
        log.error("A message is refused: %s", error)
        return pack("refusal", str(error).encode())
    except Exception:
        log.exception("The agent failed")
        return pack("refusal", b"the client agent failed; its own log says why")


def _answer(
    kind: Kind, body: bytes, open_agent: OpenAgent, message: Message, context: Context
) -> tuple[Kind, bytes]:
    if kind not in ("hello", "ask"):
        raise WireError(f"the message is of the kind {kind!r}, which no server sends")
    # Whoever introduces itself is ready: opening a large table must not cost the first round.
    introduction = Introduction(name_of(context)).to_bytes() if kind == "hello" else None
    usual = "resident" if _is_short_lived() else "here"
    where = context.node_config.get("agent", context.run_config.get("agent", usual))
    if where == "here":
        agent = _agent_here(open_agent, context)
        return "answer", agent.answer(body) if introduction is None else introduction
    if where == "resident":
        from voile.federated.flower.resident import ask_resident

        asked = None if introduction is not None else body
        answer = ask_resident(open_agent, context, asked, message.metadata.ttl)
        return "answer", answer if introduction is None else introduction
    raise SettingError(f"agent is {where!r} in the configuration: it can be 'here' or 'resident'.")


def _is_short_lived() -> bool:
    """Whether this is the process that a SuperNode starts for one message."""
    return Path(sys.argv[0]).stem == "flwr-clientapp"


def _agent_here(open_agent: OpenAgent, context: Context) -> AnswersMessages:
    key = (context.run_id, context.node_id)
    with _opening:
        if key not in _agents:
            # Rows of an earlier job are not kept in memory.
            for old in [one for one in _agents if one[0] != context.run_id]:
                _close(_agents.pop(old))
            hold_place(context)
            _agents[key] = open_agent(context)
        return _agents[key]


def _close(agent: AnswersMessages) -> None:
    """Let go of the ledger's lock, for the agent of the next run."""
    close = getattr(agent, "close", None)
    if close is not None:
        close()
