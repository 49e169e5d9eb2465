"""Is a difference between two levels or ranges of a column real? The answer, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from scipy.stats import norm

from voile.arrays import Array, Floats, freeze_arrays
from voile.codec import Order, Writable
from voile.explain.explanation import EXPLANATION, FREE
from voile.explain.wording import p_text, readable, short, signed, wrapped
from voile.models.verdict import Verdict, judge
from voile.stored import Stored

WIDE = float(norm.ppf(0.975))
"""Standard errors on each side of a 95 % interval."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison(Writable):
    """The difference between two levels or ranges of a column, and whether it is more than chance.

    Attributes
    ----------
    column : str
    first, second : str
        What is compared, readable.
    outputs : tuple of str
        What the differences are of: classes, the second of two classes, "prediction", the column
        itself, or its levels.
    units : str
        Of the differences.
    differences : ndarray of shape (outputs,)
        First minus second. Of an additive model it is not drawn to zero as the scores are, so it
        may be larger than what the curve shows.
    noise_errors, sampling_errors : ndarray of shape (outputs,)
        Standard errors by the privacy noise, and by which people were among the rows.
    compared : float
        How many such comparisons the p-values allow for: those that a reader of the whole model
        could point at. Ranges count by how fine they are.
    p_values : ndarray of shape (outputs,)
        Of no difference, allowing for them.
    together : tuple of str
        Columns that are in a pair with this one: what is compared is the column's own curve,
        averaged over their values. Among rows of one value, the difference may be another.
    """

    format: ClassVar[int] = 1
    kind: ClassVar[str] = "comparison"
    file_order: ClassVar[Order] = ("format", "kind", ...)

    column: str
    first: str
    second: str
    outputs: tuple[str, ...]
    units: str
    differences: Annotated[Floats, Array("outputs")]
    noise_errors: Annotated[Floats, Array("outputs")]
    sampling_errors: Annotated[Floats, Array("outputs")]
    compared: float
    p_values: Annotated[Floats, Array("outputs")]
    together: Annotated[tuple[str, ...], Stored(optional=True)] = ()
    cost: str = FREE

    def __post_init__(self) -> None:
        freeze_arrays(self, EXPLANATION)

    @classmethod
    def of(
        cls,
        *,
        column: str,
        sides: tuple[str, str],
        outputs: tuple[str, ...],
        units: str,
        differences: Floats,
        variances: tuple[Floats, Floats],
        compared: float,
        together: tuple[str, ...] = (),
    ) -> Self:
        """A comparison whose p-values allow for as many as ``compared``.

        Parameters
        ----------
        variances : pair of ndarray of shape (outputs,)
            By the noise, and by sampling.
        """
        noise, sampling = (np.sqrt(np.maximum(one, 0.0)) for one in variances)
        errors = np.maximum(np.hypot(noise, sampling), 1e-300)
        return cls(
            column=column,
            first=sides[0],
            second=sides[1],
            outputs=outputs,
            units=units,
            differences=differences,
            noise_errors=noise,
            sampling_errors=sampling,
            compared=compared,
            together=together,
            p_values=np.minimum(2 * norm.sf(np.abs(differences) / errors) * compared, 1.0),
        )

    @property
    def standard_errors(self) -> Floats:
        """Privacy noise and sampling error together, shape (outputs,)."""
        return np.hypot(self.noise_errors, self.sampling_errors)

    @property
    def intervals(self) -> Floats:
        """Ends of the 95 % intervals, shape (outputs, 2)."""
        sides = WIDE * self.standard_errors
        return np.stack([self.differences - sides, self.differences + sides], axis=1)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """For each output: "clear", "perhaps" or "cannot be told from nothing"."""
        return tuple(judge(p) for p in self.p_values.tolist())

    def __str__(self) -> str:
        lines = [
            f"{self.column}: {self.first} against {self.second}"
            + (f" ({self.units})" if len(self.outputs) > 1 else "")
        ]
        for k, output in enumerate(self.outputs):
            name = f"'{output}': " if len(self.outputs) > 1 else ""
            lines.append(f"  {name}{self._tell(k)}")
        if self.together:
            names = ", ".join(map(repr, self.together))
            lines += wrapped(
                f"on average over {names}, with which {self.column!r} is in a pair: for single "
                "values there, the difference is another"
            )
        return "\n".join(
            [
                *lines,
                f"  95 % interval: privacy noise plus sampling error; {self.cost}",
            ]
        )

    def _tell(self, k: int) -> str:
        low, high = self.intervals[k].tolist()
        value, p = float(self.differences[k]), float(self.p_values[k])
        error = float(self.standard_errors[k])
        told, below, above = (signed(readable(one, error)) for one in (value, low, high))
        many = self.compared > 1
        unit = ""
        if len(self.outputs) == 1:
            of = f" of '{self.outputs[0]}'" if self.units == "log-odds" else ""
            unit = f" {self.units}{of}"
        text = (
            f"{told}{unit} (95 % interval{' of this comparison alone' if many else ''} "
            f"{below} to {above})"
        )
        if self.units.startswith("log") and abs(value) < 20:
            ends = " to ".join(short(math.exp(min(end, 20.0))) for end in (low, high))
            name = "odds ratio" if self.units.startswith("log-odds") else "ratio"
            text += f", {name} {short(math.exp(value))} ({ends})"
        end = f"{self.verdicts[k]} (p {p_text(p)})"
        if not many:
            return f"{text}: {end}"
        count = short(self.compared, digits=2)
        return f"{text}; with {count} comparisons that could have been made: {end}"
