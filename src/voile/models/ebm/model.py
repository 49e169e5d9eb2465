"""A trained additive model: frozen tables of scores, all of them released values.

The prediction for a row is ``intercept + sum of one score per term``, read through a link: the
identity or the exponential function (regression), the logistic function (two classes) or softmax
(more). Nothing here has seen
a row, so reading, editing and storing a model costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from voile.errors import SchemaError
from voile.models.ebm import objectives
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.kernels import add_scores
from voile.models.ebm.objectives import Exposure, Objective
from voile.models.ebm.pair_term import PairTerm, pair_name
from voile.models.history import Edit
from voile.privacy.cut_kernels import CutSearch
from voile.privacy.receipt import Receipt
from voile.schema import Category, Number, Schema
from voile.schema.columns import Column
from voile.schema.value_texts import interval_texts

Link = objectives.Link

OTHER, MISSING = "(other)", "(missing)"
"""Names of the bins for levels that are not listed and for missing values."""


_SCORES_AT_ONCE, _FEWEST_AT_ONCE = 16_384, 256


@dataclass(frozen=True, eq=False)
class Term:
    """The part of one column: a score for each of its bins.

    Bins of a number are the intervals between ``cuts`` (a value equal to a cut belongs to the
    right), then missing. Bins of a category are its levels, then other, then missing.

    Attributes
    ----------
    name : str
        Name of the column.
    column : Number or Category
        Its public (or privately found) bounds or levels.
    cuts : ndarray of shape (intervals - 1,)
        Inner cut points, increasing; empty for a category.
    scores : ndarray of shape (bins, outputs)
        In units of the score: log-odds (classification), the target's own (regression), or the log
        of the target (counts and amounts).
    standard_errors : ndarray of shape (bins, outputs)
        Standard deviation of each score by the privacy noise.
    counts, count_errors : ndarray of shape (bins,)
        Privately estimated rows per bin (>= 0), and their standard deviation by the noise.
    whole_errors : ndarray of shape (bins, outputs), or None
        Standard deviation of each score by noise, sampling and smoothing together; None if only
        the noise is known.
    evidence : TermEvidence or None
        What tests of the term rest on; None if it is not known, or people edited the term.
    """

    name: str
    column: Column
    cuts: NDArray[np.float64]
    scores: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    counts: NDArray[np.float64]
    count_errors: NDArray[np.float64]
    whole_errors: NDArray[np.float64] | None = None
    evidence: TermEvidence | None = None

    @property
    def errors(self) -> NDArray[np.float64]:
        """Standard deviations of the scores, as whole as they are known."""
        return self.standard_errors if self.whole_errors is None else self.whole_errors

    @property
    def bins(self) -> int:
        """Number of bins, those for other and missing values included."""
        return len(self.scores)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Borders of a number's intervals, bounds included: one more than intervals."""
        if not isinstance(self.column, Number):
            raise SchemaError(f"Column {self.name!r} is a category and has levels, not edges.")
        return np.array([self.column.lower, *self.cuts, self.column.upper], dtype=np.float64)

    @property
    def labels(self) -> tuple[str, ...]:
        """A readable name for each bin."""
        if isinstance(self.column, Category):
            return (*(str(level) for level in self.column.levels or ()), OTHER, MISSING)
        return (*interval_texts(self.edges.tolist(), self.column.scale), MISSING)

    @property
    def importance(self) -> NDArray[np.float64]:
        """Mean absolute score over the private distribution of the column, one per output."""
        total = self.counts.sum()
        if total <= 0:
            return np.asarray(np.abs(self.scores).mean(axis=0))
        return np.asarray(self.counts @ np.abs(self.scores) / total)

    def find_bins(self, values: NDArray[np.float64] | NDArray[np.int32]) -> NDArray[np.int64]:
        """Bin of each encoded value (numbers: NaN is missing; categories: codes)."""
        if isinstance(self.column, Category):
            return np.minimum(values.astype(np.int64), self.bins - 1)
        found = np.empty(len(values), dtype=np.int64)
        self._search.find(np.asarray(values, dtype=np.float64), self.bins - 1, found)
        return found

    @cached_property
    def _search(self) -> CutSearch:
        return CutSearch.of(self.cuts)


