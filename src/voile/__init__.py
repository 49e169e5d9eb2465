"""Voile: models you can see through, trained on data nobody can.

>>> import voile
>>> voile.Budget(epsilon=1, delta=1e-6)
Budget(epsilon=1.0, delta=1e-06)
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from voile import explaining, rendering
from voile.errors import VoileError
from voile.version import __version__

if TYPE_CHECKING:
    from voile.explain.blackbox.explainer import PrivateExplainer
    from voile.federated.federation import Federation
    from voile.models.ebm.estimator import EBMClassifier, EBMRegressor
    from voile.models.load import load
    from voile.models.locally_linear.estimator import LocallyLinearClassifier
    from voile.models.lvq.estimator import GLVQClassifier, GMLVQClassifier, LVQ1Classifier
    from voile.planning import forecast
    from voile.privacy.budget import Budget
    from voile.privacy.files.table_files import read_table
    from voile.privacy.holdout import hold_out
    from voile.privacy.ledger import Ledger
    from voile.privacy.receipt import Receipt
    from voile.privacy.vault import protect
    from voile.schema import Category, Date, Number, Schema, Unit
    from voile.summary import summarize

# Loaded on first use, so that `import voile` and `voile --help` are quick.
_PACKAGES = ("audit", "datasets", "federated")
"""Reached as ``voile.audit`` and so on, without an import of their own."""

_HOMES = {
    "Budget": "voile.privacy.budget",
    "Category": "voile.schema",
    "Date": "voile.schema",
    "EBMClassifier": "voile.models.ebm.estimator",
    "EBMRegressor": "voile.models.ebm.estimator",
    "Federation": "voile.federated.federation",
    "GLVQClassifier": "voile.models.lvq.estimator",
    "GMLVQClassifier": "voile.models.lvq.estimator",
    "LVQ1Classifier": "voile.models.lvq.estimator",
    "Ledger": "voile.privacy.ledger",
    "LocallyLinearClassifier": "voile.models.locally_linear.estimator",
    "Number": "voile.schema",
    "PrivateExplainer": "voile.explain.blackbox.explainer",
    "Receipt": "voile.privacy.receipt",
    "Schema": "voile.schema",
    "Unit": "voile.schema",
    "forecast": "voile.planning",
    "hold_out": "voile.privacy.holdout",
    "load": "voile.models.load",
    "protect": "voile.privacy.vault",
    "read_table": "voile.privacy.files.table_files",
    "summarize": "voile.summary",
}

__all__ = [
    "Budget",
    "Category",
    "Date",
    "EBMClassifier",
    "EBMRegressor",
    "Federation",
    "GLVQClassifier",
    "GMLVQClassifier",
    "LVQ1Classifier",
    "Ledger",
    "LocallyLinearClassifier",
    "Number",
    "PrivateExplainer",
    "Receipt",
    "Schema",
    "Unit",
    "VoileError",
    "__version__",
    "forecast",
    "hold_out",
    "load",
    "protect",
    "read_table",
    "summarize",
]


def _load_explainers() -> object:
    from voile.explain.ebm import counterfactuals as ebm_changes
    from voile.explain.ebm import explain as ebm
    from voile.explain.locally_linear import counterfactuals as locally_linear_changes
    from voile.explain.locally_linear import explain as locally_linear
    from voile.explain.lvq import counterfactuals as lvq_changes
    from voile.explain.lvq import explain as lvq

    return ebm, ebm_changes, locally_linear, locally_linear_changes, lvq, lvq_changes


def _load_plan_pages() -> object:
    if "voile.planning" not in sys.modules:
        return None
    from voile.report import plan

    return plan


def _load_audit_pages() -> object:
    if "voile.audit" not in sys.modules:
        return None
    from voile.report import audit

    return audit


def _load_explanation_pages() -> object:
    from voile.report import blackbox, counterfactuals, ebm, locally_linear, lvq, networks

    return blackbox, counterfactuals, ebm, locally_linear, lvq, networks


def _load_model_pages() -> object:
    from voile.report import model, quality

    return model, quality


# Models and records lie below what explains and draws them: it is loaded when they ask for it.
# Where nothing of a part of Voile is loaded, there is no record of it to draw.
explaining.load_with(_load_explainers)
rendering.load_with(_load_plan_pages, _load_audit_pages, _load_explanation_pages, _load_model_pages)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if name in _PACKAGES:
        return import_module(f"voile.{name}")
    raise AttributeError(f"module 'voile' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
