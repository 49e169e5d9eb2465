"""What the training of a network asks of the rows: sums, each with its bound.

Bounds are enforced where the sums are made, row by row, in whole units, and what a row adds depends
on that row alone. Proofs: docs/proofs/network.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.networks.architectures import Description, ImageShape, parameter_count
from voile.models.networks.clipping import cross_entropy_pull
from voile.models.networks.images import (
    CLASSES,
    IMAGES,
    MOST_CHANNELS,
    KeptImages,
    Standard,
    check_bits,
)
from voile.models.networks.kernels import (
    add_group_squares,
    add_group_units,
    add_squares,
    add_units,
    find_factors,
    fits,
)
from voile.models.networks.per_example_engine import PerExampleEngine, engine_of
from voile.models.networks.threads import one_thread
from voile.models.setting_checks import is_count, is_number
from voile.privacy.queries import Block, Preparation, Query, last_kept
from voile.privacy.wire import sendable
from voile.schema import Schema

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

COUNT_WEIGHT = 0.25
"""Weight of a row in the count beside its brightness."""

_LARGEST_WEIGHT = 1e12
_NO_CLIP = 1e15


@sendable
@dataclass(frozen=True)
class Brightness(Query):
    """Per channel the sum of mean pixels and of mean squared pixels, both in [0, 1]; a quarter.

    Parameters
    ----------
    channels : int
    bits : int
        Of the kept pixels: 8 or 16.
    """

    channels: int
    bits: int

    columns = ()
    signed = False

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if not is_count(self.channels, 1, MOST_CHANNELS):
            raise SettingError(
                f"The brightness of images has from 1 to {MOST_CHANNELS} channels. Got "
                f"{self.channels!r} instead."
            )

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep images of as many bits, with so many numbers per pixel."""
        kept = last_kept(prepared, KeptImages)
        if kept is None or kept.bits != self.bits or not 1 <= self.channels <= len(kept.schema):
            return False
        return len(kept.schema) % self.channels == 0

    @property
    def size(self) -> int:
        """Two numbers per channel, and the count."""
        return 2 * self.channels + 1

    @property
    def bound(self) -> float:
        """All numbers at 1."""
        return math.sqrt(2.0 * self.channels + COUNT_WEIGHT**2)

    def contributions(self, block: Block) -> Floats:
        """Shape (rows, size): from sums of integers, exact."""
        top = 2**self.bits - 1
        kept = block.kept[IMAGES]
        images = kept.reshape(block.rows, -1, self.channels)
        pixels = max(images.shape[1], 1)
        sums = images.sum(axis=1, dtype=np.int64) / (pixels * top)
        squares = np.empty_like(sums)
        for start in range(0, block.rows, 1024):
            some = images[start : start + 1024].astype(np.int64)
            squares[start : start + 1024] = (some * some).sum(axis=1) / (pixels * top**2)
        count = np.full((block.rows, 1), COUNT_WEIGHT)
        return np.concatenate([sums, squares, count], axis=1)

    def split(self, values: Floats) -> tuple[float, Floats, Floats]:
        """Released number of rows (at least 10), mean and standard deviation per channel."""
        rows = max(float(values[-1]) / COUNT_WEIGHT, 10.0)
        means = np.clip(values[: self.channels] / rows, 0.0, 1.0)
        squares = values[self.channels : 2 * self.channels] / rows
        # No image set is flatter than a tenth of its range in a way worth stretching.
        spreads = np.sqrt(np.maximum(squares - means**2, 0.05**2))
        return rows, means, np.minimum(spreads, 0.5)


