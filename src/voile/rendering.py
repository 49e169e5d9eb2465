"""Where pages, figures and prints of records register themselves, and where records find them.

Records (summaries, explanations, models) are data and lie below the report layer that draws them.
Their ``to_html``, ``plot`` and ``show`` ask here. What draws a record registers beside itself, by
the type of the record; it is loaded at the first question, by what the root of the package has
installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from voile.errors import SettingError
from voile.progress import progress_bar

if TYPE_CHECKING:
    from voile.figure_request import FigureRequest

Drawer = TypeVar("Drawer", bound=Callable[..., Any])
Table = dict[type, Callable[..., Any]]

_PAGES: Table = {}
_PRINTS: Table = {}
_CARDS: Table = {}
_REPORTS: Table = {}
_FRAMES: Table = {}
_PLOTS: Table = {}
_FORMS: dict[str, Callable[..., Any]] = {}
_LOADERS: list[Callable[[], object]] = []


def draws(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that draws the page of records of these types, as HTML."""
    return _register(_PAGES, kinds)


def plots(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Register a function that draws one figure of records of these types, given a request."""
    return _register(_PLOTS, kinds)


def forms_figures(*names: str) -> Callable[[Drawer], Drawer]:
    """Register a function that gives a figure a form: that of a library, or of a kind of file."""
    return _register(_FORMS, names)


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


def _register(table: dict[Any, Any], kinds: tuple[Any, ...]) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        table.update(dict.fromkeys(kinds, drawer))
        return drawer

    return register


def _find(table: Table, record: object) -> Callable[..., Any] | None:
    """What draws a record; modules are loaded until one of them does."""
    found: Callable[..., Any] | None = _find_key(table, type(record).__mro__)
    return found


def _find_key(table: dict[Any, Callable[..., Any]], keys: Iterable[Any]) -> Any:
    for load in (None, *_LOADERS):
        if load is not None:
            load()
        for key in keys:
            if key in table:
                return table[key]
    return None


def plot_record(record: Any, request: FigureRequest, library: str, width: float | None) -> Any:
    """One figure of a record, as a library has it.

    Parameters
    ----------
    record
    request : FigureRequest
    library : {"plotly", "matplotlib"}
    width : float or None
        In centimetres.
    """
    if library not in ("plotly", "matplotlib"):
        raise SettingError(f"No figure can be had of {library!r}: give 'plotly' or 'matplotlib'.")
    return _find_key(_FORMS, [library])(_draw_plot(record, request), width)


def write_plot(record: Any, path: str | Path, request: FigureRequest, width: float | None) -> Path:
    """Write one figure of a record to a file, of the kind that its name ends in.

    Parameters
    ----------
    record
    path : str or path
        Ends in .svg, .png or .pdf.
    request : FigureRequest
    width : float or None
        In centimetres.
    """
    ending = str(path).rpartition(".")[2].lower()
    if ending not in ("svg", "png", "pdf"):
        raise SettingError(f"A figure cannot be saved as {str(path)!r}: end in .svg, .png or .pdf.")
    data: bytes = _find_key(_FORMS, [ending])(_draw_plot(record, request), width)
    return _write(data, path)


def _draw_plot(record: Any, request: FigureRequest) -> Any:
    draw = _find(_PLOTS, record)
    if draw is None:
        raise SettingError(f"A {type(record).__name__} has no figure.")
    return draw(record, request)


def check_page_name(path: str | Path) -> None:
    """Refuse to call a page by the name of a file of another kind.

    Raises
    ------
    SettingError
        If it has an ending other than .html or .htm.
    """
    ending = Path(path).suffix.lower()
    if ending in ("", ".", ".html", ".htm"):
        return
    remedy = {
        ".pdf": "open the page in a browser and print it to PDF",
        ".png": "write one figure with save_figure('name.png') in Python",
        ".svg": "write one figure with save_figure('name.svg') in Python",
    }.get(ending, "open the page in a browser, which can print it")
    raise SettingError(
        f"What is written is a page of HTML, and {str(path)!r} ends in {ending}: end it in .html; "
        f"or {remedy}."
    )


def write_page(record: Any, path: str | Path) -> Path:
    """Write the self-contained HTML page of a record, and return its path."""
    check_page_name(path)
    with progress_bar("drawing the page", None):
        return _write(_encode(_draw_page(record)), path)


def write_report(estimator: Any, path: str | Path, **parts: Any) -> Path:
    """Write the self-contained HTML report of a fitted estimator, and return its path.

    Parameters
    ----------
    estimator
    path : str or path
    **parts
        As `voile.report.model.report.draw_report` takes them.
    """
    check_page_name(path)
    draw = _find(_REPORTS, estimator)
    if draw is None:
        raise SettingError(f"No report can be drawn of a {type(estimator).__name__}.")
    with progress_bar("drawing the report", None):
        return _write(_encode(draw(estimator, **parts)), path)


def _encode(page: str) -> bytes:
    # A title may hold lone surrogates: they are shown as what they are.
    return page.encode("utf-8", "backslashreplace")


def _write(data: bytes, path: str | Path) -> Path:
    # Every import of Voile loads this module: what only writing needs waits for it.
    from voile.files import replace_file

    try:
        return replace_file(path, lambda place: place.write_bytes(data))
    except ValueError as error:
        raise SettingError(f"No file can be called {str(path)!r}: give another name.") from error


def draw_inline(record: Any) -> str:
    """HTML of a record for a notebook: its page inside a frame, which needs nothing around it."""
    frame = _find(_FRAMES, "")
    if frame is None:
        raise SettingError(f"No frame can be drawn around a {type(record).__name__}.")
    text: str = frame(lambda: _draw_page(record))
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
