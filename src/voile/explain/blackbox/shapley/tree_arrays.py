"""Trees of scikit-learn's models as plain arrays, read from what its documentation makes public.

Only models whose answer is a sum over trees: the probability of a boosted classifier is no such
sum (and what other packages give for it is a rescaled sum, not a Shapley value), so it is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from voile.explain.blackbox.shapley.tree_kernels import Nodes, evaluate_trees, walk_trees

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_SINGLE = (DecisionTreeClassifier, DecisionTreeRegressor)
_FORESTS = (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """Trees whose leaves are added up.

    Attributes
    ----------
    nodes : Nodes
    roots : ndarray of shape (trees,)
    depth : int
        Of the deepest.
    """

    nodes: Nodes
    roots: Places
    depth: int

    def evaluate(self, rows: NDArray[Any]) -> Floats:
        """Sums of leaves of encoded rows, shape (rows, outputs)."""
        return evaluate_trees(self.nodes, self.roots, np.ascontiguousarray(rows, dtype=np.float32))

    def contributions(
        self, asked: NDArray[Any], background: NDArray[Any], players: Places, count: int
    ) -> Floats:
        """Contributions for all pairs of encoded rows, (rows, n, players, outputs)."""
        return walk_trees(
            self.nodes,
            self.roots,
            players,
            np.ascontiguousarray(asked, dtype=np.float32),
            np.ascontiguousarray(background.T, dtype=np.float32),
            (count, self.depth),
        )


def read_trees(model: Any, outputs: Sequence[int]) -> TreeArrays | None:
    """The trees of a fitted model; None if its answer is no sum over trees that can be read.

    Parameters
    ----------
    model : fitted estimator
    outputs : sequence of int
        Which classes are wanted.
    """
    # A subclass may answer otherwise.
    if type(model) in _SINGLE:
        trees, scale = [model], 1.0
    elif type(model) in _FORESTS:
        trees = list(model.estimators_)
        scale = 1.0 / len(trees)
    elif type(model) is GradientBoostingRegressor:
        trees, scale = list(model.estimators_[:, 0]), float(model.learning_rate)
    else:
        return None
    return _stack([one.tree_ for one in trees], scale, list(outputs))


def _stack(trees: list[Any], scale: float, outputs: list[int]) -> TreeArrays | None:
    if any(one.value.shape[1] != 1 or one.value.shape[2] <= max(outputs) for one in trees):
        return None
    starts = np.concatenate([[0], np.cumsum([one.node_count for one in trees])])
    children, features, values = [], [], []
    for start, one in zip(starts, trees, strict=False):
        inner = one.children_left >= 0
        both = np.stack([one.children_left, one.children_right], axis=1).astype(np.int64)
        children.append(np.where(inner[:, None], both + start, -1))
        features.append(np.where(inner, one.feature, -1).astype(np.int64))
        shares = one.value[:, 0, :]
        if shares.shape[1] > 1:  # counts of classes in some versions, their shares in others
            shares = shares / shares.sum(axis=1, keepdims=True)
        values.append(shares[:, outputs] * scale)
    nodes = (
        np.concatenate(children),
        np.concatenate(features),
        np.concatenate([one.threshold for one in trees]).astype(np.float64),
        np.concatenate([_missing_left(one) for one in trees]),
        np.ascontiguousarray(np.concatenate(values)),
    )
    depth = max(int(one.max_depth) for one in trees)
    return TreeArrays(nodes, starts[:-1].astype(np.int64), depth)


def _missing_left(tree: Any) -> NDArray[np.bool_]:
    found = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    return np.asarray(found, dtype=np.bool_)
