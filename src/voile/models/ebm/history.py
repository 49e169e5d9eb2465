"""The history of a model: who changed what after training, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Edit:
    """One change of a trained model by a person.

    Attributes
    ----------
    what : str
        The operation, such as "set" or "monotone".
    term : str
        Name of the term changed.
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
