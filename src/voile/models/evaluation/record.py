"""The record of a private evaluation: measures with intervals, groups, calibration, receipt."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from voile.errors import ModelError, ReceiptError
from voile.privacy.receipt import Receipt
from voile.rendering import draw_inline, write_page
from voile.strict import Strict, show

FORMAT = 1

_STRICT = Strict(ModelError, "an evaluation")
_TARGETS = ("classification", "regression")
_FIGURES = ("value", "low", "high", "noise")
_FIELDS = (
    *("voile_evaluation", "model", "target", "rows", "confidence", "measures", "classes"),
    *("confusion", "reliability", "groups", "receipt", "notes", "entry", "edits"),
)


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
    value: float
    low: float
    high: float
    noise: float
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

    predicted: float
    happened: Measure
    rows: float


@dataclass(frozen=True)
class Evaluation:
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

    model: str
    target: str
    rows: float
    confidence: float
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON (NaN becomes null)."""
        data = asdict(self)
        data["receipt"] = self.receipt.to_dict()
        plain: dict[str, Any] = {"voile_evaluation": FORMAT, **_plain(data)}
        return plain

    def to_json(self, *, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read back what `to_dict` gave; refuse anything else (ModelError)."""
        read = _STRICT
        if isinstance(data, Mapping) and data.get("voile_evaluation", FORMAT) != FORMAT:
            raise ModelError(
                f"The evaluation has format {show(data['voile_evaluation'])}, this version of "
                f"voile reads format {FORMAT}: use the version that wrote it."
            )
        data = read.fields(read.plain(data), _FIELDS, "the evaluation")
        read.whole(data["voile_evaluation"], "'voile_evaluation'")
        classes = read.texts(data["classes"], "'classes'")
        lines = read.listed(data["confusion"], "'confusion'")
        if lines:
            read.listed(lines, "'confusion'", len(classes))
        try:
            receipt = Receipt.from_dict(data["receipt"])
        except ReceiptError as error:
            raise ModelError(f"The evaluation's receipt cannot be read. {error}") from error
        return cls(
            model=read.text(data["model"], "'model'"),
            target=read.choice(data["target"], _TARGETS, "'target'"),
            rows=read.number(data["rows"], "'rows'"),
            confidence=read.number(data["confidence"], "'confidence'", 0.0, 1.0),
            measures=_read_measures(data["measures"]),
            classes=classes,
            confusion=tuple(
                tuple(
                    read.number(one, "'confusion'")
                    for one in read.listed(line, "a line of 'confusion'", len(classes))
                )
                for line in lines
            ),
            reliability=tuple(
                map(_read_stretch, read.listed(data["reliability"], "'reliability'"))
            ),
            groups=tuple(map(_read_group, read.listed(data["groups"], "'groups'"))),
            receipt=receipt,
            notes=read.texts(data["notes"], "'notes'"),
            entry=read.text(data["entry"], "'entry'"),
            edits=read.text(data["edits"], "'edits'"),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` gave."""
        return cls.from_dict(_STRICT.parse(text))

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
        lines.append(f"  {self.receipt.promise}")
        return "\n".join(lines)

    def show(self) -> None:
        """Print it in the terminal."""
        print(self)

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page."""
        return write_page(self, path)

    def _repr_html_(self) -> str:
        return draw_inline(self)


def digest_of_edits(model: Any) -> str:
    """A digest of what people changed in a model since its training; "" if nothing."""
    made = [
        [edit.what, edit.term, dict(edit.settings), edit.when]
        for edit in getattr(model, "edits", ())
    ]
    if not made:
        return ""
    return hashlib.sha256(json.dumps(made, default=str, sort_keys=True).encode()).hexdigest()


def _read_measures(data: object) -> tuple[Measure, ...]:
    return tuple(map(_read_measure, _STRICT.listed(data, "'measures'")))


def _read_measure(data: object) -> Measure:
    fields = _STRICT.fields(data, ("name", *_FIGURES, "unit"), "a measure")
    return Measure(
        name=_STRICT.text(fields["name"], "the name of a measure"),
        unit=_STRICT.text(fields["unit"], "the unit of a measure"),
        **{one: _STRICT.number(fields[one], f"'{one}'", null=math.nan) for one in _FIGURES},
    )


def _read_stretch(data: object) -> Reliability:
    fields = _STRICT.fields(data, ("predicted", "happened", "rows"), "a part of 'reliability'")
    return Reliability(
        _STRICT.number(fields["predicted"], "'predicted'", null=math.nan),
        _read_measure(fields["happened"]),
        _STRICT.number(fields["rows"], "'rows'"),
    )


def _read_group(data: object) -> GroupScores:
    fields = _STRICT.fields(data, ("column", "level", "rows", "measures"), "a group")
    return GroupScores(
        _STRICT.text(fields["column"], "the column of a group"),
        _STRICT.text(fields["level"], "the level of a group"),
        _STRICT.number(fields["rows"], "the rows of a group"),
        _read_measures(fields["measures"]),
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
