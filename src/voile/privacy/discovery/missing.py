"""Completing a schema: a plan for everything it does not say, and carrying that plan out."""

from __future__ import annotations

from voile.privacy.calibrate import gaussian_step, threshold_step
from voile.privacy.discovery.bounds import find_bounds
from voile.privacy.discovery.levels import find_levels
from voile.privacy.events import Step
from voile.privacy.grant import Grant
from voile.privacy.sources.source import TARGET
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Level, Number, Schema

THRESHOLD_SHARE = 0.02
"""Share of a job's delta for all its thresholds together; they need little, being logarithmic."""

_BOUNDS = "bounds of unlisted numbers"
_LEVELS = "levels of unlisted categories"


def unknown(schema: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of numbers without bounds and of categories without levels (target included)."""
    columns = dict(schema)
    if schema.target is not None:
        columns[TARGET] = schema.target
    numbers = tuple(n for n, c in columns.items() if isinstance(c, Number) and not c.known)
    categories = tuple(n for n, c in columns.items() if isinstance(c, Category) and not c.known)
    return numbers, categories


def discovery_shape(schema: Schema, weight: float, delta: float) -> tuple[Step, ...]:
    """Steps of a plan that find what the schema lacks; empty if it lacks nothing.

    Parameters
    ----------
    schema : Schema
    weight : float
        Shares of mu^2 for all of it, split evenly over the unknown columns.
    delta : float
        Delta of the whole job.
    """
    numbers, categories = unknown(schema)
    count = len(numbers) + len(categories)
    steps: list[Step] = []
    if numbers:
        steps.append(gaussian_step(_BOUNDS, weight * len(numbers) / count, count=len(numbers)))
    if categories:
        each = delta * THRESHOLD_SHARE / len(categories)
        share = weight * len(categories) / count
        steps.append(threshold_step(_LEVELS, share, delta=each, count=len(categories)))
    return tuple(steps)


def complete(table: PrivateTable, grant: Grant) -> PrivateTable:
    """Carry out the steps of `discovery_shape`: the same rows under a complete schema."""
    schema = table.schema
    numbers, categories = unknown(schema)
    for name in numbers:
        found = find_bounds(table, name, grant.take(_BOUNDS))
        schema = _with(schema, name, found)
    for name in categories:
        known = schema.target if name == TARGET else schema[name]
        levels = find_levels(table, name, grant.take(_LEVELS)).levels
        levels = _sorted(levels) if name == TARGET else levels
        schema = _with(schema, name, Category(levels, missing=known is None or known.missing))
    return table.with_schema(schema) if numbers or categories else table


def _sorted(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    """Classes in the order that scikit-learn expects; levels of one type next to each other."""
    return tuple(sorted(levels, key=lambda one: (isinstance(one, str), one)))


def _with(schema: Schema, name: str, column: Number | Category) -> Schema:
    return schema.with_target(column) if name == TARGET else schema.with_column(name, column)
