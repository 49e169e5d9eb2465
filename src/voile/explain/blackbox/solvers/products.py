"""What explanations ask of the rows: sums of weighted products around the asked points.

One access gives, for every asked point z, A = sum 2a uu' and b = sum 2a f u with u = (x - z[, 1]),
which is all that the local loss needs, whatever the radius. Sums are of whole numbers, so exact.
Proof: docs/proofs/explainer.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.rows.points import ANSWERS, BITS, ONE, POINTS
from voile.explain.blackbox.solvers.weights import Weight
from voile.models.exact_sums import WholeQuery, exponent, in_units
from voile.privacy.queries import Block

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_ROWS = 8_192
"""Rows whose products are added in doubles: 2^13 products below 2^40 stay below 2^53."""

_CHUNK = 1_000_000
"""Coordinates that are worked on at once."""

_MARGIN = 1.0 - 1e-12
"""Covers the rounding of a root and a product of doubles before they are cut towards zero."""


@dataclass(frozen=True, eq=False)
class LocalProducts(WholeQuery):
    """Products of the rows around each of some points, weighted by distance.

    Parameters
    ----------
    points : ndarray of shape (points, features)
        The asked points, whole numbers of 2^-18 within the unit ball.
    weight : Weight
    outputs : int
        Answers of the black box per row.
    intercept : bool
        Whether u has a last coordinate 1.
    parts : int
        Into how many disjoint parts rows are dealt by their own values; the i-th point looks at the
        i-th part alone (modulo ``parts``), so one row is in the sums of few points.
    radius, offset : float
        Largest length of phi and size of the intercept, for gradients (`PrivateSlopes`).
    """

    points: NDArray[np.int32]
    weight: Weight
    outputs: int
    intercept: bool
    parts: int = 1
    radius: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        if self.points.ndim != 2 or self.outputs < 1 or self.parts < 1:
            raise SettingError("Asked points must be a table, with at least one output and part.")
        squares = (self.points.astype(np.float64) ** 2).sum(axis=1)
        if squares.max(initial=0.0) > float(ONE) ** 2:
            raise SettingError("An asked point lies outside the unit ball.")

    @property
    def width(self) -> int:
        """Coordinates of u."""
        return int(self.points.shape[1]) + int(self.intercept)

    @property
    def size(self) -> int:
        """Per point the whole of A, and b for each output."""
        return len(self.points) * self.width * (self.width + self.outputs)

    @property
    def bound(self) -> float:
        """A row is in the sums of at most points / parts points; norms add in squares."""
        of_one = self.weight.product_bound(intercept=self.intercept, outputs=self.outputs)
        together = -(-len(self.points) // self.parts)
        return of_one * math.sqrt(together)

    @property
    def steepness(self) -> float:
        """Largest norm of a row's share of A phi - b, for |phi| <= radius and |b| <= offset."""
        return self.weight.slope_bound(
            radius=self.radius,
            offset=self.offset,
            intercept=self.intercept,
            outputs=self.outputs,
        )

    def allows(self, phi: Floats) -> bool:
        """Whether phi, of shape (width, outputs), is short enough for `steepness`."""
        d = self.points.shape[1]
        lengths = (phi[:d] ** 2).sum(axis=0)
        short = bool((lengths <= self.radius**2 * (1.0 + 1e-9)).all())
        return short and bool((np.abs(phi[d:]) <= self.offset).all())

    def total(self, block: Block, grid: float) -> Whole:
        """Exact: u is made of whole numbers of 2^-bits, as many as the grid can hold."""
        bits = min(BITS, exponent(grid) // 2)
        if bits < 1:
            return np.zeros(self.size, dtype=np.int64)
        shape = (len(self.points), self.width, self.width + self.outputs)
        sums = np.zeros(shape, dtype=np.int64)
        self._add(block, sums, 2.0 ** (bits - BITS))
        return in_units(sums.ravel(), 2 * bits, grid)

    def _add(self, block: Block, sums: Whole, unit: float) -> None:
        if block.weights is not None:
            raise SettingError("Explanations use tables without weights: leave them out.")
        kept, answers = block.kept[POINTS], block.kept[ANSWERS]
        if kept.shape != (block.rows, self.points.shape[1]) or answers.shape != (
            block.rows,
            self.outputs,
        ):
            raise SettingError("Points and answers must be kept for every row beforehand.")
        asked = self.points.astype(np.float64)
        asked_squares = (asked**2).sum(axis=1)
        step = min(max(_CHUNK // max(self.width, 1), 1), MOST_ROWS)
        for start in range(0, block.rows, step):
            some = kept[start : start + step].astype(np.float64)
            squares = np.einsum("ij,ij->i", some, some)
            out = squares > float(ONE) ** 2  # there are none
            if out.any():
                some[out], squares[out] = 0.0, 0.0
            found = np.clip(answers[start : start + step].astype(np.float64), -ONE, ONE)
            # Whole numbers below 2^53 by Cauchy and Schwarz, so distances are exact.
            far = squares[:, None] + asked_squares - 2.0 * (some @ asked.T)
            roots = np.sqrt(2.0 * self.weight.at(np.sqrt(far) / ONE)) * (_MARGIN * unit)
            mine = None if self.parts == 1 else _part_of(kept[start : start + step], self.parts)
            for i, point in enumerate(asked):
                chosen = slice(None) if mine is None else mine == i % self.parts
                rows = self._weighed(some[chosen] - point, found[chosen], roots[chosen, i])
                sums[i] += (rows[:, : self.width].T @ rows).astype(np.int64)

    def _weighed(self, moved: Floats, answers: Floats, roots: Floats) -> Floats:
        """Rows of sqrt(2a) (x - z[, 1], f) in whole numbers, cut towards zero."""
        result = np.empty((len(moved), self.width + self.outputs))
        d = moved.shape[1]
        result[:, :d] = moved
        if self.intercept:
            result[:, d] = ONE
        result[:, self.width :] = answers
        result *= roots[:, None]
        return np.trunc(result, out=result)

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Released A of shape (points, width, width) and b of shape (points, width, outputs).

        The noise of a symmetric pair of A is averaged: its deviation is that of b / sqrt 2.
        """
        n = self.width
        table = values.reshape(len(self.points), n, n + self.outputs)
        matrices = (table[:, :, :n] + table[:, :, :n].transpose(0, 2, 1)) / 2.0
        return matrices, table[:, :, n:].copy()


def _part_of(points: NDArray[np.int32], parts: int) -> NDArray[np.int64]:
    """The part of each row, from its own point alone: rows beside it change nothing."""
    mixed = np.full(len(points), 1469598103934665603, dtype=np.uint64)
    for column in points.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(parts)).astype(np.int64)
