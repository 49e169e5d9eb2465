"""Knowing an explainer again whose answers are stored: the same settings, and the same model."""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.errors import LedgerMismatch, SettingError
from voile.explain.of_blackbox.questions import Questions
from voile.explain.of_blackbox.settings import Settings
from voile.privacy.budget import Budget
from voile.privacy.ledger.answers import AnswerBook
from voile.schema import Schema

_MODEL = "model"


def check_settings(
    book: AnswerBook, name: str, settings: Settings, budget: Budget, schema: Schema
) -> None:
    """Refuse a name under which another explainer keeps its answers (LedgerMismatch)."""
    offered: dict[str, Any] = {
        "strategy": settings.strategy,
        "epsilon": None if budget.unlimited else budget.epsilon,
        "delta": budget.delta,
        "schema": schema.to_dict(),
    }
    if settings.strategy != "summary":
        # A summary serves any of these.
        offered |= {
            "weight": settings.weight.name,
            "radius": settings.radius,
            "intercept": settings.intercept,
            "queries": settings.queries,
            "steps": settings.steps,
            "parts": settings.parts,
            "faithful": settings.faithful,
        }
    if settings.strategy == "offline":
        # It answers from what another strategy has answered.
        if not book.find([_MODEL]):
            raise SettingError(
                f"Nothing was answered as {name!r} in this ledger, so there is nothing to answer "
                "from: strategy='offline' needs the name and ledger of an earlier explainer."
            )
        offered = {key: offered[key] for key in ("schema", "weight", "radius", "intercept")}
    stored = book.facts(offered)
    wrong = [key for key in offered if stored.get(key) != offered[key]]
    if wrong:
        raise LedgerMismatch(
            f"Another explainer keeps its answers as {name!r} in this ledger (it differs in "
            f"{', '.join(wrong)}): give this one another name, or make it as the first was."
        )


def check_model(book: AnswerBook, questions: Questions) -> None:
    """Refuse another model than the one whose answers are kept under this name (LedgerMismatch)."""
    found = questions.fingerprint()
    stored = book.store({_MODEL: found})[_MODEL]
    if np.shape(stored) != np.shape(found) or not np.allclose(stored, found, atol=1e-3):
        raise LedgerMismatch(
            "The model answers otherwise than the one whose explanations are kept under this name: "
            "give the explainer another name."
        )
