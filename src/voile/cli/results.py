"""What verbs write: the place is checked before a payment, and what is paid is saved at once.

Nothing that is paid may be lost because a disk is full or a folder is gone: it is tried beside the
place, in the current folder, in the user's folder and in the one for passing files, and it is told
where it is.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from voile.cli.account import current
from voile.cli.exit_codes import saving_first
from voile.errors import LedgerError, ModelError, VoileError
from voile.files import PREFIX, keeping_earlier, write_text
from voile.rendering import check_page_name

if TYPE_CHECKING:
    from voile.models.evaluation import Evaluation
    from voile.privacy.signing import SigningKey

T = TypeVar("T")


def check_writable(path: Path) -> Path:
    """Refuse a place where nothing can be written, before a budget is spent for what goes there.

    Raises
    ------
    OSError
        With the name of the place.
    """
    # Of a link, what it points at is replaced.
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(21, "it is a folder: name a file", str(path))
    folder = place.parent
    if not folder.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(folder))
    if path.exists() and not path.is_file():
        raise FileExistsError(17, "it is no file that can be replaced: name another", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "it may not be written", str(path))
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=PREFIX):
            pass
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(folder)) from None
    return path


def check_page(path: Path) -> Path:
    """Refuse a place where no page can be written, or a name that says it is none.

    Raises
    ------
    SettingError, OSError
    """
    check_page_name(path)
    return check_writable(path)


def print_json(data: Any) -> None:
    """Print plain data as JSON and nothing else."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


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


# -- paid results are saved where they were asked for, or else somewhere ---------------------------


class NotSaved(OSError):
    """A result is not where it was asked for."""


def save_model(estimator: object, place: Path, signer: SigningKey | None = None) -> None:
    """Save a model; what the disk says against it is an error of files, not of models."""
    try:
        estimator.save(place, key=signer)  # type: ignore[attr-defined]
    except ModelError as error:
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from None
        raise


def save_paid(
    what: str, save: Callable[[Path], object], place: Path
) -> tuple[Path | None, NotSaved | None]:
    """Save a result, which if it is paid for goes into another place if need be; note where it is.

    Parameters
    ----------
    what : str
        What it is called in messages.
    save : callable
        Given a path, writes the file; OSError if it cannot.
    place : Path

    Returns
    -------
    place : Path or None
        Where it is; None if no file could be written.
    error : NotSaved or None
        To be raised when all else is done, if that is not the place asked for.
    """
    try:
        save(place)
    except OSError as error:
        if not current().paid:
            raise
        trouble = NotSaved(error.errno, error.strerror or type(error).__name__, str(place))
    else:
        current().note_saved(what, place)
        return place, None
    for other in _other_places(place):
        with suppress(OSError):
            save(other)
            current().note_saved(what, other)
            return other, trouble
    return None, trouble


def print_paid(what: str, save: Callable[[Path], object]) -> None:
    """Print what could not be saved anywhere."""
    sys.stdout.write(_written(save))
    sys.stdout.flush()
    current().note_printed(what)


def _other_places(place: Path) -> Iterator[Path]:
    """A free name in each folder where something may be written."""
    folders: list[Callable[[], str | Path]] = [
        lambda: Path(os.path.realpath(place)).parent,
        os.getcwd,
        Path.home,
        lambda: tempfile.mkdtemp(prefix="voile-"),  # others may look into the folder itself
    ]
    for folder in folders:
        # Any of them may be gone, or have no name.
        with suppress(OSError, RuntimeError):
            where = Path(folder())
            for number in itertools.count(1):
                name = f"{place.stem}.saved{number if number > 1 else ''}{place.suffix}"
                if not os.path.lexists(where / name):
                    yield where / name
                    break


def _written(save: Callable[[Path], object]) -> str:
    """What is written to a file, without a disk."""
    out, into = os.pipe()
    pieces: list[bytes] = []

    def read() -> None:
        while piece := os.read(out, 2**16):
            pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        save(Path(f"/dev/fd/{into}"))
    finally:
        os.close(into)
        reader.join()
        os.close(out)
    return b"".join(pieces).decode()
