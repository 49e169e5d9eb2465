"""An audit of the training behind a saved model: its kind, schema and budget, on made-up rows.

All rows but one lie together and say the same; the canary stands alone, at the other end of every
column and against all of them, so that its part of every sum is as long as the bounds allow
(as in `voile.audit.trials.ebm`). No private row is needed, and none is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.audit.finding import AuditReport
from voile.audit.paired import lower_bound
from voile.errors import ModelError, SettingError
from voile.models.ebm.model import AdditiveModel
from voile.schema import Category, Number, Schema

_ROWS, _RUNS = 240, 300


def audit_model(
    estimator: Any,
    *,
    epsilon: float | None = None,
    runs: int | None = None,
    confidence: float = 0.999,
    processes: int | None = None,
    random_state: int | None = None,
) -> AuditReport:
    """Attack the training of a fitted model's kind, by somebody who sees every noised sum.

    Parameters
    ----------
    estimator : fitted estimator
        With a receipt; its schema is complete.
    epsilon : float, optional
        The claim that is tested; the receipt's by default.
    runs : int
        Fits in all, half of them with the canary.
    confidence, processes, random_state
        As for `voile.audit.lower_bound`.

    Raises
    ------
    ModelError
        If the receipt promises nothing: there is no claim to test then.
    """
    receipt = estimator.receipt_
    if epsilon is None and not receipt.guarantee:
        raise ModelError("The model's receipt promises nothing, so there is no claim to audit.")
    schema: Schema = estimator.model_.schema
    if schema.unit is not None:
        raise SettingError(
            "The audit of a saved model attacks promises about rows: this model's is about "
            f"{schema.unit}. Use voile.audit.lower_bound with rows of that kind."
        )
    claim = receipt.epsilon if epsilon is None else epsilon
    again = type(estimator)(
        **{
            **estimator.get_params(deep=False),
            "epsilon": claim,
            "delta": receipt.delta,
            "schema": schema.with_rows(None),
            "ledger": None,
        }
    )
    kind = type(estimator).__name__
    found = lower_bound(
        again,
        _crowd(schema),
        _canary(schema),
        runs=_RUNS if runs is None else runs,
        confidence=confidence,
        processes=processes,
        random_state=random_state,
        name=f"{kind}: a made-up person against all others",
        note=_note(estimator),
    )
    return AuditReport(f"Attack on the training of {kind}", (found,))


def _note(estimator: Any) -> str:
    edited = isinstance(estimator.model_, AdditiveModel) and bool(estimator.model_.edits)
    told = (
        "The training was attacked, not the file: its kind, schema and budget on made-up rows."
        if estimator.receipt_.lines
        else ""
    )
    return told + (" Edits after training cost nothing and are not attacked." if edited else "")


def _crowd(schema: Schema) -> tuple[dict[str, Any], Any]:
    """Rows near the lower end of every column, of the first class."""
    columns: dict[str, Any] = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            lower, width = _range(column)
            columns[name] = lower + width * np.tile([0.1, 0.2, 0.3], _ROWS // 3)
        else:
            columns[name] = _repeated((column.levels or ("(none)",))[0])
    return columns, _repeated(_say(schema, far=False))


def _canary(schema: Schema) -> tuple[dict[str, Any], Any]:
    """One row at the upper end of every column, of the last class."""
    row: dict[str, Any] = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            lower, width = _range(column)
            row[name] = lower + width
        else:
            row[name] = (column.levels or ("(none)",))[-1]
    return row, _say(schema, far=True)


def _range(column: Number) -> tuple[float, float]:
    assert column.lower is not None
    assert column.upper is not None
    return column.lower, column.upper - column.lower


def _say(schema: Schema, *, far: bool) -> Any:
    target = schema.target
    if isinstance(target, Number):
        lower, width = _range(target)
        return lower + (width if far else 0.0)
    assert isinstance(target, Category)
    return (target.levels or ("(none)",))[-1 if far else 0]


def _repeated(value: Any) -> Any:
    kind = None if isinstance(value, (str, int, float)) else object
    return np.array([value] * _ROWS, dtype=kind)
