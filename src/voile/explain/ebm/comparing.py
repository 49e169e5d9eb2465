"""Which bins of a term are compared, and how many comparisons a reader could have made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from voile.arrays import Floats
from voile.errors import SettingError
from voile.explain.comparison import Comparison
from voile.schema.dates import read_moment
from voile.schema.scale import lead_of, step_of
from voile.schema.value_texts import edge_texts, value_text

if TYPE_CHECKING:
    from voile.explain.ebm.overall import EBMExplanation
    from voile.explain.ebm.term import ExplainedTerm


def compare(
    explanation: EBMExplanation, term: ExplainedTerm, first: object, second: object
) -> Comparison:
    """Compare two levels, values or ranges of a term (docs/proofs/verdicts.md)."""
    evidence = term.evidence
    if evidence is None:
        why = (
            "people edited it after training: compare in the model before the edits"
            if term.verdict == "edited"
            else "its model does not hold the sampling error: train it anew with this version"
        )
        raise SettingError(f"Nothing of column {term.name!r} can be compared, because {why}.")
    (one, told), (other, told_other) = (_find(term, side) for side in (first, second))
    if np.array_equal(one, other):
        raise SettingError(
            f"{told} and {told_other} of column {term.name!r} are the same part of the model: "
            f"give two that differ."
        )
    found = [evidence.differ(one - other, k) for k in range(len(explanation.outputs))]
    values, noise, sampling = (np.array(column) for column in zip(*found, strict=True))
    single = len(explanation.outputs) == 1
    return Comparison.of(
        column=term.name,
        sides=(told, told_other),
        outputs=explanation.outputs,
        units=explanation.units if single else "log-odds of a class against all others",
        differences=values,
        variances=(noise**2, sampling**2),
        compared=_pairs(term, one, other) * len(explanation.terms) * len(explanation.outputs),
        together=tuple(
            name
            for pair in explanation.pairs
            if term.name in pair.names
            for name in pair.names
            if name != term.name
        ),
    )


def _find(term: ExplainedTerm, asked: object) -> tuple[Floats, str]:
    """Weights of the bins that are meant, which add up to 1, and their name."""
    weights = np.zeros(len(term.labels))
    if isinstance(asked, np.generic) and not isinstance(asked, np.datetime64):
        asked = asked.item()
    apart = term.labels[term.regular :]
    if term.kind == "category" or asked in apart:
        name = str(asked)
        if name not in term.labels:
            known = ", ".join(map(repr, term.labels if term.kind == "category" else apart))
            raise SettingError(f"Column {term.name!r} has no level {asked!r}: it has {known}.")
        weights[term.labels.index(name)] = 1.0
        return weights, name
    low, high = _range(term, asked)
    if low == high:
        place = min(int(np.searchsorted(term.edges[1:-1], low, "right")), term.regular - 1)
        weights[place] = 1.0
        return weights, term.labels[place]
    texts = edge_texts([low, high], term.scale)
    lower, upper = term.edges[:-1], term.edges[1:]
    # Of whole numbers and days, both ends of a range belong to it.
    step, lead = step_of(term.scale), lead_of(term.scale)
    low, high = max(low - lead, lower[0]), min(high + step - lead, upper[-1])
    inside = np.clip(np.minimum(upper, high) - np.maximum(lower, low), 0.0, None) / (upper - lower)
    # Of a bin that the range cuts through, the rows are taken to lie evenly.
    rows = inside * np.maximum(term.counts[: term.regular], 1.0)
    weights[: term.regular] = rows / rows.sum()
    return weights, f"{texts[0]} to {texts[1]}"


def _range(term: ExplainedTerm, asked: object) -> tuple[float, float]:
    """The two ends that are meant; the same twice for a single value."""
    pair = [asked, asked]
    if isinstance(asked, Sequence) and not isinstance(asked, str) and len(asked) == 2:
        pair = list(asked)
    ends = [_number(term, end, last=end is not asked and i == 1) for i, end in enumerate(pair)]
    low, high = float(term.edges[0]), float(term.edges[-1])
    if not low <= ends[0] <= ends[1] <= high or (pair[0] is not asked and ends[0] == ends[1]):
        first, last = (value_text(end, term.scale, digits=6) for end in (low, high))
        quote = "'" if term.scale in ("day", "time") else ""
        raise SettingError(
            f"Of column {term.name!r}, give a value, or a range such as ({quote}{first}{quote}, "
            f"{quote}{last}{quote}) from a smaller to a larger one within these bounds. Got "
            f"{asked!r} instead."
        )
    return ends[0], ends[1]


def _number(term: ExplainedTerm, given: object, *, last: bool) -> float:
    """A value of a number or date as a float; NaN if it is none."""
    if term.scale in ("day", "time"):
        return read_moment(given, last=last and term.scale == "time")
    plain = isinstance(given, (int, float)) and not isinstance(given, bool)
    return float(given) if plain else math.nan  # type: ignore[arg-type]


def _pairs(term: ExplainedTerm, one: Floats, other: Floats) -> float:
    """How many comparisons as fine as this one a reader of the term could make."""
    if term.kind == "category":
        return len(term.labels) * (len(term.labels) - 1) / 2
    if all(np.count_nonzero(side) == 1 for side in (one, other)):
        return len(term.labels) * (len(term.labels) - 1.0)  # half of the level is for bins
    counts = np.maximum(term.counts, 0.0)
    whole = max(float(counts.sum()), 1.0)
    least = min(float(counts[side > 0].sum()) for side in (one, other))
    # Parts of the table as small as the smaller side, in steps of two; step l has 6 / (pi l)^2 of
    # the level, and a range may begin within a part, too.
    steps = max(1, math.ceil(math.log2(max(whole / max(least, 1.0), 2.0)) - 0.01))
    parts = min(2.0**steps, float(len(term.labels)))
    return 2.0 * (math.pi * steps) ** 2 / 6 * parts * (parts - 1) / 2
