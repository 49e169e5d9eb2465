"""Trials of additive models: a row that is alone in its bins and against all others.

All other rows lie together and say the same. The canary is alone in an extreme bin of every column,
in the bin of missing values, or in a level that nobody else has, and its target is as far from what
the others say as can be: its share of every sum is then as long as the bound allows, so the insider
sees all of the budget. Where columns are paired, it is alone in a cell of their grid, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.audit.trials.trial import FOUND_NOTE, Trial
from voile.models.ebm.estimator import EBMClassifier, EBMRegressor
from voile.models.ebm.model import EBMModel
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]

_FAMILY = "EBM"
_ROWS = 60
_SMALL: dict[str, Any] = {"bins": 4, "rounds": 4}
_CYCLIC: dict[str, Any] = {"method": "cyclic", "rounds": 6, "random_state": 0}
"""Few bins and rounds make a fit fast; the budget is shared out among however many there are."""

_PAIRED: dict[str, Any] = {"interactions": [("x", "z")]}
_CHOSEN: dict[str, Any] = {"interactions": 1, "rounds": 6}

_YES_NO = Category(["no", "yes"])


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Canaries for additive models.

    Parameters
    ----------
    epsilon, delta : float
        What every fit claims; delta above 0.
    """
    claim: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    return (*_classification(claim), *_regression(claim), *_from_outside(claim))


def released(model: EBMModel) -> Floats:
    """Every number of a model that came from the rows, as one vector."""
    parts = [
        np.concatenate([term.scores.ravel(), term.standard_errors.ravel(), term.counts, term.cuts])
        for term in model.terms
    ]
    for pair in model.pairs:
        cells = (pair.scores, pair.standard_errors, pair.errors, pair.counts, pair.count_errors)
        parts += [one.ravel() for one in cells]
        parts += [pair.first.cuts, pair.second.cuts]
    return np.concatenate([model.intercept, model.intercept_errors, *parts])


# -- rows ----------------------------------------------------------------------------------------

_NUMBERS: dict[str, Number | Category] = {"x": Number(0, 10), "z": Number(0, 10)}
_FAR: dict[str, float] = {"x": 10.0, "z": 10.0}
_MISSING: dict[str, float] = {"x": np.nan, "z": np.nan}
_OUTSIDE: dict[str, float] = {"x": 1e9, "z": -1e9}
_NEW_LEVEL = {"c": "C"}


