"""What a user may choose of an additive model, and what follows from public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np

from voile.errors import SchemaError, SettingError
from voile.models.ebm.interactions import (
    Interactions,
    WantedPairs,
    check_interactions,
    find_wanted,
    read_interactions,
)
from voile.models.ebm.objectives import (
    LEAST_QUANTILE,
    MOST_QUANTILE,
    SQUARED,
    Aim,
    Objective,
    check_aim,
)
from voile.models.setting_checks import (
    DISCOVERY,
    CheckedSettings,
    check_columns_and_classes,
    choice,
    count,
    number,
    or_auto,
)
from voile.privacy.calibrate import gaussian_step
from voile.privacy.discovery import discovery_shape, target_part
from voile.privacy.events import Plan, Step
from voile.schema import Category, Number, Schema

Method = Literal["rounds", "cyclic"]
Direction = Literal["increasing", "decreasing"]

TARGET_ACCESS = "the target"
NUMBERS_ACCESS = "bins of numbers"
CATEGORIES_ACCESS = "levels of categories"
ROUNDS_ACCESS = "rounds"
SIZES_ACCESS = "sizes of residuals"
LEVEL_ACCESS = "level of predictions"
PAIRS_ACCESS = "pairs of columns"
CHOICE_ACCESS = "choice of pairs"
GRIDS_ACCESS = "cells of pairs"
STEPS_ACCESS = "cyclic steps"

SIZE_ROUNDS = (1, 2, 4, 8, 12, 16)
"""Rounds before which the sizes of residuals are looked at (regression)."""

COUNT_ROUNDS = (2, 5, 11)
"""The same for counts, whose clip hardly depends on them."""

_TARGET, _BINS, _SIZES, _LEVEL = 0.01, 0.1, 0.02, 0.02
_PAIRS_EACH, _PAIRS_LEAST, _PAIRS_MOST = 0.0065, 0.05, 0.12
"""Shares of mu^2; that of the pair tables grows with the columns, as their noise does. The rounds
have the rest."""

_CHOICE, _GRIDS = 0.04, 0.01
"""Of what the rounds have, for the choice of pairs and for the counts of their cells."""

_NUMBER_WEIGHT = 3.0
"""A tree of counts has three levels: this gives its nodes the noise of a level of a category."""

_LARGEST_BOUND = 1e150
_ROUNDS, _REGRESSION_ROUNDS, _EPOCHS = 20, 26, 300
_FEWEST_BINS, BINS_BELOW, _MOST_BINS = 6, 32, 96
_ROWS_PER_BIN = 200


@dataclass(frozen=True)
class Settings(CheckedSettings):
    """How to train; None means chosen by a rule from public and released facts."""

    method: Annotated[Method, choice(Method)] = "rounds"
    rounds: Annotated[int | None, or_auto(count(1, 100_000))] = None
    bins: Annotated[int | None, or_auto(count(2, 1024))] = None
    monotone: Mapping[str, Direction] = field(default_factory=dict)
    interactions: Interactions | None = None
    random_state: int | None = None
    objective: Annotated[Objective, choice(Objective)] = "squared"
    quantile: Annotated[float, number(LEAST_QUANTILE, MOST_QUANTILE)] = 0.5
    exposure: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.exposure is None or isinstance(self.exposure, str)):
            raise SettingError(
                "The 'exposure' must be the name of a column, or None. Got "
                f"{self.exposure!r} instead."
            )
        if self.quantile != 0.5 and self.objective != "quantile":
            raise SettingError("A 'quantile' needs objective='quantile': give it, too.")
        Aim(self.objective, self.quantile, self.exposure)  # refuses what does not go together
        object.__setattr__(self, "interactions", read_interactions(self.interactions))
        object.__setattr__(self, "monotone", dict(self.monotone or {}))
        for name, direction in self.monotone.items():
            if direction not in ("increasing", "decreasing"):
                raise SettingError(
                    f"The direction of monotone column {name!r} must be 'increasing' or "
                    f"'decreasing'. Got {direction!r} instead."
                )

    @property
    def aim(self) -> Aim:
        """What a regression is to tell."""
        return Aim(self.objective, self.quantile, self.exposure)


@dataclass(frozen=True)
class Schedule:
    """What follows from settings and public facts, decided before the first access.

    Attributes
    ----------
    settings : Settings
    rounds : int
        Looks at the rows, or passes over all columns ("cyclic").
    wanted : WantedPairs or None
        Which pairs of columns may become terms; None if none may.
    """

    settings: Settings
    rounds: int
    wanted: WantedPairs | None = None

    @property
    def cyclic(self) -> bool:
        """Whether it is the published algorithm."""
        return self.settings.method == "cyclic"


def choose(settings: Settings, schema: Schema) -> Schedule:
    """The schedule of training, by the rule where nothing was asked for."""
    linear = isinstance(schema.target, Number) and settings.aim.linear
    usual = _REGRESSION_ROUNDS if linear else _ROUNDS
    rounds = settings.rounds or (_EPOCHS if settings.method == "cyclic" else usual)
    return Schedule(settings, rounds, _wanted(settings, schema, rounds))


def _wanted(settings: Settings, schema: Schema, rounds: int) -> WantedPairs | None:
    if settings.method == "cyclic":
        return None
    features = settings.aim.features(schema)
    return find_wanted(settings.interactions, features, settings.monotone, rounds)


def plan_shape(schema: Schema, schedule: Schedule, delta: float) -> Plan:
    """Every access of a fit with its share of mu^2."""
    if not schedule.cyclic:
        aim = schedule.settings.aim
        return Plan(tuple(_steps(schema, schedule.rounds, delta, schedule.wanted, aim)))
    # One access per epoch and column.
    steps = [s for s in _steps(schema, 1, delta) if s.label != ROUNDS_ACCESS]
    left = 1.0 - (DISCOVERY if not schema.known else 0.0)
    share = left * (1.0 - _TARGET - _BINS)
    accesses = schedule.rounds * len(schema)
    return Plan((*steps, gaussian_step(STEPS_ACCESS, share, count=accesses)))


def _steps(
    schema: Schema,
    rounds: int,
    delta: float,
    wanted: WantedPairs | None = None,
    aim: Aim = SQUARED,
) -> list[Step]:
    numbers, categories = len(schema.numbers), len(schema.categories)
    found = discovery_shape(schema, DISCOVERY, delta)
    left = 1.0 - (DISCOVERY if found else 0.0)
    # The target first: what is misspelt there stops a training before columns are paid for.
    own = 1 if target_part(schema) else 0
    steps: list[Step] = [*found[:own], gaussian_step(TARGET_ACCESS, left * _TARGET), *found[own:]]
    total = _NUMBER_WEIGHT * numbers + categories
    if numbers:
        share = left * _BINS * _NUMBER_WEIGHT * numbers / total
        steps.append(gaussian_step(NUMBERS_ACCESS, share, count=numbers))
    if categories:
        share = left * _BINS * categories / total
        steps.append(gaussian_step(CATEGORIES_ACCESS, share, count=categories))
    rest = 1.0 - _TARGET - _BINS
    if isinstance(schema.target, Number) and rounds > 1:
        accesses = sum(number < rounds for number in size_rounds(aim))
        if accesses:
            steps.append(gaussian_step(SIZES_ACCESS, left * _SIZES, count=accesses))
            rest -= _SIZES
        columns = len(aim.features(schema))
        if columns > 1 and aim.linear:
            pairs = min(max(_PAIRS_EACH * columns, _PAIRS_LEAST), _PAIRS_MOST)
            steps.append(gaussian_step(PAIRS_ACCESS, left * pairs))
            rest -= pairs
    if aim.objective in ("gamma", "quantile"):
        steps.append(gaussian_step(LEVEL_ACCESS, left * _LEVEL))
        rest -= _LEVEL
    if wanted is not None:
        if not wanted.named:
            steps.append(gaussian_step(CHOICE_ACCESS, left * rest * _CHOICE))
        steps.append(gaussian_step(GRIDS_ACCESS, left * rest * _GRIDS))
        rest *= 1.0 - _GRIDS - (0.0 if wanted.named else _CHOICE)
    steps.append(gaussian_step(ROUNDS_ACCESS, left * rest, count=rounds))
    return steps


def size_rounds(aim: Aim) -> tuple[int, ...]:
    """Rounds before which sizes or misses are looked at."""
    return SIZE_ROUNDS if aim.linear else COUNT_ROUNDS


def choose_bins(rows: float, scarce: float, noise: float) -> int:
    """Most intervals of a number: as many as the rows fill and the noise can tell apart.

    A bin whose share of the scarcer rows is below the noise says nothing.

    Parameters
    ----------
    rows : float
    scarce : float
        Rows of the scarcer class, or all (regression).
    noise : float
        Of one column's sums after all rounds.
    """
    most = int(np.clip(rows / _ROWS_PER_BIN, BINS_BELOW, _MOST_BINS))
    return int(np.clip(scarce / noise, _FEWEST_BINS, most)) if noise > 0 else most


def _check_bounds(target: object) -> None:
    """Refuse bounds whose square, a variance, no number holds."""
    if isinstance(target, Number) and target.lower is not None and target.upper is not None:
        largest = max(abs(target.lower), abs(target.upper))
        if largest > _LARGEST_BOUND:
            raise SchemaError(
                f"The target's bounds reach to {largest:g}: give it in a larger unit, with bounds "
                f"of at most {_LARGEST_BOUND:g}."
            )


def check(schema: Schema, settings: Settings) -> None:
    """Refuse what no fit can do before anything is spent."""
    check_columns_and_classes(schema)
    target = schema.target
    check_aim(settings.aim, schema)
    _check_bounds(target)
    if settings.method == "cyclic":
        if settings.objective != "squared":
            raise SettingError("The 'objective' needs method='rounds'.")
        if settings.monotone:
            raise SettingError("The 'monotone' columns need method='rounds'.")
        if isinstance(target, Category) and len(target.levels or (0, 1)) > 2:
            raise SettingError(
                "method='cyclic' is for two classes or regression, as published: use 'rounds'."
            )
    features = settings.aim.features(schema)
    ordered = [
        name
        for name, column in features.items()
        if isinstance(column, Number) or (column.ordered and column.levels)
    ]
    aside = settings.exposure
    check_interactions(settings.interactions, features, settings.monotone, settings.method, aside)
    for name in settings.monotone:
        if name not in ordered:
            raise SchemaError(
                f"The monotone column {name!r} is neither a number nor an ordered category of the "
                f"schema: name one of {', '.join(map(repr, ordered)) or '(there are none)'}."
            )
