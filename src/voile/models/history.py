"""The history of a model: who changed what after training, when and why, and took it back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.strict import Strict

_TEXTS = ("what", "term", "why", "who", "when")

UNDO, REDO, REVERT = "undo", "redo", "revert"
MOVES = (UNDO, REDO, REVERT)
"""What takes changes back or makes them again; ``settings`` tell which: its name and its time."""


@dataclass(frozen=True)
class Edit:
    """One change of a trained model by a person.

    Attributes
    ----------
    what : str
        The operation, such as "set" or "monotone"; or one of `MOVES`.
    term : str
        Name of the term changed; empty where all are.
    settings : mapping of str to JSON values
        What the operation was given (range, value, direction, ...).
    why, who, when : str
        Reason, author, and time (ISO 8601, UTC).
    """

    what: str
    term: str
    settings: Mapping[str, Any]
    why: str
    who: str
    when: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        texts = {name: getattr(self, name) for name in _TEXTS}
        return {**texts, "settings": dict(self.settings)}


def taken_back(history: Sequence[Edit]) -> int:
    """How often changes were taken back."""
    return sum(edit.what in (UNDO, REVERT) for edit in history)


def tell_edits(history: Sequence[Edit], edits: Sequence[Edit]) -> tuple[tuple[Edit, str], ...]:
    """Each line of a history with what it does, in words; says which edits are in force no more."""
    left = list(edits)
    told: list[tuple[Edit, str]] = []
    for edit in reversed(history):
        words = "; ".join((edit.what, *(f"{k}: {_plain(v)}" for k, v in edit.settings.items())))
        if edit.what not in MOVES:
            if left and left[-1] == edit:
                left.pop()
            else:
                words += " (taken back)"
        told.append((edit, words))
    return tuple(reversed(told))


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def read_edits(data: object, strict: Strict, where: str) -> tuple[Edit, ...]:
    """Edits from plain data, by a strict reader of what they stand in."""
    return tuple(
        _read_edit(one, strict, f"edit {number} of {where}")
        for number, one in enumerate(strict.listed(data, where), 1)
    )


def _read_edit(data: object, strict: Strict, where: str) -> Edit:
    content = strict.fields(data, (*_TEXTS, "settings"), where)
    texts = {name: strict.text(content[name], f"'{name}' of {where}") for name in _TEXTS}
    settings = content["settings"]
    if not isinstance(settings, Mapping):
        strict.refuse(f"'settings' of {where}", "a mapping", settings)
    for name, value in settings.items():
        strict.text(name, f"a setting of {where}")
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, str):
                strict.text(part, f"'{name}' of {where}")
            elif part is not None and not isinstance(part, bool):
                strict.number(part, f"'{name}' of {where}")
    return Edit(settings=dict(settings), **texts)
