"""Private rows of a table in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.privacy.encode import PickedRows, encode_values, pick_rows
from voile.privacy.sources.block import Block, Column
from voile.privacy.sources.source import BLOCK_ROWS, TARGET, RowSource
from voile.privacy.sources.units import UnitRows
from voile.privacy.sources.weights import RowWeights
from voile.schema import Category, Schema

_BLOCK_NUMBERS, _FEWEST_ROWS = 4_194_304, 2_048


class TableSource(RowSource):
    """A data frame, array or mapping, encoded block by block when a query asks.

    Numbers are encoded anew each time (cheap, and a second copy of a large table is not);
    codes of categories are kept once made, because looking text up is slow.

    Parameters
    ----------
    frame : data frame, array, mapping or list of rows
    target : column, name of a column of ``frame``, or None
    schema : Schema
    weights : RowWeights, optional
    """

    def __init__(
        self, frame: object, target: object, schema: Schema, weights: RowWeights | None = None
    ) -> None:
        picked = pick_rows(frame, target, schema)
        self._weights: NDArray[np.float32] | None = None
        if weights is not None:
            self._weights = weights.relative(weights.values)
            if len(self._weights) != picked.row_count:
                raise DataError(
                    "The table and the weights have different numbers of rows: give one weight "
                    "per row."
                )
        # Wide tables are cut finer, so that several cores have work; by public facts alone.
        self._step = min(BLOCK_ROWS, max(_BLOCK_NUMBERS // max(len(schema), 1), _FEWEST_ROWS))
        self._chosen: list[NDArray[np.bool_]] | None = None
        if picked.unit is not None:
            units = UnitRows(schema.privacy_unit)
            for start in range(0, picked.row_count, self._step):
                units.add(picked.unit[start : start + self._step])
            self._chosen = units.choose()
        self._start(picked, schema)

    def _start(self, picked: PickedRows, schema: Schema) -> None:
        # Nobody can ask for a target that was not given.
        self.schema = schema if picked.target is not None else schema.with_target(None)
        self._picked = picked
        count = -(-picked.row_count // self._step)
        self._kept: list[dict[str, Column]] = [{} for _ in range(count)]
        self._codes: list[dict[str, Column]] = [{} for _ in range(count)]

    def with_schema(self, schema: Schema) -> TableSource:
        """The same rows under another schema; nothing kept per row is carried over."""
        self._check_unit(schema)
        for name in schema:
            if name not in self._picked.columns:
                raise DataError(f"The table was protected without column {name!r}: name it then.")
        other = object.__new__(TableSource)
        other._chosen, other._weights = self._chosen, self._weights
        other._step = self._step
        other._start(self._picked, schema)
        return other

    def apart(self) -> TableSource:
        """Codes of categories are the same under the same schema: they are not made again."""
        other = self.with_schema(self.schema)
        other._codes = self._codes
        return other

    def blocks(self, columns: Collection[str]) -> Iterator[Block]:
        """Slices of a fixed number of rows."""
        for index in range(len(self._kept)):
            yield self._block(index)

    def _block(self, index: int) -> Block:
        start = index * self._step
        stop = min(start + self._step, self._picked.row_count)
        codes = self._codes[index]
        chosen = None if self._chosen is None else self._chosen[index]
        rows = stop - start if chosen is None else int(np.count_nonzero(chosen))

        def load(name: str) -> Column:
            if name in codes:
                return codes[name]
            is_target = name == TARGET
            values = self._picked.target if is_target else self._picked.columns[name]
            described = self.schema.target if is_target else self.schema[name]
            if values is None or described is None:
                raise KeyError(name)
            encoded = encode_values(values[start:stop], described)
            if chosen is not None:
                encoded = encoded[chosen]
            if isinstance(described, Category):
                codes[name] = encoded
            return encoded

        weights = None if self._weights is None else self._weights[start:stop]
        if weights is not None and chosen is not None:
            weights = weights[chosen]
        return Block(rows, load, self._kept[index], weights)
