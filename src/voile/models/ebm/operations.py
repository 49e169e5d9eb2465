"""What an edit does to a model: from its stored settings to new scores.

An edit is data (its name and JSON settings); this module finds the term or pair that it is of and
checks what comes out. What it does to each is in `term_operations` and `pair_operations`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from voile.errors import ModelError, SettingError
from voile.models.ebm.edit_settings import Outputs
from voile.models.ebm.model import EBMModel, Term
from voile.models.ebm.operation import Operation, P
from voile.models.ebm.pair_operations import PAIR_OPERATIONS, drop_pair
from voile.models.ebm.part_names import find_part
from voile.models.ebm.term_operations import TERM_OPERATIONS
from voile.models.history import Edit


def apply_edit(model: EBMModel, edit: Edit) -> EBMModel:
    """The model after an edit, which is appended to its history.

    Raises
    ------
    SchemaError
        If the model has no such term.
    SettingError
        If a setting is not in its range, or does not fit the term.
    ModelError
        If the operation does not exist, or does not apply to categories or pairs.
    """
    if edit.what not in TERM_OPERATIONS:
        raise ModelError(
            f"There is no edit {edit.what!r}: the edits are "
            f"{', '.join(map(repr, TERM_OPERATIONS))}."
        )
    part = find_part(model, edit.term)
    outputs = _find_outputs(model, edit.settings.get("output"))
    if isinstance(part, Term):
        changed = model.with_term(_run(TERM_OPERATIONS[edit.what], part, outputs, edit))
        if edit.what == "drop":  # who drops a column wants it out of the model
            for pair in model.pairs:
                if part.name in pair.columns:
                    changed = changed.with_pair(drop_pair(pair))
    else:
        changed = model.with_pair(_run(PAIR_OPERATIONS[edit.what], part, outputs, edit))
    return replace(
        changed,
        edits=(*model.edits, edit),
        history=(*model.history, edit),
        original=_as_trained(model),
    )


def _run(operation: Operation[P], part: P, outputs: Outputs, edit: Edit) -> P:
    """The part after an operation, checked before and after."""
    whose = "a column" if isinstance(part, Term) else "a pair"
    for name in sorted(operation.required - set(edit.settings)):
        hint = ""
        if name == "where" and not isinstance(part, Term):
            first = part.columns[0]
            hint = (
                ": which part of a column, or of both, is meant. Give where={"
                f"{first!r}: ...}}, or --where {first}=..."
            )
        raise SettingError(
            f"An edit {edit.what!r} of {whose} needs the setting {name!r}{hint or '.'}"
        )
    for name in sorted(set(edit.settings) - operation.required - operation.optional):
        known = ", ".join(sorted(operation.required | operation.optional)) or "none"
        raise SettingError(
            f"An edit {edit.what!r} of {whose} has no setting {name!r}: it has {known}."
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # checked below, with a better message
            changed = operation.run(part, outputs, edit.settings)
    except (np.linalg.LinAlgError, RuntimeError) as error:
        raise ModelError(
            f"The edit {edit.what!r} of term {edit.term!r} cannot be computed ({error}): use a "
            f"smaller range or strength."
        ) from error
    if not np.isfinite(changed.scores).all() or np.isnan(changed.standard_errors).any():
        raise SettingError(
            f"The edit {edit.what!r} of term {edit.term!r} would give scores that are not finite: "
            f"use smaller numbers."
        )
    return changed


def _as_trained(model: EBMModel) -> EBMModel:
    if model.original is not None:
        return model.original
    return replace(model, history=()) if model.history else model


def to_settings(model: EBMModel, given: Mapping[str, object]) -> dict[str, Any]:
    """What a caller gave as JSON values, without what was left out; a class as its label.

    A label rather than a position, because a model trained anew may have its classes in another
    order.
    """
    settings = {name: _plain(value) for name, value in given.items() if value is not None}
    if "output" in settings and model.link == "softmax":
        settings["output"] = model.classes[_find_outputs(model, settings["output"])[0]]
    return settings


def _plain(value: object) -> object:
    if isinstance(value, dt.date | np.datetime64):
        return str(value).replace(" ", "T")
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        # str(): a name from an array is of a type that no file has.
        return {
            str(name) if isinstance(name, str) else name: _plain(one) for name, one in value.items()
        }
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _find_outputs(model: EBMModel, output: object) -> Outputs:
    """Positions of the outputs that are meant."""
    if output is None:
        return np.arange(model.outputs)
    classes = model.classes
    if model.link == "softmax":
        if output in classes:  # labels first: they may be numbers too
            return np.array([classes.index(output)])
        if type(output) is int and 0 <= output < len(classes):
            return np.array([output])
        raise SettingError(
            f"The model has no class {output!r}: it has {', '.join(map(repr, classes))}."
        )
    if model.link == "logit" and output == classes[1]:
        return np.array([0])
    whose = f"class {classes[1]!r}" if model.link == "logit" else "the target"
    raise SettingError(
        f"The model has one score, that of {whose}: leave out 'output'. Got {output!r} instead."
    )
