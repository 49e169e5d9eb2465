"""Three membership inference attacks on trained shadow models: loss threshold, LiRA and RMIA."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.audit.membership.curves import area, curve, point
from voile.audit.membership.findings import MembershipAttack
from voile.audit.membership.scores import Variance, lira_scores, rmia_scores
from voile.audit.membership.shadows import Shadows
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
        The promise of one training, for adding or removing one row.
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
        The promise of one training, for adding or removing one row.
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
        The promise of one training, for adding or removing one row.
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
    promise = None if epsilon is None else (epsilon, delta)
    return MembershipAttack(
        name=name,
        trainings=shadows.trainings,
        rows=shadows.rows,
        auc=area(scores, shadows.members),
        allowed_auc=None if promise is None else allowed_auc(*promise),
        points=tuple(point(scores, shadows.members, fpr, promise) for fpr in FALSE_POSITIVE_RATES),
        roc=curve(scores, shadows.members),
    )


def _check_trainings(shadows: Shadows) -> None:
    if shadows.trainings < FEWEST_TRAININGS:
        raise SettingError(
            f"{shadows.trainings} trainings are too few for shadow models: give trainings="
            f"{FEWEST_TRAININGS} or more."
        )
