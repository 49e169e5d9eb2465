"""What explanations say about the rows the model was trained on, in plain words.

The explainer protects the rows behind the explanation. The model's own training data is another
matter: explanations repeat what the model has learned. If the model is (e, d)-private, so is
everything made of its answers, and nothing smaller is claimed: every explanation shows the model's
exact score of the asked row, which no noise has passed (docs/proofs/explainer.md).
"""

from __future__ import annotations

import math

from voile.privacy.receipt import Receipt

UNKNOWN = (
    "Training data of the explained model: NO guarantee. The model shows no receipt, and "
    "explanations repeat what it has learned from the rows it was trained on."
)
ROW_BY_ROW = (
    "The guarantee rests on the model answering each row by itself: it was asked about the private "
    "rows, inside the vault, in batches."
)
NEVER_ASKED = (
    "The model was never asked about the private rows, only about rows that stand in for them "
    "(synthetic ones, or public ones that were given)."
)
FAITHFUL = (
    "NO guarantee: the published adaptive rule uses the length of a private gradient as it is; it "
    "is here for comparison alone."
)


def tell_training(receipt: Receipt | None) -> str:
    """The guarantee for the model's training data, in a sentence."""
    if receipt is None:
        return UNKNOWN
    if not receipt.guarantee or not math.isfinite(receipt.epsilon):
        return (
            "Training data of the explained model: NO guarantee; its own receipt says "
            f"'{receipt.promise}'."
        )
    return (
        f"Training data of the explained model: ({receipt.epsilon:.4g}, {receipt.delta:.3g})-"
        "differential privacy, by the model's own receipt; all explanations together keep it. "
        "Rows that the model was trained on and that are explained here, too, have both "
        "guarantees to bear: pay both from one ledger."
    )
