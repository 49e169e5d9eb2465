"""All linear maps of a locally linear model, which count most, and what is typical, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats, freeze_arrays
from voile.errors import DataError
from voile.explain.comparison import Comparison
from voile.explain.explained_feature import FeatureExplanation
from voile.explain.explanation import EXPLANATION
from voile.explain.locally_linear.comparing import compare
from voile.explain.locally_linear.likeness import draw_likeness
from voile.explain.locally_linear.overall_text import bank_text
from voile.explain.picture_shape import PictureShape, check_pixels
from voile.models.locally_linear.evidence import MapEvidence
from voile.stored import NonNegative, Stored

MOST_ALIKE, MOST_SUMMARY, LEAST_SHARE = 0.7, 4, 0.25
"""A summary leaves out linear maps whose cosine to a chosen one is greater, keeps so many, and none
that counts less than this part of an even share."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LocallyLinearExplanation(FeatureExplanation):
    """A whole locally linear model; `outputs` are its classes.

    `compare` answers whether two levels, or two columns, differ in weight. Verdicts of columns say
    whether a column's weights tell any class from the others.

    A map tells how much each feature raises the score of its map: per range of a pixel (or of
    its square root, if the model takes roots), per half a range of any other number, and for a
    level compared with none.

    Attributes
    ----------
    linear_maps, standard_errors : ndarray of shape (classes, maps, features)
        The linear maps, and their standard deviation by privacy noise and sampling together (by the
        noise alone if `noise_errors` is None), estimated.
    offsets : ndarray of shape (classes, maps)
        What each map adds without any input.
    shares : ndarray of shape (classes, maps)
        How much each map counts for inputs that the model itself takes for the class: found without
        any row. They sum to 1 over the maps of a class.
    average : ndarray of shape (features,)
        Released: the average input, as the model scales features; for pictures brought to length 1
        it is the mean of such pictures.
    beta : float
        Inverse temperature: large, and one map wins; small, and all blend.
    taught_by : str or None
        What the teacher was, if the linear maps were learned from one.
    image_shape : tuple of int, or None
        Height, width and perhaps channels, if the features are pixels.
    noise_errors : ndarray of shape (classes, maps, features), or None
        The standard deviation by the privacy noise alone; None if no more than that is known.
    evidence : MapEvidence or None
        What `compare`, the verdicts and the errors of blended linear maps rest on.
    p_values : ndarray of shape (columns,), or None
        Of a column that tells no class from the others, allowing for all columns.
    """

    kind: ClassVar[str] = "linear maps"

    beta: NonNegative
    taught_by: str | None = None
    image_shape: PictureShape | None = None
    linear_maps: Annotated[Floats, Array("outputs", "maps", "features")]
    standard_errors: Annotated[Floats, Array("outputs", "maps", "features", null=math.inf)]
    offsets: Annotated[Floats, Array("outputs", "maps")]
    shares: Annotated[Floats, Array("outputs", "maps")]
    average: Annotated[Floats, Array("features")]
    noise_errors: Annotated[
        Floats | None, Array("outputs", "maps", "features", null=math.inf), Stored(optional=True)
    ] = None
    evidence: Annotated[MapEvidence | None, Stored(optional=True)] = None
    p_values: Annotated[Floats | None, Array("columns"), Stored(optional=True)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pixels(self.image_shape, len(self.features))
        found = self.evidence
        if found is not None:
            freeze_arrays(found, EXPLANATION)
            sizes = len(self.outputs), len(self.features), len(self.columns)
            if sizes != (found.classes, found.features, found.columns):
                raise DataError("The evidence of an explanation must be of just what it shows.")

    @property
    def whole(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return self.noise_errors is not None

    @property
    def maps(self) -> int:
        """Maps per class."""
        return self.shares.shape[1] if self.shares.ndim == 2 else 0

    @property
    def ranked(self) -> NDArray[np.int64]:
        """Numbers of the maps, those that count most first, shape (classes, maps)."""
        return np.argsort(-self.shares, axis=1, kind="stable")

    @property
    def active(self) -> Floats:
        """Over how many maps the weight of each class spreads: 1 / (sum of squared shares)."""
        return np.asarray(1.0 / np.maximum((self.shares**2).sum(axis=1), 1e-300))

    @cached_property
    def typical(self) -> Floats:
        """The linear maps of each class, blended by their shares, shape (classes, features)."""
        return np.asarray(np.einsum("km,kmj->kj", self.shares, self.linear_maps))

    @cached_property
    def typical_errors(self) -> Floats:
        """Standard deviation of `typical`, shares held fixed."""
        found, noise = self.evidence, self.noise_errors
        if found is None or noise is None:
            return blend_errors(self.shares, self.standard_errors)
        return blend_errors(self.shares, noise, found.class_errors)

    @cached_property
    def contrast(self) -> Floats:
        """`typical` less its mean over the classes: what all share cannot tell them apart.

        `typical` itself if there is one class.
        """
        return _centred(self.typical)

    @cached_property
    def contrast_errors(self) -> Floats:
        """Standard deviation of `contrast`; classes have independent noise."""
        return _centred_errors(self.typical_errors)

    @cached_property
    def distinct(self) -> Floats:
        """Each linear map less the mean of its map over the classes, shape of `linear_maps`.

        All classes may start from the same random linear maps, which never matter to an answer: the
        difference leaves them out.
        """
        return _centred(self.linear_maps)

    @property
    def noise(self) -> Floats:
        """Error of `contrast` as a part of what is seen, root mean square, shape (classes,)."""
        seen, error = (np.linalg.norm(one, axis=1) for one in (self.contrast, self.contrast_errors))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(error > 0, error / seen, 0.0)

    @cached_property
    def summary(self) -> tuple[tuple[int, ...], ...]:
        """A few maps per class that count most and differ, in this order."""
        return tuple(
            _choose(self.shares[k], self.distinct[k], self.ranked[k])
            for k in range(len(self.outputs))
        )

    @cached_property
    def likeness(self) -> Floats | None:
        """A picture of what each class looks for, 0 to 1, shape (classes, features), or None."""
        if self.image_shape is None:
            return None
        return draw_likeness(self.contrast, self.average, self.image_shape)

    @cached_property
    def linear_map_likeness(self) -> Floats | None:
        """The same of single linear maps, shape of `linear_maps`, or None without pictures."""
        if self.image_shape is None:
            return None
        return draw_likeness(self.distinct, self.average, self.image_shape)

    def compare(self, column: str, first: object, second: object = None) -> Comparison:
        """Is the difference between two levels of a column, or between two columns, real?

        Parameters
        ----------
        column : str
        first, second : level
            Levels of a category. With ``first`` alone, the name of another column that is a
            number, as ``column`` has to be then.

        Returns
        -------
        Comparison
            The difference of their weights in the score of each class (of two, the second) beyond
            the mean of all, with its 95 % interval (privacy noise plus sampling error) and a
            verdict that allows for having looked at many. It costs nothing.

        Raises
        ------
        SettingError
            If a column or a level does not exist, both are the same, or nothing is known of the
            sampling error.
        """
        return compare(self, column, first, second)

    def to_records(self) -> list[dict[str, Any]]:
        """One flat record per class, map and feature."""
        ranks = np.argsort(self.ranked, axis=1, kind="stable")
        return [
            {
                "class": name,
                "map": m,
                "rank": int(ranks[k, m]),
                "share": float(self.shares[k, m]),
                "feature": one.name,
                "column": one.column,
                "weight": float(self.linear_maps[k, m, j]),
                "standard_error": float(self.standard_errors[k, m, j]),
                "noise_error": float(
                    (self.standard_errors if self.noise_errors is None else self.noise_errors)[
                        k, m, j
                    ]
                ),
                "verdict": self.verdict_of(one.column),
                "typical": float(self.typical[k, j]),
                "contrast": float(self.contrast[k, j]),
            }
            for k, name in enumerate(self.outputs)
            for m in range(self.maps)
            for j, one in enumerate(self.features)
        ]

    def __str__(self) -> str:
        return bank_text(self)


def _centred(values: Floats) -> Floats:
    """Values of classes less their mean over the classes, if there are several."""
    return values if len(values) == 1 else np.asarray(values - values.mean(axis=0))


def _centred_errors(errors: Floats) -> Floats:
    """Standard deviation of what `_centred` gives; classes have independent noise."""
    count = len(errors)
    if count == 1:
        return errors
    squared = errors**2
    total: Floats = squared.sum(axis=0) / count**2
    if count > 2:  # for two classes the first part is 0, even of what is not known
        total = total + squared * (1.0 - 2.0 / count)
    return np.sqrt(np.broadcast_to(total, errors.shape))


def blend_errors(shares: Floats, noise: Floats, common: Floats | None = None) -> Floats:
    """Standard deviation of a blend of linear maps, shape (classes, features), shares held fixed.

    Parameters
    ----------
    shares : ndarray of shape (classes, maps)
    noise : ndarray of shape (classes, maps, features)
        Of the single linear maps; what is not known stays so unless it counts for nothing.
    common : ndarray of shape (classes, features), optional
        Error of what the maps of a class have in common. With it, the noise of single linear maps
        counts as far as shares differ from each other.
    """
    apart = shares if common is None else shares - 1.0 / max(shares.shape[1], 1)
    weights = (apart**2)[..., None]
    with np.errstate(invalid="ignore"):
        parts = np.where(weights > 0, weights * noise**2, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(parts if common is None else parts + common**2))


def _choose(shares: Floats, linear_maps: Floats, ranked: NDArray[np.int64]) -> tuple[int, ...]:
    """Go down the ranks; take what is unlike everything taken before."""
    lengths = np.linalg.norm(linear_maps, axis=1)
    units = linear_maps / np.where(lengths > 0, lengths, 1.0)[:, None]
    chosen: list[int] = []
    for m in map(int, ranked):
        if len(chosen) == MOST_SUMMARY or (chosen and shares[m] * len(shares) < LEAST_SHARE):
            break
        if not chosen or float((units[chosen] @ units[m]).max()) < MOST_ALIKE:
            chosen.append(m)
    return tuple(chosen)
