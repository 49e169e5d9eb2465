"""Three ways in which prototypes give away rows: reconstruction, outliers, and broken symmetry.

The experiments of Brinkrolf, Goepfert and Hammer, "Differential privacy for learning vector
quantization" (Neurocomputing, 2019), Section 4, for any way of training. All rows here are drawn,
none are anybody's: ``random_state`` seeds them, and never the noise of a private fit.

A model that withstands these attacks is not thereby private: other attacks may do better. The
guarantee of its receipt is what holds against all of them, and an attack that beats the guarantee
shows that something is broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.leaks.lvq_findings import OutlierTest, RebuiltRecord, XorTest
from voile.audit.two_worlds import allowed_advantage, allowed_auc, estimate, tell_apart
from voile.errors import DataError, SettingError
from voile.privacy.origins import trials

Floats = NDArray[np.float64]

Fit = Callable[[Floats, NDArray[np.int64]], tuple[ArrayLike, ArrayLike]]
"""Trains on X (rows, features) and y (rows,) of classes 0 and 1.

Returns the prototypes (prototypes, features), in the units of X, and the class of each.
"""

CENTRE = 10.0
"""The classes lie around (-10, 0, ...) and (10, 0, ...), with standard deviation 1."""

INSIDE = 5.0
"""Distance from a cluster's middle up to which a prototype is inside it."""


def prototypes_of(estimator: Any) -> Fit:
    """A scikit-learn style estimator as a way of training.

    Parameters
    ----------
    estimator : estimator
        Has ``prototypes_`` and ``prototype_labels_`` once fitted. Each run trains a copy. Every run
        draws new rows, so leave its ``ledger`` out: each copy then has its own.
    """
    from sklearn.base import clone

    def fit(X: Floats, y: NDArray[np.int64]) -> tuple[ArrayLike, ArrayLike]:
        with trials():
            fitted = clone(estimator).fit(X, y)
        return fitted.prototypes_, fitted.prototype_labels_

    return fit


