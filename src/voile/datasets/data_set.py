"""A public data set: what is publicly known of it, and its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import MissingExtra
from voile.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class DataSetFacts:
    """One public data set in words, with its public schema, before any of its rows is read.

    Attributes
    ----------
    name : str
        What `load` calls it.
    title : str
        What its authors call it.
    task : str
        "classification", "regression" or "text".
    rows : int
        Published number of rows, of all splits together.
    schema : Schema
        Columns with their documented bounds and levels, and the target. What the documentation
        does not say is left open, and is then found privately.
    source : str
        Who collected the rows, and where they are published.
    bounds : str
        Where the bounds and levels of the schema come from.
    licence : str
        As far as it is stated.
    citation : str
        What to cite.
    note : str
        What to know before using it.
    splits : tuple of str
        Official splits, the one to train on first; empty if there is none.
    image_shape : tuple of int, or None
        Height, width and, for colour, 3, if each row is a picture.
    """

    name: str
    title: str
    task: str
    rows: int
    schema: Schema
    source: str
    bounds: str
    licence: str
    citation: str
    note: str = ""
    splits: tuple[str, ...] = ()
    image_shape: tuple[int, ...] | None = None

    @property
    def features(self) -> int:
        """Number of features; a text counts as one."""
        return max(len(self.schema), 1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the schema as plain values."""
        return {
            "name": self.name,
            "title": self.title,
            "task": self.task,
            "rows": self.rows,
            "features": self.features,
            "source": self.source,
            "bounds": self.bounds,
            "licence": self.licence,
            "citation": self.citation,
            "note": self.note,
            "splits": list(self.splits),
            "image_shape": None if self.image_shape is None else list(self.image_shape),
        }


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """A public data set: its features, its target and its public schema.

    Attributes
    ----------
    X : pyarrow.Table of shape (rows, columns), or array of shape (rows, pixels)
        A table, or pictures whose rows are to be read in `image_shape`. A table has the columns of
        the schema, and the one that tells whose row it is, if there is one.
    y : array of shape (rows,)
        Classes as in the schema's target, or real numbers.
    schema : Schema
        Of the columns of `X`, with the target.
    facts : DataSetFacts
        Title, origin, licence, citation and notes.
    split : str or None
        The official split these rows are, or None for all rows.
    place : str
        The file they were read from, or the package that ships them.
    """

    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    schema: Schema = field(repr=False)
    facts: DataSetFacts = field(repr=False)
    split: str | None
    place: str

    @property
    def name(self) -> str:
        """What `load` calls it."""
        return self.facts.name

    @property
    def task(self) -> str:
        """Either "classification", "regression" or "text"."""
        return self.facts.task

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Height, width and, for colour, 3, if each row is a picture."""
        return self.facts.image_shape

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def __str__(self) -> str:
        part = "" if self.split is None else f", {self.split}"
        return f"{self.facts.title}{part}: {self.rows:,} rows, {self.task}"

    def to_pandas(self) -> pd.DataFrame:
        """Return the features as a pandas data frame.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "demo") from None
        if isinstance(self.X, np.ndarray):
            return pandas.DataFrame(self.X, columns=list(self.schema))
        return self.X.to_pandas()
