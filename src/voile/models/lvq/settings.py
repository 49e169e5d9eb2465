"""What a user may choose of a prototype model, and what follows from public facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.models.lvq.model import Kind, Mechanism
from voile.models.setting_checks import check_columns_and_classes, is_count, is_number
from voile.schema import Category, Schema

_MOST_PROTOTYPES = 100
MOST_FEATURES_OF_METRIC = 2_000
"""A metric is a matrix: beyond this its release alone would take gigabytes."""

METRIC_NOISE = 0.012
"""Largest noise of the scatter, relative to the rows, at which a metric (or seeds) is read off."""

_ROWS_PER_PROTOTYPE = 40


@dataclass(frozen=True)
class Settings:
    """How to train; None means chosen by a rule from public and released facts.

    Attributes
    ----------
    kind : {"lvq1", "glvq", "gmlvq"}
    mechanism : str
    prototypes : int, mapping of class to int, or None
    typical : float
        0: as accurate as can be; 1: prototypes are the class means.
    image_shape : tuple of int, or None
    groups : int, or None
        Of "sample_aggregate" and "center_of_attention".
    rate, epochs, clip : float
        Of "sgd".
    random_state : int, or None
        Seeds public choices (seeds of several prototypes); never noise.
    """

    kind: Kind
    mechanism: Mechanism = "gaussian"
    prototypes: int | Mapping[object, int] | None = 1
    typical: float = 0.2
    image_shape: tuple[int, int] | None = None
    groups: int | None = None
    rate: float = 0.01
    epochs: int = 50
    clip: float = 0.5
    random_state: int | None = field(default=None)

    def __post_init__(self) -> None:
        if self.mechanism not in get_args(Mechanism):
            raise SettingError(
                f"The 'mechanism' must be one of {', '.join(map(repr, get_args(Mechanism)))}. Got "
                f"{self.mechanism!r} instead."
            )
        if self.kind == "gmlvq" and self.mechanism in ("sample_aggregate", "center_of_attention"):
            raise SettingError(
                f"mechanism={self.mechanism!r} averages prototypes and learns no metric: use "
                "LVQ1Classifier or GLVQClassifier, or mechanism='gaussian'."
            )
        if self.kind == "lvq1" and self.mechanism == "sgd":
            raise SettingError(
                "LVQ1 has no cost function to descend: use GLVQClassifier, or another mechanism."
            )
        if not (is_number(self.typical) and 0.0 <= self.typical <= 1.0):
            raise SettingError(
                f"The 'typical' must be a number from 0 to 1. Got {self.typical!r} instead."
            )
        for name, low, high in (("rate", 1e-5, 1.0), ("clip", 1e-3, 8.0)):
            value = getattr(self, name)
            if not (is_number(value) and low <= value <= high):
                raise SettingError(
                    f"The '{name}' must be a number from {low:g} to {high:g}. Got {value!r} "
                    "instead."
                )
        if not is_count(self.epochs, 1, 10_000):
            raise SettingError(
                f"The 'epochs' must be a whole number from 1 to 10000. Got {self.epochs!r} instead."
            )
        if self.groups is not None and not is_count(self.groups, 1, 100_000):
            raise SettingError(
                f"The 'groups' must be 'auto' or a whole number from 1 to 100000. Got "
                f"{self.groups!r} instead."
            )
        if self.random_state is not None and not is_count(self.random_state, 0):
            raise SettingError(
                "The 'random_state' must be None or a whole number of at least 0. Got "
                f"{self.random_state!r} instead."
            )
        counts = self.prototypes.values() if isinstance(self.prototypes, Mapping) else ()
        whole = [self.prototypes] if not isinstance(self.prototypes, Mapping) else [*counts]
        for count in whole:
            if count is not None and not is_count(count, 1, _MOST_PROTOTYPES):
                raise SettingError(
                    "The 'prototypes_per_class' must be 'auto', a whole number from 1 to "
                    f"{_MOST_PROTOTYPES}, or such a number for every class. Got {count!r} instead."
                )
        shape = self.image_shape
        if shape is not None and not (
            isinstance(shape, tuple) and len(shape) == 2 and all(is_count(s, 1) for s in shape)
        ):
            raise SettingError(
                f"The 'image_shape' must be (height, width), in pixels. Got {shape!r} instead."
            )


def check(schema: Schema, settings: Settings, features: int | None) -> None:
    """Refuse what no fit can do before anything is spent."""
    check_columns_and_classes(schema)
    target, asked = schema.target, settings.prototypes
    if isinstance(target, Category) and target.levels is not None and isinstance(asked, Mapping):
        unknown = set(asked) ^ set(target.levels)
        if unknown:
            raise SettingError(
                "The 'prototypes_per_class' must name every class of the schema, and no other: "
                f"see {sorted(map(repr, unknown))[0]}."
            )
    shape = settings.image_shape
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
    asked = settings.prototypes
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
