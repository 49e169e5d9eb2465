"""The history of a model: who changed what after training, when and why, and took it back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from voile.codec import Order

Scalar = str | bool | int | float | None
Region = dict[str, list[Scalar] | str | None]
"""Part of a pair: of some columns a range, levels, or missing values."""

Setting = Scalar | list[Scalar] | Region
"""What an operation may be given."""

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
        Name of the column or pair ("age & ward") changed; empty where all are.
    settings : mapping of str to JSON values
        What the operation was given (range, value, direction, ...).
    why, who, when : str
        Reason, author, and time (ISO 8601, UTC).
    """

    file_order: ClassVar[Order] = ("what", "term", "why", "who", "when", "settings")

    what: str
    term: str
    settings: Mapping[str, Setting]
    why: str
    who: str
    when: str


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
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name} {'(missing)' if one is None else _plain(one)}" for name, one in value.items()
        )
    return value if isinstance(value, str) else json.dumps(value, default=str)
