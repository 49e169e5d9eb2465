"""What every explanation is: a record with a receipt, in all its forms; drawn elsewhere."""

from __future__ import annotations

import json
import sys
import tempfile
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

from voile.errors import DataError, MissingExtra
from voile.explain.plain_data import EXPLANATION
from voile.models.history import Edit, read_edits
from voile.privacy.receipt import Receipt
from voile.rendering import draw_inline, print_record, write_page
from voile.strict import show

FORMAT = 1

FREE = "costs nothing: computed from released values"


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation(ABC):
    """What all explanations have in common.

    Attributes
    ----------
    outputs : tuple of str
        What each score is about: classes, the second of two classes, or "prediction".
    units : str
        Unit of scores: "log-odds", or "the target's unit".
    receipt : Receipt
        The privacy guarantee that the explained model rests on.
    edits : tuple of Edit
        What people changed in the model after training and is in force, in order.
    history : tuple of Edit
        Everything that people did, if some of it was taken back; else empty.
    cost : str
        What the explanation itself cost, in words.
    """

    kind: ClassVar[str] = ""

    outputs: tuple[str, ...]
    units: str
    receipt: Receipt
    edits: tuple[Edit, ...] = ()
    history: tuple[Edit, ...] = ()
    cost: str = FREE

    @abstractmethod
    def to_records(self) -> list[dict[str, Any]]:
        """Flat records: the rows of `to_frame`."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Plain data of what only this kind of explanation has."""

    @classmethod
    @abstractmethod
    def _read_facts(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Read back what `_facts` gave."""

    # -- forms ----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "outputs": list(self.outputs),
            "units": self.units,
            "cost": self.cost,
            **self._facts(),
            "edits": [edit.to_dict() for edit in self.edits],
            **({"history": [edit.to_dict() for edit in self.history]} if self.history else {}),
            "receipt": self.receipt.to_dict(),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` gave.

        Raises
        ------
        DataError
            If it is not an explanation of this class, or of a later format.
        """
        read = EXPLANATION
        if not isinstance(data, Mapping):
            read.refuse("the whole", "a JSON object", data)
        data = _Fields(read.plain(data))
        if data["format"] != FORMAT or type(data["format"]) is not int:
            raise DataError(
                f"The explanation has format {show(data['format'])}, this version of voile reads "
                f"format {FORMAT}: use the version that wrote it."
            )
        homes = [one for one in (cls, *cls.__subclasses__()) if one.kind == data["kind"]]
        if not homes:
            raise DataError(
                f"The data are a {show(data['kind'])} explanation and no {cls.__name__}: read them "
                f"with Explanation.from_dict."
            )
        return homes[0](
            outputs=read.texts(data["outputs"], "'outputs'"),
            units=read.text(data["units"], "'units'"),
            cost=read.text(data["cost"], "'cost'"),
            edits=read_edits(data["edits"], read, "'edits'"),
            history=read_edits(data.get("history", []), read, "'history'"),
            receipt=Receipt.from_dict(data["receipt"]),
            **homes[0]._read_facts(data),
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` gave (DataError)."""
        return cls.from_dict(EXPLANATION.parse(text))

    def to_frame(self) -> Any:
        """As a pandas data frame: a tidy, long table.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("pandas", "demo") from None
        return pd.DataFrame.from_records(self.to_records())

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page, which needs no network, and return its path."""
        return write_page(self, path)

    def show(self, *, browser: bool = False) -> None:
        """Show the explanation: in a notebook as a figure, in a terminal as a table.

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
        else:
            print_record(self)

    def _repr_html_(self) -> str:
        return draw_inline(self)


class _Fields(dict[str, Any]):
    """Fields of an explanation; one that is not there is a `DataError`."""

    def __missing__(self, name: str) -> NoReturn:
        raise DataError(f"The explanation has no {name!r}: use an undamaged copy.")


def _notebook() -> Any:
    """The display module of the notebook this runs in, or None."""
    shell = sys.modules.get("IPython")  # inside a notebook it is always loaded
    if shell is None or not hasattr(shell.get_ipython(), "kernel"):
        return None
    from importlib import import_module

    return import_module("IPython.display")
