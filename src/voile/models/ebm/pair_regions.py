"""Regions of a pair's grid: parts and cells that their border cuts through are split there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Floats
from voile.errors import SettingError
from voile.models.ebm.edit_settings import Bins, find_ends, find_levels
from voile.models.ebm.model import MISSING
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Category


@dataclass(frozen=True, eq=False)
class PairRegion:
    """A pair, split so that a region is whole cells of it: those of some rows and columns."""

    pair: PairTerm
    rows: Bins
    columns: Bins


@dataclass(frozen=True, eq=False)
class _AxisRegion:
    """A side that was split, and the parts of it that are meant.

    Attributes
    ----------
    axis : PairAxis
    source : ndarray of shape (parts,)
        The part that each part was cut from.
    share : ndarray of shape (parts,)
        How much of it: by width, or by the number of levels.
    chosen : ndarray
        Numbers of the parts that are meant.
    """

    axis: PairAxis
    source: Bins
    share: Floats
    chosen: Bins


def find_region(pair: PairTerm, where: object) -> PairRegion:
    """The region that an edit's setting ``where`` describes; all of the grid for None.

    Raises
    ------
    SettingError
        If it names other columns, or ranges and levels that they do not have.
    """
    if where is None:
        return PairRegion(pair, np.arange(pair.first.parts), np.arange(pair.second.parts))
    if not isinstance(where, Mapping) or not where or not set(where) <= set(pair.columns):
        first, second = pair.columns
        raise SettingError(
            f"'where' of the pair {pair.name!r} must say which part of {first!r}, {second!r} or "
            f"both is meant: where={{{first!r}: ..., {second!r}: ...}}. Got {where!r} instead."
        )
    sides = [
        _find_side(axis, where[axis.name]) if axis.name in where else _whole(axis)
        for axis in (pair.first, pair.second)
    ]
    return PairRegion(_split(pair, *sides), sides[0].chosen, sides[1].chosen)


def _whole(axis: PairAxis) -> _AxisRegion:
    every = np.arange(axis.parts)
    return _AxisRegion(axis, every, np.ones(axis.parts), every)


def _find_side(axis: PairAxis, given: object) -> _AxisRegion:
    if isinstance(axis.column, Category):
        levels = given if isinstance(given, list) else [given]
        codes = find_levels(axis.name, axis.column, levels, missing=True)
        return _split_levels(axis, axis.column, codes)
    if given is None or given == MISSING:
        return replace(_whole(axis), chosen=np.array([axis.parts - 1]))
    return _split_range(axis, *find_ends(axis.name, axis.column, given, "(a, b)"))


def _split_range(axis: PairAxis, low: float, high: float) -> _AxisRegion:
    """A number's side with cuts at both ends of a range."""
    before = axis.edges
    edges = np.union1d(before, [low, high])
    intervals = np.searchsorted(before, edges[:-1], side="right") - 1
    widths = np.diff(edges) / np.diff(before)[intervals]
    start, stop = np.searchsorted(edges, [low, high])
    return _AxisRegion(
        axis=replace(axis, cuts=_frozen(edges[1:-1])),
        source=np.append(intervals, axis.parts - 1),
        share=np.append(widths, 1.0),
        chosen=np.arange(start, stop),
    )


def _split_levels(axis: PairAxis, column: Category, codes: Bins) -> _AxisRegion:
    """A category's side whose parts are each inside or outside of some levels.

    Levels in an order stay in it: a part whose middle is meant becomes three.
    """
    inside = np.isin(np.arange(len(axis.groups)), codes)
    groups = np.empty_like(axis.groups)
    source: list[int] = []
    share: list[float] = []
    chosen: list[int] = []
    for part in range(axis.parts):
        members = np.flatnonzero(axis.groups == part)
        for piece in _pieces(members, inside[members], in_order=column.ordered):
            groups[piece] = len(source)
            if inside[piece[0]]:
                chosen.append(len(source))
            source.append(part)
            share.append(len(piece) / len(members))
    groups.setflags(write=False)
    return _AxisRegion(
        replace(axis, groups=groups), np.array(source), np.array(share), np.array(chosen)
    )


def _pieces(members: Bins, inside: NDArray[np.bool_], *, in_order: bool) -> list[Bins]:
    """The levels of a part that are meant, and the others; by their first level."""
    if in_order:
        return np.split(members, np.flatnonzero(np.diff(inside)) + 1)
    pieces = [members[inside], members[~inside]]
    return sorted((piece for piece in pieces if len(piece)), key=lambda piece: int(piece[0]))


def _split(pair: PairTerm, first: _AxisRegion, second: _AxisRegion) -> PairTerm:
    """The pair with other sides: the same scores, and counts divided as the parts are."""
    if first.axis.parts == pair.first.parts and second.axis.parts == pair.second.parts:
        return pair
    cells = np.ix_(first.source, second.source)
    shares = np.outer(first.share, second.share)

    def divide(amounts: Floats) -> Floats:
        return _frozen(amounts[cells] * shares)

    return replace(
        pair,
        first=first.axis,
        second=second.axis,
        scores=_frozen(pair.scores[cells]),
        standard_errors=_frozen(pair.standard_errors[cells]),
        counts=divide(pair.counts),
        count_errors=divide(pair.count_errors),
        whole_errors=None if pair.whole_errors is None else _frozen(pair.whole_errors[cells]),
        evidence=None,
    )


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
