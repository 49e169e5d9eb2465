"""Who takes part: stable names of clients, and the Flower nodes that carry them at present.

A node says its name when asked. Where the SuperLink's operator registered a name for its key
(``flwr supernode register key.pub --name north``) the two must agree. With ``authenticated`` a
name belongs to the key that had it first, for the whole job.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from voile.errors import FederationError
from voile.federated.flower.exchange import Exchange
from voile.privacy.clients.channel import Silence
from voile.version import __version__

log = logging.getLogger("voile.federated.flower")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LOOK_EVERY = 0.5
"""Seconds between two looks for nodes while the job waits to begin."""


@dataclass(frozen=True)
class Introduction:
    """What a node says of itself."""

    name: str
    version: str = __version__

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise FederationError(
                f"{str(self.name)[:80]!r} is no name for a client: take up to 64 letters, digits, "
                f"dots, dashes and underscores, beginning with a letter or a digit."
            )

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json.dumps({"name": self.name, "version": self.version}).encode()

    @classmethod
    def from_bytes(cls, body: bytes) -> Introduction:
        """From JSON, or a `FederationError`."""
        try:
            facts = json.loads(body)
            name, version = facts["name"], facts["version"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FederationError("it did not say its name and version") from None
        return cls(name, str(version))


@dataclass(frozen=True)
class Member:
    """A client: its name, the node that carries it, and the node's public key."""

    name: str
    node: int
    key: bytes


class Members:
    """The clients of one job.

    Parameters
    ----------
    exchange : Exchange
    authenticated : bool
        Whether a name stays with the key that had it first.
    timeout : float
        Longest wait for the introduction of a node that comes while the job runs, in seconds.
    """

    def __init__(self, exchange: Exchange, *, authenticated: bool, timeout: float) -> None:
        self._exchange, self._authenticated, self._timeout = exchange, authenticated, timeout
        self._met: dict[int, Member | None] = {}
        self._members: dict[str, Member] = {}
        self._online: dict[int, tuple[str, bytes]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names in alphabetical order, fixed since `gather`."""
        return tuple(sorted(self._members))

    def node(self, name: str) -> int | None:
        """The node that carries the name, if it is connected."""
        member = self._members[name]
        return member.node if member.node in self._online else None

    def gather(self, wanted: int | Sequence[str], timeout: float) -> None:
        """Wait until the clients are there; their names are fixed from then on.

        Parameters
        ----------
        wanted : int or sequence of str
            How many at least, or exactly which.
        timeout : float
            In seconds; then a `FederationError` says who is missing.
        """
        start = self._exchange.clock()
        while True:
            self._access()
            passed = self._exchange.clock() - start
            self._meet(max(timeout - passed, self._timeout))
            present = self._present()
            if isinstance(wanted, int):
                missing = f"{len(present)} of {wanted} clients" if len(present) < wanted else ""
            else:
                missing = ", ".join(sorted(set(wanted) - set(present)))
                present = {name: present[name] for name in wanted if name in present}
            if not missing:
                self._members = present
                return
            if self._exchange.clock() - start >= timeout:
                what = (
                    f"only {missing} came" if isinstance(wanted, int) else f"{missing} did not come"
                )
                raise FederationError(
                    f"The federation cannot begin: {what} within {timeout:g} s. Read the logs "
                    f"of the SuperNodes, or wait longer (join-timeout)."
                )
            self._exchange.sleep(_LOOK_EVERY)

    def refresh(self, doubtful: Collection[str]) -> None:
        """Look who is connected; a client that is gone or silent may have come back elsewhere."""
        self._access()
        lost = {name for name in self._members if self.node(name) is None} | set(doubtful)
        if not lost or all(node in self._met for node in self._online):
            return
        self._meet(self._timeout)
        for node in self._online:
            member = self._met.get(node)
            if member is None or self._members.get(member.name) == member:
                continue
            self._take_over(member, lost)

    # -- nodes --------------------------------------------------------------------------------

    def _access(self) -> None:
        self._online = {
            node.node_id: (node.name, bytes(node.public_key))
            for node in self._exchange.grid.get_nodes()
        }

    def _meet(self, timeout: float) -> None:
        """Ask those who were never asked for their names; who answers has opened its table."""
        strangers = {node: b"" for node in self._online if node not in self._met}
        if not strangers:
            return
        answers = self._exchange.send("hello", strangers, timeout=timeout, label="hello")
        for node, answer in answers.items():
            if isinstance(answer, Silence):
                # Not remembered: it may only have been slow, and is asked again.
                log.warning("Node %s does not introduce itself: %s", node, answer.reason)
            else:
                self._met[node] = self._introduce(node, answer)

    def _introduce(self, node: int, answer: bytes) -> Member | None:
        registered, key = self._online[node]
        try:
            said = Introduction.from_bytes(answer)
        except FederationError as error:
            log.warning("Node %s is left out: %s", node, error)
            return None
        if registered and registered != said.name:
            log.warning(
                "Node %s is left out: it says it is %r, and is registered as %r",
                node, said.name, registered,
            )  # fmt: skip
            return None
        if said.version != __version__:
            log.warning("Client %r has version %s of Voile, not %s", said.name, said.version,
                        __version__)  # fmt: skip
        return Member(said.name, node, key)

    def _present(self) -> dict[str, Member]:
        present: dict[str, Member] = {}
        for node in self._online:
            member = self._met.get(node)
            if member is None:
                continue
            if member.name in present:
                raise FederationError(
                    f"Nodes {present[member.name].node} and {node} both say they are "
                    f"{member.name!r}: give each SuperNode its own client-name (--node-config)."
                )
            present[member.name] = member
        return present

    def _take_over(self, newcomer: Member, lost: Collection[str]) -> None:
        """A node that was not there when the job began says it is one of the clients."""
        holder = self._members.get(newcomer.name)
        if holder is None:
            log.warning("Node %s (%r) came too late to take part", newcomer.node, newcomer.name)
        elif newcomer.name not in lost:
            log.warning("Node %s says it is %r, who is there: it is left out", newcomer.node,
                        newcomer.name)  # fmt: skip
        elif self._authenticated and newcomer.key != holder.key:
            log.warning("Node %s says it is %r with another key: it is left out", newcomer.node,
                        newcomer.name)  # fmt: skip
        else:
            log.warning("Client %r is back as node %s", newcomer.name, newcomer.node)
            self._members[newcomer.name] = newcomer
            return
        self._met[newcomer.node] = None
