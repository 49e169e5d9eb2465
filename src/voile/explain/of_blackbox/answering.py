"""Who answers: a population that was paid for once, or the rows, question by question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.explain.of_blackbox.answer import Answer, key_of
from voile.explain.of_blackbox.population import Population
from voile.explain.of_blackbox.purse import Purse
from voile.explain.of_blackbox.release import OfflineAnswerer
from voile.explain.of_blackbox.settings import Settings
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.noise import NoiseSource

Floats = NDArray[np.float64]
Points = NDArray[np.int32]
Progress = Callable[[int], None]

_ANSWER = "answer:"
_REMEMBERED = 10_000


class Answerer(Protocol):
    """Answers every question, in order."""

    def answer(self, points: Points, scores: Floats, progress: Progress) -> list[Answer]:
        """Answer questions about rows of which the black box says ``scores``, (points, outputs).

        Never an error for want of budget.
        """


class RowReader(Protocol):
    """Answers from the rows, as long as the budget lasts."""

    def answer(self, points: Points, history: Sequence[Answer]) -> list[Answer | None]:
        """Answers in order; None where the budget does not suffice."""


class FromPopulation:
    """Answers from released synthetic rows: the same question has the same answer, at no cost."""

    def __init__(self, population: Population, settings: Settings) -> None:
        self._population, self._settings = population, settings
        self._known: dict[bytes, Answer] = {}

    def answer(self, points: Points, scores: Floats, progress: Progress) -> list[Answer]:
        """Answer all."""
        result = []
        for done, point in enumerate(points, 1):
            key = point.tobytes()
            if key not in self._known:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()  # they come out the same again
                self._known[key] = self._population.explain(point, self._settings)
            result.append(self._known[key])
            progress(done)
        return result


class FromRows:
    """Answers from the rows, stored before they are given; from earlier answers when all is spent.

    Parameters
    ----------
    reader : RowReader or None
        None: never reads rows ("offline").
    offline : OfflineAnswerer
    book : AnswerBook
    purse : Purse
    together : int
        How many questions the reader answers in one look.
    """

    def __init__(
        self,
        reader: RowReader | None,
        offline: OfflineAnswerer,
        book: AnswerBook,
        purse: Purse,
        together: int,
    ) -> None:
        self._reader, self._offline, self._book = reader, offline, book
        self._purse, self._together = purse, together
        self._history: list[Answer] = []
        for key, stored in book.all().items():
            if key.startswith(_ANSWER):
                self._history.append(self._read(stored))

    @property
    def history(self) -> tuple[Answer, ...]:
        """Every answer so far, oldest first."""
        return tuple(self._history)

    def answer(self, points: Points, scores: Floats, progress: Progress) -> list[Answer]:
        """Answer all: what was answered before is given again, free."""
        keys = [_ANSWER + key_of(point) for point in points]
        given = {
            key: self._read(one).copied("stored") for key, one in self._book.find(keys).items()
        }
        asked = dict(zip(keys, points, strict=True))
        said = dict(zip(keys, scores, strict=True))
        new = [key for key in asked if key not in given]
        for start in range(0, len(new), self._together):
            some = new[start : start + self._together]
            found = self._new(np.array([asked[key] for key in some]))
            answers = [replace(one, score=said[key]) for key, one in zip(some, found, strict=True)]
            noise = str(self._purse.noise)
            stored = self._book.store(
                {
                    key: {**one.to_dict(), "noise": noise}
                    for key, one in zip(some, answers, strict=True)
                }
            )
            for key in some:
                # What is given is what is stored, whoever stored it.
                given[key] = self._read(stored[key])
                self._history.append(given[key])
            progress(start + len(some))
        return [given[key] for key in keys]

    def _read(self, stored: Mapping[str, Any]) -> Answer:
        """An answer as it is stored; one made with fixed noise spoils the guarantee."""
        self._purse.fixed_noise |= stored.get("noise") == str(NoiseSource.FIXED)
        return Answer.from_dict(stored)

    def _new(self, points: Points) -> list[Answer]:
        answers: list[Answer | None] = [None] * len(points)
        if self._reader is not None:
            answers = self._reader.answer(points, self._history)
        rest = [i for i, one in enumerate(answers) if one is None]
        if rest:
            free = self._offline.answer(points[rest], self._history)
            for i, one in zip(rest, free, strict=True):
                answers[i] = one
        return [one for one in answers if one is not None]
