"""Knowing an explainer again whose answers are stored: the same settings, and the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from voile.errors import LedgerMismatch, SettingError
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.answers.seal import Seals
from voile.explain.blackbox.settings import Settings
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.answer_key import open_key
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
            "shared_questions": settings.shared_questions,
        }
    if settings.strategy == "offline":
        # It answers from what another strategy has answered.
        if not book.find([_MODEL]):
            raise SettingError(
                f"Nothing was answered as {name!r} in this ledger, so there is nothing to answer "
                "from: strategy='offline' needs the name and ledger of an earlier explainer."
            )
        kept = ("schema", "weight", "radius", "intercept", "shared_questions")
        offered = {key: offered[key] for key in kept}
    stored = book.facts(offered)
    wrong = [key for key in offered if stored.get(key) != offered[key]]
    if wrong:
        raise LedgerMismatch(
            f"Another explainer keeps its answers as {name!r} in this ledger (it differs in "
            f"{', '.join(wrong)}): give this one another name, or make it as the first was."
        )


def open_seals(
    ledger: Ledger, book: AnswerBook, name: str, key: str | Path | None, settings: Settings
) -> Seals:
    """The seals of an explainer's answers, before anything is paid (LedgerMismatch for others)."""
    stored = book.find([_MODEL]).get(_MODEL)
    secret = open_key(ledger, key, make=stored is None)
    seals = Seals.of(secret, ledger.dataset, name, shared=settings.shared_questions)
    if stored is not None:
        _open_model(stored, seals)
    return seals


def check_model(book: AnswerBook, questions: Questions, seals: Seals) -> None:
    """Refuse another model than the one whose answers are kept under this name (LedgerMismatch)."""
    found = np.array(questions.fingerprint())
    # Sealed, too: what a model says may be nobody else's business.
    record = {"mark": seals.mark, "sealed": seals.close(found.astype("<f8").tobytes())}
    stored = np.frombuffer(_open_model(book.store({_MODEL: record})[_MODEL], seals), "<f8")
    if stored.shape != found.ravel().shape or not np.allclose(stored, found.ravel(), atol=1e-3):
        raise LedgerMismatch(
            "The model answers otherwise than the one whose explanations are kept under this name: "
            "give the explainer another name."
        )


def _open_model(stored: Any, seals: Seals) -> bytes:
    if not isinstance(stored, dict):
        raise LedgerMismatch(
            "Answers of an earlier version of voile are kept under this name, which it stored "
            "together with the rows that were asked about: give the explainer another name."
        )
    seals.check(stored.get("mark"))
    return seals.open(stored.get("sealed"))
