"""What a network holds besides its trained weights: copies of it, and whether it has changed.

A pass that leaves something behind (a counter, a cache, a running mean) would carry one row into
the gradient of another. Everything that can be reached from a module is compared, so that such a
module can be refused or replaced by a copy: docs/proofs/network.md. Neither pickles nor state
dictionaries would do: they leave out what a class does not name.
"""

from __future__ import annotations

import copy
import enum
import pathlib
import pickle
import re
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Iterator
from operator import is_
from typing import Any

import numpy as np
import torch
from torch import nn

from voile.errors import SettingError

_MOST_PARTS = 200_000
"""Parts of a network that are compared; more is no network but a pointer to half a program."""

_PLAIN = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, re.Pattern),
    *(torch.dtype, torch.device, torch.memory_format, np.generic, np.dtype, enum.Enum),
    *(pathlib.PurePath, type(Ellipsis)),
)
"""Values that do not change themselves."""

_CODE = (
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, weakref.ref),
    *(types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType),
)
"""Code: compared by identity. What it refers to lies outside of the network."""

_FIXED = _PLAIN + _CODE
_ROWS_OF = (list, tuple, deque)
_CONTAINERS = (dict, OrderedDict, list, set, deque)

Content = tuple[tuple[Any, ...], tuple[Any, ...]]
"""Names and values of what something holds."""


def copy_of(module: nn.Module, name: str) -> nn.Module:
    """A copy of a network as it is.

    Raises
    ------
    SettingError
        If it cannot be copied.
    """
    try:
        return copy.deepcopy(module)
    except Exception as error:
        raise SettingError(
            f"The network {name!r} cannot be copied ({type(error).__name__}: {error}), so nothing "
            "ensures that one row's pass leaves nothing to the next: keep only numbers, tensors "
            "and containers in it; no open files, locks, or tensors that are results."
        ) from error


def refuse_shared(module: nn.Module, copied: nn.Module, name: str) -> None:
    """Refuse a copy that shares something that can change with its original (SettingError)."""
    parts = list(_parts(module, name))  # alive, so that no number is used again
    own = {id(one) for _, one in parts if not isinstance(one, _FIXED)}
    for path, one in _parts(copied, name):
        if id(one) in own and not _holds_nothing(one):
            raise SettingError(
                f"A copy of the network {name!r} shares {path or 'itself'!r} with its original: "
                "what a pass leaves there would reach other rows. Let copy.deepcopy copy it, or "
                "keep it out of the network."
            )


def _holds_nothing(one: object) -> bool:
    """Whether it is of values that cannot change: copies share such tuples."""
    if isinstance(one, tuple | frozenset):
        return all(isinstance(part, _FIXED) or _holds_nothing(part) for part in one)
    return False


class Snapshot:
    """A module as it is now, to be compared with itself later.

    Parameters
    ----------
    module : nn.Module
    name : str
        For errors.
    free : list of tensor
        Parameters whose values may change: who writes them compares them.

    Raises
    ------
    SettingError
        If it holds something that cannot be compared.
    """

    def __init__(self, module: nn.Module, name: str, free: list[nn.Parameter]) -> None:
        self._open = {id(one) for one in free}
        self._tensors: list[tuple[str, torch.Tensor, torch.Tensor | None, torch.Size]] = []
        self._held: list[tuple[str, object, Content]] = []
        self._empty: list[tuple[str, Any]] = []
        for path, one in _parts(module, name):
            if isinstance(one, torch.Tensor):
                self._tensors.append((path, one, self._bits_of(one, path, name), one.shape))
            elif type(one) in _CONTAINERS and not one:
                # Hooks, mostly: they are many, and told apart at once.
                self._empty.append((path, one))
            elif not isinstance(one, _FIXED) and not _holds_nothing(one):
                self._held.append((path, one, _content(one, path, name)))
        self._containers: list[Any] = [one for _, one in self._empty]

    def _bits_of(self, one: torch.Tensor, path: str, name: str) -> torch.Tensor | None:
        if id(one) in self._open:
            return None
        try:
            return _bits(one).clone()
        except RuntimeError as error:
            raise _cannot_be_compared(one, path, name) from error

    def change(self) -> str | None:
        """Where the first change is, as a path of attributes; None if there is none."""
        if any(map(len, self._containers)):
            path, one = next(pair for pair in self._empty if pair[1])
            return _join(path, next(iter(one)) if isinstance(one, dict) else 0)
        for path, one, (names, values) in self._held:
            try:
                new_names, new_values = _content_of(one)
            except Exception:
                return path
            # The same objects nearly always: the quick answer.
            same_size = len(new_names) == len(names)
            identical = same_size and all(map(is_, values, new_values))
            if not (identical and all(map(is_, names, new_names))):
                found = _first_change(names, values, new_names, new_values)
                if found is not None:
                    return _join(path, found)
        for path, tensor, before, shape in self._tensors:
            # A gradient that is kept is a trace of rows, too.
            if tensor.shape != shape or (tensor.is_leaf and tensor.grad is not None):
                return path
            if before is not None and not torch.equal(before, _bits(tensor)):
                return path
        return None


