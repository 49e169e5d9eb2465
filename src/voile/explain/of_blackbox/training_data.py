"""What explanations say about the rows the model was trained on, in plain words.

The explainer protects the rows behind the explanation. The model's own training data is another
matter: explanations repeat what the model has learned. Patel, Shokri & Zick 2022, Section 5: if the
model is (e, d)-private, so is everything made of its answers; noise added on the way shrinks d
(Balle, Barthe, Gaboardi & Geumlek 2019, by the contraction of total variation).
"""

from __future__ import annotations

import math

from scipy.stats import norm

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


def contraction(step: float, steepness: float, noise: float, radius: float = 1.0) -> float:
    """By how much one noisy explanation shrinks the delta of the model's own guarantee.

    Parameters
    ----------
    step : float
        Length of the last gradient step (eta_T).
    steepness : float
        Largest difference of two mean gradients, by the model alone (c for the unit ball).
    noise : float
        Standard deviation of the noise on an entry of the mean gradient.
    radius : float
        Of the ball; the paper's is 1.

    Returns
    -------
    float
        g = 2 (Phi(u) - 1/2), u = (radius + step x steepness) / (step x noise).
    """
    if noise <= 0 or step <= 0:
        return 1.0
    return float(2.0 * norm.cdf((radius + step * steepness) / (step * noise)) - 1.0)


def tell_training(receipt: Receipt | None, shrink: float = 1.0) -> str:
    """The guarantee for the model's training data, in a sentence."""
    if receipt is None:
        return UNKNOWN
    if not receipt.guarantee or not math.isfinite(receipt.epsilon):
        return (
            "Training data of the explained model: NO guarantee; its own receipt says "
            f"'{receipt.promise}'."
        )
    told = (
        f"Training data of the explained model: ({receipt.epsilon:.4g}, {receipt.delta:.3g})-"
        "differential privacy, by the model's own receipt; all explanations together keep it."
    )
    if shrink < 1.0:
        told += (
            f" A single explanation has ({receipt.epsilon:.4g}, {receipt.delta * shrink:.3g}), by "
            "its own noise."
        )
    return told + (
        " Rows that the model was trained on and that are explained here, too, have both "
        "guarantees to bear: pay both from one ledger."
    )
