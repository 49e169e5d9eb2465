"""From scores of members and non-members to rates, their intervals, and what a guarantee allows.

Scores of one training share a model, and scores of one row share its shadows: they are not
independent. The standard error of a mean over all of them is therefore taken over trainings and
over rows as clusters (Cameron, Gelbach & Miller 2011, "Robust inference with multiway clustering"),
and exact intervals of rates count only as many scores as are worth independent ones (Korn &
Graubard 1998). With few trainings these are approximations, and no more than that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from voile.audit.bounds import interval
from voile.audit.membership.findings import Roc, RocPoint
from voile.audit.two_worlds import Estimate
from voile.errors import DataError, SettingError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RISK = 0.025
"""Chance that a true value lies beyond either end of an interval."""

MOST_POINTS = 200
"""Points of a curve that are kept."""


def allowed_tpr(epsilon: float, delta: float, fpr: float) -> float:
    """Largest true-positive rate of any attacker at a false-positive rate, under (epsilon, delta).

    min(e^eps f + delta, 1 - e^-eps (1 - delta - f)), at most 1.

    Examples
    --------
    >>> round(allowed_tpr(1.0, 1e-6, 0.01), 4)
    0.0272
    """
    if math.isnan(epsilon) or epsilon < 0 or not 0 <= delta <= 1:
        raise SettingError("A guarantee has epsilon >= 0 and delta between 0 and 1.")
    if not 0 <= fpr <= 1:
        raise SettingError("A false-positive rate lies between 0 and 1.")
    steep = delta + (math.exp(min(epsilon, 700.0)) * fpr if fpr > 0 else 0.0)
    flat = 1.0 - math.exp(-epsilon) * (1.0 - delta - fpr)
    return 1.0 if math.isinf(epsilon) else float(min(steep, flat, 1.0))


def check_scores(scores: Floats, members: Bools) -> None:
    """Refuse scores that cannot be ranked, or that are all of one kind."""
    if scores.ndim != 2 or scores.shape != members.shape or members.dtype != np.bool_:
        raise DataError(
            "Scores and members must be arrays of one shape (trainings, rows), members of bool, "
            f"not of shapes {scores.shape} and {members.shape}."
        )
    if np.isnan(scores).any():
        raise DataError("Some scores are not numbers: the shadow models' answers must be finite.")
    if members.all() or not members.any():
        raise DataError("There must be both members and non-members.")


def count_alarms(
    scores: Floats, members: Bools
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """False and right alarms for every limit that a score can be compared with.

    Parameters
    ----------
    scores : array of shape (trainings, rows)
    members : bool array of shape (trainings, rows)

    Returns
    -------
    limits : array of shape (limits,)
        Falling, from infinity (no alarm at all) to the smallest score. A score that reaches the
        limit is an alarm.
    false, right : int arrays of shape (limits,)
    """
    check_scores(scores, members)
    flat, inside = scores.ravel(), members.ravel()
    order = np.argsort(-flat, kind="stable")
    flat, inside = flat[order], inside[order]
    # Equal scores are alarms together.
    last = np.append(np.flatnonzero(flat[1:] != flat[:-1]), len(flat) - 1)
    right, both = np.cumsum(inside)[last], last + 1
    zero = np.zeros(1, dtype=np.int64)
    limits = np.append(np.inf, flat[last])
    return limits, np.append(zero, both - right), np.append(zero, right)


def curve(scores: Floats, members: Bools) -> Roc:
    """The ROC curve, thinned to at most 200 of its corners, close together at low false rates."""
    _, false, right = count_alarms(scores, members)
    n_out, n_in = int(false[-1]), int(right[-1])
    wanted = np.geomspace(1.0, n_out, MOST_POINTS - 2)
    places = np.searchsorted(false, np.floor(wanted), side="right") - 1
    first = np.searchsorted(false, 0, side="right") - 1
    kept = np.unique(np.concatenate([[0, first], places]))
    return Roc(
        tuple(float(one) for one in false[kept] / n_out),
        tuple(float(one) for one in right[kept] / n_in),
    )


def area(scores: Floats, members: Bools) -> Estimate:
    """AUC: the chance that a member's score is above a non-member's, ties counting half.

    Returns
    -------
    Estimate
        With standard errors over trainings and rows, and Student's interval with as many degrees
        of freedom as there are trainings but one. With one training, the interval supposes that
        its rows are independent.
    """
    check_scores(scores, members)
    ins, outs = np.sort(scores[members]), np.sort(scores[~members])
    # How each score stands in the other group: the influence of one score on the area.
    beats = _share_below(outs, scores)
    beaten = 1.0 - _share_below(ins, scores)
    value = float(beats[members].mean())
    parts = np.where(members, (beats - value) / len(ins), (beaten - value) / len(outs))
    # Perfect separation has no spread to estimate: imagine one wrong pair of either kind.
    least = math.sqrt(1.0 / len(ins) ** 2 + 1.0 / len(outs) ** 2) / 2.0
    error = max(math.sqrt(clustered_variance(parts)), least)
    width = _width(len(scores)) * error
    return Estimate(value, error, max(value - width, 0.0), min(value + width, 1.0))


def point(
    scores: Floats, members: Bools, fpr: float, guarantee: tuple[float, float] | None = None
) -> RocPoint:
    """The best limit with at most a given share of false alarms.

    Parameters
    ----------
    scores : array of shape (trainings, rows)
    members : bool array of shape (trainings, rows)
    fpr : float
        Largest share of false alarms.
    guarantee : (epsilon, delta), optional
    """
    if not 0 < fpr < 1:
        raise SettingError("A false-positive rate lies between 0 and 1.")
    limits, false, right = count_alarms(scores, members)
    n_out, n_in = int(false[-1]), int(right[-1])
    # A whole number of false alarms: 1 % of 300 is 3, whatever 0.01 * 300 is in binary.
    place = int(np.searchsorted(false, math.floor(fpr * n_out + 1e-9), side="right")) - 1
    alarms = scores >= limits[place]
    rates = _rate(alarms, ~members), _rate(alarms, members)
    allowed = None if guarantee is None else allowed_tpr(*guarantee, fpr)
    exceeds = guarantee is not None and rates[1].lower > allowed_tpr(
        *guarantee, max(fpr, rates[0].upper)
    )
    return RocPoint(
        fpr=fpr,
        false_alarms=int(false[place]),
        non_members=n_out,
        right_alarms=int(right[place]),
        members=n_in,
        false_rate=rates[0],
        tpr=rates[1],
        allowed=allowed,
        exceeds=None if guarantee is None else exceeds,
    )


def clustered_variance(parts: Floats) -> float:
    """Variance of the sum of parts that add up to about 0, shape (trainings, rows).

    Parts of one training depend on each other, and so do parts of one row. The largest of the
    two-way and the one-way variances, with Bessel's correction.
    """
    trainings, rows = (int(size) for size in parts.shape)
    each = float((parts**2).sum())
    by_row = float((parts.sum(axis=0) ** 2).sum()) * rows / (rows - 1) if rows > 1 else each
    if trainings == 1:
        return max(each, by_row)
    by_training = float((parts.sum(axis=1) ** 2).sum()) * trainings / (trainings - 1)
    return max(each, by_row, by_training, by_training + by_row - each)


def _rate(alarms: Bools, group: Bools) -> Estimate:
    """Share of a group that raises alarms, with an exact interval for what it is worth."""
    runs, hits = int(group.sum()), int((alarms & group).sum())
    value = hits / runs
    plain = value * (1.0 - value) / runs
    error = math.sqrt(plain)
    # Alarms that all agree show no spread: then each row counts once.
    worth = min(runs, alarms.shape[1])
    worth_hits = worth if hits else 0
    if 0 < hits < runs:
        parts = np.where(group, (alarms - value) / runs, 0.0)
        # Student's factor makes up for few trainings, as Korn and Graubard do.
        wider = (_width(len(alarms)) / _width(0)) ** 2
        variance = max(clustered_variance(parts), plain)
        error = math.sqrt(variance)
        worth = max(int(runs * plain / (variance * wider)), 1)
        worth_hits = round(value * worth)
    low, high = interval(worth_hits, worth, RISK)
    return Estimate(value, error, min(low, value), max(high, value))


def _width(trainings: int) -> float:
    """Half a 95 % interval in standard errors; fewer than two trainings: Gaussian."""
    return float(student.ppf(1.0 - RISK, trainings - 1 if trainings > 1 else np.inf))


def _share_below(ordered: Floats, values: Floats) -> Floats:
    below = np.searchsorted(ordered, values, side="left")
    upto = np.searchsorted(ordered, values, side="right")
    shares: Floats = (below + upto) / (2.0 * len(ordered))
    return shares
