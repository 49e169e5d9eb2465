"""Why a black box gave single rows their scores: contributions that add up to them, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from voile.arrays import Array, Floats
from voile.errors import DataError
from voile.explain.blackbox.importances import ColumnImportance, find_importances
from voile.explain.blackbox.significance import Conclusion, judge_contributions
from voile.explain.blackbox.text import contributions_text
from voile.explain.explanation import ExplainedRows
from voile.stored import Count, Size

BASE = "(average score)"
"""Stands for the average score where columns are listed."""


class Contribution(NamedTuple):
    """What one column added to a row's score: name, the row's value, and how sure it is."""

    column: str
    given: str
    value: float
    standard_error: float
    verdict: Conclusion


@dataclass(frozen=True, eq=False, kw_only=True)
class BlackBoxLocalExplanation(ExplainedRows):
    """Why a black box gave some rows their scores: what each column added to the average score.

    ``base_values + values.sum(axis=1)`` are the scores, exactly. Contributions are Shapley values:
    the average score is that of released synthetic rows, and a column's contribution is what the
    score changes by when the row's value takes the place of theirs, on average over all orders in
    which columns are exchanged.

    Attributes
    ----------
    columns : tuple of str
        What contributions are attributed to: columns, words, or patches of a picture.
    given, read_as : tuple of tuple of str, (rows, columns)
        The asked rows as they were given, and how a value was read where that differs. A row of
        pixels or words may be left empty: the picture or the text tells it.
    values : ndarray of shape (rows, columns, outputs)
        What each column added to the score, in `units`.
    standard_errors : ndarray of shape (rows, columns, outputs)
        By how much contributions may be off: by the privacy noise of the released rows, and by
        sampling; infinite where it is not known (None in JSON).
    sampling_errors : ndarray of shape (rows, columns, outputs)
        The part of it by sampling of background rows and orders, which more of them would lessen.
    base_values, base_errors : ndarray of shape (outputs,)
        The average score over the released rows, and its standard error.
    scores : ndarray of shape (rows, outputs)
        What the black box says of the rows.
    background : tuple of int
        Released rows that each asked row was compared with.
    calls : tuple of int
        How often the model was asked about mixtures of rows, for each row.
    exact : bool
        Whether contributions are exact for the background, and no orders of columns were sampled.
    picture, patch : tuple of int, or None
        Height, width and perhaps channels of pictures, and height and width of a patch.
    pixels : ndarray of shape (rows, pixels)
        The asked pictures, between 0 and 1; no columns if rows are no pictures.
    words : bool
        Whether the columns are words of a text.
    texts : tuple of str
        The texts of the asked rows; empty if they are none.
    """

    kind: ClassVar[str] = "contributions"

    of_rows: ClassVar[tuple[str, ...]] = (
        *("given", "read_as", "values", "standard_errors", "sampling_errors", "scores"),
        *("background", "calls", "pixels", "texts"),
    )

    columns: tuple[str, ...]
    given: tuple[tuple[str, ...], ...]
    read_as: tuple[tuple[str, ...], ...]
    values: Annotated[Floats, Array("given", "columns", "outputs")]
    standard_errors: Annotated[Floats, Array("given", "columns", "outputs", null=math.inf)]
    sampling_errors: Annotated[Floats, Array("given", "columns", "outputs")]
    base_values: Annotated[Floats, Array("outputs")]
    base_errors: Annotated[Floats, Array("outputs", null=math.inf)]
    scores: Annotated[Floats, Array("given", "outputs")]
    background: tuple[Size, ...]
    calls: tuple[Count, ...]
    exact: bool
    picture: tuple[Size, ...] | None = None
    patch: tuple[Size, ...] | None = None
    pixels: Annotated[Floats, Array("given", "pixel_count", least=0.0, most=1.0)]
    words: bool = False
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        rows, wide = len(self.given), len(self.columns)
        for name in ("read_as", "background", "calls"):
            if len(getattr(self, name)) != rows:
                raise DataError(f"'{name}' must have an entry for each of {rows} rows.")
        if self.texts and len(self.texts) != rows:
            raise DataError(f"'texts' must have a text for each of {rows} rows, or none.")
        told_elsewhere = self.words or self.picture is not None
        for row in (*self.given, *self.read_as):
            if len(row) != wide and not (told_elsewhere and not row):
                raise DataError(f"A row has {len(row)} values, and there are {wide} columns.")
        if (self.picture is None) != (self.patch is None):
            raise DataError("Pictures have patches, and nothing else has: give both or none.")
        if self.patch is not None and (len(self.patch) != 2 or len(self.grid_shape) != 2):
            raise DataError("A picture has a height and a width, and so has a patch.")
        if self.patch is not None and math.prod(self.grid_shape) != wide:
            raise DataError(f"The patches of the picture are not {wide}.")

    # -- what follows from the facts ------------------------------------------------------------

    @property
    def pixel_count(self) -> int:
        """Values of a picture; 0 if rows are none."""
        return 0 if self.picture is None else math.prod(self.picture)

    @property
    def grid_shape(self) -> tuple[int, ...]:
        """Patches down and across a picture."""
        if self.picture is None or self.patch is None:
            return ()
        return tuple(
            -(-whole // part) for whole, part in zip(self.picture[:2], self.patch, strict=True)
        )

    def verdicts(self, row: int = 0, output: int = 0) -> tuple[Conclusion, ...]:
        """Of each column, whether what it added to a score is more than noise and sampling."""
        return judge_contributions(
            self.values[row, :, output], self.standard_errors[row, :, output]
        )

    def ranked(self, row: int = 0, output: int = 0) -> tuple[int, ...]:
        """Positions of the columns, the greatest contribution first."""
        return tuple(map(int, np.argsort(-np.abs(self.values[row, :, output]), kind="stable")))

    def top(self, k: int = 5, row: int = 0, output: int = 0) -> list[Contribution]:
        """The greatest contributions to a row's score.

        Parameters
        ----------
        k : int
            How many.
        row, output : int
            Positions of the row and of the output.
        """
        verdicts = self.verdicts(row, output)
        return [
            Contribution(
                self.columns[j],
                self.given[row][j] if self.given[row] else "",
                float(self.values[row, j, output]),
                float(self.standard_errors[row, j, output]),
                verdicts[j],
            )
            for j in self.ranked(row, output)[:k]
        ]

    def importances(self, output: int = 0) -> list[ColumnImportance]:
        """How much each column adds or takes on average over the rows, the greatest first.

        Parameters
        ----------
        output : int
            Position of the output.
        """
        return find_importances(self, output)

    def outputs_by_score(self, row: int) -> tuple[int, ...]:
        """Positions of the outputs, that with the highest score of the black box first."""
        return tuple(map(int, np.argsort(-self.scores[row], kind="stable")))

    # -- forms ----------------------------------------------------------------------------------

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row, column and output; the average score counts as a column."""
        records = []
        for i in range(len(self)):
            for k, output in enumerate(self.outputs):
                verdicts = self.verdicts(i, k)
                records += [
                    {
                        "row": i,
                        "column": name,
                        "given": self.given[i][j] if self.given[i] else "",
                        "output": output,
                        "contribution": float(self.values[i, j, k]),
                        "standard_error": float(self.standard_errors[i, j, k]),
                        "sampling_error": float(self.sampling_errors[i, j, k]),
                        "verdict": str(verdicts[j]),
                        "score": float(self.scores[i, k]),
                    }
                    for j, name in enumerate(self.columns)
                ]
                records.append(
                    {
                        "row": i,
                        "column": BASE,
                        "given": "",
                        "output": output,
                        "contribution": float(self.base_values[k]),
                        "standard_error": float(self.base_errors[k]),
                        "sampling_error": 0.0,
                        "verdict": "",
                        "score": float(self.scores[i, k]),
                    }
                )
        return records

    def __str__(self) -> str:
        return contributions_text(self)
