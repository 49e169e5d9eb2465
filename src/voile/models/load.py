"""Reading a saved model of any kind back: the counterpart of every model's ``save``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from voile.models.ebm.estimator import load_estimator as load_ebm
from voile.models.json_files import read_json
from voile.models.locally_linear.estimator import load_estimator as load_maps
from voile.models.locally_linear.files import SavedLocallyLinear
from voile.models.lvq.estimator import load_estimator as load_lvq
from voile.models.lvq.files import SavedLVQ

_ABOVE = {
    "voile network": "voile.models.networks.estimator",
    "voile fedavg": "voile.federated.fedavg.estimator",
}
"""Readers of models that lie above this layer, and need torch."""


def load(path: str | Path) -> Any:
    """Read a model that was written with ``save``.

    Parameters
    ----------
    path : str or path
        A file of JSON; nothing in it is executed.

    Returns
    -------
    estimator
        Of the class that was saved: fitted, with its receipt, its history of edits and the settings
        of its training (if the file has them: `training_settings_` is None otherwise).

    Raises
    ------
    ModelError
        If the file is not a model that this version can read.
    """
    return read_json(path, _build)


def _build(data: Any) -> Any:
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind == SavedLVQ.kind:
        return load_lvq(data)
    if kind == SavedLocallyLinear.kind:
        return load_maps(data)
    if isinstance(kind, str) and kind in _ABOVE:
        return import_module(_ABOVE[kind]).load_estimator(data)
    # Also for what is no model at all: its reader says what is wrong.
    return load_ebm(data)
