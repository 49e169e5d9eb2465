"""What a client checks of a question before it opens the vault, by public facts alone.

Schema, preparations and query come from a server, and none of them is believed of another. What
passes here cannot fail for a single row; what does all the same counts as nothing
(`voile.privacy.sources.failing_rows`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from voile.errors import (
    BudgetExceeded,
    FederationError,
    LedgerMismatch,
    LedgerUnavailable,
    SchemaError,
    VoileError,
)
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.clients.questions import PROTOCOL, Opening
from voile.privacy.clients.terms import CLIENT, OF_CLIENTS, Trust
from voile.privacy.ledger import Ledger
from voile.privacy.queries import Preparation, Query
from voile.privacy.query_kernels import check_bound
from voile.privacy.sources.source import TARGET, check_columns
from voile.schema import Category, Schema
from voile.schema.columns import Column

MOST_NUMBERS = 2**27
"""Longest vector that is summed (1 GiB); the largest networks have 10^8 weights."""


def check_opening(
    question: Opening,
    name: str,
    relation: NeighbouringRelation,
    accepts: Collection[str],
    colluders: int,
) -> None:
    """Refuse a job of another protocol or relation, or on terms that this client does not accept.

    Parameters
    ----------
    name, relation
        Of this client, and of its ledger.
    accepts : collection of str
        Whom it is ready to trust.
    colluders : int
        With shares of noise: at least so many other clients may collude.
    """
    terms = question.terms
    if question.protocol != PROTOCOL:
        raise FederationError(
            f"The server speaks protocol {question.protocol}, this client {PROTOCOL}: install the "
            "same version of voile."
        )
    if question.relation is not relation:
        raise FederationError(
            f"The job guarantees for {question.relation}, this client's ledger for {relation}: use "
            "one relation everywhere."
        )
    if terms.trust not in accepts:
        raise FederationError(
            f"The job asks for trust {str(terms.trust)!r}; this client accepts "
            f"{sorted(map(str, accepts))}."
        )
    if terms.trust == Trust.SHARES and terms.colluders < colluders:
        raise FederationError(
            f"The job is safe from {terms.colluders} colluding clients; this client asks for "
            f"{colluders}."
        )
    if name not in terms.clients:
        raise FederationError(f"This client's name {name!r} is not among the job's.")


def check_unit(unit: str | None, name: str, ledger: Ledger) -> None:
    """Refuse to add up guarantees for rows and for clients: a row can change all of an update."""
    if unit not in (None, CLIENT):
        raise FederationError(f"This client knows no guarantee for a {unit!r}.")
    of_clients = {OF_CLIENTS in entry.what for entry in ledger.history()}
    if not ledger.budget.unlimited and of_clients - {unit == CLIENT}:
        raise LedgerMismatch(
            f"The ledger of client {name!r} counts guarantees for "
            f"{'rows' if unit == CLIENT else 'whole clients'}: give this job another ledger."
        )


def explain_refusal(error: VoileError) -> str:
    """What a server is told of a refusal: not where files lie, nor what is left of a budget."""
    match error:
        case BudgetExceeded():
            return "its ledger refused: too little is left for this plan"
        case LedgerUnavailable():
            return "its ledger or memory cannot be written or read now; its own log says why"
        case LedgerMismatch() if "/" in str(error) or "\\" in str(error):
            return "its ledger is not the one it knows; its own log says why"
    return str(error)


def check_schema(own: Schema, asked: object) -> Schema:
    """Refuse a schema that reads a column in another way than the client has said it is.

    Bounds and levels may be added or chosen otherwise. A number that is read as a category, or
    levels that are not listed any more, would let single values decide what a query does.
    """
    if not isinstance(asked, Schema):
        raise FederationError("The message holds no schema.")
    for name, column in asked.items():
        if name not in own:
            raise SchemaError(f"This client's table has no column {name!r}.")
        _check_column(own[name], column, f"column {name!r}")
    if asked.target is not None:
        if own.target is None:
            raise SchemaError("This client's table has no target.")
        _check_column(own.target, asked.target, "the target")
    if asked.privacy_unit != own.privacy_unit:
        raise SchemaError(
            f"The job's privacy unit is {asked.privacy_unit}, this client's is {own.privacy_unit}: "
            "agree on one."
        )
    return asked


def _check_column(own: Column, asked: Column, where: str) -> None:
    if type(own) is not type(asked):
        raise SchemaError(
            f"The job reads {where} as a {type(asked).__name__}; at this client it is a "
            f"{type(own).__name__}: agree on one kind."
        )
    if isinstance(own, Category) and own.known and not asked.known:
        raise SchemaError(f"The levels of {where} are listed at this client: list them in the job.")


def check_preparations(preparations: object, schema: Schema) -> tuple[Preparation, ...]:
    """Refuse what is no preparation, or does not fit the schema and those before it."""
    if not isinstance(preparations, tuple):
        raise FederationError("The message holds no preparations.")
    for number, one in enumerate(preparations):
        if not isinstance(one, Preparation):
            raise FederationError("The message holds a preparation that is none.")
        _check_readable(one.columns, schema)
        if not one.fits(preparations[:number], schema):
            raise FederationError(
                f"{type(one).__name__} does not fit the job's schema, or what rows keep before it."
            )
    return preparations


def check_query(
    query: object, preparations: Sequence[Preparation], schema: Schema, *, weighted: bool
) -> Query:
    """Refuse what is no query, or does not fit the schema, what rows keep, and their weights."""
    if not isinstance(query, Query):
        raise FederationError("The message holds no query.")
    if weighted and not query.weighable:
        raise FederationError("This client's rows have weights, and the query is for rows without.")
    _check_readable(query.columns, schema)
    if not query.fits(preparations, schema):
        raise FederationError("The rows keep something else than this query needs.")
    if not 1 <= query.size <= MOST_NUMBERS:
        raise FederationError(f"A sum has from 1 to {MOST_NUMBERS} numbers. Got {query.size}.")
    check_bound(query.bound)
    return query


def _check_readable(columns: Collection[str], schema: Schema) -> None:
    """Columns exist and are encoded: raw values of unlisted levels are for tallies alone."""
    check_columns(columns, schema)
    for name in columns:
        column = schema.target if name == TARGET else schema[name]
        if isinstance(column, Category) and not column.known:
            where = "the target" if name == TARGET else f"column {name!r}"
            raise SchemaError(f"The levels of {where} are not listed: they cannot be summed over.")
