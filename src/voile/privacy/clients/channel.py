"""How messages reach clients: bytes there, bytes back, and what counts as silence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Silence:
    """No answer, and why as far as is known."""

    reason: str


class Channel(Protocol):
    """Carries messages between one server and its clients; Flower is one (`voile.federated`)."""

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of all clients of the job; they stay the same while it runs."""

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes | Silence]:
        """Send each named client its message and wait for the answers, for a limited time.

        Returns
        -------
        dict
            For every name asked: the answer's bytes, or `Silence`. A client's fault never raises.
        """


class LocalChannel:
    """Clients in this process, asked one after the other: for tests, studies and simulations.

    Parameters
    ----------
    answers : mapping of str to callable
        Each client's way to answer, such as the ``answer`` of its `ClientAgent`.
    """

    def __init__(self, answers: Mapping[str, Callable[[bytes], bytes]]) -> None:
        self._answers = dict(answers)

    @property
    def clients(self) -> tuple[str, ...]:
        """Names of all clients."""
        return tuple(self._answers)

    def ask(self, messages: Mapping[str, bytes]) -> dict[str, bytes | Silence]:
        """Ask in the order of the messages."""
        result: dict[str, bytes | Silence] = {}
        for name, message in messages.items():
            try:
                result[name] = self._answers[name](message)
            except Exception as error:
                result[name] = Silence(f"the client failed with {type(error).__name__}")
        return result
