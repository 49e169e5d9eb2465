"""The vault: private rows that nothing but a mechanism with a paid ticket can look at.

Python cannot stop code that sets out to break in; this stops everything that happens by accident:
printing, counting, slicing, converting, pickling, copying into a log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, NoReturn, Self
from weakref import WeakKeyDictionary

from voile.errors import SchemaError, VaultError
from voile.privacy.events import Plan
from voile.privacy.grant import Ticket
from voile.privacy.ledger import Entry, Ledger
from voile.privacy.origins import Origin, Use, note_job, notes_of, uses_of
from voile.privacy.sources import Block, RowSource
from voile.privacy.sources.parquet import ParquetSource
from voile.privacy.sources.table import TableSource
from voile.privacy.sources.weights import RowWeights
from voile.privacy.tape.listening import current
from voile.schema import Category, Number, Schema
from voile.schema.frames import adopt_column, describe_frame
from voile.schema.kind_checks import check_kinds
from voile.schema.kinds import Kind, kind_of_values
from voile.schema.unit import suggestive_columns, suspicion


class PrivateTable:
    """A table whose rows only mechanisms can see.

    Made by `protect`. Its schema (names, kinds, and what is public of them) can be read; rows, and
    even their number, cannot.
    """

    __slots__ = (
        "__weakref__",
        "_largest_weight",
        "_notes",
        "_numeric_target",
        "_schema",
        "_token",
        "_uses",
    )

    def __init__(
        self,
        source: RowSource,
        token: object,
        largest_weight: float = 1.0,
        *,
        notes: tuple[str, ...] = (),
        uses: tuple[Use, ...] = (),
        numeric_target: bool = False,
    ) -> None:
        self._schema = source.schema
        self._numeric_target = numeric_target
        self._token = token
        self._largest_weight = largest_weight
        self._notes, self._uses = notes, uses
        _ROWS[self] = source

    @property
    def schema(self) -> Schema:
        """What is public."""
        return self._schema

    @property
    def unit(self) -> str:
        """Whom the guarantee protects, as ledgers tell units apart."""
        return self._schema.privacy_unit.name

    @property
    def rows_per_unit(self) -> int:
        """Most rows that one privacy unit has here; every sensitivity is multiplied by it."""
        return self._schema.privacy_unit.rows * _ROWS[self].holders.per_unit

    @property
    def largest_weight(self) -> float:
        """Largest weight of a row; 1 without weights."""
        return self._largest_weight

    @property
    def numeric_target(self) -> bool:
        """Whether the type of the target, which is public, says that its values are numbers."""
        return self._numeric_target

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return _ROWS[self].weighted

    @property
    def weight_per_unit(self) -> float:
        """Largest total weight of one privacy unit."""
        return self.rows_per_unit * self._largest_weight

    @property
    def token(self) -> object:
        """Identity of the rows; a ticket is good for the table it was paid for."""
        return self._token

    @property
    def noise_growth(self) -> float:
        """Standard deviation of Gaussian noise relative to what a plan pays for: 1, or more where
        several hold the rows and each adds noise (docs/proofs/federated.md).
        """
        return _ROWS[self].holders.noise_growth

    @property
    def summed_only(self) -> bool:
        """Whether rows can be summed over but not gathered, because they lie with clients."""
        return _ROWS[self].holders.summed_only

    @property
    def notes(self) -> tuple[str, ...]:
        """What a receipt must say about where the rows are, and of how they were protected."""
        return (*_ROWS[self].holders.notes, *self._notes)

    def settle(
        self,
        plan: Plan,
        what: str,
        ledger: Ledger,
        spend: Callable[[], Entry],
        unit: str | None = None,
    ) -> Entry:
        """Have a plan paid (`Ledger.pay`); clients of a federation pay from their own ledgers, too.

        A job that was given no ledger warns if another one has used these rows before.
        """
        note_job(ledger, self._uses)
        return _ROWS[self].holders.settle(plan, what, ledger, spend, unit)

    def with_schema(self, schema: Schema) -> Self:
        """The same rows under a schema that knows more, for example what was found privately."""
        return self._over(_ROWS[self].with_schema(schema))

    def apart(self) -> Self:
        """The same rows for one job: what it keeps per row is its own."""
        return self._over(_ROWS[self].apart())

    def _over(self, source: RowSource) -> Self:
        return type(self)(
            source,
            self._token,
            self._largest_weight,
            notes=self._notes,
            uses=self._uses,
            numeric_target=self._numeric_target,
        )

    def __repr__(self) -> str:
        return f"<PrivateTable: {len(self._schema)} columns, rows private>"

    def __bool__(self) -> bool:
        return True

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __len__(self) -> NoReturn:
        raise _closed("count them with a noised RowCount")

    def __iter__(self) -> NoReturn:
        raise _closed("sum over them with a query")

    def __getitem__(self, key: object) -> NoReturn:
        raise _closed("sum over them with a query")

    def __contains__(self, key: object) -> NoReturn:
        raise _closed("count with a noised query")

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise _closed("sum over them with a query")

    def __reduce__(self) -> NoReturn:
        raise _closed("send the query to the rows, not the rows to the query")


# Rows are kept beside the table, not in it: nothing that walks an object's attributes finds them.
_ROWS: WeakKeyDictionary[PrivateTable, RowSource] = WeakKeyDictionary()


def _closed(remedy: str) -> VaultError:
    return VaultError(f"Private rows cannot be read: {remedy} (voile.privacy.mechanisms).")


def open_rows(table: PrivateTable, ticket: Ticket) -> RowSource:
    """Open the vault for one access that was paid for; for mechanisms alone."""
    ticket.tear(table.token)
    tape = current()
    if tape is not None:
        tape.open(_ROWS[table], ticket)
    return _ROWS[table].access(ticket)


def keep(
    table: PrivateTable,
    columns: Collection[str],
    work: Callable[[Block], None],
    *,
    forgiving: bool = False,
) -> None:
    """Let ``work`` store derived values per row (bins, scores) inside the vault; nothing comes out.

    Costs nothing, because nothing is released: ``work`` gets one block after the other and its
    result is dropped. ``forgiving``: a row for which it fails counts as nothing from then on.
    """
    _ROWS[table].keep(columns, work, forgiving=forgiving)


KINDS_FROM_TYPES = (
    "Names and kinds of the columns were taken from the table's own types, without noise and "
    "unpaid: the guarantee takes them for public. Give a schema to say what is."
)


BELIEVED_BOUND = (
    "That nobody has more than {rows} rows is taken from the schema: no column tells people apart, "
    "so nothing enforces it, and who has more is protected less."
)


def protect(
    X: object,
    y: object = None,
    *,
    schema: Schema | None = None,
    target: Number | Category | None = None,
    weights: object = None,
    largest_weight: float = 1.0,
) -> PrivateTable:
    """Put a table into the vault.

    Parameters
    ----------
    X : data frame, array, mapping, or path
        Shape (rows, columns). A Parquet file, or a folder of them, is read in pieces, each time it
        is summed over; a CSV, Excel or Arrow file once, as `voile.read_table` reads it.
    y : array of shape (rows,), or str, optional
        Target values; for a path (or frame) the name of the target column.
    schema : Schema, optional
        What is public. Without one, names and kinds are taken from the types of the columns, which
        receipts say, and the rest has to be found privately.
    target : Number or Category, optional
        What is public of the target, when the schema does not say it.
    weights : array of shape (rows,), or for a path the name of a column, optional
        Private too. Every sum multiplies what a row adds by its weight relative to the largest;
        levels and classes are found without them.
    largest_weight : float
        Public. A larger weight counts as this, a negative or missing one as 0.

    Returns
    -------
    PrivateTable

    Raises
    ------
    SchemaError
        If nothing says who is protected and a column's name suggests people with several rows.
    """
    from voile.privacy.files.table_files import is_read_whole, read_unprotected

    given = X
    if is_read_whole(X):
        X = rows = read_unprotected(X, schema, target, y, weights)
    # A file that was read has notes of its own.
    typed = schema is None and X is given
    notes = (*((KINDS_FROM_TYPES,) if typed else ()), *notes_of(X))
    columns = describe_frame(X)
    described = Schema.from_columns(columns)
    check_people(schema, described, y, weights)
    schema = described if schema is None else schema
    if schema.privacy_unit.column is None and schema.privacy_unit.rows > 1:
        notes += (BELIEVED_BOUND.format(rows=schema.privacy_unit.rows),)
    if isinstance(y, str) and y in schema:
        target = target or schema.target or schema[y]
        schema = schema.select([name for name in schema if name != y])
    if isinstance(weights, str):
        # A column of weights is no column to learn from.
        schema = schema.select([name for name in schema if name != weights])
    if target is not None:
        schema = schema.with_target(target)
    kind = _kind_of_target(X, y)
    if kind is Kind.BOOLEAN and schema.target == Category():
        schema = schema.with_target(Category([False, True]))
    if y is not None and schema.target is None:
        raise SchemaError(
            "A target is given but nothing is said about it: give the schema "
            "target=Category([...]) with the classes or target=Number(lower, upper); "
            "Category() or Number() leaves the rest to be found privately."
        )
    check_kinds(columns, y, schema)
    if X is not given and isinstance(weights, str):
        weights = rows[weights]
    weighing = None if weights is None else RowWeights(weights, largest_weight)
    source: RowSource
    if isinstance(X, (str, os.PathLike)):
        source = ParquetSource(X, y, schema, weighing)
    else:
        source = TableSource(X, y, schema, weighing)
    uses = (
        Use(Origin()),
        *uses_of(given),
        *(() if y is None or isinstance(y, str) else uses_of(y)),
    )
    largest = 1.0 if weighing is None else weighing.largest
    return PrivateTable(
        source,
        object(),
        largest,
        notes=notes,
        uses=uses,
        numeric_target=kind is Kind.NUMBER,
    )


def check_people(
    schema: Schema | None, described: Schema, y: object = None, weights: object = None
) -> None:
    """Refuse to protect rows where a name suggests people and nobody said that rows are meant.

    Parameters
    ----------
    schema : Schema or None
        What the user says.
    described : Schema
        Names and kinds of all columns, also of those that are not used.
    y, weights : object
        If names of columns: these are something else.
    """
    if schema is not None and schema.unit is not None:
        return
    others = [name for name in (y, weights) if isinstance(name, str)]
    columns = {**described, **(schema or {})}
    asked = suggestive_columns({k: v for k, v in columns.items() if k not in others})
    if asked:
        give = "schema=Schema.from_frame(X, unit=...)" if schema is None else "the schema a unit"
        raise SchemaError(
            f"{suspicion(asked[0])}, and nothing says who is protected: give {give}, "
            f"Unit({asked[0]!r}, rows=4) to protect each with all rows (at most 4 are used), or "
            "'row' if every row is another person's. Nothing was spent."
        )


def _kind_of_target(X: object, y: object) -> Kind:
    """What the type of the target says."""
    if isinstance(y, str):
        return next((one.kind for one in describe_frame(X) if one.name == y), Kind.OTHER)
    return Kind.OTHER if y is None else kind_of_values(adopt_column(y, "the target"))
