"""Three membership inference attacks on trained shadow models, and the report of all of them.

Loss threshold, LiRA and RMIA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voile.audit.membership.curves import area, curve, point
from voile.audit.membership.findings import MembershipAttack, MembershipReport
from voile.audit.membership.scores import Variance, lira_scores, rmia_scores
from voile.audit.membership.shadows import Shadows, train_shadows
from voile.audit.two_worlds import allowed_auc
from voile.errors import SettingError

FALSE_POSITIVE_RATES = (0.01, 0.001)
FEWEST_TRAININGS = 4
ENOUGH_FOR_ROWS = 64
"""From so many trainings on, each row's variance is estimated by itself (Carlini et al. 2022)."""


def loss_threshold(
    shadows: Shadows, *, epsilon: float | None = None, delta: float = 0.0
) -> MembershipAttack:
    """A row with a small loss was a member.

    Yeom et al. 2018, "Privacy risk in machine learning: analyzing the connection to overfitting".
    It needs no shadow models: every training is a target by itself, and one is enough.

    Parameters
    ----------
    shadows : Shadows
        From `train_shadows`.
    epsilon, delta : float, optional
        The guarantee of one training, for adding or removing one row.
    """
    return judge("loss threshold", -shadows.losses, shadows, epsilon, delta)


def lira(
    shadows: Shadows,
    *,
    online: bool = True,
    variance: Literal["auto", "pooled", "per row"] = "auto",
    epsilon: float | None = None,
    delta: float = 0.0,
) -> MembershipAttack:
    """A row was a member if the target's confidence looks as with the row rather than without it.

    Carlini et al. 2022; see `voile.audit.membership.scores.lira_scores`. Every training is the
    target once, with all the others as its shadow models.

    Parameters
    ----------
    shadows : Shadows
        Of at least 4 trainings.
    online : bool, default True
        Use shadow models with and without the row; False: only those without.
    variance : {"auto", "pooled", "per row"}
        Of confidences around a row's mean; "auto" is per row from 64 trainings on.
    epsilon, delta : float, optional
        The guarantee of one training, for adding or removing one row.
    """
    _check_trainings(shadows)
    if variance not in ("auto", "pooled", "per row"):
        raise SettingError('variance must be "auto", "pooled" or "per row".')
    chosen: Variance = "per row" if shadows.trainings >= ENOUGH_FOR_ROWS else "pooled"
    if variance != "auto":
        chosen = variance
    scores = lira_scores(shadows.signals, shadows.members, online=online, variance=chosen)
    return judge("LiRA" if online else "LiRA, offline", scores, shadows, epsilon, delta)


def rmia(
    shadows: Shadows,
    *,
    online: bool = True,
    gamma: float = 1.0,
    a: float = 0.3,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> MembershipAttack:
    """A row was a member if its likelihood rose more than that of most rows that were not.

    Zarifzadeh, Liu & Shokri 2024; see `voile.audit.membership.scores.rmia_scores`. Every training
    is the target once.

    Parameters
    ----------
    shadows : Shadows
        Of at least 4 trainings.
    online : bool, default True
        Use shadow models with and without the row; False: only those without.
    gamma : float, default 1
        How many times more than another row's a row's likelihood must have risen.
    a : float, default 0.3
        Offline: how much of a row's likelihood without it stays with it; 1 for all, 0 for models
        that know every row they had by heart.
    epsilon, delta : float, optional
        The guarantee of one training, for adding or removing one row.
    """
    _check_trainings(shadows)
    if not (np.isfinite(gamma) and gamma > 0):
        raise SettingError("gamma must be above 0.")
    if not 0 <= a <= 1:
        raise SettingError("a lies between 0 and 1.")
    scores = rmia_scores(shadows.confidences, shadows.members, online=online, gamma=gamma, a=a)
    return judge("RMIA" if online else "RMIA, offline", scores, shadows, epsilon, delta)


def judge(
    name: str,
    scores: NDArray[np.float64],
    shadows: Shadows,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> MembershipAttack:
    """Rate an attack by its scores, of shape (trainings, rows) and high for members."""
    guarantee = None if epsilon is None else (epsilon, delta)
    return MembershipAttack(
        name=name,
        trainings=shadows.trainings,
        rows=shadows.rows,
        auc=area(scores, shadows.members),
        allowed_auc=None if guarantee is None else allowed_auc(*guarantee),
        points=tuple(
            point(scores, shadows.members, fpr, guarantee) for fpr in FALSE_POSITIVE_RATES
        ),
        roc=curve(scores, shadows.members),
    )


def _check_trainings(shadows: Shadows) -> None:
    if shadows.trainings < FEWEST_TRAININGS:
        raise SettingError(
            f"{shadows.trainings} trainings are too few for shadow models: give trainings="
            f"{FEWEST_TRAININGS} or more."
        )


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
        The guarantee of one training, for adding or removing one row, to say what it allows. Every
        row is in every training by a coin of its own, so the guarantee bounds the true rates of
        each attack, and what is measured up to its intervals.
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
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    >>> report = membership_report(KNeighborsClassifier(1), X, y, trainings=8, random_state=0)
    >>> report.strongest.auc.value > 0.7
    True
    """
    if isinstance(trainings, bool) or not isinstance(trainings, int):
        raise SettingError("trainings must be a whole number.")
    if trainings < FEWEST_TRAININGS:
        raise SettingError(f"trainings must be {FEWEST_TRAININGS} or more, not {trainings}.")
    if epsilon is not None:
        allowed_auc(epsilon, delta)  # refuses a guarantee that is none, before the long work
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
