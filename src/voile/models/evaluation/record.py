"""The record of a private evaluation: measures, thresholds, groups, calibration, receipt."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from voile.codec import Order, Readable
from voile.errors import ModelError, SettingError
from voile.models.evaluation.curves import Curves
from voile.models.evaluation.measure import Difference, Figure, Measure
from voile.models.evaluation.thresholds import OperatingPoint, ScoreCounts
from voile.privacy.receipt import Receipt
from voile.record import Record
from voile.stored import Stored, ZeroToOne
from voile.strict import Strict


@dataclass(frozen=True)
class GroupScores:
    """Measures of the rows of one group.

    Attributes
    ----------
    column, level : str
    rows : float
        Noised number of rows.
    measures : tuple of Measure
    differences : tuple of Difference
        Of each measure, from all other groups of the column together.
    """

    column: str
    level: str
    rows: float
    measures: tuple[Measure, ...]
    differences: Annotated[tuple[Difference, ...], Stored(later=True)] = ()


@dataclass(frozen=True)
class Reliability:
    """One stretch of predictions: what was predicted, and what happened.

    Attributes
    ----------
    predicted : float
        Mean prediction: a probability, or a number in the target's units.
    happened : Measure
        Share of rows of which it came true; of a regression, the mean of what was observed.
    rows : float
        Noised number of rows.
    of : str
        The class that was predicted with this probability; "" for a regression.
    """

    predicted: Figure
    happened: Measure
    rows: float
    of: Annotated[str, Stored(later=True)] = ""


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
        Two classes: AUROC, average precision, accuracy, balanced accuracy; with probabilities,
        Brier score and calibration error. More: accuracy, balanced accuracy, the mean AUROC of each
        class against the rest, calibration error. Regression: RMSE, MAE, R2, bias (mean of true
        minus predicted). Each with its baseline, where there is one.
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
    scores : tuple of ScoreCounts
        Released counts by score, of each positive class against the rest: what curves and
        thresholds are computed from.
    """

    strict: ClassVar[Strict] = Strict(ModelError, "an evaluation")
    voile_evaluation: ClassVar[int] = 1
    file_order: ClassVar[Order] = ("voile_evaluation", ..., "thresholds=lines", "curves")

    model: str
    target: Literal["classification", "regression"]
    rows: float
    confidence: ZeroToOne
    measures: tuple[Measure, ...]
    classes: tuple[str, ...]
    confusion: tuple[tuple[float, ...], ...]
    reliability: tuple[Reliability, ...]
    groups: tuple[GroupScores, ...]
    receipt: Receipt
    notes: tuple[str, ...] = ()
    entry: str = ""
    edits: str = ""
    scores: Annotated[tuple[ScoreCounts, ...], Stored(later=True)] = ()

    def fits(self, model: Any) -> bool:
        """Whether this frozen model was measured, with just the edits that it has now."""
        return self.entry == model.receipt.entry and self.edits == digest_of_edits(model)

    @property
    def speaks_of(self) -> str:
        """The class that rates and the average precision are about; "" if there are not two."""
        return self.classes[1] if len(self.classes) == 2 else ""

    def name_of(self, measure: Measure) -> str:
        """What a measure of the whole is called, with the class that it is about."""
        about = measure.name == "average precision" and self.speaks_of
        return f"{measure.name} of '{about}'" if about else measure.name

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(f"{name!r}: there are {', '.join(m.name for m in self.measures)}")

    # -- thresholds and curves -------------------------------------------------------------------

    def at_threshold(
        self, threshold: float, *, prevalence: float | None = None, positive: str | None = None
    ) -> OperatingPoint:
        """What the model does if every row with a score above a threshold is an alarm; free.

        Parameters
        ----------
        threshold : float
            A probability (of prototypes: a relative distance in [-1, 1]). Of the thresholds that
            were counted, the nearest is taken: ``.threshold`` of the answer.
        prevalence : float, optional
            Share of positive rows where the model shall be used, in (0, 1): PPV, NPV, alarms and
            counts depend on it. By default that of the rows that were measured.
        positive : str, optional
            The class that an alarm speaks of; by default the second of two. With more classes it
            must be given.

        Returns
        -------
        OperatingPoint
        """
        counts = self._scores_of(positive)
        if isinstance(threshold, bool) or not math.isfinite(threshold):
            raise SettingError(f"The threshold must be a finite number. Got {threshold!r} instead.")
        _check_prevalence(prevalence)
        position = counts.nearest(threshold)
        return counts.at(position, float(threshold), self.confidence, prevalence)

    def threshold_for(
        self,
        *,
        sensitivity: float | None = None,
        specificity: float | None = None,
        alarms: float | None = None,
        prevalence: float | None = None,
        positive: str | None = None,
    ) -> OperatingPoint:
        """The threshold that reaches a goal, by the estimates; free.

        Parameters
        ----------
        sensitivity : float, optional
            Share of positive rows to be found at least: the highest threshold that does.
        specificity : float, optional
            Share of other rows without an alarm at least: the lowest threshold that does.
        alarms : float, optional
            Most alarms per 1,000 rows: the lowest threshold that has no more.
        prevalence, positive
            As of `at_threshold`.

        Raises
        ------
        SettingError
            If not just one goal is given, or no counted threshold reaches it.
        """
        goals = {"sensitivity": sensitivity, "specificity": specificity, "alarms": alarms}
        given = {name: goal for name, goal in goals.items() if goal is not None}
        if len(given) != 1:
            raise SettingError("Give one of 'sensitivity', 'specificity' and 'alarms'.")
        counts = self._scores_of(positive)
        _check_prevalence(prevalence)
        ((name, goal),) = given.items()
        points = [
            counts.at(i, one, self.confidence, prevalence)
            for i, one in enumerate(counts.thresholds)
        ]
        sign = -1.0 if name == "alarms" else 1.0
        reached = [one for one in points if sign * one[name].value >= sign * goal]
        if not reached:
            raise SettingError(
                f"No counted threshold has {'at most' if sign < 0 else 'at least'} {goal:g} "
                f"{name}: they go from {min(one[name].value for one in points):.3g} to "
                f"{max(one[name].value for one in points):.3g}."
            )
        return reached[-1] if name == "sensitivity" else reached[0]

    @property
    def thresholds(self) -> tuple[OperatingPoint, ...]:
        """A few round thresholds of each positive class."""
        return tuple(point for one in self.scores for point in one.round_points(self.confidence))

    @property
    def lines(self) -> tuple[dict[str, Any], ...]:
        """The same as plain data, for files."""
        return tuple(one.line() for one in self.thresholds)

    @property
    def curves(self) -> tuple[Curves, ...]:
        """ROC and precision-recall curves of each positive class, with their bands."""
        return tuple(Curves.of(one, self.confidence) for one in self.scores)

    def _scores_of(self, positive: str | None) -> ScoreCounts:
        names = [one.positive for one in self.scores]
        if not names:
            raise SettingError(
                "This evaluation has no counts of scores: it is of a regression, of too many "
                "classes, or was written by an older version. Measure again with score_private."
            )
        if positive is None and len(names) == 1:
            return self.scores[0]
        if positive not in names:
            raise SettingError(
                f"Give 'positive', one of {', '.join(map(repr, names))}. Got {positive!r} instead."
            )
        return self.scores[names.index(positive)]

    def check_read(self) -> None:
        """Refuse a confusion that is not one of all classes with all (ModelError)."""
        width = len(self.classes)
        if self.confusion and {width, *map(len, self.confusion)} != {len(self.confusion)}:
            raise ModelError(
                f"In an evaluation, 'confusion' must have {width} lines of {width} numbers, or "
                "none: use an undamaged copy."
            )

    def to_records(self) -> list[dict[str, Any]]:
        """One record per figure: measures, groups, thresholds, calibration."""
        found = [_record("measure", one) for one in self.measures]
        for group in self.groups:
            where = {"column": group.column, "level": group.level}
            verdicts = {one.name: one.verdict for one in group.differences}
            found += [
                _record("group", one, **where, verdict=verdicts.get(one.name, ""))
                for one in group.measures
            ]
        for counts in self.scores:
            found += [_record("class", one, positive=counts.positive) for one in counts.measures]
        for point in self.thresholds:
            found += [
                _record("threshold", one, positive=point.positive, threshold=point.threshold)
                for one in point.measures
            ]
        for stretch in self.reliability:
            found.append(
                _record(
                    "calibration",
                    stretch.happened,
                    positive=stretch.of,
                    predicted=stretch.predicted,
                )
            )
        return found

    def _usual_texts(self) -> list[str]:
        """What a classifier of two classes does at the threshold by which it predicts."""
        if len(self.classes) != 2 or not self.scores:
            return []
        point = self.at_threshold(0.5 if self.scores[0].scale == "probability" else 0.0)
        named = [point[name] for name in ("sensitivity", "specificity", "PPV", "NPV")]
        if all(one.lost for one in named):
            return []
        return [
            f"for '{point.positive}', at threshold {point.threshold:g}: "
            f"{'; '.join(map(str, named))}"
        ]

    def __str__(self) -> str:
        lines = [
            f"Quality of {self.model} on about {max(self.rows, 0):,.0f} rows "
            f"({100 * self.confidence:g} % intervals: privacy noise plus sampling error)"
        ]
        lines += [f"  {replace(one, name=self.name_of(one))}" for one in self.measures]
        lines += [
            f"  '{counts.positive}': {'; '.join(map(str, counts.measures))}"
            for counts in self.scores
            if len(self.scores) > 1
        ]
        lines += [f"  {text}" for text in self._usual_texts()]
        for group in self.groups:
            rates = f"; rates of '{self.speaks_of}'" if self.speaks_of else ""
            rows = f"  {group.column} = {group.level} (about {group.rows:,.0f} rows{rates}): "
            lines.append(rows + "; ".join(map(str, group.measures)))
        lines += [f"  {text}" for text in difference_texts(self.groups)]
        lines += [f"  {note}" for note in self.notes]
        lines.append(f"  {self.receipt.guarantee}")
        return "\n".join(lines)


