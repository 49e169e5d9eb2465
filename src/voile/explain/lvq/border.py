"""Where the answer of a prototype model changes: the nearest border, one feature or all at once.

For points x and prototypes w with the metric L, ``|x - w|^2`` and ``|x - v|^2`` differ by a linear
function of x: borders are planes. So both questions have exact answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Floats = NDArray[np.float64]

MOST_ROUNDS = 50
"""Rounds of adding bounds before a border counts as not found."""


@dataclass(frozen=True, eq=False)
class View:
    """All prototypes as one row sees them.

    Attributes
    ----------
    distances : ndarray of shape (prototypes,)
        Squared distances d.
    slopes : ndarray of shape (prototypes, features)
        L (x - w). Moving x by t moves ``d_v - d_w`` by ``2 (slopes_v - slopes_w) t``.
    own : ndarray of bool, shape (prototypes,)
        Prototypes of the row's own class.
    lower, upper : ndarray of shape (features,)
        How far each feature may move; 0 for what has to stay.
    """

    distances: Floats
    slopes: Floats
    own: NDArray[np.bool_]
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class SingleMoves:
    """For each feature, the smallest move of it alone at which another class is as near.

    Attributes
    ----------
    moves : ndarray of shape (features,)
        NaN where no move within the bounds suffices.
    toward : ndarray of shape (features,)
        Number of the prototype that is as near then; -1 where there is none.
    """

    moves: Floats
    toward: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JointMove:
    """A joint move, the prototype that is then as near, and whether its class wins there.

    It does not if another prototype of the row's own class is nearer.
    """

    move: Floats
    toward: int
    wins: bool

    @property
    def length(self) -> float:
        """How far the move goes."""
        return float(np.linalg.norm(self.move))


def find_single_moves(view: View) -> SingleMoves:
    """Smallest moves of one feature that suffice for another class.

    Another class wins once one of its prototypes is at least as near as *every* prototype of the
    row's class: for each such prototype and feature, an interval of moves.
    """
    others = np.flatnonzero(~view.own)
    features = view.slopes.shape[1]
    if not len(others):
        return SingleMoves(np.full(features, np.nan), np.full(features, -1))
    low = np.full((len(others), features), -np.inf)
    high = np.full((len(others), features), np.inf)
    for p in np.flatnonzero(view.own):
        ahead = (view.distances[others] - view.distances[p])[:, None]
        slope = 2 * (view.slopes[others] - view.slopes[p])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            root = -ahead / slope
        flat = slope == 0
        never = flat & (ahead > 0)
        low = np.maximum(low, np.where(never, np.inf, np.where(slope < 0, root, -np.inf)))
        high = np.minimum(high, np.where(slope > 0, root, np.inf))
    nearest = np.clip(0.0, low, np.maximum(low, high))
    fits = (low <= high) & (nearest >= view.lower) & (nearest <= view.upper)
    fits &= view.upper > view.lower
    sizes = np.where(fits, np.abs(nearest), np.inf)
    best = sizes.argmin(axis=0)
    column = np.arange(features)
    found = np.isfinite(sizes[best, column])
    return SingleMoves(
        np.where(found, nearest[best, column], np.nan), np.where(found, others[best], -1)
    )


def find_joint_move(view: View, nearest: int) -> JointMove | None:
    """Find the smallest move of all features at which another class is as near as the own.

    Parameters
    ----------
    view : View
    nearest : int
        Number of the nearest prototype of the row's class.

    Returns
    -------
    JointMove or None
        None if nothing within the bounds suffices. If that could not be settled, the move to the
        border of the nearest prototype, which does not win.
    """
    moves = [
        JointMove(move, int(other), _wins(view, move, int(other)))
        for other in np.flatnonzero(~view.own)
        if (move := _reach_one(view, int(other), nearest)) is not None
    ]
    moves.sort(key=lambda one: one.length)
    best: JointMove | None = None
    settled = True
    for one in moves:
        # Passing all prototypes of the own class is never shorter than passing the nearest.
        if best is not None and one.length >= best.length:
            break
        try:
            found = one if one.wins else _reach_all(view, one.toward)
        except _UnsettledError:
            found, settled = None, False
        if found is not None and (best is None or found.length < best.length):
            best = found
    return best or (None if settled else moves[0])


class _UnsettledError(Exception):
    """Rounding or time did not let us find a border that may be there."""


def _wins(view: View, move: Floats, other: int) -> bool:
    """Whether a prototype is, after a move, as near as all of the row's own class."""
    after = view.distances + 2 * view.slopes @ move  # but for a part that is the same for all
    nearest = float(after[view.own].min())
    return bool(after[other] <= nearest + 1e-9 * (1 + abs(nearest)))


