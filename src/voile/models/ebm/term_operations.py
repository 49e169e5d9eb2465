"""What each kind of edit does to the term of one column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from voile.errors import ModelError, SettingError
from voile.models.ebm import curves
from voile.models.ebm.curves import Floats
from voile.models.ebm.edit_settings import (
    Bins,
    Outputs,
    Settings,
    find_ends,
    find_levels,
    read_choice,
    read_number,
)
from voile.models.ebm.model import Term
from voile.models.ebm.operation import Operation
from voile.schema import Category


def _set(term: Term, outputs: Outputs, settings: Settings) -> Term:
    value = read_number(settings["value"], "value")
    ways = [name for name in ("between", "levels", "missing") if name in settings]
    if len(ways) != 1:
        raise SettingError(
            "An edit 'set' needs exactly one of between=(a, b), levels=[...] and missing=True."
        )
    if ways == ["between"]:
        term, start, stop = _split_range(term, settings["between"])
        bins = np.arange(start, stop)
    elif ways == ["levels"]:
        bins = _level_bins(term, settings["levels"])
    elif settings["missing"] is True:
        bins = np.array([term.bins - 1])
    else:
        raise SettingError(f"'missing' must be True. Got {settings['missing']!r} instead.")
    given = np.full((len(bins), len(outputs)), value)
    return _with_scores(term, bins, outputs, given, np.zeros_like)


def _interpolate(term: Term, outputs: Outputs, settings: Settings) -> Term:
    term, start, stop = _split_range(term, settings["between"])
    last = len(term.cuts)
    if start == 0 and stop == last + 1:
        raise SettingError(
            f"The range of an interpolation must leave a part of {term.name!r} as it is, on one "
            f"side at least: make it narrower than the bounds."
        )
    matrix = curves.interpolation_matrix(_centres(term), start, stop)
    around = np.array([max(start - 1, 0), min(stop, last)])
    return _with_product(term, np.arange(start, stop), outputs, matrix, around)


def _smooth(term: Term, outputs: Outputs, settings: Settings) -> Term:
    strength = read_number(settings["strength"], "strength")
    if strength <= 0:
        raise SettingError(f"The 'strength' of a smoothing must be > 0. Got {strength!r} instead.")
    term, start, stop = _split_range(term, settings.get("between"))
    weights = curves.weigh(term.counts[start:stop])
    matrix = curves.smoothing_matrix(_centres(term)[start:stop], weights, strength)
    bins = np.arange(start, stop)
    return _with_product(term, bins, outputs, matrix, bins)


def _monotone(term: Term, outputs: Outputs, settings: Settings) -> Term:
    increasing = read_choice(settings["direction"], "direction", "increasing", "decreasing")
    term, start, stop = _split_range(term, settings.get("between"))
    weights = curves.weigh(term.counts[start:stop])
    columns = [
        curves.nearest_monotone(term.scores[start:stop, output], weights, increasing=increasing)
        for output in outputs
    ]
    return _with_scores(term, np.arange(start, stop), outputs, np.column_stack(columns))


def _convex(term: Term, outputs: Outputs, settings: Settings) -> Term:
    sign = 1.0 if read_choice(settings["shape"], "shape", "convex", "concave") else -1.0
    term, start, stop = _split_range(term, None)
    centres, weights = _centres(term), curves.weigh(term.counts[start:stop])
    columns = [
        sign * curves.nearest_convex(centres, sign * term.scores[start:stop, output], weights)
        for output in outputs
    ]
    return _with_scores(term, np.arange(start, stop), outputs, np.column_stack(columns))


def _drop(term: Term, outputs: Outputs, settings: Settings) -> Term:
    nothing = np.zeros((term.bins, len(outputs)))
    return _with_scores(term, np.arange(term.bins), outputs, nothing, np.zeros_like)


def _scale(term: Term, outputs: Outputs, settings: Settings) -> Term:
    factor = read_number(settings["factor"], "factor")

    def scaled(errors: Floats) -> Floats:
        return errors * abs(factor) if factor else np.zeros_like(errors)  # an infinite one too

    scores = term.scores[:, outputs] * factor
    return _with_scores(term, np.arange(term.bins), outputs, scores, scaled)


_OUTPUT = frozenset({"output"})
TERM_OPERATIONS: Mapping[str, Operation[Term]] = {
    "set": Operation(
        _set, frozenset({"value"}), frozenset({"between", "levels", "missing"}) | _OUTPUT
    ),
    "interpolate": Operation(_interpolate, frozenset({"between"}), _OUTPUT),
    "smooth": Operation(_smooth, frozenset({"strength"}), frozenset({"between"}) | _OUTPUT),
    "monotone": Operation(_monotone, frozenset({"direction"}), frozenset({"between"}) | _OUTPUT),
    "convex": Operation(_convex, frozenset({"shape"}), _OUTPUT),
    "drop": Operation(_drop),
    "scale": Operation(_scale, frozenset({"factor"}), _OUTPUT),
}


# -- parts of a term ----------------------------------------------------------------------------


def _with_scores(
    term: Term,
    bins: Bins,
    outputs: Outputs,
    scores: Floats,
    follow: Callable[[Floats], Floats] | None = None,
    source: Bins | None = None,
) -> Term:
    """The term with other scores in some bins.

    Their errors ``follow`` from the errors of the ``source`` bins (by default the same bins);
    without it, the old ones stay. What the rows said is no evidence for what a person drew.
    """
    place = np.ix_(bins, outputs)
    origin = place if source is None else np.ix_(source, outputs)

    def put(table: Floats, values: Floats) -> Floats:
        changed = table.copy()
        changed[place] = values
        changed.setflags(write=False)
        return changed

    def errors(table: Floats) -> Floats:
        return table if follow is None else put(table, follow(table[origin]))

    return replace(
        term,
        scores=put(term.scores, scores),
        standard_errors=errors(term.standard_errors),
        whole_errors=None if term.whole_errors is None else errors(term.whole_errors),
        evidence=None,
    )


def _with_product(term: Term, bins: Bins, outputs: Outputs, matrix: Floats, source: Bins) -> Term:
    """The term with ``matrix @ scores[source]`` in some bins, and the errors that follow."""
    scores = matrix @ term.scores[np.ix_(source, outputs)]
    return _with_scores(
        term, bins, outputs, scores, lambda errors: curves.propagate(matrix, errors), source
    )


def _centres(term: Term) -> Floats:
    if isinstance(term.column, Category):
        return np.arange(term.bins - 2, dtype=np.float64)
    edges = term.edges
    return edges[:-1] + np.diff(edges) / 2


def _split_range(term: Term, between: object) -> tuple[Term, int, int]:
    """The term with cuts at both ends of a range, and the range as a slice of its intervals.

    Levels that have an order are such intervals, too, all of them.
    """
    column = term.column
    if isinstance(column, Category):
        if column.ordered and between is None:
            return term, 0, term.bins - 2
        raise ModelError(
            f"Term {term.name!r} is a category and its levels have no "
            f"{'ranges' if column.ordered else 'order'}: use 'set' with levels=[...], 'scale' or "
            f"'drop'."
        )
    if between is None:
        return term, 0, len(term.cuts) + 1
    low, high = find_ends(term.name, column, between)
    for point in (low, high):
        term = _split_at(term, point)
    start, stop = np.searchsorted(term.edges, [low, high])
    return term, int(start), int(stop)


def _split_at(term: Term, point: float) -> Term:
    """The term with a cut at a point; the same scores, and the count divided by width."""
    edges = term.edges
    if point in edges:
        return term
    bin_ = int(np.searchsorted(edges, point)) - 1
    share = (point - edges[bin_]) / (edges[bin_ + 1] - edges[bin_])
    parts = np.array([share, 1.0 - share])

    def divide(amounts: Floats) -> Floats:
        return np.concatenate([amounts[:bin_], amounts[bin_] * parts, amounts[bin_ + 1 :]])

    def double(table: Floats) -> Floats:
        return np.insert(table, bin_, table[bin_], axis=0)

    changed = replace(
        term,
        cuts=np.insert(term.cuts, bin_, point),
        scores=double(term.scores),
        standard_errors=double(term.standard_errors),
        whole_errors=None if term.whole_errors is None else double(term.whole_errors),
        counts=divide(term.counts),
        count_errors=divide(term.count_errors),
    )
    for array in (changed.cuts, changed.counts, changed.count_errors, changed.whole_errors):
        if array is not None:
            array.setflags(write=False)
    return changed


def _level_bins(term: Term, levels: object) -> Bins:
    if not isinstance(term.column, Category):
        raise SettingError(f"Term {term.name!r} is a number and has no levels: use between=(a, b).")
    return find_levels(term.name, term.column, levels)
