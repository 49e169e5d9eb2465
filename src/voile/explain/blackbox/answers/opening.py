"""Opening an explainer that reads rows: what is missing in the schema, and how many rows there are.

Paid once, before the first question, and stored: a restart finds it. The black box is then asked
about the private rows, inside the vault; what it says stays there.
"""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import BudgetExceeded, SettingError
from voile.explain.blackbox.rows.black_box import BlackBox
from voile.explain.blackbox.rows.given_rows import GivenRows
from voile.explain.blackbox.rows.points import ANSWERS, ONE, PointSpace
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_step
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Gaussian, Plan
from voile.privacy.ledger import Ledger
from voile.privacy.ledger.allowance import Allowance
from voile.privacy.ledger.answers import AnswerBook
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.noise import NoiseSource
from voile.privacy.origins import Use, own_ledger
from voile.privacy.queries import Block, RowCount
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Category, Schema

DISCOVERY = 0.15
_COUNT = 0.005
"""Shares of mu^2 for what the schema lacks, and for the number of rows."""

_KEY = "opening"
_COUNT_ACCESS, _REST = "row count", "questions"


@dataclass(frozen=True, eq=False)
class ExplainerOpening:
    """What is known before the first question.

    Attributes
    ----------
    table : PrivateTable
        Under a complete schema.
    rows : float
        Public, or released.
    mu_squared : float
        What is left for questions.
    """

    table: PrivateTable
    rows: float
    mu_squared: float


def find_ledger(
    ledger: Ledger | None, budget: Budget, uses: tuple[Use, ...], *, faithful: bool
) -> Ledger:
    """The ledger that pays: the one given, or one in memory that holds just this price."""
    if ledger is None:
        return own_ledger(Budget(math.inf, budget.delta) if faithful else budget, *uses)
    if faithful and not ledger.budget.unlimited:
        raise SettingError(
            "faithful=True gives no guarantee, so it cannot share a ledger that guarantees one: "
            "leave the ledger out."
        )
    return ledger


def plan_opening(schema: Schema, budget: Budget, allowance: Allowance) -> Plan:
    """What is looked at first, and last in it what is left for questions."""
    steps = list(discovery_shape(schema, DISCOVERY, budget.delta))
    left = 1.0 - (DISCOVERY if steps else 0.0)
    if schema.rows is None:
        steps.append(gaussian_step(_COUNT_ACCESS, left * _COUNT))
        left *= 1.0 - _COUNT
    steps.append(gaussian_step(_REST, left))
    # The filter sets a part of delta aside; all accesses together must fit what it leaves.
    allowed = budget
    if not budget.unlimited:
        allowed = Budget(budget.epsilon, budget.delta * (1.0 - allowance.slack))
    return calibrate(allowed, Plan(tuple(steps)), allowance.ledger.relation)


def open_table(
    table: PrivateTable, budget: Budget, allowance: Allowance, book: AnswerBook
) -> ExplainerOpening:
    """Look at what must be known first, or find it stored.

    Raises
    ------
    BudgetExceeded
        If the budget does not suffice for that; nothing was spent.
    """
    plan = plan_opening(table.schema, budget, allowance)
    rest = plan[_REST]
    left = rest.noise_multiplier**-2 if isinstance(rest, Gaussian) else np.inf
    first = Plan(plan.steps[:-1])
    if not first.steps:
        assert table.schema.rows is not None
        return ExplainerOpening(table, float(table.schema.rows), left)
    stored = book.find([_KEY]).get(_KEY)
    if stored is None:
        with allowance.reserve(first) as payment:
            if payment is None:
                raise BudgetExceeded(
                    "The budget does not suffice to begin: the ledger, or the explainer's own "
                    "allowance, is used up. Nothing was spent. "
                    + allowance.advice("Ask for epsilon {} or less.")
                )
            grant = payment.pay(first)
            table = complete(table, grant)
            rows = float(table.schema.rows or 0)
            if _COUNT_ACCESS in first:
                released = gaussian_sum(table, RowCount(), grant.take(_COUNT_ACCESS))
                rows = max(float(released.values[0]), 1.0)
        facts: dict[str, Any] = {
            "schema": table.schema.to_dict(),
            "rows": rows,
            "noise": str(allowance.noise),
        }
        stored = book.store({_KEY: facts})[_KEY]
    return _stored(table, allowance, stored, left)


