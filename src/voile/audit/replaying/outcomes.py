"""All that leaves a run: what it returned, printed, warned of, logged or raised, leaf by leaf.

Two runs with the same releases must agree in every leaf: what differs came from the rows. Rows in
the vault, and ledgers (compared by their entries), are not looked into; all else is, private
attributes, closures and caches included.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import io
import logging
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voile.privacy.ledger import Ledger
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable

_DEEPEST = 60
_PRIVATE = (PrivateTable, Ledger)
_OPAQUE = (types.ModuleType, types.BuiltinFunctionType, type, np.ufunc, np.dtype)
_WORDS = ("Lock", "RLock", "Thread", "Queue", "Logger", "Dispatcher", "Weak")


@dataclass
class Outcome:
    """What one run left behind.

    Attributes
    ----------
    leaves : dict of str to str
        Path and digest of every number, text or array.
    receipts : list of Receipt
        Found among what was returned.
    failure : str
        The error that ended the run; empty if none did.
    """

    leaves: dict[str, str] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)
    failure: str = ""

    def unlike(self, other: Outcome) -> set[str]:
        """Paths of leaves that differ, or that one of the two lacks."""
        both = self.leaves.keys() | other.leaves.keys()
        return {path for path in both if self.leaves.get(path) != other.leaves.get(path)}


def watch_run(run: Callable[[], Any], ledger: Ledger | None) -> Outcome:
    """Run, and gather all that comes out."""
    outcome = Outcome()
    printed, complained = io.StringIO(), io.StringIO()
    result: Any = None
    with (
        warnings.catch_warnings(record=True) as warned,
        redirect_stdout(printed),
        redirect_stderr(complained),
        _logged() as logged,
    ):
        warnings.simplefilter("always")
        try:
            result = run()
        except Exception as error:
            outcome.failure = f"{type(error).__name__}: {error}"
    seen = _Walk(outcome)
    seen.enter("returned", result)
    seen.enter("raised", outcome.failure)
    seen.enter("printed", printed.getvalue())
    seen.enter("printed as an error", complained.getvalue())
    seen.enter("warnings", [(one.category.__name__, str(one.message)) for one in warned])
    seen.enter("log", logged)
    if ledger is not None:
        for i, entry in enumerate(ledger.history()):
            facts = (entry.what, entry.kind, entry.plan, entry.price, entry.total, entry.alone)
            seen.enter(f"ledger entry {i + 1}", facts)
    return outcome


@contextmanager
def _logged() -> Iterator[list[str]]:
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.name}: {record.getMessage()}")

    handler, logger = Lines(), logging.getLogger("voile")
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


class _Walk:
    """Goes through values and notes their leaves."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._seen: dict[int, str] = {}
        self._alive: list[Any] = []

    def enter(self, path: str, value: Any, depth: int = 0) -> None:
        if isinstance(value, Receipt):
            self._outcome.receipts.append(value)
        text = _plain(value)
        if text is not None:
            self._outcome.leaves[path] = text
            return
        # Each object once: a second path to it is named by the first, so that cycles end.
        before = self._seen.get(id(value))
        if before is not None or depth > _DEEPEST:
            self._outcome.leaves[path] = f"see {before}"
            return
        self._seen[id(value)] = path
        self._alive.append(value)  # no other object may get its address meanwhile
        self._outcome.leaves[path] = type(value).__qualname__
        for name, part in _parts(value):
            self.enter(f"{path}{name}", part, depth + 1)


def _plain(value: Any) -> str | None:
    """The digest of a leaf; None for what has parts."""
    if value is None or isinstance(value, (bool, int, str, bytes, enum.Enum)):
        text = repr(value)
        return text if len(text) < 80 else f"{text[:40]} {_digest(text.encode())}"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value.hex()
    if isinstance(value, (*_PRIVATE, *_OPAQUE)):
        return f"<{type(value).__name__} {getattr(value, '__qualname__', '')}>"
    module, name = type(value).__module__, type(value).__name__
    if module.startswith("voile.privacy.sources") or any(word in name for word in _WORDS):
        return f"<{name}>"
    if module.split(".")[0] == "torch" and name in ("Tensor", "Parameter"):
        value = value.detach().cpu().numpy()
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        array = np.ascontiguousarray(value)
        return f"{array.dtype}{list(array.shape)} {_digest(array.tobytes())}"
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        for i, (key, part) in enumerate(list(value.items())):
            text = _plain(key)
            yield f"[{text if text is not None else i}]", part
            if text is None:
                yield f"[{i}] key", key
        return
    if isinstance(value, (list, tuple)):
        yield from ((f"[{i}]", part) for i, part in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        texts = sorted(_plain(part) or type(part).__name__ for part in value)
        yield "{}", texts
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
    elif isinstance(value, types.MethodType):
        yield ".self", value.__self__
    elif isinstance(value, types.FunctionType):
        for i, cell in enumerate(value.__closure__ or ()):
            try:
                yield f".closure[{i}]", cell.cell_contents
            except ValueError:  # not filled yet
                continue
    yield from _attributes(value)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, types.FunctionType):
        return
    for name, part in list(getattr(value, "__dict__", {}).items()):
        yield f".{name}", part
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                yield f".{name}", getattr(value, name)
    state = getattr(getattr(value, "bit_generator", None), "state", None)
    if isinstance(state, dict):
        yield ".bit_generator.state", state


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


assert sys.getrecursionlimit() > 10 * _DEEPEST
