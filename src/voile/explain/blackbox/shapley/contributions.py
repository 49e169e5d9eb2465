"""Contributions of asked rows: exact for trees, sampled for everything else, with their errors.

All from released synthetic rows and a model that is asked about them and about mixtures of them
with asked rows: post-processing, free of cost. Proof: docs/proofs/shapley.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.answers.questions import Columns, Questions
from voile.explain.blackbox.shapley.background import Averages, Backgrounds
from voile.explain.blackbox.shapley.column_encoding import (
    ColumnEncoding,
    find_encoding,
    tolerance,
)
from voile.explain.blackbox.shapley.mixtures import FeatureMixtures, Mixtures, RowMixtures
from voile.explain.blackbox.shapley.permutations import Orders, count_calls, exchange_columns
from voile.explain.blackbox.shapley.players import Players, find_players
from voile.models.setting_checks import is_count, is_number
from voile.schema import Category

Floats = NDArray[np.float64]

EXACT_ROWS = 1_024
"""Background rows of exact contributions."""

SIZES = (32, 64, 128, 256, 512, 1_024, 2_048)
"""Background rows of sampled contributions: doubled until the error is small enough."""

_CHECKED = 256
"""Mixtures of which it is checked that they can be put together from features."""

_TOGETHER = 16_000_000
"""Contributions of pairs of rows that are held at once."""


@dataclass(frozen=True)
class Precision:
    """When sampling stops.

    Attributes
    ----------
    error : float
        Standard error by sampling that is small enough, as a part of the model's public range.
    calls : int
        How often the model may be asked for one row.
    """

    error: float
    calls: int

    def __post_init__(self) -> None:
        if not (is_number(self.error) and 0.0 < self.error <= 1.0):
            raise SettingError(
                f"The 'sampling_error' must be in (0, 1], a part of the model's range. Got "
                f"{self.error!r} instead."
            )
        if not is_count(self.calls, 1):
            raise SettingError(
                f"The 'most_calls' must be a whole number >= 1. Got {self.calls!r} instead."
            )


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each player added to the scores of some rows.

    Attributes
    ----------
    values, sampling_errors, standard_errors : ndarray of shape (rows, players, outputs)
        As in `Averages`.
    background, calls : tuple of int
        Background rows, and questions to the model, for each row.
    exact : bool
        Whether no order of columns was sampled.
    """

    values: Floats
    sampling_errors: Floats
    standard_errors: Floats
    background: tuple[int, ...]
    calls: tuple[int, ...]
    exact: bool


