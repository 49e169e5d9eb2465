"""The models of the EBM benchmark behind one face: ours, those of others, those without privacy.

Not a script: see `quality.py`. The incumbent comes from interpret-core and the linear models from
diffprivlib, neither of which need be installed.
"""

import importlib.util
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error

from benchmarks.ebm import linear
from benchmarks.ebm.data import DataSet
from benchmarks.ebm.encoding import codes, counts
from benchmarks.ebm.few_rounds import FewRounds, settings_for

DELTA = 1e-6
ECE_BINS = 10
METRICS = {"binary": "AUROC", "multiclass": "log loss", "regression": "RMSE"}


@dataclass(frozen=True, slots=True)
class Entrant:
    """One model to compare.

    Attributes
    ----------
    name : str
        "ours", "incumbent" or another of `report.LABELS`.
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
    loss : float or None
        Log loss (classes) or RMSE.
    error_rate : float or None
        Share of rows whose likeliest class is not theirs.
    """

    score: float
    calibration: float | None
    seconds: float
    loss: float | None = None
    error_rate: float | None = None


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


def score(
    one: DataSet, model: Any, frame: pd.DataFrame, rows: NDArray, seconds: float = 0.0
) -> Outcome:
    """What a model is worth on some rows."""
    features, truth = frame.iloc[rows], one.target[rows]
    if one.task == "regression":
        loss = float(root_mean_squared_error(truth, np.asarray(model.predict(features))))
        return Outcome(loss, None, seconds, loss)
    chances = np.asarray(model.predict_proba(features))
    loss = float(log_loss(truth, chances, labels=range(chances.shape[1])))
    hit = np.asarray(chances.argmax(axis=1) == truth, dtype=float)
    wrong = float(1 - hit.mean())
    if one.task == "binary":
        yes = chances[:, 1]
        ranked = float(roc_auc_score(truth, yes))
        return Outcome(ranked, calibration_error(truth, yes), seconds, loss, wrong)
    return Outcome(loss, calibration_error(hit, chances.max(axis=1)), seconds, loss, wrong)


def run(
    entrant: Entrant,
    one: DataSet,
    frame: pd.DataFrame,
    train: NDArray,
    test: NDArray,
    epsilon: float,
) -> Outcome:
    model, seconds = fit(entrant, one, frame, train, epsilon)
    return score(one, model, frame, test, seconds)


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


def as_codes(one: DataSet) -> pd.DataFrame:
    return pd.DataFrame(codes(without_missing(one), one.schema), columns=list(one.schema))


def peer_types(one: DataSet) -> list[str]:
    return ["nominal" if name in one.schema.categories else "continuous" for name in one.schema]


def build_ours(one: DataSet, epsilon: float, **settings: object) -> Any:
    import voile

    kind = voile.EBMRegressor if one.task == "regression" else voile.EBMClassifier
    return kind(epsilon=epsilon, delta=DELTA, schema=one.schema, **settings)


def build_incumbent(one: DataSet, epsilon: float, composition: str = "gdp") -> Any:
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
        "composition": composition,
    }
    if one.task != "regression":
        return DPExplainableBoostingClassifier(**facts)
    low, high = schema.target.lower, schema.target.upper
    return DPExplainableBoostingRegressor(**facts, privacy_target_min=low, privacy_target_max=high)


def build_few_rounds(one: DataSet, epsilon: float, *, additive: bool) -> FewRounds:
    settings = replace(settings_for(one.task, epsilon), additive=additive)
    return FewRounds(epsilon, DELTA, one.schema, one.task, settings)


def build_ceiling(one: DataSet, epsilon: float, **settings: object) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    regression = one.task == "regression"
    kind = ExplainableBoostingRegressor if regression else ExplainableBoostingClassifier
    return kind(feature_names=list(one.schema), feature_types=peer_types(one), **settings)


def build_forest(one: DataSet, epsilon: float) -> Any:
    regression = one.task == "regression"
    kind = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    return kind(categorical_features=[0 < count <= MOST_LEVELS for count in counts(one.schema)])


