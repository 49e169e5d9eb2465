"""What all records have: plain data, a table, a page, and a form for the terminal and notebooks."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

from voile.codec import Writable
from voile.errors import MissingExtra, SettingError
from voile.figure_request import FigureRequest
from voile.rendering import draw_inline, plot_record, print_record, write_page, write_plot


class Record(Writable):
    """A frozen record that can be looked at in all forms; code elsewhere draws it."""

    __slots__ = ()

    has_terminal_form: ClassVar[bool] = True
    """Whether a terminal shows more than the text of ``print``."""

    def to_records(self) -> list[dict[str, Any]]:
        """Flat records: the rows of `to_frame`."""
        raise SettingError(f"A {type(self).__name__} is no table: use to_dict.")

    def to_frame(self) -> Any:
        """As a pandas data frame: a tidy, long table.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        SettingError
            If the record is no table.
        """
        records = self.to_records()
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("pandas", "demo") from None
        return pd.DataFrame.from_records(records)

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page, which needs no network, and return its path."""
        return write_page(self, path)

    def plot(
        self,
        name: str | None = None,
        *,
        row: int | None = None,
        output: str | None = None,
        library: Literal["plotly", "matplotlib"] = "plotly",
    ) -> Any:
        """One of its figures, to look at, change or take along.

        Parameters
        ----------
        name : str, optional
            Which: a column, a class, or what it shows; by default the first on its page.
        row : int, optional
            Position of an explained row, if the record is of rows; by default the first.
        output : str, optional
            Name of an output or class, if a figure is of one; by default all of them together, or
            the one that the row got.
        library : {"plotly", "matplotlib"}
            Which library's figure.

        Returns
        -------
        plotly.graph_objects.Figure or matplotlib.figure.Figure

        Raises
        ------
        SettingError
            If there is no such figure, row or output; the message says which there are.
        MissingExtra
            If matplotlib is asked for and not installed.
        """
        return plot_record(self, FigureRequest(name, row, output), library, None)

    def save_figure(
        self,
        path: str | Path,
        name: str | None = None,
        *,
        row: int | None = None,
        output: str | None = None,
        width: float | None = None,
    ) -> Path:
        """Write one of its figures to a file, light and fit for print, and return its path.

        Parameters
        ----------
        path : str or path
            Ends in ``.svg`` (which needs nothing else), ``.png`` (300 dots an inch) or ``.pdf``
            (both by matplotlib).
        name, row, output
            As for `plot`.
        width : float, optional
            In centimetres, 16 by default; 8 fits a column of a journal. Letters are of 9 points.

        Raises
        ------
        SettingError
            If there is no such figure, or no such kind of file.
        MissingExtra
            If matplotlib is needed and not installed.
        """
        return write_plot(self, path, FigureRequest(name, row, output), width)

    def show(self, *, browser: bool = False) -> None:
        """Show it: in a notebook as a figure, in a terminal as a table.

        Parameters
        ----------
        browser : bool
            Write a temporary page instead, readable for this user alone, and open it in a browser.
        """
        if browser:
            with tempfile.NamedTemporaryFile(suffix=".html", delete=False) as file:
                path = Path(file.name)
            webbrowser.open(self.to_html(path).as_uri())
        elif (notebook := _notebook()) is not None:
            notebook.display(self)
        elif self.has_terminal_form:
            print_record(self)
        else:
            print(self)

    def _repr_html_(self) -> str:
        return draw_inline(self)


def _notebook() -> Any:
    """The display module of the notebook this runs in, or None."""
    shell = sys.modules.get("IPython")  # inside a notebook it is always loaded
    if shell is None or not hasattr(shell.get_ipython(), "kernel"):
        return None
    return import_module("IPython.display")