@dataclass(frozen=True, eq=False)
class ShapleyAnswerer:
    """Attributes scores to columns, against a released population.

    Attributes
    ----------
    questions : Questions
    columns : dict of str to ndarray of shape (rows,)
        The population, encoded.
    answers : ndarray of shape (rows, outputs)
        What the model says of it, in its own unit.
    backgrounds : Backgrounds
    seed : int
        Of the orders in which columns are exchanged; public.
    """

    questions: Questions
    columns: Columns
    answers: Floats
    backgrounds: Backgrounds
    seed: int

    @cached_property
    def players(self) -> Players:
        """What contributions are attributed to."""
        return find_players(self.questions.schema, self.questions.given)

    @cached_property
    def _unseen(self) -> dict[int, Floats]:
        """For each size of a background, what levels that it lacks may do: (players, outputs).

        Nothing is known of rows with such a level. Their share of the population, times how much
        scores differ, is taken for a standard error.
        """
        weights = self.backgrounds.weights
        apart = np.sqrt(weights @ (self.answers - weights @ self.answers) ** 2)
        found = {size: np.zeros((len(self.players), len(apart))) for size in SIZES}
        for name, player in zip(self.columns, self.players.of_column, strict=True):
            if not isinstance(self.questions.schema[name], Category):
                continue
            codes = self.columns[name]
            for size, errors in found.items():
                seen = np.isin(codes, codes[self._picked[:size]])
                errors[player] += weights[~seen].sum() * apart
        return found

    @cached_property
    def _encoding(self) -> ColumnEncoding | None:
        return find_encoding(self.questions, self.columns, self.answers)

    @cached_property
    def _picked(self) -> NDArray[np.int64]:
        return self.backgrounds.pick(SIZES[-1])

    @cached_property
    def _background_columns(self) -> Columns:
        return {name: values[self._picked] for name, values in self.columns.items()}

    @cached_property
    def _background_features(self) -> NDArray[np.float64]:
        assert self._encoding is not None
        return self._encode(self._background_columns, len(self._picked))

    def _encode(self, columns: Columns, rows: int) -> NDArray[np.float64]:
        assert self._encoding is not None
        given, schema = self.questions.given, self.questions.schema
        return self._encoding.encode(given.rebuild(columns, rows, schema))

    @cached_property
    def _orders(self) -> Orders:
        return Orders.draw(len(self._picked), len(self.players), self.seed)

    def attribute(
        self,
        asked: Columns,
        scores: Floats,
        precision: Precision,
        progress: Callable[[int], None],
        most_rows: int = EXACT_ROWS,
    ) -> Contributions:
        """Contributions to the scores of asked rows.

        Parameters
        ----------
        asked : dict of str to ndarray of shape (rows,)
            Encoded.
        scores : ndarray of shape (rows, outputs)
            What the model says of them, in its own unit.
        precision : Precision
        progress : callable
            Called with the number of rows that are done.
        most_rows : int
            Of the background.
        """
        plain = RowMixtures(self.questions, asked, self._background_columns, self.players.of_column)
        features = self._features_of(asked, scores, plain)
        if features is not None and self._encoding is not None:
            if self._encoding.trees is not None:
                return self._walk(features, min(most_rows, EXACT_ROWS), progress)
            return self._sample(features, scores, precision, progress, most_rows)
        return self._sample(plain, scores, precision, progress, most_rows)

    # -- encoded rows ----------------------------------------------------------------------------

    def _features_of(
        self, asked: Columns, scores: Floats, plain: RowMixtures
    ) -> FeatureMixtures | None:
        """Mixtures of encoded rows, if they are answered as those of whole rows are."""
        encoding = self._encoding
        if encoding is None or not len(scores):
            return None
        rows = self._encode(asked, len(scores))
        owners = encoding.owners
        unowned = owners < 0
        background = self._background_features
        if (rows[:, unowned] != background[:1, unowned]).any():
            return None
        players = self.players.of_column[np.where(unowned, 0, owners)]
        predict = self._predict_features(encoding)
        found = FeatureMixtures(predict, rows, background, players, len(self.players))
        # What was found by trying must hold for mixtures of the asked rows, too.
        rng = np.random.default_rng(self.seed)
        which = np.arange(min(2 * len(scores), _CHECKED)) % len(scores)
        some = rng.integers(0, len(background), len(which))
        own = rng.random((len(which), len(self.players))) < 0.5
        apart = plain.ask(which, some, own) - found.ask(which, some, own)
        return found if np.abs(apart).max() <= tolerance(self.answers) else None

    def _predict_features(self, encoding: ColumnEncoding) -> Callable[[NDArray[Any], int], Floats]:
        trees = encoding.trees
        if trees is None:
            return self.questions.black_box.of_step(encoding.last).predict
        first = trees.evaluate(self._background_features[:1])
        constant = self.answers[self._picked[:1]] - first
        return lambda rows, count: trees.evaluate(rows) + constant

    def _walk(
        self, features: FeatureMixtures, most_rows: int, progress: Callable[[int], None]
    ) -> Contributions:
        assert self._encoding is not None
        trees = self._encoding.trees
        assert trees is not None
        background = self.backgrounds.take(most_rows)
        rows, outputs = len(features.asked), self.answers.shape[1]
        step = max(_TOGETHER // (len(background) * len(self.players) * outputs), 1)
        each: list[Averages] = []
        for start in range(0, rows, step):
            some = features.asked[start : start + step]
            parts = trees.contributions(
                some, features.background[: len(background)], features.players, len(self.players)
            )
            each += [background.average(one) for one in parts]
            progress(len(each))
        return _gather(each, (len(background),) * rows, (0,) * rows, exact=True)

    # -- sampling --------------------------------------------------------------------------------

    def _sample(
        self,
        mixtures: Mixtures,
        scores: Floats,
        precision: Precision,
        progress: Callable[[int], None],
        most_rows: int,
    ) -> Contributions:
        sizes = [one for one in SIZES if one <= most_rows] or [SIZES[0]]
        backgrounds = [self.backgrounds.take(size) for size in sizes]
        low, high = self.questions.black_box.bounds
        enough = precision.error * (high - low)
        answers = self.answers[self._picked]
        each, used, calls = [], [], []
        for row, score in enumerate(scores):
            costs = np.cumsum(count_calls(mixtures, row, np.arange(sizes[-1])))
            if costs[sizes[0] - 1] > precision.calls:
                raise SettingError(
                    f"Contributions of a row with {len(self.players):,} columns need at least "
                    f"{int(costs[sizes[0] - 1]):,} questions to the model: allow as many with "
                    "'most_calls', or use explain_slopes, which asks none."
                )
            parts = np.zeros((0, len(self.players), answers.shape[1]))
            for background in backgrounds:
                new = np.arange(len(parts), len(background))
                more = exchange_columns(
                    mixtures, row, score, new, answers[new], self._orders.ranks[new]
                )
                parts = np.concatenate([parts, more])
                size = len(background)
                found = background.average(parts).beside(self._unseen[size])
                left = 2 * size > sizes[-1] or costs[2 * size - 1] > precision.calls
                if left or found.sampling_errors.max(initial=0.0) <= enough:
                    break
            each.append(found)
            used.append(size)
            calls.append(int(costs[size - 1]))
            progress(row + 1)
        return _gather(each, tuple(used), tuple(calls), exact=False)


def _gather(
    each: list[Averages], background: tuple[int, ...], calls: tuple[int, ...], *, exact: bool
) -> Contributions:
    return Contributions(
        np.array([one.values for one in each]),
        np.array([one.sampling_errors for one in each]),
        np.array([one.standard_errors for one in each]),
        background,
        calls,
        exact,
    )
