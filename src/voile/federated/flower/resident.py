"""A agent in a process of its own, since Flower starts a new process for each message.

The process that Flower starts hands the message over a Unix socket, in a folder that only this
user may enter, and passes the answer on. The resident process ends when the SuperNode that it
serves ends, or when nobody has asked for a while. Nothing but bytes goes over the socket.

One agent works for a client at a time: whoever finds the ledger taken by the agent of an earlier
run or of a SuperNode that is gone asks it to make room, and otherwise refuses with the reason.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voile.errors import FederationError, SettingError
from voile.federated.flower.place import hold_place, private_folder

if TYPE_CHECKING:
    from flwr.app import Context

    from voile.federated.flower.client import AnswersMessages, OpenAgent

log = logging.getLogger("voile.federated.flower")

_IDLE_SECONDS = 1800.0
_START_SECONDS = 60.0
_QUIET_SECONDS = 30.0
"""A agent that nobody has asked for so long makes room for one of another run."""

_ROOM_SECONDS = 10.0
"""Longest wait for an earlier agent that is about to end."""

_LENGTH = struct.Struct(">Q")
_ASK, _PING, _LEAVE = b"a", b"p", b"l"
_ANSWER, _REFUSAL = b"a", b"r"
_LONGEST = 1 << 32
"""Bytes of a message: more is a fault, not a message."""

_started: list[subprocess.Popen[bytes]] = []
"""Client agents that this process has started; they outlive it."""

_LONGEST_PATH = 100
"""Characters of a socket's path that every Unix takes."""


