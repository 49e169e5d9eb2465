"""One question to each of several Flower nodes, and what came back in time."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from voile.errors import MissingExtra
from voile.federated.flower.wire import Kind, WireError, pack, unpack
from voile.privacy.clients.channel import Silence

try:
    from flwr.app import Message
    from flwr.serverapp import Grid
except ImportError:
    raise MissingExtra("flwr", "federated") from None

log = logging.getLogger("voile.federated.flower")

_PULL_EVERY = (0.02, 0.5)
"""Shortest and longest pause between two looks for answers, in seconds."""

_TTL_SLACK = 5.0
"""Seconds that a message outlives the wait for it. After that a node that comes back does not
answer it any more, so that nobody is charged for an answer that nobody uses."""

_LEASH, _SHORTEST_LEASH = 2.0, 3.0
"""A doubtful node is waited for this many times as long as the others take, and at least so many
seconds; a SuperNode takes three to notice a message."""

_LONGEST_REASON = 300


class Exchange:
    """Sends and collects over a Flower grid.

    Parameters
    ----------
    grid : Grid
    clock, sleep : callable
        Seconds that only grow, and a pause; tests put their own.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.grid, self.clock, self.sleep = grid, clock, sleep

    def send(
        self,
        kind: Kind,
        bodies: Mapping[int, bytes],
        *,
        timeout: float,
        label: str,
        doubtful: Collection[int] = (),
        usual: float = math.inf,
    ) -> dict[int, bytes | Silence]:
        """Ask each node, and wait until all have answered or the time is over.

        Parameters
        ----------
        kind : str
        bodies : mapping
            Node's number -> body.
        timeout : float
            Longest wait for all of them together, in seconds.
        label : str
            Flower's group of the messages; shown in its logs.
        doubtful : collection of int
            Nodes that did not answer last time: when all others have answered, they are waited
            for only about as long again.
        usual : float
            Seconds that answers took before, for when all nodes are doubtful.

        Returns
        -------
        dict
            For each node the body of its answer, or why there is none.
        """
        found: dict[int, bytes | Silence] = {}
        start = self.clock()
        waiting = self._push(kind, bodies, timeout, label, found)
        sure = any(node not in doubtful for node in bodies)
        slowest = 0.0 if sure else usual
        while waiting:
            for reply in self._pull(waiting, found):
                self._accept(reply, waiting, found)
            passed = self.clock() - start
            if any(node not in doubtful for node in waiting.values()):
                slowest = passed
            elif passed >= max(_LEASH * slowest, _SHORTEST_LEASH):
                break
            if not waiting or passed >= timeout:
                break
            least, most = _PULL_EVERY
            self.sleep(min(max(0.1 * passed, least), most, timeout - passed))
        passed = self.clock() - start
        for node in waiting.values():
            found[node] = Silence(f"it did not answer within {passed:.3g} s")
        return {node: found[node] for node in bodies}

    # -- sending ------------------------------------------------------------------------------

    def _push(
        self,
        kind: Kind,
        bodies: Mapping[int, bytes],
        timeout: float,
        label: str,
        found: dict[int, bytes | Silence],
    ) -> dict[str, int]:
        """Hand the messages over; returns message's name -> node of those that were taken."""
        messages = {
            node: Message(
                pack(kind, body),
                dst_node_id=node,
                message_type="query",
                ttl=timeout + _TTL_SLACK,
                group_id=label,
            )
            for node, body in bodies.items()
        }
        waiting: dict[str, int] = {}
        names = self._names_of(list(messages.values()))
        for k, (node, message) in enumerate(messages.items()):
            # A batch is refused as a whole for one bad destination: then one by one.
            one = names[k] if names is not None else (self._names_of([message]) or [None])[0]
            if one:
                waiting[one] = node
            else:
                found[node] = Silence("the SuperLink did not take the message for it")
        return waiting

    def _names_of(self, messages: list[Message]) -> list[str | None] | None:
        try:
            # Flower says str, and returns None for a message that it did not take.
            names: list[str | None] = list(self.grid.push_messages(messages))
        except Exception as error:
            log.warning("%d messages could not be handed over: %s", len(messages), error)
            return None
        return names if len(names) == len(messages) else None

    # -- collecting ---------------------------------------------------------------------------

    def _pull(
        self, waiting: dict[str, int], found: dict[int, bytes | Silence]
    ) -> Iterable[Message]:
        """Replies that are there; one that cannot be read does not spoil the others."""
        try:
            return list(self.grid.pull_messages(list(waiting)))
        except Exception as error:
            log.warning("Replies could not be fetched together: %s", error)
        replies: list[Message] = []
        for name, node in list(waiting.items()):
            try:
                replies += self.grid.pull_messages([name])
            except Exception as error:
                found[node] = Silence(f"its reply could not be fetched ({type(error).__name__})")
                del waiting[name]
        return replies

    def _accept(
        self, reply: Message, waiting: dict[str, int], found: dict[int, bytes | Silence]
    ) -> None:
        name, sender = reply.metadata.reply_to_message_id, reply.metadata.src_node_id
        node = waiting.get(name)
        if node is None:
            log.warning("A reply of node %s is dropped: it is late, or a repetition", sender)
        elif reply.has_error():
            # Made by the node's own machinery or by the SuperLink: no use in waiting on.
            error = reply.error
            found[node] = Silence(f"Flower's error {error.code}: {_short(error.reason)}")
            del waiting[name]
        elif sender != node:
            log.warning("A reply of node %s to what node %s was asked is dropped", sender, node)
        else:
            found[node] = _read(reply)
            del waiting[name]


def _read(reply: Message) -> bytes | Silence:
    try:
        kind, body = unpack(reply.content)
    except WireError as error:
        return Silence(f"its reply cannot be used: {error}")
    if kind == "answer":
        return body
    if kind == "refusal":
        return Silence(f"it refused: {_short(body.decode('utf-8', 'replace'))}")
    return Silence(f"its reply cannot be used: it is of the kind {kind!r}")


def _short(text: str | None) -> str:
    """One printable line, since it comes from elsewhere and goes into logs."""
    line = " ".join((text or "no reason given").split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 3] + "..."
