"""Why single rows got their class from blended linear maps, and what each input added, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import DataError
from voile.explain.explained_feature import FeatureExplanation, sum_columns
from voile.explain.explanation import EXPLANATION, ExplainedRows, check_row_texts
from voile.explain.locally_linear.likeness import draw_likeness
from voile.explain.locally_linear.local_text import decisions_text
from voile.explain.locally_linear.overall import blend_errors
from voile.explain.picture_shape import PictureShape, check_pixels
from voile.stored import Count, Stored, Unknown


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearMapDecision:
    """One row: how sure each class is, which maps count for it, and what the row showed them.

    Attributes
    ----------
    predicted, runner_up : int
        Numbers of the two classes with the highest scores; -1 if there is no second class.
    probabilities, scores : ndarray of shape (classes,)
    score_errors : ndarray of shape (classes,)
        Standard deviation of the scores by the errors of the maps, shares held fixed: rather too
        much, as training corrects noise where answers depend on it. The error of the offsets is not
        known and not in it.
    margin_error : float
        The same for the difference between the two highest scores.
    base : ndarray of shape (classes,)
        What the class scores where every input is average: the blended offsets, and the little
        that rounding leaves.
    shares : ndarray of shape (classes, maps)
        How much each map counts for its class; they sum to 1 over the maps.
    map_scores : ndarray of shape (classes, maps)
        What each map says.
    values : ndarray of shape (features,)
        The row as it was read, in the columns' own units.
    strengths : ndarray of shape (features,)
        By what a map is multiplied: how far the feature is from the average input, as the maps
        see it once the row is brought to its length.
    given, read_as : tuple of str, (columns,)
        The row as it was given, and how a value was read where that differs.
    """

    predicted: Count
    runner_up: Annotated[int, Stored(least=-1)]
    margin_error: Unknown
    probabilities: Annotated[Floats, Array("outputs")]
    scores: Annotated[Floats, Array("outputs")]
    score_errors: Annotated[Floats, Array("outputs", null=math.inf)]
    base: Annotated[Floats, Array("outputs")]
    shares: Annotated[Floats, Array("outputs", "maps")]
    map_scores: Annotated[Floats, Array("outputs", "maps")]
    values: Annotated[Floats, Array("features")]
    strengths: Annotated[Floats, Array("features")]
    given: tuple[str, ...]
    read_as: tuple[str, ...]

    @property
    def margin(self) -> float:
        """By how much the score of the class is above the next; infinite if there is none."""
        if self.runner_up < 0:
            return math.inf
        return float(self.scores[self.predicted] - self.scores[self.runner_up])

    @property
    def doubtful(self) -> bool:
        """Whether two standard errors could have reversed the answer."""
        return self.runner_up >= 0 and self.margin < 2 * self.margin_error

    @property
    def classes_by_score(self) -> tuple[int, ...]:
        """Numbers of the classes, the highest score first."""
        return tuple(map(int, np.argsort(-self.scores, kind="stable")))

    def ranked(self, output: int) -> tuple[int, ...]:
        """Maps of a class, those that count most first."""
        return tuple(map(int, np.argsort(-self.shares[output], kind="stable")))


@dataclass(frozen=True, eq=False, kw_only=True)
class LocallyLinearLocalExplanation(FeatureExplanation, ExplainedRows):
    """Why some rows got their class; `outputs` are the classes.

    The score of a class is ``base + sum of contributions`` exactly: a contribution is the row's
    blended map at a feature times the row's strength there. An input that is as on average adds
    nothing, and neither does a column of missing values that are read as the average.

    Attributes
    ----------
    linear_maps, standard_errors : ndarray of shape (classes, maps, features)
        The linear maps, and their standard deviation by privacy noise and sampling together (by the
        noise alone if `noise_errors` is None).
    average : ndarray of shape (features,)
        Released: the average input, as the model scales features.
    decisions : tuple of LinearMapDecision
        One per row.
    image_shape : tuple of int, or None
        Height, width and perhaps channels, if the features are pixels.
    noise_errors : ndarray of shape (classes, maps, features), or None
        The standard deviation of linear maps by the privacy noise alone.
    common_errors : ndarray of shape (classes, features), or None
        That of what the maps of a class have in common, by noise and sampling together. Both are
        None if the sampling error is not known.
    """

    kind: ClassVar[str] = "linear map decisions"

    linear_maps: Annotated[Floats, Array("outputs", "maps", "features")]
    standard_errors: Annotated[Floats, Array("outputs", "maps", "features", null=math.inf)]
    average: Annotated[Floats, Array("features")]
    image_shape: PictureShape | None = None
    decisions: tuple[LinearMapDecision, ...]
    noise_errors: Annotated[
        Floats | None, Array("outputs", "maps", "features", null=math.inf), Stored(optional=True)
    ] = None
    common_errors: Annotated[
        Floats | None, Array("outputs", "features", null=math.inf), Stored(optional=True)
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        classes = len(self.outputs)
        for one in self.decisions:
            if one.predicted not in range(classes) or one.runner_up not in range(-1, classes):
                raise DataError("A decision speaks of a class that is not among the outputs.")
            check_row_texts((one.given, one.read_as), 2, len(self.columns), "given values")
            freeze_arrays(one, EXPLANATION, self, nan_is_null=True)
        check_pixels(self.image_shape, len(self.features))

    @property
    def whole(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return self.common_errors is not None

    @property
    def maps(self) -> int:
        """Maps per class."""
        return self.linear_maps.shape[1] if self.linear_maps.ndim == 3 else 0

    # -- what follows from the facts of a row ---------------------------------------------------

    def weighted(self, row: int) -> Floats:
        """The linear maps of each class, blended for this row, shape (classes, features)."""
        return np.asarray(np.einsum("km,kmj->kj", self.decisions[row].shares, self.linear_maps))

    def weighted_errors(self, row: int) -> Floats:
        """Standard deviation of `weighted` by the errors of the linear maps, shares held fixed."""
        noise = self.standard_errors if self.noise_errors is None else self.noise_errors
        return blend_errors(self.decisions[row].shares, noise, self.common_errors)

    def contributions(self, row: int) -> Floats:
        """What each feature added to each score, shape (classes, features)."""
        return np.asarray(self.weighted(row) * self.decisions[row].strengths)

    def contribution_errors(self, row: int) -> Floats:
        """Standard deviation of `contributions`, shares held fixed."""
        strengths = np.abs(self.decisions[row].strengths)
        with np.errstate(invalid="ignore"):
            found = np.where(strengths > 0, self.weighted_errors(row) * strengths, 0.0)
        return np.asarray(found)

    def parts(self, row: int) -> Floats:
        """What each column added to each score, shape (classes, columns)."""
        return sum_columns(self.features, self.contributions(row))

    def part_errors(self, row: int) -> Floats:
        """Standard deviation of `parts`, shares held fixed."""
        squared = sum_columns(self.features, self.contribution_errors(row) ** 2)
        return np.asarray(np.sqrt(squared))

    def distinct(self, row: int) -> Floats:
        """`weighted` less its mean over the classes, shape (classes, features)."""
        found = self.weighted(row)
        return found if len(found) == 1 else np.asarray(found - found.mean(axis=0))

    def likeness(self, row: int) -> Floats | None:
        """A picture of what the row's blended linear maps look for, or None without pictures.

        From 0 to 1, shape (classes, features).
        """
        if self.image_shape is None:
            return None
        return draw_likeness(self.distinct(row), self.average, self.image_shape)

    def against(self, row: int, other: int | None = None) -> Floats:
        """What each feature added to the lead of the row's class over another, (features,).

        With the difference of the two bases they sum to the difference of the two scores.

        Parameters
        ----------
        row : int
        other : int, optional
            Number of a class; the runner-up if not given. Without any, the score of the class.
        """
        one, found = self.decisions[row], self.contributions(row)
        other = one.runner_up if other is None else other
        return np.asarray(found[one.predicted] - (found[other] if other >= 0 else 0.0))

    def against_errors(self, row: int, other: int | None = None) -> Floats:
        """Standard deviation of `against`, shares held fixed."""
        one, found = self.decisions[row], self.contribution_errors(row) ** 2
        other = one.runner_up if other is None else other
        squared = found[one.predicted] + (found[other] if other >= 0 else 0.0)
        return np.asarray(np.sqrt(squared))

    def base_lead(self, row: int) -> float:
        """The difference of the bases of the row's class and the runner-up."""
        one = self.decisions[row]
        other = float(one.base[one.runner_up]) if one.runner_up >= 0 else 0.0
        return float(one.base[one.predicted]) - other

    # -- forms ----------------------------------------------------------------------------------

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per row, class and feature."""
        places = {name: i for i, name in enumerate(self.columns)}
        records = []
        for i, one in enumerate(self.decisions):
            weighted, parts = self.weighted(i), self.contributions(i)
            errors = self.contribution_errors(i)
            records += [
                {
                    "row": i,
                    "predicted": self.outputs[one.predicted],
                    "class": name,
                    "probability": float(one.probabilities[k]),
                    "score": float(one.scores[k]),
                    "base": float(one.base[k]),
                    "feature": feature.name,
                    "given": one.given[places[feature.column]],
                    "weighted_map": float(weighted[k, j]),
                    "contribution": float(parts[k, j]),
                    "standard_error": float(errors[k, j]),
                    "verdict": self.verdict_of(feature.column),
                }
                for k, name in enumerate(self.outputs)
                for j, feature in enumerate(self.features)
            ]
        return records

    def __str__(self) -> str:
        return decisions_text(self)
