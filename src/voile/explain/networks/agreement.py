"""How far a private network's heat maps agree with those of networks without privacy.

Two networks that differ by their seed alone do not agree fully. So agreement is told relative to
theirs, and beside what agrees for no good reason: maps of other images, and of untrained networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.codec import Order, Writable
from voile.errors import DataError
from voile.explain.networks.given_images import read_count, read_maps
from voile.explain.networks.measures import (
    find_constant,
    scale_maps,
    spearman,
    ssim,
    top_share_iou,
)
from voile.explain.wording import short
from voile.stored import Stored

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean over images and its bootstrap standard error; NaN where it is not defined."""

    value: Annotated[float, Stored(null=math.nan, digits=6)]
    error: Annotated[float, Stored(name="standard_error", null=math.nan, digits=6)]

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "undefined"
        if math.isnan(self.error):
            return short(self.value)
        return f"{self.value:.3f} ± {short(2 * self.error, digits=1)}"


@dataclass(frozen=True, kw_only=True)
class MeasureAgreement:
    """Agreement by one measure.

    Attributes
    ----------
    measure : {"spearman", "top_share_iou", "ssim"}
    private : Mean
        Of the private network with the references, the mean over the two.
    ceiling : Mean
        Of the two references with each other: as much as seeds allow.
    relative : Mean
        Private over ceiling; undefined if that is not above 0.
    shuffled : Mean
        Of the private network's maps of *other* images with the references.
    untrained : Mean, optional
        Of an untrained network's maps with the references.
    beyond : Mean
        Where private lies between shuffled (0) and ceiling (1); undefined if that is not above.
    images : int
        Images behind these means: those for which every comparison is defined.
    undefined : int
        Images that were left out: some map of theirs is constant or has no hottest pixels.
    """

    file_order: ClassVar[Order] = ("measure", "images", "undefined", ...)

    measure: str
    private: Mean
    ceiling: Mean
    relative: Mean
    shuffled: Mean
    untrained: Mean | None
    beyond: Mean
    images: int
    undefined: int


@dataclass(frozen=True, kw_only=True)
class Agreement(Writable):
    """Agreement of heat maps by several measures.

    Attributes
    ----------
    measures : tuple of MeasureAgreement
    images : int
        Images that were given.
    share : float
        Of pixels that count as hottest.
    resamples, seed : int
        Of the bootstrap over images.
    """

    file_order: ClassVar[Order] = (..., "measures")

    measures: tuple[MeasureAgreement, ...]
    images: int
    share: float
    resamples: int
    seed: int

    def __getitem__(self, measure: str) -> MeasureAgreement:
        for one in self.measures:
            if one.measure == measure:
                return one
        raise KeyError(measure)

    def __str__(self) -> str:
        titles = {
            "spearman": "Spearman",
            "top_share_iou": f"IoU of top {100 * self.share:g} %",
            "ssim": "SSIM",
        }
        head = ["", "private", "two seeds", "relative", "other image", "untrained", "left out"]
        rows = [
            [
                titles.get(one.measure, one.measure),
                *map(str, (one.private, one.ceiling, one.relative, one.shuffled)),
                "-" if one.untrained is None else str(one.untrained),
                str(one.undefined),
            ]
            for one in self.measures
        ]
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join(
            [
                f"Agreement of heat maps over {self.images} images, ± two bootstrap errors",
                *(f"  {line}" for line in lines),
                "  private: with two networks without privacy; two seeds: those with each other;",
                "  relative: the first over the second. Other image, untrained: floors.",
            ]
        )


