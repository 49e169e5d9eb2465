"""One answer to "why this prediction?": a local linear model and how far to trust it, as data."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.explain.plain_data import freeze, thaw

Floats = NDArray[np.float64]

_OF_OUTPUTS = ("offset", "offset_errors", "agreement", "explained")


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """A local linear model around one point.

    Attributes
    ----------
    point : ndarray of shape (features,)
        Where it was asked, whole numbers of 2^-18.
    phi, errors : ndarray of shape (features, outputs)
        Coefficients in the unit ball's space, and their standard deviation by the noise (infinite
        where nobody knows it).
    offset, offset_errors : ndarray of shape (outputs,)
        The local model's score at the point.
    agreement, explained : ndarray of shape (outputs,)
        Share of the rows near the point, by weight, for which local model and black box have the
        same sign; share of the score's variance there that the local model explains. Infinite
        where unknown.
    effective, reach : float
        Effective share of the table that the answer rests on; root of the mean squared distance of
        these rows. Infinite where unknown.
    answered : str
        By which strategy.
    steps : int
        Gradient steps taken.
    computed : bool
        Whether it was computed from the rows, and not copied or derived from other answers.
    score : ndarray of shape (outputs,), or None
        What the black box says of the asked row itself.
    """

    point: NDArray[np.int32]
    phi: Floats
    errors: Floats
    offset: Floats
    offset_errors: Floats
    agreement: Floats
    explained: Floats
    effective: float
    reach: float
    answered: str
    steps: int = 0
    computed: bool = True
    score: Floats | None = None

    def copied(self, answered: str) -> Answer:
        """The same answer, given again."""
        return replace(self, answered=answered, computed=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "point": self.point.tolist(),
            "phi": thaw(self.phi),
            "errors": thaw(self.errors),
            **{name: thaw(getattr(self, name)) for name in _OF_OUTPUTS},
            "effective": _finite(self.effective),
            "reach": _finite(self.reach),
            "answered": self.answered,
            "steps": self.steps,
            "computed": self.computed,
            "score": None if self.score is None else thaw(self.score),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave."""
        point = np.array(data["point"], dtype=np.int32)
        outputs = len(data["offset"])
        shape = (len(point), outputs)
        score = data.get("score")
        return cls(
            point=point,
            phi=freeze(data["phi"], shape, "coefficients"),
            errors=freeze(data["errors"], shape, "errors"),
            **{name: freeze(data[name], (outputs,), name) for name in _OF_OUTPUTS},
            effective=_read(data["effective"]),
            reach=_read(data["reach"]),
            answered=str(data["answered"]),
            steps=int(data["steps"]),
            computed=bool(data["computed"]),
            score=None if score is None else freeze(score, (outputs,), "score"),
        )


def key_of(point: NDArray[np.int32]) -> str:
    """The name of a question: the same for the same point."""
    return hashlib.sha256(np.ascontiguousarray(point, dtype="<i4").tobytes()).hexdigest()


def unknown(outputs: int) -> Floats:
    """Values that nobody knows."""
    return np.full(outputs, math.inf)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _read(value: float | None) -> float:
    return math.inf if value is None else float(value)