@dataclass(frozen=True, eq=False)
class EBMModel:
    """A trained additive model.

    Attributes
    ----------
    terms : tuple of Term
        In the order of the schema's columns.
    intercept, intercept_errors : ndarray of shape (outputs,)
        Score of an average row, and its standard deviation by the noise.
    link : {"identity", "log", "logit", "softmax"}
        Outputs are 1, 1, 1 and the number of classes.
    schema : Schema
        Complete: with everything that was found privately.
    receipt : Receipt
        The privacy guarantee; edits do not change it.
    edits : tuple of Edit
        What people changed afterwards and is in force, in order.
    original : EBMModel or None
        The model as it was trained, if it was edited since.
    history : tuple of Edit
        Everything that people did to it, in order: also edits that are in force no more, and what
        took them back. The same as `edits` if nothing ever was.
    whole_intercept_errors : ndarray of shape (outputs,), or None
        Standard deviation of the intercept by noise and sampling together, if it is known.
    pairs : tuple of PairTerm
        What pairs of columns add beyond their own terms.
    objective : Objective
        What a regression tells: the mean, or a quantile.
    quantile : float
        Which one, if it is one.
    exposure : Exposure or None
        What predictions are per unit of.
    """

    terms: tuple[Term, ...]
    intercept: NDArray[np.float64]
    intercept_errors: NDArray[np.float64]
    link: Link
    schema: Schema
    receipt: Receipt
    edits: tuple[Edit, ...] = ()
    original: EBMModel | None = None
    history: tuple[Edit, ...] = ()
    whole_intercept_errors: NDArray[np.float64] | None = None
    pairs: tuple[PairTerm, ...] = ()
    objective: Objective = "squared"
    quantile: float = 0.5
    exposure: Exposure | None = None

    def __post_init__(self) -> None:
        if not self.history:
            object.__setattr__(self, "history", self.edits)

    @property
    def outputs(self) -> int:
        """Scores per row: 1, or the number of classes if there are more than two."""
        return len(self.intercept)

    @property
    def rows_at_once(self) -> int:
        """Rows whose scores fit into the processor's cache, and are best asked for together."""
        return max(_SCORES_AT_ONCE // self.outputs, _FEWEST_AT_ONCE)

    @property
    def classes(self) -> tuple[object, ...]:
        """Classes in the order of the outputs (two for a logit); empty for regression."""
        target = self.schema.target
        return tuple(target.levels or ()) if isinstance(target, Category) else ()

    @property
    def rows_schema(self) -> Schema:
        """The columns that rows to be judged have: those of the terms, and the exposure."""
        return self.schema if self.exposure is None else self.exposure.join(self.schema)

    def own_columns(self, X: object) -> object:
        """Rows without the exposure, where its column has a place but no name."""
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if self.exposure is None or hasattr(X, "columns") or len(shape) != 2:
            return X
        if shape[1] != len(self.schema) + 1:
            return X
        return np.delete(np.asarray(X), self.exposure.place, axis=1)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of columns that people took out, so that rows need not have them.

        Every score is 0, also in pairs: a column that does something in a pair is still needed.
        """
        dropped = {edit.term for edit in self.edits if edit.what == "drop"}
        used = {name for pair in self.pairs if pair.scores.any() for name in pair.columns}
        return tuple(
            term.name
            for term in self.terms
            if term.name in dropped - used and not term.scores.any()
        )

    def __getitem__(self, name: str) -> Term:
        for term in self.terms:
            if term.name == name:
                return term
        raise SchemaError(
            f"The model has no term {name!r}: it has {', '.join(repr(t.name) for t in self.terms)}."
        )

    @property
    def knows_whole_errors(self) -> bool:
        """Whether errors hold the sampling error, not the privacy noise alone."""
        return all(term.whole_errors is not None for term in self.terms) and all(
            pair.whole_errors is not None for pair in self.pairs
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all terms, then of all pairs."""
        return (*(term.name for term in self.terms), *(pair.name for pair in self.pairs))

    def pair(self, first: str, second: str) -> PairTerm:
        """The term of two columns together, named in either order."""
        for pair in self.pairs:
            if pair.columns in ((first, second), (second, first)):
                return pair
        known = ", ".join(repr(pair.name) for pair in self.pairs) or "(there are none)"
        raise SchemaError(
            f"The model has no pair {pair_name(first, second)!r}: its pairs are {known}."
        )

    def with_pair(self, pair: PairTerm) -> EBMModel:
        """The same model with one pair replaced."""
        self.pair(*pair.columns)
        return replace(
            self, pairs=tuple(pair if one.columns == pair.columns else one for one in self.pairs)
        )

    def with_term(self, term: Term) -> EBMModel:
        """The same model with one term replaced."""
        self[term.name]
        return replace(
            self, terms=tuple(term if one.name == term.name else one for one in self.terms)
        )

    def contributions(
        self, columns: Mapping[str, NDArray[np.float64] | NDArray[np.int32]]
    ) -> NDArray[np.float64]:
        """What each term and each pair adds to each row's score.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            Encoded public rows (`voile.privacy.public_rows.encode_public`).

        Returns
        -------
        ndarray of shape (rows, terms + pairs, outputs)
            In the order of `parts`.
        """
        parts = [term.scores[term.find_bins(columns[term.name])] for term in self.terms]
        parts += [self._of_pair(pair, columns) for pair in self.pairs]
        return np.stack(parts, axis=1)

    def standard_errors(
        self, columns: Mapping[str, NDArray[np.float64] | NDArray[np.int32]]
    ) -> NDArray[np.float64]:
        """Standard deviation of each contribution, as whole as it is known, in the same shape."""
        parts = [term.errors[term.find_bins(columns[term.name])] for term in self.terms]
        for pair in self.pairs:
            cells = pair.find_cells(*(columns[name] for name in pair.columns))
            parts.append(pair.errors[cells])
        return np.stack(parts, axis=1)

    def _of_pair(
        self, pair: PairTerm, columns: Mapping[str, NDArray[np.float64] | NDArray[np.int32]]
    ) -> NDArray[np.float64]:
        """What a pair adds to each row's score, shape (rows, outputs)."""
        cells = pair.find_cells(*(columns[name] for name in pair.columns))
        return np.asarray(pair.scores[cells])

    def scores(
        self, columns: Mapping[str, NDArray[np.float64] | NDArray[np.int32]]
    ) -> NDArray[np.float64]:
        """Score of each row, shape (rows, outputs): the intercept and all contributions."""
        rows = len(columns[self.terms[0].name])
        result = np.tile(self.intercept, (rows, 1))
        for term in self.terms:
            add_scores(term.find_bins(columns[term.name]), term.scores, result)
        for pair in self.pairs:
            first, second = pair.find_cells(*(columns[name] for name in pair.columns))
            cells = first * pair.second.parts + second
            add_scores(cells, pair.scores.reshape(-1, self.outputs), result)
        return result

    def respond_to(
        self, scores: NDArray[np.float64], exposures: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Predictions for rows of some exposures, inside the target's bounds, shape (rows,)."""
        assert self.exposure is not None
        target = self.schema.target
        assert isinstance(target, Number)
        units = np.clip(exposures, self.exposure.lower, self.exposure.upper)
        return np.clip(self.respond(scores) * units, target.lower, target.upper)

    def respond(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores read through the link.

        Returns
        -------
        ndarray
            Regression: shape (rows,), inside the target's bounds, or per unit of exposure.
            Classification: probabilities of shape (rows, classes).
        """
        target = self.schema.target
        if self.link == "identity":
            assert isinstance(target, Number)
            return np.clip(scores[:, 0], target.lower, target.upper)
        if self.link == "log":
            assert isinstance(target, Number)
            rates = np.exp(np.minimum(scores[:, 0], 700.0))
            if self.exposure is not None:
                return np.asarray(rates)  # of one unit of exposure, which no row may have
            return np.clip(rates, target.lower, target.upper)
        if self.link == "logit":
            positive = expit(scores[:, 0])
            return np.column_stack([1.0 - positive, positive])
        return np.asarray(softmax(scores, axis=1))
