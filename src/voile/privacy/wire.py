"""Queries as bytes: plain values, arrays, and the dataclasses that were declared sendable.

Questions travel from a server to clients that must not run anybody's code: what arrives is data,
read back into classes that the client's own installation declares (`sendable`): each field must be
of the type it is annotated with, and then the class's own checks apply. Nothing is pickled. Large
facts that stay the same over many rounds (a schema, a layout) are sent once and named by their
digest afterwards.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from voile.errors import DataError, VoileError
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Plan
from voile.privacy.wire_types import fit_fields
from voile.schema import Schema

C = TypeVar("C", bound=type)

_CLASSES: dict[str, type] = {}
_LASTING: set[type] = {Schema}
_ENUMS: dict[str, type[StrEnum]] = {"NeighbouringRelation": NeighbouringRelation}
_KINDS = "biuf"
_LENGTH = struct.Struct("<I")
_DEEPEST = 32


def sendable(cls: C) -> C:
    """Declare that a frozen dataclass may travel; its fields must be able to, too."""
    name = cls.__name__
    if _CLASSES.setdefault(name, cls) is not cls and _CLASSES[name].__module__ != cls.__module__:
        raise TypeError(f"Two sendable classes are called {name!r}.")
    _CLASSES[name] = cls
    return cls


def lasting(cls: C) -> C:
    """The same for facts that many questions share: sent once, then named by their digest."""
    _LASTING.add(cls)
    return sendable(cls)


@contextmanager
def declared(*classes: type) -> Iterator[None]:
    """Declare classes for a while: what audits send to their own agents, and nobody else knows."""
    new: list[str] = []
    try:
        for one in classes:
            if _CLASSES.get(one.__name__) is not one:
                sendable(one)
                new.append(one.__name__)
        yield
    finally:
        for name in new:
            del _CLASSES[name]


class MissingParts(VoileError):
    """A message names facts that this side does not hold (any more)."""

    def __init__(self, digests: tuple[str, ...]) -> None:
        super().__init__(f"{len(digests)} parts of the message are not here: send them again.")
        self.digests = digests


@dataclass(frozen=True)
class Packed:
    """A message and the lasting facts that it names.

    Attributes
    ----------
    body : bytes
    parts : mapping of digest to bytes
    """

    body: bytes
    parts: Mapping[str, bytes]


class _Arrays:
    """The arrays of a message end to end, while it is written."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> int:
        """Put an array behind the others; where it begins."""
        start = self._length
        self.parts.append(data)
        self._length += len(data)
        return start


