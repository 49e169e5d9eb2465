"""Verdicts on the pairs of a model, which allow for having looked at all its terms and pairs."""

from __future__ import annotations

from voile.models.ebm.model import EBMModel
from voile.models.verdict import ColumnVerdict, allow_for_many, judge


def judge_pairs(model: EBMModel) -> tuple[ColumnVerdict, ...]:
    """The verdict on each pair, in their order; "edited" where people changed one."""
    columns = [term.evidence for term in model.terms]
    pairs = [pair.evidence for pair in model.pairs]
    known = [one.p_value() for one in (*columns, *pairs) if one is not None]
    allowed = iter(allow_for_many(known).tolist()[len(known) - sum(p is not None for p in pairs) :])
    return tuple("edited" if one is None else judge(next(allowed)) for one in pairs)