def _reach_one(view: View, other: int, nearest: int) -> Floats | None:
    slope = 2 * (view.slopes[other] - view.slopes[nearest])
    gap = max(float(view.distances[other] - view.distances[nearest]), 0.0)
    return _reach_plane(slope, gap, view.lower, view.upper)


def _reach_all(view: View, other: int) -> JointMove | None:
    slopes = 2 * (view.slopes[other] - view.slopes[view.own])
    gaps = view.distances[other] - view.distances[view.own]
    move = _reach_planes(slopes, gaps, view.lower, view.upper)
    return None if move is None else JointMove(move, other, wins=True)


def _reach_planes(slopes: Floats, gaps: Floats, lower: Floats, upper: Floats) -> Floats | None:
    """The shortest t within bounds with ``slopes @ t <= -gaps``; None if there is none.

    Bounds are heeded once they are crossed: few of them matter, and every round adds some.
    """
    steep = np.linalg.norm(slopes, axis=1)
    if not (np.isfinite(steep).all() and np.isfinite(gaps).all()):  # more than a float can hold
        raise _UnsettledError
    if np.any((steep == 0) & (gaps > 0)):
        return None
    used = steep > 0
    normals, heights = -slopes[used] / steep[used, None], gaps[used] / steep[used]
    unit = np.eye(len(lower))
    for _ in range(MOST_ROUNDS):
        move = _least_distance(normals, heights)
        if move is None:
            return None
        low, high = np.flatnonzero(move < lower - 1e-12), np.flatnonzero(move > upper + 1e-12)
        if not len(low) and not len(high):
            return _stretch(np.clip(move, lower, upper), slopes, gaps)
        normals = np.concatenate([normals, unit[low], -unit[high]])
        heights = np.concatenate([heights, lower[low], -upper[high]])
    raise _UnsettledError


def _least_distance(normals: Floats, heights: Floats) -> Floats | None:
    """The shortest t with ``normals @ t >= heights``; None if there is none.

    Lawson and Hanson (1974), chapter 23: the residual of a least-squares problem with
    coefficients that are not negative.
    """
    if not len(normals):  # no condition at all; scipy's nnls brings the process down
        return np.zeros(normals.shape[1])
    matrix = np.concatenate([normals.T, heights[None]])
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    try:
        weights, size = nnls(matrix, target)
    except RuntimeError as error:  # too many steps
        raise _UnsettledError from error
    if size < 1e-10:
        return None
    residual = matrix @ weights - target
    return np.asarray(-residual[:-1] / residual[-1])


def _stretch(move: Floats, slopes: Floats, gaps: Floats) -> Floats:
    """Stretch a move by what rounding left, so that it ends at the border."""
    gained = -(slopes @ move)
    behind = gaps > 0
    if not behind.any():
        return move
    with np.errstate(divide="ignore"):
        factor = float((gaps[behind] / gained[behind]).max())
    # Moved farther, another prototype of the own class must not come nearer again.
    kept = np.all(gaps - factor * gained <= 1e-9 * (1 + np.abs(gaps)))
    if not kept or not abs(factor - 1) < 1e-6:
        raise _UnsettledError
    return factor * move


def _reach_plane(slope: Floats, gap: float, lower: Floats, upper: Floats) -> Floats | None:
    """The shortest t within bounds with ``slope @ t = -gap``, or None.

    It has the form ``clip(-a * slope, lower, upper)`` (the conditions of Karush, Kuhn and Tucker).
    With growing a, ever more features stand at their bounds; between two such events the product
    is linear in a.
    """
    room = np.where(slope > 0, -lower, upper)  # how far each feature can go the useful way
    useful = np.flatnonzero((slope != 0) & (room > 0))
    steep = np.abs(slope[useful])
    stops = room[useful] / steep
    order = np.argsort(stops, kind="stable")
    steep, stops = steep[order], stops[order]
    stopped = np.concatenate([[0.0], np.cumsum(steep**2 * stops)])
    moving = np.concatenate([np.cumsum((steep**2)[::-1])[::-1], [0.0]])
    reached = stopped[1:] + stops * moving[1:]  # at each event
    if gap == 0:
        return np.zeros_like(slope)
    k = int(np.searchsorted(reached, gap))
    if k == len(reached):
        return None
    factor = (gap - stopped[k]) / moving[k]
    return np.asarray(np.clip(-factor * slope, lower, upper))
