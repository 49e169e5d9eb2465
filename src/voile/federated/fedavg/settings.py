"""Settings of federated averaging, checked, and what follows from them before a row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from voile.errors import SchemaError, SettingError
from voile.models.setting_checks import check_columns_and_classes, is_count, is_number
from voile.schema import Category, Number, Schema

Noise = Literal["none", "dp_faithful", "random_faithful", "gradcam_faithful", "client"]
NOISES: tuple[str, ...] = get_args(Noise)

PLACED = ("random_faithful", "gradcam_faithful")
"""Modes that leave some filters without noise."""


@dataclass(frozen=True)
class Settings:
    """What a fit does, in whichever mode.

    Attributes
    ----------
    noise : str
        The mode.
    architecture : str
    image_shape : tuple of int
        (height, width) or (height, width, channels).
    rounds : int
    fraction : float
        Part of the clients that take part in a round, each by a coin of its own.
    local_epochs, local_batch : int
    learning_rate : float
        Of the clients' steps.
    server_learning_rate, server_momentum : float
        What the server does with a mean update; plain averaging is 1 and 0.
    clip : float
        Norm of a client's whole update ("client"), or of each step's gradient (published modes).
    noisy_share : float
        Part of the filters that are noised where some are left out.
    shorten_noised : bool
        Whether noised filters are shortened to kept ones ("gradcam_faithful").
    noise_factor : float
        Raises the published noise.
    pixel_mean, pixel_spread : tuple of float
        Public: how pixels from 0 to 1 are standardised, one number per channel.
    random_state : int or None
    """

    noise: str
    architecture: str
    image_shape: tuple[int, ...]
    rounds: int
    fraction: float
    local_epochs: int
    local_batch: int
    learning_rate: float
    server_learning_rate: float
    server_momentum: float
    clip: float
    noisy_share: float
    shorten_noised: bool
    noise_factor: float
    pixel_mean: tuple[float, ...]
    pixel_spread: tuple[float, ...]
    random_state: int | None

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise SettingError(
                f"The 'noise' must be one of {', '.join(map(repr, NOISES))}. Got {self.noise!r} "
                "instead."
            )
        shape = self.image_shape
        if len(shape) not in (2, 3) or not all(is_count(one, 1, 4096) for one in shape):
            raise SettingError(
                "The 'image_shape' must be (height, width) or (height, width, channels). Got "
                f"{shape!r} instead."
            )
        for name, high in (("rounds", 1_000_000), ("local_epochs", 1000), ("local_batch", 2**20)):
            if not is_count(getattr(self, name), 1, high):
                raise SettingError(
                    f"The '{name}' must be a whole number from 1 to {high}. Got "
                    f"{getattr(self, name)!r} instead."
                )
        # Bounds keep vectors within what whole numbers of a grid can hold.
        _check_range("fraction", self.fraction, 0.0, 1.0)
        _check_range("learning_rate", self.learning_rate, 0.0, 1e3)
        _check_range("server_learning_rate", self.server_learning_rate, 0.0, 1e3)
        _check_range("clip", self.clip, 0.0, 1e6)
        _check_range("noise_factor", self.noise_factor, 0.0, 1e6)
        if not (is_number(self.server_momentum) and 0.0 <= self.server_momentum < 1.0):
            raise SettingError(
                f"The 'server_momentum' must be in [0, 1). Got {self.server_momentum!r} instead."
            )
        if not (is_number(self.noisy_share) and 0.0 < self.noisy_share < 1.0):
            raise SettingError(
                f"The 'noisy_share' must be between 0 and 1, such as 0.25. Got "
                f"{self.noisy_share!r} instead."
            )
        if self.published and (self.server_learning_rate, self.server_momentum) != (1.0, 0.0):
            raise SettingError(
                "The published algorithms average weights: leave 'server_learning_rate' at 1 and "
                "'server_momentum' at 0."
            )
        if not isinstance(self.shorten_noised, bool):
            raise SettingError("The 'shorten_noised' must be True or False.")
        if self.shorten_noised and self.noise != "gradcam_faithful":
            raise SettingError("The 'shorten_noised' is for noise='gradcam_faithful' alone.")
        if self.random_state is not None and not is_count(self.random_state, 0, 2**31 - 1):
            raise SettingError(
                "The 'random_state' must be None or a whole number from 0 to 2**31 - 1. Got "
                f"{self.random_state!r} instead."
            )
        channels = self.network_shape[0]
        for name in ("pixel_mean", "pixel_spread"):
            values = getattr(self, name)
            good = all(is_number(one) and math.isfinite(one) for one in values)
            if len(values) != channels or not good:
                raise SettingError(f"Give '{name}' as a number, or as {channels}, one per channel.")
        if min(self.pixel_spread) <= 0:
            raise SettingError("The 'pixel_spread' must be > 0.")

    @property
    def published(self) -> bool:
        """Whether noise is placed as published, without a guarantee."""
        return self.noise.endswith("_faithful")

    @property
    def network_shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        height, width = int(self.image_shape[0]), int(self.image_shape[1])
        return int(self.image_shape[2]) if len(self.image_shape) == 3 else 1, height, width

    def published_scale(self, epsilon: float, delta: float) -> float:
        """Standard deviation of the published noise for a client with a single row.

        Gaussian noise sqrt(2 ln(1.25 / delta)) s / e with the sensitivity s = 2 lr c / n of n rows
        and e = epsilon / (fraction x rounds), times `noise_factor`. A client divides it by its n.
        """
        each = epsilon / (self.fraction * self.rounds)
        sensitivity = 2.0 * self.learning_rate * self.clip
        scale = math.sqrt(2.0 * math.log(1.25 / delta)) * sensitivity / each * self.noise_factor
        if not scale < 1e9:
            raise SettingError(
                "The published noise would be larger than any network: give a larger epsilon or a "
                "smaller noise_factor."
            )
        return scale


def _check_range(name: str, value: object, low: float, high: float) -> None:
    if not (is_number(value) and low < value <= high):  # type: ignore[operator]
        raise SettingError(f"The '{name}' must be > {low:g} and <= {high:g}. Got {value!r}.")


def per_channel(value: object, channels: int) -> tuple[float, ...]:
    """One number for all channels, or one for each; anything else is refused later."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    return (value,) * channels  # type: ignore[return-value]


def check_schema(schema: Schema, settings: Settings) -> int:
    """Refuse a schema that leaves something to be found; the number of classes."""
    check_columns_and_classes(schema)
    target = schema.target
    unknown = [name for name, column in schema.items() if not column.known]
    if unknown or not isinstance(target, Category) or target.levels is None:
        raise SchemaError(
            "Federated averaging needs a complete schema: bounds of all pixels, Number(0, 255), "
            "and all classes, target=Category([...])."
        )
    if not all(isinstance(column, Number) for column in schema.values()):
        raise SchemaError("Pixels are numbers: describe all columns as Number(lower, upper).")
    pixels = math.prod(settings.image_shape)
    if len(schema) != pixels:
        raise SchemaError(
            f"The image_shape {settings.image_shape} has {pixels} pixels, and the schema has "
            f"{len(schema)} columns."
        )
    return len(target.levels)
