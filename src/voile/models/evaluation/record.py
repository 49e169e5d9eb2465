"""The record of a private evaluation: measures with intervals, groups, calibration, receipt."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from voile.codec import Order, Readable
from voile.errors import ModelError
from voile.privacy.receipt import Receipt
from voile.record import Record
from voile.stored import Share, Stored
from voile.strict import Strict

Figure = Annotated[float, Stored(null=math.nan)]
"""A number that the noise may have left nothing of: NaN then, and ``null`` in a file."""


@dataclass(frozen=True)
class Measure:
    """One figure and how far to trust it.

    Attributes
    ----------
    name : str
    value : float
        The estimate; NaN if the noise left nothing to say.
    low, high : float
        Interval that holds the true figure of the population at the stated confidence: privacy
        noise and the chance of which people were there together (docs/proofs/evaluation.md).
    noise : float
        Standard error by the privacy noise alone.
    unit : str
        "" for a part of 1; else the unit in words.
    """

    name: str
    value: Figure
    low: Figure
    high: Figure
    noise: Figure
    unit: str = ""

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.name}: lost in the noise"
        value, low, high = told_figures(self)
        return f"{self.name} {value} ({low} to {high})"


def plain_number(value: float) -> str:
    """A figure with four digits, and large ones without a power of ten."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def told_figures(measure: Measure) -> tuple[str, str, str]:
    """Value and ends of the interval as text, with no more digits than the interval allows.

    Examples
    --------
    >>> told_figures(Measure("AUROC", 0.92581, 0.8991, 0.9514, 0.01))
    ('0.93', '0.90', '0.95')
    >>> told_figures(Measure("RMSE", 58921.7, 51234.5, 69876.5, 100.0))
    ('59,000', '51,000', '70,000')
    """
    width = measure.high - measure.low
    figures = (measure.value, measure.low, measure.high)
    if not (math.isfinite(width) and width > 0 and all(map(math.isfinite, figures))):
        value, low, high = map(plain_number, figures)
        return value, low, high
    # The last digit is at most a quarter of the interval; -0 is 0.
    places = -math.floor(math.log10(width / 4 or width))
    value, low, high = (f"{round(one, places) + 0.0:,.{max(places, 0)}f}" for one in figures)
    return value, low, high


@dataclass(frozen=True)
class GroupScores:
    """Measures of the rows of one group."""

    column: str
    level: str
    rows: float
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Reliability:
    """One stretch of predicted probabilities: what was predicted, and what happened."""

    predicted: Figure
    happened: Measure
    rows: float


@dataclass(frozen=True)
class Evaluation(Record, Readable):
    """How good a model is on rows held out, with noise and intervals.

    Attributes
    ----------
    model : str
        Kind of the estimator.
    target : str
        "classification" or "regression".
    rows : float
        Noised number of rows that were used.
    confidence : float
        Of the intervals, 0 to 1.
    measures : tuple of Measure
        Classification: accuracy, balanced accuracy; two classes: AUROC too; with probabilities:
        calibration error. Regression: RMSE, MAE, bias (mean of true minus predicted).
    classes : tuple of str
    confusion : tuple of tuple of float
        Noised rows by predicted (first) and true class; empty for regression.
    reliability : tuple of Reliability
    groups : tuple of GroupScores
    receipt : Receipt
        What this evaluation cost.
    notes : tuple of str
    entry, edits : str
        Which model was measured: the ledger's entry of its training, and a digest of the edits
        made by then ("" if there were none). An edited model is another model.
    """

    strict: ClassVar[Strict] = Strict(ModelError, "an evaluation")
    voile_evaluation: ClassVar[int] = 1
    file_order: ClassVar[Order] = ("voile_evaluation", ...)
    has_terminal_form: ClassVar[bool] = False

    model: str
    target: Literal["classification", "regression"]
    rows: float
    confidence: Share
    measures: tuple[Measure, ...]
    classes: tuple[str, ...]
    confusion: tuple[tuple[float, ...], ...]
    reliability: tuple[Reliability, ...]
    groups: tuple[GroupScores, ...]
    receipt: Receipt
    notes: tuple[str, ...] = ()
    entry: str = ""
    edits: str = ""

    def fits(self, model: Any) -> bool:
        """Whether this frozen model was measured, with just the edits that it has now."""
        return self.entry == model.receipt.entry and self.edits == digest_of_edits(model)

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(f"{name!r}: there are {', '.join(m.name for m in self.measures)}")

    def check_read(self) -> None:
        """Refuse a confusion that is not one of all classes with all (ModelError)."""
        width = len(self.classes)
        if self.confusion and {width, *map(len, self.confusion)} != {len(self.confusion)}:
            raise ModelError(
                f"In an evaluation, 'confusion' must have {width} lines of {width} numbers, or "
                "none: use an undamaged copy."
            )

    def __str__(self) -> str:
        lines = [
            f"Quality of {self.model} on about {max(self.rows, 0):,.0f} rows "
            f"({100 * self.confidence:g} % intervals, noise included)"
        ]
        lines += [f"  {measure}" for measure in self.measures]
        for group in self.groups:
            told = "; ".join(map(str, group.measures))
            lines.append(f"  {group.column} = {group.level} (about {group.rows:,.0f} rows): {told}")
        lines += [f"  {note}" for note in self.notes]
        lines.append(f"  {self.receipt.guarantee}")
        return "\n".join(lines)


def digest_of_edits(model: Any) -> str:
    """A digest of what people changed in a model since its training; "" if nothing."""
    made = [
        [edit.what, edit.term, dict(edit.settings), edit.when]
        for edit in getattr(model, "edits", ())
    ]
    if not made:
        return ""
    return hashlib.sha256(json.dumps(made, default=str, sort_keys=True).encode()).hexdigest()
