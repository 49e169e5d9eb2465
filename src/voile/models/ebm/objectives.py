"""What a regression is to tell: a mean, a rate, an amount or a quantile, and of which exposure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from voile.arrays import Floats
from voile.errors import DataError, SchemaError, SettingError
from voile.models.public_numbers import check_number
from voile.privacy.public_rows import encode_public
from voile.privacy.wire import sendable
from voile.schema import Category, Date, Number, Schema

Link = Literal["identity", "log", "logit", "softmax"]

Objective = Literal["squared", "poisson", "gamma", "quantile"]

Residual = Literal["logit", "softmax", "identity", "poisson", "gamma", "quantile"]
"""How a row's residual is computed: by the link of classes, or by the objective."""

LINK_OF: dict[Objective, Link] = {
    "squared": "identity",
    "poisson": "log",
    "gamma": "log",
    "quantile": "identity",
}

EXPOSED = ("poisson", "gamma")
"""Objectives whose mean may be proportional to an exposure."""

LEAST_QUANTILE, MOST_QUANTILE = 0.01, 0.99


@sendable
@dataclass(frozen=True)
class Aim:
    """What a regression is to tell.

    Attributes
    ----------
    objective : Objective
    quantile : float
        Which one, for the objective of that name.
    exposure : str or None
        Column whose value multiplies the mean, and is no term.
    """

    objective: Objective = "squared"
    quantile: float = 0.5
    exposure: str | None = None

    def __post_init__(self) -> None:
        check_number(self.quantile, "quantile", LEAST_QUANTILE, MOST_QUANTILE)
        if self.exposure is not None and self.objective not in EXPOSED:
            raise SettingError(
                f"An 'exposure' is for the objectives {' and '.join(map(repr, EXPOSED))}: leave it "
                f"out with objective={self.objective!r}."
            )

    @property
    def linear(self) -> bool:
        """Whether released sums are taken as linear in the scores (or this is a classifier)."""
        return self.objective != "poisson"

    def features(self, schema: Schema) -> Schema:
        """The columns that are terms: all but the exposure."""
        return schema.select([name for name in schema if name != self.exposure])


SQUARED = Aim()


@dataclass(frozen=True)
class Exposure:
    """What predictions of a model are per unit of: a column of the rows that is no term.

    Attributes
    ----------
    name : str
    lower, upper : float
        Public bounds, above 0: what is outside counts as the bound.
    place : int
        Where it stands among the columns.
    whole, missing : bool
        What the schema said of it besides.
    """

    name: str
    lower: float
    upper: float
    place: int
    whole: bool = False
    missing: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.place < 2**31 and 0 < self.lower < self.upper < math.inf):
            raise SettingError(
                f"The exposure {self.name!r} must have bounds above 0 and a place from 0 on."
            )

    @classmethod
    def of(cls, aim: Aim, schema: Schema) -> Exposure | None:
        """The exposure of an aim; None if it has none."""
        if aim.exposure is None:
            return None
        column = schema[aim.exposure]
        assert isinstance(column, Number)
        assert column.lower is not None
        assert column.upper is not None
        place = list(schema).index(aim.exposure)
        said = column.whole, column.missing
        return cls(aim.exposure, column.lower, column.upper, place, *said)

    def join(self, schema: Schema) -> Schema:
        """The columns of rows: those of the terms, with the exposure at its place."""
        names = list(schema)
        names.insert(self.place, self.name)
        column = Number(self.lower, self.upper, whole=self.whole, missing=self.missing)
        return schema.with_column(self.name, column).select(names)

    def read(self, exposure: object, X: object, rows_schema: Schema, rows: int) -> Floats:
        """Exposures of public rows, as an array, a number, or the name of their column, (rows,)."""
        if isinstance(exposure, str):
            if exposure != self.name:
                raise SettingError(
                    f"The model's exposure is the column {self.name!r}. Got {exposure!r} instead."
                )
            values = np.asarray(encode_public(X, rows_schema)[self.name])
        else:
            try:
                given = np.asarray(exposure, dtype=np.float64)
            except (TypeError, ValueError):
                raise DataError(f"{_wanted_of(rows)} Not all of them are numbers.") from None
            values = np.full(rows, given) if given.ndim == 0 else given
        if values.shape != (rows,):
            raise DataError(f"{_wanted_of(rows)} Got an array of shape {values.shape}.")
        good = (values > 0) & np.isfinite(values)
        if not good.all():
            bad = np.flatnonzero(~good)
            told = "missing" if np.isnan(values[bad[0]]) else f"{values[bad[0]]:g}"
            raise DataError(
                f"{_wanted_of(rows)} That of row {bad[0] + 1} is {told}"
                + (f", and {len(bad) - 1} more are wrong" if len(bad) > 1 else "")
                + ": correct it, or leave the exposure out for predictions per unit."
            )
        return values


def _wanted_of(rows: int) -> str:
    return f"The exposure must be one number above 0 for each of the {rows} rows."


def residual_of(link: Link, aim: Aim) -> Residual:
    """How residuals are computed."""
    if link == "logit" or link == "softmax":
        return link
    return "identity" if aim.objective == "squared" else aim.objective


def check_aim(aim: Aim, schema: Schema) -> None:
    """Refuse a schema that an objective cannot be learned with, before anything is spent."""
    target = schema.target
    if aim.objective in EXPOSED and isinstance(target, Number):
        if isinstance(target, Date):
            raise SchemaError(f"objective={aim.objective!r} is not for dates: give a number.")
        if target.lower is None or target.upper is None:
            # A bound that is found may be below zero.
            raise SchemaError(
                f"objective={aim.objective!r} needs public bounds of the target, from 0 on: give "
                "target=Number(0, largest) in the schema, chosen without looking at the rows."
            )
        if target.lower < 0:
            raise SchemaError(
                f"objective={aim.objective!r} is for a target that is never below 0. Its lower "
                f"bound is {target.lower:g}: give 0 if no row is below it, or objective='squared'."
            )
    if aim.exposure is not None:
        _check_exposure(aim.exposure, schema)


def _check_exposure(name: str, schema: Schema) -> None:
    if name not in schema:
        raise SchemaError(
            f"The exposure {name!r} is no column of the schema: name one of "
            f"{', '.join(map(repr, schema.numbers)) or '(there are no numbers)'}."
        )
    column = schema[name]
    if isinstance(column, (Category, Date)):
        raise SchemaError(f"The exposure {name!r} must be a number, not a {column!r}.")
    if column.lower is None or column.upper is None or not column.lower > 0:
        raise SchemaError(
            f"The exposure {name!r} needs public bounds above 0 in the schema, such as "
            f"Number(0.01, 1): what is outside counts as the bound. It is {column!r}."
        )
    if len(schema) < 2:
        raise SchemaError("The schema has no columns but the exposure: give at least one more.")
