"""Where pages, cards and prints of records register themselves, and where records find them.

Records (summaries, explanations, models) are data and lie below the report layer that draws them.
Their ``to_html`` and ``show`` ask here. What draws a record registers beside itself, by the type of
the record; it is loaded at the first question, by what the root of the package has installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from voile.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path

Drawer = TypeVar("Drawer", bound=Callable[..., Any])
Table = dict[type, Callable[..., Any]]

_PAGES: Table = {}
_PRINTS: Table = {}
_CARDS: Table = {}
_REPORTS: Table = {}
_FRAMES: Table = {}
_LOADERS: list[Callable[[], object]] = []


def draws(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that draws the page of records of these types, as HTML."""
    return _register(_PAGES, kinds)


def prints(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that prints records of these types, given a console of rich."""
    return _register(_PRINTS, kinds)


def draws_card(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that draws the card of estimators or ledgers of these types, as HTML."""
    return _register(_CARDS, kinds)


def reports(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that draws the report of estimators of these types, as HTML."""
    return _register(_REPORTS, kinds)


def frames(frame: Drawer) -> Drawer:
    """Register the function that puts a page into a frame, as HTML."""
    return _register(_FRAMES, (str,))(frame)


def load_with(*loaders: Callable[[], object]) -> None:
    """Install what loads the modules that register, in the order in which it is tried."""
    _LOADERS[:] = loaders


def _register(table: Table, kinds: tuple[type, ...]) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        table.update(dict.fromkeys(kinds, drawer))
        return drawer

    return register


def _find(table: Table, record: object) -> Callable[..., Any] | None:
    """What draws a record; modules are loaded until one of them does."""
    for load in (None, *_LOADERS):
        if load is not None:
            load()
        for kind in type(record).__mro__:
            if kind in table:
                return table[kind]
    return None


def write_page(record: Any, path: str | Path) -> Path:
    """Write the self-contained HTML page of a record, and return its path."""
    return _write(_draw_page(record), path)


def write_report(estimator: Any, path: str | Path, **parts: Any) -> Path:
    """Write the self-contained HTML report of a fitted estimator, and return its path.

    Parameters
    ----------
    estimator
    path : str or path
    **parts
        As `voile.report.model.report.draw_report` takes them.
    """
    draw = _find(_REPORTS, estimator)
    if draw is None:
        raise SettingError(f"No report can be drawn of a {type(estimator).__name__}.")
    return _write(draw(estimator, **parts), path)


def _write(page: str, path: str | Path) -> Path:
    # Every import of Voile loads this module: what only writing needs waits for it.
    from voile.files import replace_file

    # A title may hold lone surrogates: they are shown as what they are.
    data = page.encode("utf-8", "backslashreplace")
    try:
        return replace_file(path, lambda place: place.write_bytes(data))
    except ValueError as error:
        raise SettingError(f"No file can be called {str(path)!r}: give another name.") from error


def draw_inline(record: Any) -> str:
    """HTML of a record for a notebook: its page inside a frame, which needs nothing around it."""
    page = _draw_page(record)
    frame = _find(_FRAMES, page)
    if frame is None:
        raise SettingError(f"No frame can be drawn around a {type(record).__name__}.")
    text: str = frame(page)
    return text


def draw_card(record: Any) -> str:
    """HTML of a fitted estimator or a ledger for a notebook: small, and without scripts."""
    draw = _find(_CARDS, record)
    if draw is None:
        raise SettingError(f"No card can be drawn of a {type(record).__name__}.")
    text: str = draw(record)
    return text


def print_record(record: Any) -> None:
    """Print a record in the terminal, with colours and bars if it can show them."""
    from rich.console import Console

    write = _find(_PRINTS, record)
    if write is None:
        raise SettingError(f"A {type(record).__name__} cannot be shown in a terminal: print() it.")
    write(Console(), record)


def _draw_page(record: Any) -> str:
    draw = _find(_PAGES, record)
    if draw is None:
        known = ", ".join(sorted(kind.__name__ for kind in _PAGES))
        raise SettingError(
            f"No page can be drawn of a {type(record).__name__}: give one of {known}."
        )
    page: str = draw(record)
    return page
