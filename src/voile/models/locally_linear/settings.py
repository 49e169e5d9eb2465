"""What a user may set for locally linear maps, and the rule that chooses the rest.

The rule reads public facts alone (shape of pictures, number of classes, budget); it was found on
held-out parts of several data sets and is the same for all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from voile.errors import SettingError
from voile.models import whole_numbers
from voile.models.locally_linear.pictures import STILL, Move, Shape, SmoothBasis
from voile.models.setting_checks import check_columns_and_classes, is_count, is_number
from voile.privacy.budget import Budget
from voile.schema import Category, Schema

Basis = Literal["auto", "smooth", "plain"]
Centring = Literal["auto", "private", "fixed", "none"]
Preset = Literal["accurate", "readable"]

MOST_MAPS = 1_000
MOST_PROJECTED = 2**13
"""Most features behind a random projection, for exact sums (`projections.py`)."""


@dataclass(frozen=True)
class Settings:
    """What was asked for; None stands for "auto"."""

    image_shape: tuple[int, ...] | None = None
    preset: Preset = "accurate"
    maps: int | None = None
    inverse_temperature: float | None = None
    projection: int | None = None
    shared_projection: bool = False
    basis: Basis = "auto"
    window: bool = False
    centring: Centring = "auto"
    normalise: bool | None = None
    copies: bool | None = None
    sampling_rate: float | None = None
    steps: int | None = None
    clip: float | None = None
    learning_rate: float | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("preset", Preset), ("basis", Basis), ("centring", Centring)):
            if getattr(self, name) not in get_args(allowed):
                raise SettingError(
                    f"The '{name}' must be one of {', '.join(map(repr, get_args(allowed)))}. Got "
                    f"{getattr(self, name)!r} instead."
                )
        for name, low, high in (
            ("inverse_temperature", 0.0, 1e3),
            ("sampling_rate", 1e-5, 1.0),
            ("clip", 1e-5, 1e3),
            ("learning_rate", 1e-6, 1e3),
        ):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and low <= value <= high):
                raise SettingError(
                    f"The '{name}' must be 'auto' or a number from {low:g} to {high:g}. Got "
                    f"{value!r} instead."
                )
        for name, most in (("maps", MOST_MAPS), ("projection", 100_000), ("steps", 1_000_000)):
            value = getattr(self, name)
            if value is not None and not is_count(value, 1, most):
                other = "None" if name == "projection" else "'auto'"
                raise SettingError(
                    f"The '{name}' must be {other} or a whole number from 1 to {most}. Got "
                    f"{value!r} instead."
                )
        for name in ("normalise", "copies", "shared_projection", "window"):
            value = getattr(self, name)
            may_be_open = name in ("normalise", "copies")
            if not (value is None and may_be_open) and not isinstance(value, (bool, np.bool_)):
                auto = "'auto', " if may_be_open else ""
                raise SettingError(
                    f"The '{name}' must be {auto}True or False. Got {value!r} instead."
                )
        if self.random_state is not None and not is_count(self.random_state, 0):
            raise SettingError(
                "The 'random_state' must be None or a whole number of at least 0. Got "
                f"{self.random_state!r} instead."
            )
        shape = self.image_shape
        if shape is not None and not (
            isinstance(shape, tuple)
            and len(shape) in (2, 3)
            and all(is_count(one, 1) for one in shape)
        ):
            raise SettingError(
                "The 'image_shape' must be (height, width) or (height, width, channels), in "
                f"pixels. Got {shape!r} instead."
            )
        if shape is None and (self.basis == "smooth" or self.copies or self.window):
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

        self._use_plain_types()

    def _use_plain_types(self) -> None:
        """Numbers of numpy's types, of single precision even, would reach noise and files."""
        plain: dict[str, type] = dict.fromkeys(("maps", "projection", "steps", "random_state"), int)
        plain |= dict.fromkeys(("inverse_temperature", "sampling_rate"), float)
        plain |= dict.fromkeys(("clip", "learning_rate"), float)
        plain |= dict.fromkeys(("normalise", "copies", "shared_projection", "window"), bool)
        for name, kind in plain.items():
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else kind(value))
        if self.image_shape is not None:
            object.__setattr__(self, "image_shape", tuple(map(int, self.image_shape)))

    @property
    def picture(self) -> Shape | None:
        """Height, width, channels."""
        shape = self.image_shape
        if shape is None:
            return None
        return shape[0], shape[1], shape[2] if len(shape) == 3 else 1


