"""How much a page may hold: as many of its pieces as fit, and a page says how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from markupsafe import Markup

PAGE = 540_000
"""Characters that the pieces of a page may have, so that all of it stays within 700 kB."""


@dataclass
class Room:
    """What is left for pieces, in characters."""

    left: int


_ROOM: ContextVar[Room | None] = ContextVar("room", default=None)


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Draw pages whose pieces have so many characters at most, all together."""
    before = _ROOM.set(Room(size))
    try:
        yield
    finally:
        _ROOM.reset(before)


def draw_some(draw: Callable[[int], Markup], count: int) -> list[Markup]:
    """Pieces of a page, the first ones, as many as it has room for; one at least.

    Parameters
    ----------
    draw : callable
        Given the position of a piece, draws it.
    count : int
        How many there are.
    """
    room = _ROOM.get() or Room(PAGE)
    pieces: list[Markup] = []
    for i in range(count):
        piece = draw(i)
        if pieces and len(piece) > room.left:
            break
        room.left -= len(piece)
        pieces.append(piece)
    return pieces


def draw_if_room(draw: Callable[[], Markup]) -> Markup:
    """A piece that a page can do without; words say so where it does."""
    room, piece = _ROOM.get() or Room(PAGE), draw()
    if len(piece) > room.left:
        return Markup('<p class="note">Left out here: to_html("page.html") writes it.</p>')
    room.left -= len(piece)
    return piece