def _numbers() -> dict[str, Floats]:
    """Rows in the middle of both columns."""
    return {"x": np.tile([4.0, 5.0, 6.0], _ROWS // 3), "z": np.tile([4.0, 5.0], _ROWS // 2)}


def _levels() -> dict[str, NDArray[np.str_]]:
    return {"c": np.array(["A", "B"] * (_ROWS // 2))}


def _said(value: object) -> NDArray[Any]:
    """All say the same."""
    return np.array([value] * _ROWS)


def _together() -> tuple[dict[str, Floats], NDArray[Any]]:
    """Rows whose class follows from both columns together alone, enough for the pair to be chosen.

    The corner where the canary is of the other class is the one that says yes.
    """
    x = np.repeat([2.0, 2.0, 8.0, 8.0], 10 * _ROWS)
    z = np.repeat([2.0, 8.0, 2.0, 8.0], 10 * _ROWS)
    return {"x": x, "z": z}, np.where((x > 5) == (z > 5), "yes", "no")


def _repeated(rows: tuple[dict[str, Floats], NDArray[Any]], times: int) -> tuple[Any, Any]:
    """More rows of the same, so that few of the other class are surely few."""
    X, y = rows
    return {name: np.tile(values, times) for name, values in X.items()}, np.tile(y, times)


# -- insiders ------------------------------------------------------------------------------------


def _classification(claim: dict[str, Any]) -> tuple[Trial, ...]:
    numbers, no = (_numbers(), _said("no")), (_levels(), _said("no"))
    two = Schema(_NUMBERS, target=_YES_NO)
    three = Schema(_NUMBERS, target=Category(["a", "b", "c"]))

    def watched(name: str, schema: Schema, rows: Any, canary: Any, **other: Any) -> Trial:
        model = EBMClassifier(**claim, schema=schema, **{**_SMALL, **other})
        return Trial(_FAMILY, name, model, rows, canary, quick=600)

    def category(levels: list[str] | None) -> Schema:
        return Schema({"c": Category(levels)}, target=_YES_NO)

    found = EBMClassifier(**claim, schema=category(None), **_SMALL)
    return (
        watched("alone in extreme bins, against all", two, numbers, (_FAR, "yes")),
        watched("alone in the bins of missing values", two, numbers, (_MISSING, "yes")),
        watched("beyond all bounds", two, numbers, (_OUTSIDE, "yes")),
        watched("alone in a cell of a named pair", two, numbers, (_FAR, "yes"), **_PAIRED),
        watched("alone in a cell of missing values", two, numbers, (_MISSING, "yes"), **_PAIRED),
        watched("alone in a cell of a chosen pair", two, _together(), (_FAR, "no"), **_CHOSEN),
        watched("one of three classes", three, (_numbers(), _said("a")), (_FAR, "c")),
        watched(
            "cyclic, alone in extreme bins", two, _repeated(numbers, 20), (_FAR, "yes"), **_CYCLIC
        ),
        watched("a listed level of its own", category(["A", "B", "C"]), no, (_NEW_LEVEL, "yes")),
        watched("a level that is not listed", category(["A", "B"]), no, (_NEW_LEVEL, "yes")),
        Trial(
            _FAMILY,
            "a level of its own, to be found",
            found,
            no,
            (_NEW_LEVEL, "yes"),
            method="gaussian",
            quick=800,
            settings={"note": FOUND_NOTE},
        ),
    )


def _regression(claim: dict[str, Any]) -> tuple[Trial, ...]:
    both = Schema(_NUMBERS, target=Number(0, 1))
    lone = Schema({"x": Number(0, 10)}, target=Number(0, 1))

    def watched(name: str, schema: Schema, canary: Any, **other: Any) -> Trial:
        rows = {column: values for column, values in _numbers().items() if column in schema}
        model = EBMRegressor(**claim, schema=schema, **{**_SMALL, **other})
        return Trial(_FAMILY, name, model, (rows, np.zeros(_ROWS)), canary, quick=600)

    return (
        watched("target at its bound", lone, ({"x": 10.0}, 1.0)),
        watched("target at its bound, pairs of columns", both, (_FAR, 1.0)),
        watched("target at its bound, a named pair", both, (_FAR, 1.0), **_PAIRED),
        watched("target beyond its bound, missing values", both, (_MISSING, 1e9)),
        watched("cyclic, target at its bound", both, (_FAR, 1.0), **_CYCLIC),
    )


# -- what is in the file -------------------------------------------------------------------------


def _fresh(
    kind: type[EBMClassifier | EBMRegressor], **settings: Any
) -> Callable[[tuple[Any, ...]], Floats]:
    """Fits a new estimator to (X, y) or (X, y, weights), and gives all it released."""

    def fit(dataset: tuple[Any, ...]) -> Floats:
        return released(kind(**{**_SMALL, **settings}).fit(*dataset).model_)

    return fit


def _from_outside(claim: dict[str, Any]) -> tuple[Trial, ...]:
    method: Literal["gaussian"] = "gaussian"
    lone = {"x": _numbers()["x"]}
    two = Schema({"x": Number(0, 10)}, target=_YES_NO)
    number = Schema({"x": Number(0, 10)}, target=Number(0, 1))
    category = Schema({"c": Category(["A", "B", "C"])}, target=_YES_NO)
    both = Schema(_NUMBERS, target=_YES_NO)
    found = Schema({"c": Category()}, target=_YES_NO)
    ones = np.ones(_ROWS)
    rounds: dict[str, Any] = {"rounds": 1}

    def seen(name: str, fit: Any, rows: Any, canary: Any, note: str = "") -> Trial:
        return Trial(
            _FAMILY,
            f"all of the model: {name}",
            fit,
            rows,
            canary,
            **claim,
            method=method,
            quick=800,
            settings={"note": note} if note else {},
        )

    return (
        seen(
            "alone in an extreme bin",
            _fresh(EBMClassifier, **claim, schema=two, **rounds),
            (lone, _said("no")),
            ({"x": 10.0}, "yes"),
        ),
        seen(
            "target at its bound",
            _fresh(EBMRegressor, **claim, schema=number, **rounds),
            (lone, np.zeros(_ROWS)),
            ({"x": 10.0}, 1.0),
        ),
        seen(
            "alone in a cell of a named pair",
            _fresh(EBMClassifier, **claim, schema=both, **{**_PAIRED, "rounds": 2}),
            (_numbers(), _said("no")),
            (_FAR, "yes"),
        ),
        seen(
            "a level of its own",
            _fresh(EBMClassifier, **claim, schema=category, **rounds),
            (_levels(), _said("no")),
            (_NEW_LEVEL, "yes"),
        ),
        seen(
            "a level of its own, to be found",
            _fresh(EBMClassifier, **claim, schema=found, **rounds),
            (_levels(), _said("no")),
            (_NEW_LEVEL, "yes"),
            FOUND_NOTE,
        ),
        seen(
            "a weight beyond the largest",
            _fresh(EBMClassifier, **claim, schema=category, largest_weight=4.0, **rounds),
            (_levels(), _said("no"), ones),
            (_NEW_LEVEL, "yes", 1e9),
        ),
        seen(
            "cyclic",
            _fresh(EBMClassifier, **claim, schema=category, **{**_CYCLIC, "rounds": 2}),
            (_levels(), _said("no")),
            (_NEW_LEVEL, "yes"),
        ),
    )
