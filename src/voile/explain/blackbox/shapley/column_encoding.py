"""A pipeline whose first steps encode each column by itself: found by trying, and checked.

Mixtures of an asked row and a background row can then be put together from their encoded features,
without making and encoding a table for each: many times faster, and what exact contributions of
trees need. Which column a feature comes from is found by changing one column at a time; a pipeline
that mixes columns (a principal component, a ratio) is asked about whole rows instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from voile.explain.blackbox.answers.questions import Columns, Questions
from voile.explain.blackbox.rows.black_box import AnswerKind
from voile.explain.blackbox.shapley.tree_arrays import TreeArrays, read_trees
from voile.schema import Category

_TRIES = 256
"""Values tried in each column."""

_LARGEST = 30_000_000
"""Most entries of an encoded table."""

_TOLERANCE = 1e-7
"""By how much a model may differ from itself on rows put together from features."""


@dataclass(frozen=True, eq=False)
class ColumnEncoding:
    """Rows as features, each of which depends on one column.

    Attributes
    ----------
    encode : callable
        From rows, as the model takes them, to an array of shape (rows, features).
    owners : ndarray of shape (features,)
        Column of the schema that each feature comes from; -1 for one that never changed.
    last : object or None
        The model that takes encoded rows; None if it does not take arrays.
    trees : TreeArrays or None
        The trees it consists of, if its answer is a sum over trees.
    """

    encode: Callable[[Any], NDArray[Any]]
    owners: NDArray[np.int64]
    last: Any
    trees: TreeArrays | None


def find_encoding(
    questions: Questions, columns: Columns, answers: NDArray[np.float64]
) -> ColumnEncoding | None:
    """How a model's rows are encoded column by column; None if they are not, or nothing is gained.

    Parameters
    ----------
    questions : Questions
    columns : dict of str to ndarray of shape (rows,)
        Encoded public or synthetic rows, to try.
    answers : ndarray of shape (rows, outputs)
        What the model says of them.
    """
    box = questions.black_box
    model = box.model
    if not isinstance(model, BaseEstimator) or questions.given.texts_to_model:
        return None
    encode: Callable[[Any], Any] = np.asarray
    last = None
    if isinstance(model, Pipeline):
        if len(model) < 2 or not hasattr(model[:-1], "transform"):
            return None
        encode, last = model[:-1].transform, model[-1]
    trees = None
    if box.answer is not AnswerKind.LABELS:
        trees = read_trees(model if last is None else last, box.places)
    if last is None and trees is None:
        return None
    try:
        found = ColumnEncoding(_as_array(encode), np.zeros(0, dtype=np.int64), last, trees)
        owners = _find_owners(found, questions, columns)
    except (TypeError, ValueError):  # no numbers, or not a table
        return None
    if owners is None:
        return None
    found = ColumnEncoding(found.encode, owners, last, trees)
    if trees is not None and not _are_its_trees(found, questions, columns, answers):
        found = ColumnEncoding(found.encode, owners, last, None)
    return None if found.trees is None and last is None else found


def _as_array(encode: Callable[[Any], Any]) -> Callable[[Any], NDArray[Any]]:
    def encoded(rows: Any) -> NDArray[Any]:
        found = encode(rows)
        if issparse(found) and np.prod(found.shape) <= _LARGEST:
            found = found.toarray()
        if not isinstance(found, np.ndarray) or found.ndim != 2:
            raise TypeError
        return np.asarray(found, dtype=np.float64)

    return encoded


def _find_owners(
    encoding: ColumnEncoding, questions: Questions, columns: Columns
) -> NDArray[np.int64] | None:
    """The column of each feature; None if a feature depends on several."""
    schema, given = questions.schema, questions.given
    count = len(next(iter(columns.values())))
    owners: NDArray[np.int64] | None = None
    for j, (name, column) in enumerate(schema.items()):
        # Missing and unlisted levels are left to the check of asked rows: encoders may refuse them.
        levels = len(column.levels or ()) if isinstance(column, Category) else 0
        tries = max(_TRIES, 2 * levels)
        picked = np.arange(tries) % count
        some = {key: values[picked] for key, values in columns.items()}
        # Every level, or values as they come: those of other rows.
        other = np.arange(tries) % levels if levels else np.roll(columns[name], 1)[picked]
        changed = {**some, name: other.astype(some[name].dtype)}
        before, after = (
            encoding.encode(given.rebuild(rows, tries, schema)) for rows in (some, changed)
        )
        if owners is None:
            owners = np.full(before.shape[1], -1, dtype=np.int64)
        moved = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=0)
        if (owners[moved] >= 0).any():
            return None
        owners[moved] = j
    return owners


def _are_its_trees(
    encoding: ColumnEncoding,
    questions: Questions,
    columns: Columns,
    answers: NDArray[np.float64],
) -> bool:
    """Whether trees give the model's own answers, up to a constant."""
    some = {name: values[:_TRIES] for name, values in columns.items()}
    count = min(_TRIES, len(answers))
    rows = encoding.encode(questions.given.rebuild(some, count, questions.schema))
    assert encoding.trees is not None
    apart = answers[:count] - encoding.trees.evaluate(rows)
    return bool((np.ptp(apart, axis=0) <= tolerance(answers)).all())


def tolerance(answers: NDArray[np.float64]) -> float:
    """How far two ways to ask a model may lie apart."""
    return _TOLERANCE * max(float(np.abs(answers).max(initial=0.0)), 1e-9)
