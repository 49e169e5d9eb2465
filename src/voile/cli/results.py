"""What a training gives, saved as soon as it is there: the model before its quality is measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from voile.cli.interrupts import saving_first
from voile.cli.rescue import print_paid, save_model, save_paid
from voile.errors import LedgerError, VoileError
from voile.files import keeping_earlier, write_text

if TYPE_CHECKING:
    from voile.models.evaluation import Evaluation
    from voile.privacy.signing import SigningKey

T = TypeVar("T")


def quality_file(model: Path) -> Path:
    """Where the estimate of quality of a model is kept: beside it."""
    return model.with_suffix(".quality.json")


class Results:
    """A model and its quality, each saved when it is paid for and done; what failed is told last.

    Parameters
    ----------
    place : Path
        Where the model is to be.
    signer : SigningKey or None
        Signs the model.

    Attributes
    ----------
    place : Path or None
        Where it is; None if no file could be written.
    quality : Evaluation or None
    notes : list of str
        For a person.
    """

    def __init__(self, place: Path, signer: SigningKey | None = None) -> None:
        self.place: Path | None = place
        self.quality: Evaluation | None = None
        self.notes: list[str] = []
        self._asked, self._signer = place, signer
        # Found now: a folder that is moved meanwhile is gone, as a whole.
        self._real = {path: Path(os.path.realpath(path)) for path in (place, quality_file(place))}
        self._failure: Exception | None = None

    def train(self, estimator: Any, rows: Any, target: str) -> None:
        """Fit and save; an interrupt that comes between the two waits until the model is saved."""
        with saving_first(lambda: hasattr(estimator, "model_")):
            try:
                estimator.fit(rows, target)
            except Exception:
                if not hasattr(estimator, "model_"):
                    raise
                self._save_model(estimator)
                raise
            self._save_model(estimator)

    def evaluate(self, measure: Callable[[], Evaluation]) -> None:
        """Have the quality measured and save it; if that fails the model is there nevertheless."""
        done: list[Evaluation] = []
        with saving_first(lambda: bool(done)):
            try:
                done.append(measure())
            except Exception as error:
                self._fail(error)
                reason = str(error) if isinstance(error, VoileError) else type(error).__name__
                self.notes.append(f"No estimate of quality: {reason}")
            else:
                self._save_quality(done[0])

    def attempt(self, ask: Callable[[], T]) -> T | None:
        """What the ledger says; if it does not, that is told last, too."""
        try:
            return ask()
        except LedgerError as error:
            self._fail(error)
            return None

    def end(self, tell: Callable[[], None]) -> None:
        """Tell everything, then what went wrong on the way, if anything did."""
        try:
            # What was to be saved and had to be printed stands alone.
            if self.place is not None:
                tell()
                sys.stdout.flush()
        except Exception as error:
            self._fail(error)
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error

    def _at(self, path: Path) -> Path:
        return self._real.get(path, path)

    def _save_model(self, estimator: Any) -> None:
        def save(path: Path) -> None:
            beside = self._at(quality_file(path))
            with keeping_earlier(self._at(path), beside) as kept:
                save_model(estimator, self._at(path), self._signer)
            if kept:
                self.notes.append(f"The earlier {path} is kept as {kept[0]}.")
            if len(kept) > 1:
                with suppress(OSError):
                    beside.unlink()  # it tells of the earlier model

        self.place, failure = save_paid("The model", save, self._asked)
        if failure is not None:
            self._fail(failure)
            self.notes.append(f"The model could not be written to {self._asked}.")
        if self.place is None:
            print_paid("The model", lambda path: save_model(estimator, path, self._signer))

    def _save_quality(self, quality: Evaluation) -> None:
        self.quality = quality
        text = quality.to_json() + "\n"
        place = quality_file(self.place or self._asked)
        saved, failure = save_paid(
            "Its quality", lambda path: write_text(self._at(path), text), place
        )
        if saved is None and self.place is None:
            print_paid("Its quality", lambda path: write_text(path, text))
        if failure is not None:
            self._fail(failure)
            self.notes.append(f"Its quality could not be written to {place}.")