def reconstruct_record(before: ArrayLike, after: ArrayLike, rows_before: int) -> Floats:
    """The record by which two class means differ: (n + 1) after - n before.

    Parameters
    ----------
    before : array of shape (features,)
        Mean of the class without the record: a released prototype, or the mean of rows that the
        attacker knows anyway.
    after : array of shape (features,)
        Mean with the record.
    rows_before : int
        Rows of the class without the record, n >= 0.

    Returns
    -------
    ndarray of shape (features,)
        In the units of the means. Exact if they are exact; errors of ``after`` come back n + 1
        times as large.

    Examples
    --------
    >>> reconstruct_record([4.0, 1.0], [5.0, 1.0], rows_before=3).tolist()
    [8.0, 1.0]
    """
    first, second = np.asarray(before, np.float64), np.asarray(after, np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise DataError(
            f"Both means must be vectors of one length, not of shapes {first.shape} and"
            f" {second.shape}: give one prototype of each model."
        )
    if rows_before < 0:
        raise SettingError("rows_before must be 0 or more.")
    return np.asarray(second + rows_before * (second - first))


def reconstruction_test(
    fit: Fit,
    *,
    rows: int = 50,
    features: int = 2,
    runs: int = 50,
    knows_others: bool = False,
    random_state: int | None = None,
) -> RebuiltRecord:
    """Add one record to a class, train before and after, and rebuild the record.

    Parameters
    ----------
    fit : callable
        See `Fit`.
    rows : int
        Rows of each of two classes, at (-10, 0, ...) and (10, 0, ...), standard deviation 1.
    features : int
    runs : int
        New rows and a new record in each; at least 2.
    knows_others : bool
        False: the attacker has the prototypes before and after. True: it has the prototypes
        after, and knows all rows but the record.
    random_state : int, optional
        Seeds the drawn rows.
    """
    _check_counts(rows=(rows, 1), features=(features, 1), runs=(runs, 2))
    rng = np.random.default_rng(random_state)
    rebuilt, truth, guesses = (np.empty((runs, features)) for _ in range(3))
    for i in range(runs):
        X, y = _two_classes(rng, rows, features)
        truth[i] = _centre(features) + rng.standard_normal(features)
        guesses[i] = X[y == 1].mean(axis=0)
        before = guesses[i] if knows_others else _class_prototype(fit, X, y)
        after = _class_prototype(fit, np.vstack([X, truth[i]]), np.append(y, 1))
        rebuilt[i] = reconstruct_record(before, after, rows)
    missed, guessed = rebuilt - truth, guesses - truth
    nearer = np.linalg.norm(missed, axis=1) < np.linalg.norm(guessed, axis=1)
    return RebuiltRecord(
        runs=runs,
        rows=rows,
        features=features,
        knows_others=knows_others,
        error=float(np.sqrt((missed**2).mean())),
        largest_error=float(np.abs(missed).max()),
        guess_error=float(np.sqrt((guessed**2).mean())),
        correlation=_correlation(rebuilt - guesses, truth - guesses),
        better_than_guess=estimate(nearer, 0.0, 1.0),
    )


def outlier_test(
    fit: Fit,
    outlier: tuple[float, ...] = (10.0, 10.0),
    *,
    rows: int = 50,
    runs: int = 400,
    knows_others: bool = False,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: int | None = None,
) -> OutlierTest:
    """Train with and without one outlier, and try to tell which was which.

    Parameters
    ----------
    fit : callable
        See `Fit`.
    outlier : tuple of float
        Its place, or the middle of its places (standard deviation 1) if ``knows_others`` is false.
        It belongs to the class around (10, 0, ...).
    rows : int
        Rows of each of two classes, at (-10, 0, ...) and (10, 0, ...), standard deviation 1.
    runs : int
        Pairs of fits, at least 4.
    knows_others : bool
        False: every run draws new rows, as in the paper; the attacker knows no row. True: the rows
        are drawn once, and only the fit's own chance differs. This is the attacker that
        differential privacy is about.
    epsilon, delta : float, optional
        The guarantee of ``fit``, to say what it allows.
    random_state : int, optional
        Seeds the drawn rows.
    """
    _check_counts(rows=(rows, 1), runs=(runs, 4))
    place = np.asarray(outlier, np.float64)
    if place.ndim != 1 or not len(place) or not np.isfinite(place).all():
        raise DataError("The outlier must be one point of finite numbers, as (10.0, 10.0).")
    away = place - _centre(len(place))
    if not away.any():
        raise SettingError("The outlier lies in the middle of its class: move it away.")
    away = away / np.linalg.norm(away)
    rng = np.random.default_rng(random_state)
    X, y = _two_classes(rng, rows, len(place))
    without, with_row = np.empty(runs), np.empty(runs)
    for i in range(runs):
        extra = place
        if not knows_others:
            X, y = _two_classes(rng, rows, len(place))
            extra = place + rng.standard_normal(len(place))
        without[i] = _class_prototype(fit, X, y) @ away
        with_row[i] = _class_prototype(fit, np.vstack([X, extra]), np.append(y, 1)) @ away
    attack = tell_apart(without, with_row)
    return OutlierTest(
        outlier=tuple(float(one) for one in place),
        runs=runs,
        knows_others=knows_others,
        shift=estimate(with_row - without),
        p_value=_welch(without, with_row),
        advantage=attack.advantage,
        auc=attack.auc,
        allowed_advantage=None if epsilon is None else allowed_advantage(epsilon, delta),
        allowed_auc=None if epsilon is None else allowed_auc(epsilon, delta),
    )


def xor_test(
    fit: Fit,
    *,
    added: int = 10,
    rows: int = 300,
    runs: int = 400,
    epsilon: float | None = None,
    delta: float = 0.0,
    random_state: int | None = None,
) -> XorTest:
    """Let a few points decide which of two equal clusters a lone prototype goes to.

    Class 0 lies around (-10, 10) and (10, -10), class 1 around (-10, -10) and (10, 10), standard
    deviation 1. The second world has ``added`` more points around (-10, -10).

    Parameters
    ----------
    fit : callable
        See `Fit`. Trains one prototype for class 1, and two for class 0 (as in the paper).
    added : int
    rows : int
        Rows of each of the four clusters.
    runs : int
        Pairs of fits, at least 2.
    epsilon, delta : float, optional
        The guarantee of ``fit`` for one row, to say what it allows for ``added`` rows.
    random_state : int, optional
        Seeds the drawn rows.
    """
    _check_counts(added=(added, 1), rows=(rows, 1), runs=(runs, 2))
    rng = np.random.default_rng(random_state)
    middles = CENTRE * np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [1.0, 1.0]])
    side, settled = np.empty((2, runs)), np.empty((2, runs))
    y = np.repeat([0, 0, 1, 1], rows)
    later = np.append(y, np.ones(added, np.int64))
    for i in range(runs):
        X = np.repeat(middles, rows, axis=0) + rng.standard_normal((4 * rows, 2))
        more = middles[2] + rng.standard_normal((added, 2))
        for world, fitted in enumerate(((X, y), (np.vstack([X, more]), later))):
            lone = _lone_prototype(fit, *fitted)
            side[world, i] = lone.sum() < 0.0
            settled[world, i] = np.linalg.norm(middles[2:] - lone, axis=1).min() <= INSIDE
    return XorTest(
        runs=runs,
        added=added,
        balanced=estimate(side[0], 0.0, 1.0),
        unbalanced=estimate(side[1], 0.0, 1.0),
        settled=float(settled.mean()),
        p_value=_fisher(int(side[0].sum()), int(side[1].sum()), runs),
        advantage=estimate(side[1] - side[0], -1.0, 1.0),
        allowed_advantage=None if epsilon is None else allowed_advantage(epsilon, delta, added),
    )


