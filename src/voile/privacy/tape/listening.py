"""Where an audit listens: nothing happens here unless a tape runs.

`voile.privacy.noise` draws through `overheard`, the vault reports each opening, a selection hands
in its sampler, and a client of a federation says that it is the one who answers. A tape belongs to
its context: other threads draw as ever, and a run that draws in threads of its own is told that its
noise was not heard. Under a tape no receipt states a guarantee.
Proof: docs/proofs/replay.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from voile.errors import SettingError

if TYPE_CHECKING:
    from voile.privacy.queries import Query
    from voile.privacy.tape.tape import Tape

Draw = TypeVar("Draw", bound=Callable[..., Any])

_running: ContextVar[Tape | None] = ContextVar("voile_tape", default=None)


def current() -> Tape | None:
    """The tape that runs, if any."""
    return _running.get()


@contextmanager
def listen(tape: Tape) -> Iterator[None]:
    """Let a tape hear all that happens in the block."""
    if current() is not None:
        raise SettingError("One audit listens already: replay one run after the other.")
    token = _running.set(tape)
    try:
        yield
    finally:
        _running.reset(token)


def overheard(draw: Draw) -> Draw:
    """A function that draws, heard (and in a replay answered) by the method of the tape with its
    name.
    """
    hear = draw.__name__.strip("_")

    @functools.wraps(draw)
    def drawn(*args: Any, **named: Any) -> Any:
        tape = current()
        if tape is None:
            return draw(*args, **named)
        return getattr(tape, hear)(draw, *args, **named)

    return drawn  # type: ignore[return-value]


def sampled(sampler: Callable[[], int], candidates: int) -> int:
    """The position that a private selection draws; a tape works out its law, too."""
    tape = current()
    return sampler() if tape is None else tape.choose(sampler, candidates)


def summed(query: Query, grid: float) -> None:
    """Say what is added up over the rows."""
    tape = current()
    if tape is not None:
        tape.sum(query, grid)


def grouped(groups: int) -> None:
    """Say that rows are dealt into so many groups."""
    tape = current()
    if tape is not None:
        tape.group(groups)


def keyed(names: Callable[[], Sequence[object]]) -> None:
    """Say to what values (or rows) the next draws belong, where their number is private, too."""
    tape = current()
    if tape is not None:
        tape.name(names())


def at_client(name: str) -> AbstractContextManager[None]:
    """All that is drawn in the block is drawn by this client of a federation."""
    tape = current()
    return nullcontext() if tape is None else tape.at_client(name)