class Packer:
    """Packs messages; remembers what it made of lasting facts, which are not packed twice."""

    def __init__(self) -> None:
        # The object is kept beside its digest: an id may be used again once an object is gone.
        self._made: dict[int, tuple[object, str]] = {}
        self._bytes: dict[str, bytes] = {}
        self._needs: dict[str, tuple[str, ...]] = {}

    def pack(self, value: object) -> Packed:
        """Bytes of a value, and of all lasting facts in it."""
        named: dict[str, None] = {}
        body = self._write(self._tree, value, named)
        needed: dict[str, bytes] = {}
        waiting = list(named)
        while waiting:
            digest = waiting.pop()
            if digest not in needed:
                needed[digest] = self._bytes[digest]
                waiting += self._needs[digest]
        return Packed(body, needed)

    @staticmethod
    def _write(
        make: Callable[[object, _Arrays, dict[str, None]], Any],
        value: object,
        named: dict[str, None],
    ) -> bytes:
        arrays = _Arrays()
        tree = make(value, arrays, named)
        head = json.dumps(tree, separators=(",", ":")).encode()
        return b"".join([_LENGTH.pack(len(head)), head, *arrays.parts])

    def _part(self, value: object, named: dict[str, None]) -> str:
        known = self._made.get(id(value))
        if known is None or known[0] is not value:
            inside: dict[str, None] = {}
            data = self._write(self._plain_object, value, inside)
            digest = hashlib.sha256(data).hexdigest()
            self._bytes[digest], self._needs[digest] = data, tuple(inside)
            self._made[id(value)] = known = (value, digest)
        named[known[1]] = None
        return known[1]

    def _tree(self, value: object, arrays: _Arrays, named: dict[str, None]) -> Any:
        if type(value) in _LASTING:
            return {"$p": self._part(value, named)}
        if isinstance(value, (np.bool_, np.integer, np.floating)):
            value = value.item()
        match value:
            case None | bool() | int():
                return value
            case StrEnum():
                if type(value).__name__ not in _ENUMS:
                    raise DataError(f"A {type(value).__name__} cannot be sent.")
                return {"$e": [type(value).__name__, str(value)]}
            case str():
                return value
            case float():
                return value if math.isfinite(value) else {"$f": repr(value)}
            case list():
                return [self._tree(one, arrays, named) for one in value]
            case tuple():
                return {"$t": [self._tree(one, arrays, named) for one in value]}
            case np.ndarray():
                return {"$a": _array(value, arrays)}
            case bytes():
                return {"$b": _array(np.frombuffer(value, dtype=np.uint8), arrays)[1:]}
        return self._plain_object(value, arrays, named)

    def _plain_object(self, value: object, arrays: _Arrays, named: dict[str, None]) -> Any:
        if isinstance(value, Schema):
            return {"$s": value.to_dict()}
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) for key in value):
                raise DataError("Only mappings with text as keys can be sent.")
            inside = {key: self._tree(one, arrays, named) for key, one in value.items()}
            return {"$d": inside}
        if isinstance(value, Plan):
            return {"$plan": value.to_dict()}
        if isinstance(value, Event):
            return {"$event": value.to_dict()}
        cls = type(value)
        if _CLASSES.get(cls.__name__) is not cls:
            raise DataError(
                f"A {cls.__name__} cannot be sent to clients: only what is declared with "
                "voile.privacy.wire.sendable can."
            )
        inside = {
            one.name: self._tree(getattr(value, one.name), arrays, named)
            for one in fields(value)  # type: ignore[arg-type]
            if one.init
        }
        return {"$c": cls.__name__, "$d": inside}


@dataclass
class Unpacker:
    """Reads messages; holds lasting facts by digest.

    Attributes
    ----------
    most : int
        Most bytes of lasting facts that are held; the oldest are forgotten first.
    shared : bool
        Whether what others in this process have read lately need not be read again.
    """

    most: int = 2**28
    shared: bool = False
    _held: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def hold(self, parts: Mapping[str, bytes]) -> None:
        """Take in lasting facts, in an order in which each finds what it names."""
        waiting = {digest: data for digest, data in parts.items() if digest not in self._held}
        for digest, data in waiting.items():
            if hashlib.sha256(data).hexdigest() != digest:
                raise DataError("A part of a message is not what its digest says: send it again.")
        while waiting:
            before = len(waiting)
            for digest, data in list(waiting.items()):
                try:
                    fact = _FACTS.get(digest)
                    fact = self.unpack(data) if fact is None else fact
                except MissingParts:
                    continue
                if type(fact) not in _LASTING:
                    raise DataError("A part of a message is no lasting fact.")
                _FACTS[digest] = fact
                self._held[digest] = (fact, len(data))
                del waiting[digest]
            if len(waiting) == before:
                raise MissingParts(tuple(waiting))
        while sum(size for _, size in self._held.values()) > self.most and len(self._held) > 1:
            del self._held[next(iter(self._held))]

    def unpack(self, body: bytes) -> Any:
        """The value; refuses what is not a message with a `DataError`.

        Raises
        ------
        MissingParts
            If it names lasting facts that are not held.
        """
        for known in tuple(_READ) if self.shared else ():
            if known.fits(body, self._held):
                return known.value
        try:
            (length,) = _LENGTH.unpack_from(body)
            head = json.loads(body[_LENGTH.size : _LENGTH.size + length].decode())
            reading = _WireReading(memoryview(body)[_LENGTH.size + length :], self._held)
            value = reading.value(head, 0)
        except VoileError:
            raise
        except Exception as error:
            raise DataError(
                f"The message cannot be read ({type(error).__name__}): both sides need the same "
                "version of voile."
            ) from error
        if reading.missing:
            raise MissingParts(tuple(reading.missing))
        if self.shared:
            _READ.append(_Read(body, reading.used, value))
        return value


