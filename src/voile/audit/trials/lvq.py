"""Trials of prototypes: a lone outlier at the corner of the bounds, in the class it is not of.

One class lies at the canary's corner and the other at the opposite one; the canary has the label of
the other. It is as far from the middle as a row can be, and every step would pull it across: its
share of every sum is as long as the bound allows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.audit.trials.trial import SAMPLED_NOTE, Trial, at_large_delta
from voile.models.lvq.estimator import GLVQClassifier, GMLVQClassifier, LVQ1Classifier
from voile.models.lvq.model import LVQModel
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]

_FAMILY = "prototypes"
_ROWS = 60

_METRIC = (
    "The canary seldom reaches the bound of a step with a metric: half the noise does not show."
)
_GROUPS = (
    "Noise is for a group whose prototypes all go from one end to the other; no one row was found "
    "that does this to a group."
)
_ATTENTION = (
    "One group of many does not move what most agree on: this trial shows gross mistakes alone."
)


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Canaries for prototypes.

    Parameters
    ----------
    epsilon, delta : float
        What every fit claims; delta above 0. Fits on sampled rows claim a smaller epsilon at a
        larger delta, where the same noise would be Gaussian.
    """
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return (*_by_sums(claim), *_by_lots(claim), *_by_groups(claim))


def released(model: LVQModel) -> Floats:
    """Every number of a model that came from the rows, as one vector."""
    places = (model.prototypes, model.prototype_errors, model.means, model.centre)
    parts = (*places, model.counts, model.omega)
    return np.concatenate([one.ravel() for one in parts])


_SCHEMA = Schema({"a": Number(-1, 1), "b": Number(-1, 1)}, target=Category(["well", "ill"]))
_CANARY = (np.array([1.0, 1.0]), "ill")


def _opposite(rows: int = _ROWS) -> tuple[Floats, NDArray[np.str_]]:
    """The well at the canary's corner, the ill at the other."""
    half = rows // 2
    X = np.repeat([[0.8, 0.8], [-0.8, -0.8]], half, axis=0)
    return X, np.repeat(["well", "ill"], half)


def _together() -> tuple[Floats, NDArray[np.str_]]:
    """Both classes at the other corner: the canary is as far from the one as from the other."""
    return np.full((_ROWS, 2), -0.8), np.array(["well", "ill"] * (_ROWS // 2))


def _by_sums(claim: dict[str, Any]) -> tuple[Trial, ...]:
    def watched(name: str, kind: Any, rows: Any, **other: Any) -> Trial:
        model = kind(**claim, schema=_SCHEMA, random_state=0, **other)
        return Trial(_FAMILY, name, model, rows, _CANARY, quick=600)

    apart = _opposite()

    return (
        watched("class means", GLVQClassifier, apart, typical=1.0),
        watched("LVQ1, lone outlier", LVQ1Classifier, _together()),
        watched("GLVQ, lone outlier", GLVQClassifier, apart),
        watched("GLVQ, several prototypes a class", GLVQClassifier, apart, prototypes_per_class=2),
        watched("GMLVQ, with a metric", GMLVQClassifier, _opposite(200)),
    )


def _by_lots(claim: dict[str, Any]) -> tuple[Trial, ...]:
    own = at_large_delta(**claim)
    lots: dict[str, Any] = {"mechanism": "sgd", "rate": 0.8, "epochs": 5}

    def watched(name: str, kind: Any, more: str = "") -> Trial:
        model = kind(**own, schema=_SCHEMA, random_state=0, **lots)
        return Trial(
            _FAMILY,
            name,
            model,
            _together(),
            _CANARY,
            method="rates",
            quick=1000,
            settings={"note": f"{SAMPLED_NOTE} {more}".strip()},
        )

    return (
        watched("GLVQ by sampled steps", GLVQClassifier),
        watched("GMLVQ by sampled steps", GMLVQClassifier, _METRIC),
    )


def _fresh(kind: Any, **settings: Any) -> Callable[[tuple[Any, ...]], Floats]:
    """Fits a new estimator to (X, y), and gives all it released."""

    def fit(dataset: tuple[Any, ...]) -> Floats:
        return released(kind(schema=_SCHEMA, random_state=0, **settings).fit(*dataset).model_)

    return fit


def _by_groups(claim: dict[str, Any]) -> tuple[Trial, ...]:
    means = _fresh(GLVQClassifier, **claim, mechanism="sample_aggregate", groups=10)
    attention = _fresh(GLVQClassifier, **claim, mechanism="center_of_attention")
    return (
        Trial(
            _FAMILY,
            "mean of groups",
            means,
            _opposite(),
            _CANARY,
            **claim,
            method="gaussian",
            quick=800,
            settings={"note": _GROUPS},
        ),
        Trial(
            _FAMILY,
            "centre of attention",
            attention,
            _opposite(),
            _CANARY,
            **claim,
            quick=100,
            settings={"note": _ATTENTION},
        ),
    )
