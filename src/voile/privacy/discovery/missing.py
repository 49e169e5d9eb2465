"""Completing a schema: a plan for everything it does not say, and carrying that plan out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from voile.errors import GuessedTargetWarning
from voile.privacy.calibrate import gaussian_step, threshold_step
from voile.privacy.discovery.bounds import find_bounds
from voile.privacy.discovery.classes import find_classes
from voile.privacy.discovery.levels import find_levels
from voile.privacy.events import Step
from voile.privacy.grant import Grant
from voile.privacy.sources.source import TARGET
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Column, Number, Schema

THRESHOLD_SHARE = 0.02
"""Share of a job's delta for all its thresholds together; they need little, being logarithmic."""

_TARGET_PART = 0.4
"""Part of what discovery may cost that the target has, if columns are unknown, too: without its
classes or bounds nothing can be learned, however many columns there are."""

_BOUNDS = "bounds of unlisted numbers"
_LEVELS = "levels of unlisted categories"
_RANGE = "bounds of the target"
_CLASSES = "classes of the target"

NO_LEVEL = "(no level found)"
"""Stands in a table of which nothing was found."""

_MOST_NAMES = 8

_GUESSED_BOUNDS = "Bounds of the target did not stand clear of the noise"
_GUESSED_CLASSES = "Classes of the target were guessed"


def unknown(schema: Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of numbers without bounds and of categories without levels (target not included)."""
    numbers = tuple(n for n, c in schema.items() if isinstance(c, Number) and not c.known)
    categories = tuple(n for n, c in schema.items() if isinstance(c, Category) and not c.known)
    return numbers, categories


def target_part(schema: Schema) -> float:
    """Part of what discovery costs that goes to the target: 0 if its classes or bounds are known.

    All of it where nothing else is unknown.
    """
    if schema.target is None or schema.target.known:
        return 0.0
    return _TARGET_PART if any(unknown(schema)) else 1.0


def discovery_shape(schema: Schema, weight: float, delta: float) -> tuple[Step, ...]:
    """Steps of a plan that find what the schema lacks; empty if it lacks nothing.

    Parameters
    ----------
    schema : Schema
    weight : float
        Shares of mu^2 for all of it; the unknown columns have even parts.
    delta : float
        Delta of the whole job.
    """
    numbers, categories = unknown(schema)
    count = len(numbers) + len(categories)
    own = weight * target_part(schema)
    classes = bool(own) and isinstance(schema.target, Category)
    each = delta * THRESHOLD_SHARE / max(len(categories) + classes, 1)
    steps: list[Step] = []
    if classes:
        steps.append(threshold_step(_CLASSES, own, delta=each))
    elif own:
        steps.append(gaussian_step(_RANGE, own))
    if numbers:
        share = (weight - own) * len(numbers) / count
        steps.append(gaussian_step(_BOUNDS, share, count=len(numbers)))
    if categories:
        share = (weight - own) * len(categories) / count
        steps.append(threshold_step(_LEVELS, share, delta=each, count=len(categories)))
    return tuple(steps)


def complete(table: PrivateTable, grant: Grant) -> PrivateTable:
    """Carry out the steps of `discovery_shape`: the same rows under a complete schema.

    What was not found is told in the notes of the grant, which go into its receipt.
    """
    table = complete_target(table, grant)
    schema, notes = table.schema, list[str]()
    if schema.known:
        return table
    numbers, categories = unknown(schema)
    lacking: list[str] = []
    for name in numbers:
        found = find_bounds(table, name, grant.take(_BOUNDS))
        lacking += [] if found.clear else [name]
        schema = schema.with_column(name, found.column)
    if lacking:
        notes.append(
            f"Bounds of {_listed(lacking)} did not stand clear of the noise and are taken as 0 to "
            "1: what lies outside counts as 0 or 1. Give them in the schema, which costs nothing."
        )
    empty: list[str] = []
    for name in categories:
        levels = find_levels(table, name, grant.take(_LEVELS)).levels
        empty += [] if levels else [name]
        schema = schema.with_column(name, Category(levels, missing=schema[name].missing))
    if len(empty) == len(schema):
        # Models of coordinates need one: it is 0 for every row, and classes alone are learned.
        column = Category([NO_LEVEL], missing=schema[empty[0]].missing)
        schema = schema.with_column(empty[0], column)
    if empty:
        notes.append(
            f"No level of {_listed(empty)} was frequent enough to be found: such a column says "
            "nothing. Give the levels in the schema, which costs nothing."
        )
    grant.table_notes += tuple(notes)
    return table.with_schema(schema)


def complete_target(table: PrivateTable, grant: Grant) -> PrivateTable:
    """The same rows with a target whose classes or bounds are known; columns may stay unknown.

    For a job that looks at its target first, and stops where that says nothing.
    """
    schema, notes = table.schema, list[str]()
    if schema.target is None or schema.target.known:
        return table
    schema = schema.with_target(_find_target(table, grant, notes))
    grant.table_notes += tuple(notes)
    return table.with_schema(schema)


def _find_target(table: PrivateTable, grant: Grant, notes: list[str]) -> Column:
    """Bounds or classes of the target."""
    target = table.schema.target
    if isinstance(target, Number):
        found = find_bounds(table, TARGET, grant.take(_RANGE))
        if not found.clear:
            notes.append(
                f"{_GUESSED_BOUNDS} and are taken as 0 to 1, so that no prediction lies outside. "
                "Give them in the schema, which costs nothing."
            )
        return found.column
    classes = find_classes(table, grant.take(_CLASSES))
    if classes.guessed:
        notes.append(
            f"{_GUESSED_CLASSES}, not found: {_listed(classes.guessed)}. Too few rows have them to "
            "stand clear of the privacy noise. Give the classes, which costs nothing."
        )
    return Category(classes.classes, missing=target is None or target.missing)


def warn_of_guesses(notes: Iterable[str]) -> None:
    """Warn of guesses that decide what is predicted, among the notes of a receipt.

    For when the result is safe: where warnings are errors, what was paid must not be lost.
    """
    for note in notes:
        if note.startswith((_GUESSED_BOUNDS, _GUESSED_CLASSES)):
            warnings.warn(note, GuessedTargetWarning, stacklevel=4)


def _listed(names: Sequence[object]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{shown}{more}"
