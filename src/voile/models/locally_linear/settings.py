"""What a user may set for locally linear maps, and the rule that chooses the rest.

The rule reads public facts alone (shape of pictures, number of classes, budget); it was found on
held-out parts of several data sets and is the same for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from voile.errors import SettingError
from voile.models import exact_sums as whole_numbers
from voile.models.descent import choose_rate, steps_share
from voile.models.features import public_features
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.pictures import STILL, Move, SmoothBasis
from voile.models.pixels import RANGE_ACCESS, Shape, check_pixels, full_shape, with_range
from voile.models.setting_checks import (
    DISCOVERY,
    SEED,
    CheckedSettings,
    check_columns_and_classes,
    choice,
    count,
    number,
    optional,
    or_auto,
    or_none,
    picture_shape,
    truth,
)
from voile.privacy.budget import Budget
from voile.privacy.calibrate import gaussian_step
from voile.privacy.discovery import discovery_shape
from voile.privacy.events import Plan, Step
from voile.schema import Schema

Basis = Literal["auto", "smooth", "plain"]
Centring = Literal["auto", "private", "fixed", "none"]
Preset = Literal["accurate", "readable"]

MOST_MAPS = 1_000
MOST_PROJECTED = 2**13
"""Most features behind a random projection, for exact sums (`projections.py`)."""

CENTRE_ACCESS = "centre and row count"
MEANS_ACCESS = "class means"

_RANGE, _CENTRE, _MEANS, CLASSES = 0.005, 0.01, 0.02, 0.02
"""Shares of mu^2: for the pixels' range, for the mean of all and those of classes, and for classes
that nobody listed (`DISCOVERY`, if columns are to be found, too)."""


@dataclass(frozen=True)
class Settings(CheckedSettings):
    """What was asked for; None stands for "auto"."""

    image_shape: Annotated[tuple[int, ...] | None, optional(picture_shape(2, 3))] = None
    preset: Annotated[Preset, choice(Preset)] = "accurate"
    maps: Annotated[int | None, or_auto(count(1, MOST_MAPS))] = None
    inverse_temperature: Annotated[float | None, or_auto(number(0.0, 1e3))] = None
    projection: Annotated[int | None, or_none(count(1, 100_000))] = None
    shared_projection: Annotated[bool, truth()] = False
    basis: Annotated[Basis, choice(Basis)] = "auto"
    window: Annotated[bool, truth()] = False
    centring: Annotated[Centring, choice(Centring)] = "auto"
    normalise: Annotated[bool | None, or_auto(truth())] = None
    copies: Annotated[bool | None, or_auto(truth())] = None
    sampling_rate: Annotated[float | None, or_auto(number(1e-5, 1.0))] = None
    steps: Annotated[int | None, or_auto(count(1, 1_000_000))] = None
    clip: Annotated[float | None, or_auto(number(1e-5, 1e3))] = None
    learning_rate: Annotated[float | None, or_auto(number(1e-6, 1e3))] = None
    random_state: Annotated[int | None, SEED] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image_shape is None and (self.basis == "smooth" or self.copies or self.window):
            raise SettingError(
                "A smooth basis, a window and moved copies are for pictures: give their "
                "'image_shape'."
            )
        if self.window and (self.projection is not None or self.basis == "plain"):
            raise SettingError("A 'window' belongs to the smooth basis: leave it out.")
        if self.projection is not None and (self.basis == "smooth" or self.copies):
            raise SettingError(
                "A random 'projection' takes the place of the smooth basis and of copies: leave "
                "these at 'auto'."
            )

    @property
    def picture(self) -> Shape | None:
        """Height, width, channels."""
        return None if self.image_shape is None else full_shape(self.image_shape)


@dataclass(frozen=True)
class Schedule:
    """What follows from settings and public facts, decided before the first access."""

    settings: Settings
    maps: int
    clip: float
    learning_rate: float
    spread: float
    """Standard deviation of the weights at the start."""

    bias: float
    """The constant input."""

    rate_grows: bool
    """Whether the rate is for two classes and grows with their number."""

    rate: float = 0.1
    steps: int = 300
    beta: float = 0.1
    basis: SmoothBasis | None = None
    copies: tuple[Move, ...] = (STILL,)
    copies_per_step: int = 1
    centring: Centring = "private"
    root: bool = False
    normalise: bool = True
    towards_means: float = 0.0
    """How many times the difference of a class's mean to all others' its maps begin with."""

    pull: float = 0.0
    """Part of the way back to their start that weights are pulled in each step."""

    average: float = 0.5
    """Part of the steps, at the end, whose weights are averaged."""

    def learning_rate_for(self, classes: int) -> float:
        """Size of steps; many classes can be told apart by larger weights."""
        return self.learning_rate * (classes / 2.0 if self.rate_grows else 1.0)

    def uncentred(self, schema: Schema) -> Inputs:
        """Inputs before anything was released."""
        return Inputs.uncentred(
            schema, self.settings.picture, self.basis, root=self.root, normalise=self.normalise
        )


_COPIES = (
    STILL,
    Move(down=1),
    Move(down=-1),
    Move(right=1),
    Move(right=-1),
    Move(turn=8),
    Move(turn=-8),
    Move(shear=0.15),
    Move(shear=-0.15),
)


def choose(settings: Settings, budget: Budget, *, sampled: bool) -> Schedule:
    """The schedule of training, by the rule where nothing was asked for.

    Parameters
    ----------
    settings : Settings
    budget : Budget
    sampled : bool
        Whether rows may be sampled one by one (they may not if a privacy unit has several).
    """
    usual = _for_tables(settings) if settings.image_shape is None else _for_pictures(settings)
    beta, centring = settings.inverse_temperature, settings.centring
    return replace(
        usual,
        beta=usual.beta if beta is None else beta,
        centring=usual.centring if centring == "auto" else centring,
        normalise=settings.normalise is not False,
        rate=choose_rate(
            settings.sampling_rate or usual.rate,
            budget,
            sampled=sampled,
            asked=settings.sampling_rate,
            name="sampling_rate=1",
        ),
        steps=settings.steps or usual.steps,
        clip=settings.clip or usual.clip,
        learning_rate=settings.learning_rate or usual.learning_rate,
        rate_grows=usual.rate_grows and settings.learning_rate is None,
        spread=usual.spread if usual.maps > 1 else 0.0,
    )


def _for_pictures(settings: Settings) -> Schedule:
    """Many blended maps of low frequencies, a small clip, and moved copies."""
    picture, readable = settings.picture, settings.preset == "readable"
    assert picture is not None
    smooth = settings.projection is None and settings.basis != "plain"
    moves = smooth if settings.copies is None else settings.copies
    longest = max(picture[:2])
    basis = SmoothBasis(picture, cut=min(11, longest), width=5.5, window=settings.window)
    return Schedule(
        settings,
        maps=settings.maps or (5 if readable else 20),
        clip=0.05,
        learning_rate=0.3,
        spread=0.05 if readable else 5.0,
        bias=0.1,
        rate_grows=False,
        basis=basis if smooth else None,
        copies=_COPIES if moves else (STILL,),
        copies_per_step=5,
        root=True,
        towards_means=0.0 if settings.projection else 25.0 if readable else 15.0,
        pull=0.006 if readable else 0.0,
    )


def _for_tables(settings: Settings) -> Schedule:
    """Few maps, and a clip that cuts few rows, so that probabilities stay honest."""
    maps = settings.maps or 5
    return Schedule(
        settings,
        maps=maps,
        clip=0.9 / math.sqrt(maps),
        learning_rate=0.05 * math.sqrt(maps / 5),
        spread=1.0,
        bias=0.3,
        rate_grows=True,
    )


def plan_shape(schema: Schema, schedule: Schedule, delta: float) -> Plan:
    """All accesses, with their shares of mu^2."""
    steps: list[Step] = []
    known = schema if schedule.settings.image_shape is None else with_range(schema, 1.0)
    if known is not schema:
        steps.append(gaussian_step(RANGE_ACCESS, _RANGE))
    columns_known = all(column.known for column in known.values())
    found = discovery_shape(known, CLASSES if columns_known else DISCOVERY, delta)
    steps += found
    steps.append(gaussian_step(CENTRE_ACCESS, _CENTRE))
    if schedule.towards_means:
        steps.append(gaussian_step(MEANS_ACCESS, _MEANS))
    left = 1.0 - _RANGE - _CENTRE - _MEANS
    left -= DISCOVERY if found and not columns_known else CLASSES
    steps.append(steps_share(left, rate=schedule.rate, count=schedule.steps))
    return Plan(tuple(steps))


def check(schema: Schema, settings: Settings) -> None:
    """Refuse what no fit can do before anything is spent."""
    features = public_features(schema)
    check_columns_and_classes(schema)
    if settings.image_shape is not None:
        check_pixels(schema, settings.image_shape)
    most = whole_numbers.MOST_COLUMNS
    if features is not None and features > most:
        raise SettingError(
            f"Maps are for at most {most} features, and there are {features}: give smaller "
            "pictures, or fewer columns."
        )
    if settings.projection is not None and features is not None and features > MOST_PROJECTED:
        raise SettingError(
            f"A random 'projection' is for at most {MOST_PROJECTED} features, and there are "
            f"{features}: give fewer columns, or projection=None."
        )
