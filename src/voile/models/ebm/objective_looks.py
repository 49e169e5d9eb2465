"""Looks at the rows by trainings of counts, amounts and quantiles: misses, and the last level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.losses import TrainingLoss
from voile.models.ebm.misses import Misses, MissSizes
from voile.models.ebm.objective_losses import AmountLoss, CountLoss, QuantileLoss
from voile.models.ebm.pair_cells import PairCells, all_offsets
from voile.models.ebm.queries import MIXING_BITS, BinLayout, ResidualSums, whole_mixing
from voile.models.ebm.settings import LEVEL_ACCESS, SIZES_ACCESS
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScoresNow:
    """Where a training stands: released scores, intercept and pairs."""

    scores: Floats
    intercept: Floats
    pairs: tuple[PairCells, ...]
    spread: float


@dataclass(frozen=True, eq=False)
class FittedLoss:
    """A loss that fits released misses, and what is added to the intercept at once."""

    loss: TrainingLoss
    shift: float
    misses: Misses


def look_at_misses(
    table: PrivateTable,
    grant: Grant,
    layout: BinLayout,
    loss: TrainingLoss,
    before: Misses,
    now: ScoresNow,
) -> FittedLoss:
    """The loss for the next rounds, by a released histogram of misses and those ``before``."""
    query = MissSizes(layout, now.scores, now.intercept, now.pairs)
    release = gaussian_sum(table, query, grant.take(SIZES_ACCESS))
    error, level = float(release.standard_error), layout.aim.quantile
    misses = Misses.of(release.values, error, clear=layout.residual != "quantile")
    if isinstance(loss, CountLoss):
        whole = Misses.of(release.values, error, clear=False)
        fitted = loss.fitted_to(misses, now.intercept, now.spread, whole=whole)
        return FittedLoss(fitted, 0.0, misses)
    if layout.residual == "gamma":
        return FittedLoss(AmountLoss.of(misses), 0.0, misses)
    shift = QuantileLoss.shift(level, misses)
    if shift == 0.0:
        # Between two looks misses hardly change; together they tell the density with less noise.
        misses = misses.mixed_with(before)
    return FittedLoss(QuantileLoss.at(level, misses), shift, misses)


@dataclass(frozen=True)
class Level:
    """What is added to the intercept at the end, and the variance of its noise."""

    shift: float
    variance: float


def look_at_level(
    table: PrivateTable,
    grant: Grant,
    layout: BinLayout,
    loss: TrainingLoss,
    misses: Misses,
    now: ScoresNow,
    rows: float,
) -> Level:
    """One sum over all rows, with a bound of its own.

    Amounts are brought to their mean, with a wide clip; a quantile to its part of the rows.
    """
    amounts, cap, beyond = layout.residual == "gamma", loss.cap, 0.0
    if amounts:
        cap, beyond = AmountLoss.reach(misses)
    widths = np.diff(all_offsets(layout.offsets, now.pairs)).tolist()
    # All bins of the first column together; the others take no part.
    mixing = [whole_mixing(np.ones((1, widths[0])), 1.0)]
    mixing += [np.zeros((0, width), dtype=np.int64) for width in widths[1:]]
    query = ResidualSums(layout, now.scores, now.intercept, cap, tuple(mixing), now.pairs)
    release = gaussian_sum(table, query, grant.take(LEVEL_ACCESS))
    scale = 2.0**MIXING_BITS / float(mixing[0][0, 0]) / max(rows, 1.0)
    off, slope = scale * float(release.values[0]), 1.0 if amounts else loss.gain
    variance = (float(release.standard_error) * scale / slope) ** 2
    if amounts:
        return Level(float(np.log(np.clip(1.0 + off + beyond, 0.1, 10.0))), variance)
    return Level(float(np.clip(off / slope, -0.3, 0.3)), variance)
