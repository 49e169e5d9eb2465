"""The noise of an additive model's curves, foretold from public facts in closed form.

How much noise is on a curve depends on the plan (how much is spent on which access), the rows in
each bin, and how strongly the curve is smoothed. The first is `calibrate`'s, the second follows
from the row count, and the third is that of a column that matters: the prior variance with which
training begins. Training finds it anew for each column, so columns that matter less are smoothed
more, and have less noise than is said here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from voile.models.ebm.binning import ColumnBins, TargetFacts
from voile.models.ebm.interactions import joining_round
from voile.models.ebm.losses import ClipPrices, TrainingLoss, squared_loss, start_of
from voile.models.ebm.model import Link
from voile.models.ebm.pair_training import unit_of_pairs
from voile.models.ebm.queries import SIZE_CUTS
from voile.models.ebm.settings import (
    CATEGORIES_ACCESS,
    CHOICE_ACCESS,
    NUMBERS_ACCESS,
    ROUNDS_ACCESS,
    SIZES_ACCESS,
    Schedule,
    Settings,
    check,
    choose,
    choose_bins,
    plan_shape,
)
from voile.models.ebm.smoothing import correlation, share_out
from voile.models.ebm.terms import TermState, start_term
from voile.models.ebm.training_state import DISCOUNT
from voile.planning.facts import ForecastFacts
from voile.planning.noise import ColumnNoise, noise_multiplier
from voile.planning.pairs import (
    NamedPair,
    PairFacts,
    PairOutlook,
    clear_height,
    foretell_choice,
    respond_fully,
    start_pairs,
    tell_pairs,
)
from voile.planning.verdict import Rule
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.discovery.histogram import CLEAR, DEPTH, FANOUT, MERGED
from voile.privacy.events import Plan
from voile.schema import Category
from voile.schema.columns import Column

Floats = NDArray[np.float64]

_EMPTY_OF_NUMBER, _EMPTY_OF_CATEGORY = 1, 2
"""Bins for missing values, and for other levels."""

_OTHERS = 1.5
"""Variance that the other columns add to a row's score (log-odds)."""

_LEFT = 0.6
"""Spread of residuals relative to the target's own when training ends: two thirds of its variance
are taken to be explained."""


@dataclass(frozen=True, eq=False)
class _Setting:
    """What all columns of one forecast share."""

    loss: TrainingLoss
    intercept: Floats
    unit: float
    deviation: float
    schedule: Schedule
    link: Link
    plan: Plan
    rows: float
    terms: int
    per_unit: float

    @property
    def rounds(self) -> int:
        """Accesses of all terms together."""
        return self.schedule.rounds

    @property
    def joining(self) -> int:
        """Rounds before pairs may join."""
        return joining_round(self.rounds)


@dataclass(frozen=True)
class AdditiveForecast:
    """Expected noise of the curves, and what becomes of pairs of columns.

    Attributes
    ----------
    columns : tuple of ColumnNoise
        In log-odds (classes) or the target's units (a number), in the order of the columns.
    pairs : PairOutlook
    """

    columns: tuple[ColumnNoise, ...]
    pairs: PairOutlook


def forecast_additive(
    facts: ForecastFacts, budget: Budget, settings: Settings, rule: Rule
) -> AdditiveForecast:
    """Expected noise of each column's curve in a typical bin, and of pairs.

    Parameters
    ----------
    facts : ForecastFacts
    budget : Budget
        Finite.
    settings : Settings
        Of the fit, but for what a forecast takes by rule.
    rule : Rule
        In whose units effects are told.
    """
    setting = _set_up(facts, budget, settings)
    most = settings.bins or most_bins(facts, setting)
    kinds = [_kind(column) for column in facts.complete.values()]
    # Columns of one kind have one answer; only categories differ, by their levels.
    starts = {kind: _start(setting, most, kind) for kind in dict.fromkeys(kinds)}
    terms = [starts[kind] for kind in kinds]
    pair_facts = _pair_facts(setting, terms, facts.rates)
    pairs = start_pairs(pair_facts, setting.schedule.wanted)
    shares = joined = _share_out(setting, terms)
    if pairs:
        joined = _share_out(setting, [*terms, *(one.term for one in pairs)])
        alone = setting.joining / setting.rounds
        shares = alone * shares + (1 - alone) * joined[: len(terms)]
    known = {
        kind: _foretell(facts, setting, starts[kind], kind, float(shares[kinds.index(kind)]))
        for kind in starts
    }
    names = list(facts.complete)
    columns = tuple(known[kind].named(name) for kind, name in zip(kinds, names, strict=True))
    units = facts.half_range if setting.link == "identity" else 1.0
    outlook = _foretell_pairs(pair_facts, setting, joined, pairs, units, rule)
    return AdditiveForecast(columns, outlook)


