"""What every evaluation does with the rows: pays for its plan, prepares, and accesses."""

from __future__ import annotations

from typing import Any

from voile.models.evaluation.intervals import Counted
from voile.models.evaluation.queries import Prepared
from voile.models.fit import FitJob
from voile.privacy.events import Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.queries import Query
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Category, Schema

LEAST_ROWS = 4.0
"""A group is measured if its noised rows stand this many standard errors clear of 0."""


def pay(job: FitJob, model: Any, groups: tuple[str, ...], shape: list[Step]) -> Grant:
    """Pay for every access of an evaluation, and keep what the model says of each row."""
    grant = job.pay(job.plan(Plan(tuple(shape))))
    prepared = Prepared(model, getattr(model, "rows_schema", model.schema), groups)
    keep(job.table, prepared.columns, prepared.prepare)
    return grant


def access(table: PrivateTable, query: Query, grant: Grant, label: str) -> Counted:
    """One access: counts or sums with the standard error of each."""
    release = gaussian_sum(table, query, grant.take(label))
    return Counted(release.values, release.standard_error, table.rows_per_unit)


def level_names(schema: Schema, name: str) -> tuple[str, ...]:
    """Names of the cells of a category: its levels, other, missing."""
    column = schema[name]
    assert isinstance(column, Category)
    return (*map(str, column.levels or ()), "(other)", "(missing)")


def of_group(name: str) -> str:
    """Label of the access to a group."""
    return f"figures by {name}"
