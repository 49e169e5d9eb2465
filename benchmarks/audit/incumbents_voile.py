"""Our models under the attacks that break others.

The attacker reads every number of the released model, and knows the two tables. Each fit has a
ledger of its own, whose relation is that of the attack.

Not a script: see `incumbents.py`.
"""

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold, cross_validate

from benchmarks.audit.incumbents_attacks import EPSILON, Attack, Table
from benchmarks.audit.incumbents_tables import (
    CATEGORY,
    CLASS,
    COUNT,
    EXTREME,
    FOLD_COUNT,
    FOLD_REPEATS,
    FOLDS,
    LEVER,
    OTHER_LABEL,
    SHIFT,
    TARGET,
)
from voile import Budget, Category, EBMClassifier, EBMRegressor, Ledger, Number, Schema
from voile.errors import SchemaError
from voile.privacy.budget import NeighbouringRelation

DELTA = 1e-6
YES = Category(["no", "yes"])
LABELS = Category(["0", "1"])
LEVELS = ("A", "B", "C", "a", "b", "(other)", "(missing)")


def attacks() -> list[Attack]:
    """Every break of the others, tried on ours."""
    rows: list[tuple[str, Any, Any, float]] = [
        ("levels listed", CATEGORY, fit_listed, 1.0),
        ("levels found privately", CATEGORY, fit_found, 1.0),
        ("", TARGET, fit_regression, 1.0),
        ("", COUNT, fit_counted, 1.0),
        ("classes listed", CLASS, fit_classes, 1.0),
        ("classes found privately", CLASS, fit_classes_found, 1.0),
        ("found privately", EXTREME, fit_bounds_found, 1.0),
        ("", LEVER, fit_lever, 0.5),
        ("", FOLDS, fit_folds, 0.2),
        ("", OTHER_LABEL, fit_classes, 1.0),
        ("", SHIFT, fit_added, 1.0),
    ]
    return [
        Attack("Voile", how, pair, fit, DELTA, ours=True, share=share)
        for how, pair, fit, share in rows
    ]


def fit_listed(table: Table) -> list[float]:
    schema = Schema({"x": Category(["A", "B", "C"])}, target=YES)
    return numbers(classifier(table, schema))


def fit_found(table: Table) -> list[float]:
    return numbers(classifier(table, Schema({"x": Category()}, target=YES)))


def fit_regression(table: Table) -> list[float]:
    schema = Schema({"x": Category(["a", "b"])}, target=Number(1000, 1001))
    return numbers(regressor(table, schema))


def fit_counted(table: Table) -> list[float]:
    """All numbers, and whether the exact count of either world is anywhere in the file."""
    schema = Schema({"x": Category(["A", "B"])}, target=YES)
    model = classifier(table, schema, NeighbouringRelation.ADD_REMOVE)
    with tempfile.TemporaryDirectory() as folder:
        stored = json.loads(model.save(Path(folder) / "model.voile").read_text(encoding="utf-8"))
    rows = len(COUNT.table["y"])
    found = set(numbers_in(stored))
    return [float(rows in found), float(rows + 1 in found), *numbers(model)]


def fit_classes(table: Table) -> list[float]:
    return numbers(classifier(table, Schema({"x": Number(0, 1)}, target=LABELS)))


def fit_added(table: Table) -> list[float]:
    schema = Schema({"x": Number(0, 1)}, target=LABELS)
    return numbers(classifier(table, schema, NeighbouringRelation.ADD_REMOVE))


def fit_classes_found(table: Table) -> list[float]:
    """All numbers; that too few classes were found is an answer as well."""
    try:
        return numbers(classifier(table, Schema({"x": Number(0, 1)}, target=Category())))
    except SchemaError:
        return [0.0]


def fit_bounds_found(table: Table) -> list[float]:
    return numbers(classifier(table, Schema({"x": Number()}, target=LABELS)))


def fit_lever(table: Table) -> list[float]:
    return numbers(regressor(table, Schema({"x": Number(0, 10)}, target=Number(0, 1))))


def fit_folds(table: Table) -> list[float]:
    """Every model that the ledger let cross-validation train: their number, and their numbers."""
    ledger = ledger_for(NeighbouringRelation.REPLACE_ONE)
    schema = Schema({"x": Number(0, 1)}, target=LABELS)
    model = EBMClassifier(epsilon=EPSILON, delta=DELTA, schema=schema, ledger=ledger)
    folds = RepeatedKFold(n_splits=FOLD_COUNT, n_repeats=FOLD_REPEATS, random_state=0)
    with warnings.catch_warnings():
        # scikit-learn reports that all fits but one were refused: that is what is measured.
        warnings.simplefilter("ignore")
        done = cross_validate(
            model, np.array(table["x"])[:, None], np.array(table["y"]), cv=folds,
            return_estimator=True,
        )  # fmt: skip
    fitted = [one for one in done["estimator"] if hasattr(one, "model_")]
    return [float(len(fitted)), *(n for one in fitted for n in numbers(one))]


def classifier(
    table: Table, schema: Schema, relation: NeighbouringRelation = NeighbouringRelation.REPLACE_ONE
) -> EBMClassifier:
    """Ours, with its own settings."""
    model = EBMClassifier(epsilon=EPSILON, delta=DELTA, schema=schema, ledger=ledger_for(relation))
    return model.fit({"x": table["x"]}, table["y"])


def regressor(table: Table, schema: Schema) -> EBMRegressor:
    """Ours, with its own settings."""
    model = EBMRegressor(
        epsilon=EPSILON,
        delta=DELTA,
        schema=schema,
        ledger=ledger_for(NeighbouringRelation.REPLACE_ONE),
    )
    return model.fit({"x": table["x"]}, table["y"])


def ledger_for(relation: NeighbouringRelation) -> Ledger:
    """A budget for one fit."""
    return Ledger(Budget(EPSILON, DELTA), relation=relation)


def numbers(model: Any) -> list[float]:
    """Every number of a released model, at the same place in every model as far as that can be."""
    record = model.model_
    (term,) = record.terms
    given = [float(record.outputs), float(term.bins)]
    # Models of different classes: what they share first, the rest behind.
    given += [float(str(one) in map(str, getattr(model, "classes_", ()))) for one in "012"]
    given += [*record.intercept, *record.intercept_errors]
    if isinstance(term.column, Number):
        given += [float(term.column.lower), float(term.column.upper)]
    else:
        at = {label: place for place, label in enumerate(term.labels)}
        for level in LEVELS:
            place = at.get(level)
            given += [float(place is not None)]
            given += [0.0] * 3 if place is None else [
                term.scores[place, 0], term.standard_errors[place, 0], term.counts[place],
            ]  # fmt: skip
    given += [*term.scores.ravel(), *term.standard_errors.ravel(), *term.counts, *term.cuts]
    return [float(one) for one in given]


def numbers_in(value: Any) -> list[float]:
    """Every number in JSON, those written as text included."""
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers_in(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers_in(item)]
    try:
        return [] if value is None else [float(value)]
    except ValueError:
        return []
