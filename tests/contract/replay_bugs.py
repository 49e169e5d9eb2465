"""Violations of privacy that a replay must catch, each planted in the real code for one test."""

import functools
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np

from voile import EBMClassifier
from voile.models import fit as model_fit
from voile.models.ebm import joined_pairs
from voile.models.ebm import queries as ebm_queries
from voile.models.ebm import score_steps as ebm_steps
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.queries import ResidualSums, whole_mixing
from voile.models.locally_linear.queries import MapSteps
from voile.models.lvq.queries import ClassSums
from voile.models.networks import queries as network_queries
from voile.privacy import noise, receipt, vault
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.terms import Terms
from voile.privacy.discovery import levels, missing, tree
from voile.privacy.events import Gaussian, Plan, Step
from voile.privacy.grant import Grant, Ticket
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.filter import Filter
from voile.privacy.ledger.reservation import Reservation
from voile.privacy.mechanisms import aggregate, selection, sums
from voile.privacy.mechanisms.slopes import PrivateSlopes
from voile.privacy.queries import CellQuery, NumberCounts, RowCount, Together
from voile.privacy.sources.source import RowSource
from voile.privacy.sources.units import UnitRows
from voile.privacy.sources.weights import RowWeights


@dataclass(frozen=True)
class Bug:
    """A planted violation: its kind, where it shows, and what a replay may call it.

    ``path`` is the name of a path of `replay_paths`.
    """

    name: str
    plant: object
    path: str
    kinds: frozenset
    relation: str = "add_remove"


def instead(target, name, value):
    return lambda: patch.object(target, name, value)


def around(target, name, change):
    """Put a function around another; it gets the original first."""
    original = getattr(target, name)
    return instead(target, name, functools.wraps(original)(functools.partial(change, original)))


def around_method(target, name, change):
    original = getattr(target, name)
    return instead(target, name, lambda *args, **how: change(original, *args, **how))


def together(*plants):
    """Mistakes of which each alone is refused by the other's check."""

    @contextmanager
    def planted():
        with ExitStack() as stack:
            for one in plants:
                stack.enter_context(one())
            yield

    return planted


def bug(name, plant, path, *kinds, relation="add_remove"):
    return Bug(name, plant, path, frozenset(kinds), relation)


# -- wrong sensitivity, forgotten clips, wrong relation ------------------------------------------


def _halved(draw, size, scale):
    return draw(size, max(scale / 2.0, 1.0))


def _half_measure(original, *args):
    how = original(*args)
    return replace(how, scale=how.scale / 2)


def _unclipped_residuals(
    original, link, bins, target, offsets, scores, intercept, cap, units, weights
):
    return original(link, bins, target, offsets, scores, intercept, 1e3 * cap, units, weights)


def _half_bound(query):
    bound = query.bound.fget
    return instead(query, "bound", property(lambda self: bound(self) / 2.0))


def _whole(matrix, weight):
    """Every matrix as if it had the access for itself."""
    return whole_mixing(matrix, 1.0)


_UNCHECKED = instead(ebm_queries, "check_mixing", lambda mixing: None)


def _of_one_row(self, relation):
    return self.bound


# -- what leaves without noise, or in a shape of its own ----------------------------------------


def _exact_row_count(original, self, query, grid, scale, *, rate=1.0):
    if isinstance(query, RowCount):
        return self.total(query, grid, rate=rate)
    return original(self, query, grid, scale, rate=rate)


def _exact_cells(original, self, query, grid, scale, *, rate=1.0):
    if isinstance(query, GridCounts):
        return self.total(query, grid, rate=rate)
    return original(self, query, grid, scale, rate=rate)


def _exact_contrasts(original, self, query, grid, scale, *, rate=1.0):
    """The sums by which pairs are chosen: those in which columns have no matrix."""
    if isinstance(query, ResidualSums) and query.mixing and not len(query.mixing[0]):
        return self.total(query, grid, rate=rate)
    return original(self, query, grid, scale, rate=rate)


def _filled_cells(original, self, query, grid, scale, *, rate=1.0):
    """Cells without rows are not noised."""
    total = self.total(query, grid, rate=rate)
    filled = total != 0
    total[filled] = total[filled] + noise.gaussian(int(filled.sum()), scale / grid)
    return total


def _as_noisy_as_wide(original, self, query, grid, scale, *, rate=1.0):
    total = self.total(query, grid, rate=rate)
    wide = scale * (1 + np.abs(total).max() * grid / 100)
    return total + noise.gaussian(query.size, wide / grid)


def _by_actual_rows(original, self, query, grid, scale, *, rate=1.0):
    rows = sum(block.rows for block in self.blocks(()))
    return original(self, query, grid, scale, rate=rate) // rows


