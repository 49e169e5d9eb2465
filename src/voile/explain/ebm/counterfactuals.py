"""What would have to change for another answer of an additive model: exact, and with a verdict.

It follows the model as it is: monotone, edited, with columns taken out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.explain.counterfactuals.goals import Goal, ModelAnswers
from voile.explain.counterfactuals.own import OwnModel
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.counterfactuals.ruler import Ruler, rule_by_counts
from voile.explain.counterfactuals.search import Puzzle
from voile.explain.counterfactuals.suggest import Solved
from voile.explain.counterfactuals.usual import rarest_share
from voile.explain.ebm.moves import encode, regular
from voile.explain.ebm.needs import needs_of
from voile.explain.ebm.smallest_change import find_smallest
from voile.explain.ebm.text import PREDICTION
from voile.explaining import Wish, suggests
from voile.models.ebm.model import EBMModel
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.schema import Number

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]

METHOD = (
    "Exact: nothing with fewer changed columns, and nothing smaller with as many, gives what is "
    "wanted (numbers are rounded to readable ones); every further suggestion is the best that does "
    "not contain an earlier one. Only values where the table has rows are suggested. How many rows "
    "have a value is known from released counts, column by column; of combinations {} judged."
)
"""How it is done, with a place for which combinations are judged."""


@suggests(EBMModel)
def suggest_changes(model: EBMModel, X: object, wish: Wish) -> Counterfactuals:
    """Tell what would have to change in rows for another answer of an additive model."""
    asked = _AskedEBM(model)
    return OwnModel(
        schema=model.schema,
        receipt=model.receipt,
        answers=asked.answers,
        ask=asked.ask,
        ruler=asked.ruler,
        method=METHOD.format("only pairs of the model are" if model.pairs else "none is"),
        solver=asked.solve,
        usual=asked.usual,
        doubt=asked.doubt if asked.knows_errors else None,
        whole=asked.whole,
        among="the rows",
        edits=model.edits,
        unused=model.unused,
    ).suggest(model.own_columns(X), wish)


class _AskedEBM:
    """An additive model as counterfactuals ask it."""

    def __init__(self, model: EBMModel) -> None:
        self.model = model
        self.whole = model.knows_whole_errors
        # Of what people drew, no error is known.
        noisy = any(part.errors.any() for part in model.terms) or any(
            pair.errors.any() for pair in model.pairs
        )
        self.knows_errors = not model.edits and (self.whole or noisy)

    @property
    def base_errors(self) -> Floats:
        """Standard error of the intercept, shape (outputs,)."""
        whole = self.model.whole_intercept_errors
        return np.asarray(self.model.intercept_errors if whole is None else whole)

    @property
    def answers(self) -> ModelAnswers:
        """What it answers with."""
        target = self.model.schema.target
        if isinstance(target, Number):
            assert target.lower is not None
            assert target.upper is not None
            upper, name = target.upper, PREDICTION
            if self.model.exposure is not None:
                upper /= self.model.exposure.lower  # answers are per unit of exposure
                name = f"{PREDICTION} per unit of {self.model.exposure.name}"
            return ModelAnswers("number", (), (name,), target.lower, upper)
        classes = self.model.classes
        return ModelAnswers("probability", classes, tuple(map(str, classes)))

    @property
    def ruler(self) -> Ruler:
        """Sizes by released counts."""
        terms = self.model.terms
        edges = {term.name: term.edges for term in terms if isinstance(term.column, Number)}
        counts = {term.name: regular(term, term.counts) for term in terms}
        return rule_by_counts(self.model.schema, edges, counts, "of the rows")

    def ask(self, columns: Columns, rows: int) -> Floats:
        """Its answers, shape (rows, answers)."""
        found = self.model.respond(self.model.scores(columns))
        return found[:, None] if found.ndim == 1 else found

    def usual(self, row: Mapping[str, float], changed: tuple[str, ...]) -> float:
        """Share of rows where rows are as sparse as at the rarest of some columns' values."""
        shares = []
        for name in changed:
            term = self.model[name]
            counts = np.maximum(regular(term, term.counts), 0.0)
            is_number = isinstance(term.column, Number)
            widths = np.diff(term.edges) if is_number else np.ones(len(counts))
            place = int(term.find_bins(encode(term.column, row[name]))[0])
            if place < len(counts):  # neither missing nor another level
                shares.append(rarest_share(counts, widths, place))
        shares += [
            _rarest_cell(pair, row) for pair in self.model.pairs if set(pair.columns) & set(changed)
        ]
        return min((share for share in shares if not math.isnan(share)), default=math.nan)

    def doubt(self, columns: Columns, rows: int, goal: Goal) -> Floats:
        """By how many standard errors of their scores rows pass what is wanted."""
        scores = self.model.scores(columns)
        squared = np.tile(self.base_errors**2, (rows, 1))
        squared += (self.model.standard_errors(columns) ** 2).sum(axis=1)
        passed = [
            need.lead(scores) / np.sqrt(np.maximum(need.variance(squared), 1e-300))
            for need in needs_of(self.model.link, goal, scores)
        ]
        return np.asarray(np.min(passed, axis=0))

    def solve(self, puzzle: Puzzle, row: Mapping[str, float], most: int) -> Solved:
        """The fewest and smallest changes."""
        return find_smallest(self.model, puzzle, row, self.base_errors, most)


def _rarest_cell(pair: PairTerm, row: Mapping[str, float]) -> float:
    """Share of rows whose cell is as sparse as that of a row; NaN if it is of missing values."""
    widths = np.outer(_widths(pair.first), _widths(pair.second))
    first, second = (
        int(side.find(encode(side.column, row[side.name]))[0]) for side in (pair.first, pair.second)
    )
    if widths[first, second] <= 0:
        return math.nan
    inside = widths > 0
    place = int(inside[:first].sum() + inside[first, :second].sum())
    return rarest_share(np.maximum(pair.counts, 0.0)[inside], widths[inside], place)


def _widths(axis: PairAxis) -> Floats:
    """How much of a column's values each part of a pair's side has; 0 of what is apart."""
    if isinstance(axis.column, Number):
        return np.append(np.diff(axis.edges), 0.0)
    return np.bincount(axis.groups[:-2], minlength=axis.parts).astype(np.float64)
