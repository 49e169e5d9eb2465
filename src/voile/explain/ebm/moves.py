"""What columns of a row may change to, and what each change adds to the scores: alone and in pairs.

A column's values are told apart where its own curve or one of its pairs tells them apart. Within
such a part only the value nearest to the present one matters (docs/proofs/counterfactuals.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.search import Puzzle
from voile.explain.counterfactuals.steps import steps_of
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Category
from voile.schema.columns import Column

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LARGEST_ERROR = 1e3
"""Stands for an error that is not known."""


@dataclass(frozen=True, eq=False)
class PairMoves:
    """Where a pair goes when its columns change: cells of a grid whose first one is the row's own.

    Attributes
    ----------
    sides : tuple of two ndarray of shape (choices,)
        Row and column of the grid that each choice leads to; 0 if it leaves them as they are.
    moves : ndarray of shape (rows, columns, outputs)
        What each cell adds to the scores, beyond the row's own cell.
    errors : ndarray of shape (rows, columns, outputs)
        Standard error of the pair's part of the scores in each cell.
    """

    sides: tuple[Ints, Ints]
    moves: Floats
    errors: Floats

    def cell(self, picked: Ints) -> tuple[int, int]:
        """The cell that choices lead to, at most one of each column."""
        first, second = (int(side[picked].max(initial=0)) for side in self.sides)
        return first, second


@dataclass(frozen=True, eq=False)
class Moves:
    """Values that columns may change to, one for each part that the model tells apart.

    Attributes
    ----------
    columns, costs, values : ndarray of shape (choices,)
    moves : ndarray of shape (choices, outputs)
        What each adds to the scores by the column's own curve.
    errors, own_errors : ndarray of shape (choices, outputs)
        Standard error of the curve's part of the scores, with the choice and without.
    pairs : tuple of PairMoves
        Pairs of which at least one column may change.
    """

    columns: Ints
    costs: Floats
    values: Floats
    moves: Floats
    errors: Floats
    own_errors: Floats
    pairs: tuple[PairMoves, ...]

    def row(self, puzzle: Puzzle, picked: Ints) -> Floats:
        """The asked row with what was picked."""
        found = puzzle.start.copy()
        found[self.columns[picked]] = self.values[picked]
        return found

    def total(self, picked: Ints) -> Floats:
        """What everything that was picked adds to the scores, shape (outputs,)."""
        found = self.moves[picked].sum(axis=0)
        for pair in self.pairs:
            found = found + pair.moves[pair.cell(picked)]
        return np.asarray(found)


def list_moves(model: EBMModel, puzzle: Puzzle, row: Mapping[str, float]) -> Moves:
    """All values that columns of a row may change to.

    Parameters
    ----------
    model : EBMModel
    puzzle : Puzzle
    row : mapping of str to float
        Encoded values of all columns.
    """
    columns, costs, values, moves, errors, own_errors = [], [], [], [], [], []
    for j, name in enumerate(puzzle.names):
        term, start = model[name], float(puzzle.start[j])
        own = int(term.find_bins(encode(term.column, start))[0])
        found = np.array(_list_values(model, term, start), dtype=np.float64)
        found = found[puzzle.actions.admit(name, start, found)]
        places = term.find_bins(found)
        columns.append(np.full(len(found), j, dtype=np.int64))
        values.append(found)
        costs.append(np.maximum(puzzle.ruler.cost(name, start, found), 1e-9))
        moves.append(term.scores[places] - term.scores[own])
        errors.append(known(term.errors[places]))
        own_errors.append(np.tile(known(term.errors[own]), (len(found), 1)))
    owners, told = np.concatenate(columns), np.concatenate(values)
    pairs = [
        _move_pair(pair, puzzle.names, owners, told, row)
        for pair in model.pairs
        if set(pair.columns) & set(puzzle.names)
    ]
    return Moves(
        columns=owners,
        costs=np.concatenate(costs),
        values=told,
        moves=np.concatenate(moves),
        errors=np.concatenate(errors),
        own_errors=np.concatenate(own_errors),
        pairs=tuple(pairs),
    )


def _move_pair(
    pair: PairTerm,
    names: tuple[str, ...],
    owners: Ints,
    values: Floats,
    row: Mapping[str, float],
) -> PairMoves:
    """The cells of a pair that choices lead to, the row's own in front."""
    parts, sides = [], []
    for axis in (pair.first, pair.second):
        here = np.flatnonzero(owners == (names.index(axis.name) if axis.name in names else -1))
        own = axis.find(encode(axis.column, row[axis.name]))
        found = axis.find(encode(axis.column, values[here]))
        others = np.setdiff1d(found, own)
        parts.append(np.concatenate([own, others]))
        side = np.zeros(len(owners), dtype=np.int64)
        side[here] = np.where(found == own, 0, np.searchsorted(others, found) + 1)
        sides.append(side)
    cells = np.ix_(*parts)
    return PairMoves(
        (sides[0], sides[1]),
        pair.scores[cells] - pair.scores[parts[0][0], parts[1][0]],
        known(pair.errors[cells]),
    )


def _list_values(model: EBMModel, term: Term, start: float) -> list[float]:
    """A value of each part of a column with rows, but the present one's."""
    seen = _seen_bins(term)
    column = term.column
    if isinstance(column, Category):
        return [float(b) for b in seen if b != start]
    cuts = [side.cuts for pair in model.pairs for side in _sides(pair, term.name)]
    edges = np.unique(np.concatenate([term.edges, *cuts]))
    low, high = term.edges[0], term.edges[-1]
    edges = edges[(edges >= low) & (edges <= high)]
    inner = edges[1:-1]
    # The part of a present value; beyond all if it is missing, which is below none.
    own = math.nan if math.isnan(start) else float(np.searchsorted(inner, start, side="right"))
    steps, found = steps_of(column), []
    for k, bin_of in enumerate(term.find_bins(edges[:-1]).tolist()):
        if k != own and bin_of in seen:
            value = steps.inside(
                float(edges[k]), float(edges[k + 1]), first=math.isnan(own) or k > own
            )
            found += [] if value is None else [value]
    return found


def _sides(pair: PairTerm, name: str) -> list[PairAxis]:
    return [side for side in (pair.first, pair.second) if side.name == name]


def _seen_bins(term: Term) -> list[int]:
    """Bins in which there are rows, as far as the noise lets us tell; all if in none."""
    counts, errors = regular(term, term.counts), regular(term, term.count_errors)
    seen = np.flatnonzero((counts > 2 * errors) & (counts > 0))
    return [int(b) for b in (seen if len(seen) else np.arange(len(counts)))]


def encode(column: Column, values: float | Floats) -> NDArray[Any]:
    """Encoded values as an array that a term, or a side of a pair, reads."""
    found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return found.astype(np.int32) if isinstance(column, Category) else found


def regular(term: Term, values: Floats) -> Floats:
    """Values of bins without those for other and missing values."""
    return values[: -2 if isinstance(term.column, Category) else -1]


def known(errors: Floats) -> Floats:
    """Errors with a large number for those that are not known."""
    return np.minimum(errors, _LARGEST_ERROR)
