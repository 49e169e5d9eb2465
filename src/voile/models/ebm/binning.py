"""Private bins: what is released of each column and of the target before the first round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.model import Link
from voile.models.ebm.objectives import SQUARED, Aim
from voile.models.ebm.queries import BinLayout
from voile.models.ebm.settings import CATEGORIES_ACCESS, NUMBERS_ACCESS, TARGET_ACCESS
from voile.models.setting_checks import count_found_classes
from voile.models.target_look import stop_if_unlisted, unlisted_note
from voile.privacy.discovery import Histogram, find_histogram
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import TARGET, CategoryCounts
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Column, Schema

Floats = NDArray[np.float64]

_EXPOSURES = 8
"""Places that stand for the distribution of the exposure."""


@dataclass(frozen=True, eq=False)
class TargetFacts:
    """What is released of the target.

    Attributes
    ----------
    rows : float
        Estimated rows with a target.
    counts : ndarray of shape (classes,)
        Estimated rows per class, at least 1; empty for regression.
    start : float
        Median of the target scaled to [-1, 1] (regression).
    variance : float
        Its variance, at least 1e-6.
    distances, masses : ndarray
        Distribution of the distance from the median, for the first clip.
    histogram : Histogram or None
        Its released distribution (regression).
    events : float or None
        Estimated sum of a count, if it is smaller than the rows: what there is to learn from.
    """

    rows: float
    counts: Floats
    start: float
    variance: float
    distances: Floats
    masses: Floats
    histogram: Histogram | None = None
    events: float | None = None

    @property
    def scarce(self) -> float:
        """Rows of the scarcer kind: of a class that is not the largest, on average; or events."""
        if not len(self.counts):
            return self.rows if self.events is None else self.events
        return (self.rows - float(self.counts.max())) / max(len(self.counts) - 1, 1)


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Private bins of one column: cut points (numbers), counts and their standard errors.

    Attributes
    ----------
    cuts : ndarray of shape (intervals - 1,)
        Of a number; empty for a category.
    counts, count_errors : ndarray of shape (bins,)
    ordered : bool
        Whether bins have an order: intervals of a number, or levels that the schema orders.
    apart : int
        How many bins at the end have no place in it: missing, of categories also other.
    """

    cuts: Floats
    counts: Floats
    count_errors: Floats
    ordered: bool
    apart: int


def release_target(table: PrivateTable, grant: Grant) -> TargetFacts:
    """Release class counts, or the distribution of a number, with one access.

    Raises
    ------
    NothingFound
        If the rows have fewer than two classes, or others than are listed.
    """
    target = table.schema.target
    none = np.zeros(0)
    if isinstance(target, Category):
        listed = count_found_classes(table.schema)
        release = gaussian_sum(table, CategoryCounts(TARGET, listed), grant.take(TARGET_ACCESS))
        error = release.standard_error
        stop_if_unlisted(
            target.levels or (), release.values[:listed], release.values[listed], error, error
        )
        note = unlisted_note(target.levels or (), release.values, error)
        grant.table_notes += (note,) if note else ()
        counts = np.maximum(release.values[:listed], 1.0)
        return TargetFacts(float(counts.sum()), counts, 0.0, 1.0, none, none)
    found = find_histogram(table, TARGET, grant.take(TARGET_ACCESS))
    lower, upper = found.edges[0], found.edges[-1]
    half = upper / 2 - lower / 2
    middles = (found.edges[1:] / 2 + found.edges[:-1] / 2 - (lower / 2 + upper / 2)) / half
    masses = np.maximum(found.counts, 0.0)
    if masses.sum() <= 0:
        masses = np.ones_like(masses)
    start = float((found.quantile(0.5) - (lower / 2 + upper / 2)) / half)
    mean = float(masses @ middles / masses.sum())
    variance = max(float(masses @ (middles - mean) ** 2 / masses.sum()), 1e-6)
    order = np.argsort(np.abs(middles - start))
    return TargetFacts(
        max(found.rows, 1.0),
        none,
        start,
        variance,
        np.abs(middles - start)[order],
        masses[order] / masses.sum(),
        found,
    )


def find_exposures(table: PrivateTable, grant: Grant, name: str | None) -> Histogram | None:
    """Release the distribution of the exposure, as that of other numbers; None if there is none."""
    if name is None:
        return None
    ticket = grant.take(NUMBERS_ACCESS)
    return find_histogram(table, name, ticket, resolution=16).equal_mass(_EXPOSURES)


def find_bins(
    table: PrivateTable, grant: Grant, features: Schema, bins: int
) -> tuple[ColumnBins, ...]:
    """Release the bins of every feature, one access each.

    Numbers get about ``bins`` intervals of equal mass from a noised tree of counts, spikes apart;
    the last bin is for missing values. Categories have one bin per level, other, and missing. The
    bin for missing values is there, and empty, if the schema says that none is missing.
    """
    result = []
    for name, column in features.items():
        if isinstance(column, Category):
            query = CategoryCounts(name, len(column.levels or ()))
            release = gaussian_sum(table, query, grant.take(CATEGORIES_ACCESS))
            errors = np.full(query.size, release.standard_error)
            note = unlisted_note(column.levels or (), release.values, release.standard_error, name)
            grant.table_notes += (note,) if note else ()
            counts = _without_missing(release.values, column)
            ordered = column.ordered and len(column.levels or ()) > 1
            result.append(ColumnBins(np.zeros(0), counts, errors, ordered, apart=2))
            continue
        ticket = grant.take(NUMBERS_ACCESS)
        found = find_histogram(table, name, ticket, resolution=2 * bins).equal_mass(bins)
        cuts = _increasing(found.edges[1:-1])
        result.append(
            ColumnBins(
                cuts,
                _without_missing(np.append(found.counts, found.missing), column),
                np.append(found.standard_errors, found.node_error / np.sqrt(3.0)),
                ordered=len(cuts) > 0,
                apart=1,
            )
        )
    return tuple(result)


def _without_missing(counts: Floats, column: Column) -> Floats:
    """Counts with none in the last bin where the schema says that nothing is missing."""
    return counts if column.missing else np.append(counts[:-1], 0.0)


def _increasing(cuts: Floats) -> Floats:
    """Bounds a few denormals apart have cells without width; the model needs increasing cuts."""
    if len(cuts) and not np.all(np.diff(cuts) > 0):
        return np.maximum.accumulate(cuts + 0.0) + np.arange(len(cuts)) * np.spacing(cuts)
    return cuts


def lay_out(
    table: PrivateTable, link: Link, bins: tuple[ColumnBins, ...], aim: Aim = SQUARED
) -> BinLayout:
    """Where the bins lie among the cells of the model."""
    offsets = np.cumsum([0, *(len(one.counts) for one in bins)]).astype(np.int64)
    return BinLayout(table.schema, link, tuple(one.cuts for one in bins), offsets, aim)
