"""Private rows of Parquet files on disk, read in pieces: memory holds a few blocks at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from voile.errors import DataError
from voile.privacy.encode import encode_frame, encode_target
from voile.privacy.sources.block import Block, Column
from voile.privacy.sources.source import BLOCK_ROWS, TARGET, RowSource
from voile.schema import Schema


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
    """

    def __init__(self, path: str | os.PathLike[str], target: object, schema: Schema) -> None:
        if target is not None and not isinstance(target, str):
            raise DataError(
                "For Parquet on disk the target must be the name of a column of the same files."
            )
        # An open handle is not kept: the path survives fork and long pauses.
        self._path = Path(path).expanduser().resolve()
        self._target = target
        self.schema = schema
        self._kept: dict[int, dict[str, Column]] = {}
        present = set(self._dataset().schema.names)
        for name in (*schema, *([target] if target else [])):
            if name not in present:
                raise DataError(
                    f"The files have no column {name!r}: correct the schema, or leave it out."
                )

    def _dataset(self) -> Any:
        import pyarrow as pa
        import pyarrow.dataset

        try:
            return pa.dataset.dataset(self._path, format="parquet")
        except (OSError, pa.ArrowException) as error:
            raise DataError(
                f"The path {str(self._path)!r} is not a Parquet file, or a folder of them: check "
                "the path."
            ) from error

    def with_schema(self, schema: Schema) -> ParquetSource:
        """The same rows under another schema; nothing kept per row is carried over."""
        return ParquetSource(self._path, self._target, schema)

    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """Pieces of row groups, in file order, cut in the same places at every visit."""
        names = [self._target if name == TARGET else name for name in columns]
        batches = self._dataset().to_batches(
            columns=list(dict.fromkeys(names)), batch_size=BLOCK_ROWS
        )
        index = 0
        for batch in batches:
            if batch.num_rows == 0:
                continue
            yield self._block(index, batch)
            index += 1

    def _block(self, index: int, batch: Any) -> Block:
        def load(name: str) -> Column:
            if name == TARGET:
                if self._target is None or self.schema.target is None:
                    raise KeyError(name)
                return encode_target(batch.column(self._target), self.schema.target)
            return encode_frame(batch, self.schema.select([name]))[name]

        return Block(batch.num_rows, load, self._kept.setdefault(index, {}))