def difference_texts(groups: tuple[GroupScores, ...]) -> list[str]:
    """What may be concluded from differences between groups, a line for each column."""
    found = []
    for column in dict.fromkeys(one.column for one in groups):
        mine = [one for one in groups if one.column == column and one.differences]
        # Of two groups, one difference is the other's, turned round.
        shown = mine[:1] if len(mine) == 2 else mine
        told = [
            f"{group.level} minus {mine[1].level if len(mine) == 2 else 'the others'}, {one}"
            for group in shown
            for one in group.differences
            if one.verdict != "cannot be told from nothing"
        ]
        if told:
            found.append(
                f"Differences by {column}: {'; '.join(told)}; no other can be told from nothing."
            )
        elif mine:
            found.append(f"Differences by {column}: none can be told from nothing.")
    return found


def _record(kind: str, measure: Measure, **where: Any) -> dict[str, Any]:
    known = measure.baseline
    return {
        "kind": kind,
        "name": measure.name,
        **{name: where.get(name) for name in ("column", "level", "positive", "threshold")},
        "predicted": where.get("predicted"),
        "value": measure.value,
        "low": measure.low,
        "high": measure.high,
        "noise": measure.noise,
        "unit": measure.unit,
        "baseline": None if known is None else known.name,
        "baseline_value": None if known is None else known.value,
        "verdict": where.get("verdict", "") if known is None else known.verdict,
    }


def _check_prevalence(prevalence: float | None) -> None:
    if prevalence is not None and (isinstance(prevalence, bool) or not 0.0 < prevalence < 1.0):
        raise SettingError(f"The prevalence must be in (0, 1). Got {prevalence!r} instead.")


def digest_of_edits(model: Any) -> str:
    """A digest of what people changed in a model since its training; "" if nothing."""
    made = [
        [edit.what, edit.term, dict(edit.settings), edit.when]
        for edit in getattr(model, "edits", ())
    ]
    if not made:
        return ""
    return hashlib.sha256(json.dumps(made, default=str, sort_keys=True).encode()).hexdigest()
