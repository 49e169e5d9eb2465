"""Counterfactuals of a model of this library: what its families share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SettingError
from voile.explain.counterfactuals.actions import check_sure, read_actions
from voile.explain.counterfactuals.goals import Goal, ModelAnswers
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.counterfactuals.ruler import Ruler, rule_by_rows
from voile.explain.counterfactuals.suggest import AskedModel, Solver
from voile.explain.counterfactuals.usual import Others
from voile.explain.given_values import tell_rows
from voile.explaining import Wish
from voile.models.history import Edit
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.progress import progress_bar
from voile.schema import Schema

Floats = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnModel:
    """What counterfactuals need of a model of this library.

    Attributes
    ----------
    schema : Schema
    receipt : Receipt
    answers : ModelAnswers
    ask : callable
        From encoded columns and their number of rows to answers, shape (rows, answers).
    ruler : Ruler
        Unless rows are given by which sizes are measured.
    method : str
        How suggestions are found, in words.
    solver : Solver
    usual, doubt : callable, or None
        As `AskedModel` has them.
    whole : bool
        Whether doubts hold the sampling error.
    among : str
        What `usual` speaks of.
    edits : tuple of Edit
    unused : collection of str
        Columns that rows need not have.
    """

    schema: Schema
    receipt: Receipt
    answers: ModelAnswers
    ask: Callable[[Columns, int], Floats]
    ruler: Ruler
    method: str
    solver: Solver
    usual: Callable[[Mapping[str, float], tuple[str, ...]], float] | None = None
    doubt: Callable[[Columns, int, Goal], Floats] | None = None
    whole: bool = False
    among: str = ""
    edits: tuple[Edit, ...] = ()
    unused: Collection[str] = ()

    def suggest(self, X: object, wish: Wish) -> Counterfactuals:
        """What would have to change in rows that the caller holds."""
        if len(self.answers.classes) == 1:
            raise SettingError("The model knows one class, so that no other can be wanted.")
        # Who is protected matters in training alone: rows to change need not say whose they are.
        schema = self.schema.with_unit(None)
        actions = read_actions(
            schema,
            change=wish.change,
            keep=wish.keep,
            directions=wish.directions,
            most=wish.most,
            unused=self.unused,
        )
        model = AskedModel(
            schema,
            self.answers,
            self.ask,
            actions,
            self.ruler,
            solver=self.solver,
            usual=self.usual,
            doubt=self.doubt,
            sure=self._read_sure(wish.sure),
        )
        among, effective = self.among, np.nan
        if wish.among is not None:
            others = self._read_others(wish.among, schema)
            known = self.ask(others.columns, len(others.weights))
            model = replace(model, others=others, ruler=others.ruler, known=known)
            among, effective = others.told, others.effective
        columns = encode_public(X, schema, may_lack=self.unused)
        texts = tell_rows(schema, X, columns)
        with progress_bar("searching", len(texts[0])) as progress:
            rows = model.suggest(columns, texts, wish.want, progress)
        return Counterfactuals(
            outputs=self.answers.names,
            units=self.answers.unit,
            receipt=self.receipt,
            edits=self.edits,
            columns=tuple(schema),
            changeable=actions.told,
            chosen=actions.chosen,
            unit=self.answers.unit,
            ruler=model.ruler.told,
            among=among,
            by_column=wish.among is None and self.usual is not None,
            effective=effective,
            whole=self.whole,
            sure=model.sure,
            method=self.method,
            rows=rows,
        )

    def _read_sure(self, sure: object) -> bool:
        if check_sure(sure) and self.doubt is None:
            raise SettingError(
                "sure=True needs the errors of the model's scores, which are not known (of a model "
                "that people edited, or that was trained without noise): leave it out."
            )
        return bool(sure)

    def _read_others(self, rows: object, schema: Schema) -> Others:
        columns = encode_public(rows, schema, may_lack=self.unused)
        count = len(next(iter(columns.values())))
        if count < 50:
            raise DataError(
                f"How usual a row is cannot be told among {count} rows: give at least 50 as "
                "'among', such as explainer.sample(2000)."
            )
        weights = np.full(count, 1.0 / count)
        ruler = rule_by_rows(schema, columns, weights, "of the rows given as 'among'")
        return Others(schema, columns, weights, ruler, "the rows given as 'among'")
