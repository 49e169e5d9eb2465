"""What a user may set for a network, and the rule that chooses the rest.

The rule reads public facts alone (the expected number of rows, the number of parameters); it is the
same for all data sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.federated.networks.architectures import LARGEST_SEED, ImageShape, names
from voile.models.setting_checks import check_columns_and_classes, is_count, is_number
from voile.privacy.budget import Budget
from voile.schema import Category, Schema

Placement = Literal["uniform", "selective", "shuffled", "sparse"]

RATE_WITHOUT_ROWS = 1.0 / 30.0
"""Part of the rows in a lot, where the schema does not say how many rows there are."""

LOT = 2048
"""Rows in a lot: noise is divided by it, and time is proportional to it."""

_STEPS, _CLIP = 150, 1.0
_LEARNING_RATE = 0.015
"""For 26,010 parameters; steps have one length per coordinate, and so grow with their root."""

_AVERAGE = 0.3


@dataclass(frozen=True, eq=False)
class Settings:
    """What was asked for; None stands for "auto"."""

    image_shape: tuple[int, ...] | None = None
    architecture: str = "cnn"
    placement: Placement = "uniform"
    public_images: NDArray[np.generic] | None = None
    kept_share: float = 0.5
    lot: int | float | None = None
    steps: int | None = None
    learning_rate: float | None = None
    clip: float | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        if self.architecture not in names():
            raise SettingError(
                f"The 'architecture' must be one of {', '.join(map(repr, names()))}, or be "
                f"registered before. Got {self.architecture!r} instead."
            )
        if self.placement not in get_args(Placement):
            raise SettingError(
                f"The 'placement' must be one of {', '.join(map(repr, get_args(Placement)))}. Got "
                f"{self.placement!r} instead."
            )
        for name, low, high in (("clip", 1e-5, 1e5), ("learning_rate", 1e-7, 1e3)):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and low <= value <= high):
                raise SettingError(
                    f"The '{name}' must be 'auto' or a number from {low:g} to {high:g}. Got "
                    f"{value!r} instead."
                )
        if not (is_number(self.kept_share) and 0 < self.kept_share <= 1):
            raise SettingError(
                f"The 'kept_share' must be a number above 0, up to 1. Got {self.kept_share!r}."
            )
        if self.steps is not None and not is_count(self.steps, 1, 1_000_000):
            raise SettingError(
                "The 'steps' must be 'auto' or a whole number from 1 to 1000000. Got "
                f"{self.steps!r} instead."
            )
        lot = self.lot
        part = is_number(lot) and not is_count(lot, 0) and 1e-6 <= lot <= 1  # type: ignore[operator]
        if lot is not None and not is_count(lot, 1) and not part:
            raise SettingError(
                "The 'lot' must be 'auto', a number of rows, or a part of the rows below 1.0. Got "
                f"{lot!r} instead."
            )
        seed = self.random_state
        if seed is not None and not is_count(seed, 0, LARGEST_SEED):
            raise SettingError(
                f"The 'random_state' must be None or a whole number of at least 0. Got {seed!r} "
                "instead."
            )
        shape = self.image_shape
        if not (
            isinstance(shape, tuple)
            and len(shape) in (2, 3)
            and all(is_count(one, 1, 4096) for one in shape)
        ):
            raise SettingError(
                "The 'image_shape' must be (height, width) or (height, width, channels), in "
                f"pixels. Got {shape!r} instead: give it, because networks read images."
            )
        object.__setattr__(self, "image_shape", tuple(map(int, shape)))

    @property
    def picture(self) -> ImageShape:
        """Channels, height, width."""
        shape = self.image_shape
        assert shape is not None
        return shape[2] if len(shape) == 3 else 1, shape[0], shape[1]


@dataclass(frozen=True)
class Course:
    """Everything that training needs to know, decided before the first look."""

    rate: float
    steps: int
    clip: float
    learning_rate: float
    """Length of a step per coordinate, for 26,010 parameters."""

    rate_scales: bool
    """Whether the rate is for 26,010 parameters and falls with the root of their number."""

    average: float
    """Part of the steps, at the end, whose weights are averaged."""

    def learning_rate_for(self, parameters: int) -> float:
        """Length of a step per coordinate."""
        return self.learning_rate * (math.sqrt(26_010 / parameters) if self.rate_scales else 1.0)


def choose(settings: Settings, budget: Budget, schema: Schema, *, sampled: bool) -> Course:
    """The course of training, by the rule where nothing was asked for.

    Parameters
    ----------
    schema : Schema
        Its number of rows, if it says one.
    sampled : bool
        Whether rows may be sampled one by one (they may not if a privacy unit has several).
    """
    rate = _rate(settings.lot, schema.rows)
    if not sampled and not budget.unlimited:
        if settings.lot not in (None, 1.0):
            raise SettingError(
                "Rows are sampled one by one, which proves nothing for units of several rows: use "
                "Unit(..., rows=1), or lot=1.0."
            )
        rate = 1.0
    return Course(
        rate=rate,
        steps=int(settings.steps or _STEPS),
        clip=float(settings.clip or _CLIP),
        learning_rate=float(settings.learning_rate or _LEARNING_RATE),
        rate_scales=settings.learning_rate is None,
        average=_AVERAGE,
    )


def _rate(lot: int | float | None, rows: int | None) -> float:
    if lot is not None and not is_count(lot, 0):
        return float(lot)
    if rows is not None:
        return min(1.0, (LOT if lot is None else int(lot)) / rows)
    if lot is not None:
        raise SettingError(
            f"A 'lot' of {lot} rows needs the expected number of rows: give Schema(..., rows=...), "
            "or the lot as a part of the rows, such as 0.03."
        )
    return RATE_WITHOUT_ROWS


def check(schema: Schema, settings: Settings) -> None:
    """Refuse what no fit can do before anything is spent."""
    check_columns_and_classes(schema)
    pixels = math.prod(settings.picture)
    if pixels != len(schema):
        raise SettingError(
            f"The 'image_shape' {settings.image_shape} has {pixels} pixels and the table has "
            f"{len(schema)} columns: give one column per pixel."
        )
    if any(isinstance(one, Category) for one in schema.values()):
        raise SettingError("Pixels must be numbers: the table has a category among them.")