def _first_change(
    names: tuple[Any, ...],
    values: tuple[Any, ...],
    new_names: tuple[Any, ...],
    new_values: tuple[Any, ...],
) -> object | None:
    """The name of what differs in a container by value."""
    for name, value, new_name, new in zip(names, values, new_names, new_values, strict=False):
        if not (same(name, new_name) and same(value, new)):
            return new_name  # type: ignore[no-any-return]
    if len(names) == len(new_names):
        return None
    return (new_names if len(new_names) > len(names) else names)[-1]  # type: ignore[no-any-return]


def same(one: object, other: object) -> bool:
    """Whether values are equal to the bit; other objects must be the same ones."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        alike = one.shape == other.shape and one.dtype == other.dtype
        return alike and torch.equal(_bits(one), _bits(other))
    if isinstance(one, float | complex | np.generic):
        return pickle.dumps(one) == pickle.dumps(other)
    if isinstance(one, _PLAIN):
        return bool(one == other)
    if isinstance(one, (*_ROWS_OF, dict, types.MethodType)):
        (names, values), (new_names, new_values) = _content_of(one), _content_of(other)
        return len(names) == len(new_names) and (
            _first_change(names, values, new_names, new_values) is None
        )
    return False


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor: what is not a number is equal to itself there."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _content(one: object, path: str, name: str) -> Content:
    try:
        return _content_of(one)
    except Exception as error:
        raise _cannot_be_compared(one, path, name) from error


def _cannot_be_compared(one: object, path: str, name: str) -> SettingError:
    return SettingError(
        f"The network {name!r} holds {path!r}, a {type(one).__name__} that cannot be compared, so "
        "nobody can tell whether a pass changes it: keep numbers, tensors and containers of them."
    )


def _content_of(one: Any) -> Content:
    """Names and values of what an object holds."""
    if isinstance(one, nn.Module):
        return tuple(one.__dict__), tuple(one.__dict__.values())
    if isinstance(one, dict):
        names, values = tuple(one.keys()), tuple(one.values())
    elif isinstance(one, _ROWS_OF):
        names, values = tuple(range(len(one))), tuple(one)
    elif isinstance(one, set | frozenset):
        values = tuple(sorted(one, key=repr))
        names = tuple(range(len(values)))
    elif isinstance(one, np.ndarray) and one.dtype != object:
        names, values = ("shape", "dtype", "bytes"), (one.shape, one.dtype, one.tobytes())
    elif isinstance(one, types.MethodType):
        return ("__func__", "__self__"), (one.__func__, one.__self__)
    else:
        # Attributes, and what an object that is not of Python keeps beside them.
        names, values = ("reduced",), (one.__reduce_ex__(4),)
    own = getattr(one, "__dict__", None)
    if own:
        names, values = names + tuple(own), values + tuple(own.values())
    return names, values


def _parts(module: nn.Module, name: str) -> Iterator[tuple[str, object]]:
    """Everything that can be reached from a module, each once, with the path to it."""
    waiting: deque[tuple[str, object]] = deque([("", module)])
    # Objects stay alive as long as their numbers are remembered.
    seen: dict[int, object] = {}
    while waiting:
        path, one = waiting.popleft()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if len(seen) > _MOST_PARTS:
            raise SettingError(
                f"The network {name!r} holds more than {_MOST_PARTS} parts, {path!r} among them, "
                "which are too many to compare after each pass: keep data out of networks."
            )
        yield path, one
        if isinstance(one, torch.Tensor):
            # Notes that code may leave on a tensor.
            waiting.append((f"{path}.__dict__", one.__dict__))
        elif not isinstance(one, _FIXED):
            names, values = _content(one, path, name)
            inner = zip(names, values, strict=True)
            waiting.extend((_join(path, part), value) for part, value in inner)


def _join(path: str, name: object) -> str:
    """The path of a part; submodules, buffers and parameters by the names that torch gives them."""
    for holder in ("_modules", "_buffers", "_parameters"):
        if path == holder or path.endswith(f".{holder}"):
            path = path[: -len(holder)].rstrip(".")
    return f"{path}.{name}" if path else str(name)
