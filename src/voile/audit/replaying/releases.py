"""Releases: the door through which a mechanism that is not Voile's is replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.errors import SettingError
from voile.privacy import noise
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.events import Event, Gaussian, Laplace, PoissonGaussian, Pure, Threshold
from voile.privacy.tape import Access, Tape, keyed, sampled

Floats = NDArray[np.float64]


@dataclass(eq=False)
class Releases:
    """Adds noise to what a mechanism has computed, under the ear of a replay.

    Each method is one access to the rows, in the mechanism's own figures: the sensitivity is the
    one that *it* believes in, the scale the one that it uses.
    """

    _tape: Tape
    _relation: NeighbouringRelation
    _sampled: Access | None = None

    def gaussian(
        self, total: ArrayLike, *, sensitivity: float, scale: float, label: str = "gaussian"
    ) -> Floats:
        """Release a vector with Gaussian noise of standard deviation ``scale``; L2 counts.

        After `sample`, ``sensitivity`` is what one row may add.
        """
        multiplier = _positive(scale, "scale") / _positive(sensitivity, "sensitivity")
        if self._sampled is None:
            self._begin(label, Gaussian(noise_multiplier=multiplier))
        else:
            access, self._sampled = self._sampled, None
            rate = access.coins[0].rate
            access.label = label
            access.event = PoissonGaussian(noise_multiplier=multiplier, rate=rate)
            access.paid = access.event
        values, grid = self._steps(total, scale)
        return np.asarray((values + noise.gaussian(len(values), scale / grid)) * grid)

    def laplace(
        self, total: ArrayLike, *, sensitivity: float, scale: float, label: str = "laplace"
    ) -> Floats:
        """Release a vector with Laplace noise; L1 counts."""
        multiplier = _positive(scale, "scale") / _positive(sensitivity, "sensitivity")
        self._begin(label, Laplace(noise_multiplier=multiplier))
        values, grid = self._steps(total, scale)
        return np.asarray((values + noise.laplace(len(values), scale / grid)) * grid)

    def choose(
        self,
        scores: ArrayLike,
        *,
        sensitivity: float,
        epsilon: float,
        label: str = "choice",
    ) -> int:
        """Choose by the exponential mechanism: which score is best."""
        self._begin(label, Pure(epsilon=epsilon))
        values = np.asarray(scores, dtype=np.float64).ravel()
        rate = Fraction(epsilon) / (2 * Fraction(_positive(sensitivity, "sensitivity")))
        exact = [Fraction(float(value)) for value in values]
        best = max(exact)

        def sampler() -> int:
            while True:
                position = noise.uniform_below(len(exact))
                if noise.flip_exp(rate * (best - exact[position])):
                    return position

        return sampled(sampler, len(exact))

    def counts(
        self,
        found: Mapping[Any, float],
        *,
        sensitivity: float,
        scale: float,
        threshold: float,
        delta: float,
        label: str = "counts",
    ) -> dict[Any, float]:
        """Counts of values that nobody listed, with Gaussian noise, those above a threshold alone.

        ``delta`` is the probability that a value which one unit alone has may pass.
        """
        multiplier = _positive(scale, "scale") / _positive(sensitivity, "sensitivity")
        self._begin(label, Threshold(noise_multiplier=multiplier, delta=delta))
        names = list(found)
        values, grid = self._steps([found[name] for name in names], scale)
        keyed(lambda: names)
        noised = (values + noise.gaussian(len(values), scale / grid)) * grid
        above = {n: float(v) for n, v in zip(names, noised, strict=True) if v > threshold}
        return dict(sorted(above.items(), key=lambda pair: (-pair[1], str(pair[0]))))

    def sample(self, rows: Sequence[Any], rate: float) -> NDArray[np.bool_]:
        """Which rows take part in the next `gaussian`: each by a coin of its own."""
        access = Access("sample", Gaussian(), self._relation)
        access.rows = tuple(
            hashlib.blake2b(repr(row).encode(), digest_size=16).digest() for row in rows
        )
        self._tape.begin(access)
        self._sampled = access
        return noise.bernoulli(len(access.rows), rate)

    def _begin(self, label: str, event: Event) -> None:
        if self._sampled is not None:
            raise SettingError("A sample is for one Gaussian release: make it before another one.")
        self._tape.begin(Access(label, event, self._relation, paid=event))

    def _steps(self, total: ArrayLike, scale: float) -> tuple[Floats, float]:
        grid = noise.grid_for(scale)
        return np.atleast_1d(np.asarray(total, dtype=np.float64)).ravel() / grid, grid


def _positive(value: float, name: str) -> float:
    if not 0.0 < value < np.inf:
        raise SettingError(f"The {name!r} must be a positive number. Got {value!r} instead.")
    return float(value)
