"""Shadow models: the same way of training on many random halves of a pool, asked about every row.

Each row goes into each training by a fair coin of its own. So "with the row" and "without it" are
two worlds that differ in that row alone, the others being equally likely in both: what
(epsilon, delta) for adding or removing one row allows, it allows here, for every row and on
average. Halves of a fixed size would exchange a row for another instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.membership.pools import Pool, open_pool
from voile.errors import DataError, ModelError, SettingError
from voile.privacy.origins import trials
from voile.progress import progress_bar

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Kind = Literal["classification", "regression"]

Fit = Callable[[Any, Any], Any]
"""Trains on rows X and y, and returns a model with ``predict_proba`` or ``predict``."""

NEAREST, FURTHEST = 1e-7, 1e-2
"""Bounds on how far probabilities are kept from 0 and 1, where a logit is infinite."""

FEWEST_ROWS = 20


@dataclass(frozen=True, eq=False)
class Shadows:
    """What every training says about every row, and which rows it was trained on.

    Attributes
    ----------
    kind : {"classification", "regression"}
    members : bool array of shape (trainings, rows)
        Whether the row was in the training.
    confidences : array of shape (trainings, rows)
        Classification: the probability of the row's own class, kept from 0 and 1 by half the
        smallest distance of the others (so by 1/100 for a vote of 50 trees); at least 1e-7, at
        most 1/100. Regression: exp(-r^2 / 2) of the residual r, at least 1e-30.
    residuals : array of shape (trainings, rows) or None
        Regression: target minus prediction, in units of the root mean square of all of them.
    """

    kind: Kind
    members: Bools
    confidences: Floats
    residuals: Floats | None = None

    @property
    def trainings(self) -> int:
        """Number of trainings."""
        return int(self.members.shape[0])

    @property
    def rows(self) -> int:
        """Number of rows of the pool."""
        return int(self.members.shape[1])

    @property
    def losses(self) -> Floats:
        """Loss of each row, shape (trainings, rows): minus log probability, or squared residual."""
        if self.residuals is not None:
            return self.residuals**2
        return -np.log(self.confidences)

    @property
    def signals(self) -> Floats:
        """What LiRA looks at, shape (trainings, rows): roughly Gaussian over trainings.

        The logit of the probability of the own class; for regression minus the size of the
        residual.
        """
        if self.residuals is not None:
            return -np.abs(self.residuals)
        return np.log(self.confidences) - np.log1p(-self.confidences)


def train_shadows(
    fit: Any,
    X: Any,
    y: Any,
    *,
    trainings: int = 16,
    classes: Sequence[Any] | None = None,
    random_state: int | None = None,
) -> Shadows:
    """Train on random halves of a pool, and ask each model about all rows.

    Parameters
    ----------
    fit : estimator or callable
        A scikit-learn style estimator, of which each training fits a clone; or a function
        ``fit(X, y)`` that returns a trained model. The model has ``predict_proba`` (classification)
        or ``predict`` (regression). Leave the ``ledger`` of a private estimator out: each clone
        then has its own.
    X, y : array, data frame, sparse matrix, list; of (rows, ...) and (rows,)
        The pool. At least 20 rows; rows are taken by position. Training gets parts of the same
        kind.
    trainings : int, default 16
        At least 1; `lira` and `rmia` need 4.
    classes : sequence, optional
        What the columns of ``predict_proba`` stand for, if the model has no ``classes_``. Without
        either, the sorted values of ``y``.
    random_state : int, optional
        Seeds which row is in which training; nothing else.

    Returns
    -------
    Shadows

    Raises
    ------
    ModelError
        A training failed or gave a model that cannot be asked; the message names the training.
    """
    train = _way_of_training(fit)
    pool = open_pool(X, y)
    if pool.rows < FEWEST_ROWS:
        raise DataError(f"A pool of {pool.rows} rows is too small: give {FEWEST_ROWS} or more.")
    if isinstance(trainings, bool) or not isinstance(trainings, int) or trainings < 1:
        raise SettingError("trainings must be a whole number of 1 or more.")
    labels = _labels(pool, classes)
    members = _coins(trainings, pool.rows, random_state)
    kind: Kind | None = None
    answers = np.empty((trainings, pool.rows))
    with progress_bar("Training shadow models", trainings) as show:
        for number in range(trainings):
            which = f"Training {number + 1} of {trainings}"
            model = _train(train, pool, members[number], which)
            found = _kind_of(model, classes, pool, which)
            if kind not in (None, found):
                raise ModelError(f"{which} gave a {found} model, the first one did not.")
            kind = found
            if kind == "classification":
                answers[number] = _own_class(model, pool, labels, which)
            else:
                answers[number] = pool.numbers() - _predictions(model, pool, which)
            show(number + 1)
    if kind == "regression":
        scale = float(np.sqrt(np.mean(answers**2)))
        residuals = answers / scale if scale > 0.0 else answers
        nearness = np.maximum(np.exp(-(residuals**2) / 2.0), 1e-30)
        return Shadows("regression", members, nearness, residuals)
    return Shadows("classification", members, _keep_from_ends(answers))


def _way_of_training(fit: Any) -> Fit:
    """A function (X, y) -> model, from an estimator or a function."""
    if hasattr(fit, "fit") and not isinstance(fit, type):
        if not hasattr(fit, "get_params"):
            raise SettingError(
                "The estimator has no get_params, so it cannot be cloned: give a function "
                "fit(X, y) that makes a new one and returns it trained."
            )
        from sklearn.base import clone

        ledgers = [
            name
            for name, value in fit.get_params().items()
            if name.split("__")[-1] == "ledger" and value is not None
        ]
        if ledgers:
            raise SettingError(
                f"The estimator has a ledger ({ledgers[0]}), which all trainings would spend from: "
                "leave it out, so that each training has its own."
            )
        return lambda X, y: clone(fit).fit(X, y)
    if not callable(fit) or isinstance(fit, type):
        raise SettingError(
            "fit must be an estimator, as EBMClassifier(epsilon=1.0), or a function fit(X, y) that "
            f"returns a trained model, not {type(fit).__name__!r}."
        )
    train: Fit = fit
    return train


def _coins(trainings: int, rows: int, random_state: int | None) -> Bools:
    rng = np.random.default_rng(random_state)
    members: Bools = rng.random((trainings, rows)) < 0.5
    inside = members.sum(axis=1)
    if inside.min() < 2 or inside.max() > rows - 2:
        raise DataError(
            "The coins put all rows on one side in a training: give more rows, or another "
            "random_state."
        )
    return members


def _train(train: Fit, pool: Pool, chosen: Bools, which: str) -> Any:
    X, y = pool.take(np.flatnonzero(chosen))
    try:
        with trials():
            return train(X, y)
    except Exception as error:
        # The error's own words may quote a row; it stands above as the cause.
        raise ModelError(
            f"{which} failed on {int(chosen.sum()):,} of {pool.rows:,} rows with "
            f"{type(error).__name__}: make the way of training work on any half of the pool."
        ) from error


def _kind_of(model: Any, classes: Sequence[Any] | None, pool: Pool, which: str) -> Kind:
    if hasattr(model, "predict_proba"):
        return "classification"
    if classes is not None or hasattr(model, "classes_") or not pool.has_numbers():
        raise ModelError(
            f"{which} gave a classifier ({type(model).__name__}) without predict_proba: wrap it, "
            "for example in sklearn.calibration.CalibratedClassifierCV."
        )
    if not hasattr(model, "predict"):
        raise ModelError(
            f"{which} gave a {type(model).__name__!r}, with neither predict_proba nor predict: fit "
            "must return the trained model."
        )
    return "regression"


def _labels(pool: Pool, classes: Sequence[Any] | None) -> list[Any]:
    """The classes that columns stand for, in order, when the model does not say."""
    if classes is None:
        return pool.classes()
    given = list(classes)
    if len(given) < 2 or len(set(given)) != len(given):
        raise SettingError("classes must be two or more different values.")
    if not set(pool.classes()) <= set(given):
        raise DataError("y has values that are not among the classes: give all of them.")
    return given


def _own_class(model: Any, pool: Pool, labels: list[Any], which: str) -> Floats:
    """Probability of each row's own class, shape (rows,); 0 for classes the model never met."""
    table = _asked(model.predict_proba, pool, which)
    known = labels
    if getattr(model, "classes_", None) is not None:
        known = [one.item() if hasattr(one, "item") else one for one in model.classes_]
    if table.shape != (pool.rows, len(known)):
        raise ModelError(
            f"{which}: predict_proba gave shape {table.shape} for {pool.rows} rows and "
            f"{len(known)} classes: give classes=... in the order of its columns, or a model with "
            "classes_."
        )
    if table.min() < -1e-6 or table.max() > 1.0 + 1e-6:
        raise ModelError(f"{which}: predict_proba gave values outside 0 to 1.")
    places = {label: column for column, label in enumerate(known)}
    columns = np.array([places.get(label, -1) for label in pool.labels])
    if (columns < 0).all():
        raise ModelError(
            f"{which}: none of the targets is among the model's classes_: return a model that "
            "names its classes as y does, or one without classes_, and give classes=...."
        )
    return np.where(columns < 0, 0.0, table[np.arange(pool.rows), columns])


