"""What an observer hears of a job besides its results: errors, warnings and printed text.

One row must not decide about any of it. Types, names, shapes and the number of columns are public
(docs/explanation/what-this-does-not-protect.md): compare tables that agree in them.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What was to be heard.

    Attributes
    ----------
    error : str
        Name of the error's class; empty if there was none.
    message : str
        The error's text, and that of its causes and notes.
    warnings : tuple of str
        Each once, in alphabetical order.
    printed : str
        Standard output and standard error.
    logged : tuple of str
        Lines of all logs.
    """

    error: str
    message: str
    warnings: tuple[str, ...]
    printed: str
    logged: tuple[str, ...]

    def __contains__(self, text: str) -> bool:
        """Whether a text is to be found anywhere."""
        heard = (self.error, self.message, *self.warnings, self.printed, *self.logged)
        return any(text in one for one in heard)


@dataclass(frozen=True)
class Difference:
    """A value that changed what was heard.

    Attributes
    ----------
    name : str
        Of the value.
    without, with_value : Outcome
        Of the plain table, and of the one with the value.
    """

    name: str
    without: Outcome
    with_value: Outcome


def observe(job: Callable[[], object]) -> Outcome:
    """Do a job, and write down what is to be heard of it.

    A job that tries to end the program is stopped like one that fails; an interrupt of the user is
    not held back.
    """
    printed, caught, handler = io.StringIO(), None, _Lines()
    root = logging.getLogger()
    with (
        warnings.catch_warnings(record=True) as heard,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        root.addHandler(handler)
        try:
            job()
        except (Exception, SystemExit) as error:
            caught = error
        finally:
            root.removeHandler(handler)
    return Outcome(
        "" if caught is None else type(caught).__name__,
        "" if caught is None else " / ".join(_texts(caught)),
        tuple(sorted({str(one.message) for one in heard})),
        printed.getvalue(),
        tuple(handler.lines),
    )


def compare_outcomes(
    job: Callable[[Any], object], plain: Any, odd: Mapping[str, Any]
) -> tuple[Difference, ...]:
    """Do a job on a plain table and on its neighbours, and list those that were heard.

    Parameters
    ----------
    job : callable
        A table to anything, with fixed noise (`voile.privacy.noise.fixed_noise`) if what it says
        depends on noise.
    plain : object
        A table.
    odd : mapping of str to object
        Tables that differ from it in one row, by name; see `odd_values`.

    Returns
    -------
    tuple of Difference
        Empty if none was heard.
    """
    expected = observe(lambda: job(plain))
    found = []
    for name, table in odd.items():
        heard = observe(lambda table=table: job(table))
        if heard != expected:
            found.append(Difference(name, expected, heard))
    return tuple(found)


class _Lines(logging.Handler):
    """Keeps lines of logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self.lines.append(f"{record.name}: {record.getMessage()}")


def _texts(error: BaseException | None) -> Iterator[str]:
    """Texts of an error, its notes, and what it came from, as a traceback would show them."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield f"{type(error).__name__}: {error}"
        yield from getattr(error, "__notes__", ())
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
