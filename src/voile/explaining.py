"""How a model finds the code that explains it: by the name of its type, without importing upwards.

Models lie below the layer that explains them, and yet offer ``explain_global`` and
``explain_local``. They ask here; the explaining module is loaded only then.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from voile.errors import SettingError

_EXPLAINED_BY = {
    "AdditiveModel": "voile.explain.of_model.additive",
    "LocallyLinearModel": "voile.explain.of_model.filters",
    "PrototypeModel": "voile.explain.of_model.prototypes",
}


def explain_global(model: Any) -> Any:
    """Explain a whole model, from its released values.

    Returns
    -------
    voile.explain.Explanation
        A `GlobalExplanation` of an additive model, a `PrototypeExplanation` of prototypes, a
        `FilterBank` of locally linear maps.
    """
    return _explainer(model).explain_global(model)


def explain_local(model: Any, X: object) -> Any:
    """Explain a model's answers for rows the caller holds.

    Returns
    -------
    voile.explain.Explanation
        A `LocalExplanation` of an additive model, `PrototypeDecisions` of prototypes,
        `FilterDecisions` of locally linear maps.
    """
    return _explainer(model).explain_local(model, X)


def _explainer(model: Any) -> Any:
    for one in type(model).__mro__:
        if one.__name__ in _EXPLAINED_BY:
            return import_module(_EXPLAINED_BY[one.__name__])
    raise SettingError(
        f"A {type(model).__name__} cannot be explained: give one of {', '.join(_EXPLAINED_BY)}."
    )
