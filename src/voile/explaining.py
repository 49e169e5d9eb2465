"""Where what explains a model registers itself, and where models find it.

Models lie below the layer that explains them, and yet offer ``explain_global`` and
``explain_local``. They ask here. What explains a model registers beside itself, by the type of the
model; it is loaded at the first question, by what the root of the package has installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from voile.errors import SettingError

Explainer = TypeVar("Explainer", bound=Callable[..., Any])

_WHOLE: dict[type, Callable[..., Any]] = {}
_ROWS: dict[type, Callable[..., Any]] = {}
_LOADERS: list[Callable[[], object]] = []


def explains(kind: type, *, rows: bool = False) -> Callable[[Explainer], Explainer]:
    """Register a function that explains a whole model of this type, or its answers for rows."""

    def register(explainer: Explainer) -> Explainer:
        (_ROWS if rows else _WHOLE)[kind] = explainer
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


def _find(table: dict[type, Callable[..., Any]], model: object) -> Callable[..., Any]:
    for load in _LOADERS:
        load()
    for kind in type(model).__mro__:
        if kind in table:
            return table[kind]
    known = ", ".join(sorted(kind.__name__ for kind in table))
    raise SettingError(f"A {type(model).__name__} cannot be explained: give one of {known}.")
