"""What a private evaluation of a regression asks of the rows: sizes and sums of clipped errors.

Sensitivities and proofs: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.evaluation.queries import GROUP, PREDICTED, TRUE
from voile.privacy.queries import Block, Query

Floats = NDArray[np.float64]

ERROR_CUTS: Floats = 2.0 ** (np.arange(-28, 1) / 2.0)
"""Cut points of absolute errors as parts of the target's range: two per doubling."""

PARTS = 5
"""Parts of one, that say how large an error is, and in which direction."""

CONSTANT_SIZES, CONSTANT_SUMS, BY_PREDICTION = 0.4, 0.7, 0.6
"""Weights of what is asked beside the errors of the model itself, which have weight 1."""


def error_parts(errors: Floats) -> Floats:
    """Bernstein polynomials of degree 2 of the size of each error, apart by its direction.

    Parts of one: none is below 0, and they sum to 1. So their norm is at most 1, and the number of
    rows, the sums of errors, of their sizes and of their squares follow from sums of them.

    Parameters
    ----------
    errors : ndarray of shape (rows,)
        In [-1, 1]; NaN gives zeros.

    Returns
    -------
    ndarray of shape (rows, 5)
        (1 - a)^2, then 2a(1 - a) above and below 0, then a^2 above and below 0, for the size a.
    """
    known = np.isfinite(errors)
    clipped = np.clip(np.where(known, errors, 0.0), -1.0, 1.0)
    size, above = np.abs(clipped), clipped > 0
    middle, outer = 2.0 * size * (1.0 - size), size * size
    parts = [(1.0 - size) ** 2, middle * above, middle * ~above, outer * above, outer * ~above]
    return np.stack(parts, axis=1) * known[:, None]


def _errors(block: Block, clip: float, constant: float | None = None) -> Floats:
    """True minus predicted (or minus a constant), in units of the clip; NaN without a target."""
    said = block.kept[PREDICTED] if constant is None else constant
    with np.errstate(all="ignore"):
        errors = (block.kept[TRUE] - said) / clip
    return np.asarray(np.where(np.isfinite(errors), errors, np.nan))


def _check_clip(clip: float) -> None:
    if not 0.0 < clip < np.inf:
        raise SettingError(f"The 'clip' of errors must be a number > 0. Got {clip!r}.")


@dataclass(frozen=True)
class ErrorSizes(Query):
    """Rows by the size of the error as a part of the target's range: the model's, a constant's.

    A row adds 1 to a cell of the first, and less to a cell of the second; the last cell of
    each is for rows without a target.

    Parameters
    ----------
    width : float
        Of the target's range.
    constant : float
        Prediction of who knows nothing of a row.
    """

    width: float
    constant: float
    columns = ()
    signed = False
    bound = math.sqrt(1.0 + CONSTANT_SIZES**2)

    def __post_init__(self) -> None:
        _check_clip(self.width)

    @property
    def size(self) -> int:
        """Intervals and none, twice."""
        return 2 * (len(ERROR_CUTS) + 2)

    def contributions(self, block: Block) -> Floats:
        """One cell of each half."""
        halves = []
        for constant, weight in ((None, 1.0), (self.constant, CONSTANT_SIZES)):
            sizes = np.abs(_errors(block, self.width, constant))
            cells = np.searchsorted(ERROR_CUTS, sizes, side="right")
            cells = np.where(np.isnan(sizes), len(ERROR_CUTS) + 1, cells)
            halves.append(weight * np.eye(len(ERROR_CUTS) + 2)[cells])
        return np.hstack(halves)


@dataclass(frozen=True)
class ErrorSums(Query):
    """Sums of the parts of errors: of the model, of a constant, and by what was predicted.

    Parameters
    ----------
    clip, constant_clip : float
        Largest error of the model and of the constant, in the target's units; a larger one counts
        as this.
    constant : float
    cuts : tuple of float
        Increasing: predictions are told apart between them.
    """

    clip: float
    constant_clip: float
    constant: float
    cuts: tuple[float, ...]
    columns = ()
    signed = False
    bound = math.sqrt(1.0 + CONSTANT_SUMS**2 + BY_PREDICTION**2)
    fineness = 6

    def __post_init__(self) -> None:
        _check_clip(self.clip)
        _check_clip(self.constant_clip)

    @property
    def size(self) -> int:
        """Parts of the two errors, and two for each interval of predictions."""
        return 2 * PARTS + 2 * (len(self.cuts) + 1)

    def contributions(self, block: Block) -> Floats:
        """Parts of each row; a row without a target adds nothing."""
        own = _errors(block, self.clip)
        constant = error_parts(_errors(block, self.constant_clip, self.constant))
        upper = (1.0 + np.clip(np.nan_to_num(own), -1.0, 1.0)) / 2.0
        pair = np.stack([1.0 - upper, upper], axis=1) * np.isfinite(own)[:, None]
        place = np.searchsorted(np.asarray(self.cuts), block.kept[PREDICTED], side="right")
        inside = np.zeros((block.rows, len(self.cuts) + 1, 2))
        inside[np.arange(block.rows), place] = pair
        parts = [error_parts(own), CONSTANT_SUMS * constant]
        parts.append(BY_PREDICTION * inside.reshape(block.rows, -1))
        return np.hstack(parts)


@dataclass(frozen=True)
class GroupErrors(Query):
    """Sums of the parts of the model's errors for each level of a category, other, and missing.

    Parameters
    ----------
    clip : float
    group : str
    listed : int
        Number of levels.
    """

    clip: float
    group: str
    listed: int
    columns = ()
    signed = False
    bound = 1.0
    fineness = 6

    def __post_init__(self) -> None:
        _check_clip(self.clip)

    @property
    def size(self) -> int:
        """Parts for each level, other, missing."""
        return PARTS * (self.listed + 2)

    def contributions(self, block: Block) -> Floats:
        """The parts of each row, in the place of its group."""
        parts = error_parts(_errors(block, self.clip))
        places = np.minimum(block.kept[GROUP + self.group], self.listed + 1)
        result = np.zeros((block.rows, self.listed + 2, PARTS))
        result[np.arange(block.rows), places] = parts
        return result.reshape(block.rows, self.size)
