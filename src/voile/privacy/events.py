"""Privacy events as data: what was done to the rows, never what came out.

An event says how noisy an access to the rows was; the accountant interprets it, the ledger stores
it, the receipt prints it. ``noise_multiplier`` is the noise scale divided by the sensitivity of the
query under the neighbouring relation of the plan (for a Poisson-sampled event: divided by the bound
on one row's share, which is what dp-accounting expects), so an event needs no unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from voile.codec import Order, Writable, decode
from voile.errors import LedgerError, PlanError, SettingError
from voile.privacy.budget import plain_float
from voile.strict import Strict, show

_PLAN = Strict(LedgerError, "a plan")
_MOST_ACCESSES = 2**53
"""Up to here whole numbers are exact as floats."""

_LARGEST = 1e50


@dataclass(frozen=True, slots=True)
class Event(Writable):
    """One or several identical looks at the rows.

    Parameters
    ----------
    count : int
        How often the rows are looked at in this way.
    """

    kind: ClassVar[str] = "event"
    file_order: ClassVar[Order] = ("kind", ...)

    count: int = 1

    def __post_init__(self) -> None:
        count = plain_float(self.count)
        if not (0 <= count < _MOST_ACCESSES and count.is_integer()):
            raise SettingError(
                f"The 'count' of an event must be a whole number >= 0, below 2**53. Got "
                f"{show(self.count)} instead."
            )
        object.__setattr__(self, "count", int(self.count))
        for name in ("noise_multiplier", "epsilon", "rate", "delta"):
            if not hasattr(self, name):
                continue
            value = plain_float(getattr(self, name))
            # Squares of a multiplier, times any count, must stay numbers: no price may overflow.
            low = 0.0 if name == "delta" else 1 / _LARGEST
            if not low < value < _LARGEST:
                raise SettingError(
                    f"The {name!r} of an event must be a finite number > 0 (between {low:g} and "
                    f"{_LARGEST:g}). Got {getattr(self, name)!r} instead."
                )
            object.__setattr__(self, name, value)

    @staticmethod
    def from_dict(data: object) -> Event:
        """Read an event back; refuses unknown kinds and fields instead of guessing their price."""
        if not isinstance(data, Mapping):
            _PLAN.refuse("an event", "a mapping", data)
        values = dict(data)
        kind = values.pop("kind", None)
        cls = KINDS.get(kind) if isinstance(kind, str) else None
        if cls is None or set(values) - {field.name for field in fields(cls)}:
            raise LedgerError(
                f"The ledger holds an event of kind {show(kind)} that this version of voile cannot "
                "price: use the version that wrote it, or a newer one."
            )
        return cls(**values)

    def describe(self) -> str:
        """A few words for receipts."""
        return self.kind


@dataclass(frozen=True, slots=True)
class Gaussian(Event):
    """A sum over rows released with Gaussian noise: (1 / noise_multiplier)-GDP each."""

    kind: ClassVar[str] = "gaussian"

    noise_multiplier: float = 1.0

    def describe(self) -> str:
        """A few words for receipts."""
        return f"Gaussian, sigma {self.noise_multiplier:.4g}"


@dataclass(frozen=True, slots=True)
class PoissonGaussian(Event):
    """A Gaussian sum over rows that were each included with probability ``rate``."""

    kind: ClassVar[str] = "poisson_gaussian"

    noise_multiplier: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        Event.__post_init__(self)
        if self.rate > 1:
            raise SettingError(f"The 'rate' of an event must be <= 1. Got {self.rate!r} instead.")

    def describe(self) -> str:
        """A few words for receipts."""
        return f"Gaussian, sigma {self.noise_multiplier:.4g}, Poisson sampling {self.rate:.4g}"


@dataclass(frozen=True, slots=True)
class Laplace(Event):
    """A sum over rows released with Laplace noise: (1 / noise_multiplier)-DP each."""

    kind: ClassVar[str] = "laplace"

    noise_multiplier: float = 1.0

    def describe(self) -> str:
        """A few words for receipts."""
        return f"Laplace, scale {self.noise_multiplier:.4g}"


@dataclass(frozen=True, slots=True)
class Pure(Event):
    """Any epsilon-DP look at the rows, such as a private selection."""

    kind: ClassVar[str] = "pure"

    epsilon: float = 1.0

    def describe(self) -> str:
        """A few words for receipts."""
        return f"selection, epsilon {self.epsilon:.4g}"


@dataclass(frozen=True, slots=True)
class Approximate(Event):
    """Any (epsilon, delta)-DP look at the rows, such as a smooth-sensitivity release.

    It costs as an epsilon-DP look does, and discloses everything with probability ``delta`` at
    most, which is the event's own.
    """

    kind: ClassVar[str] = "approximate"

    epsilon: float = 1.0
    delta: float = 1e-9

    def __post_init__(self) -> None:
        Event.__post_init__(self)
        if self.delta >= 1:
            raise SettingError(f"The 'delta' of an event must be < 1. Got {self.delta!r} instead.")

    def describe(self) -> str:
        """A few words for receipts."""
        return f"approximate, epsilon {self.epsilon:.4g}, delta {self.delta:.2g}"


@dataclass(frozen=True, slots=True)
class Threshold(Event):
    """Gaussian counts of values nobody listed, released above a threshold.

    The counts cost as a Gaussian event does; a value that only one row holds is released with
    probability at most ``delta``, and that probability is the event's own.
    """

    kind: ClassVar[str] = "threshold"

    noise_multiplier: float = 1.0
    delta: float = 1e-9

    def describe(self) -> str:
        """A few words for receipts."""
        return f"threshold, sigma {self.noise_multiplier:.4g}, delta {self.delta:.2g}"


@dataclass(frozen=True, slots=True)
class Unprotected(Event):
    """An access to the rows without noise: no guarantee, whatever else is done."""

    kind: ClassVar[str] = "unprotected"

    def describe(self) -> str:
        """A few words for receipts."""
        return "no noise, NO GUARANTEE"


KINDS: Mapping[str, type[Event]] = {
    cls.kind: cls
    for cls in (Gaussian, PoissonGaussian, Laplace, Pure, Approximate, Threshold, Unprotected)
}


@dataclass(frozen=True, slots=True)
class Step(Writable):
    """One line of a plan: why the rows are looked at, and how."""

    label: str
    event: Event


@dataclass(frozen=True, slots=True)
class Plan:
    """All accesses to the rows that one job will make, fixed before the first of them."""

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))  # a list could change once it is paid
        labels = [step.label for step in self.steps]
        if len(set(labels)) != len(labels):
            raise PlanError(f"Two steps of a plan have the same label: {sorted(labels)}.")

    @classmethod
    def of(cls, **events: Event) -> Self:
        """Make a plan from keyword arguments, ``Plan.of(count=Gaussian(noise_multiplier=3))``."""
        return cls(tuple(Step(label, event) for label, event in events.items()))

    @property
    def events(self) -> tuple[Event, ...]:
        """The events, in order."""
        return tuple(step.event for step in self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __getitem__(self, label: str) -> Event:
        for step in self.steps:
            if step.label == label:
                return step.event
        raise PlanError(
            f"The plan has no step {label!r}; it has {[step.label for step in self.steps]}."
        )

    def __contains__(self, label: object) -> bool:
        return any(step.label == label for step in self.steps)

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain data for JSON."""
        return [step.to_dict() for step in self.steps]

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read a plan back; refuses what is none (LedgerError)."""
        return cls(decode(tuple[Step, ...], data, _PLAN))


def scale_noise(event: Event, factor: float) -> Event:
    """The same accesses with so many times the noise."""
    match event:
        case Pure() | Approximate():
            return replace(event, epsilon=event.epsilon / factor)
        case Gaussian() | PoissonGaussian() | Laplace() | Threshold():
            return replace(event, noise_multiplier=event.noise_multiplier * factor)
        case _:
            return event
