"""Contributions of any function by sampled orders of the columns: each order adds up exactly.

For a background row the columns are exchanged for the asked row's one after the other, in a random
order and in the reverse of it; what the score changes by is the column's. The mean over orders is
the Shapley value (Castro, Gomez & Tejada 2009; in pairs: Mitchell et al. 2022). One such pair per
background row is enough: the rows differ among themselves by more than the orders do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.explain.blackbox.shapley.mixtures import Mixtures

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_TOGETHER = 65_536
"""Mixtures that are made at once."""


@dataclass(frozen=True, eq=False)
class Orders:
    """A random order of the players for each background row; drawn once, by a public seed.

    Attributes
    ----------
    ranks : ndarray of shape (background rows, players)
        Where each player stands.
    """

    ranks: NDArray[np.int32]

    @classmethod
    def draw(cls, rows: int, players: int, seed: int) -> Orders:
        """Draw them; those of the first rows are the same whatever comes after."""
        keys = np.random.default_rng(seed).random((rows, players), dtype=np.float32)
        order = np.argsort(keys, axis=1, kind="stable")
        return cls(np.argsort(order, axis=1, kind="stable").astype(np.int32))


def count_calls(mixtures: Mixtures, row: int, background: Places) -> Places:
    """How often the model is asked for each background row, shape (n,)."""
    return np.asarray(2 * np.maximum(mixtures.differ(row, background).sum(axis=1) - 1, 0))


def exchange_columns(
    mixtures: Mixtures,
    row: int,
    score: Floats,
    background: Places,
    answers: Floats,
    ranks: NDArray[np.int32],
) -> Floats:
    """What each player adds for an asked row and each background row, (n, players, outputs).

    Players in which the two rows do not differ add nothing, and cost no call.

    Parameters
    ----------
    mixtures : Mixtures
    row : int
        Which asked row.
    score : ndarray of shape (outputs,)
        What the model says of it.
    background : ndarray of shape (n,)
    answers : ndarray of shape (n, outputs)
        What the model says of these.
    ranks : ndarray of shape (n, players)
        An order of the players for each.
    """
    differs = mixtures.differ(row, background)
    result = np.zeros((*differs.shape, len(score)))
    calls = 2 * np.maximum(differs.sum(axis=1) - 1, 0)
    parts = np.searchsorted(np.cumsum(calls), np.arange(0, int(calls.sum()), MOST_TOGETHER))
    ends = [*np.unique(parts).tolist(), len(background)]
    for start, stop in zip([0, *ends[:-1]], ends, strict=True):
        some = slice(start, stop)
        if start < stop:
            result[some] = _exchange(
                mixtures, row, score, background[some], answers[some], differs[some], ranks[some]
            )
    return result


def _exchange(
    mixtures: Mixtures,
    row: int,
    score: Floats,
    background: Places,
    answers: Floats,
    differs: NDArray[np.bool_],
    ranks: NDArray[np.int32],
) -> Floats:
    n, players = differs.shape
    counts = differs.sum(axis=1)
    # Ranks among those that differ; the others come last.
    far = np.where(differs, ranks, players + ranks)
    places = np.argsort(np.argsort(far, axis=1, kind="stable"), axis=1, kind="stable")
    steps = np.maximum(counts - 1, 0)
    owner = np.repeat(np.arange(n), steps)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(steps) - steps, steps) + 1
    first = (places[owner] < step[:, None]) & differs[owner]
    rest = differs[owner] & ~first
    asked = np.concatenate([first, rest])
    found = np.zeros((0, len(score)))
    if len(asked):
        found = mixtures.ask(row, np.concatenate([background[owner]] * 2), asked)
    # Scores after 0, 1, ... exchanges in the order, and in its reverse, counted from the end.
    widest = int(counts.max(initial=0))
    there = np.zeros((n, widest + 1, len(score)))
    back = np.zeros_like(there)
    there[:, 0], back[:, 0] = answers, score
    there[owner, step], back[owner, step] = found[: len(owner)], found[len(owner) :]
    every = np.arange(n)
    there[every, counts] = np.where(counts[:, None] > 0, score, answers)
    back[every, counts] = answers
    row_of, player = np.nonzero(differs)
    place = places[row_of, player]
    result = np.zeros((n, players, len(score)))
    result[row_of, player] = 0.5 * (
        there[row_of, place + 1]
        - there[row_of, place]
        + back[row_of, place]
        - back[row_of, place + 1]
    )
    return result
