"""Ways in which rows would leave with a copy: pickles, deep copies, prints, and attributes."""

from __future__ import annotations

import copy
import pickle
import pprint
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_DEEPEST = 12


@dataclass(frozen=True)
class Copies:
    """What came of trying to copy a thing.

    Attributes
    ----------
    refused : tuple of str
        Ways that raised an error.
    made : tuple of str
        Ways that gave a copy or a text.
    leaks : tuple of str
        Ways whose result, or whose error, holds a secret; and paths of attributes that lead to one.
    """

    refused: tuple[str, ...]
    made: tuple[str, ...]
    leaks: tuple[str, ...]


Way = Callable[[Any], Any]

WAYS: dict[str, Way] = {
    "pickle": pickle.dumps,
    "pickle of protocol 0": lambda thing: pickle.dumps(thing, protocol=0),
    "deep copy": copy.deepcopy,
    "copy": copy.copy,
    "repr": repr,
    "str": str,
    "pretty print": pprint.pformat,
    "attributes": lambda thing: str(getattr(thing, "__dict__", "")),
    "directory": lambda thing: str(dir(thing)),
}


def read_copies(
    thing: Any, secrets: Sequence[float | str], ways: Mapping[str, Way] | None = None
) -> Copies:
    """Copy a thing in all ways, and look for secrets in what comes out.

    Parameters
    ----------
    thing : object
        A fitted model, a private table, a ledger, an explainer, an error.
    secrets : sequence of float or str
        Values of private rows that occur nowhere else.
    ways : mapping of str to callable, optional
        More ways of copying, each giving bytes, a text or an object.

    Returns
    -------
    Copies
    """
    refused, made, leaks = [], [], []
    for name, way in {**WAYS, **(ways or {})}.items():
        try:
            result = way(thing)
        except Exception as error:
            refused.append(name)
            if _holds(str(error), secrets):
                leaks.append(f"{name}: its error")
            continue
        made.append(name)
        if _holds(result, secrets) or (
            not isinstance(result, (str, bytes)) and find_secrets(result, secrets)
        ):
            leaks.append(name)
    return Copies(tuple(refused), tuple(made), (*leaks, *find_secrets(thing, secrets)))


def find_secrets(thing: Any, secrets: Sequence[float | str]) -> tuple[str, ...]:
    """Paths of attributes, items and cells of closures that lead from a thing to a secret.

    It walks as debuggers, serialisers and error reporters do. Tables beside an object that are
    reached through no attribute of it (`voile.privacy.vault`) are not found, and neither is what
    a determined program would find by the garbage collector.
    """
    return tuple(_walk(thing, "", set(), secrets, 0))


def _walk(
    thing: Any, path: str, seen: set[int], secrets: Sequence[float | str], depth: int
) -> Iterator[str]:
    if id(thing) in seen or depth > _DEEPEST or isinstance(thing, type):
        return
    seen.add(id(thing))
    if _holds(thing, secrets) or _holds(_converted(thing), secrets):
        yield path or "itself"
        return
    for name, inner in _parts(thing):
        yield from _walk(inner, path + name, seen, secrets, depth + 1)


def _converted(thing: Any) -> Any:
    """What numpy makes of a frame, a series or anything else that turns into an array."""
    if isinstance(thing, np.ndarray) or not hasattr(type(thing), "__array__"):
        return None
    try:
        return np.asarray(thing)
    except Exception:
        return None


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, (str, bytes, int, float, np.ndarray)):
        return
    if isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", value) for key, value in list(thing.items()))
    elif isinstance(thing, (list, tuple, set, frozenset)):
        yield from ((f"[{place}]", value) for place, value in enumerate(thing))
    attributes = getattr(thing, "__dict__", None)
    if isinstance(attributes, dict):
        yield from ((f".{name}", value) for name, value in list(attributes.items()))
    for kind in type(thing).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__") and hasattr(thing, name):
                yield f".{name}", getattr(thing, name)
    for place, cell in enumerate(getattr(thing, "__closure__", None) or ()):
        try:
            yield f".closure[{place}]", cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _holds(thing: Any, secrets: Sequence[float | str]) -> bool:
    """Whether a value, text, bytes or array holds a secret."""
    for secret in secrets:
        if isinstance(thing, str):
            # Numbers may be printed shorter than they are, and then rounded.
            shown = [secret] if isinstance(secret, str) else [repr(secret)[:8], f"{secret:.6g}"]
            if any(one in thing for one in shown):
                return True
        elif isinstance(thing, bytes):
            raw = secret.encode() if isinstance(secret, str) else np.float64(secret).tobytes()
            texts = (raw, raw[::-1], str(secret).encode())
            if any(one in thing for one in texts):
                return True
        elif isinstance(thing, np.ndarray):
            if thing.dtype.kind == "O":
                if any(_holds(one, [secret]) for one in thing.ravel().tolist()):
                    return True
            elif thing.dtype.kind == "f" and not isinstance(secret, str):
                if bool(np.any(thing == np.asarray(secret, dtype=thing.dtype))):
                    return True
            elif thing.dtype.kind == "U" and isinstance(secret, str) and secret in thing.ravel():
                return True
        elif isinstance(thing, float) and not isinstance(secret, str) and thing == secret:
            return True
    return False
