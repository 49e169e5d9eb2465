"""Who answers: a population that was paid for once, or the rows, question by question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.errors import BudgetExceeded, LedgerMismatch
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.answers.seal import Seals
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.solvers.release import OfflineAnswerer
from voile.explain.blackbox.synthetic.population import Population
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.noise import NoiseSource

Points = NDArray[np.int32]
Progress = Callable[[int], None]

_ANSWER = "answer:"


class Answerer(Protocol):
    """Answers every question, in order."""

    def answer(self, points: Points, progress: Progress) -> list[Answer]:
        """Answer questions, or raise BudgetExceeded; what was answered by then is kept."""


class RowReader(Protocol):
    """Answers from the rows, as long as the budget lasts."""

    def answer(self, points: Points, history: Sequence[Answer]) -> list[Answer | None]:
        """Answers in order; None where the budget does not suffice."""


class FromPopulation:
    """Answers from released synthetic rows: the same question has the same answer, at no cost.

    Nothing is remembered from one call to the next, not even to be quicker: how long an answer
    takes must not tell what somebody else has asked.
    """

    def __init__(self, population: Population, settings: Settings) -> None:
        self._population, self._settings = population, settings

    def answer(self, points: Points, progress: Progress) -> list[Answer]:
        """Answer all."""
        known: dict[bytes, Answer] = {}
        result = []
        for done, point in enumerate(points, 1):
            key = point.tobytes()
            if key not in known:
                known[key] = self._population.explain(point, self._settings)
            result.append(known[key])
            progress(done)
        return result


class FromRows:
    """Answers from the rows, stored before they are given: sealed, and found again by the same row.

    What one is answered depends on the table, the asked row and new noise alone, whatever others
    have asked, unless questions are shared.

    Parameters
    ----------
    reader : RowReader or None
        None: never reads rows ("offline").
    offline : OfflineAnswerer
        Answers from earlier answers when all is spent, if questions are shared.
    book : AnswerBook
    allowance : Allowance
    seals : Seals
    together : int
        How many questions the reader answers in one access.
    """

    def __init__(
        self,
        reader: RowReader | None,
        offline: OfflineAnswerer,
        book: AnswerBook,
        allowance: Allowance,
        seals: Seals,
        together: int,
    ) -> None:
        self._reader, self._offline, self._book = reader, offline, book
        self._allowance, self._seals, self._together = allowance, seals, together
        self._history: list[Answer] = []
        if seals.shared:
            for key, stored in book.all().items():
                if key.startswith(_ANSWER):
                    self._history.append(self._read(key, stored))

    @property
    def history(self) -> tuple[Answer, ...]:
        """Every answer so far, oldest first; none unless questions are shared."""
        return tuple(self._history)

    def answer(self, points: Points, progress: Progress) -> list[Answer]:
        """Answer all: what was answered before is given again, free."""
        keys = [_ANSWER + self._seals.name(point) for point in points]
        asked = dict(zip(keys, points, strict=True))
        given = {
            key: self._read(key, stored, asked[key]).copied("stored")
            for key, stored in self._book.find(keys).items()
        }
        new = [key for key in asked if key not in given]
        for start in range(0, len(new), self._together):
            some = new[start : start + self._together]
            found = self._new(np.array([asked[key] for key in some]))
            answers = {key: one for key, one in zip(some, found, strict=True) if one is not None}
            noise = str(self._allowance.noise)
            stored = self._book.store(
                {
                    key: {"sealed": self._seals.close(one.to_bytes(), asked[key]), "noise": noise}
                    for key, one in answers.items()
                }
            )
            for key in answers:
                # What is given is what is stored, whoever stored it.
                given[key] = self._read(key, stored[key], asked[key])
                if self._seals.shared:
                    self._history.append(given[key])
            if len(answers) < len(some):
                raise BudgetExceeded(
                    f"The budget for explanations is used up: {len(asked) - len(given)} of "
                    f"{len(asked)} rows have no answer. Those answered are kept, and cost nothing "
                    "when they are asked about again. Ask about fewer, or use strategy='summary', "
                    "whose answers are free. "
                    + self._allowance.advice("Another explainer may have epsilon {}.")
                )
            progress(start + len(some))
        return [given[key] for key in keys]

    def _read(self, key: str, stored: Any, point: Points | None = None) -> Answer:
        """An answer as it is stored; one made with fixed noise spoils the guarantee."""
        record = stored if isinstance(stored, dict) else {}
        self._allowance.fixed_noise |= record.get("noise") == str(NoiseSource.FIXED)
        try:
            answer = Answer.from_bytes(self._seals.open(record.get("sealed"), point))
        except ValueError:
            raise LedgerMismatch(
                "An answer of this explainer was stored by another version of voile: use that one."
            ) from None
        if key != _ANSWER + self._seals.name(answer.point):
            raise LedgerMismatch(
                "An answer of this explainer stands in the place of another: the ledger's tables "
                "were changed. Put a good copy back."
            )
        return answer

    def _new(self, points: Points) -> list[Answer | None]:
        answers: list[Answer | None] = [None] * len(points)
        if self._reader is not None:
            answers = self._reader.answer(points, self._history)
        rest = [i for i, one in enumerate(answers) if one is None]
        if rest and self._seals.shared:
            free = self._offline.answer(points[rest], self._history)
            for i, one in zip(rest, free, strict=True):
                answers[i] = one
        return answers
