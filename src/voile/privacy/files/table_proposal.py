"""What is proposed of a file whose columns no schema describes: from its names and kinds alone."""

from __future__ import annotations

from voile.privacy.files.names import missing_column
from voile.privacy.files.table_files import TableFile
from voile.schema.proposal import Proposal, propose_column, propose_target
from voile.schema.schema import Schema


def propose_columns(table: TableFile, target: str | None = None) -> tuple[Proposal, ...]:
    """What is proposed for each column, and for the one to predict, from names and kinds alone."""
    return tuple(
        propose_target(one) if one.name == target else propose_column(one) for one in table.columns
    )


def propose_schema(table: TableFile, target: str | None) -> Schema:
    """Kinds alone, without bounds or levels: for a training that finds the rest privately.

    Columns that look like identifiers are left out; those that look like codes are categories.
    What looks like amounts with a sign is refused (DataError).
    """
    if target is not None and target not in table.names:
        raise missing_column(target, table.names, table.path, table.other_sheets)
    kinds = Schema.from_frame(table.declared)
    used = {
        one.name: one.column if one.doubtful else kinds[one.name]
        for one in propose_columns(table)
        if one.use and one.name != target
    }
    table.check_guessed([*used] if target is None else [*used, target])
    return Schema(used, target=None if target is None else kinds[target])