def reopen_table(table: PrivateTable, allowance: Allowance, book: AnswerBook) -> ExplainerOpening:
    """What an explainer of this name has looked at before; never looks itself."""
    stored = book.find([_KEY]).get(_KEY)
    if stored is not None:
        return _stored(table, allowance, stored, 0.0)
    if not table.schema.known:
        raise SettingError(
            "strategy='offline' reads no rows, and nothing is stored of what the schema lacks: "
            "give a complete schema."
        )
    return ExplainerOpening(table, float(table.schema.rows or 1), 0.0)


def _stored(
    table: PrivateTable, allowance: Allowance, stored: dict[str, Any], left: float
) -> ExplainerOpening:
    allowance.fixed_noise |= stored["noise"] == str(NoiseSource.FIXED)
    schema = Schema.from_dict(stored["schema"])
    return ExplainerOpening(table.with_schema(schema), float(stored["rows"]), left)


def ask_about_rows(
    table: PrivateTable, space: PointSpace, black_box: BlackBox, given: GivenRows
) -> None:
    """Keep each row's point and the black box's answer in the vault; nothing comes out.

    A row that the black box cannot answer counts as 0. The guarantee rests on what the black box
    says of a row not depending on the rows beside it.
    """
    schema = table.schema
    # Blocks come on several threads, which a user's model need not be ready for.
    turn = threading.Lock()

    def work(block: Block) -> None:
        space.prepare(block)
        columns = {name: block[name] for name in schema}
        said = np.zeros((block.rows, len(black_box.outputs)), dtype=np.int32)
        with turn, warnings.catch_warnings():
            # What a model warns about may quote the rows.
            warnings.simplefilter("ignore")
            for rows in _alike(schema, columns, block.rows):
                some = {name: values[rows] for name, values in columns.items()}
                said[rows] = _answers(black_box, given, schema, some, len(rows))
        block.kept[ANSWERS] = said

    keep(table, list(schema), work)


def _alike(schema: Schema, columns: dict[str, NDArray[Any]], rows: int) -> list[NDArray[np.int64]]:
    """Positions of rows that lack a value in the same columns, for each such kind of row.

    A type without missing values gives way where one is missing (small whole numbers become
    floats), for all rows that are handed over together. So that no row changes how another one
    looks to the model, only rows that look alike in that are.
    """
    lacks = np.zeros((rows, len(schema)), dtype=np.bool_)
    for j, (name, column) in enumerate(schema.items()):
        values = columns[name]
        known = len(column.levels or ()) if isinstance(column, Category) else None
        lacks[:, j] = np.isnan(values) if known is None else values >= known
    packed = np.packbits(lacks, axis=1)
    _, kinds = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(kinds.ravel(), kind="stable")
    ends = np.flatnonzero(np.diff(kinds.ravel()[order])) + 1
    return [one for one in np.split(order, ends) if len(one)]


def _answers(
    black_box: BlackBox, given: GivenRows, schema: Schema, columns: dict[str, Any], rows: int
) -> NDArray[np.int32]:
    """Answers in whole numbers of 2^-18, shape (rows, outputs)."""
    try:
        found = black_box.ask(given.rebuild(columns, rows, schema), rows)
    except (Exception, SystemExit):
        # Whether, where and how it fails is private: row by row, so that no row harms another.
        if rows <= 1:
            return np.zeros((rows, len(black_box.outputs)), dtype=np.int32)
        halves = (slice(0, rows // 2), slice(rows // 2, rows))
        parts = [
            _answers(
                black_box,
                given,
                schema,
                {name: values[half] for name, values in columns.items()},
                half.stop - half.start,
            )
            for half in halves
        ]
        return np.vstack(parts)
    whole: NDArray[np.int32] = np.trunc(np.clip(found, -1.0, 1.0) * ONE).astype(np.int32)
    return whole
