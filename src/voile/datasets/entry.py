"""An entry of the catalogue: a data set's facts, and how its rows are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from numpy.typing import NDArray

from voile.datasets.facts import Facts


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Rows kept as ``NAME.parquet``.

    Attributes
    ----------
    target : str
        The column to predict.
    carried : tuple of str
        Columns that are handed out beside the features: whose row it is, or the text itself.
    optional : tuple of str
        Columns that some published copies lack.
    """

    target: str
    carried: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredPictures:
    """Pictures kept as ``NAME.npz``: ``x_SPLIT`` of whole numbers, ``y_SPLIT`` of class numbers.

    Attributes
    ----------
    classes : tuple of str, or None
        What the class numbers mean; None if the numbers themselves are the classes.
    """

    classes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Features and target, as a package gives them.

    Attributes
    ----------
    X : pyarrow.Table or array of shape (rows, pixels)
    y : array of shape (rows,)
    """

    X: Any
    y: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Packaged:
    """Rows that come with another package.

    Attributes
    ----------
    package : str
        Its name.
    read : callable
        Reads them; imports the package.
    """

    package: str
    read: Callable[[], Content]


Home: TypeAlias = StoredTable | StoredPictures | Packaged
"""How rows are kept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A data set of the catalogue."""

    facts: Facts
    home: Home

    @property
    def file(self) -> str | None:
        """Name of the file with its rows, or None if a package ships them."""
        match self.home:
            case StoredTable():
                return f"{self.facts.name}.parquet"
            case StoredPictures():
                return f"{self.facts.name}.npz"
            case Packaged():
                return None
