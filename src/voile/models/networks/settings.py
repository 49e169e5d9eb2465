"""What a user may set for a network, and the rule that chooses the rest.

The rule reads public facts alone (the expected number of rows, the number of parameters); it is the
same for all data sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.descent import choose_rate, steps_share
from voile.models.networks.architectures import ImageShape, names
from voile.models.pixels import RANGE_ACCESS, channels_first, check_pixels, with_range
from voile.models.setting_checks import (
    SEED,
    Allowed,
    CheckedSettings,
    check_columns_and_classes,
    choice,
    count,
    is_count,
    is_number,
    number,
    or_auto,
    picture_shape,
)
from voile.privacy.budget import Budget
from voile.privacy.calibrate import gaussian_step
from voile.privacy.discovery import discovery_shape
from voile.privacy.events import Plan, Step
from voile.schema import Schema

Placement = Literal["uniform", "selective", "shuffled", "sparse"]

RATE_WITHOUT_ROWS = 1.0 / 30.0
"""Part of the rows in a lot, where the schema does not say how many rows there are."""

LOT = 2048
"""Rows in a lot: noise is divided by it, and time is proportional to it."""

_STEPS, _CLIP = 150, 1.0
_LEARNING_RATE = 0.015
"""For 26,010 parameters; steps have one length per coordinate, and so grow with their root."""

BRIGHTNESS_ACCESS = "brightness and row count"

_RANGE, _BRIGHTNESS, _CLASSES = 0.005, 0.01, 0.02
"""Shares of mu^2: for the pixels' range, their mean and spread, and classes nobody listed."""


def _is_lot(value: object) -> bool:
    """Whether it is a number of rows, or a part of them."""
    if is_count(value, 0):
        return value >= 1
    return is_number(value) and 1e-6 <= value <= 1


_LOTS = Allowed(_is_lot, "a number of rows, or a part of the rows below 1.0")
_IMAGES = picture_shape(
    2, 3, most=4096, remedy=": give it, or an array of pictures, because networks read images"
)


@dataclass(frozen=True, eq=False)
class Settings(CheckedSettings):
    """What was asked for; None stands for "auto"."""

    image_shape: Annotated[tuple[int, ...] | None, _IMAGES] = None
    architecture: str = "cnn"
    placement: Annotated[Placement, choice(Placement)] = "uniform"
    public_images: NDArray[np.generic] | None = None
    lot: Annotated[int | float | None, or_auto(_LOTS)] = None
    steps: Annotated[int | None, or_auto(count(1, 1_000_000))] = None
    learning_rate: Annotated[float | None, or_auto(number(1e-7, 1e3))] = None
    clip: Annotated[float | None, or_auto(number(1e-5, 1e5))] = None
    random_state: Annotated[int | None, SEED] = None

    def __post_init__(self) -> None:
        if self.architecture not in names():
            raise SettingError(
                f"The 'architecture' must be one of {', '.join(map(repr, names()))}, or be "
                f"registered before. Got {self.architecture!r} instead."
            )
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width and perhaps channels, which no settings are without."""
        assert self.image_shape is not None
        return self.image_shape

    @property
    def picture(self) -> ImageShape:
        """Channels, height, width."""
        return channels_first(self.shape)


@dataclass(frozen=True, eq=False)
class Schedule:
    """What follows from settings and public facts, decided before the first access."""

    settings: Settings
    rate: float
    steps: int
    clip: float
    learning_rate: float
    """Length of a step per coordinate, for 26,010 parameters."""

    average: float = 0.3
    """Part of the steps, at the end, whose weights are averaged."""

    def learning_rate_for(self, parameters: int) -> float:
        """Length of a step per coordinate; the rule's falls with the root of their number."""
        by_rule = self.settings.learning_rate is None
        return self.learning_rate * (math.sqrt(26_010 / parameters) if by_rule else 1.0)


def choose(settings: Settings, budget: Budget, schema: Schema, *, sampled: bool) -> Schedule:
    """The schedule of training, by the rule where nothing was asked for.

    Parameters
    ----------
    schema : Schema
        Its number of rows, if it says one.
    sampled : bool
        Whether rows may be sampled one by one (they may not if a privacy unit has several).
    """
    rate = _rate(settings.lot, schema.rows)
    return Schedule(
        settings,
        rate=choose_rate(rate, budget, sampled=sampled, asked=settings.lot, name="lot=1.0"),
        steps=settings.steps or _STEPS,
        clip=settings.clip or _CLIP,
        learning_rate=settings.learning_rate or _LEARNING_RATE,
    )


def plan_shape(schema: Schema, schedule: Schedule, delta: float) -> Plan:
    """All accesses, with their shares of mu^2."""
    steps: list[Step] = []
    known = with_range(schema, 1.0)
    left = 1.0 - _BRIGHTNESS
    if known is not schema:
        steps.append(gaussian_step(RANGE_ACCESS, _RANGE))
        left -= _RANGE
    found = discovery_shape(known, _CLASSES, delta)
    if found:
        left -= _CLASSES
    steps += found
    steps.append(gaussian_step(BRIGHTNESS_ACCESS, _BRIGHTNESS))
    steps.append(steps_share(left, rate=schedule.rate, count=schedule.steps))
    return Plan(tuple(steps))


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
    check_pixels(schema, settings.shape)
