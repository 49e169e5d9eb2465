"""The report of all membership inference attacks, on one set of shadow models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from voile.audit.membership.attacks import FEWEST_TRAININGS, lira, loss_threshold, rmia
from voile.audit.membership.findings import MembershipReport
from voile.audit.membership.shadows import train_shadows
from voile.audit.two_worlds import allowed_auc
from voile.errors import SettingError


def membership_report(
    fit: Any,
    X: Any,
    y: Any,
    *,
    trainings: int = 16,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: int | None = None,
    classes: Sequence[Any] | None = None,
) -> MembershipReport:
    """Train on random halves of a pool, and try to tell who was in which.

    Loss threshold, LiRA and RMIA, the last two with all shadow models and with those alone that
    had not seen the row ("offline"). Each training is the target once.

    The report is made from the rows in the clear, and no budget is spent: it says what an attacker
    could do. Keep it with the rows, or use a public or made-up pool.

    Parameters
    ----------
    fit : estimator or callable
        A scikit-learn style estimator, cloned for each training; or a function ``fit(X, y)`` that
        returns a trained model with ``predict_proba`` (classification) or ``predict`` (regression).
    X, y : array, data frame, sparse matrix, list; of (rows, ...) and (rows,)
        The pool, of at least 20 rows. Each training gets about half of it.
    trainings : int, default 16
        At least 4. More make LiRA stronger and intervals narrower.
    epsilon, delta : float, optional
        The promise of one training, for adding or removing one row, to say what it allows. Every
        row is in every training by a coin of its own, so the promise bounds the true rates of each
        attack, and what is measured up to its intervals.
    random_state : int, optional
        Seeds the coins; never the training's own chance or noise.
    classes : sequence, optional
        What the columns of ``predict_proba`` stand for, if the model has no ``classes_``.

    Returns
    -------
    MembershipReport
        Rates are over rows x trainings. Scores of one training share a model and scores of one row
        share shadow models, so intervals are over trainings and rows as clusters; they are
        approximate, and say how the rates vary with the coins, the training's chance and the rows.
        They concern average rows, and are no lower bound on epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from voile.audit.membership import membership_report
    >>> chance = np.random.default_rng(0)
    >>> X, y = chance.normal(size=(200, 3)), chance.integers(0, 2, 200)
    >>> report = membership_report(KNeighborsClassifier(1), X, y, trainings=8, random_state=0)
    >>> report.strongest.auc.value > 0.7
    True
    """
    if isinstance(trainings, bool) or not isinstance(trainings, int):
        raise SettingError("trainings must be a whole number.")
    if trainings < FEWEST_TRAININGS:
        raise SettingError(f"trainings must be {FEWEST_TRAININGS} or more, not {trainings}.")
    if epsilon is not None:
        allowed_auc(epsilon, delta)  # refuses a promise that is none, before the long work
    shadows = train_shadows(
        fit, X, y, trainings=trainings, classes=classes, random_state=random_state
    )
    attacks = (
        loss_threshold(shadows, epsilon=epsilon, delta=delta),
        lira(shadows, epsilon=epsilon, delta=delta),
        lira(shadows, online=False, epsilon=epsilon, delta=delta),
        rmia(shadows, epsilon=epsilon, delta=delta),
        rmia(shadows, online=False, epsilon=epsilon, delta=delta),
    )
    return MembershipReport(
        kind=shadows.kind,
        trainings=shadows.trainings,
        rows=shadows.rows,
        epsilon=epsilon,
        delta=None if epsilon is None else delta,
        attacks=attacks,
    )
