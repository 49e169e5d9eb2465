"""Making a private summary: one plan, one ledger entry, one access per column."""

from __future__ import annotations

import numpy as np

from voile.errors import SchemaError, SettingError
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.discovery import complete, discovery_shape, find_histogram
from voile.privacy.discovery.missing import unknown
from voile.privacy.events import Plan
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.origins import own_ledger
from voile.privacy.queries import CategoryCounts, RowCount
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable, protect
from voile.progress import progress_bar
from voile.schema import Category, Schema
from voile.schema.scale import on_scale
from voile.summary.summary import CategorySummary, NumberSummary, Summary

_ROWS, _COLUMNS = "row count", "columns"
_ROWS_WEIGHT, _DISCOVERY_WEIGHT, _COLUMNS_WEIGHT = 0.02, 0.25, 0.73


def summarize(
    X: object,
    *,
    epsilon: float = 1.0,
    delta: float | None = None,
    schema: Schema | None = None,
    ledger: Ledger | None = None,
    bins: int = 16,
) -> Summary:
    """Describe a table privately: row count, and the distribution of every column.

    Parameters
    ----------
    X : data frame, array, mapping, Parquet path, or PrivateTable
        Shape (rows, columns).
    epsilon, delta : float
        Budget of this summary. ``epsilon=inf`` counts exactly and gives no guarantee. Delta is by
        default 1e-6, and at most 0.01 / rows where the schema tells the number of rows.
    schema : Schema, optional
        What is public; what it does not say is found privately within the same budget.
    ledger : Ledger, optional
        The data set's ledger; without one the budget stands alone, and a second job warns.
    bins : int
        Number of bins of equal width for each number.

    Returns
    -------
    Summary

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Number, Schema, summarize
    >>> age = np.arange(5000) % 90
    >>> summary = summarize({"age": age}, epsilon=1, schema=Schema({"age": Number(0, 120)}))
    >>> 4900 < summary.rows < 5100
    True
    """
    table = X if isinstance(X, PrivateTable) else protect(X, schema=schema)
    if not len(table.schema):
        raise SchemaError("The table has no columns to describe.")
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise SettingError(f"The 'bins' must be a whole number >= 1. Got {bins!r} instead.")
    if table is X and schema is not None:
        raise SettingError(
            "A PrivateTable has its schema already: give the other one to protect()."
        )
    budget = Budget.of_job(epsilon, delta, table.schema.rows)
    book = own_ledger(budget) if ledger is None else ledger
    known_rows = table.schema.rows
    shape = Plan(
        (
            *(() if known_rows else (gaussian_step(_ROWS, _ROWS_WEIGHT),)),
            *discovery_shape(table.schema, _DISCOVERY_WEIGHT, budget.delta),
            gaussian_step(_COLUMNS, _COLUMNS_WEIGHT, count=len(table.schema)),
        )
    )
    plan = calibrate(budget, shape, book.relation)
    grant = book.pay(plan, table, "summary of a table", asked=budget)
    rows, rows_error = float(known_rows or 0), 0.0
    if not known_rows:
        release = gaussian_sum(table, RowCount(), grant.take(_ROWS))
        rows, rows_error = float(release.values[0]), release.standard_error
    found = {name for names in unknown(table.schema) for name in names}
    columns = []
    with progress_bar("summarizing", len(table.schema)) as show:
        table = complete(table, grant)
        for name in table.schema:
            columns.append(_column(table, name, grant, bins, name in found))
            show(len(columns))
    return Summary(
        rows=rows,
        rows_standard_error=rows_error,
        columns=tuple(columns),
        receipt=write_receipt(grant, budget),
    )


def _column(
    table: PrivateTable, name: str, grant: Grant, bins: int, found: bool
) -> NumberSummary | CategorySummary:
    column = table.schema[name]
    ticket = grant.take(_COLUMNS)
    if isinstance(column, Category):
        levels = tuple(column.levels or ())
        release = gaussian_sum(table, CategoryCounts(name, len(levels)), ticket)
        told = (*(str(level) for level in levels), "(other)", "(missing)")
        if not column.missing:
            told = told[:-1]  # the last count is of no row
        return CategorySummary(
            name=name,
            levels=told,
            counts=tuple(np.maximum(release.values[: len(told)], 0.0).tolist()),
            standard_error=release.standard_error,
            found=found,
        )
    fine = find_histogram(table, name, ticket)
    coarse = fine.equal_width(bins)
    quartiles = fine.quantile(np.array([0.25, 0.5, 0.75]))
    quartiles = np.rint(quartiles) if column.whole else on_scale(quartiles, column.scale)
    low, middle, high = quartiles.tolist()
    return NumberSummary(
        name=name,
        lower=float(coarse.edges[0]),
        upper=float(coarse.edges[-1]),
        edges=tuple(coarse.edges.tolist()),
        counts=tuple(np.maximum(coarse.counts, 0.0).tolist()),
        standard_errors=tuple(coarse.standard_errors.tolist()),
        missing=max(coarse.missing, 0.0) if column.missing else 0.0,
        quartiles=(low, middle, high),
        found=found,
        scale=column.scale,
    )
