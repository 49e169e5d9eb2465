"""Explanations of an additive model: its terms, and what they add for single rows.

Everything here is computed from the released scores of the model and from rows that the caller
holds anyway, so it costs nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import CLASS_SCORE, LOG_UNIT, PREDICTION
from voile.explain.given_values import tell_rows
from voile.explaining import explains
from voile.models.ebm.model import EBMModel, Term
from voile.models.history import Edit
from voile.models.verdict import allow_for_many, judge
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number


@explains(EBMModel)
def explain_global(model: EBMModel) -> EBMExplanation:
    """Show a whole model: the shape of every term, with its noise and its importance."""
    return EBMExplanation(
        outputs=_outputs(model),
        units=_units(model),
        receipt=model.receipt,
        edits=model.edits,
        history=_history(model),
        terms=_judge_terms(tuple(_explain_term(model, term) for term in model.terms)),
        intercept=model.intercept,
        intercept_errors=_intercept_errors(model),
    )


def _intercept_errors(model: EBMModel) -> NDArray[np.float64]:
    whole = model.whole_intercept_errors
    return model.intercept_errors if whole is None else whole


def _judge_terms(terms: tuple[ExplainedTerm, ...]) -> tuple[ExplainedTerm, ...]:
    """Terms with their verdicts, which allow for having looked at all of them."""
    tested = [k for k, term in enumerate(terms) if term.evidence is not None]
    p_values = [evidence.p_value() for term in terms if (evidence := term.evidence) is not None]
    allowed = dict(zip(tested, allow_for_many(p_values).tolist(), strict=True))
    return tuple(
        replace(term, p_value=allowed[k], verdict=judge(allowed[k])) if k in allowed else term
        for k, term in enumerate(terms)
    )


def _history(model: EBMModel) -> tuple[Edit, ...]:
    return () if model.history == model.edits else model.history


@explains(EBMModel, rows=True)
def explain_local(model: EBMModel, X: object) -> EBMLocalExplanation:
    """Show what each feature added to the scores of some rows.

    Parameters
    ----------
    model : EBMModel
    X : data frame, array, mapping or list of rows, shape (rows, columns)
        Rows that the caller holds; they are not kept behind the vault.

    Returns
    -------
    EBMLocalExplanation
        Base values and contributions add up to the model's scores. The standard error of a score
        takes the errors of different terms (and of the intercept) to be independent. That is an
        approximation: in training, each term is fitted to what the noised terms before it left.
    """
    # Who is protected matters in training alone: rows to explain need not say whose they are.
    schema, X = model.schema.with_unit(None), model.own_columns(X)
    columns = encode_public(X, schema, may_lack=model.unused)
    errors = np.stack(
        [term.errors[term.find_bins(columns[term.name])] for term in model.terms], axis=1
    )
    scores = model.scores(columns)
    given, read_as = tell_rows(schema, X, columns)
    return EBMLocalExplanation(
        outputs=_outputs(model),
        units=_units(model),
        receipt=model.receipt,
        edits=model.edits,
        history=_history(model),
        features=tuple(term.name for term in model.terms),
        given=given,
        read_as=read_as,
        values=model.contributions(columns),
        standard_errors=errors,
        base_values=model.intercept,
        base_errors=(base_errors := _intercept_errors(model)),
        scores=scores,
        score_errors=np.sqrt(base_errors**2 + (errors**2).sum(axis=1)),
        whole=all(term.whole_errors is not None for term in model.terms),
        predictions=model.respond(scores),
        classes=tuple(map(str, model.classes)),
    )


def _outputs(model: EBMModel) -> tuple[str, ...]:
    if model.objective == "quantile":
        return (f"quantile {model.quantile:g}",)
    if not model.classes:
        return (PREDICTION,)
    classes = tuple(map(str, model.classes))
    return classes[1:] if model.link == "logit" else classes


def _units(model: EBMModel) -> str:
    if model.link == "identity":
        return "the target's unit"
    if model.link == "log":
        return LOG_UNIT
    return "log-odds" if model.link == "logit" else CLASS_SCORE


def _explain_term(model: EBMModel, term: Term) -> ExplainedTerm:
    column = term.column
    number = isinstance(column, Number)
    return ExplainedTerm(
        name=term.name,
        kind="number" if number else "category",
        scale=column.scale if isinstance(column, Number) else "number",
        ordered=isinstance(column, Category) and column.ordered,
        edges=term.edges if number else np.empty(0),
        labels=term.labels,
        scores=term.scores,
        standard_errors=term.errors,
        noise_errors=None if term.whole_errors is None else term.standard_errors,
        evidence=term.evidence,
        verdict="edited" if _is_edited(model, term) else "not known",
        counts=term.counts,
        count_errors=term.count_errors,
        importance=term.importance,
        original=_original_scores(model, term),
    )


def _is_edited(model: EBMModel, term: Term) -> bool:
    return any(edit.term == term.name for edit in model.edits)


def _original_scores(model: EBMModel, term: Term) -> NDArray[np.float64] | None:
    """Scores as trained for the bins of today, or None if the term is as it was trained."""
    if model.original is None:
        return None
    was = model.original[term.name]
    scores = was.scores
    if isinstance(term.column, Number):
        # Edits may have cut intervals in two; each part lies within one of the old intervals.
        edges = term.edges
        bins = was.find_bins(edges[:-1] + np.diff(edges) / 2)
        scores = scores[[*bins, was.bins - 1]]
    return None if np.array_equal(scores, term.scores) else scores
