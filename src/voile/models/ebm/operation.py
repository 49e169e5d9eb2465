"""One kind of edit: what it does to a term or a pair, and the settings it must or may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from voile.models.ebm.edit_settings import Outputs, Settings
from voile.models.ebm.model import Term
from voile.models.ebm.pair_term import PairTerm

P = TypeVar("P", Term, PairTerm)


@dataclass(frozen=True)
class Operation(Generic[P]):
    """What an edit does.

    Attributes
    ----------
    run : callable
        The changed part, from the part, the outputs that are meant and the edit's settings.
    required, optional : frozenset of str
        Names of settings.
    """

    run: Callable[[P, Outputs, Settings], P]
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
