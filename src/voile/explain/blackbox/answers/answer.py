"""One answer to "why this prediction?": a local linear model and how far to trust it, as data."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_OF_OUTPUTS = ("offset", "offset_errors", "agreement", "r2")
_FORMAT = 1
_HEAD = struct.Struct("<5I16s")  # format, features, outputs, steps, computed, answered


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
    agreement, r2 : ndarray of shape (outputs,)
        Share of the rows near the point, by weight, for which local model and black box have the
        same sign; share of the score's variance there that the local model explains. Infinite
        where unknown.
    effective_share, distance : float
        Effective share of the table that the answer rests on; root of the mean squared distance of
        these rows. Infinite where unknown.
    answered : str
        By which strategy.
    steps : int
        Gradient steps taken.
    computed : bool
        Whether it was computed from the rows, and not copied or derived from other answers.
    width : float
        Of the Gaussian weight, if it was chosen for this row; NaN otherwise. It is not stored:
        only answers from a summary have one, and these are not stored either.
    """

    point: NDArray[np.int32]
    phi: Floats
    errors: Floats
    offset: Floats
    offset_errors: Floats
    agreement: Floats
    r2: Floats
    effective_share: float
    distance: float
    answered: str
    steps: int = 0
    computed: bool = True
    width: float = math.nan

    def copied(self, answered: str, point: NDArray[np.int32] | None = None) -> Answer:
        """The same answer, given again, perhaps for another point."""
        where = self.point if point is None else point
        return replace(self, point=where, answered=answered, computed=False)

    def to_bytes(self) -> bytes:
        """Every bit of it, of a length that follows from the numbers of features and outputs."""
        d, k = self.phi.shape
        head = _HEAD.pack(_FORMAT, d, k, self.steps, self.computed, self.answered.encode())
        numbers = [
            *(np.ravel(getattr(self, name)) for name in ("phi", "errors", *_OF_OUTPUTS)),
            np.array([self.effective_share, self.distance]),
        ]
        place = self.point.astype("<i4").tobytes()
        return head + place + np.concatenate(numbers).astype("<f8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read back what `to_bytes` gave.

        Raises
        ------
        ValueError
            If it is something else.
        """
        head = data[: _HEAD.size].ljust(_HEAD.size, b"\0")
        version, d, k, steps, computed, answered = _HEAD.unpack(head)
        if version != _FORMAT or len(data) != _HEAD.size + 4 * d + 8 * (2 * d * k + 4 * k + 2):
            raise ValueError("not an answer of this version")
        point = np.frombuffer(data, "<i4", d, _HEAD.size).astype(np.int32)
        numbers = np.frombuffer(data, "<f8", offset=_HEAD.size + 4 * d).astype(np.float64)
        phi, errors, rest = np.split(numbers, [d * k, 2 * d * k])
        offset, offset_errors, agreement, r2 = rest[:-2].reshape(len(_OF_OUTPUTS), k)
        return cls(
            point=point,
            phi=phi.reshape(d, k),
            errors=errors.reshape(d, k),
            offset=offset,
            offset_errors=offset_errors,
            agreement=agreement,
            r2=r2,
            effective_share=float(rest[-2]),
            distance=float(rest[-1]),
            answered=answered.rstrip(b"\0").decode(),
            steps=steps,
            computed=bool(computed),
        )


def unknown(outputs: int) -> Floats:
    """Values that nobody knows."""
    return np.full(outputs, math.inf)
