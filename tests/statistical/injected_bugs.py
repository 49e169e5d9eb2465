"""Mistakes that an audit must notice, each planted for the time of a test.

Every bug is one that was made somewhere: too little noise, a clip that was forgotten, a sensitivity
that is off by two, a count without noise, a seed that repeats. It names the trial that betrays it.
"""

import dataclasses
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from voile.audit import find_trials
from voile.federated.networks import queries as network_queries
from voile.models.ebm import queries as ebm_queries
from voile.models.ebm.queries import ResidualSums
from voile.models.locally_linear.queries import MapSteps
from voile.models.lvq.queries import ClassSums
from voile.privacy import noise, queries
from voile.privacy.clients.terms import Terms
from voile.privacy.discovery import levels
from voile.privacy.mechanisms import selection
from voile.privacy.queries import CellQuery, Query, RowCount
from voile.privacy.sources.source import RowSource


@dataclass(frozen=True)
class Bug:
    """A planted mistake: what it is, how it is planted, and the trial that must fail."""

    name: str
    plant: object
    trial: str


def replace(target, name, value):
    return lambda: patch.object(target, name, value)


def halved(draw):
    return lambda size, scale: draw(size, max(scale / 2.0, 1.0))


def unclipped(shares, bound, grid, **how):
    return _clipped_total(shares, 1e9, grid, **how)


def exact_row_count(self, query, grid, scale, *, rate=1.0):
    if isinstance(query, RowCount):
        return self.total(query, grid, rate=rate)
    return _noised_total(self, query, grid, scale, rate=rate)


@contextmanager
def repeated_key():
    with patch.object(noise._Stream, "_rekey", _constant_rekey):
        yield


def _constant_rekey(self):
    self._fixed = noise._FixedKeys(7)
    _rekey(self)


_clipped_total = queries.clipped_total
_noised_total = RowSource.noised_total
_rekey = noise._Stream._rekey

CORE = (
    Bug(
        "half the Gaussian noise",
        replace(noise, "gaussian", halved(noise.gaussian)),
        "Gaussian sum: one row more",
    ),
    Bug(
        "half the Laplace noise",
        replace(noise, "laplace", halved(noise.laplace)),
        "Laplace sum: alone in its level",
    ),
    Bug(
        "a clip forgotten",
        replace(queries, "clipped_total", unclipped),
        "Gaussian sum: a value far beyond its bound",
    ),
    Bug(
        "a sensitivity off by two",
        replace(Query, "sensitivity", lambda self, relation: self.bound / 2.0),
        "Gaussian sum: a value far beyond its bound",
    ),
    Bug(
        "a row replaced counted as a row added",
        replace(Query, "sensitivity", lambda self, relation: self.bound),
        "Gaussian sum: a row replaced by its opposite",
    ),
    Bug(
        "a count without noise",
        replace(RowSource, "noised_total", exact_row_count),
        "Gaussian sum: one row more",
    ),
    Bug(
        "rows charged as sampled, and all taken",
        replace(noise, "bernoulli", lambda size, rate: np.ones(size, dtype=np.bool_)),
        "Gaussian sum: alone in its level, a twentieth of the rows sampled",
    ),
    Bug(
        "a selection of half the sensitivity",
        replace(CellQuery, "sensitivity_max", lambda self, relation: 0.5),
        "selection: a row that changes sides, permute and flip",
    ),
    Bug(
        "the best chosen without chance",
        replace(selection, "_rejection", lambda scores, rate: int(np.argmax(scores))),
        "selection: a row that changes sides, exponential",
    ),
    Bug(
        "found levels without their threshold",
        replace(levels, "ndtri", lambda chance: 1e6),
        "discovery: a category present once",
    ),
    Bug("noise that repeats", repeated_key, "Gaussian sum: one row more"),
    Bug(
        "levels of a tree counted as one look",
        replace(CellQuery, "bound", property(lambda self: 1.0)),
        "discovery: alone at the end of a tree of counts",
    ),
)


def unclipped_residuals(link, bins, target, offsets, scores, intercept, cap, units, weights):
    return _residual_totals(
        link, bins, target, offsets, scores, intercept, 1e3 * cap, units, weights
    )


def unclipped_pulls(squares, clip, *rest):
    return _find_factors(squares, 1e3 * clip, *rest)


def exact_counts(self, query, grid, scale, *, rate=1.0):
    if isinstance(query, ResidualSums):
        return _noised_total(self, query, grid, scale, rate=rate)
    return self.total(query, grid, rate=rate)


def halved_bound(query):
    bound = query.bound.fget
    return replace(query, "bound", property(lambda self: bound(self) / 2.0))


_residual_totals = ebm_queries.residual_totals
_find_factors = network_queries.find_factors

MODELS = (
    Bug(
        "residuals of an additive model not clipped",
        replace(ebm_queries, "residual_totals", unclipped_residuals),
        "EBM: a listed level of its own",
    ),
    Bug(
        "bins of an additive model counted without noise",
        replace(RowSource, "noised_total", exact_counts),
        "EBM: a listed level of its own",
    ),
    Bug(
        "a class mean of half the sensitivity",
        halved_bound(ClassSums),
        "prototypes: class means",
    ),
    Bug(
        "gradients of maps of half the sensitivity",
        halved_bound(MapSteps),
        "maps: all rows in every step",
    ),
    Bug(
        "gradients of a network not clipped",
        replace(network_queries, "find_factors", unclipped_pulls),
        "networks: one pixel, all rows in every step",
    ),
    Bug(
        "clients who add a quarter of their share of the noise",
        replace(Terms, "share", lambda self, scale, attempt=0: _share(self, scale, attempt) / 4.0),
        "federated: one row of a client (EBM), seen by a server that adds up masked answers",
    ),
)
_share = Terms.share

BUGS = CORE + MODELS


def find_subset():
    """The trials that run in the tests: fast, and enough to catch every bug above."""
    needed = {bug.trial for bug in MODELS}
    others = find_trials(["ebm", "prototypes", "maps", "networks", "clients"])
    chosen = [trial for trial in others if trial.title in needed]
    # A federation is slow to set up; its bug shows in fewer runs as well.
    slow = [
        dataclasses.replace(trial, quick=400) if trial.family == "federated" else trial
        for trial in chosen
    ]
    return [*find_trials(["core"]), *slow]
