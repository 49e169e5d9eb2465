"""What a private evaluation of a classifier asks of the rows: cells of classes and of scores.

Sensitivities and proofs: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation.answers import Answers, ScoredClass, answer
from voile.models.evaluation.strategy import MIXING_BITS, Strategy
from voile.privacy.queries import TARGET, Block, CellQuery, Query
from voile.schema import Category, Schema

TRUE, PREDICTED, SCORES, GROUP = (
    f"evaluation {name}" for name in ("true", "predicted", "scores", "group ")
)
"""What is kept per row."""

_OTHERS = 1.0 - 2.0**-MIXING_BITS
"""What a row of no listed class adds: just below 1, as the longest column of a mixing matrix."""


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
        block.kept[PREDICTED], block.kept[SCORES] = said.predicted, said.scores
        for name in self.groups:
            block.kept[GROUP + name] = block[name].astype(np.int64)


@dataclass(frozen=True)
class ConfusionCells(CellQuery):
    """Rows by predicted and true class (last: of no listed class), and whether that was right.

    The second partition repeats a sum of the first, with less noise: wrong, right, no class.
    """

    classes: int
    columns = ()
    levels = 2

    @property
    def size(self) -> int:
        """Pairs of classes, and none; wrong, right, and none."""
        return self.classes**2 + 4

    def cells(self, block: Block) -> Sequence[NDArray[np.int64]]:
        """Pair of each row, and whether it is right."""
        pairs = _pairs(block, self.classes)
        right = (block.kept[TRUE] == block.kept[PREDICTED]).astype(np.int64)
        right = np.where(block.kept[TRUE] >= 0, right, 2)
        return [pairs, right + self.classes**2 + 1]


@dataclass(frozen=True)
class GroupCells(CellQuery):
    """Rows by predicted and true class, for each level of a category, then "other", then missing.

    The last cell of each level holds its rows of no listed class.
    """

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
        places = np.minimum(block.kept[GROUP + self.group], self.levels_listed + 1)
        return [places * (self.classes**2 + 1) + _pairs(block, self.classes)]


@dataclass(frozen=True, eq=False)
class ScorePart:
    """One score of every row: where it is cut, and in which mixtures its cells are counted.

    Attributes
    ----------
    position : int
        Among the scores that are kept.
    cuts : tuple of float
        Increasing; a score equal to a cut lies below it, as a probability of one half is none for
        the second class.
    strategy : Strategy
        Of one cell more than there are cuts.
    """

    position: int
    cuts: tuple[float, ...]
    strategy: Strategy

    def cells(self, block: Block) -> NDArray[np.int64]:
        """Cell of each row."""
        scores = block.kept[SCORES][:, self.position]
        found = np.searchsorted(np.asarray(self.cuts), scores, side="left")
        return np.where(np.isnan(scores), 0, found).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ScoreCells(Query):
    """Mixtures of counts of rows by their scores; at the end, how many have no listed class.

    A row adds, for each score, the column of its cell in that score's mixing matrix.

    Parameters
    ----------
    parts : tuple of ScorePart
    """

    parts: tuple[ScorePart, ...]
    columns = ()
    signed = False
    halves = 1

    @property
    def size(self) -> int:
        """Cells of all scores (of each half), and one."""
        return self.halves * sum(part.strategy.cells for part in self.parts) + 1

    @property
    def bound(self) -> float:
        """A column of norm at most 1 for each score."""
        return math.sqrt(len(self.parts))

    def half(self, part: ScorePart, block: Block) -> NDArray[np.int64]:
        """Which half of a part's cells each row is counted in."""
        return np.zeros(block.rows, dtype=np.int64)

    def contributions(self, block: Block) -> NDArray[np.float64]:
        """The columns of each row, side by side."""
        listed = block.kept[TRUE] >= 0
        pieces = []
        for part in self.parts:
            columns = part.strategy.matrix.T[part.cells(block)] * listed[:, None]
            half = self.half(part, block)
            pieces += [columns * (half == one)[:, None] for one in range(self.halves)]
        return np.hstack([*pieces, _OTHERS * (~listed)[:, None]])

    def total(self, block: Block, grid: float) -> NDArray[np.int64]:
        """Rows are counted first, then the counts are mixed, in whole numbers."""
        if block.weights is not None:
            return super().total(block, grid)
        listed = block.kept[TRUE] >= 0
        pieces = []
        for part in self.parts:
            steps = np.trunc(part.strategy.mixing * (2.0**-MIXING_BITS / grid)).astype(np.int64)
            cells, half = part.cells(block), self.half(part, block)
            for one in range(self.halves):
                chosen = cells[listed & (half == one)]
                pieces.append(steps @ np.bincount(chosen, minlength=part.strategy.cells))
        others = np.array([int(np.count_nonzero(~listed)) * int(_OTHERS / grid)])
        return np.concatenate([*pieces, others]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ClassScores(ScoreCells):
    """The same by whether a row is of the positive class: the others first.

    Parameters
    ----------
    parts : tuple of ScorePart
    watched : tuple of ScoredClass
        What is positive, by the position of the score.
    """

    watched: tuple[ScoredClass, ...]
    halves = 2

    def half(self, part: ScorePart, block: Block) -> NDArray[np.int64]:
        """1 if the row is positive."""
        wanted = self.watched[part.position].true
        truth = block.kept[PREDICTED] if wanted is None else wanted
        return np.asarray(block.kept[TRUE] == truth, dtype=np.int64)


def _pairs(block: Block, classes: int) -> NDArray[np.int64]:
    """Predicted and true class of each row as one number; the last is for no listed class."""
    true, said = block.kept[TRUE], block.kept[PREDICTED]
    return np.where(true >= 0, said * classes + true, classes**2).astype(np.int64)
