"""Exact contributions for trees: own code, because no library is exact per column.

The Shapley value of a column whose levels are encoded as several features is not the sum of theirs,
and the `shap` package takes neither groups of features nor weighted backgrounds; besides, what its
interventional algorithm gives is an average alone, while errors need what each background row says.
Here a tree is walked once for an asked row and all background rows together: a set of them is
followed down the tree as long as it goes one way. Where the asked row and some background rows part
at a test of a column that was not met before, both ways are taken, the one as if the column came
from the asked row, the other as if it came from the background (Lundberg et al. 2020, Algorithm 3,
with columns in place of features and sets in place of single rows). On a forest of 100 trees of
depth 10 this is about five times as fast as walking row by row.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Places = NDArray[np.int64]

_NEITHER, _ASKED, _BACKGROUND = 0, 1, 2


Nodes = tuple[Places, Places, Floats, NDArray[np.bool_], Floats]
"""Of all trees together: the two children of each node, (nodes, 2); the feature of its test, -1 for
a leaf; the threshold up to which rows go left; whether NaN goes left; the value of a leaf,
(nodes, outputs). Trees are added."""


def walk_trees(
    nodes: Nodes,
    roots: Places,
    players: Places,
    asked: Singles,
    background: Singles,
    shape: tuple[int, int],
) -> Floats:
    """Contributions of each player for each pair of an asked and a background row.

    Parameters
    ----------
    nodes : Nodes
    roots : ndarray of shape (trees,)
    players : ndarray of shape (features,)
    asked : ndarray of shape (rows, features)
    background : ndarray of shape (features, n)
    shape : tuple of int
        How many players there are, and how deep the deepest tree is.

    Returns
    -------
    ndarray of shape (rows, n, players, outputs)
    """
    count, depth = shape
    result = np.zeros((len(asked), background.shape[1], count, nodes[-1].shape[1]))
    gain, loss = _coefficients(min(count, depth) + 1)
    _walk(nodes, roots, players, asked, background, depth, gain, loss, result)
    return result


def evaluate_trees(nodes: Nodes, roots: Places, rows: Singles) -> Floats:
    """Sums of the leaves that rows fall into, shape (rows, outputs)."""
    result = np.zeros((len(rows), nodes[-1].shape[1]))
    _evaluate(nodes, roots, rows, result)
    return result


def _coefficients(most: int) -> tuple[Floats, Floats]:
    """What a leaf adds to each of u players from the asked row, and takes from v others.

    (u - 1)! v! / (u + v)! and u! (v - 1)! / (u + v)!.
    """
    gain, loss = np.zeros((most + 1, most + 1)), np.zeros((most + 1, most + 1))
    for u in range(most + 1):
        for v in range(most + 1):
            if u:
                gain[u, v] = _beta(u, v + 1)
            if v:
                loss[u, v] = _beta(u + 1, v)
    return gain, loss


def _beta(a: int, b: int) -> float:
    """(a - 1)! (b - 1)! / (a + b - 1)!, as a product of ratios, which stay in range."""
    result = 1.0 / (a + b - 1)
    for i in range(1, min(a, b)):
        result *= i / (a + b - 1 - i)
    return result


@njit(cache=True)
def _goes_left(value, threshold, missing_left):  # pragma: no cover
    return value <= threshold or (missing_left and value != value)


@njit(cache=True, parallel=True)
def _walk(nodes, roots, players, asked, background, depth, gain, loss, result):  # pragma: no cover
    children, features, thresholds, missing_left, values = nodes
    outputs = values.shape[1]
    for i in prange(len(asked)):
        order = np.arange(background.shape[1])
        side = np.zeros(result.shape[2], np.int8)
        most = len(gain)
        gained, lost = np.zeros(most, np.int64), np.zeros(most, np.int64)
        room = 3 * depth + 4
        # Sets of background rows that wait: node, first and last in `order`, how many players are
        # on either side there, and the player to be put aside (twice its number, plus 1 for the
        # background's side).
        wait_node, wait_start = np.zeros(room, np.int64), np.zeros(room, np.int64)
        wait_stop, wait_put = np.zeros(room, np.int64), np.zeros(room, np.int64)
        wait_gained, wait_lost = np.zeros(room, np.int64), np.zeros(room, np.int64)
        parts = result[i]
        for root in roots:
            u, v, waiting = 0, 0, 1
            wait_node[0], wait_start[0], wait_stop[0] = root, 0, len(order)
            wait_gained[0], wait_lost[0], wait_put[0] = 0, 0, -1
            while waiting > 0:
                waiting -= 1
                node, start, stop = wait_node[waiting], wait_start[waiting], wait_stop[waiting]
                while u > wait_gained[waiting]:
                    u -= 1
                    side[gained[u]] = _NEITHER
                while v > wait_lost[waiting]:
                    v -= 1
                    side[lost[v]] = _NEITHER
                put = wait_put[waiting]
                if put >= 0 and put % 2 == 0:
                    gained[u] = put // 2
                    side[put // 2] = _ASKED
                    u += 1
                elif put >= 0:
                    lost[v] = put // 2
                    side[put // 2] = _BACKGROUND
                    v += 1
                while features[node] >= 0:
                    feature, threshold = features[node], thresholds[node]
                    missing = missing_left[node]
                    left = _goes_left(asked[i, feature], threshold, missing)
                    own = children[node, 0] if left else children[node, 1]
                    player = players[feature]
                    if side[player] == _ASKED:
                        node = own
                        continue
                    # Rows that go with the asked one first, then those that part from it.
                    line = background[feature]
                    cut, end = start, stop
                    while cut < end:
                        row = order[cut]
                        if _goes_left(line[row], threshold, missing) == left:
                            cut += 1
                        else:
                            end -= 1
                            order[cut], order[end] = order[end], row
                    if cut == stop:
                        node = own
                        continue
                    other = children[node, 1] if left else children[node, 0]
                    if side[player] == _BACKGROUND:
                        if cut == start:
                            node = other
                            continue
                        wait_node[waiting], wait_put[waiting] = other, -1
                        wait_start[waiting], wait_stop[waiting] = cut, stop
                        wait_gained[waiting], wait_lost[waiting] = u, v
                        waiting += 1
                        node, stop = own, cut
                        continue
                    for put in (2 * player + 1, 2 * player):
                        wait_node[waiting] = own if put % 2 == 0 else other
                        wait_start[waiting], wait_stop[waiting] = cut, stop
                        wait_gained[waiting], wait_lost[waiting] = u, v
                        wait_put[waiting] = put
                        waiting += 1
                    if cut == start:
                        stop = start
                        break
                    node, stop = own, cut
                if start == stop or u + v == 0:
                    continue
                for k in range(outputs):
                    more, less = gain[u, v] * values[node, k], loss[u, v] * values[node, k]
                    for place in range(start, stop):
                        row = parts[order[place]]
                        for one in range(u):
                            row[gained[one], k] += more
                        for one in range(v):
                            row[lost[one], k] -= less
            while u > 0:
                u -= 1
                side[gained[u]] = _NEITHER
            while v > 0:
                v -= 1
                side[lost[v]] = _NEITHER


@njit(cache=True, parallel=True)
def _evaluate(nodes, roots, rows, result):  # pragma: no cover
    children, features, thresholds, missing_left, values = nodes
    for i in prange(len(rows)):
        for root in roots:
            node = root
            while features[node] >= 0:
                left = _goes_left(rows[i, features[node]], thresholds[node], missing_left[node])
                node = children[node, 0] if left else children[node, 1]
            for k in range(values.shape[1]):
                result[i, k] += values[node, k]
