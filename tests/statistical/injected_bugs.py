"""Mistakes that an audit must notice, each planted for the time of a test.

Every bug is one that was made somewhere: too little noise, a clip that was forgotten, a sensitivity
that is off by two, a count without noise, a seed that repeats, a client that forgets what it has
answered. It names the trial that betrays it.
"""

import dataclasses
import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np

from voile.audit import find_trials
from voile.models.ebm import queries as ebm_queries
from voile.models.ebm.grid_counts import GridCounts
from voile.models.ebm.queries import ResidualSums
from voile.models.locally_linear.queries import MapSteps
from voile.models.lvq.queries import ClassSums
from voile.models.networks import queries as network_queries
from voile.privacy import noise, queries
from voile.privacy.clients.agent import ClientAgent
from voile.privacy.clients.agent_job import AgentJob, Used
from voile.privacy.clients.terms import Terms, Trust
from voile.privacy.discovery import levels
from voile.privacy.ledger.job_lines import PAID
from voile.privacy.ledger.jobs import MemoryJobs, SqlJobs
from voile.privacy.mechanisms import selection
from voile.privacy.queries import CellQuery, Query, RowCount
from voile.privacy.sources import source
from voile.privacy.sources.failing_rows import FAILED
from voile.privacy.sources.source import RowSource


@dataclass(frozen=True)
class Bug:
    """A planted mistake: what it is, how it is planted, and the trial that must fail."""

    name: str
    plant: object
    trial: str
    slow: bool = False


def replace(target, name, value):
    return lambda: patch.object(target, name, value)


def together(*plants):
    """Mistakes of which each alone is caught by the other's check."""

    @contextmanager
    def planted():
        with ExitStack() as stack:
            for one in plants:
                stack.enter_context(one())
            yield

    return planted


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
        "levels of a tree counted as one access",
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


def exact_cells(self, query, grid, scale, *, rate=1.0):
    if isinstance(query, GridCounts):
        return self.total(query, grid, rate=rate)
    return _noised_total(self, query, grid, scale, rate=rate)


def exact_contrasts(self, query, grid, scale, *, rate=1.0):
    """The sums by which pairs are chosen: those in which columns have no matrix."""
    if isinstance(query, ResidualSums) and query.mixing and not len(query.mixing[0]):
        return self.total(query, grid, rate=rate)
    return _noised_total(self, query, grid, scale, rate=rate)


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
        "cells of a pair of columns counted without noise",
        replace(RowSource, "noised_total", exact_cells),
        "EBM: alone in a cell of a named pair",
    ),
    Bug(
        "a pair of columns chosen by exact sums",
        replace(RowSource, "noised_total", exact_contrasts),
        "EBM: alone in a cell of a chosen pair",
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
        replace(Terms, "noise_share", lambda self, *how: _share(self, *how) / 4.0),
        "federated: one row of a client (EBM), seen by a server that adds up masked answers",
    ),
)
_share = Terms.noise_share


def full_share(self, scale, attempt=0):
    return scale / math.sqrt(self.honest) if self.trust == Trust.SHARES else _share(self, scale)


@contextmanager
def one_noise_for_all_attempts():
    made = WeakKeyDictionary()

    def noised(self, job, found, attempt):
        if found not in made:
            made[found] = _noised(self, job, found, 0)
        return made[found]

    own = patch.object(Terms, "noise_share", full_share)
    with own, patch.object(ClientAgent, "_noised", noised):
        yield


def unchecked_add(jobs):
    add, lines = jobs.add, jobs.lines

    def added(self, job, last, kind, content):
        return add(self, job, (lines(self, job) or (None,))[-1], kind, content)

    return patch.object(jobs, "add", added)


def forgotten_answers(jobs):
    @contextmanager
    def planted():
        lines = jobs.lines

        def only_paid(self, job):
            return tuple(line for line in lines(self, job) if line.kind == PAID)

        with unchecked_add(jobs), patch.object(jobs, "lines", only_paid):
            yield

    return planted


@contextmanager
def new_noise_for_a_repeated_question():
    with (
        patch.object(AgentJob, "recall", lambda self, access, attempt=0: None),
        patch.object(AgentJob, "check_new", lambda self, access, attempt=0: None),
    ):
        yield


def believe_the_memory(self):
    lines, kept = _read_record(self), self.memory.last(self.key)
    self.used = {}
    if kept is not None:
        at, accesses = kept.access, kept.access.index + 1
        self.used[at.number, at.label] = Used(
            at.index, kept.attempt, kept.names, kept.digest, accesses
        )
    return lines


def zeros_for_a_failing_row(query, block, grid):
    try:
        return query.total(block, grid)
    except Exception:
        return np.zeros(query.size, dtype=np.int64)


