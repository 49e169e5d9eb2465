"""What each kind of edit does to a term: from its stored settings to new scores.

An edit is data (its name and JSON settings); this module gives it its meaning. Settings are checked
here, because they may come from a file or be meant for another model.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import ModelError, SettingError
from voile.models.ebm import curves
from voile.models.ebm.curves import Floats
from voile.models.ebm.model import OTHER, EBMModel, Term
from voile.models.history import Edit
from voile.schema import Category, Date, Number
from voile.schema.dates import read_moment
from voile.schema.scale import lead_of, on_scale, step_of
from voile.schema.value_texts import edge_texts

Settings = Mapping[str, Any]
Bins = NDArray[np.int64]
Outputs = NDArray[np.int64]


@dataclass(frozen=True)
class _Operation:
    """One kind of edit: what it does, and the settings it must or may have."""

    run: Callable[[Term, Outputs, Settings], Term]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


def apply_edit(model: EBMModel, edit: Edit) -> EBMModel:
    """The model after an edit, which is appended to its history.

    Raises
    ------
    SchemaError
        If the model has no such term.
    SettingError
        If a setting is not in its range, or does not fit the term.
    ModelError
        If the operation does not exist, or does not apply to categories.
    """
    operation = _OPERATIONS.get(edit.what)
    if operation is None:
        raise ModelError(
            f"There is no edit {edit.what!r}: the edits are {', '.join(map(repr, _OPERATIONS))}."
        )
    term = model[edit.term]
    for name in sorted(operation.required - set(edit.settings)):
        raise SettingError(f"An edit {edit.what!r} needs the setting {name!r}.")
    for name in sorted(set(edit.settings) - operation.required - operation.optional):
        raise SettingError(f"An edit {edit.what!r} has no setting {name!r}.")
    outputs = _find_outputs(model, edit.settings.get("output"))
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # checked below, with a better message
            changed = operation.run(term, outputs, edit.settings)
    except (np.linalg.LinAlgError, RuntimeError) as error:
        raise ModelError(
            f"The edit {edit.what!r} of term {edit.term!r} cannot be computed ({error}): use a "
            f"smaller range or strength."
        ) from error
    if not np.isfinite(changed.scores).all() or np.isnan(changed.standard_errors).any():
        raise SettingError(
            f"The edit {edit.what!r} of term {edit.term!r} would give scores that are not finite: "
            f"use smaller numbers."
        )
    return replace(
        model.with_term(changed),
        edits=(*model.edits, edit),
        history=(*model.history, edit),
        original=_as_trained(model),
    )


def _as_trained(model: EBMModel) -> EBMModel:
    if model.original is not None:
        return model.original
    return replace(model, history=()) if model.history else model


def to_settings(model: EBMModel, given: Mapping[str, object]) -> dict[str, Any]:
    """What a caller gave as JSON values, without what was left out; a class as its label.

    A label rather than a position, because a model trained anew may have its classes in another
    order.
    """
    settings = {name: _plain(value) for name, value in given.items() if value is not None}
    if "output" in settings and model.link == "softmax":
        settings["output"] = model.classes[_find_outputs(model, settings["output"])[0]]
    return settings


def _plain(value: object) -> object:
    if isinstance(value, dt.date | np.datetime64):
        return str(value).replace(" ", "T")
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


# -- operations ---------------------------------------------------------------------------------


def _set(term: Term, outputs: Outputs, settings: Settings) -> Term:
    value = _number(settings["value"], "value")
    ways = [name for name in ("between", "levels", "missing") if name in settings]
    if len(ways) != 1:
        raise SettingError(
            "An edit 'set' needs exactly one of between=(a, b), levels=[...] and missing=True."
        )
    if ways == ["between"]:
        term, start, stop = _split_range(term, settings["between"])
        bins = np.arange(start, stop)
    elif ways == ["levels"]:
        bins = _find_levels(term, settings["levels"])
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
    strength = _number(settings["strength"], "strength")
    if strength <= 0:
        raise SettingError(f"The 'strength' of a smoothing must be > 0. Got {strength!r} instead.")
    term, start, stop = _split_range(term, settings.get("between"))
    weights = curves.weigh(term.counts[start:stop])
    matrix = curves.smoothing_matrix(_centres(term)[start:stop], weights, strength)
    bins = np.arange(start, stop)
    return _with_product(term, bins, outputs, matrix, bins)


def _monotone(term: Term, outputs: Outputs, settings: Settings) -> Term:
    increasing = _choice(settings["direction"], "direction", "increasing", "decreasing")
    term, start, stop = _split_range(term, settings.get("between"))
    weights = curves.weigh(term.counts[start:stop])
    columns = [
        curves.nearest_monotone(term.scores[start:stop, output], weights, increasing=increasing)
        for output in outputs
    ]
    return _with_scores(term, np.arange(start, stop), outputs, np.column_stack(columns))


def _convex(term: Term, outputs: Outputs, settings: Settings) -> Term:
    sign = 1.0 if _choice(settings["shape"], "shape", "convex", "concave") else -1.0
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
    factor = _number(settings["factor"], "factor")

    def scaled(errors: Floats) -> Floats:
        return errors * abs(factor) if factor else np.zeros_like(errors)  # an infinite one too

    scores = term.scores[:, outputs] * factor
    return _with_scores(term, np.arange(term.bins), outputs, scores, scaled)


_OUTPUT = frozenset({"output"})
_OPERATIONS: Mapping[str, _Operation] = {
    "set": _Operation(
        _set, frozenset({"value"}), frozenset({"between", "levels", "missing"}) | _OUTPUT
    ),
    "interpolate": _Operation(_interpolate, frozenset({"between"}), _OUTPUT),
    "smooth": _Operation(_smooth, frozenset({"strength"}), frozenset({"between"}) | _OUTPUT),
    "monotone": _Operation(_monotone, frozenset({"direction"}), frozenset({"between"}) | _OUTPUT),
    "convex": _Operation(_convex, frozenset({"shape"}), _OUTPUT),
    "drop": _Operation(_drop),
    "scale": _Operation(_scale, frozenset({"factor"}), _OUTPUT),
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
    if not isinstance(between, list) or len(between) != 2:
        raise SettingError(f"A range must be a pair between=(a, b). Got {between!r} instead.")
    low, high = _find_ends(term.name, column, between)
    for point in (low, high):
        term = _split_at(term, point)
    start, stop = np.searchsorted(term.edges, [low, high])
    return term, int(start), int(stop)


def _find_ends(name: str, column: Number, between: list[Any]) -> tuple[float, float]:
    """Where to cut for a range; of whole numbers and days both ends belong to it."""
    assert column.lower is not None
    assert column.upper is not None
    if isinstance(column, Date):
        first, last = read_moment(between[0]), read_moment(between[1], last=column.time)
    else:
        first, last = (_number(end, "between") for end in between)
    first, last = on_scale(np.array([first, last]), column.scale).tolist()
    step, lead = step_of(column.scale), lead_of(column.scale)
    low = first if first == column.lower else first - lead
    high = min(last + step - lead, column.upper) if step else last
    if not column.lower <= low < high <= column.upper:
        ends = edge_texts([column.lower, column.upper], column.scale)
        raise SettingError(
            f"A range of {name!r} must be between=(a, b) with {ends[0]} <= a < b <= {ends[1]}. Got "
            f"({between[0]!r}, {between[1]!r}) instead."
        )
    return low, high


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


def _find_levels(term: Term, levels: object) -> Bins:
    if not isinstance(term.column, Category):
        raise SettingError(f"Term {term.name!r} is a number and has no levels: use between=(a, b).")
    codes = {level: code for code, level in enumerate(term.column.levels or ())}
    codes.setdefault(OTHER, len(codes))
    if not isinstance(levels, list) or not levels:
        raise SettingError(f"'levels' must be a list of levels. Got {levels!r} instead.")
    for level in levels:
        if not isinstance(level, str | int | float) or level not in codes:
            raise SettingError(
                f"Term {term.name!r} has no level {level!r}: it has {', '.join(map(repr, codes))}."
            )
    return np.array([codes[level] for level in levels])


def _find_outputs(model: EBMModel, output: object) -> Outputs:
    """Positions of the outputs that are meant."""
    if output is None:
        return np.arange(model.outputs)
    classes = model.classes
    if model.link == "softmax":
        if output in classes:  # labels first: they may be numbers too
            return np.array([classes.index(output)])
        if type(output) is int and 0 <= output < len(classes):
            return np.array([output])
        raise SettingError(
            f"The model has no class {output!r}: it has {', '.join(map(repr, classes))}."
        )
    if model.link == "logit" and output == classes[1]:
        return np.array([0])
    whose = f"class {classes[1]!r}" if model.link == "logit" else "the target"
    raise SettingError(
        f"The model has one score, that of {whose}: leave out 'output'. Got {output!r} instead."
    )


def _number(value: object, name: str) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise SettingError(f"{name!r} of an edit must be a finite number. Got {value!r} instead.")
    return number


def _choice(value: object, name: str, yes: str, no: str) -> bool:
    if value != yes and value != no:
        raise SettingError(f"{name!r} of an edit must be {yes!r} or {no!r}. Got {value!r} instead.")
    return bool(value == yes)