def _keep_from_ends(probabilities: Floats) -> Floats:
    """Probabilities off 0 and 1, by half a step of those that are.

    Models that vote say 0 and 1 outright. Far off their other answers, these would make the
    variance of logits so large that nothing else counts.
    """
    away = np.minimum(probabilities, 1.0 - probabilities)
    inner = away[away > 0.0]
    step = float(inner.min()) / 2.0 if len(inner) else FURTHEST
    step = min(max(step, NEAREST), FURTHEST)
    return np.clip(probabilities, step, 1.0 - step)


def _predictions(model: Any, pool: Pool, which: str) -> Floats:
    found = _asked(model.predict, pool, which)
    if found.shape == (pool.rows, 1):
        found = found[:, 0]
    if found.shape != (pool.rows,):
        raise ModelError(
            f"{which}: predict gave shape {found.shape}, not one number for each of {pool.rows} "
            "rows."
        )
    return found


def _asked(question: Callable[[Any], ArrayLike], pool: Pool, which: str) -> Floats:
    try:
        answers = np.asarray(question(pool.X), dtype=np.float64)
    except Exception as error:
        raise ModelError(
            f"{which} gave a model that failed with {type(error).__name__} when asked about the "
            "pool: it must answer for all rows, in numbers."
        ) from error
    if not np.isfinite(answers).all():
        raise ModelError(f"{which} gave a model whose answers are not all finite numbers.")
    return answers
