"""What a private evaluation asks of the rows: one cell per row and question, or clipped errors.

Sensitivities and proofs: docs/proofs/evaluation.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.evaluation.answers import Answers, answer
from voile.privacy.queries import TARGET, Block, CellQuery, Query
from voile.schema import Category, Schema

TRUE, PREDICTED, MARGINS, GROUP = (
    f"evaluation {name}" for name in ("true", "predicted", "margins", "group ")
)
"""What is kept per row."""

ERROR_CUTS: NDArray[np.float64] = 2.0 ** (np.arange(-28, 1) / 2.0)
"""Cut points of absolute errors as parts of the target's range: two per doubling."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Keeps, inside the vault, what the model says of each row beside what is true of it."""

    model: Any
    schema: Schema
    groups: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return (*self.schema, TARGET)

    def prepare(self, block: Block) -> None:
        """Answer and keep; nothing comes out."""
        columns = {name: block[name] for name in self.schema}
        said: Answers = answer(self.model, columns, block.rows)
        target = block[TARGET]
        if isinstance(self.schema.target, Category):
            classes = len(self.schema.target.levels or ())
            block.kept[TRUE] = np.where(target < classes, target, -1).astype(np.int64)
        else:
            block.kept[TRUE] = target.astype(np.float64)
        block.kept[PREDICTED], block.kept[MARGINS] = said.predicted, said.margins
        for name in self.groups:
            block.kept[GROUP + name] = block[name].astype(np.int64)


@dataclass(frozen=True)
class ConfusionCells(CellQuery):
    """Rows by predicted and true class; the last cell holds rows of no listed class."""

    classes: int
    columns = ()

    @property
    def size(self) -> int:
        """Pairs of classes, and none."""
        return self.classes**2 + 1

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Pair of each row."""
        return [self._pairs(block)]

    def _pairs(self, block: Block) -> NDArray[np.int64]:
        true, said = block.kept[TRUE], block.kept[PREDICTED]
        return np.where(true >= 0, said * self.classes + true, self.classes**2).astype(np.int64)


@dataclass(frozen=True)
class GroupCells(CellQuery):
    """The same for each level of a category, then "other", then missing."""

    classes: int
    group: str
    levels_listed: int
    columns = ()

    @property
    def size(self) -> int:
        """Pairs of classes (and none) for each level, other, missing."""
        return (self.levels_listed + 2) * (self.classes**2 + 1)

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Group and pair of each row."""
        pairs = ConfusionCells(self.classes).cells(block)[0]
        places = np.minimum(block.kept[GROUP + self.group], self.levels_listed + 1)
        return [(places * (self.classes**2 + 1) + pairs).astype(np.int64)]


@dataclass(frozen=True)
class MarginCells(CellQuery):
    """Rows by the score of the second class; the last cell holds rows of no listed class."""

    cuts: tuple[float, ...]
    columns = ()

    @property
    def size(self) -> int:
        """Intervals, and none."""
        return len(self.cuts) + 2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Interval of each row."""
        return [np.where(block.kept[TRUE] >= 0, _place(self.cuts, block), self.size - 1)]


@dataclass(frozen=True)
class _HalvedCells(CellQuery):
    """Rows by score and by one of two; the last cell holds rows of no listed class."""

    cuts: tuple[float, ...]
    columns = ()

    @property
    def size(self) -> int:
        """Two for each interval, and none."""
        return 2 * (len(self.cuts) + 1) + 1

    @abstractmethod
    def half(self, block: Block) -> NDArray[np.int64]:
        """Which of the two, 0 or 1, of rows that have a class."""

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Interval and half of each row."""
        cells = 2 * _place(self.cuts, block) + self.half(block)
        return [np.where(block.kept[TRUE] >= 0, cells, self.size - 1)]


@dataclass(frozen=True)
class ClassMargins(_HalvedCells):
    """Rows by score and true class (of two)."""

    def half(self, block: Block) -> NDArray[np.int64]:
        """The true class."""
        return np.asarray(np.maximum(block.kept[TRUE], 0), dtype=np.int64)


@dataclass(frozen=True)
class ConfidenceCells(_HalvedCells):
    """Rows by the probability of the predicted class, and whether it was right."""

    def half(self, block: Block) -> NDArray[np.int64]:
        """Whether the prediction was right."""
        return np.asarray(block.kept[PREDICTED] == block.kept[TRUE], dtype=np.int64)


@dataclass(frozen=True)
class ErrorSizes(CellQuery):
    """Rows by the size of the error as a part of the target's range; the last cell: no target."""

    width: float
    columns = ()

    @property
    def size(self) -> int:
        """Intervals, and none."""
        return len(ERROR_CUTS) + 2

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Interval of each row."""
        with np.errstate(all="ignore"):
            sizes = np.abs(block.kept[TRUE] - block.kept[PREDICTED]) / self.width
        found = np.searchsorted(ERROR_CUTS, sizes, side="right")
        return [np.where(np.isfinite(sizes), found, self.size - 1).astype(np.int64)]


@dataclass(frozen=True)
class ErrorSums(Query):
    """Sums of 1, e, e^2 and |e| of errors e (true minus predicted), in units of the clip.

    Parameters
    ----------
    clip : float
        Largest error, in the target's units; a larger one counts as this.
    """

    clip: float
    columns = ()
    size = 4
    bound = 2.0
    fineness = 6

    def __post_init__(self) -> None:
        if not 0.0 < self.clip < np.inf:
            raise SettingError(f"The 'clip' of errors must be a number > 0. Got {self.clip!r}.")

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """Share of each row; a row without a target adds nothing."""
        with np.errstate(all="ignore"):
            errors = (block.kept[TRUE] - block.kept[PREDICTED]) / self.clip
        known = np.isfinite(errors)
        errors = np.clip(np.where(known, errors, 0.0), -1.0, 1.0)
        parts = [known.astype(np.float64), errors, errors * errors, np.abs(errors)]
        return np.stack(parts, axis=1).reshape(block.rows, 4)


@dataclass(frozen=True)
class GroupErrors(Query):
    """The same for each level of a category, then "other", then missing; a row is in one of them.

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
    bound = 2.0
    fineness = 6

    @property
    def size(self) -> int:
        """Four sums for each level, other, missing."""
        return 4 * (self.listed + 2)

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """The sums' shares of each row, in the place of its group."""
        parts = ErrorSums(self.clip).contributions(block)
        places = np.minimum(block.kept[GROUP + self.group], self.listed + 1)
        result = np.zeros((block.rows, self.listed + 2, 4))
        result[np.arange(block.rows), places] = parts
        return result.reshape(block.rows, self.size)


def _place(cuts: tuple[float, ...], block: Block) -> NDArray[np.int64]:
    margins = block.kept[MARGINS]
    found = np.searchsorted(np.asarray(cuts), margins, side="right")
    return np.where(np.isnan(margins), 0, found).astype(np.int64)
