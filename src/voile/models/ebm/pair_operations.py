"""What each kind of edit does to a pair of columns: to the cells of its grid, or of a region."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from voile.arrays import Floats
from voile.errors import ModelError, SettingError
from voile.models.ebm import curves
from voile.models.ebm.edit_settings import Bins, Outputs, Settings, read_number
from voile.models.ebm.operation import Operation
from voile.models.ebm.pair_regions import PairRegion, find_region
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Number


def _set(pair: PairTerm, outputs: Outputs, settings: Settings) -> PairTerm:
    value = read_number(settings["value"], "value")
    region = find_region(pair, settings["where"])
    shape = (len(region.rows), len(region.columns), len(outputs))
    return _with_scores(region, outputs, np.full(shape, value), np.zeros_like)


def _smooth(pair: PairTerm, outputs: Outputs, settings: Settings) -> PairTerm:
    strength = read_number(settings["strength"], "strength")
    if strength <= 0:
        raise SettingError(f"The 'strength' of a smoothing must be > 0. Got {strength!r} instead.")
    region = find_region(pair, settings.get("where"))
    pair = region.pair
    rows, down = _in_order(pair.first, region.rows)
    columns, across = _in_order(pair.second, region.columns)
    if down is None and across is None:
        raise ModelError(
            f"Neither side of the pair {pair.name!r} has an order to smooth along: use 'set' with "
            "where={...}, 'scale' or 'drop'."
        )
    weights = curves.weigh(pair.counts[np.ix_(rows, columns)])

    def smooth(table: Floats, follow: Callable[[Floats, Floats], Floats]) -> Floats:
        """What follows from a table by cells, with the matrices of the smoothing."""
        if down is not None and across is not None:
            matrix = curves.grid_smoothing_matrix(down, across, weights, strength)
            flat = table.reshape(-1, table.shape[2])
            return follow(matrix, flat).reshape(table.shape)
        changed = np.empty_like(table)
        if down is not None:
            for k in range(len(columns)):
                matrix = curves.smoothing_matrix(down, weights[:, k], strength)
                changed[:, k] = follow(matrix, table[:, k])
        elif across is not None:
            for k in range(len(rows)):
                matrix = curves.smoothing_matrix(across, weights[k], strength)
                changed[k] = follow(matrix, table[k])
        return changed

    scores = pair.scores[np.ix_(rows, columns, outputs)]
    return _with_scores(
        PairRegion(pair, rows, columns),
        outputs,
        smooth(scores, np.matmul),
        lambda errors: smooth(errors, curves.propagate),
    )


def _drop(pair: PairTerm, outputs: Outputs, settings: Settings) -> PairTerm:
    nothing = np.zeros_like(pair.scores[:, :, outputs])
    return _with_scores(find_region(pair, None), outputs, nothing, np.zeros_like)


def _scale(pair: PairTerm, outputs: Outputs, settings: Settings) -> PairTerm:
    factor = read_number(settings["factor"], "factor")

    def scaled(errors: Floats) -> Floats:
        return errors * abs(factor) if factor else np.zeros_like(errors)  # an infinite one too

    scores = pair.scores[:, :, outputs] * factor
    return _with_scores(find_region(pair, None), outputs, scores, scaled)


def _of_curves(what: str) -> Operation[PairTerm]:
    """An edit that is one of curves: refused, with what may be done instead."""

    def refuse(pair: PairTerm, outputs: Outputs, settings: Settings) -> PairTerm:
        first, second = pair.columns
        raise ModelError(
            f"An edit {what!r} is for the curve of one column, and {pair.name!r} is a pair. Use it "
            f"on {first!r} or {second!r}, and 'smooth' or 'set' with where={{...}} on the pair."
        )

    return Operation(refuse, optional=frozenset({"between", "direction", "shape", "output"}))


PAIR_OPERATIONS: Mapping[str, Operation[PairTerm]] = {
    "set": Operation(_set, frozenset({"value", "where"}), frozenset({"output"})),
    "smooth": Operation(_smooth, frozenset({"strength"}), frozenset({"where", "output"})),
    "drop": Operation(_drop),
    "scale": Operation(_scale, frozenset({"factor"}), frozenset({"output"})),
    **{what: _of_curves(what) for what in ("interpolate", "monotone", "convex")},
}


def drop_pair(pair: PairTerm) -> PairTerm:
    """The pair without any effect."""
    return _drop(pair, np.arange(pair.scores.shape[2]), {})


def _with_scores(
    region: PairRegion, outputs: Outputs, scores: Floats, follow: Callable[[Floats], Floats]
) -> PairTerm:
    """The pair with other scores in a region, whose errors ``follow`` from those of before."""
    pair, place = region.pair, np.ix_(region.rows, region.columns, outputs)

    def put(table: Floats, values: Floats) -> Floats:
        changed = table.copy()
        changed[place] = values
        changed.setflags(write=False)
        return changed

    def errors(table: Floats) -> Floats:
        return put(table, follow(table[place]))

    return replace(
        pair,
        scores=put(pair.scores, scores),
        standard_errors=errors(pair.standard_errors),
        whole_errors=None if pair.whole_errors is None else errors(pair.whole_errors),
        evidence=None,  # what the rows said is none for what a person drew
    )


def _in_order(axis: PairAxis, chosen: Bins) -> tuple[Bins, Floats | None]:
    """Parts of a side in their order, and their centres; all parts and None if there is no order.

    Missing values, and other levels beside levels in an order, have no place in it: they are left
    out, unless they alone are meant.
    """
    if isinstance(axis.column, Number):
        edges = axis.edges
        middles = edges[:-1] + np.diff(edges) / 2
        ordered = chosen[chosen < len(middles)]
        return (ordered, middles[ordered]) if len(ordered) else (chosen, None)
    count = len(axis.groups) - 2
    own = [np.flatnonzero(axis.groups == part) for part in chosen]
    regular = [k for k, codes in enumerate(own) if codes[-1] < count]
    whole = all(np.ptp(own[k]) == len(own[k]) - 1 for k in regular)
    if not axis.column.ordered or not regular or not whole:
        return chosen, None
    regular.sort(key=lambda k: int(own[k][0]))
    return chosen[regular], np.array([own[k].mean() for k in regular])