def nobody_after_a_failing_row(work, block):
    try:
        work(block)
    except Exception:
        block.kept[FAILED] = np.ones(block.rows, dtype=np.bool_)


def any_roster(self, access, roster, known):
    with patch.object(self, "used", {}), patch.object(self, "_asked", {}):
        _check_roster(self, access, roster, known)


def any_roster_after_a_restart(self, access, roster, known):
    (_check_roster if access in self._names else any_roster)(self, access, roster, known)


_noised, _read_record, _check_roster = (
    ClientAgent._noised,
    AgentJob.read_record,
    AgentJob.check_roster,
)

LATE = "federated protocol: a row of {}, in the sums with it and without it"
AGAIN = "federated protocol: one access asked for again{}"
FAILS = "federated protocol: a row for which questions {}"
ROSTERS = "federated protocol: a sum asked for with other clients"

PROTOCOL = (
    Bug(
        "further attempts at a sum with the noise of the first",
        one_noise_for_all_attempts,
        LATE.format("a client that is late"),
    ),
    Bug(
        "further attempts at a sum paid by nobody",
        replace(Terms, "noise_share", full_share),
        LATE.format("another client than the late one"),
        slow=True,
    ),
    Bug(
        "a repeated question answered with new noise",
        new_noise_for_a_repeated_question,
        AGAIN.format(" after restarts, its memory old or lost"),
    ),
    Bug(
        "answers forgotten over a restart",
        forgotten_answers(MemoryJobs),
        AGAIN.format(" after restarts, its memory old or lost"),
    ),
    Bug(
        "answers forgotten over each of many restarts",
        forgotten_answers(MemoryJobs),
        AGAIN.format(", thirty times"),
        slow=True,
    ),
    Bug(
        "two agents that know nothing of each other",
        lambda: unchecked_add(MemoryJobs),
        AGAIN.format(" after restarts, its memory old or lost"),
    ),
    Bug(
        "the memory believed instead of the record",
        replace(AgentJob, "read_record", believe_the_memory),
        AGAIN.format(" after restarts, its memory old or lost"),
    ),
    Bug(
        "answers forgotten by a ledger in a file",
        forgotten_answers(SqlJobs),
        AGAIN.format(" after restarts, an older ledger put back"),
        slow=True,
    ),
    Bug(
        "a failing row that counts its client as zeros",
        replace(source, "sum_what_can_be", zeros_for_a_failing_row),
        FAILS.format("fail"),
    ),
    Bug(
        "a failing row of a class too many that counts its client as zeros",
        together(
            replace(source, "sum_what_can_be", zeros_for_a_failing_row),
            replace(ClassSums, "fits", lambda self, prepared, schema: True),
        ),
        FAILS.format("that do not fit would fail"),
    ),
    Bug(
        "a row that cannot be prepared and takes all others with it",
        replace(source, "keep_what_can_be", nobody_after_a_failing_row),
        FAILS.format("fail"),
    ),
    Bug(
        "a failing row that makes its client refuse",
        replace(source, "sum_what_can_be", lambda query, block, grid: query.total(block, grid)),
        FAILS.format("fail"),
    ),
    Bug(
        "terms that are not written down",
        replace(AgentJob, "_agreed", lambda self: {}),
        "federated protocol: a job reopened on other terms",
    ),
    Bug("rosters forgotten", replace(AgentJob, "check_roster", any_roster), ROSTERS),
    Bug(
        "rosters forgotten over a restart",
        replace(AgentJob, "check_roster", any_roster_after_a_restart),
        ROSTERS,
    ),
)

BUGS = CORE + MODELS + PROTOCOL

_FEWER = {
    LATE.format("a client that is late"): 350,
    LATE.format("another client than the late one"): 3000,
    AGAIN.format(" after restarts, its memory old or lost"): 30,
    AGAIN.format(" after restarts, an older ledger put back"): 30,
    "federated protocol: a job reopened on other terms": 30,
    ROSTERS: 30,
}
"""Runs of the tests, where as many as in an audit are not needed (or do not suffice)."""

SLOW = {bug.trial for bug in BUGS if bug.slow}


def find_subset():
    """The trials that run in the tests: fast, and enough to catch every bug above."""
    needed = {bug.trial for bug in MODELS + PROTOCOL}
    others = find_trials(["ebm", "prototypes", "maps", "networks", "clients", "protocol"])
    chosen = [trial for trial in others if trial.title in needed]
    # A federation is slow to set up; its bug shows in fewer runs as well.
    runs = {trial.title: 400 for trial in chosen if trial.family == "federated"} | _FEWER
    fewer = [
        dataclasses.replace(trial, quick=runs.get(trial.title, trial.quick)) for trial in chosen
    ]
    return [*find_trials(["core"]), *fewer]
