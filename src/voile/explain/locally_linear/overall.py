"""All filters of a locally linear model, which count most, and what is typical, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.arrays import Array, Floats
from voile.explain.explained_feature import FeatureExplanation
from voile.explain.locally_linear.likeness import draw_likeness
from voile.explain.locally_linear.overall_text import bank_text
from voile.explain.picture_shape import PictureShape, check_pixels
from voile.stored import Amount

MOST_ALIKE, MOST_SUMMARY, LEAST_SHARE = 0.7, 4, 0.25
"""A summary leaves out filters whose cosine to a chosen one is greater, keeps so many, and none
that counts less than this part of an even share."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LocallyLinearExplanation(FeatureExplanation):
    """A whole locally linear model; `outputs` are its classes.

    A filter tells how much each feature raises the score of its map: per range of a pixel (or of
    its square root, if the model takes roots), per half a range of any other number, and for a
    level compared with none.

    Attributes
    ----------
    filters, standard_errors : ndarray of shape (classes, maps, features)
        The filters, and their standard deviation by the privacy noise, estimated.
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
        What the teacher was, if the filters were learned from one.
    image_shape : tuple of int, or None
        Height, width and perhaps channels, if the features are pixels.
    """

    kind: ClassVar[str] = "filters"

    beta: Amount
    taught_by: str | None = None
    image_shape: PictureShape | None = None
    filters: Annotated[Floats, Array("outputs", "maps", "features")]
    standard_errors: Annotated[Floats, Array("outputs", "maps", "features", null=math.inf)]
    offsets: Annotated[Floats, Array("outputs", "maps")]
    shares: Annotated[Floats, Array("outputs", "maps")]
    average: Annotated[Floats, Array("features")]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pixels(self.image_shape, len(self.features))

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
        """The filters of each class, blended by their shares, shape (classes, features)."""
        return np.asarray(np.einsum("km,kmj->kj", self.shares, self.filters))

    @cached_property
    def typical_errors(self) -> Floats:
        """Standard deviation of `typical`, shares held fixed."""
        return _blend_errors(self.shares, self.standard_errors)

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
        """Each filter less the mean of its map over the classes, shape of `filters`.

        All classes may start from the same chance filters, which never matter to an answer: the
        difference leaves them out.
        """
        return _centred(self.filters)

    @property
    def noise(self) -> Floats:
        """Noise of `contrast` as a part of what is seen, root mean square, shape (classes,)."""
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
    def filter_likeness(self) -> Floats | None:
        """The same of single filters, shape of `filters`, or None without pictures."""
        if self.image_shape is None:
            return None
        return draw_likeness(self.distinct, self.average, self.image_shape)

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
                "filter": float(self.filters[k, m, j]),
                "standard_error": float(self.standard_errors[k, m, j]),
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


def _blend_errors(shares: Floats, errors: Floats) -> Floats:
    """Standard deviation of a blend; what is not known stays so unless it counts for nothing."""
    weights = (shares**2)[..., None]
    with np.errstate(invalid="ignore"):
        parts = np.where(weights > 0, weights * errors**2, 0.0)
    return np.asarray(np.sqrt(parts.sum(axis=1)))


def _choose(shares: Floats, filters: Floats, ranked: NDArray[np.int64]) -> tuple[int, ...]:
    """Go down the ranks; take what is unlike everything taken before."""
    lengths = np.linalg.norm(filters, axis=1)
    units = filters / np.where(lengths > 0, lengths, 1.0)[:, None]
    chosen: list[int] = []
    for m in map(int, ranked):
        if len(chosen) == MOST_SUMMARY or (chosen and shares[m] * len(shares) < LEAST_SHARE):
            break
        if not chosen or float((units[chosen] @ units[m]).max()) < MOST_ALIKE:
            chosen.append(m)
    return tuple(chosen)
