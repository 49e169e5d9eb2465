"""How usual a row is among others: how far its nearest neighbours are, and which pairs are seldom.

Both are post-processing of rows that are no private ones: synthetic rows, or rows the caller holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from voile.explain.counterfactuals.ruler import LEVEL, Ruler, spread_of
from voile.explain.counterfactuals.steps import value_text
from voile.schema import Category, Schema

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

_REFERENCE, _NEIGHBOURS = 1_500, 10
"""Rows that others are compared with, and how many of the nearest count."""

_BINS = 6
"""Parts of a number's values when pairs are counted."""

_SELDOM, _EXPECTED = 0.2, 30.0
"""A pair is seldom if it occurs less than this part as often as it would by chance, where that
would be in so many rows at least."""


NEAR, _NEAR_ROWS = 0.02, 32
"""Share of others that numbers of a row that hardly differs pass; how many such rows are made."""


@dataclass(frozen=True, eq=False)
class Others:
    """Weighted rows by which it is judged how usual another row is.

    Attributes
    ----------
    schema : Schema
        Complete.
    columns : mapping of str to ndarray of shape (rows,)
        Encoded.
    weights : ndarray of shape (rows,)
        They sum to 1.
    ruler : Ruler
        How far apart values are.
    told : str
        What the rows are, in words.
    """

    schema: Schema
    columns: Columns
    weights: Floats
    ruler: Ruler
    told: str

    @cached_property
    def effective(self) -> float:
        """Rows of equal weights that would tell as much."""
        return float(1.0 / (self.weights @ self.weights))

    @cached_property
    def spreads(self) -> dict[str, float | None]:
        """Width of the middle nine tenths of each number; None where none is known."""
        return {
            name: spread_of(self.columns[name], self.weights)
            for name, column in self.schema.items()
            if not isinstance(column, Category)
        }

    @cached_property
    def _reference(self) -> Floats:
        """Some of the rows, each as often as its weight says, as points."""
        count = min(_REFERENCE, len(self.weights))
        ends = np.cumsum(self.weights)
        chosen = np.searchsorted(ends, (np.arange(count) + 0.5) / count * ends[-1])
        chosen = np.minimum(chosen, len(self.weights) - 1)
        return self._points({name: values[chosen] for name, values in self.columns.items()}, count)

    def _points(self, columns: Columns, rows: int) -> Floats:
        """Rows as points whose distances (sums of absolute differences) are sizes of changes."""
        parts = []
        for name, column in self.schema.items():
            values = np.asarray(columns[name], dtype=np.float64)
            if name in self.ruler.knots:
                place = self.ruler.place(name, values)
                parts.append(np.nan_to_num(place, nan=0.5)[:, None])
            elif isinstance(column, Category):
                levels = np.arange(len(column.levels or ()))
                parts.append(np.where(values[:, None] == levels, LEVEL / 2, 0.0))
        return np.hstack(parts) if parts else np.zeros((rows, 0))

    @cached_property
    def _usual_distances(self) -> Floats:
        """How far the nearest neighbours of the reference rows are, sorted."""
        found = cdist(self._reference, self._reference, "cityblock")
        np.fill_diagonal(found, np.inf)
        return np.sort(self._mean_nearest(found))

    def _mean_nearest(self, distances: Floats) -> Floats:
        count = min(_NEIGHBOURS, max(distances.shape[1] - 1, 1))
        nearest = np.partition(distances, count - 1, axis=1)[:, :count]
        return np.asarray(np.where(np.isfinite(nearest), nearest, 0.0).mean(axis=1))

    def usual(self, columns: Columns, rows: int) -> Floats:
        """Share of the others whose neighbours are as far as those of each row, or farther."""
        distances = cdist(self._points(columns, rows), self._reference, "cityblock")
        mine = self._mean_nearest(distances)
        # Rounding must not make a row more unusual than its twin.
        before = np.searchsorted(self._usual_distances, mine - 1e-9)
        return np.asarray(1.0 - before / len(self._usual_distances))

    # -- rows that hardly differ -----------------------------------------------------------------

    def near(self, row: Mapping[str, float]) -> tuple[dict[str, NDArray[Any]], int]:
        """Encoded rows whose numbers hardly differ from a row's, and how many (0 without numbers).

        Each number moves to one that up to `NEAR` of the others lie between, up or down; the same
        for the same row.
        """
        rng = np.random.default_rng(0)
        result: dict[str, NDArray[Any]] = {}
        numbers = 0
        for name, column in self.schema.items():
            if isinstance(column, Category):
                result[name] = np.full(_NEAR_ROWS, int(row[name]), dtype=np.int32)
                continue
            values = np.full(_NEAR_ROWS, row[name])
            if not math.isnan(row[name]):
                numbers += 1
                knots, places = self.ruler.knots[name]
                here = float(np.interp(row[name], knots, places))
                moved = here + NEAR * rng.uniform(-1.0, 1.0, _NEAR_ROWS)
                middles = (places[:-1] + places[1:]) / 2
                # A value that many have is left only by moves that pass half of them.
                found = np.searchsorted(middles, moved)
                own = int(np.searchsorted(middles, here))
                values = np.where(found == own, values, knots[found])
            result[name] = values
        return result, _NEAR_ROWS if numbers else 0

    # -- pairs of values -------------------------------------------------------------------------

    @cached_property
    def _cuts(self) -> dict[str, Floats]:
        """Inner borders of the parts of each number, by what is passed."""
        inner = np.arange(1, _BINS) / _BINS
        return {
            name: np.unique(np.interp(inner, places, knots))
            for name, (knots, places) in self.ruler.knots.items()
            if not isinstance(self.schema[name], Category)
        }

    def _code(self, name: str, values: NDArray[Any]) -> NDArray[np.int64]:
        found = np.asarray(values, dtype=np.float64)
        if name not in self._cuts:
            return found.astype(np.int64)
        code = np.searchsorted(self._cuts[name], found, side="right")
        return np.where(np.isnan(found), -1, code)

    @cached_property
    def _codes(self) -> dict[str, NDArray[np.int64]]:
        return {name: self._code(name, values) for name, values in self.columns.items()}

    def seldom(self, row: Mapping[str, float], changed: tuple[str, ...]) -> tuple[str, ...]:
        """Pairs of a changed value and another that occur together much less than by chance.

        Parameters
        ----------
        row : mapping of str to float
            Encoded values of all columns, those that changed among them.
        changed : tuple of str
        """
        count = self.effective
        own = {
            name: self._codes[name] == self._code(name, np.array([row[name]]))[0]
            for name in self.schema
        }
        shares = {name: float(self.weights[mask].sum()) for name, mask in own.items()}
        found: list[tuple[float, str]] = []
        for name in changed:
            for other in self.schema:
                if other == name or (other in changed and other < name):
                    continue
                expected = shares[name] * shares[other]
                if expected * count < _EXPECTED:
                    continue
                together = float(self.weights[own[name] & own[other]].sum())
                if together < _SELDOM * expected:
                    pair = " with ".join(
                        f"{one} {value_text(row[one], self.schema[one])}" for one in (name, other)
                    )
                    found.append((together / expected, pair))
        return tuple(pair for _, pair in sorted(found)[:2])


def rarest_share(counts: Floats, widths: Floats, place: int) -> float:
    """Share of rows that lie where rows are as dense as in one bin, or less dense.

    Parameters
    ----------
    counts : ndarray of shape (bins,)
        Rows in each bin, >= 0.
    widths : ndarray of shape (bins,)
        Of a number's intervals; 1 for levels.
    place : int
        The bin.
    """
    total = float(counts.sum())
    if total <= 0:
        return math.nan
    density = counts / np.maximum(widths, 1e-300)
    return float(counts[density <= density[place] * (1 + 1e-9)].sum() / total)