@dataclass(frozen=True)
class Course:
    """Everything that training needs to know, decided before the first look."""

    maps: int
    beta: float
    projection: int | None
    basis: SmoothBasis | None
    copies: tuple[Move, ...]
    copies_per_step: int
    centring: Centring
    root: bool
    normalise: bool
    rate: float
    steps: int
    clip: float
    learning_rate: float
    rate_grows: bool
    """Whether the rate is for two classes and grows with their number."""

    spread: float
    """Standard deviation of the weights at the start."""

    towards_means: float
    """How many times the difference of a class's mean to all others' its maps begin with."""

    pull: float
    """Part of the way back to their start that weights are pulled in each step."""

    bias: float
    """The constant input."""

    average: float
    """Part of the steps, at the end, whose weights are averaged."""

    def learning_rate_for(self, classes: int) -> float:
        """Size of steps; many classes can be told apart by larger weights."""
        return self.learning_rate * (classes / 2.0 if self.rate_grows else 1.0)


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


def choose(settings: Settings, budget: Budget, *, sampled: bool) -> Course:
    """The course of training, by the rule where nothing was asked for.

    Parameters
    ----------
    settings : Settings
    budget : Budget
    sampled : bool
        Whether rows may be sampled one by one (they may not if a privacy unit has several).
    """
    rate = settings.sampling_rate
    if rate is None:
        rate = 0.1
    if not sampled and not budget.unlimited:
        if settings.sampling_rate not in (None, 1.0):
            raise SettingError(
                "Rows are sampled one by one, which proves nothing for units of several rows: use "
                "Unit(..., rows=1), or sampling_rate=1."
            )
        rate = 1.0
    course = _for_pictures(settings) if settings.image_shape is not None else _for_tables(settings)
    beta, centring = settings.inverse_temperature, settings.centring
    return replace(
        course,
        beta=course.beta if beta is None else beta,
        centring="private" if centring == "auto" else centring,
        normalise=settings.normalise is not False,
        rate=rate,
        steps=settings.steps or course.steps,
        clip=settings.clip or course.clip,
        learning_rate=settings.learning_rate or course.learning_rate,
        rate_grows=course.rate_grows and settings.learning_rate is None,
        spread=course.spread if course.maps > 1 else 0.0,
    )


def _for_pictures(settings: Settings) -> Course:
    """Many blended maps of low frequencies, a small clip, and moved copies."""
    picture, readable = settings.picture, settings.preset == "readable"
    assert picture is not None
    smooth = settings.projection is None and settings.basis != "plain"
    moves = smooth if settings.copies is None else settings.copies
    longest = max(picture[:2])
    basis = SmoothBasis(picture, cut=min(11, longest), width=5.5, window=settings.window)
    return Course(
        maps=settings.maps or (5 if readable else 20),
        beta=0.1,
        projection=settings.projection,
        basis=basis if smooth else None,
        copies=_COPIES if moves else (STILL,),
        copies_per_step=5,
        centring="private",
        root=True,
        normalise=True,
        rate=0.1,
        steps=300,
        clip=0.05,
        learning_rate=0.3,
        rate_grows=False,
        spread=0.05 if readable else 5.0,
        towards_means=0.0 if settings.projection else 25.0 if readable else 15.0,
        pull=0.006 if readable else 0.0,
        bias=0.1,
        average=0.5,
    )


def _for_tables(settings: Settings) -> Course:
    """Few maps, and a clip that cuts few rows, so that probabilities stay honest."""
    maps = settings.maps or 5
    return Course(
        maps=maps,
        beta=0.1,
        projection=settings.projection,
        basis=None,
        copies=(STILL,),
        copies_per_step=1,
        centring="private",
        root=False,
        normalise=True,
        rate=0.1,
        steps=300,
        clip=0.9 / math.sqrt(maps),
        learning_rate=0.05 * math.sqrt(maps / 5),
        rate_grows=True,
        spread=1.0,
        towards_means=0.0,
        pull=0.0,
        bias=0.3,
        average=0.5,
    )


def check(schema: Schema, settings: Settings, features: int | None) -> None:
    """Refuse what no fit can do before anything is spent."""
    check_columns_and_classes(schema)
    shape = settings.image_shape
    if shape is not None and math.prod(shape) != len(schema):
        raise SettingError(
            f"The 'image_shape' {shape} has {math.prod(shape)} pixels and the table has "
            f"{len(schema)} columns: give one column per pixel."
        )
    if shape is not None and any(isinstance(one, Category) for one in schema.values()):
        raise SettingError("Pixels must be numbers: the table has a category among them.")
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
