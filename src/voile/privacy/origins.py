"""Where rows come from: whether a job without a ledger is the second on them, and their notes.

Without a ledger nothing adds up what several jobs give away, so the second one warns, once. Rows
are told apart by identity alone: the object, the memory of its columns, the path of a file, the
part that `hold_out` made, the estimator that was cloned. Their values are never compared, because
whether a warning is shown must not depend on a row; so a copy of a table is another table here.

What receipts must say of a table (how its kinds came about) goes with it by identity, too: no way
from a table to a model can lose it.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from voile.errors import NoLedgerWarning, SettingError
from voile.privacy import noise
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger

_ROWS = "on the same rows"
_FAMILY = "of the same estimator, as a search of settings or cross-validation makes by copies,"
_ADVICE = (
    "Each receipt tells of its own job alone, and nothing adds up what all of them give away: "
    "noise averages out. Make one ledger for these people, ledger = Ledger('people.db', "
    "Budget(epsilon=2, delta=1e-6)), and give it to every job as ledger=ledger: it adds up, and "
    "refuses what exceeds the budget. (Rows of other people have a ledger of their own. This is "
    "said once.)"
)


class Origin:
    """Something that rows come from, what of it jobs have used, and of what a warning told."""

    __slots__ = ("told", "used", "what")

    def __init__(self, what: str = _ROWS) -> None:
        self.what = what
        self.used: list[Use] = []
        self.told: list[Use] = []


@dataclass(frozen=True)
class Use:
    """A part of an origin.

    Attributes
    ----------
    origin : Origin
    bounds : tuple of int, or None
        First row of it and the one after the last, where it is a stretch of an array.
    parts : tuple of (division, part)
        Divisions of the origin, one inside the other, and which part of each: different parts of
        one division have no row in common.
    """

    origin: Origin
    bounds: tuple[int, int] | None = None
    parts: tuple[tuple[object, object], ...] = ()

    def overlaps(self, other: Use) -> bool:
        """Whether both may have rows in common, of the same origin."""
        # Equal bounds overlap, though a table without rows has none between them.
        if self.bounds and other.bounds and self.bounds != other.bounds:
            (low, high), (least, most) = self.bounds, other.bounds
            if high <= least or most <= low:
                return False
        for (division, part), (another, its_part) in zip(self.parts, other.parts, strict=False):
            if division is not another:
                return True
            if part != its_part:
                return False
        return True


_LOCK = threading.RLock()


@dataclass(eq=False)
class _Known:
    """What is known of a living object: its own origin, what it is a part of, and its notes."""

    living: weakref.ref[Any]
    origin: Origin
    part_of: tuple[Use, ...] = ()
    notes: tuple[str, ...] = ()


_KNOWN: dict[int, _Known] = {}
"""By the id of the object."""

_MOST_COLUMNS = 64
"""Columns of a frame that are looked up: a wide one keeps its numbers in few arrays."""

_FILES = Origin()
_FAMILIES: dict[str, Origin] = {}
_SENT: dict[str, int] = {}
_NUMBERS = itertools.count()
_TRIALS: list[object] = []
_UNRECORDED: weakref.WeakKeyDictionary[Ledger, tuple[Use, ...]] = weakref.WeakKeyDictionary()


def own_ledger(budget: Budget, *uses: Use) -> Ledger:
    """The ledger of a job that was given none: in memory, for this job alone.

    Parameters
    ----------
    budget : Budget
        Of the job.
    *uses : Use
        What the job uses beside the table that it will pay for.
    """
    ledger = Ledger(budget)
    _UNRECORDED[ledger] = uses
    return ledger


def note_job(ledger: Ledger, uses: tuple[Use, ...]) -> None:
    """Warn if a job without a ledger is about to use what another has used; for the vault."""
    fixed = noise.current_source() is noise.NoiseSource.FIXED
    if _TRIALS or fixed or ledger.budget.unlimited:
        return  # nothing is released, or no guarantee could wear out
    with _LOCK:
        others = _UNRECORDED.pop(ledger, None)
        uses = (*uses, *(others or ()))
        again = [use for use in uses if any(use.overlaps(one) for one in use.origin.used)]
        told = any(use.overlaps(one) for use in uses for one in use.origin.told)
        for use in uses:
            _add(use.origin.used, use)
    if others is None or not again or told:
        return  # a ledger adds up, it is the first job, or it was said before
    warnings.warn(
        f"A second job {again[0].origin.what} has no ledger. {_ADVICE}",
        NoLedgerWarning,
        stacklevel=_frames_of_voile(),
    )
    with _LOCK:
        for use in uses:
            _add(use.origin.told, use)


def _add(uses: list[Use], use: Use) -> None:
    if use not in uses:
        uses.append(use)


@contextmanager
def trials() -> Iterator[None]:
    """Jobs inside are an audit's, which repeats them on purpose and releases none: none warns.

    In all threads: a pool sends copies to its processes from threads of its own.
    """
    this = object()
    _TRIALS.append(this)
    try:
        yield
    finally:
        _TRIALS.remove(this)


def uses_of(source: object) -> tuple[Use, ...]:
    """What a job on a table, column or path uses; nothing where identity cannot be told."""
    if isinstance(source, (str, os.PathLike)):
        place = Path(source).expanduser().resolve()
        # A folder holds its files; two files have no row in common.
        return (Use(_FILES, parts=tuple((None, name) for name in place.parts)),)
    result: list[Use] = []
    with _LOCK:
        for thing, bounds in _identities(source):
            known = _look_up(thing)
            if known is not None:
                result += [Use(known.origin, bounds), *known.part_of]
    return tuple(dict.fromkeys(result))


def note_parts(source: object, parts: tuple[object, ...]) -> None:
    """Remember that a table or column was divided into parts without common rows."""
    if source is None or isinstance(source, str):
        return
    whole, division, notes = uses_of(source), object(), notes_of(source)
    with _LOCK:
        for number, part in enumerate(parts):
            inherited = tuple(replace(use, parts=(*use.parts, (division, number))) for use in whole)
            for thing, _ in _identities(part):
                known = _look_up(thing)
                if known is not None:
                    known.part_of += inherited
            if notes:
                attach_notes(part, notes)


def attach_notes(table: object, notes: tuple[str, ...]) -> None:
    """Have every receipt of a job on a table, or on what `hold_out` makes of it, say something.

    Parameters
    ----------
    table : data frame, pyarrow Table or array
    notes : tuple of str
        Sentences: what the guarantee does not cover.
    """
    with _LOCK:
        known = _look_up(table)
        if known is None:
            raise SettingError(
                f"Notes cannot be attached to a {type(table).__name__}: give a data frame."
            )
        known.notes += notes


def notes_of(table: object) -> tuple[str, ...]:
    """What was attached to a table."""
    known = _KNOWN.get(id(table))
    return known.notes if known is not None and known.living() is table else ()


def new_family() -> str:
    """A name for an estimator and all its copies, in whichever process."""
    return f"{os.getpid()}-{next(_NUMBERS)}"


def family_use(family: str, columns: tuple[str, ...]) -> Use:
    """A fit of one of a family on a table with such columns."""
    with _LOCK:
        origin = _FAMILIES.setdefault(family, Origin(_FAMILY))
    return Use(origin, parts=((None, columns),))


def note_sent(family: str) -> None:
    """Count a copy that may go to another process, where nobody sees here what it does.

    One copy is a file; several are a search that runs in processes.
    """
    if _TRIALS:
        return
    with _LOCK:
        _SENT[family] = _SENT.get(family, 0) + 1
        if _SENT[family] == 2:
            origin = _FAMILIES.setdefault(family, Origin(_FAMILY))
            origin.used.append(Use(origin))


def _look_up(thing: object) -> _Known | None:
    """What is known of a living object; nothing of one that cannot be referred to weakly."""
    key = id(thing)
    known = _KNOWN.get(key)
    if known is None or known.living() is not thing:
        try:
            # When it dies its number may become another's.
            living = weakref.ref(thing, lambda _: _KNOWN.pop(key, None))
        except TypeError:
            return None
        known = _KNOWN[key] = _Known(living, Origin())
    return known


def _identities(source: object) -> Iterator[tuple[object, tuple[int, int] | None]]:
    """The objects that a table lives in: itself, and the arrays behind its columns."""
    if isinstance(source, np.ndarray):
        root = source
        while isinstance(root.base, np.ndarray):
            root = root.base
        yield root, _find_bounds(source, root)
        return
    if isinstance(source, Mapping):
        for column in source.values():
            yield from _identities(column)
        return
    adopted = nw.from_native(source, pass_through=True, allow_series=True, eager_only=True)
    if isinstance(adopted, (nw.DataFrame, nw.Series)):
        native = adopted.to_native()
        yield native, None
        if not adopted.implementation.is_pandas():
            return
        one = isinstance(adopted, nw.Series)
        width = 0 if one else min(native.shape[1], _MOST_COLUMNS)
        columns = [native] if one else [native.iloc[:, k] for k in range(width)]
        for column in columns:
            # Frames made of one another share these arrays; other types would have to be converted.
            if isinstance(column.dtype, np.dtype):
                yield from _identities(column.to_numpy())
        return
    yield source, None


def _find_bounds(view: NDArray[Any], root: NDArray[Any]) -> tuple[int, int] | None:
    """Which rows of the array that owns the memory a view shows; None for all it may be.

    The axis of rows is the one along which both take steps of the same length: of an array of rows
    the first, of a block of columns, as pandas keeps them, the second.
    """
    if view.ndim == 0:
        return None
    offset = view.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    for stride, length in zip(root.strides, root.shape, strict=True):
        if stride == view.strides[0] and stride > 0 and length >= len(view):
            first = offset // stride % length if length else 0
            return first, first + len(view)
    return None


def _frames_of_voile() -> int:
    """Stack level of the caller outside this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("voile."):
        frame, level = frame.f_back, level + 1
    return level
