"""Reading a saved model of any kind back: the counterpart of every model's ``save``."""

from __future__ import annotations

from pathlib import Path

from voile.models.ebm.estimator import EBMClassifier, EBMRegressor, load_estimator


def load(path: str | Path) -> EBMClassifier | EBMRegressor:
    """Read a model that was written with ``save``.

    Parameters
    ----------
    path : str or path
        A file of JSON; nothing in it is executed.

    Returns
    -------
    EBMClassifier or EBMRegressor
        Fitted, with its receipt and its history of edits.

    Raises
    ------
    ModelError
        If the file is not a model that this version can read.
    """
    return load_estimator(path)
