"""What a user may choose of a prototype model, and what follows from public facts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.features import public_features
from voile.models.lvq.model import Kind, Mechanism
from voile.models.lvq.pulls import Rule
from voile.models.lvq.space import Space
from voile.models.setting_checks import (
    DISCOVERY,
    SEED,
    Allowed,
    CheckedSettings,
    check_columns_and_classes,
    choice,
    count,
    is_count,
    number,
    optional,
    or_auto,
    picture_shape,
)
from voile.privacy.calibrate import gaussian_step
from voile.privacy.discovery import discovery_shape
from voile.privacy.events import Plan, Step
from voile.schema import Category, Schema

_MOST_PROTOTYPES = 100
MOST_FEATURES_OF_METRIC = 2_000
"""A metric is a matrix: beyond this its release alone would take gigabytes."""

METRIC_NOISE = 0.012
"""Largest noise of the scatter, relative to the rows, at which a metric (or seeds) is read off."""

_ROWS_PER_PROTOTYPE = 40

CENTRE_ACCESS = "centre and radius"
MEANS_ACCESS = "class means"
RADIUS_ACCESS = "radius under the metric"
CLUSTERS_ACCESS = "parts of classes"
STEPS_ACCESS = "steps"

_START, _START_METRIC, _START_SEVERAL, _START_MOST = 0.15, 0.30, 0.25, 0.80
"""Shares of what is left after the centre for class means; more where rows are few."""

_NOISY_MEANS = 0.45
"""Noise of a class mean at the whole budget from which on the start's share grows."""

_RADIUS, _CLUSTERS = 0.02, 0.15
CLUSTER_ROUNDS = 3

CLIP = 0.5
TRAVEL = 0.6
"""Norm of the noise that all steps together put on a prototype; the ball has radius 1."""

STRIDE, _FEWEST_STEPS, MOST_STEPS = 2.0, 60, 200

_CENTRE = 0.03
"""Share of mu^2 for centre, radius and row count."""

REST = "prototypes"
"""What is left for the second part, until it is planned."""


def _are_prototypes(value: object) -> bool:
    counts = value.values() if isinstance(value, Mapping) else (value,)
    return all(is_count(one, 1, _MOST_PROTOTYPES) for one in counts)


_EACH = Allowed(
    _are_prototypes,
    f"a whole number from 1 to {_MOST_PROTOTYPES}, or such a number for every class",
)


@dataclass(frozen=True)
class Settings(CheckedSettings):
    """How to train; None means chosen by a rule from public and released facts.

    Attributes
    ----------
    kind : {"lvq1", "glvq", "gmlvq"}
    prototypes_per_class : int, mapping of class to int, or None
    typical : float
        0: as accurate as can be; 1: prototypes are the class means.
    groups : int, or None
        Of "sample_aggregate" and "center_of_attention".
    rate, epochs, clip : float
        Of "sgd".
    random_state : int, or None
        Seeds public choices (seeds of several prototypes); never noise.
    """

    kind: Kind
    mechanism: Annotated[Mechanism, choice(Mechanism)] = "gaussian"
    prototypes_per_class: Annotated[int | Mapping[object, int] | None, or_auto(_EACH)] = 1
    typical: Annotated[float, number(0.0, 1.0)] = 0.2
    image_shape: Annotated[tuple[int, int] | None, optional(picture_shape(2))] = None
    groups: Annotated[int | None, or_auto(count(1, 100_000))] = None
    rate: Annotated[float, number(1e-5, 1.0)] = 0.01
    epochs: Annotated[int, count(1, 10_000)] = 50
    clip: Annotated[float, number(1e-3, 8.0)] = 0.5
    random_state: Annotated[int | None, SEED] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "gmlvq" and self.mechanism in ("sample_aggregate", "center_of_attention"):
            raise SettingError(
                f"mechanism={self.mechanism!r} averages prototypes and learns no metric: use "
                "LVQ1Classifier or GLVQClassifier, or mechanism='gaussian'."
            )
        if self.kind == "lvq1" and self.mechanism == "sgd":
            raise SettingError(
                "LVQ1 has no cost function to descend: use GLVQClassifier, or another mechanism."
            )

    @property
    def rule(self) -> Rule:
        """How rows pull prototypes."""
        return "lvq1" if self.kind == "lvq1" else "glvq"


@dataclass(frozen=True, eq=False)
class Start:
    """What is known before the second part of the plan is made; all of it released or public.

    Attributes
    ----------
    rows : float
        Released number of rows, at least 10.
    space : Space
    strength : float
        1 / noise multiplier of the whole budget, per privacy unit; inf without noise.
    centre_error, radius_error : float
        Standard deviation of the noise on a coordinate of the centre and, relatively, on the
        radius.
    rows_error : float
        Of the noise on the number of rows.
    """

    rows: float
    space: Space
    strength: float
    centre_error: float = 0.0
    radius_error: float = 0.0
    rows_error: float = 0.0


@dataclass(frozen=True, eq=False)
class Schedule:
    """The second part of the plan: shares of the budget that is left, and what they are for."""

    settings: Settings
    labels: NDArray[np.int64]
    metric: bool
    scatter: bool
    steps: int
    shares: dict[str, float]
    counts: dict[str, int]


