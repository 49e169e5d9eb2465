"""Private rows of Parquet files on disk, read in pieces: memory holds a few blocks at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.privacy.encode import encode_target
from voile.privacy.sources.block import Block, Column
from voile.privacy.sources.source import BLOCK_ROWS, TARGET, RowSource
from voile.privacy.sources.units import UnitRows
from voile.privacy.sources.weights import RowWeights
from voile.schema import Schema
from voile.schema.frames import adopt_column, reading_parquet


class ParquetSource(RowSource):
    """A Parquet file, or a folder of them, visited in the order of their names.

    What queries keep per row stays in memory between visits (about as many bytes as they keep);
    the columns themselves are read from disk each time, only those that a query needs.

    Parameters
    ----------
    path : str or path
    target : str or None
        Name of the target column.
    schema : Schema
    weights : RowWeights, optional
        By the name of a column; read once and kept (four bytes per row).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: object,
        schema: Schema,
        weights: RowWeights | None = None,
    ) -> None:
        if target is not None and not isinstance(target, str):
            raise DataError(
                "For Parquet on disk the target must be the name of a column of the same files."
            )
        weighing = None if weights is None else weights.values
        if weighing is not None and not isinstance(weighing, str):
            raise DataError(
                "For Parquet on disk the weights must be the name of a column of the same files."
            )
        # An open handle is not kept: the path survives fork and long pauses.
        self._path = Path(path).expanduser().resolve()
        self._target = target
        # Nobody can ask for a target that was not given.
        self.schema = schema if target is not None else schema.with_target(None)
        self._kept: dict[int, dict[str, Column]] = {}
        present = [set(names) for names in self._names().values()]
        own = schema.privacy_unit.column
        unit = [] if own is None else [own]
        weight = [weighing] if weighing else []
        for name in (*schema, *([target] if target else []), *unit, *weight):
            if not any(name in names for names in present):
                raise DataError(
                    f"The files have no column {name!r}: correct the schema, or leave it out."
                )
        self._chosen: list[NDArray[np.bool_]] | None = None
        if own is not None:
            units = UnitRows(schema.privacy_unit)
            for piece in self._pieces({own}):
                units.add(adopt_column(piece.column(own), "unit"))
            self._chosen = units.choose()
        self._weights: list[NDArray[np.float32]] | None = None
        if weights is not None and weighing:
            pieces = self._pieces({weighing})
            self._weights = [weights.relative(p.column(weighing)) for p in pieces]

    def _names(self) -> dict[str, list[str]]:
        """Column names of every file, in the order of the files' names."""
        import pyarrow as pa
        import pyarrow.dataset
        import pyarrow.parquet

        with reading_parquet(self._path):
            files = sorted(pa.dataset.dataset(self._path, format="parquet").files)
            names = {file: pa.parquet.read_schema(file).names for file in files}
        if any(len(set(found)) < len(found) for found in names.values()):
            raise DataError("Some column names of the files occur more than once: rename them.")
        return names

    def with_schema(self, schema: Schema) -> ParquetSource:
        """The same rows under another schema; nothing kept per row is carried over."""
        self._check_unit(schema)
        other = ParquetSource(self._path, self._target, schema.with_unit(None))
        other.schema, other._chosen = other.schema.with_unit(schema.unit), self._chosen
        other._weights = self._weights
        return other

    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """Pieces of each file, cut in the same places at every visit, whatever the columns.

        Each file is read by its own types: Arrow would convert them to those of the first file, and
        a value that cannot be converted would be told in an error.
        """
        wanted = {self._target if name == TARGET else name for name in columns}
        for index, piece in enumerate(self._pieces(wanted)):
            yield self._block(index, piece)

    def _pieces(self, wanted: Collection[str | None]) -> Iterator[_ParquetPiece]:
        for file, present in self._names().items():
            yield from _pieces(file, [name for name in present if name in wanted])

    def _block(self, index: int, piece: _ParquetPiece) -> Block:
        chosen, rows, weights = None, piece.rows, None
        for known in (self._chosen, self._weights):
            if known is not None and (index >= len(known) or len(known[index]) != piece.rows):
                raise DataError("The files have changed since they were protected: protect again.")
        if self._weights is not None:
            weights = self._weights[index]
        if self._chosen is not None:
            chosen = self._chosen[index]
            rows = int(np.count_nonzero(chosen))
            weights = None if weights is None else weights[chosen]

        def load(name: str) -> Column:
            described = self.schema.target if name == TARGET else self.schema[name]
            own = self._target if name == TARGET else name
            if own is None or described is None:
                raise KeyError(name)
            encoded = encode_target(piece.column(own), described)
            return encoded if chosen is None else encoded[chosen]

        return Block(rows, load, self._kept.setdefault(index, {}), weights)


@dataclass(frozen=True, repr=False, eq=False)
class _ParquetPiece:
    """Some rows of one file; without a table if no column of the file is wanted."""

    rows: int
    table: Any

    def column(self, name: str) -> Any:
        """A column; all missing where the file has none of that name."""
        import pyarrow as pa

        absent = self.table is None or name not in self.table.column_names
        return pa.nulls(self.rows) if absent else self.table.column(name)


def _pieces(file: str, names: list[str]) -> Iterator[_ParquetPiece]:
    """Cut a file after every so many rows; Arrow's own batches depend on the columns read."""
    import pyarrow as pa
    import pyarrow.parquet

    with pa.parquet.ParquetFile(file) as opened:
        if not names:
            count = opened.metadata.num_rows
            for start in range(0, count, BLOCK_ROWS):
                yield _ParquetPiece(min(BLOCK_ROWS, count - start), None)
            return
        waiting: list[Any] = []
        rows = 0
        for batch in opened.iter_batches(batch_size=BLOCK_ROWS, columns=names):
            waiting.append(batch)
            rows += batch.num_rows
            while rows >= BLOCK_ROWS:
                table = pa.Table.from_batches(waiting)
                yield _ParquetPiece(BLOCK_ROWS, table.slice(0, BLOCK_ROWS))
                rows -= BLOCK_ROWS
                waiting = table.slice(BLOCK_ROWS).to_batches()
        if rows:
            yield _ParquetPiece(rows, pa.Table.from_batches(waiting))