def ask_resident(
    open_agent: OpenAgent, context: Context, message: bytes | None, timeout: float
) -> bytes:
    """Let the resident agent of this run and node answer; it is started if need be.

    Parameters
    ----------
    open_agent : callable
        At the top level of a module.
    context : Context
    message : bytes or None
        None: only make sure that the agent is open.
    timeout : float
        Longest wait for the answer, in seconds.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise SettingError("agent='resident' needs Unix sockets: take agent='here' on this system.")
    # The parent is Flower's SuperExec, which lives and dies with the SuperNode.
    keeper = os.getppid()
    place = private_folder() / f"{context.run_id:x}-{context.node_id:x}-{keeper}.sock"
    if len(str(place)) > _LONGEST_PATH:
        raise SettingError(f"The path {place} is too long for a socket: set TMPDIR to a short one.")
    line = _connect(place)
    if line is None:
        line = _start(open_agent, context, place, keeper)
    with line:
        line.settimeout(timeout)
        try:
            _send(line, _PING if message is None else _ASK + message)
            reply = _receive(line)
        except (OSError, EOFError):
            log.exception("The resident agent did not answer")
            raise FederationError(
                "the resident agent did not answer; the client's log says why"
            ) from None
    if reply.startswith(_REFUSAL):
        raise FederationError(reply.removeprefix(_REFUSAL).decode())
    return reply.removeprefix(_ANSWER)


def _connect(place: Path) -> socket.socket | None:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(str(place))
    except OSError:
        line.close()
        return None
    return line


def _start(open_agent: OpenAgent, context: Context, place: Path, keeper: int) -> socket.socket:
    place.unlink(missing_ok=True)
    order = {
        "module": open_agent.__module__,
        "function": open_agent.__qualname__,
        "path": sys.path,
        "socket": str(place),
        "keeper": keeper,
        "idle": _IDLE_SECONDS,
        "quiet": _QUIET_SECONDS,
        "run_id": context.run_id,
        "node_id": context.node_id,
        "node_config": dict(context.node_config),
        "run_config": dict(context.run_config),
    }
    if "<" in open_agent.__qualname__ or open_agent.__module__ == "__main__":
        raise SettingError(
            "agent='resident' needs an open_agent at the top level of an importable module."
        )
    process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE)
    _started.append(process)
    if process.stdin is None:
        raise FederationError("the resident agent could not be started")
    process.stdin.write(json.dumps(order).encode())
    process.stdin.close()
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        line = _connect(place)
        if line is not None:
            return line
        time.sleep(0.05)
    raise FederationError("the resident agent could not be started; the client's log says why")


def _send(line: socket.socket, body: bytes) -> None:
    line.sendall(_LENGTH.pack(len(body)))
    line.sendall(body)


def _receive(line: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > _LONGEST:
        raise EOFError("a message too long")
    return bytes(_exactly(line, length))


def _exactly(line: socket.socket, length: int) -> bytearray:
    body = bytearray(length)
    rest = memoryview(body)
    while rest:
        got = line.recv_into(rest)
        if not got:
            raise EOFError("the other side hung up")
        rest = rest[got:]
    return body


# -- the resident process -------------------------------------------------------------------------


def main() -> None:
    """Read the order from standard input, open the agent and serve until nobody needs it."""
    logging.basicConfig(format="voile agent: %(levelname)s %(message)s", level=logging.INFO)
    order = json.loads(sys.stdin.buffer.read())
    sys.path[:] = order["path"]
    place = Path(order["socket"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(place))
        try:
            door.listen()  # whoever comes while the agent is being opened waits in line
            try:
                agent = _open(order, place)
            except (FederationError, SettingError) as error:
                # Written from public settings alone: the server may know why.
                log.error("The agent is not opened: %s", error)
                _refuse(door, str(error))
                raise SystemExit(1) from None
            log.info("ClientAgent open (process %d)", os.getpid())
            serve(agent, door, keeper=order["keeper"], idle=order["idle"], quiet=order["quiet"])
        finally:
            place.unlink(missing_ok=True)


def _open(order: dict[str, Any], place: Path) -> AnswersMessages:
    from flwr.app import Context, RecordDict

    context = Context(
        run_id=order["run_id"],
        node_id=order["node_id"],
        node_config=order["node_config"],
        state=RecordDict(),
        run_config=order["run_config"],
    )
    open_agent = getattr(importlib.import_module(order["module"]), order["function"])
    end, leaving = time.monotonic() + _ROOM_SECONDS, False
    while True:
        try:
            hold_place(context)
            agent: AnswersMessages = open_agent(context)
            return agent
        except (FederationError, SettingError):
            # An earlier agent of this node may be in the way: the next attempt tells.
            leaving = leaving or _make_room(order["node_id"], place)
            if not leaving or time.monotonic() > end:
                raise
        time.sleep(0.5)


def _make_room(node: int, place: Path) -> bool:
    """Ask other agents of a node to end; whether one of them does."""
    others = [one for one in place.parent.glob(f"*-{node:x}-*.sock") if one != place]
    leaving = [_asked_to_leave(one) for one in others]  # all of them, whatever the first one says
    return any(leaving)


def _asked_to_leave(place: Path) -> bool:
    line = _connect(place)
    if line is None:  # left behind by one that was killed
        return False
    with line:
        line.settimeout(2.0)
        try:
            _send(line, _LEAVE)
            return _receive(line) == _ANSWER
        except TimeoutError:  # it is busy, or was stopped
            return False
        except (OSError, EOFError):  # it ends this very moment
            return True


def _refuse(door: socket.socket, reason: str) -> None:
    """Tell those who wait for the agent why there is none; whoever comes later tries anew."""
    door.settimeout(1.0)
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        try:
            line, _ = door.accept()
        except TimeoutError:
            return
        with line:
            line.settimeout(5.0)
            try:
                _receive(line)
                _send(line, _REFUSAL + reason.encode())
            except (OSError, EOFError):
                log.warning("Somebody who waited for the agent hung up")


def serve(
    agent: AnswersMessages,
    door: socket.socket,
    *,
    keeper: int,
    idle: float,
    quiet: float = _QUIET_SECONDS,
) -> None:
    """Answer one caller after the other, until the keeper is gone or nobody comes.

    Parameters
    ----------
    agent : AnswersMessages
    door : socket
        Listens.
    keeper : int
        The process with which the agent ends.
    idle : float
        Seconds without a caller after which it ends.
    quiet : float
        Seconds without a caller after which it makes room for another agent of its client.
    """
    door.settimeout(1.0)
    last = time.monotonic()
    while is_alive(keeper) and time.monotonic() - last < idle:
        try:
            line, _ = door.accept()
        except TimeoutError:
            continue
        with line:
            # A caller that stops in the middle must not hold up the next one.
            line.settimeout(60.0)
            try:
                asked = _receive(line)
                if asked == _LEAVE:
                    leaves = time.monotonic() - last >= quiet or not is_alive(keeper)
                    _send(line, _ANSWER if leaves else _REFUSAL)
                    if leaves:
                        log.info("The agent makes room for another one")
                        return
                    continue
                answer = b"" if asked == _PING else agent.answer(asked.removeprefix(_ASK))
                _send(line, _ANSWER + answer)
            except Exception:
                log.exception("A message was not answered")
        last = time.monotonic()


def is_alive(process: int) -> bool:
    """Whether the process runs (one that ended and was not collected does not)."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        facts = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True  # not Linux, or gone this moment: the next access tells
    return facts.rsplit(")", 1)[-1].split()[0] != "Z"


if __name__ == "__main__":
    main()