def check(schema: Schema, settings: Settings) -> None:
    """Refuse what no fit can do before anything is spent."""
    check_columns_and_classes(schema)
    target, asked = schema.target, settings.prototypes_per_class
    if isinstance(target, Category) and target.levels is not None and isinstance(asked, Mapping):
        unknown = set(asked) ^ set(target.levels)
        if unknown:
            raise SettingError(
                "The 'prototypes_per_class' must name every class of the schema, and no other: "
                f"see {sorted(map(repr, unknown))[0]}."
            )
    shape, features = settings.image_shape, public_features(schema)
    if shape is not None and features is not None and shape[0] * shape[1] != features:
        raise SettingError(
            f"The 'image_shape' {shape} has {shape[0] * shape[1]} pixels and the table has "
            f"{features} features: give one column per pixel."
        )


def labels_of(settings: Settings, schema: Schema, each: int) -> NDArray[np.int64]:
    """Class number of every prototype; ``each`` per class where nothing was asked for."""
    target = schema.target
    assert isinstance(target, Category)
    levels = target.levels or ()
    asked = settings.prototypes_per_class
    if isinstance(asked, Mapping):
        counts = [int(asked.get(level, 1)) for level in levels]
    else:
        counts = [each if asked is None else int(asked)] * len(levels)
    return np.repeat(np.arange(len(levels)), counts)


def usable_metric(features: int, rows: float, strength: float) -> bool:
    """Whether a matrix of products can be read: its noise is small beside the rows' own part.

    Parameters
    ----------
    features : int
    rows : float
        Released.
    strength : float
        1 / noise multiplier of the whole budget, per privacy unit.
    """
    if features > MOST_FEATURES_OF_METRIC:
        return False
    return bool(np.sqrt(2.0 * features) / (rows * strength) <= METRIC_NOISE)


def choose_prototypes(
    features: int, classes: int, rows: float, strength: float, *, metric: bool
) -> int:
    """Prototypes per class that the noise can tell apart."""
    if classes == 2 or not usable_metric(features, rows, strength):
        return 1
    noise = classes * np.sqrt(features) / (rows * strength)
    # Cautious: with more noise than this some tables gain much by several, and others lose.
    most, limit = (5, 0.014) if metric else (3, 0.008)
    chosen = most if noise <= limit else 1
    return chosen if rows / (classes * chosen) >= _ROWS_PER_PROTOTYPE else 1


def choose(start: Start, settings: Settings) -> Schedule:
    """Decide on metric, prototypes, steps and shares, from released and public facts."""
    d, m = start.space.size, start.space.class_count
    strength = min(start.strength, 1e6)
    readable = usable_metric(d, start.rows, strength)
    wanted = settings.kind == "gmlvq"
    metric = wanted and readable
    each = choose_prototypes(d, m, start.rows, strength, metric=wanted)
    labels = labels_of(settings, start.space.schema, each)
    several = len(labels) > m
    noise = m * math.sqrt(d) / (start.rows * strength)
    if several:
        first = _START_SEVERAL
    else:
        least = _START_METRIC if metric else _START
        first = float(np.clip((noise / _NOISY_MEANS) ** 2, least, _START_MOST))
    shares, counts = {MEANS_ACCESS: first}, {MEANS_ACCESS: 1}
    if metric:
        shares[RADIUS_ACCESS], counts[RADIUS_ACCESS] = _RADIUS, 1
    if several:
        shares[CLUSTERS_ACCESS], counts[CLUSTERS_ACCESS] = _CLUSTERS, CLUSTER_ROUNDS
    rest = 1.0 - sum(shares.values())
    steps = 0
    if settings.typical >= 1.0:
        # Nothing moves: the means get what the steps would have had.
        shares[MEANS_ACCESS] += rest
    else:
        travel = TRAVEL * strength * math.sqrt(rest) * start.rows / (m * math.sqrt(d)) / CLIP
        length = STRIDE * math.sqrt(len(labels) / m)
        steps = int(np.clip(math.ceil(travel * m / length), _FEWEST_STEPS, MOST_STEPS))
        shares[STEPS_ACCESS], counts[STEPS_ACCESS] = rest, steps
    scatter = metric or (several and d <= MOST_FEATURES_OF_METRIC)
    return Schedule(settings, labels, metric, scatter, steps, shares, counts)


def first_steps(schema: Schema, delta: float) -> list[Step]:
    """What every mechanism looks at first, with its share of mu^2."""
    steps = list(discovery_shape(schema, DISCOVERY, delta))
    left = 1.0 - (DISCOVERY if steps else 0.0)
    return [*steps, gaussian_step(CENTRE_ACCESS, left * _CENTRE)]


def left_after_first(schema: Schema) -> float:
    """Share of mu^2 that is left for the prototypes."""
    return (1.0 - (0.0 if schema.known else DISCOVERY)) * (1.0 - _CENTRE)


def plan_shape(schema: Schema, delta: float) -> Plan:
    """The first accesses, and the rest of the budget for what is planned after them."""
    rest = gaussian_step(REST, left_after_first(schema))
    return Plan((*first_steps(schema, delta), rest))
