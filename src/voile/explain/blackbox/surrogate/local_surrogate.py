"""Slopes of a black box around single rows: private local linear models, as data."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats
from voile.errors import DataError
from voile.explain.blackbox.surrogate.text import ANSWERS, slopes_text, step_of
from voile.explain.blackbox.words import find_word, list_words
from voile.explain.explained_feature import FeatureExplanation, sum_columns
from voile.explain.explanation import ExplainedRows
from voile.explain.picture_shape import PictureShape, check_pixels
from voile.stored import Count, Unknown


class Slope(NamedTuple):
    """One slope: the feature's name, what a whole range or a level changes, and its noise."""

    name: str
    value: float
    standard_error: float


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalSurrogate(FeatureExplanation, ExplainedRows):
    """How a black box's score changes around some rows: a linear model fitted near each.

    It is fitted to what the black box says of the rows of a private table, those near the asked row
    counting most. It tells slopes, not what the row's own values contributed: for that see
    `BlackBoxLocalExplanation`. Infinity stands for what is not known (None in JSON).

    Attributes
    ----------
    given, read_as : tuple of tuple of str, (rows, columns)
        The asked rows as they were given, and how a value was read where that differs. A row of
        pixels or words may be left empty: the picture or the text tells it.
    values, standard_errors : ndarray of shape (rows, features, outputs)
        By how much the surrogate's score changes, in `units`, when a number moves from its lower to
        its upper bound, or when a row has a level compared with not having it; and the standard
        deviation of that by the privacy noise.
    strengths : ndarray of shape (rows, features)
        Where the row stands: a number in [-1, 1] between its bounds, a level 1 or 0.
    scales : ndarray of shape (features,)
        ``values = scales * coefficients``; coefficients are of scores in [-1, 1].
    intercepts, intercept_errors : ndarray of shape (rows, outputs)
        The surrogate's score at the row itself, and its standard deviation by the noise.
    scores : ndarray of shape (rows, outputs)
        What the black box says of the row.
    agreement : ndarray of shape (rows, outputs)
        Share of the nearby rows, by weight, for which surrogate and black box are on the same side
        of the middle of the range; estimated from private output.
    r2 : ndarray of shape (rows, outputs)
        Share of the weighted variance of the black box's score near the row that the surrogate
        explains; estimated from private output.
    effective_share : ndarray of shape (rows,)
        Effective share of the table that it is fitted to, 0 to 1: how local it is.
    distance : ndarray of shape (rows,)
        Weighted root mean square distance of the table's rows from the asked one, in the scaled
        space, whose largest distance is 2.
    answered : tuple of str
        How each row was answered: one of `ANSWERS`.
    steps : tuple of int
        Gradient steps taken for each row, 0 where none.
    weight : str
        The weight function in words: "stable, c = 1".
    radius : float
        Of the ball in which the coefficients lie.
    has_intercept : bool
        Whether the local models have one; without, they are 0 at the row itself.
    picture : tuple of int, or None
        Height, width and perhaps channels, if the features are pixels.
    words : bool
        Whether the features are words of a text.
    texts : tuple of str
        The texts of the asked rows; empty if they are none.
    """

    kind: ClassVar[str] = "slopes"

    of_rows: ClassVar[tuple[str, ...]] = (
        *("given", "read_as", "values", "standard_errors", "strengths", "intercepts"),
        *("intercept_errors", "scores", "agreement", "r2", "effective_share", "distance"),
        *("answered", "steps", "texts"),
    )

    given: tuple[tuple[str, ...], ...]
    read_as: tuple[tuple[str, ...], ...]
    values: Annotated[Floats, Array("given", "features", "outputs")]
    standard_errors: Annotated[Floats, Array("given", "features", "outputs", null=math.inf)]
    strengths: Annotated[Floats, Array("given", "features")]
    intercepts: Annotated[Floats, Array("given", "outputs", null=math.inf)]
    intercept_errors: Annotated[Floats, Array("given", "outputs", null=math.inf)]
    scores: Annotated[Floats, Array("given", "outputs")]
    agreement: Annotated[Floats, Array("given", "outputs", null=math.inf)]
    r2: Annotated[Floats, Array("given", "outputs", null=math.inf)]
    effective_share: Annotated[Floats, Array("given", null=math.inf)]
    distance: Annotated[Floats, Array("given", null=math.inf)]
    scales: Annotated[Floats, Array("features")]
    answered: tuple[str, ...]
    steps: tuple[Count, ...]
    weight: str
    radius: Unknown
    has_intercept: bool
    picture: PictureShape | None = None
    words: bool = False
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_rows()
        check_pixels(self.picture, len(self.features))

    def _check_rows(self) -> None:
        rows, wide = len(self.given), len(self.columns)
        for name in ("read_as", "answered", "steps"):
            if len(getattr(self, name)) != rows:
                raise DataError(f"'{name}' must have an entry for each of {rows} rows.")
        if self.texts and len(self.texts) != rows:
            raise DataError(f"'texts' must have a text for each of {rows} rows, or none.")
        told_elsewhere = self.words or self.picture is not None
        for row in (*self.given, *self.read_as):
            if len(row) != wide and not (told_elsewhere and not row):
                raise DataError(f"A row has {len(row)} values, and there are {wide} columns.")
        unknown = sorted(set(self.answered) - set(ANSWERS))
        if unknown:
            raise DataError(
                f"No row can be answered by {unknown[0]!r}: give one of {', '.join(ANSWERS)}."
            )

    # -- what follows from the facts ------------------------------------------------------------

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the local models in the scaled space, (rows, features, outputs)."""
        scales = self.scales[None, :, None]
        # A feature without any width cannot have moved a score.
        return np.asarray(np.where(scales == 0, 0.0, self.values / np.where(scales, scales, 1.0)))

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Which slopes are within two standard errors of 0, (rows, features, outputs)."""
        return np.asarray(np.abs(self.values) < 2 * self.standard_errors)

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which levels and words the asked rows have, (rows, features); no number is among them."""
        if self.words and self.texts:
            words = [find_word(one) for one in self.features]
            found = [[word in seen for word in words] for seen in map(list_words, self.texts)]
            return np.array(found, dtype=np.bool_).reshape(len(self), len(words))
        levels = np.array([one.level is not None for one in self.features], dtype=np.bool_)
        counts = self.strengths > 0.0 if self.words else np.zeros_like(self.strengths, np.bool_)
        return np.asarray(np.where(levels, self.strengths > 0.5, counts))

    def ranked(self, row: int = 0, output: int = 0) -> tuple[int, ...]:
        """Positions of the features, the greatest slope first."""
        return tuple(map(int, np.argsort(-np.abs(self.values[row, :, output]), kind="stable")))

    def top(self, k: int = 5, row: int = 0, output: int = 0) -> list[Slope]:
        """The greatest slopes on a row.

        Parameters
        ----------
        k : int
            How many.
        row, output : int
            Positions of the row and of the output.

        Returns
        -------
        list of Slope
            Tuples (name, value, standard error), the greatest size first.
        """
        return [
            Slope(
                self.features[j].name,
                float(self.values[row, j, output]),
                float(self.standard_errors[row, j, output]),
            )
            for j in self.ranked(row, output)[:k]
        ]

    def step(self, row: int, feature: int, output: int = 0) -> tuple[float, float]:
        """A step that people think of, and by how much the score changes with it.

        Of a number, a power of ten about a twentieth of its range: one year, 1,000 dollars. Of a
        level, a word or a pixel, 1: having it compared with not having it.
        """
        one, value = self.features[feature], float(self.values[row, feature, output])
        if one.level is not None or self.words or self.picture is not None:
            return 1.0, value
        step = step_of(one)
        return step, value * step / (one.upper - one.lower)

    def outputs_by_score(self, row: int) -> tuple[int, ...]:
        """Positions of the outputs, that with the highest score of the black box first."""
        return tuple(map(int, np.argsort(-self.scores[row], kind="stable")))

    def by_column(self) -> Floats:
        """Slopes gathered by column, shape (rows, columns, outputs).

        Of a number, its slope. Of a category, the slope of the row's own level less the
        mean over the column's levels: what it does to have this level and not just any. A row
        without any of the levels (a missing value) is compared with that mean likewise.
        """
        weights = self._column_weights()[..., None]
        return self._sum_columns(self.values * weights)

    def by_column_errors(self) -> Floats:
        """Standard deviation of `by_column`, the noise of features taken to be independent."""
        weights = self._column_weights()[..., None]
        with np.errstate(invalid="ignore"):
            parts = np.where(weights == 0, 0.0, (self.standard_errors * weights) ** 2)
        return np.asarray(np.sqrt(self._sum_columns(parts)))

    def _column_weights(self) -> Floats:
        """What the slopes of a column are multiplied by before they are summed."""
        levels = np.array([one.level is not None for one in self.features], dtype=np.bool_)
        sizes = Counter(one.column for one in self.features)
        means = np.array([1.0 / sizes[one.column] for one in self.features])
        return np.asarray(np.where(levels, self.strengths - means, 1.0))

    def _sum_columns(self, parts: Floats) -> Floats:
        return np.moveaxis(sum_columns(self.features, np.moveaxis(parts, 1, -1)), -1, 1)

    # -- forms ----------------------------------------------------------------------------------

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row, feature and output; None for a share that is not known."""
        places = {name: i for i, name in enumerate(self.columns)}
        coefficients, doubtful, own = self.coefficients, self.doubtful, self.own
        return [
            {
                "row": i,
                "feature": feature.name,
                "column": feature.column,
                "level": feature.level,
                "given": self.given[i][places[feature.column]] if self.given[i] else "",
                "own": bool(own[i, j]),
                "output": output,
                "slope": float(self.values[i, j, k]),
                "standard_error": float(self.standard_errors[i, j, k]),
                "doubtful": bool(doubtful[i, j, k]),
                "coefficient": float(coefficients[i, j, k]),
                "strength": float(self.strengths[i, j]),
                "score": float(self.scores[i, k]),
                "local_score": _known(self.intercepts[i, k]),
                "agreement": _known(self.agreement[i, k]),
                "r2": _known(self.r2[i, k]),
                "effective_share": _known(self.effective_share[i]),
                "distance": _known(self.distance[i]),
                "answered": self.answered[i],
                "steps": self.steps[i],
            }
            for i in range(len(self))
            for j, feature in enumerate(self.features)
            for k, output in enumerate(self.outputs)
        ]

    def __str__(self) -> str:
        return slopes_text(self)


def _known(number: float) -> float | None:
    """A number for records: None if it is not known."""
    return float(number) if math.isfinite(number) else None
