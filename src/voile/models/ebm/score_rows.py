"""The scores of a model as records: a line per bin of a column, and per cell of a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from voile.models.ebm.model import MISSING, OTHER, EBMModel, Term
from voile.models.ebm.pair_term import PairAxis
from voile.schema import Category, Date, Number
from voile.schema.columns import Column
from voile.schema.value_texts import value_text

HEADER = (
    "term",
    "bin",
    "from",
    "to",
    "level",
    "output",
    "score",
    "standard error",
    "private count",
)

PAIR_HEADER = (
    "pair",
    "first bin",
    "first from",
    "first to",
    "first levels",
    "second bin",
    "second from",
    "second to",
    "second levels",
    "output",
    "score",
    "standard error",
    "private count",
)


@dataclass(frozen=True)
class ScoreRow:
    """One score of a model.

    Attributes
    ----------
    term : str
        Name of the column.
    label : str
        A readable name of the bin.
    lower, upper : float, str or None
        The bin's interval, for a number: lower <= value < upper (in the last bin, <= upper). Of
        dates as ISO 8601 text.
    level : str, int, float, bool or None
        The bin's level, for a category.
    output : object
        The class whose score it is (of two classes: the second); None for regression.
    score, standard_error : float
        In units of the score, and its standard deviation by privacy noise and sampling (by the
        noise alone for models from before).
    count : float
        Privately estimated rows in the bin.
    """

    term: str
    label: str
    lower: float | str | None
    upper: float | str | None
    level: object
    output: object
    score: float
    standard_error: float
    count: float


def score_table(model: EBMModel) -> list[ScoreRow]:
    """All scores: terms in order, their bins in order, and of each bin the outputs."""
    return [
        ScoreRow(
            term=term.name,
            label=label,
            lower=lower,
            upper=upper,
            level=level,
            output=output,
            score=float(term.scores[bin_, column]),
            standard_error=float(term.errors[bin_, column]),
            count=float(term.counts[bin_]),
        )
        for term in model.terms
        for bin_, (label, lower, upper, level) in enumerate(_bins(term))
        for column, output in enumerate(outputs_of(model))
    ]


def _bins(term: Term) -> list[tuple[str, float | str | None, float | str | None, object]]:
    """Label, lower and upper end, and level of each bin."""
    if isinstance(term.column, Number):
        ends = _interval_ends(term.edges.tolist(), term.column)
        return [(label, *end, None) for label, end in zip(term.labels, ends, strict=True)]
    levels = [*(term.column.levels or ()), None, None]
    return [(label, None, None, level) for label, level in zip(term.labels, levels, strict=True)]


def _interval_ends(edges: Sequence[float], column: Column) -> list[tuple[Any, Any]]:
    """Lower and upper end of each interval, and none of missing values."""
    texts: list[Any] = list(edges)
    if isinstance(column, Date):
        texts = [value_text(edge, "time").replace(" ", "T") for edge in edges]
    return [*pairwise(texts), (None, None)]


def outputs_of(model: EBMModel) -> tuple[object, ...]:
    """Whose scores the outputs are."""
    match model.link:
        case "identity" | "log":
            return (None,)
        case "logit":
            return model.classes[1:]
        case "softmax":
            return model.classes


@dataclass(frozen=True)
class PairRow:
    """One score of a pair of columns.

    Attributes
    ----------
    pair : str
        Names of both columns.
    label, second_label : str
        A readable name of the part of each column.
    lower, upper, second_lower, second_upper : float, str or None
        The part's interval, for a number: see `ScoreRow`.
    levels, second_levels : str, int, float, bool or None
        The part's level, for a category; as text all of them, if they are several.
    output, score, standard_error, count
        As in `ScoreRow`.
    """

    pair: str
    label: str
    lower: float | str | None
    upper: float | str | None
    levels: object
    second_label: str
    second_lower: float | str | None
    second_upper: float | str | None
    second_levels: object
    output: object
    score: float
    standard_error: float
    count: float


def pair_table(model: EBMModel) -> list[PairRow]:
    """All scores of pairs: cells row by row, and of each cell the outputs."""
    return [
        PairRow(
            pair.name,
            *part,
            *other,
            output,
            score=float(pair.scores[i, j, column]),
            standard_error=float(pair.errors[i, j, column]),
            count=float(pair.counts[i, j]),
        )
        for pair in model.pairs
        for i, part in enumerate(_parts(pair.first))
        for j, other in enumerate(_parts(pair.second))
        for column, output in enumerate(outputs_of(model))
    ]


def _parts(axis: PairAxis) -> list[tuple[str, Any, Any, object]]:
    """Label, lower and upper end, and levels of each part of a side."""
    if isinstance(axis.column, Category):
        levels = axis.column.levels or ()
        names = [*levels, OTHER, MISSING]
        members: list[list[int]] = [[] for _ in range(axis.parts)]
        for code, part in enumerate(axis.groups.tolist()):
            members[part].append(code)
        listed: list[object] = []
        for codes in members:
            if len(codes) > 1:
                listed.append(", ".join(str(names[code]) for code in codes))
            else:
                listed.append(levels[codes[0]] if codes[0] < len(levels) else None)
        return [(label, None, None, one) for label, one in zip(axis.labels, listed, strict=True)]
    ends = _interval_ends(axis.edges.tolist(), axis.column)
    return [(label, *end, None) for label, end in zip(axis.labels, ends, strict=True)]
