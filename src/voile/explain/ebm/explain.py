"""Explanations of an additive model: its terms and pairs, and what they add for single rows.

Everything here is computed from the released scores of the model and from rows that the caller
holds anyway, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.explain.ebm.factors import LOG_UNIT
from voile.explain.ebm.local import EBMLocalExplanation
from voile.explain.ebm.overall import EBMExplanation, Part
from voile.explain.ebm.pair import ExplainedPair, ExplainedSide
from voile.explain.ebm.term import ExplainedTerm
from voile.explain.ebm.text import CLASS_SCORE, PREDICTION
from voile.explain.given_values import hold_texts
from voile.explaining import explains
from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.pair_evidence import PairEvidence
from voile.models.ebm.pair_term import PairAxis, PairTerm
from voile.models.history import Edit
from voile.models.verdict import allow_for_many, judge
from voile.privacy.public_rows import encode_public
from voile.schema import Category, Number


@explains(EBMModel)
def explain_global(model: EBMModel) -> EBMExplanation:
    """Show a whole model: the shape of every term and pair, with its noise and its importance."""
    terms = [_explain_term(model, term) for term in model.terms]
    pairs = [_explain_pair(model, pair) for pair in model.pairs]
    evidences = [*(term.evidence for term in model.terms), *(pair.evidence for pair in model.pairs)]
    judged = _judge_all([*terms, *pairs], evidences)
    return EBMExplanation(
        outputs=_outputs(model),
        units=_units(model),
        receipt=model.receipt,
        edits=model.edits,
        history=_history(model),
        terms=tuple(part for part in judged if isinstance(part, ExplainedTerm)),
        pairs=tuple(part for part in judged if isinstance(part, ExplainedPair)),
        intercept=model.intercept,
        intercept_errors=_intercept_errors(model),
    )


def _intercept_errors(model: EBMModel) -> NDArray[np.float64]:
    whole = model.whole_intercept_errors
    return model.intercept_errors if whole is None else whole


def _judge_all(
    parts: Sequence[Part], evidences: Sequence[TermEvidence | PairEvidence | None]
) -> list[Part]:
    """Terms and pairs with their verdicts, which allow for having looked at all of them."""
    p_values = {
        k: evidence.p_value()
        for k, (part, evidence) in enumerate(zip(parts, evidences, strict=True))
        if evidence is not None and part.verdict != "edited"
    }
    found = allow_for_many(list(p_values.values()))
    allowed = dict(zip(p_values, found.tolist(), strict=True))
    return [
        replace(part, p_value=allowed[k], verdict=judge(allowed[k])) if k in allowed else part
        for k, part in enumerate(parts)
    ]


def _history(model: EBMModel) -> tuple[Edit, ...]:
    return () if model.history == model.edits else model.history


@explains(EBMModel, rows=True)
def explain_local(model: EBMModel, X: object) -> EBMLocalExplanation:
    """Show what each column, and each pair of columns, added to the scores of some rows.

    Parameters
    ----------
    model : EBMModel
    X : data frame, array, mapping or list of rows, shape (rows, columns)
        Rows that the caller holds; they are not kept behind the vault.

    Returns
    -------
    EBMLocalExplanation
        Base values and contributions add up to the model's scores. The standard error of a score
        takes the errors of different terms and pairs (and of the intercept) to be independent. That
        is an approximation: in training, each is fitted to what the noised ones before it left.
    """
    # Who is protected matters in training alone: rows to explain need not say whose they are.
    schema, X = model.schema.with_unit(None), model.own_columns(X)
    columns = encode_public(X, schema, may_lack=model.unused)
    errors = model.standard_errors(columns)
    scores = model.scores(columns)
    given, read_as = hold_texts(schema, X, columns, [pair.columns for pair in model.pairs])
    return EBMLocalExplanation(
        outputs=_outputs(model),
        units=_units(model),
        receipt=model.receipt,
        edits=model.edits,
        history=_history(model),
        features=model.parts,
        given=given,
        read_as=read_as,
        values=model.contributions(columns),
        standard_errors=errors,
        base_values=model.intercept,
        base_errors=(base_errors := _intercept_errors(model)),
        scores=scores,
        score_errors=np.sqrt(base_errors**2 + (errors**2).sum(axis=1)),
        whole=model.knows_whole_errors,
        predictions=model.respond(scores),
        classes=tuple(map(str, model.classes)),
    )


def _outputs(model: EBMModel) -> tuple[str, ...]:
    if model.objective == "quantile":
        return (f"quantile {model.quantile:g}",)
    if not model.classes:
        per = "" if model.exposure is None else f" per unit of {model.exposure.name}"
        return (PREDICTION + per,)
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


def _explain_pair(model: EBMModel, pair: PairTerm) -> ExplainedPair:
    original = _original_cells(model, pair)
    edited = _is_edited(model, pair) or original is not None
    return ExplainedPair(
        first=_explain_side(pair.first),
        second=_explain_side(pair.second),
        scores=pair.scores,
        standard_errors=pair.errors,
        noise_errors=None if pair.whole_errors is None else pair.standard_errors,
        verdict="edited" if edited else "not known",
        counts=pair.counts,
        count_errors=pair.count_errors,
        importance=pair.importance,
        original=original,
    )


def _explain_side(axis: PairAxis) -> ExplainedSide:
    column = axis.column
    return ExplainedSide(
        name=axis.name,
        scale=column.scale if isinstance(column, Number) else "number",
        edges=axis.edges,
        labels=axis.labels,
    )


def _is_edited(model: EBMModel, part: Term | PairTerm) -> bool:
    return any(edit.term == part.name for edit in model.edits)


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


def _original_cells(model: EBMModel, pair: PairTerm) -> NDArray[np.float64] | None:
    """Scores of a pair as trained for the cells of today, or None if it is as it was trained."""
    if model.original is None:
        return None
    was = model.original.pair(*pair.columns)
    sides = (pair.first, pair.second) if was.columns == pair.columns else (pair.second, pair.first)
    scores = was.scores[
        np.ix_(was.first.find(_within(sides[0])), was.second.find(_within(sides[1])))
    ]
    scores = scores if was.columns == pair.columns else scores.swapaxes(0, 1)
    return None if np.array_equal(scores, pair.scores) else scores


def _within(axis: PairAxis) -> NDArray[np.float64] | NDArray[np.int32]:
    """An encoded value of each part of a pair's side."""
    if isinstance(axis.column, Number):
        return np.append(axis.edges[:-1] + np.diff(axis.edges) / 2, np.nan)
    return np.array([np.argmax(axis.groups == part) for part in range(axis.parts)], dtype=np.int32)
