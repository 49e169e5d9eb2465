"""What every explanation is: a record with a receipt, in all its forms; drawn elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self, SupportsIndex

from voile.arrays import freeze_arrays
from voile.codec import Order, Readable
from voile.errors import DataError
from voile.explain.row_texts import RowTexts
from voile.models.history import Edit
from voile.privacy.receipt import Receipt
from voile.privacy.signing import without_signature
from voile.record import Record
from voile.stored import Stored
from voile.strict import Strict

FREE = "costs nothing: computed from released values"

EXPLANATION = Strict(DataError, "an explanation")

HEAD: Order = ("format", "kind", "outputs", "units", "cost")
FOOT: Order = ("edits", "history", "receipt")
"""What stands first and last in the file of every explanation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation(Record, Readable, ABC):
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

    format: ClassVar[int] = 1
    kind: ClassVar[str] = ""
    strict: ClassVar[Strict] = EXPLANATION
    file_order: ClassVar[Order] = (*HEAD, ..., *FOOT)

    outputs: tuple[str, ...]
    units: str
    receipt: Receipt
    edits: tuple[Edit, ...] = ()
    history: Annotated[tuple[Edit, ...], Stored(optional=True)] = ()
    cost: str = FREE

    def __post_init__(self) -> None:
        freeze_arrays(self, EXPLANATION, nan_is_null=True)

    @abstractmethod
    def to_records(self) -> list[dict[str, Any]]:
        """Flat records: the rows of `to_frame`."""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave.

        Raises
        ------
        DataError
            If it is not an explanation of this class, or of a later format.
        """
        return super().from_dict(without_signature(data))


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplainedRows(Explanation):
    """What all explanations of single rows have in common: some of the rows are one, too."""

    of_rows: ClassVar[tuple[str, ...]] = ("decisions",)
    """Fields with an entry for each row."""

    def __len__(self) -> int:
        return len(getattr(self, self.of_rows[0]))

    def __getitem__(self, rows: SupportsIndex | slice) -> Self:
        """Some of the rows, as an explanation of their own."""
        if not isinstance(rows, slice):
            first = range(len(self))[rows]  # IndexError, and negative numbers, as for a list
            rows = slice(first, first + 1)
        return replace(self, **{name: getattr(self, name)[rows] for name in self.of_rows})


def check_row_texts(rows: Sequence[tuple[str, ...]], count: int, width: int, what: str) -> None:
    """Refuse texts that are not one for each of ``count`` rows and ``width`` columns."""
    widths = {rows.width} if isinstance(rows, RowTexts) else set(map(len, rows))
    if len(rows) != count or widths - {width}:
        raise DataError(
            f"The {what} of an explanation must be {width} texts for each of {count} rows."
        )
