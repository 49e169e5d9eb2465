"""How counts of cells in a row are asked for so that their running sums carry little noise.

The matrix mechanism (Li, Miklau, Hay, McGregor & Rastogi, VLDB Journal 2015): not the cells are
counted but mixtures of them, chosen so that what is wanted of the cells (sums up to a cut) has the
least noise. No library of the field's offers the optimum for given sums, hence own code.
Sensitivity and optimality: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from threadpoolctl import threadpool_limits

from voile.errors import SettingError

Floats = NDArray[np.float64]

MIXING_BITS = 16
"""Entries of a mixing matrix are whole multiples of 2^-16."""

_ROUNDS = 6
"""After so many, the mean noise is within a thousandth of the optimum's."""

_RANK, _CHOSEN, _TOTAL = 0.5, 0.5, 0.3
"""Weights of a mean rank, of the sums at the chosen cut, and of the total; all cuts together: 1."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """Mixtures of cells to ask for.

    Parameters
    ----------
    mixing : ndarray of shape (cells, cells)
        Whole numbers >= 0 in units of 2^-MIXING_BITS; a row in cell j adds column j, whose norm is
        at most 1.
    """

    mixing: NDArray[np.int64]

    def __post_init__(self) -> None:
        unit = 2**MIXING_BITS
        if self.mixing.dtype != np.int64 or self.mixing.min(initial=0) < 0:
            raise SettingError("A mixing matrix must be of whole numbers, none below 0.")
        if self.mixing.max(initial=0) > unit:  # its square could wrap
            raise SettingError("An entry of a mixing matrix is larger than 1.")
        # Added in integers: the bound that the noise relies on does not rest on rounding.
        if int((self.mixing**2).sum(axis=0).max(initial=0)) > unit**2:
            raise SettingError("A column of a mixing matrix is longer than 1: scale it down.")

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.mixing.shape[1])

    @cached_property
    def matrix(self) -> Floats:
        """The mixing matrix as numbers."""
        return np.asarray(self.mixing * 2.0**-MIXING_BITS)

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the counts that follow from noise of variance 1 on each mixture."""
        return np.asarray(np.linalg.inv(self.matrix.T @ self.matrix))

    def counts(self, mixtures: Floats) -> Floats:
        """The counts that fit released mixtures best, none below 0: least squares."""
        return np.asarray(nnls(self.matrix, mixtures)[0])


@lru_cache(maxsize=64)
def best_strategy(cells: int, chosen: int) -> Strategy:
    """The mixtures of least mean noise for the sums on both sides of every cut between cells.

    Parameters
    ----------
    cells : int
    chosen : int
        Cells below the cut whose sums are wanted most, in [0, cells].
    """
    # On several threads such small matrices take longer.
    with threadpool_limits(1, user_api="blas"):
        return _optimum(_wanted(cells, chosen))


def _optimum(wanted: Floats) -> Strategy:
    dual = np.ones(len(wanted))
    for _ in range(_ROUNDS):
        root = np.sqrt(dual)
        values, vectors = np.linalg.eigh(wanted * root[:, None] * root)
        middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        dual = np.diag(middle).copy()
    root = np.sqrt(np.diag(middle))
    values, vectors = np.linalg.eigh(middle / root[:, None] / root)
    # Entries below 0 are small. Without them the mean noise is 0.2 % larger, and replacing a row
    # moves the sums by less.
    matrix = np.maximum((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, 0.0)
    matrix /= np.linalg.norm(matrix, axis=0)
    # The factor gives away more than rounding can add to a norm.
    return Strategy(np.trunc(matrix * math.ldexp(1.0 - 1e-9, MIXING_BITS)).astype(np.int64))


def _wanted(cells: int, chosen: int) -> Floats:
    """Sum of the squares of what is wanted of the counts, as a matrix of shape (cells, cells)."""
    below = np.tril(np.ones((cells, cells)))[:-1]
    rows = [below, 1.0 - below]
    wanted = [one / math.sqrt(max(cells - 1, 1)) for one in rows]
    at_chosen = (np.arange(cells) < chosen).astype(float)[None]
    wanted += [_CHOSEN * at_chosen, _CHOSEN * (1.0 - at_chosen)]
    wanted += [_RANK * np.linspace(0.0, 1.0, cells)[None], _TOTAL * np.ones((1, cells))]
    stacked = np.concatenate(wanted)
    return np.asarray(stacked.T @ stacked)
