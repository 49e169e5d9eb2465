"""What a forecast may know: the schema, a public row count, and what is assumed beyond them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from voile.errors import SchemaError, SettingError
from voile.models.setting_checks import is_count, is_number
from voile.privacy.budget import Budget
from voile.schema import Category, Number, Schema
from voile.schema.columns import Column

ModelName = Literal["ebm", "glvq", "gmlvq", "lvq1", "locally_linear"]

ASSUMED_LEVELS = 8
"""Levels that a category without a list is taken to have."""

ASSUMED_SPREAD = 1 / 6
"""Standard deviation of a number that is predicted, as a part of its range."""

MOST_ROWS = 10**15


@dataclass(frozen=True)
class ForecastFacts:
    """Public facts alone, checked.

    Attributes
    ----------
    schema : Schema
        As it was given: what it lacks is paid for.
    complete : Schema
        The same with assumptions where something is missing.
    rows : int
    rates : tuple of float
        Share of the rows in each class, in the schema's order; empty for a number.
    spread : float
        Standard deviation of the target in its own units, 0 for classes.
    assumed : tuple of str
        Sentences: what was assumed because nobody said it.
    """

    schema: Schema
    complete: Schema
    rows: int
    rates: tuple[float, ...]
    spread: float
    assumed: tuple[str, ...]

    @property
    def rows_per_unit(self) -> int:
        """Most rows of one privacy unit."""
        return self.schema.privacy_unit.rows

    @property
    def classification(self) -> bool:
        """Whether classes are predicted."""
        return bool(self.rates)

    @property
    def half_range(self) -> float:
        """Half the width of the target's range, 1 for classes."""
        target = self.complete.target
        if not isinstance(target, Number):
            return 1.0
        assert target.lower is not None
        assert target.upper is not None
        return target.upper / 2 - target.lower / 2


def gather_facts(
    schema: object,
    *,
    rows: object = None,
    target_rate: object = None,
    target_spread: object = None,
) -> ForecastFacts:
    """Check what is public, and fill in what is missing by stated assumptions.

    Raises
    ------
    SchemaError, SettingError
        If something is missing that cannot be assumed (the row count, the target), or is wrong.
    """
    if not isinstance(schema, Schema):
        raise SettingError(
            f"A forecast needs a Schema, never the data. Got {type(schema).__name__} instead: give "
            "voile.Schema({...}, target=...)."
        )
    if not len(schema):
        raise SchemaError("The schema has no columns to learn from: give at least one.")
    if schema.target is None:
        raise SchemaError(
            "The schema has no target, so there is nothing to forecast a training of: give "
            "Schema(..., target=Category([...])) or target=Number(lower, upper)."
        )
    count = _count(schema, rows)
    assumed: list[str] = []
    columns: dict[str, Column] = {}
    guessed: list[str] = []
    for name, column in schema.items():
        if isinstance(column, Category) and not column.known:
            columns[name] = Category([f"level {k + 1}" for k in range(ASSUMED_LEVELS)])
            guessed.append(name)
        else:
            columns[name] = column if column.known else Number(0, 1)
    if guessed:
        assumed.append(
            f"Assumed: {ASSUMED_LEVELS} levels in {_count_columns(guessed)} without a list of "
            "levels."
        )
    target, rates, spread = schema.target, tuple[float, ...](), 0.0
    if isinstance(target, Category):
        if target_spread is not None:
            raise SettingError("'target_spread' is for a target that is a number: leave it out.")
        target, rates = _classes(target, target_rate, assumed)
    else:
        if target_rate is not None:
            raise SettingError("'target_rate' is for a target of classes: leave it out.")
        target, spread = _range(target, target_spread, assumed)
    assumed.append(
        "Assumed: numbers are spread evenly over their range, levels are equally frequent. Bins "
        "with fewer rows than that have more noise."
    )
    complete = Schema(columns, target=target, rows=schema.rows, unit=schema.unit)
    return ForecastFacts(schema, complete, count, rates, spread, tuple(assumed))


def _count_columns(names: list[str]) -> str:
    return f"column {names[0]!r}" if len(names) == 1 else f"{len(names)} columns"


