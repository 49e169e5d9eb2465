"""A public data set with its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.datasets.facts import Facts
from voile.errors import MissingExtra
from voile.schema import Schema

if TYPE_CHECKING:
    import pandas as pd


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
    facts : Facts
        Title, origin, licence, citation and notes.
    split : str or None
        The official split these rows are, or None for all rows.
    place : str
        The file they were read from, or the package that ships them.
    """

    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    schema: Schema = field(repr=False)
    facts: Facts = field(repr=False)
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
