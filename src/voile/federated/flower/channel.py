"""The server's side: a channel of Voile over a Flower grid."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence

from voile.errors import MissingExtra, SettingError
from voile.federated.flower.exchange import Exchange
from voile.federated.flower.members import Members
from voile.privacy.clients.channel import Silence

try:
    from flwr.serverapp import Grid
except ImportError:
    raise MissingExtra("flwr", "federated") from None

log = logging.getLogger("voile.federated.flower")


class FlowerChannel:
    """Messages to named clients and their answers, over Flower.

    Parameters
    ----------
    grid : Grid
        What Flower gives to a ServerApp.
    clients : int or sequence of str
        How many clients the job waits for at least, or the names of exactly those who take part.
    timeout : float
        Longest wait for the answers to one `ask`, in seconds. A round of Flower 1.41 takes about
        five seconds on SuperNodes that have nothing to do.
    join_timeout : float
        Longest wait for the clients to appear, in seconds.
    authenticated : bool
        Whether a client's name stays with the public key that had it first. Set it where the
        SuperLink runs with ``--enable-supernode-auth``; without that, keys change with each start.
    clock, sleep : callable
        For tests.

    Raises
    ------
    FederationError
        If the clients do not appear in time, or two say the same name.
    """

    def __init__(
        self,
        grid: Grid,
        *,
        clients: int | Sequence[str],
        timeout: float,
        join_timeout: float = 120.0,
        authenticated: bool = False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        _check(clients, timeout, join_timeout)
        self._timeout = float(timeout)
        self._exchange = Exchange(grid, clock=clock, sleep=sleep)
        self._members = Members(self._exchange, authenticated=authenticated, timeout=self._timeout)
        self._members.gather(clients, float(join_timeout))
        self._doubtful: set[str] = set()
        self._rounds, self._usual = 0, math.inf

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of the clients, in alphabetical order; they never change."""
        return self._members.names

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes | Silence]:
        """Send one message to each named client and wait for the answers.

        Parameters
        ----------
        messages : mapping
            Client's name -> message.

        Returns
        -------
        dict
            For each name the answer, or a `Silence` with the reason. An error that Flower reports
            counts at once; whoever says nothing is waited for until the timeout, and after
            that only about as long again as the others take.
        """
        unknown = sorted(set(messages) - set(self.clients))
        if unknown:
            raise SettingError(
                f"{unknown[0]!r} is no client of this job: there are {', '.join(self.clients)}."
            )
        self._rounds += 1
        self._members.refresh(self._doubtful & set(messages))
        nodes = {name: self._members.node(name) for name in messages}
        bodies = {node: messages[name] for name, node in nodes.items() if node is not None}
        start = self._exchange.clock()
        answers = self._exchange.send(
            "ask",
            bodies,
            timeout=self._timeout,
            label=str(self._rounds),
            doubtful={node for name in self._doubtful if (node := nodes.get(name)) is not None},
            usual=self._usual,
        )
        found: dict[str, bytes | Silence] = {
            name: Silence("it is not connected") if node is None else answers[node]
            for name, node in nodes.items()
        }
        silent = {name: one for name, one in found.items() if isinstance(one, Silence)}
        for name, one in silent.items():
            log.warning("Round %d: no answer of %r: %s", self._rounds, name, one.reason)
        if found and not silent:
            self._usual = self._exchange.clock() - start
        self._doubtful = (self._doubtful - set(found)) | set(silent)
        return found


def _check(clients: int | Sequence[str], timeout: float, join_timeout: float) -> None:
    if isinstance(clients, bool) or not (
        clients >= 1
        if isinstance(clients, int)
        else not isinstance(clients, str) and len(clients) == len(set(clients)) >= 1
    ):
        raise SettingError(
            f"clients is {clients!r}: give a number of at least 1, or a list of different names."
        )
    for name, value in (("timeout", timeout), ("join_timeout", join_timeout)):
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or value <= 0:
            raise SettingError(f"{name} is {value!r}: give a finite number of seconds above 0.")