MOST_LEVELS = 255
"""Of a category in scikit-learn's boosting; others are numbers to it."""
EVERY_TASK = ("binary", "multiclass", "regression")
TWO_TASKS = ("binary", "regression")
OURS = Entrant("ours", build_ours, as_it_is, EVERY_TASK)
INCUMBENT = Entrant("incumbent", build_incumbent, without_missing, TWO_TASKS)
CEILING = Entrant(
    "ceiling", partial(build_ceiling, interactions=0), without_missing, EVERY_TASK, private=False
)
USUAL = (OURS, INCUMBENT, CEILING)
MORE = (
    Entrant("ours_additive", partial(build_ours, interactions=0), as_it_is, EVERY_TASK),
    Entrant(
        "ours_cyclic", partial(build_ours, method="cyclic", interactions=0), as_it_is, TWO_TASKS
    ),
    Entrant(
        "incumbent_classic",
        partial(build_incumbent, composition="classic"),
        without_missing,
        TWO_TASKS,
    ),
    Entrant("few_rounds", partial(build_few_rounds, additive=True), without_missing, TWO_TASKS),
    Entrant("random_trees", partial(build_few_rounds, additive=False), without_missing, TWO_TASKS),
    Entrant("ceiling_pairs", build_ceiling, without_missing, TWO_TASKS, private=False),
    Entrant("ceiling_trees", build_forest, as_codes, EVERY_TASK, private=False),
)
ENTRANTS = {entrant.name: entrant for entrant in (*USUAL, *MORE)}
FROM_INTERPRET = ("incumbent", "incumbent_classic", "ceiling", "ceiling_pairs")


def linear_models(python: str) -> Entrant:
    """Linear models of diffprivlib, which another Python has."""

    def build(one: DataSet, epsilon: float) -> linear.ForeignLinear:
        return linear.ForeignLinear(python, epsilon, one.schema, one.task)

    return Entrant("linear", build, without_missing, TWO_TASKS)


def ours_landed() -> bool:
    import voile

    return hasattr(voile, "EBMClassifier") and hasattr(voile, "EBMRegressor")


def peers_installed() -> bool:
    return importlib.util.find_spec("interpret") is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which models are to be run.

    Attributes
    ----------
    peers : bool
        The incumbent, and the ceiling.
    ceiling : bool
        Models without privacy.
    every : bool
        All that are known, not only the usual three.
    linear : str or None
        A Python that has diffprivlib; with `every`.
    """

    peers: bool = True
    ceiling: bool = True
    every: bool = False
    linear: str | None = None


def present(wanted: Wanted) -> tuple[tuple[Entrant, ...], tuple[str, ...]]:
    """The models that can be run here, and in words those that cannot."""
    entrants, absent = [], []
    known = (*USUAL, *MORE) if wanted.every else USUAL
    for one in known:
        why = reason_against(one, wanted)
        if why is None:
            entrants.append(one)
        else:
            absent.append(f"{one.name}: {why}")
    if wanted.every and wanted.peers:
        if wanted.linear is None:
            absent.append(f"linear: no Python with diffprivlib was named ({LINEAR_REMEDY})")
        elif linear.version(wanted.linear) is None:
            absent.append(f"linear: {wanted.linear} has no diffprivlib ({LINEAR_REMEDY})")
        else:
            entrants.append(linear_models(wanted.linear))
    return tuple(entrants), tuple(absent)


LINEAR_REMEDY = (
    "python -m venv dpl; dpl/bin/pip install diffprivlib 'scikit-learn<1.6', then "
    "--linear dpl/bin/python"
)


def reason_against(one: Entrant, wanted: Wanted) -> str | None:
    """Why a model is not run, or None if it is."""
    if one.name.startswith("ours"):
        return None if ours_landed() else "this version of Voile has no EBM"
    if not wanted.peers:
        return "not wanted (--no-peer)"
    if not (one.private or wanted.ceiling):
        return "not wanted (--no-ceiling)"
    if one.name in FROM_INTERPRET and not peers_installed():
        return "pip install interpret-core"
    return None
