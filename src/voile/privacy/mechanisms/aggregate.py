"""Sample and aggregate: learn on disjoint random groups of rows, release what the groups agree on.

Nissim, Raskhodnikova & Smith 2007. One row is in one group, so it changes one group's output,
whatever is learned. `aggregate_mean` clips the outputs to a ball and adds Gaussian noise to their
sum (sensitivity: the diameter of the ball, for one row added, removed or replaced).
`center_of_attention` releases the output with most others near it, with noise for its smooth
sensitivity. Proof: docs/proofs/aggregate.md.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.errors import PlanError, SettingError, VaultError
from voile.privacy import noise
from voile.privacy.events import Approximate, Gaussian, Unprotected
from voile.privacy.grant import Ticket
from voile.privacy.mechanisms.attention import (
    SmoothNoise,
    UnitBox,
    attend,
    check_noise,
    noise_scale,
    smooth_noise,
)
from voile.privacy.mechanisms.release import Release
from voile.privacy.query_kernels import check_bound, clipped_total
from voile.privacy.sources.block import Column
from voile.privacy.sources.source import RowSource, worker_count
from voile.privacy.tape.listening import grouped
from voile.privacy.vault import PrivateTable, open_rows

Learner = Callable[[dict[str, NDArray[Any]]], ArrayLike]
"""Learns a vector from what the rows of one group keep.