def most_bins(facts: ForecastFacts, setting: _Setting) -> int:
    """Most intervals of a number, by the rule of the fit."""
    scarce = facts.rows * min(facts.rates, default=1.0)
    noise = noise_multiplier(setting.plan, ROUNDS_ACCESS) * math.sqrt(
        setting.terms / setting.rounds
    )
    return choose_bins(facts.rows, scarce, noise * setting.per_unit)


def _set_up(facts: ForecastFacts, budget: Budget, settings: Settings) -> _Setting:
    check(facts.schema, settings)
    schedule = choose(settings, facts.schema)
    plan = calibrate(budget, plan_shape(facts.schema, schedule, budget.delta))
    link: Link = "identity"
    if facts.classification:
        link = "logit" if len(facts.rates) == 2 else "softmax"
    none = np.zeros(0)
    counts = np.maximum(facts.rows * np.array(facts.rates), 1.0)
    relative, left = facts.spread / facts.half_range, _LEFT * facts.spread / facts.half_range
    loss: TrainingLoss
    if link == "identity":
        loss = _clip_normal(left, facts, plan)
        intercept, unit = np.zeros(1), relative**2
    else:
        target = TargetFacts(float(facts.rows), counts, 0.0, 1.0, none, none)
        loss, intercept, unit = start_of(link, target)
    per_unit = float(facts.rows_per_unit)
    deviation = noise_multiplier(plan, ROUNDS_ACCESS) * loss.cap * per_unit / loss.gain
    terms = len(facts.schema)
    return _Setting(
        loss,
        intercept,
        unit,
        deviation,
        schedule,
        link,
        plan,
        float(facts.rows),
        terms,
        per_unit,
    )


def _clip_normal(spread: float, facts: ForecastFacts, plan: Plan) -> TrainingLoss:
    """The loss of a regression whose residuals are normal, cut where the fit cuts them."""
    edges = np.concatenate([[0.0], SIZE_CUTS, [2.0]])
    masses = facts.rows * np.diff(2.0 * norm.cdf(edges / spread) - 1.0)
    scale = noise_multiplier(plan, ROUNDS_ACCESS) * facts.rows_per_unit
    seen = noise_multiplier(plan, SIZES_ACCESS) if SIZES_ACCESS in plan else 0.0
    prices = ClipPrices.of(scale, float(facts.rows), len(facts.schema), seen * facts.rows_per_unit)
    return squared_loss((edges[1:] + edges[:-1]) / 2, masses, edges[1:], prices)


@dataclass(frozen=True)
class _Levels:
    """How many levels a category has, and whether they have an order."""

    count: int
    ordered: bool


def _kind(column: Column) -> _Levels | None:
    """Levels of a category, None for a number."""
    if not isinstance(column, Category):
        return None
    count = max(len(column.levels or ()), 1)
    return _Levels(count, column.ordered and count > 1)


def _start(setting: _Setting, most: int, kind: _Levels | None) -> TermState:
    """A column before the first round, if its rows are spread evenly."""
    if kind is None:
        error = noise_multiplier(setting.plan, NUMBERS_ACCESS) * math.sqrt(DEPTH) * setting.per_unit
        regular = _intervals(setting.rows, most, error)
        cuts, apart = np.arange(1.0, regular), _EMPTY_OF_NUMBER
        ordered = regular > 1
    else:
        error = noise_multiplier(setting.plan, CATEGORIES_ACCESS) * setting.per_unit
        regular, cuts, apart = kind.count, np.zeros(0), _EMPTY_OF_CATEGORY
        ordered = kind.ordered
    counts = np.append(np.full(regular, setting.rows / regular), np.zeros(apart))
    bins = ColumnBins(cuts, counts, np.full(len(counts), error), ordered, apart)
    noise = setting.deviation**2 * setting.terms / setting.rounds
    return start_term(bins, setting.loss, setting.intercept, noise, setting.unit)


def _slopes(setting: _Setting, term: TermState) -> tuple[Floats, Floats]:
    """Slope and variance of each bin's sum, shape (bins, outputs)."""
    spread = np.full(len(setting.intercept), _OTHERS)[:, None]
    zero, counts = np.zeros((len(term.counts), len(setting.intercept))), term.counts[:, None]
    return (
        setting.loss.curvature(setting.intercept, zero, spread) * counts,
        setting.loss.variance(setting.intercept, zero, spread) * counts,
    )


def _share_out(setting: _Setting, terms: list[TermState]) -> Floats:
    """Shares of a round, as training gives them if all columns matter alike."""
    return share_out(
        [term.smoother for term in terms],
        [_slopes(setting, term)[0].mean(axis=1) for term in terms],
        [term.weights for term in terms],
        [term.scale for term in terms],
        setting.rounds / setting.deviation**2,
    )


