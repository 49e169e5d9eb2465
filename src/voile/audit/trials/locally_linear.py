"""Trials of locally linear maps: a lone row opposite to all others, in a class nobody else has.

The canary points away from all others, so no map fits it, and its gradient is as long as the clip
allows in every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.audit.trials.trial import SAMPLED_NOTE, Trial, at_large_delta
from voile.models.locally_linear.estimator import LocallyLinearClassifier
from voile.schema import Category, Number, Schema

_FAMILY = "maps"
_ROWS = 60
_SIDE = 3
_SMALL: dict[str, Any] = {"maps": 2, "steps": 5, "clip": 0.1, "random_state": 0}
"""Few maps and steps make a fit fast; the budget is shared out among however many there are."""


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Canaries for locally linear maps.

    Parameters
    ----------
    epsilon, delta : float
        What every fit claims; delta above 0. Fits on sampled rows claim a smaller epsilon at a
        larger delta, where the same noise would be Gaussian.
    """
    whole: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "sampling_rate": 1.0}
    claim = at_large_delta(epsilon, delta)
    sampled: dict[str, Any] = {**claim, "sampling_rate": 0.8}
    table, picture = _table(), _pictures()
    return (
        _trial("all rows in every step", *table, whole),
        _trial("behind random projections", *table, {**whole, "projection": 3, "clip": 0.05}),
        _trial(
            "pictures, pixels of unknown range", *picture, {**whole, "image_shape": (_SIDE,) * 2}
        ),
        _trial(
            "sampled steps",
            *table,
            sampled,
            method="rates",
            quick=1000,
            settings={"note": SAMPLED_NOTE},
        ),
    )


def _trial(
    name: str, schema: Schema, rows: Any, canary: Any, chosen: dict[str, Any], **other: Any
) -> Trial:
    model = LocallyLinearClassifier(schema=schema, **{**_SMALL, **chosen})
    return Trial(_FAMILY, name, model, rows, canary, **{"quick": 600, **other})


_CLASSES = Category(["well", "ill"])


def _table() -> tuple[Schema, Any, Any]:
    schema = Schema({"a": Number(-1, 1), "b": Number(-1, 1)}, target=_CLASSES)
    X = np.tile([[-0.9, -0.9], [-0.8, -0.9]], (_ROWS // 2, 1))
    return schema, (X, np.array(["well"] * _ROWS)), (np.array([1.0, 1.0]), "ill")


def _pictures() -> tuple[Schema, Any, Any]:
    pixels = _SIDE**2
    schema = Schema({f"p{i}": Number() for i in range(pixels)}, target=_CLASSES)
    X, lone = np.zeros((_ROWS, pixels)), np.zeros(pixels)
    X[:, 0], lone[-1] = 1.0, 255.0
    return schema, (X, np.array(["well"] * _ROWS)), (lone, "ill")