def _check_counts(**counts: tuple[int, int]) -> None:
    for name, (value, least) in counts.items():
        if value < least:
            raise SettingError(f"{name} must be {least} or more, not {value}.")


def _centre(features: int) -> Floats:
    return np.append(CENTRE, np.zeros(features - 1))


def _two_classes(
    rng: np.random.Generator, rows: int, features: int
) -> tuple[Floats, NDArray[np.int64]]:
    y = np.repeat([0, 1], rows)
    X = (2.0 * y[:, None] - 1.0) * _centre(features) + rng.standard_normal((2 * rows, features))
    return X, y


def _prototypes(fit: Fit, X: Floats, y: NDArray[np.int64]) -> Floats:
    """The prototypes of class 1, shape (prototypes, features)."""
    found, labels = (np.asarray(one) for one in fit(X, y))
    if found.ndim != 2 or found.shape[1] != X.shape[1] or labels.shape != (len(found),):
        raise DataError(
            f"fit must return prototypes of shape (prototypes, {X.shape[1]}) and a class for each,"
            f" not shapes {found.shape} and {labels.shape}."
        )
    own: Floats = found[labels == 1].astype(np.float64)
    if not len(own):
        raise DataError("fit returned no prototype of class 1: classes are the numbers 0 and 1.")
    return own


def _class_prototype(fit: Fit, X: Floats, y: NDArray[np.int64]) -> Floats:
    """The prototype of class 1; the mean of them if there are several."""
    return np.asarray(_prototypes(fit, X, y).mean(axis=0))


def _lone_prototype(fit: Fit, X: Floats, y: NDArray[np.int64]) -> Floats:
    own = _prototypes(fit, X, y)
    if len(own) != 1:
        raise DataError(
            f"fit returned {len(own)} prototypes of class 1: train one for it, and two for class 0."
        )
    return np.asarray(own[0])


def _correlation(one: Floats, other: Floats) -> float:
    scale = math.sqrt(float((one**2).sum()) * float((other**2).sum()))
    return float((one * other).sum()) / scale if scale > 0 else 0.0


def _welch(one: Floats, other: Floats) -> float:
    from scipy.stats import ttest_ind_from_stats

    spreads = float(one.std(ddof=1)), float(other.std(ddof=1))
    means = float(one.mean()), float(other.mean())
    # Without chance in the fit the worlds are either the same or told apart for certain.
    if max(spreads) <= 1e-12 * max(abs(means[0]), abs(means[1]), 1.0):
        return float(abs(means[1] - means[0]) <= 1e-9)
    found = ttest_ind_from_stats(
        means[0], spreads[0], len(one), means[1], spreads[1], len(other), equal_var=False
    )
    return float(found.pvalue)


def _fisher(first: int, second: int, runs: int) -> float:
    from scipy.stats import fisher_exact

    table = [[first, runs - first], [second, runs - second]]
    return float(fisher_exact(table).pvalue)