@dataclass(frozen=True, eq=False)
class _Read:
    """A message read lately: a hundred clients in one process are all sent the same."""

    body: bytes
    used: Mapping[str, Any]
    value: Any

    def fits(self, body: bytes, held: Mapping[str, tuple[Any, int]]) -> bool:
        """Whether another reader, with these facts, would read the same."""
        return self.body == body and all(
            digest in held and held[digest][0] is fact for digest, fact in self.used.items()
        )


_FACTS: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""Lasting facts that somebody in this process holds, by digest; they never change."""

_READ: deque[_Read] = deque(maxlen=4)


class _WireReading:
    """One message while it is read."""

    def __init__(self, data: memoryview, held: Mapping[str, tuple[Any, int]]) -> None:
        self._data, self._held, self._taken = data, held, 0
        self.missing: dict[str, None] = {}
        self.used: dict[str, Any] = {}

    def value(self, tree: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise DataError("The message is nested too deeply.")
        if isinstance(tree, list):
            return [self.value(one, depth + 1) for one in tree]
        if not isinstance(tree, dict):
            return tree
        if "$c" in tree:
            return self._object(tree["$c"], tree["$d"], depth)
        ((kind, inside),) = tree.items()
        match kind:
            case "$p":
                if inside not in self._held:
                    self.missing[str(inside)] = None
                    return None
                self.used[inside] = self._held[inside][0]
                return self.used[inside]
            case "$t":
                return tuple(self.value(one, depth + 1) for one in inside)
            case "$d":
                return {str(key): self.value(one, depth + 1) for key, one in inside.items()}
            case "$a":
                return self._array(*inside)
            case "$b":
                return self._array("|u1", *inside).tobytes()
            case "$f":
                return float(inside)
            case "$e":
                return _ENUMS[inside[0]](inside[1])
            case "$s":
                return Schema.from_dict(inside)
            case "$plan":
                return Plan.from_dict(inside)
            case "$event":
                return Event.from_dict(inside)
        raise DataError(f"The message holds something of unknown kind {kind!r}.")

    def _object(self, name: str, inside: Mapping[str, Any], depth: int) -> Any:
        cls = _CLASSES.get(name)
        if cls is None:
            raise DataError(
                f"The message holds a {name!r}, which this installation does not know: import the "
                "module that declares it, or install the server's version of voile."
            )
        given = {str(key): self.value(one, depth + 1) for key, one in inside.items()}
        if self.missing:
            return None
        if set(given) != {one.name for one in fields(cls) if one.init}:
            raise DataError(f"The {name!r} of the message has other fields than this one.")
        return cls(**fit_fields(cls, given))

    def _array(self, kind: str, shape: list[int], start: int, size: int) -> Any:
        dtype = np.dtype(kind)
        if dtype.kind not in _KINDS or dtype.byteorder == ">":
            raise DataError(f"An array of kind {kind!r} cannot be received.")
        count = math.prod(shape)
        if min([0, start, *shape]) < 0 or size != count * dtype.itemsize:
            raise DataError("An array of the message has another size than it says.")
        self._taken += size
        # Each byte belongs to one array: a small message must not become a large one.
        if start + size > len(self._data) or self._taken > len(self._data):
            raise DataError("The message is shorter than it says: it was cut on its way.")
        # A copy: kernels are compiled for arrays that can be written to.
        return np.frombuffer(self._data[start : start + size], dtype=dtype).reshape(shape).copy()


def _array(value: np.ndarray[Any, Any], arrays: _Arrays) -> list[Any]:
    if value.dtype.kind not in _KINDS:
        raise DataError(f"An array of {value.dtype} cannot be sent: numbers only.")
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    data = little.tobytes()
    return [little.dtype.str, list(value.shape), arrays.add(data), len(data)]
