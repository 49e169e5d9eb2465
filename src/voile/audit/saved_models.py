"""An audit of the training behind a saved model: kind, settings, schema and budget, made-up rows.

All rows but one lie together and say the same; the canary stands alone, at the other end of every
column and against all of them, so that its part of every sum is as long as the bounds allow
(as in `voile.audit.trials.ebm`). For a guarantee about replaced rows it takes the place of a row
that is like the others. No private row is needed, and none is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.audit.finding import AuditReport
from voile.audit.insider import Insider
from voile.audit.paired import lower_bound
from voile.errors import ModelError, SettingError
from voile.models.ebm.model import EBMModel
from voile.models.training_settings import restore_parameters, unrecorded_settings
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.receipt import Receipt
from voile.schema import Category, Date, Number, Schema, Unit
from voile.schema.unit import ROW

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
    """Attack a fitted model's training, with its settings, by somebody who sees every noised sum.

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

    Returns
    -------
    AuditReport
        One finding. Its note says what was not attacked: accesses that the insider does not see,
        and settings that are not recorded.

    Raises
    ------
    ModelError
        If the receipt guarantees nothing, or is a teacher's: there is no claim to test then.
    SettingError
        If the guarantee is about others than rows.
    """
    receipt = estimator.receipt_
    if epsilon is None and not receipt.has_guarantee:
        raise ModelError("The model's receipt guarantees nothing, so there is no claim to audit.")
    teacher = getattr(estimator.model_, "taught_by", None)
    if teacher is not None:
        raise ModelError(
            f"The model learned from another, a {teacher}, whose training the receipt is of: audit "
            "that one."
        )
    schema: Schema = estimator.model_.schema
    if schema.privacy_unit != Unit() or receipt.unit != ROW:
        raise SettingError(
            "The audit of a saved model attacks guarantees about rows: this model's is about "
            f"{schema.unit or receipt.unit}. Use voile.audit.lower_bound with rows of that kind."
        )
    again = _untrained(estimator, receipt.epsilon if epsilon is None else epsilon)
    crowd, canary = _crowd(schema), _lone(schema, far=True)
    replacing = receipt.relation is NeighbouringRelation.REPLACE_ONE
    instead_of = _lone(schema, far=False) if replacing else None
    kind = type(estimator).__name__
    found = lower_bound(
        again,
        crowd,
        canary,
        instead_of=instead_of,
        runs=_RUNS if runs is None else runs,
        confidence=confidence,
        processes=processes,
        random_state=random_state,
        name=f"{kind}: a made-up person "
        + ("in another's place, against all" if replacing else "against all others"),
        note=_note(estimator, again, Insider(again, crowd, [canary], instead_of).watched()),
    )
    return AuditReport(f"Attack on the training of {kind}", (found,))


def _untrained(estimator: Any, epsilon: float) -> Any:
    """The same estimator before its training, with the settings that it was trained with."""
    kind, settings = type(estimator), estimator.training_settings_
    recorded = {} if settings is None else restore_parameters(settings, kind)
    return kind(
        **{
            **estimator.get_params(deep=False),
            **recorded,
            "epsilon": epsilon,
            "delta": estimator.receipt_.delta,
            "schema": estimator.model_.schema,
            "ledger": None,
        }
    )


def _note(estimator: Any, again: Any, watched: frozenset[str]) -> str:
    """What was attacked, and what was not."""
    receipt: Receipt = estimator.receipt_
    settings = estimator.training_settings_
    told = []
    if receipt.lines:
        told.append(
            "The training was attacked, not the file: its kind, settings, schema and budget on "
            "made-up rows."
        )
    if settings is None:
        told.append(
            "The settings of the training are not recorded in the file: default ones were "
            "attacked, unless others were set since."
        )
    elif unknown := unrecorded_settings(settings, type(estimator)):
        told.append(
            f"Not recorded of its settings, and attacked as the estimator has them now: "
            f"{', '.join(unknown)}."
        )
    unseen = [line.label for line in receipt.lines if line.label not in watched]
    if unseen:
        told.append(f"Accesses of the receipt that were not attacked: {', '.join(unseen)}.")
    if getattr(again, "largest_weight", None) is not None:
        told.append("The made-up rows have no weights: what weights give away was not attacked.")
    if isinstance(estimator.model_, EBMModel) and estimator.model_.edits:
        told.append("Edits after training cost nothing and are not attacked.")
    return " ".join(told)


def _crowd(schema: Schema) -> tuple[dict[str, Any], Any]:
    """Rows near the lower end of every column, of the first class."""
    columns: dict[str, Any] = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            lower, width = _range(column)
            values = lower + width * np.tile([0.1, 0.2, 0.3], _ROWS // 3)
            columns[name] = values.astype("M8[s]") if isinstance(column, Date) else values
        else:
            columns[name] = _repeated((column.levels or ("(none)",))[0])
    return columns, _repeated(_say(schema, far=False))


def _lone(schema: Schema, *, far: bool) -> tuple[dict[str, Any], Any]:
    """One row at the upper end of every column and of the last class, or at the other ends."""
    row: dict[str, Any] = {}
    for name, column in schema.items():
        if isinstance(column, Number):
            lower, width = _range(column)
            value = lower + (width if far else 0.0)
            row[name] = np.datetime64(int(value), "s") if isinstance(column, Date) else value
        else:
            row[name] = (column.levels or ("(none)",))[-1 if far else 0]
    return row, _say(schema, far=far)


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
