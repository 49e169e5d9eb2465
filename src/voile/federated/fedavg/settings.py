"""Settings of federated averaging, checked, and what follows from them before a row is read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from voile.errors import SchemaError, SettingError
from voile.models.pixels import channels_first
from voile.models.setting_checks import (
    Allowed,
    CheckedSettings,
    above,
    check_columns_and_classes,
    choice,
    count,
    is_number,
    or_auto,
    or_none,
    picture_shape,
    truth,
)
from voile.privacy.calibrate import gaussian_step, poisson_step
from voile.privacy.events import Plan
from voile.schema import Category, Number, Schema

ROUNDS_ACCESS = "rounds"

Noise = Literal["none", "dp_faithful", "random_faithful", "gradcam_faithful", "client"]
NOISES: tuple[str, ...] = get_args(Noise)

PLACED = ("random_faithful", "gradcam_faithful")
"""Modes that leave some filters without noise."""


_CLIENT_CLIP, _PUBLISHED_CLIP = 1.0, 5.0

_MOMENTUM = Allowed(lambda v: is_number(v) and 0.0 <= v < 1.0, "in [0, 1)", float)
_SHARE = Allowed(lambda v: is_number(v) and 0.0 < v < 1.0, "between 0 and 1, such as 0.25", float)


@dataclass(frozen=True)
class Settings(CheckedSettings):
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
    clip : float or None
        Norm of a client's whole update ("client"), or of each step's gradient (published modes).
    noisy_share : float
        Part of the filters that are noised where some are left out.
    shorten_noised : bool
        Whether noised filters are shortened to kept ones ("gradcam_faithful").
    noise_factor : float
        Raises the published noise.
    pixel_mean, pixel_spread : float, or one per channel
        Public: how pixels from 0 to 1 are standardised.
    random_state : int or None
    """

    noise: Annotated[Noise, choice(Noise)]
    architecture: str
    image_shape: Annotated[tuple[int, ...], picture_shape(2, 3, most=4096)]
    rounds: Annotated[int, count(1, 1_000_000)]
    # Bounds keep vectors within what whole numbers of a grid can hold.
    fraction: Annotated[float, above(0.0, 1.0)]
    local_epochs: Annotated[int, count(1, 1000)]
    local_batch: Annotated[int, count(1, 2**20)]
    learning_rate: Annotated[float, above(0.0, 1e3)]
    server_learning_rate: Annotated[float, above(0.0, 1e3)]
    server_momentum: Annotated[float, _MOMENTUM]
    clip: Annotated[float | None, or_auto(above(0.0, 1e6))]
    noisy_share: Annotated[float, _SHARE]
    shorten_noised: Annotated[bool, truth()]
    noise_factor: Annotated[float, above(0.0, 1e6)]
    pixel_mean: float | tuple[float, ...]
    pixel_spread: float | tuple[float, ...]
    random_state: Annotated[int | None, or_none(count(0, 2**31 - 1))]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.published and (self.server_learning_rate, self.server_momentum) != (1.0, 0.0):
            raise SettingError(
                "The published algorithms average weights: leave 'server_learning_rate' at 1 and "
                "'server_momentum' at 0."
            )
        if self.shorten_noised and self.noise != "gradcam_faithful":
            raise SettingError("The 'shorten_noised' is for noise='gradcam_faithful' alone.")
        channels = self.network_shape[0]
        for name in ("pixel_mean", "pixel_spread"):
            values = per_channel(getattr(self, name), channels)
            good = all(is_number(one) and math.isfinite(one) for one in values)
            if len(values) != channels or not good:
                raise SettingError(f"Give '{name}' as a number, or as {channels}, one per channel.")
        if min(self.spreads) <= 0:
            raise SettingError("The 'pixel_spread' must be > 0.")

    @property
    def means(self) -> tuple[float, ...]:
        """Mean of the pixels of each channel."""
        return per_channel(self.pixel_mean, self.network_shape[0])

    @property
    def spreads(self) -> tuple[float, ...]:
        """The same of their spread."""
        return per_channel(self.pixel_spread, self.network_shape[0])

    @property
    def bound(self) -> float:
        """The clip, or the usual one of the mode."""
        return self.clip or (_CLIENT_CLIP if self.noise == "client" else _PUBLISHED_CLIP)

    @property
    def published(self) -> bool:
        """Whether noise is placed as published, without a guarantee."""
        return self.noise.endswith("_faithful")

    @property
    def network_shape(self) -> tuple[int, int, int]:
        """Channels, height, width."""
        return channels_first(self.image_shape)

    def published_scale(self, epsilon: float, delta: float) -> float:
        """Standard deviation of the published noise for a client with a single row.

        Gaussian noise sqrt(2 ln(1.25 / delta)) s / e with the sensitivity s = 2 lr c / n of n rows
        and e = epsilon / (fraction x rounds), times `noise_factor`. A client divides it by its n.
        """
        each = epsilon / (self.fraction * self.rounds)
        sensitivity = 2.0 * self.learning_rate * self.bound
        scale = math.sqrt(2.0 * math.log(1.25 / delta)) * sensitivity / each * self.noise_factor
        if not scale < 1e9:
            raise SettingError(
                "The published noise would be larger than any network: give a larger epsilon or a "
                "smaller noise_factor."
            )
        return scale


def per_channel(value: float | Sequence[float], channels: int) -> tuple[float, ...]:
    """One number for all channels, or one for each; anything else is refused later."""
    return tuple(value) if isinstance(value, Sequence) else (value,) * channels


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


def plan_shape(fraction: float, rounds: int) -> Plan:
    """All rounds of a guarantee for whole clients, each sampled by a coin of its own."""
    if fraction < 1.0:
        return Plan((poisson_step(ROUNDS_ACCESS, 1.0, rate=fraction, count=rounds),))
    return Plan((gaussian_step(ROUNDS_ACCESS, 1.0, count=rounds),))
