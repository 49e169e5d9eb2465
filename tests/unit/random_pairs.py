"""Pairs of columns with random scores, for the small models of `ebm_models`."""

from dataclasses import replace

import numpy as np

from voile import Category
from voile.models.ebm.pair_evidence import PairEvidence
from voile.models.ebm.pair_term import PairAxis, PairTerm

PAIR_CUTS = {"age": [31.5, 52.3], "pay": [0.3, 1.0, 2.0]}


def make_axis(name, column):
    """One side of a pair: few intervals, or levels two by two, then the others and missing."""
    cuts, groups = np.array(PAIR_CUTS.get(name, []), dtype=np.float64), np.empty(0, dtype=np.int64)
    if isinstance(column, Category):
        groups = np.append(np.arange(len(column.levels)) // 2, [len(column.levels) // 2] * 2)
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    return PairAxis(name, column, cuts, groups)


def make_pair(first, second, columns, outputs, rng, *, size=1.0):
    """What two columns do together, at random: nothing in it is balanced."""
    one, other = (make_axis(name, columns[name]) for name in (first, second))
    shape = (one.parts, other.parts)
    errors = rng.uniform(0.01, 0.2, size=(*shape, outputs))
    return PairTerm(
        first=one,
        second=other,
        scores=size * rng.normal(size=(*shape, outputs)),
        standard_errors=errors,
        counts=rng.uniform(5, 500, size=shape),
        count_errors=np.full(shape, 3.25),
    )


def with_pairs(model, *pairs, size=1.0, seed=0):
    """The same model with pairs of some columns."""
    rng = np.random.default_rng(seed)
    columns = {term.name: term.column for term in model.terms}
    made = tuple(make_pair(*names, columns, model.outputs, rng, size=size) for names in pairs)
    return replace(model, pairs=made)


def with_evidence(pair, size):
    """A pair whose cells differ by about so much of their own standard error, and are judged."""
    rng = np.random.default_rng(0)
    shape = pair.scores.shape
    evidence = PairEvidence(
        estimates=size * 0.1 * rng.normal(size=shape),
        sampling_variances=np.full(shape, 0.01),
        noise_scales=np.full(shape, 0.001),
        noise_lengths=(0.0, 0.0),
        noise_plains=(1.0, 1.0),
        aparts=(1, 1),
        prior=1.0,
        candidates=1,
    )
    return replace(pair, evidence=evidence, whole_errors=1.5 * pair.standard_errors)