def compare_maps(
    private: Any,
    reference_a: Any,
    reference_b: Any,
    shuffled: Any = None,
    random_init: Any = None,
    *,
    share: float = 0.2,
    sigma: float = 1.5,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Compare a private network's maps with those of two networks without privacy.

    Parameters
    ----------
    private : HeatMaps or array of shape (rows, height, width)
        Best made of public test images, for a class that is the same for all networks (`target`).
    reference_a, reference_b : HeatMaps or array of shape (rows, height, width)
        Of networks that were trained alike without privacy, with different seeds.
    shuffled : HeatMaps or array of shape (rows, height, width), optional
        Maps of other images, a floor; by default the private network's, moved along a random cycle
        through all images, so that no image keeps its own.
    random_init : HeatMaps or array of shape (rows, height, width), optional
        Maps of an untrained network, another floor.
    share : float
        Of pixels that count as hottest, for `top_share_iou`.
    sigma : float
        Window of `ssim`, for which each map is divided by its largest size first; the range is 1,
        or 2 if some map has values below 0.
    resamples : int
        Bootstrap resamples of the images, for standard errors. They hold for these networks and
        other images of the kind, not for other trainings.
    seed : int
        Of that (public) chance.

    Returns
    -------
    Agreement
        An image counts for a measure if every comparison is defined: no map is constant, and all
        have hottest pixels. The number of others is told.

    Raises
    ------
    DataError
        If maps differ in shape, or there are fewer than two images.
    """
    given = {"private": private, "reference_a": reference_a, "reference_b": reference_b}
    if random_init is not None:
        given["random_init"] = random_init
    if shuffled is not None:
        given["shuffled"] = shuffled
    maps = {name: read_maps(one, f"{name} maps") for name, one in given.items()}
    shapes = {name: one.shape for name, one in maps.items()}
    if len(set(shapes.values())) > 1:
        raise DataError(
            f"All maps must be of the same images, and so of one shape. Got "
            f"{', '.join(f'{name} {shape}' for name, shape in shapes.items())}."
        )
    rows = len(maps["private"])
    if rows < 2:
        raise DataError("Agreement needs at least two images: the floor is the map of another.")
    resamples, seed = read_count(resamples, "resamples", 2), read_count(seed, "seed", 0)
    rng = np.random.default_rng(seed)
    cycle = rng.permutation(rows)
    if shuffled is None:
        other = np.empty_like(maps["private"])
        other[cycle] = maps["private"][np.roll(cycle, 1)]
        maps["shuffled"] = other
    constant = np.any([find_constant(one) for one in maps.values()], axis=0)
    scaled = {name: scale_maps(one) for name, one in maps.items()}
    width = 2.0 if any(one.min() < 0 for one in scaled.values()) else 1.0
    measures: dict[str, tuple[Callable[[Floats, Floats], Floats], dict[str, Floats]]] = {
        "spearman": (spearman, maps),
        "top_share_iou": (lambda a, b: top_share_iou(a, b, share), maps),
        "ssim": (lambda a, b: ssim(a, b, data_range=width, sigma=sigma), scaled),
    }
    found = []
    for name, (measure, those) in measures.items():
        a, b = those["reference_a"], those["reference_b"]
        columns: dict[str, Floats] = {
            who: (measure(one, a) + measure(one, b)) / 2
            for who, one in those.items()
            if who not in ("reference_a", "reference_b")
        }
        columns["ceiling"] = measure(a, b)
        defined = ~constant & np.all([np.isfinite(one) for one in columns.values()], axis=0)
        kept = {who: one[defined] for who, one in columns.items()}
        found.append(_summarise(name, kept, rows, resamples, rng))
    return Agreement(
        measures=tuple(found), images=rows, share=float(share), resamples=resamples, seed=seed
    )


def _summarise(
    name: str,
    columns: dict[str, Floats],
    rows: int,
    resamples: int,
    rng: np.random.Generator,
) -> MeasureAgreement:
    """Means of one measure with errors from resampled images, the same for all comparisons."""
    who = tuple(columns)
    values = np.stack([columns[one] for one in who])  # (comparisons, images)
    count = values.shape[1]
    means, drawn = np.full(len(who), np.nan), np.full((resamples, len(who)), np.nan)
    if count:
        means = values.mean(axis=1)
        for i in range(resamples):
            drawn[i] = values[:, rng.integers(0, count, count)].mean(axis=1)
    at = {one: i for i, one in enumerate(who)}

    def mean(one: str) -> Mean:
        return _mean(means[at[one]], drawn[:, at[one]], count)

    def ratio(top: tuple[str, str | None], bottom: tuple[str, str | None]) -> Mean:
        def difference(numbers: Floats, pair: tuple[str, str | None]) -> Floats:
            first = numbers[..., at[pair[0]]]
            return np.asarray(first if pair[1] is None else first - numbers[..., at[pair[1]]])

        def divide(numbers: Floats) -> Floats:
            below = difference(numbers, bottom)
            positive = below > 0
            over = difference(numbers, top)
            return np.where(positive, over / np.where(positive, below, 1.0), np.nan)

        return _mean(float(divide(means)), divide(drawn), count)

    return MeasureAgreement(
        measure=name,
        private=mean("private"),
        ceiling=mean("ceiling"),
        relative=ratio(("private", None), ("ceiling", None)),
        shuffled=mean("shuffled"),
        untrained=mean("random_init") if "random_init" in at else None,
        beyond=ratio(("private", "shuffled"), ("ceiling", "shuffled")),
        images=count,
        undefined=rows - count,
    )


def _mean(value: float, drawn: Floats, count: int) -> Mean:
    """One image has no spread, and a ratio none if it is undefined in some resample."""
    known = count > 1 and bool(np.isfinite(drawn).all())
    return Mean(value=float(value), error=float(drawn.std(ddof=1)) if known else math.nan)
