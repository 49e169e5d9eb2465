"""The models of the EBM benchmark, behind one face: ours, the incumbent, the non-private ceiling.

Not a script: see `quality.py`. The peers come from interpret-core, which need not be installed.
"""

import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error

from benchmarks.ebm.data import DataSet

DELTA = 1e-6
ECE_BINS = 10
METRICS = {"binary": "AUROC", "multiclass": "log loss", "regression": "RMSE"}


@dataclass(frozen=True, slots=True)
class Entrant:
    """One model to compare.

    Attributes
    ----------
    name : str
        "ours", "incumbent" or "ceiling".
    build : callable
        Makes an unfitted estimator for a set and an epsilon.
    features : callable
        The features of a set as the model can take them.
    tasks : tuple of str
        What it can learn.
    private : bool
        Whether epsilon means anything to it.
    """

    name: str
    build: Callable[[DataSet, float], Any]
    features: Callable[[DataSet], pd.DataFrame]
    tasks: tuple[str, ...]
    private: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """One fit and what it gave on rows it had not seen.

    Attributes
    ----------
    score : float
        AUROC (binary), log loss (several classes) or RMSE (regression).
    calibration : float or None
        Expected calibration error: 10 bins of equal width over the probability of the positive
        class (of the likeliest class, if there are several), weighted by their rows.
    seconds : float
        Wall time of `fit`.
    """

    score: float
    calibration: float | None
    seconds: float


def calibration_error(hit: NDArray, probability: NDArray) -> float:
    """Mean gap between predicted and observed rate, over bins of equal width."""
    place = np.minimum((ECE_BINS * probability).astype(int), ECE_BINS - 1)
    gaps = np.bincount(place, hit - probability, ECE_BINS)
    return float(np.abs(gaps).sum() / len(hit))


def fit(entrant: Entrant, one: DataSet, frame: pd.DataFrame, rows: NDArray, epsilon: float) -> Any:
    """Fit on some rows; returns the model and the seconds."""
    model = entrant.build(one, epsilon)
    features, target = frame.iloc[rows], one.target[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(features, target)
        return model, time.perf_counter() - start


def score(one: DataSet, model: Any, frame: pd.DataFrame, rows: NDArray) -> tuple[float, Any]:
    """Score and calibration error (none for regression) on some rows."""
    features, truth = frame.iloc[rows], one.target[rows]
    if one.task == "regression":
        return float(root_mean_squared_error(truth, np.asarray(model.predict(features)))), None
    chances = np.asarray(model.predict_proba(features))
    if one.task == "binary":
        yes = chances[:, 1]
        return float(roc_auc_score(truth, yes)), calibration_error(truth, yes)
    hit = np.asarray(chances.argmax(axis=1) == truth, dtype=float)
    loss = log_loss(truth, chances, labels=range(chances.shape[1]))
    return float(loss), calibration_error(hit, chances.max(axis=1))


def run(
    entrant: Entrant,
    one: DataSet,
    frame: pd.DataFrame,
    train: NDArray,
    test: NDArray,
    epsilon: float,
) -> Outcome:
    model, seconds = fit(entrant, one, frame, train, epsilon)
    return Outcome(*score(one, model, frame, test), seconds)


def as_it_is(one: DataSet) -> pd.DataFrame:
    return one.frame


def without_missing(one: DataSet) -> pd.DataFrame:
    """Missing numbers, which the incumbent refuses, become the lower bound; levels become text."""
    frame = one.frame.copy()
    for name in one.schema.numbers:
        if frame[name].isna().any():
            frame[name] = frame[name].fillna(one.schema[name].lower)
    for name in one.schema.categories:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "missing").astype(str)
    return frame


def peer_types(one: DataSet) -> list[str]:
    return ["nominal" if name in one.schema.categories else "continuous" for name in one.schema]


def build_ours(one: DataSet, epsilon: float) -> Any:
    import voile

    kind = voile.EBMRegressor if one.task == "regression" else voile.EBMClassifier
    return kind(epsilon=epsilon, delta=DELTA, schema=one.schema)


def build_incumbent(one: DataSet, epsilon: float) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    schema = one.schema
    bounds = {name: (schema[name].lower, schema[name].upper) for name in schema.numbers}
    facts: dict[str, Any] = {
        "feature_names": list(schema),
        "feature_types": peer_types(one),
        "privacy_bounds": bounds,
        "epsilon": epsilon,
        "delta": DELTA,
        # It trains one bag: more jobs would start a process for it and bring nothing.
        "n_jobs": 1,
    }
    if one.task != "regression":
        return DPExplainableBoostingClassifier(**facts)
    low, high = schema.target.lower, schema.target.upper
    return DPExplainableBoostingRegressor(**facts, privacy_target_min=low, privacy_target_max=high)


def build_ceiling(one: DataSet, epsilon: float) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    regression = one.task == "regression"
    kind = ExplainableBoostingRegressor if regression else ExplainableBoostingClassifier
    return kind(feature_names=list(one.schema), feature_types=peer_types(one), interactions=0)


EVERY_TASK = ("binary", "multiclass", "regression")
OURS = Entrant("ours", build_ours, as_it_is, EVERY_TASK)
INCUMBENT = Entrant("incumbent", build_incumbent, without_missing, ("binary", "regression"))
CEILING = Entrant("ceiling", build_ceiling, without_missing, EVERY_TASK, private=False)
ENTRANTS = {entrant.name: entrant for entrant in (OURS, INCUMBENT, CEILING)}


def ours_landed() -> bool:
    import voile

    return hasattr(voile, "EBMClassifier") and hasattr(voile, "EBMRegressor")


def peers_installed() -> bool:
    return importlib.util.find_spec("interpret") is not None


def present(peers: bool, ceiling: bool = True) -> tuple[tuple[Entrant, ...], tuple[str, ...]]:
    """The models that can be run here, and in words those that cannot."""
    entrants, absent = [], []
    if ours_landed():
        entrants.append(OURS)
    else:
        absent.append("ours: this version of Voile has no EBMClassifier and EBMRegressor")
    if not peers:
        absent.append("incumbent and ceiling: not wanted (--no-peer)")
    elif peers_installed():
        entrants.append(INCUMBENT)
        if ceiling:
            entrants.append(CEILING)
        else:
            absent.append("ceiling: not wanted (--no-ceiling)")
    else:
        absent.append("incumbent and ceiling: pip install interpret-core")
    return tuple(entrants), tuple(absent)