def _foretell(
    facts: ForecastFacts, setting: _Setting, term: TermState, kind: _Levels | None, share: float
) -> ColumnNoise:
    """Noise of a column after all rounds."""
    slope, scatter = _slopes(setting, term)
    weight, noise = _weigh(setting, share, setting.rounds)
    regular = len(term.counts) - term.apart
    found = [_respond(term, slope[:, o], scatter[:, o], noise) for o in range(slope.shape[1])]
    variance = float(np.mean([one for one, _ in found])) / weight
    units = facts.half_range if setting.link == "identity" else 1.0
    return ColumnNoise(
        "",
        "number" if kind is None else "category",
        regular,
        2.0 * math.sqrt(variance) * units,
        float(np.mean([one for _, one in found])),
    )


def _weigh(setting: _Setting, share: float, rounds: int) -> tuple[float, float]:
    """Weight of a term's averaged sums, and the variance of their noise, after some rounds."""
    ages = DISCOUNT[setting.link] ** np.arange(rounds)
    weight = share * float(ages.sum()) / setting.deviation**2
    noise = 1.0 / weight
    if setting.link == "identity":
        noise *= float((ages**2).sum() / ages.sum())
    return weight, noise


def _respond(term: TermState, slope: Floats, scatter: Floats, noise: float) -> tuple[float, float]:
    """Mean variance of the scores of regular bins per unit of noise, and the part of them kept."""
    bins, smoother, scale = len(slope), term.smoother, term.scale
    regular = bins - term.apart
    if smoother.root is None:
        inverse = 1.0 / (noise * smoother.noise + scatter)
        response = slope * inverse / (1.0 / scale + slope**2 * inverse)
        variance, kept = response**2 * smoother.noise, response * slope
    else:
        prior = scale * correlation(bins, 1.0, term.apart)
        full = respond_fully(term, prior, slope, scatter, noise)
        variance = np.einsum("ij,jk,ik->i", full, smoother.noise, full)
        kept = np.einsum("ij,ji->i", full * slope, prior) / scale
    return float(variance[:regular].mean()), float(kept[:regular].mean())


def _pair_facts(setting: _Setting, terms: list[TermState], rates: tuple[float, ...]) -> PairFacts:
    """What there is to know when pairs may join."""
    plan, per_unit = setting.plan, setting.per_unit
    curves = noise_multiplier(plan, ROUNDS_ACCESS) * math.sqrt(len(terms) / setting.rounds)
    choice = noise_multiplier(plan, CHOICE_ACCESS) if CHOICE_ACCESS in plan else 0.0
    return PairFacts(
        tuple(terms),
        setting.loss,
        setting.intercept,
        unit_of_pairs(setting.loss, setting.unit),
        setting.rows,
        # Rows of a class that is not the largest, on average; all rows of a regression.
        setting.rows * (1.0 - max(rates)) / (len(rates) - 1) if rates else setting.rows,
        choice * per_unit,
        curves * per_unit,
        setting.deviation**2 / max(setting.rounds - setting.joining, 1),
        _OTHERS,
    )


def _foretell_pairs(
    facts: PairFacts,
    setting: _Setting,
    shares: Floats,
    named: list[NamedPair],
    units: float,
    rule: Rule,
) -> PairOutlook:
    """What becomes of pairs; ``shares`` of a round of the columns, then of the named pairs."""
    wanted, among = setting.schedule.wanted, len(facts.terms)
    if wanted is None:
        return tell_pairs("none", 0, among, 0, None, rule)
    if named:
        left = setting.rounds - setting.joining
        heights = [
            clear_height(facts, one, *_weigh(setting, float(share), left))
            for one, share in zip(named, shares[among:], strict=True)
        ]
        return tell_pairs("named", 0, among, len(named), float(np.median(heights)) * units, rule)
    errors = {
        id(term): _own_error(setting, term, float(share))
        for term, share in zip(facts.terms, shares, strict=True)
    }
    columns, visible = foretell_choice(facts, wanted, [errors[id(term)] for term in facts.terms])
    if visible is None:
        return tell_pairs("hidden", 0, among, 0, None, rule)
    return tell_pairs("chosen", columns, among, math.comb(columns, 2), visible * units, rule)


def _own_error(setting: _Setting, term: TermState, share: float) -> float:
    """Mean squared error of a column's scores when pairs join."""
    slope, scatter = _slopes(setting, term)
    noise = _weigh(setting, share, setting.joining)[1]
    kept = [_respond(term, slope[:, o], scatter[:, o], noise)[1] for o in range(slope.shape[1])]
    return term.scale * (1.0 - float(np.mean(kept)))


def _intervals(rows: float, most: int, error: float) -> int:
    """Bins that a noised tree of counts yields for evenly spread rows."""
    limit = max(rows / (2 * most), CLEAR * error, 0.5)
    nodes = FANOUT
    while nodes < FANOUT**DEPTH and rows / nodes > limit:
        nodes *= FANOUT
    least = max(rows / most, MERGED * error, 0.5)
    # A bin is closed by the node that makes it full: half a node too many on average.
    each = max(least * nodes / rows + 0.5, 1.0)
    return max(round(nodes / each), 1)
