"""What a receipt of explanations says besides the price: what is assumed, and who is not protected.

The explainer protects the rows behind the explanation. Rows that are asked about are the asker's
own, and shown to whoever receives the explanation. The model's own training data is another matter
again: explanations repeat what the model has learned. If the model is (e, d)-private, so is
everything made of its answers, and nothing smaller is claimed: every explanation shows the model's
exact score of the asked row, which no noise has passed (docs/proofs/explainer.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.settings import READING, Settings
from voile.privacy.receipt import Receipt

UNKNOWN = (
    "Training data of the explained model: NO guarantee. The model shows no receipt, and "
    "explanations repeat what it has learned from the rows it was trained on."
)
ROW_BY_ROW = (
    "The guarantee requires that the model answers each row by itself: it was asked about the "
    "private rows, inside the vault, in batches."
)
NEVER_ASKED = (
    "The model was never asked about the private rows, only about rows that stand in for them "
    "(synthetic ones, or public ones that were given), and about rows that somebody asked about."
)
FAITHFUL = (
    "NO guarantee: the published adaptive rule uses the length of a private gradient as it is; it "
    "is here for comparison alone."
)
_SHOWN = (
    " Who receives an explanation sees the row and the model's exact score of it, which are no "
    "part of this guarantee."
)
NOTHING_KEPT = (
    "Rows asked about: nothing is kept of them, and no answer depends on what others asked."
    + _SHOWN
)
KEPT_SEALED = (
    "Rows asked about: kept as keyed digests, with answers that only the same row opens; no answer "
    "depends on what others asked. Who knows a row to the last digit can find out that it was "
    "asked about, because it is then free." + _SHOWN
)
SHARED = (
    "ASSUMED: that all who ask under this name may know the rows asked about "
    "(shared_questions=True). Earlier questions and answers serve later ones, so that answers, "
    "steps and prices tell of them: a person whose own row is asked about is not protected from "
    "those who ask." + _SHOWN
)


def list_notes(settings: Settings, of_model: Receipt | None) -> tuple[str, ...]:
    """All that must be known, in sentences.

    Parameters
    ----------
    settings : Settings
    of_model : Receipt or None
        Of the explained model's own training.
    """
    training = tell_training(of_model)
    if settings.strategy == "summary":
        return NEVER_ASKED, NOTHING_KEPT, training
    asked = SHARED if settings.shared_questions else KEPT_SEALED
    return (*([FAITHFUL] if settings.faithful else []), ROW_BY_ROW, asked, training)


def tell_training(receipt: Receipt | None) -> str:
    """The guarantee for the model's training data, in a sentence."""
    if receipt is None:
        return UNKNOWN
    if not receipt.has_guarantee or not math.isfinite(receipt.epsilon):
        return (
            "Training data of the explained model: NO guarantee; its own receipt says "
            f"'{receipt.guarantee}'."
        )
    return (
        f"Training data of the explained model: ({receipt.epsilon:.4g}, {receipt.delta:.3g})-"
        "differential privacy, by the model's own receipt; all explanations together keep it. "
        "Rows that the model was trained on and that are explained here, too, have both "
        "guarantees to bear: pay both from one ledger."
    )


def tell_cost(answers: Sequence[Answer]) -> str:
    """What some answers cost, as an explanation says it."""
    if all(one.answered == "summary" for one in answers):
        return "costs nothing: computed from the summary that was paid for once"
    paid = sum(one.answered in READING for one in answers)
    return (
        f"costs a share of the budget for {paid} of its {len(answers)} rows; the others were "
        "answered before, or from earlier answers"
    )