@sendable
@dataclass(frozen=True, eq=False)
class NetworkSteps(Query):
    """Sum of the gradients of the cross-entropy by a network's parameters, each row's clipped.

    Parameters
    ----------
    architecture : str
        A registered name.
    image_shape : tuple of int
        Channels, height, width.
    classes : int
    seed : int
        Of the network's buffers and frozen parameters.
    weights : ndarray of shape (parameters,)
        Released: where the gradient is taken.
    standard : Standard
        Released: how kept pixels become inputs.
    clip : float
        Norm of what a row adds, after scaling.
    groups : ndarray of shape (parameters,), optional
        Public: number of each coordinate's group.
    scales : tuple of float
        Public: what the coordinates of each group are divided by, so that uniform noise is uneven
        noise of the gradient; multiply what is released by them.
    clips : tuple of float
        Norm of each group before it is scaled; none without it.
    mask : ndarray of shape (size,), optional
        Public: increasing numbers of the coordinates that are sent; all without it.
    turn : tuple of int, optional
        (k, n): every n-th row of a block only, beginning with the k-th (without noise alone).
    exact : bool
        Whether rows are added in whole units. If not, it is quicker for large networks, and for
        sums without noise alone.
    rows_at_once : int, optional
        1 for rows one by one; by default as many as this machine is known to keep apart.
    """

    architecture: str
    image_shape: ImageShape
    classes: int
    seed: int
    weights: Floats
    standard: Standard
    clip: float
    groups: Wholes | None = None
    scales: tuple[float, ...] = ()
    clips: tuple[float, ...] = ()
    mask: Wholes | None = None
    turn: tuple[int, int] | None = None
    exact: bool = True
    rows_at_once: int | None = None

    columns = ()
    weighable = False

    def __post_init__(self) -> None:
        count = parameter_count(self.description)
        # A copy that nobody changes: threads remember which weights they have loaded.
        weights = np.array(self.weights, dtype=np.float64)
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)
        if weights.shape != (count,):
            raise SettingError(
                f"The weights of {self.architecture!r} must have shape ({count},). Got "
                f"{weights.shape} instead."
            )
        # Written so that what is not a number is refused, too.
        if not np.abs(weights).max(initial=0.0) < _LARGEST_WEIGHT:
            raise SettingError(
                f"The weights of a network must be smaller than {_LARGEST_WEIGHT:g}: take smaller "
                "steps."
            )
        if not (is_number(self.clip) and 1e-9 <= self.clip <= 1e9):
            raise SettingError(f"The clip of a step must be from 1e-9 to 1e9. Got {self.clip!r}.")
        if self.standard.channels != self.image_shape[0]:
            raise SettingError("Images and what standardises them differ in their channels.")
        if self.rows_at_once is not None and self.rows_at_once != 1:
            raise SettingError("The 'rows_at_once' must be None or 1.")
        self._check_turn()
        self._check_groups(count)
        self._check_mask(count)

    def _check_turn(self) -> None:
        turn = self.turn
        if turn is None:
            return
        pair = isinstance(turn, tuple) and len(turn) == 2 and all(is_count(one, 0) for one in turn)
        if not pair or turn[0] >= turn[1]:
            raise SettingError(
                f"A 'turn' must be two whole numbers (k, n) with 0 <= k < n. Got {turn!r} instead."
            )

    def _check_groups(self, count: int) -> None:
        if self.groups is None:
            if self.scales or self.clips:
                raise SettingError("Scales and clips are for groups: say the groups.")
            return
        groups = np.asarray(self.groups)
        number = len(self.scales) or len(self.clips)
        fits_both = not self.scales or not self.clips or len(self.scales) == len(self.clips)
        if groups.shape != (count,) or groups.dtype != np.int64 or not (number and fits_both):
            raise SettingError(
                "Groups must give each parameter the number of its scale and clip, as int64."
            )
        if not 0 <= groups.min() <= groups.max() < number:
            raise SettingError(f"The groups of parameters must be from 0 to {number - 1}.")
        if not all(is_number(x) and 1e-9 <= x <= 1e9 for x in (*self.scales, *self.clips)):
            raise SettingError("Scales and clips of groups must be from 1e-9 to 1e9.")

    def _check_mask(self, count: int) -> None:
        if self.mask is None:
            return
        mask = np.asarray(self.mask)
        inside = mask.dtype == np.int64 and mask.ndim == 1 and len(mask) > 0
        if not (inside and mask[0] >= 0 and mask[-1] < count and (np.diff(mask) > 0).all()):
            raise SettingError(
                "A mask must be increasing numbers of parameters, as int64, one at least."
            )

    def fits(self, prepared: Sequence[Preparation], schema: Schema) -> bool:
        """Whether rows keep images of just this shape and as many bits, and so many classes."""
        kept = last_kept(prepared, KeptImages)
        return (
            kept is not None
            and len(kept.schema) == math.prod(self.image_shape)
            and kept.bits == self.standard.bits
            and kept.class_count == self.classes
        )

    @property
    def description(self) -> Description:
        """The network without its weights."""
        return Description(self.architecture, self.image_shape, self.classes, self.seed)

    @property
    def size(self) -> int:
        """Coordinates that are sent."""
        return len(self.weights) if self.mask is None else len(self.mask)

    @property
    def bound(self) -> float:
        """Norm of what a row adds."""
        if not self.clips:
            return self.clip
        scales = self.scales or (1.0,) * len(self.clips)
        each = math.fsum((c / s) ** 2 for c, s in zip(self.clips, scales, strict=True))
        return min(self.clip, math.sqrt(each))

    @property
    def bounded(self) -> bool:
        """Neither floating-point sums nor lots by place have a proof."""
        return self.exact and self.turn is None

    @cached_property
    def _numbers(self) -> tuple[Wholes | None, Floats, Floats]:
        """Group of each coordinate (-1: not sent), and clips and scales of groups."""
        number = max(len(self.scales), len(self.clips), 1)
        clips = np.array(self.clips or (_NO_CLIP,) * number, dtype=np.float64)
        scales = np.array(self.scales or (1.0,) * number, dtype=np.float64)
        if self.groups is None and self.mask is None:
            return None, clips, scales
        groups = np.zeros(len(self.weights), np.int64)
        if self.groups is not None:
            groups[:] = self.groups
        if self.mask is not None:
            sent = np.zeros(len(groups), dtype=bool)
            sent[self.mask] = True
            groups[~sent] = -1
        return groups, clips, scales

    def contributions(self, block: Block) -> Floats:
        """One row at a time, for tests and small blocks."""
        unit = 2.0**-40
        rows = [self.total(block.part(i, i + 1), unit) * unit for i in range(block.rows)]
        return np.asarray(rows, dtype=np.float64).reshape(block.rows, self.size)

    def total(self, block: Block, grid: float) -> Wholes:
        """Sum of the clipped gradients, in whole units of ``grid``."""
        if block.weights is not None:
            raise SettingError("Networks are trained without weights of rows: leave them out.")
        images, classes = block.kept[IMAGES], block.kept[CLASSES]
        if self.turn is not None:
            images, classes = (one[self.turn[0] :: self.turn[1]] for one in (images, classes))
        usable = (classes >= 0) & (classes < self.classes)
        if not usable.all():
            images, classes = images[usable], classes[usable]
        total = np.zeros(len(self.weights), dtype=np.int64)
        if len(classes):
            with one_thread():
                engine = engine_of(self.description)
                engine.load(self.weights)
                if self.exact:
                    self._add_exactly(engine, images, classes, grid, total)
                else:
                    self._add_quickly(engine, images, classes, grid, total)
        return total if self.mask is None else total[self.mask]

    def _add_exactly(
        self,
        engine: PerExampleEngine,
        images: NDArray[np.uint16],
        classes: NDArray[np.int32],
        grid: float,
        total: Wholes,
    ) -> None:
        """In chunks of one size, filled up with images that count nothing."""
        chunk = self.rows_at_once or engine.rows_at_once
        groups, clips, scales = self._numbers
        plain = groups is None and fits(self.bound, grid)
        if groups is None:
            groups = np.zeros(len(total), np.int64)
        for start in range(0, len(classes), chunk):
            some, own = images[start : start + chunk], classes[start : start + chunk]
            parts = engine.gradients(self.standard.inputs(some, self.image_shape, chunk), own)
            squares = np.zeros((len(own), len(clips)))
            factors, end = np.empty_like(squares), 0
            for part in parts:
                mine = groups[end : end + part.shape[1]]
                end += part.shape[1]
                if plain:
                    add_squares(part, squares)
                else:
                    add_group_squares(part, mine, squares)
            find_factors(squares, self.clip, clips, scales, len(total), factors)
            end = 0
            for part in parts:
                place = slice(end, end + part.shape[1])
                end += part.shape[1]
                if plain:
                    add_units(part, factors, 1.0 / grid, total[place])
                else:
                    add_group_units(part, groups[place], factors, 1.0 / grid, total[place])

    def _add_quickly(
        self,
        engine: PerExampleEngine,
        images: NDArray[np.uint16],
        classes: NDArray[np.int32],
        grid: float,
        total: Wholes,
    ) -> None:
        """In floating point, by lengths in closed form."""
        if self.groups is not None or self.mask is not None:
            raise SettingError("Sums in floating point know neither groups nor masks.")
        for start in range(0, len(classes), _QUICK_ROWS):
            some, own = images[start : start + _QUICK_ROWS], classes[start : start + _QUICK_ROWS]
            inputs = self.standard.inputs(some, self.image_shape, len(own))
            pull = cross_entropy_pull(torch.from_numpy(own.astype(np.int64)))
            sums = engine.clipped_sum(inputs, pull, self.clip)
            total += np.rint(sums.double().numpy() / grid).astype(np.int64)


_QUICK_ROWS = 256