def check_epsilons(epsilons: object, delta: object) -> tuple[Budget, ...]:
    """Budgets in increasing order of epsilon, each once."""
    if is_number(epsilons):
        epsilons = (epsilons,)
    if isinstance(epsilons, (str, bytes)) or not isinstance(epsilons, Iterable):
        raise SettingError(
            f"The 'epsilons' must be numbers > 0, such as (0.5, 1, 2). Got {epsilons!r} instead."
        )
    given = list(epsilons)
    for one in given:
        if not (is_number(one) and 0 < float(one) < math.inf):
            raise SettingError(
                f"Every epsilon of a forecast must be a finite number > 0. Got {one!r} instead."
            )
    if not 1 <= len(given) <= 100:
        raise SettingError(f"Give 1 to 100 'epsilons'. Got {len(given)} instead.")
    if not (is_number(delta) and 0 < float(delta) < 1):
        raise SettingError(
            f"The 'delta' of a forecast must be between 0 and 1: Gaussian noise needs some. Got "
            f"{delta!r} instead: give a delta well below one over the number of rows, such as 1e-6."
        )
    return tuple(Budget(one, float(delta)) for one in sorted({float(x) for x in given}))


def check_model(model: object, schema: Schema) -> ModelName:
    """The model's name, if it can learn such a target."""
    names = get_args(ModelName)
    if model not in names:
        raise SettingError(
            f"The 'model' must be one of {', '.join(map(repr, names))}. Got {model!r} instead."
        )
    if model != "ebm" and isinstance(schema.target, Number):
        raise SettingError(
            f"model={model!r} predicts classes, and the target of the schema is a number: use "
            "model='ebm', or a Category."
        )
    chosen: ModelName = model  # type: ignore[assignment]
    return chosen


def _count(schema: Schema, rows: object) -> int:
    if rows is None:
        rows = schema.rows
    if rows is None:
        raise SettingError(
            "How many rows there are decides how much noise matters, and neither the schema nor "
            "'rows' says it: give the public row count, rows=... (the order of magnitude is "
            "enough)."
        )
    if not is_count(rows, 1, MOST_ROWS):
        raise SettingError(
            f"The 'rows' must be a whole number from 1 to {MOST_ROWS:.0e}. Got {rows!r} instead."
        )
    return int(rows)


def _classes(
    target: Category, rate: object, assumed: list[str]
) -> tuple[Category, tuple[float, ...]]:
    levels = target.levels
    if levels is None:
        levels = ("no", "yes")
        target = Category(levels)
        assumed.append("Assumed: the target has 2 classes.")
    if len(levels) < 2:
        raise SchemaError(
            f"The target has {len(levels)} class: give at least two, in schema.target."
        )
    even = 1.0 / len(levels)
    if rate is None:
        assumed.append(
            "Assumed: classes are equally frequent; give target_rate (--target-rate) if they are "
            "not."
        )
        return target, (even,) * len(levels)
    if not (is_number(rate) and 0 < float(rate) <= even):
        raise SettingError(
            f"The 'target_rate' is the share of the scarcest class: above 0 and at most one over "
            f"the number of classes ({even:.3g}). Got {rate!r} instead."
        )
    rare = float(rate)
    rest = (1.0 - rare) / (len(levels) - 1)
    return target, (*((rest,) * (len(levels) - 1)), rare)


def _range(target: Number, spread: object, assumed: list[str]) -> tuple[Number, float]:
    if target.lower is None or target.upper is None:
        target = Number(0, 1)
        assumed.append("The target has no bounds: noise is stated in parts of its range.")
    assert target.lower is not None
    assert target.upper is not None
    width = target.upper - target.lower
    if spread is None:
        assumed.append(
            "Assumed: the target's standard deviation is a sixth of its range; give target_spread "
            "(--target-spread) if it is known."
        )
        return target, ASSUMED_SPREAD * width
    if not (is_number(spread) and 0 < float(spread) <= width / 2):
        raise SettingError(
            f"The 'target_spread' is the standard deviation of the target in its own units: above "
            f"0 and at most half its range ({width / 2:.3g}). Got {spread!r} instead."
        )
    return target, float(spread)