def _both(original, self, query, grid, scale, *, rate=1.0):
    """The mean of two noised totals of one access."""
    first = original(self, query, grid, scale, rate=rate)
    return (first + original(self, query, grid, scale, rate=rate)) // 2


def _unnoised(original, self, query, grid, scale, *, rate=1.0):
    """Noise is drawn, and another total leaves."""
    original(self, query, grid, scale, rate=rate)
    return self.total(query, grid, rate=rate)


def _by_numpy(original, self, query, grid, scale, *, rate=1.0):
    rng = np.random.default_rng(0).normal(0.0, scale / grid, query.size)
    return self.total(query, grid, rate=rate) + rng.astype(np.int64)


def _counting_fit(original, self, X, y=None, **more):
    original(self, X, y, **more)
    self.n_rows_ = len(y)
    return self


def _warning_fit(original, self, X, y=None, **more):
    if any(one is None for one in y):
        warnings.warn("some rows have no class", UserWarning, stacklevel=1)
    return original(self, X, y, **more)


def _printing_fit(original, self, X, y=None, **more):
    print(f"training on {len(y)} rows")
    return original(self, X, y, **more)


def _refusing(original, self, block):
    if np.isnan(block[self.column]).any():
        raise ValueError("a value is missing")
    return original(self, block)


def _all_levels(original, table, column, ticket):
    tally = vault.open_rows(table, ticket).tally(column)
    return levels.FoundLevels(tuple(tally), tuple(map(float, tally.values())), 0.0, 0.0)


# -- noise that is none --------------------------------------------------------------------------


def remembered():
    """Noise of one size and scale is drawn once."""
    known = {}
    draw = noise.gaussian

    def same(size, scale):
        return known.setdefault((size, scale), draw(size, scale))

    return patch.object(noise, "gaussian", same)


@contextmanager
def repeated_key():
    rekey = noise._Stream._rekey

    def constant(self):
        self._fixed = noise._FixedKeys(7)
        rekey(self)

    with patch.object(noise._Stream, "_rekey", constant):
        yield


def remembered_coins():
    """Coins of one number and rate are flipped once, and heard every time."""
    known = {}
    flip = noise._flip

    def same(count, rate, stream):
        return known.setdefault((count, rate), flip(count, rate, stream)).copy()

    return patch.object(noise, "_flip", same)


def _in_turn(size, groups):
    return np.arange(size) % groups


def _first_rows(draw, size, rate):
    """The same places are held out, whatever rows are there."""
    return np.random.default_rng(3).random(size) < rate


def _truncated(draw, size, scale):
    return np.clip(draw(size, scale), -int(scale), int(scale))


def _zeros(draw, size, scale):
    return np.zeros(size, dtype=np.int64)


def _shrunk(original, shape, size, scale):
    return original(shape, size, scale) // 4


# -- what was paid, and what is told of it ------------------------------------------------------


def _take_less(original, self, label):
    """Tickets for noise that is narrower than what was paid."""
    ticket = original(self, label)
    event = ticket.event
    if isinstance(event, Gaussian):
        event = replace(event, noise_multiplier=event.noise_multiplier / 2)
    return Ticket(self, label, event)


def _peeking(original, self, job, *rest):
    """Whether there are many rows decides nothing here, yet nobody paid for knowing it."""
    self._many = int(vault._ROWS[job.table].total(RowCount(), 1.0)[0]) > 1000
    return original(self, job, *rest)


def _also_exact(original, self, query, grid, scale, *, rate=1.0):
    noised = original(self, query, grid, scale, rate=rate)
    assert self.total(RowCount(), grid)[0] >= 0
    return noised


def _uncounted(original, self, label):
    """No step of a plan is ever used up."""
    return Ticket(self, label, self.plan[label])


def _open_twice(original, table, query, ticket):
    first = original(table, query, ticket)
    ticket._used = False
    second = original(table, query, ticket)
    return replace(first, values=(first.values + second.values) / 2)


def _unwritten(original, self, plan, table, what, **how):
    """What is written into the ledger is nothing."""
    return Grant(plan, Ledger(self.budget).spend(plan, what), self, table, how.get("unit"))


def _unwritten_part(original, self, plan, table):
    """The same for a part of what was set aside."""
    return Grant(plan, Ledger(self.ledger.budget).spend(plan, "part"), self.ledger, table)


