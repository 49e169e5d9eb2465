"""Mixtures: rows that have some columns from an asked row and the others from a background row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.answers.questions import Columns, Questions

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Places = NDArray[np.int64]


class Mixtures(Protocol):
    """Asks a model about mixtures of asked and background rows."""

    def differ(self, row: int, background: Places) -> Truths:
        """In which players an asked row differs from background rows, (n, players)."""

    def ask(self, row: int | Places, background: Places, own: Truths) -> Floats:
        """Answers, (mixtures, outputs), for rows with the asked row's values where ``own``.

        Parameters
        ----------
        row : int, or ndarray of shape (mixtures,)
            Which asked row.
        background : ndarray of shape (mixtures,)
            Which background row each mixture has the other values from.
        own : ndarray of shape (mixtures, players)
        """


@dataclass(frozen=True, eq=False)
class RowMixtures:
    """Mixtures of columns, as the model takes rows.

    Attributes
    ----------
    questions : Questions
    asked, background : dict of str to ndarray
        Encoded columns of the asked rows, and of all rows that may be background.
    players : ndarray of shape (columns,)
        Player of each column.
    """

    questions: Questions
    asked: Columns
    background: Columns
    players: Places

    def differ(self, row: int, background: Places) -> Truths:
        """See `Mixtures`."""
        differs = np.zeros((len(background), int(self.players.max(initial=-1)) + 1), dtype=np.bool_)
        for name, player in zip(self.questions.schema, self.players, strict=True):
            differs[:, player] |= _differ(self.asked[name][row], self.background[name][background])
        return differs

    def ask(self, row: int | Places, background: Places, own: Truths) -> Floats:
        """See `Mixtures`."""
        questions = self.questions
        columns = {
            name: np.where(
                own[:, player], self.asked[name][row], self.background[name][background]
            ).astype(self.background[name].dtype)
            for name, player in zip(questions.schema, self.players, strict=True)
        }
        rows = questions.given.rebuild(columns, len(own), questions.schema)
        return questions.black_box.predict(rows, len(own))


@dataclass(frozen=True, eq=False)
class FeatureMixtures:
    """Mixtures of encoded features, each of which comes from one column.

    Attributes
    ----------
    predict : callable
        From encoded rows and their number to answers.
    asked, background : ndarray of shape (rows, features)
    players : ndarray of shape (features,)
        Player of each feature.
    count : int
        Of players.
    """

    predict: Callable[[NDArray[Any], int], Floats]
    asked: NDArray[Any]
    background: NDArray[Any]
    players: Places
    count: int

    def differ(self, row: int, background: Places) -> Truths:
        """See `Mixtures`."""
        apart = _differ(self.asked[row], self.background[background])
        differs = np.zeros((len(background), self.count), dtype=np.bool_)
        for feature, player in enumerate(self.players):
            differs[:, player] |= apart[:, feature]
        return differs

    def ask(self, row: int | Places, background: Places, own: Truths) -> Floats:
        """See `Mixtures`."""
        mixed = np.where(own[:, self.players], self.asked[row], self.background[background])
        return self.predict(mixed, len(own))


def _differ(one: Any, others: NDArray[Any]) -> Truths:
    """Whether values differ; two missing ones do not."""
    apart = others != one
    if others.dtype.kind == "f":
        apart &= ~(np.isnan(others) & np.isnan(one))
    return np.asarray(apart)
