"""One private evaluation: checks, then the vault, then the kind of model decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from voile.errors import SchemaError, SettingError
from voile.models.evaluation.of_classes import evaluate_classes
from voile.models.evaluation.of_numbers import evaluate_numbers
from voile.models.evaluation.record import Evaluation
from voile.models.fit import FitJob
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.origins import own_ledger
from voile.privacy.vault import protect
from voile.progress import progress_bar
from voile.schema import Number, Schema


def evaluate(
    model: Any,
    kind: str,
    X: object,
    y: object,
    *,
    budget: Budget,
    ledger: Ledger | None,
    groups: Sequence[str] = (),
    confidence: float = 0.95,
) -> Evaluation:
    """Measure a frozen model on private rows.

    Parameters
    ----------
    model : frozen model
        With a complete schema.
    kind : str
        What to call it.
    X, y : as for ``fit``
        Rows that the model has not seen, or the figures flatter it.
    budget : Budget
        What this may cost.
    ledger : Ledger or None
        Where it is recorded; None for one of its own.
    groups : sequence of str
        Categories by whose levels the measures are told, too.
    confidence : float
        Of the intervals, in (0, 1).

    Raises
    ------
    BudgetExceeded
        If it does not fit the ledger; nothing was spent.
    """
    if isinstance(confidence, bool) or not 0.0 < confidence < 1.0:
        raise SettingError(f"The 'confidence' must be in (0, 1). Got {confidence!r} instead.")
    schema: Schema = rows_of(model)
    groups = _check_groups(groups, schema)
    table = protect(X, y, schema=schema)
    book = own_ledger(budget) if ledger is None else ledger
    job = FitJob(table, budget, book, f"quality of {kind}")
    measure = evaluate_numbers if isinstance(schema.target, Number) else evaluate_classes
    with progress_bar("measuring quality", None):
        return measure(job, model, kind, groups, confidence)


def rows_of(model: Any) -> Schema:
    """The columns of rows that a model is judged by."""
    schema: Schema = getattr(model, "rows_schema", model.schema)
    return schema


def _check_groups(groups: Sequence[str], schema: Schema) -> tuple[str, ...]:
    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    for name in groups:
        if name not in schema.categories:
            raise SchemaError(
                f"The group {name!r} is not a category of the model: name some of "
                f"{', '.join(map(repr, schema.categories)) or '(there are none)'}."
            )
    if len(set(groups)) < len(groups):
        raise SettingError("A group is named twice: name each once.")
    return groups