def _cheap(original, self, plan, what, **how):
    """The ledger is told of half as many accesses."""
    few = tuple(Step(s.label, replace(s.event, count=max(s.event.count // 2, 1))) for s in plan)
    return original(self, Plan(few), what, **how)


def _cheap_part(original, self, plan, what=None):
    """The same of what was set aside."""
    few = tuple(Step(s.label, replace(s.event, count=max(s.event.count // 2, 1))) for s in plan)
    return original(self, Plan(few), what)


def _as_if_once(original, events, relation=NeighbouringRelation.ADD_REMOVE, **how):
    return original([replace(event, count=1) for event in events], relation, **how)


def _half_mu(original, events, relation=NeighbouringRelation.ADD_REMOVE, **how):
    loss = original(events, relation, **how)
    return replace(loss, mu=loss.mu / 2)


def _without_first(original, *args):
    told = original(*args)
    return replace(told, lines=told.lines[1:])


def _of_another_relation(original, *args):
    return replace(original(*args), relation=NeighbouringRelation.ADD_REMOVE)


# -- units, weights, samples, choices, clients --------------------------------------------------


def _everybody(self):
    return [np.ones(len(block), dtype=np.bool_) for block in self._blocks]


def _unbounded(self, values):
    return (np.nan_to_num(np.asarray(values)) / self.largest).astype(np.float32)


def _no_coin(size, rate):
    return np.ones(size, dtype=np.bool_)


def _more_coins(draw, size, rate):
    return draw(size, min(2 * rate, 1.0))


def _steep(original, scores, rate):
    return original(scores, 4 * rate)


def _best(scores, rate):
    return int(np.argmax(scores))


_SUMMED = "Gaussian sums"

BUGS = (
    # wrong sensitivity
    bug("a sensitivity off by two", around(sums, "gaussian_measure", _half_measure), _SUMMED,
        "sensitivity"),
    bug("half the Gaussian noise", around(noise, "gaussian", _halved), _SUMMED, "sensitivity"),
    bug("half the Laplace noise", around(noise, "laplace", _halved), "Laplace sums",
        "sensitivity"),
    bug("class sums of half the bound", _half_bound(ClassSums), "LVQ1", "sensitivity"),
    bug("gradients of maps of half the bound", _half_bound(MapSteps),
        "locally linear maps of all rows", "sensitivity"),
    bug("levels of a tree counted as one", instead(CellQuery, "bound", property(lambda s: 1.0)),
        "summary", "sensitivity"),
    bug("slopes of a hundredth of the sensitivity",
        around_method(PrivateSlopes, "_sensitivity", lambda f, *a: f(*a) / 100),
        "explainer, interactive", "sensitivity"),
    bug("cells of two pairs counted as those of one",
        instead(GridCounts, "bound", property(lambda self: 1.0)), "EBM, pairs named",
        "sensitivity"),
    bug("contrasts of pairs that do not share an access",
        together(instead(joined_pairs, "whole_mixing", _whole), _UNCHECKED), "EBM, pairs chosen",
        "sensitivity"),
    bug("columns and pairs that do not share a round",
        together(instead(ebm_steps, "whole_mixing", _whole), _UNCHECKED), "EBM, pairs named",
        "sensitivity"),
    # forgotten clip
    bug("residuals not clipped", around(ebm_queries, "residual_totals", _unclipped_residuals),
        "EBM of a number", "sensitivity"),
    bug("gradients of a network not clipped",
        around(network_queries, "find_factors", lambda f, s, clip, *r: f(s, 1e3 * clip, *r)),
        "network of all rows", "sensitivity"),
    bug("weights not bounded", instead(RowWeights, "relative", _unbounded), "rows with weights",
        "sensitivity"),
    bug("rows of a person not bounded", instead(UnitRows, "choose", _everybody),
        "EBM of people", "sensitivity"),
    # wrong relation
    bug("a row replaced counted as a row added", instead(Together, "sensitivity", _of_one_row),
        _SUMMED, "sensitivity", relation="replace_one"),
    bug("a receipt of another relation", around(model_fit, "write_receipt", _of_another_relation),
        "EBM", "relation", relation="replace_one"),
    # shape
    bug("empty cells left out", around_method(RowSource, "noised_total", _filled_cells), _SUMMED,
        "shape", "noise"),
    bug("noise that depends on the total",
        around_method(RowSource, "noised_total", _as_noisy_as_wide), _SUMMED, "noise"),
    # without noise
    bug("a count without noise", around_method(RowSource, "noised_total", _exact_row_count),
        "summary", "noise"),
    bug("cells of pairs counted without noise",
        around_method(RowSource, "noised_total", _exact_cells), "EBM, pairs named", "noise"),
    bug("pairs chosen by exact contrasts",
        around_method(RowSource, "noised_total", _exact_contrasts), "EBM, pairs chosen", "noise"),
    bug("noise drawn, and the exact total released",
        around_method(RowSource, "noised_total", _unnoised), _SUMMED, "output"),
    bug("noise of numpy", around_method(RowSource, "noised_total", _by_numpy), _SUMMED, "noise"),
    bug("rows counted in an attribute", around_method(EBMClassifier, "fit", _counting_fit), "EBM",
        "output"),
    bug("a warning about rows", around_method(EBMClassifier, "fit", _warning_fit), "EBM",
        "output"),
    bug("rows counted on the screen", around_method(EBMClassifier, "fit", _printing_fit), "EBM",
        "output"),
    bug("an error about rows", around_method(NumberCounts, "cells", _refusing), _SUMMED,
        "output", "order"),
    bug("divided by the actual number of rows",
        around_method(RowSource, "noised_total", _by_actual_rows), _SUMMED, "output"),
    bug("every level told", around(missing, "find_levels", _all_levels),
        "summary of what nobody listed", "noise", "output"),
    # noise reused, or altered
    bug("noise remembered", remembered, _SUMMED, "noise"),
    bug("noise that repeats", repeated_key, _SUMMED, "noise"),
    bug("noise without its tails", around(noise, "gaussian", _truncated), _SUMMED, "noise"),
    bug("noise of zeros", around(noise, "gaussian", _zeros), _SUMMED, "noise"),
    bug("a sampler of a quarter of the scale", around(noise.kernels, "draw", _shrunk), _SUMMED,
        "noise"),
    # composition
    bug("accesses counted once", around(receipt, "compose", _as_if_once), "EBM", "composition"),
    bug("half of mu", around(receipt, "compose", _half_mu), "EBM", "composition"),
    # unaccounted access
    bug("two noised totals for one access", around_method(RowSource, "noised_total", _both),
        _SUMMED, "noise"),
    bug("a ticket used twice", around(tree, "gaussian_sum", _open_twice), "summary", "payment",
        "receipt"),
    bug("an exact count behind the back of the ledger",
        around_method(EBMClassifier, "_train", _peeking), "EBM", "stray"),
    bug("an exact count beside a noised one",
        around_method(RowSource, "noised_total", _also_exact), _SUMMED, "payment"),
    bug("tickets that are never used up", around_method(Grant, "take", _uncounted), "too many",
        "payment"),
    bug("an entry in another ledger", around_method(Ledger, "pay", _unwritten), "EBM of a number",
        "payment"),
    bug("a part of a job in another ledger", around_method(Reservation, "pay", _unwritten_part),
        "EBM", "payment"),
    bug("tickets for less noise", around_method(Grant, "take", _take_less), _SUMMED, "payment"),
    bug("half of the accesses paid", around_method(Ledger, "spend", _cheap), "EBM of a number",
        "payment"),
    bug("half of a job's parts paid", around_method(Reservation, "charge", _cheap_part), "EBM",
        "payment"),
    bug("a receipt without its first line", around(model_fit, "write_receipt", _without_first),
        "EBM", "receipt"),
    # threshold without delta
    bug("a threshold without its delta", instead(levels, "ndtri", lambda p: 0.0),
        "summary of what nobody listed", "output", "order", "shape"),
    # samples and choices
    bug("rows charged as sampled, and all taken", instead(noise, "bernoulli", _no_coin),
        "sampled Gaussian sums", "sampling"),
    bug("rows sampled twice as often", around(noise, "bernoulli", _more_coins),
        "sampled Gaussian sums", "sampling"),
    bug("a choice of half the sensitivity",
        instead(CellQuery, "sensitivity_max", lambda self, relation: 0.5), "permute and flip",
        "sensitivity", relation="replace_one"),
    bug("a choice four times as sure", around(selection, "_permute_and_flip", _steep),
        "permute and flip", "sensitivity"),
    bug("the best chosen without chance", instead(selection, "_rejection", _best),
        "exponential mechanism", "noise"),
    bug("the same sample in every step", remembered_coins, "sampled Gaussian sums", "sampling"),
    bug("rows dealt in turn", instead(noise, "deal", _in_turn), "LVQ1 by groups", "sensitivity",
        "sampling"),
    bug("rows shuffled by a seed, then split", around(noise, "bernoulli", _first_rows),
        "rows held out", "sensitivity"),
    bug("a centre of attention with too little noise",
        instead(aggregate, "noise_scale", lambda *a: 16.0), "centre of attention", "sensitivity"),
    bug("a mean of groups for half a ball",
        around(aggregate, "clipped_total", lambda f, s, bound, grid: f(s, 1e3, grid)),
        "mean of groups", "sensitivity"),
    # totals and units
    bug("a ledger that adds up a quarter",
        around_method(Filter, "price", lambda f, *a: replace(f(*a), loss=f(*a).loss / 4)), "EBM",
        "composition"),
    bug("a receipt for a person, of rows",
        around(model_fit, "write_receipt", lambda f, *a: replace(f(*a), unit="person")), "EBM",
        "receipt"),
    # clients
    bug("clients who add a quarter of their share",
        around_method(Terms, "noise_share", lambda f, self, *how: f(self, *how) / 4.0),
        "clients, trust shares", "sensitivity"),
    bug("clients who forget their noise",
        instead(Terms, "noise_share", lambda self, *how: 0.0), "clients, trust nobody", "noise"),
)  # fmt: skip
