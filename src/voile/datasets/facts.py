"""What is publicly known of a data set, before any of its rows is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from voile.schema import Schema


@dataclass(frozen=True, slots=True)
class Facts:
    """One public data set in words, with its public schema.

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
