"""The quality of a regression: errors, R2, predicted against observed, by group too."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_term import PairTerm
from voile.models.evaluation.access import LEAST_ROWS, access, level_names, of_group, pay
from voile.models.evaluation.baselines import Rival, with_baselines
from voile.models.evaluation.error_queries import (
    BY_PREDICTION,
    CONSTANT_SIZES,
    CONSTANT_SUMS,
    PARTS,
    ErrorSizes,
    ErrorSums,
    GroupErrors,
)
from voile.models.evaluation.errors import UNIT, AgainstMean, Clip, ErrorFigures
from voile.models.evaluation.groups import Contrast, settle, silent_note
from voile.models.evaluation.intervals import Counted, reach_of, two_sided
from voile.models.evaluation.measure import Measure, plain_number
from voile.models.evaluation.record import (
    Evaluation,
    GroupScores,
    Reliability,
    digest_of_edits,
)
from voile.models.fit import FitJob
from voile.privacy.calibrate import gaussian_step
from voile.privacy.grant import Grant
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Number, Schema

Floats = NDArray[np.float64]

_SIZES, _SUMS = "sizes of errors", "errors"
_INTERVALS = 10

_ROWS_PER_DEGREE = 25.0
"""Rows of the smaller group for a degree of freedom of a difference: errors have long tails."""


@dataclass(frozen=True)
class Predictions:
    """What a released model says of its own predictions, without a look at any row.

    Attributes
    ----------
    constant : float
        Mean prediction: what one predicts who knows nothing of a row.
    cuts : tuple of float
        Cut predictions into intervals of about as many rows.
    middles : ndarray of shape (cuts + 1,)
        A prediction in each interval.
    farthest : float
        How far a prediction may be from the constant: four standard deviations.
    """

    constant: float
    cuts: tuple[float, ...]
    middles: Floats
    farthest: float

    @classmethod
    def of(cls, model: EBMModel) -> Predictions:
        """By the released counts of every term and pair, as if they were independent."""
        target = model.schema.target
        assert isinstance(target, Number)
        lower, upper = float(target.lower or 0.0), float(target.upper or 0.0)
        mean, variance = float(model.intercept[0]), 0.0
        parts: tuple[Term | PairTerm, ...] = (*model.terms, *model.pairs)
        for part in parts:
            rows = np.maximum(part.counts, 0.0).ravel() + 1e-9
            scores = part.scores[..., 0].ravel()
            own = float(rows @ scores / rows.sum())
            mean, variance = mean + own, variance + float(rows @ (scores - own) ** 2 / rows.sum())
        spread = math.sqrt(variance)
        if model.link == "log":
            return cls._of_logs(model, mean, spread, lower, upper)
        constant = min(max(mean, lower), upper)
        ranks = np.arange(1, _INTERVALS) / _INTERVALS
        cuts = np.unique(np.clip(constant + 1.2 * spread * ndtri(ranks), lower, upper))
        return cls._between(cuts, constant, 4.0 * spread, lower, upper)

    @classmethod
    def _of_logs(
        cls, model: EBMModel, mean: float, spread: float, lower: float, upper: float
    ) -> Predictions:
        """The same where scores are logs, of a rate if there is an exposure."""
        # Exposures are taken as spread evenly between their bounds.
        units = 1.0 if model.exposure is None else (model.exposure.lower + model.exposure.upper) / 2
        ranks = np.arange(1, _INTERVALS) / _INTERVALS
        with np.errstate(over="ignore"):
            cuts = units * np.exp(mean + 1.2 * spread * ndtri(ranks))
            constant = units * float(np.exp(mean + spread**2 / 2))
            farthest = units * float(np.exp(mean + 4.0 * spread))
        constant, farthest = min(max(constant, lower), upper), min(farthest, upper - lower)
        return cls._between(np.clip(cuts, lower, upper), constant, farthest, lower, upper)

    @classmethod
    def _between(
        cls, cuts: Floats, constant: float, farthest: float, lower: float, upper: float
    ) -> Predictions:
        cuts = np.unique(cuts[(cuts > lower) & (cuts < upper)])
        if not len(cuts):
            return cls(constant, (), np.array([constant]), farthest)
        step = max(float(cuts[-1] - cuts[0]) / max(len(cuts) - 1, 1), 0.0)
        ends = [max(cuts[0] - step / 2, lower)], [min(cuts[-1] + step / 2, upper)]
        middles = np.concatenate([ends[0], (cuts[1:] + cuts[:-1]) / 2, ends[1]])
        return cls(constant, tuple(cuts.tolist()), middles, farthest)


def evaluate_numbers(
    job: FitJob, model: Any, kind: str, groups: tuple[str, ...], confidence: float
) -> Evaluation:
    """Measure a regression on protected rows."""
    table, target = job.table, model.schema.target
    width, outlook = float(target.upper) - float(target.lower), Predictions.of(model)
    shape = [gaussian_step(_SIZES, 0.43), gaussian_step(_SUMS, 0.37)]
    shape += [gaussian_step(of_group(name), 0.4) for name in groups]
    grant = pay(job, model, groups, shape)
    sizes = access(table, ErrorSizes(width, outlook.constant), grant, _SIZES)
    own, other = np.split(sizes.values, 2)
    clip = Clip.of(Counted(own, sizes.noise, sizes.together), width, confidence)
    weighted = Counted(other / CONSTANT_SIZES, sizes.noise / CONSTANT_SIZES, sizes.together)
    constant_clip = Clip.of(weighted, width, confidence)
    query = ErrorSums(clip.clip, constant_clip.clip, outlook.constant, outlook.cuts)
    sums = access(table, query, grant, _SUMS)
    figures = ErrorFigures(clip, sums.part(slice(PARTS)))
    constant = Counted(
        sums.values[PARTS : 2 * PARTS] / CONSTANT_SUMS, sums.noise / CONSTANT_SUMS, sums.together
    )
    pairs = Counted(
        sums.values[2 * PARTS :] / BY_PREDICTION, sums.noise / BY_PREDICTION, sums.together
    )
    told, notes = _group_errors(table, grant, model.schema, groups, clip)
    if clip.clip < width:
        notes.append(
            f"Errors beyond {plain_number(clip.clip)} count as that much in the estimates. The "
            f"noise could hide up to about {clip.hidden:,.0f} rows with larger ones: the "
            "intervals are widened to include what those would do. A narrower range of the target "
            "makes them narrower."
        )
    return Evaluation(
        model=kind,
        target="regression",
        rows=figures.rows,
        confidence=confidence,
        measures=_measures(figures, ErrorFigures(constant_clip, constant), pairs, outlook),
        classes=(),
        confusion=(),
        reliability=tuple(_observed(pairs, outlook, clip, figures)),
        groups=tuple(told),
        receipt=write_receipt(grant, job.budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _measures(
    figures: ErrorFigures, constant: ErrorFigures, pairs: Counted, outlook: Predictions
) -> tuple[Measure, ...]:
    """RMSE, MAE, R2 and bias, beside what predicting the mean would give."""
    rows = np.maximum(pairs.values.reshape(-1, 2).sum(axis=1), 0.0)
    away = outlook.middles - outlook.constant
    second, fourth = (float(rows @ away**k) / max(float(rows.sum()), 1.0) for k in (2, 4))
    against = AgainstMean(figures, constant, second, fourth, outlook.farthest)
    root, size, bias = figures.measures()
    other_root, other_size, _ = constant.measures()
    r2, known = against.r2(), figures.known and constant.known
    # The spread around the mean of these rows, which the constant is only near to.
    if known:
        ratio = math.sqrt(against.whole) / max(other_root.value, 1e-300)
        ends = {name: getattr(other_root, name) * ratio for name in ("value", "low", "high")}
        other_root = replace(other_root, **ends)
    square, by_size = ((math.nan, math.nan), (math.nan, math.nan))
    if known:
        square, by_size = against.difference(), against.size_difference()
    better, p = square[0] < 0, two_sided(*square)
    others = other_size.value, other_size.low, other_size.high
    rivals = [
        Rival("the mean", other_root.value, other_root.low, other_root.high, better, p),
        Rival("the mean", *others, by_size[0] < 0, two_sided(*by_size)),
        Rival("the mean", 0.0, 0.0, 0.0, better, p),
    ]
    return with_baselines([(root, rivals[0]), (size, rivals[1]), (r2, rivals[2]), (bias, None)])


def _observed(
    pairs: Counted, outlook: Predictions, clip: Clip, figures: ErrorFigures
) -> list[Reliability]:
    """Mean of what was observed in each interval of predictions: the prediction plus its bias."""
    reach = reach_of(clip.confidence)
    found = []
    for middle, (lower, upper) in zip(
        outlook.middles.tolist(), pairs.values.reshape(-1, 2), strict=True
    ):
        rows = float(lower + upper)
        if rows < max(LEAST_ROWS * pairs.noise * math.sqrt(2.0), 1.0):
            continue
        bias = min(max(float(upper - lower) / rows, -1.0), 1.0)
        noise = 2.0 * (1.0 + bias**2) * (pairs.noise / rows) ** 2
        sample = pairs.together * max(figures.square, bias**2) / rows
        far = reach * math.sqrt(noise + sample) * clip.clip
        value = middle + bias * clip.clip
        noise_error = math.sqrt(noise) * clip.clip
        observed = Measure("observed", value, value - far, value + far, noise_error, UNIT)
        found.append(Reliability(middle, observed, rows))
    return found


def _group_errors(
    table: PrivateTable, grant: Grant, schema: Schema, groups: tuple[str, ...], clip: Clip
) -> tuple[list[GroupScores], list[str]]:
    found, contrasts, notes = [], [], []
    for name in groups:
        levels = level_names(schema, name)
        query = GroupErrors(clip.clip, name, len(levels) - 2)
        sums = access(table, query, grant, of_group(name))
        cells = sums.values.reshape(len(levels), PARTS)
        figures = [ErrorFigures(clip, Counted(one, sums.noise, sums.together)) for one in cells]
        enough = np.array([one.known for one in figures])
        for place in np.flatnonzero(enough):
            own = figures[place]
            found.append(GroupScores(name, levels[place], own.rows, tuple(own.measures())))
            rest = enough & (np.arange(len(levels)) != place)
            noise = sums.noise * math.sqrt(max(int(rest.sum()), 1))
            others = Counted(cells[rest].sum(axis=0), noise, sums.together)
            contrasts.append(_contrasts(own, ErrorFigures(clip, others)) if rest.any() else [])
        notes += silent_note(name, levels, enough)
    return settle(found, contrasts), notes


def _contrasts(own: ErrorFigures, others: ErrorFigures) -> list[Contrast]:
    """Differences of clipped errors; what the noise may hide is not told apart by group.

    A small group may have met none of the large errors there are, and its variance is then too
    small: Student's distribution, with a degree of freedom for each ten rows, allows for that.
    """
    degrees = max(min(own.rows, others.rows) / _ROWS_PER_DEGREE, 2.0)
    reach, found = reach_of(own.clip.confidence, degrees), []
    pairs = zip(own.measures(), others.measures(), strict=True)
    mine, theirs = own.variances(), others.variances()
    for first, second in pairs:
        value, variance = first.value - second.value, mine[first.name] + theirs[first.name]
        far = reach * math.sqrt(variance)
        p = two_sided(value, variance, degrees)
        found.append(Contrast(first.name, value, value - far, value + far, p))
    return found
