"""What all records have: plain data, a table, a page, and a form for the terminal and notebooks."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from voile.codec import Writable
from voile.errors import MissingExtra, SettingError
from voile.rendering import draw_inline, print_record, write_page


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
