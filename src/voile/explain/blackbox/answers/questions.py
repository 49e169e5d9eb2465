"""Questions as people ask them, and answers as people read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SchemaError
from voile.explain.blackbox.answers.answer import Answer
from voile.explain.blackbox.answers.receipt_notes import tell_cost
from voile.explain.blackbox.rows.black_box import BlackBox
from voile.explain.blackbox.rows.given_rows import GivenRows
from voile.explain.blackbox.rows.points import PointSpace
from voile.explain.blackbox.rows.word_table import texts_in
from voile.explain.blackbox.settings import Settings
from voile.explain.blackbox.surrogate.local_surrogate import LocalSurrogate
from voile.explain.blackbox.units import OWN_UNIT, PROBABILITY
from voile.explain.given_values import Texts, explain_features
from voile.privacy.receipt import Receipt
from voile.schema import Category, Schema
from voile.schema.value_texts import value_text

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]

PROBES = 16
"""Made-up rows about which a model is asked to know its outputs, and to know it again."""


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Rows that someone asks about.

    Attributes
    ----------
    columns : dict of str to ndarray of shape (rows,)
        Encoded.
    points : ndarray of shape (rows, features)
        In whole numbers of 2^-18.
    """

    columns: Columns
    points: NDArray[np.int32]

    @property
    def rows(self) -> int:
        """How many."""
        return len(self.points)


@dataclass(frozen=True, eq=False)
class Questions:
    """Reads rows as the model takes them, asks the black box, and writes answers down.

    Attributes
    ----------
    schema : Schema
        Complete.
    given : GivenRows
    black_box : BlackBox
    """

    schema: Schema
    given: GivenRows
    black_box: BlackBox

    @property
    def space(self) -> PointSpace:
        """Where rows are points."""
        return PointSpace(self.schema)

    def check_features(self) -> None:
        """Refuse a schema with nothing to explain by, before anything is paid (SchemaError).

        Where levels are to be found and none is, explanations have an intercept alone.
        """
        if not len(self.space):
            raise SchemaError(
                "No column of the schema has a level or a range, so there is nothing to explain "
                "by: list some."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Features and outputs."""
        return len(self.space), len(self.black_box.outputs)

    def read(self, Z: object) -> AskedRows:
        """Public rows, or a single one, as points."""
        columns = self.given.encode(Z, self.schema)
        rows = len(next(iter(columns.values()))) if columns else 0
        return AskedRows(columns, self.space.place(columns, rows))

    def read_public(self, public: object) -> Columns | None:
        """Public rows that stand in for synthetic ones, if there are any."""
        if public is None:
            return None
        found = self.read(public)
        if not found.rows:
            raise DataError("There are no 'public' rows: give some, or leave them out.")
        return found.columns

    def predict(self, columns: Columns, rows: int) -> Floats:
        """What the black box says of public or synthetic rows, (rows, outputs) in its own unit."""
        return self.black_box.predict(self.given.rebuild(columns, rows, self.schema), rows)

    def ask(self, columns: Columns, rows: int) -> Floats:
        """What the black box says of public or synthetic rows, (rows, outputs) in [-1, 1]."""
        return self.black_box.ask(self.given.rebuild(columns, rows, self.schema), rows)

    def fingerprint(self) -> list[list[float]]:
        """What the black box says of a few rows drawn evenly from what the schema allows."""
        rng = np.random.default_rng(0)  # always the same rows
        columns: Columns = {}
        for name, column in self.schema.items():
            if isinstance(column, Category):
                count = max(len(column.levels or ()), 1)
                columns[name] = rng.integers(0, count, PROBES).astype(np.int32)
            else:
                assert column.lower is not None
                assert column.upper is not None
                part = rng.random(PROBES)
                columns[name] = column.lower * (1.0 - part) + column.upper * part
        rows = self.given.rebuild(columns, PROBES, self.schema)
        return [list(row) for row in self.black_box.fingerprint(rows, PROBES)]

    def tell(
        self,
        Z: object,
        asked: AskedRows,
        scores: Floats,
        answers: list[Answer],
        settings: Settings,
        receipt: Receipt,
    ) -> LocalSurrogate:
        """Write answers down as an explanation."""
        space, rows = self.space, asked.rows
        d, k = self.shape

        def gather(name: str, *shape: int) -> Floats:
            return np.array([getattr(one, name) for one in answers]).reshape(rows, *shape)

        given, read_as = self.tell_rows(Z)
        # A category without levels has no features, and so no place in an explanation.
        shown = {one.column for one in space.features.each}
        places = [i for i, name in enumerate(self.schema) if name in shown]
        strengths = space.features.encode(asked.columns, rows).astype(np.float64)
        # Local models are of scores in [-1, 1]: what 1 of them is in the model's own unit.
        low, high = self.black_box.bounds
        half = (high - low) / 2.0
        scales = space.scales[:, None] * half
        return LocalSurrogate(
            outputs=self.black_box.outputs,
            units=PROBABILITY if self.black_box.is_classifier else OWN_UNIT,
            receipt=receipt,
            cost=tell_cost(answers),
            features=explain_features(space.features),
            given=tuple(tuple(row[i] for i in places) for row in given),
            read_as=tuple(tuple(row[i] for i in places) for row in read_as),
            values=gather("phi", d, k) * scales,
            standard_errors=gather("errors", d, k) * scales,
            strengths=np.nan_to_num(strengths),
            scales=scales[:, 0],
            intercepts=low + half * (gather("offset", k) + 1.0),
            intercept_errors=gather("offset_errors", k) * half,
            scores=scores,
            agreement=gather("agreement", k),
            r2=gather("r2", k),
            effective_share=gather("effective_share"),
            distance=gather("distance"),
            answered=tuple(one.answered for one in answers),
            steps=tuple(one.steps for one in answers),
            weight=settings.weight_text,
            radius=settings.radius,
            has_intercept=settings.intercept,
            picture=self.given.image_shape,
            words=bool(self.given.vocabulary),
            texts=self.texts(Z),
        )

    def tell_rows(self, Z: object) -> tuple[Texts, Texts]:
        """Asked rows as given, and how values were read where that differs."""
        return self.given.tell(Z, self.schema)

    def texts(self, Z: Any) -> tuple[str, ...]:
        """The asked rows as texts, if that is what they are."""
        if not self.given.vocabulary:
            return ()
        texts = [Z] if isinstance(Z, str) else texts_in(Z) or []
        return tuple(texts) if all(isinstance(one, str) for one in texts) else ()

    def groups(self, name: str, asked: AskedRows) -> list[str]:
        """The group of each row by one column; numbers are cut at the middle of their range."""
        if name not in self.schema:
            raise DataError(
                f"The schema has no column {name!r} to make groups of: give one of its columns, or "
                "the group of each public row."
            )
        codes, column = asked.columns[name], self.schema[name]
        if isinstance(column, Category):
            labels = [*map(str, column.levels or ()), "other", "missing"]
            return [labels[code] for code in codes]
        assert column.lower is not None
        assert column.upper is not None
        middle = column.lower / 2 + column.upper / 2
        text = value_text(middle, column.scale, digits=6)
        told = np.where(codes < middle, f"{name} < {text}", f"{name} >= {text}")
        return [str(one) for one in np.where(np.isnan(codes), "missing", told)]
