"""Where what explains a model registers itself, and where models find it.

Models lie below the layer that explains them, and yet offer ``explain_global``, ``explain_local``
and ``counterfactuals``. They ask here. What explains a model registers beside itself, by the type
of the model; it is loaded at the first question, by what the root of the package has installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from voile.errors import SettingError

Explainer = TypeVar("Explainer", bound=Callable[..., Any])

_WHOLE: dict[type, Callable[..., Any]] = {}
_ROWS: dict[type, Callable[..., Any]] = {}
_CHANGES: dict[type, Callable[..., Any]] = {}
_LOADERS: list[Callable[[], object]] = []


def explains(kind: type, *, rows: bool = False) -> Callable[[Explainer], Explainer]:
    """Register a function that explains a whole model of this type, or its answers for rows."""

    def register(explainer: Explainer) -> Explainer:
        (_ROWS if rows else _WHOLE)[kind] = explainer
        return explainer

    return register


@dataclass(frozen=True, eq=False, kw_only=True)
class Wish:
    """What is wanted of a model's answer, and what may change for it.

    Attributes
    ----------
    want : object
        A class, a probability such as ">= 0.7", a number or a range; None for another class.
    change : sequence of str, or None
        Columns that may change; None for all.
    keep : sequence of str
        Columns that may not.
    directions : mapping of str to "up" or "down", or None
    most : int
        How many suggestions.
    among : table of shape (rows, columns), or None
        Rows that are no private ones, by which it is judged how usual a changed row is.
    sure : bool
        Whether only what holds with the errors of the model's scores allowed for is suggested.
    """

    want: object = None
    change: Sequence[str] | None = None
    keep: Sequence[str] = ()
    directions: Mapping[str, str] | None = None
    most: int = 3
    among: object = None
    sure: bool = False


def suggests(kind: type) -> Callable[[Explainer], Explainer]:
    """Register a function that tells what would have to change for another answer of a model."""

    def register(explainer: Explainer) -> Explainer:
        _CHANGES[kind] = explainer
        return explainer

    return register


def load_with(*loaders: Callable[[], object]) -> None:
    """Install what loads the modules that register."""
    _LOADERS[:] = loaders


def explain_global(model: Any) -> Any:
    """Explain a whole model, from its released values.

    Returns
    -------
    voile.explain.Explanation
        A `EBMExplanation` of an additive model, a `LVQExplanation` of prototypes, a
        `LocallyLinearExplanation` of locally linear maps.
    """
    return _find(_WHOLE, model)(model)


def explain_local(model: Any, X: object) -> Any:
    """Explain a model's answers for rows the caller holds.

    Returns
    -------
    voile.explain.Explanation
        A `EBMLocalExplanation` of an additive model, `LVQLocalExplanation` of prototypes,
        `LocallyLinearLocalExplanation` of locally linear maps.
    """
    return _find(_ROWS, model)(model, X)


def suggest_changes(model: Any, X: object, wish: Wish) -> Any:
    """Tell what would have to change in rows the caller holds.

    Returns
    -------
    voile.explain.counterfactuals.record.Counterfactuals
    """
    return _find(_CHANGES, model)(model, X, wish)


def _find(table: dict[type, Callable[..., Any]], model: object) -> Callable[..., Any]:
    for load in _LOADERS:
        load()
    for kind in type(model).__mro__:
        if kind in table:
            return table[kind]
    known = ", ".join(sorted(kind.__name__ for kind in table))
    raise SettingError(f"A {type(model).__name__} cannot be explained: give one of {known}.")