A function of these arrays and public values alone: the same arrays give the same vector, and no
call leaves anything behind for another. The proof rests on it, and Python cannot enforce it.
"""

_NOISELESS_BITS = 30


def aggregate_mean(
    table: PrivateTable,
    kept_names: Collection[str],
    learn: Learner,
    *,
    groups: int,
    size: int,
    bound: float,
    centre: ArrayLike = 0.0,
    ticket: Ticket,
) -> Release:
    """Release the mean of what is learned on random groups of rows, with Gaussian noise.

    Parameters
    ----------
    table : PrivateTable
        Of rows that are their own privacy unit, without weights.
    kept_names : collection of str
        Which arrays, kept per row by `voile.privacy.vault.keep`, the learner gets.
    learn : callable
        Maps the arrays of a group (name to array, in table order) to a vector of shape (size,); a
        function of them and of public values alone. May run in several threads at once. A group
        without rows, an exception, another shape or a value that is not finite count as ``centre``,
        and nobody is told.
    groups : int
        Each row is dealt into one of so many groups, at random.
    size : int
        Length of the vector.
    bound : float
        Outputs are clipped to this L2 distance from ``centre``.
    centre : float or array of shape (size,)
        Public.
    ticket : Ticket
        One access of a ``Gaussian`` or (without noise) ``Unprotected`` event.

    Returns
    -------
    Release
        The standard error of each value is noise multiplier x 2 x bound / groups. Values are
        ``centre`` plus a multiple of the grid.
    """
    groups, size = _whole(groups, "groups", 1), _whole(size, "size", 1)
    bound = float(bound)
    check_bound(bound)
    middle = _vector(centre, "centre", size)
    _check_table(table, kept_names)
    event = ticket.event
    match event:
        case Gaussian():
            scale = event.noise_multiplier * 2 * bound
            grid = noise.grid_for(scale)
        case Unprotected():
            scale, grid = 0.0, 2.0 ** (math.floor(math.log2(bound)) - _NOISELESS_BITS)
        case _:
            raise _wrong(ticket, "a mean of groups", "gaussian")
    outputs = _learn(deal_rows(open_rows(table, ticket), kept_names, groups), learn, size)
    shifted = np.zeros((groups, size))
    with np.errstate(all="ignore"):
        for group, output in outputs.items():
            shifted[group] = output - middle
    total = clipped_total(shifted, bound, grid)
    if scale:
        total += noise.gaussian(size, scale / grid)
    values = middle + total.astype(np.float64) * (grid / groups)
    return Release(ticket.label, values, scale / groups, grid / groups)


def center_of_attention(
    table: PrivateTable,
    kept_names: Collection[str],
    learn: Learner,
    *,
    groups: int,
    size: int,
    lower: ArrayLike,
    upper: ArrayLike,
    ticket: Ticket,
) -> Release:
    """Release what most random groups of rows agree on, with noise for how far they agree.

    Parameters
    ----------
    table, kept_names, learn, size
        As in `aggregate_mean`; what cannot be learned counts as the middle of the box.
    groups : int
        At least 3, and hundreds for noise that is narrower than the box: `attention_groups`.
    lower, upper : float or array of shape (size,)
        A public box; outputs and the released value are clipped to it.
    ticket : Ticket
        One access of an ``Approximate`` or (without noise) ``Unprotected`` event.

    Returns
    -------
    Release
        The noise depends on the rows, so its scale is private: the standard error is NaN.

    Raises
    ------
    SettingError
        If the noise would be wider than the box whatever the rows; nothing was looked at.
    """
    groups, size = _whole(groups, "groups", 3), _whole(size, "size", 1)
    box = UnitBox.of(_vector(lower, "lower", size), _vector(upper, "upper", size))
    _check_table(table, kept_names)
    event = ticket.event
    smooth: SmoothNoise | None = None
    match event:
        case Approximate():
            smooth = smooth_noise(event.epsilon, event.delta, size)
            check_noise(smooth, box, groups, event.epsilon, event.delta)
        case Unprotected():
            pass
        case _:
            raise _wrong(ticket, "a centre of attention", "approximate")
    outputs = _learn(deal_rows(open_rows(table, ticket), kept_names, groups), learn, size)
    points = np.tile(box.middle, (groups, 1))
    for group, output in outputs.items():
        if np.isfinite(output).all():
            points[group] = box.point(output)
    attention = attend(points)
    if smooth is None:
        return Release(ticket.label, box.place(attention.centre), 0.0, box.grid)
    # An integer plus a rounded Gaussian is the rounded sum, whatever the scale.
    noised = attention.centre + noise.gaussian(size, noise_scale(attention, box, smooth))
    return Release(ticket.label, box.place(noised), math.nan, box.grid)


def deal_rows(rows: RowSource, names: Collection[str], groups: int) -> list[dict[str, Column]]:
    """Deal each row into one of ``groups`` at random; what the rows of each group keep.

    Independently and uniformly, so a row more or less changes one group and leaves the others
    as they are, in the order of the table. A group without rows has no arrays.
    """
    if rows.holders.summed_only:
        raise VaultError(
            "Sample-and-aggregate needs the rows in one place: use a mechanism that sums."
        )
    grouped(groups)
    parts: list[dict[str, list[Column]]] = [{} for _ in range(groups)]
    kinds: dict[str, tuple[object, tuple[int, ...]]] = {}
    for block in rows.blocks(()):
        places = noise.deal(block.rows, groups)
        # Stable, so that each group keeps the order of the table.
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=groups))[:-1]
        for name in names:
            values = block.kept.get(name)
            if values is None or len(values) != block.rows:
                raise SettingError(f"No {name!r} was kept for every row: keep it beforehand.")
            # Numbers of one type: neither the width of a text nor a conversion while
            # concatenating may tell one group about the rows of another.
            kind = (values.dtype, values.shape[1:])
            if values.dtype.kind not in "biuf" or kinds.setdefault(name, kind) != kind:
                raise SettingError(
                    f"What is kept as {name!r} must be numbers, of the same type and shape for "
                    "every block: convert it when it is kept."
                )
            for part, mine in zip(parts, np.split(order, ends), strict=True):
                if len(mine):
                    part.setdefault(name, []).append(values[mine])
    return [{name: np.concatenate(found) for name, found in part.items()} for part in parts]


def _learn(
    private_groups: list[dict[str, NDArray[Any]]], learn: Learner, size: int
) -> Mapping[int, NDArray[np.float64]]:
    """What was learned on each group; groups without rows or a vector are left out."""

    def one(arrays: dict[str, NDArray[Any]]) -> NDArray[np.float64] | None:
        # A group without rows is never learned on: on an empty table not even the shapes of its
        # arrays are known, and one row in another group must not change that.
        if not arrays:
            return None
        try:
            with np.errstate(all="ignore"):
                output = np.array(learn(arrays), dtype=np.float64)
        except BaseException:  # in a thread of its own, where no interrupt of the user arrives
            return None
        return output if output.shape == (size,) else None

    # Warnings would tell about the rows. They are switched off for the whole process, from
    # outside the threads: switching is not safe inside them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(worker_count(), thread_name_prefix="voile-groups") as pool:
            found = list(pool.map(one, private_groups))
    return {group: output for group, output in enumerate(found) if output is not None}


def _check_table(table: PrivateTable, kept_names: Collection[str]) -> None:
    if isinstance(kept_names, str) or not kept_names:
        raise SettingError("The 'kept_names' must be a list of at least one name.")
    if table.rows_per_unit > 1:
        raise SettingError(
            "Rows are dealt into groups one by one, so a unit of several rows would be in several "
            "groups: use Unit(..., rows=1), or a mechanism that sums over rows."
        )
    if table.weighted:
        raise SettingError(
            "A learner on groups of rows does not know their weights: protect the table without "
            "weights, or use a mechanism that sums over rows."
        )


def _whole(value: int, name: str, least: int) -> int:
    try:
        whole = operator.index(value)
    except TypeError:
        whole = least - 1
    if whole < least:
        raise SettingError(f"The '{name}' must be a whole number >= {least}. Got {value!r}.")
    return whole


def _vector(value: ArrayLike, name: str, size: int) -> NDArray[np.float64]:
    try:
        vector = np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)).copy()
    except (TypeError, ValueError):
        vector = np.full(size, np.nan)
    if not np.isfinite(vector).all():
        raise SettingError(f"The '{name}' must be a finite number, or {size} of them.")
    return vector


def _wrong(ticket: Ticket, what: str, wanted: str) -> PlanError:
    return PlanError(
        f"This access was paid as a {ticket.event.kind!r} event; {what} needs a {wanted!r} one."
    )
