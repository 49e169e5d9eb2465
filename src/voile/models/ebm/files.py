"""Additive models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile ebm", "voile": "<version that wrote it>",
     "link": "logit", "classes": ["no", "yes"],
     "intercept": [-1.2], "intercept_errors": [0.01],
     "terms": [{"name": "age", "kind": "number", "edges": [17.0, 30.5, 90.0],
                "scores": [[-0.8], [0.3], [0.0]], "standard_errors": ...,
                "counts": [120.4, 300.1, 0.0], "count_errors": ...},
               {"name": "job", "kind": "category", "levels": ["clerk", "nurse"], ...}],
     "pairs": [{"first": {"name": "age", "kind": "number", "edges": [17.0, 40.0, 90.0]},
                "second": {"name": "job", "kind": "category", "groups": [0, 1, 2, 2]},
                "scores": [[[0.1], [-0.1], [0.0]], ...], "standard_errors": ..., "counts": ...,
                "count_errors": ..., "whole_errors": ..., "evidence": ...}],
     "schema": ..., "receipt": ...,
     "objective": "poisson", "exposure": {"name": "years", "lower": 0.1, "upper": 1.0, "place": 3},
     "edits": [{"what": "set", "term": "age", "settings": {...}, "why": "", "who": "", "when": ""}],
     "original": {"intercept": ..., "intercept_errors": ..., "terms": ...},
     "settings": ...}

Bins are in the order of `Term`, cells in that of `PairTerm`: ``groups`` has the part of each level,
of other levels and of missing values. Floats come back to the bit. JSON has no infinity, so an
error that is infinite (nothing is known) is ``null``. ``pairs`` is there only if the model has
some, ``original`` only if people edited the model, ``objective``, ``quantile`` and ``exposure``
only if a regression has other than the usual ones, ``history`` only if they took edits back (it has
the form of ``edits``, which are those in force), and ``settings`` only if those of the training are
known (`voile.models.training_settings`). Whatever the reader does not know, it refuses: a model
decides about people, so a damaged file must not be guessed at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from voile.arrays import Array, Floats, freeze_arrays
from voile.codec import Order
from voile.errors import ModelError, SchemaError, SettingError
from voile.models.ebm.model import EBMModel, Link, Term
from voile.models.ebm.objectives import LINK_OF, SQUARED, Aim, Exposure, Objective, check_aim
from voile.models.ebm.saved_pair import SavedPair, build_pairs, check_same_pairs
from voile.models.ebm.saved_term import SavedTerm, check_size
from voile.models.history import MOVES, Edit
from voile.models.json_files import MODEL
from voile.models.saved_model import SavedModel
from voile.schema import Number, Schema
from voile.stored import Stored
from voile.strict import show


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedScores:
    """What an edit can change."""

    intercept: Annotated[Floats, Array("intercept", most=math.inf)]
    intercept_errors: Annotated[Floats, Array("intercept", least=0.0, most=math.inf, null=math.inf)]
    whole_intercept_errors: Annotated[
        Floats | None,
        Array("intercept", least=0.0, most=math.inf, null=math.inf),
        Stored(optional=True),
    ] = None
    terms: tuple[SavedTerm, ...]
    pairs: Annotated[tuple[SavedPair, ...], Stored(optional=True)] = ()

    def __post_init__(self) -> None:
        freeze_arrays(self, MODEL)
        for term in self.terms:
            freeze_arrays(term, MODEL, self)
            if term.evidence is not None:
                freeze_arrays(term.evidence, MODEL)
        for pair in self.pairs:
            pair.freeze(self)

    @property
    def outputs(self) -> int:
        """Scores per row."""
        return len(self.intercept)

    @staticmethod
    def facts_of(model: EBMModel) -> dict[str, Any]:
        """What is written of a model."""
        for term in model.terms:
            if model.schema.get(term.name) != term.column:
                raise ModelError(
                    f"Term {term.name!r} of the model has another column than the schema says: "
                    f"{term.column!r} and {model.schema.get(term.name)!r}."
                )
        for pair in model.pairs:
            for side in (pair.first, pair.second):
                if model.schema.get(side.name) != side.column:
                    raise ModelError(
                        f"Pair {pair.name!r} of the model has another column than the schema says: "
                        f"{side.column!r} and {model.schema.get(side.name)!r}."
                    )
        return {
            "intercept": model.intercept,
            "intercept_errors": model.intercept_errors,
            "whole_intercept_errors": model.whole_intercept_errors,
            "terms": tuple(map(SavedTerm.of, model.terms)),
            "pairs": tuple(map(SavedPair.of, model.pairs)),
        }

    def build_terms(self, schema: Schema, where: str) -> tuple[Term, ...]:
        """The terms, if they are the schema's columns (ModelError)."""
        names = [term.name for term in self.terms]
        if names != list(schema):
            raise ModelError(
                f"The terms of {where} must be the schema's columns, in order: "
                f"{', '.join(map(repr, schema))}. Got {show(names)} instead."
            )
        for name in ("intercept", "intercept_errors"):
            check_size(getattr(self, name), schema, f"'{name}' of {where}")
        return tuple(term.build(schema, where) for term in self.terms)


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedEBM(SavedScores, SavedModel[EBMModel]):
    """What stands in the file of an additive model: see `EBMModel`."""

    kind: ClassVar[str] = "voile ebm"
    file_order: ClassVar[Order] = (
        *("format", "kind", "voile", "link", "objective", "quantile", "exposure", "classes"),
        *(..., "schema", "receipt", "edits"),
        *("history", "original", "settings"),
    )

    link: Link
    objective: Annotated[Objective | None, Stored(optional=True)] = None
    quantile: Annotated[float | None, Stored(optional=True)] = None
    exposure: Annotated[Exposure | None, Stored(optional=True)] = None
    edits: tuple[Edit, ...]
    history: Annotated[tuple[Edit, ...], Stored(optional=True)] = ()
    original: Annotated[SavedScores | None, Stored(optional=True)] = None

    @classmethod
    def of(cls, model: EBMModel) -> Self:
        """What is written of a model."""
        _check_original(model)
        original = model.original
        return cls(
            link=model.link,
            objective=None if model.objective == "squared" else model.objective,
            quantile=model.quantile if model.objective == "quantile" else None,
            exposure=model.exposure,
            classes=model.classes,
            schema=model.schema,
            receipt=model.receipt,
            edits=model.edits,
            history=() if model.history == model.edits else model.history,
            original=None if original is None else SavedScores(**cls.facts_of(original)),
            **cls.facts_of(model),
        )

    def build(self) -> EBMModel:
        """The model, if all its parts fit each other (ModelError)."""
        self._check_link()
        model, original = self._build_scores(self, "the model"), None
        if self.original is not None:
            if self.original.outputs != self.outputs:
                raise ModelError(
                    "The original of a model has other outputs: use an undamaged copy."
                )
            original = self._build_scores(self.original, "the original")
            check_same_pairs(model.pairs, original.pairs)
        _check_edits(self.edits, model.parts, "'edits'")
        _check_edits(self.history, model.parts, "'history'", MOVES)
        if self.history:
            _check_history(self.history, self.edits)
        if bool(self.edits) != (original is not None):
            raise ModelError(
                "A model has 'edits' if and only if it has its 'original'. One of them is missing: "
                "use an undamaged copy."
            )
        history = self.history or self.edits
        return replace(model, edits=self.edits, original=original, history=history)

    def _build_scores(self, scores: SavedScores, where: str) -> EBMModel:
        return EBMModel(
            terms=scores.build_terms(self.schema, where),
            intercept=scores.intercept,
            intercept_errors=scores.intercept_errors,
            link=self.link,
            schema=self.schema,
            receipt=self.receipt,
            whole_intercept_errors=scores.whole_intercept_errors,
            pairs=build_pairs(scores.pairs, self.schema, where),
            objective=self.objective or "squared",
            quantile=self._aim.quantile,
            exposure=self.exposure,
        )

    def _check_link(self) -> None:
        """Refuse a link, and as many outputs, that do not fit the schema's target."""
        number = isinstance(self.schema.target, Number)
        fits: Mapping[Link, bool] = {
            "identity": number,
            "log": number,
            "logit": len(self.classes) == 2,
            "softmax": len(self.classes) > 0,
        }
        if not fits[self.link]:
            raise ModelError(
                f"The link {self.link!r} of the model does not fit {self.schema.target!r}."
            )
        self._check_aim()
        outputs = len(self.classes) if self.link == "softmax" else 1
        if self.outputs != outputs:
            raise ModelError(
                f"In a model, 'intercept' must have length {outputs}, one per output. Got "
                f"{self.outputs} instead."
            )

    @property
    def _aim(self) -> Aim:
        name = None if self.exposure is None else self.exposure.name
        half = SQUARED.quantile
        return Aim(
            self.objective or "squared", half if self.quantile is None else self.quantile, name
        )

    def _check_aim(self) -> None:
        """Refuse an objective, quantile or exposure that no such model has."""
        try:
            aim = self._aim
            check_aim(
                aim, self.schema if self.exposure is None else self.exposure.join(self.schema)
            )
        except (SettingError, SchemaError) as error:
            raise ModelError(f"The objective of the model cannot be. {error}") from error
        number = isinstance(self.schema.target, Number)
        told = (self.quantile is not None) == (aim.objective == "quantile")
        if not (told and (aim == SQUARED or number)) or (
            number and LINK_OF[aim.objective] != self.link
        ):
            raise ModelError(
                f"The link {self.link!r} of the model does not fit the objective "
                f"{aim.objective!r}, its quantile or its exposure: use an undamaged copy."
            )


def _check_original(model: EBMModel) -> None:
    """Refuse an original that the file could not tell apart from the model."""
    original = model.original
    if original is None:
        return
    if original.original is not None or original.edits or original.history:
        raise ModelError("The original of a model is edited itself: give the trained model.")
    if (
        original.link != model.link
        or original.schema != model.schema
        or original.receipt.to_dict() != model.receipt.to_dict()
    ):
        raise ModelError(
            "The original of a model has another link, schema or receipt: give the model that was "
            "edited."
        )


def _check_edits(
    edits: tuple[Edit, ...], known: Sequence[str], where: str, moves: tuple[str, ...] = ()
) -> None:
    """Refuse edits of terms that the model does not have, and what takes some back elsewhere."""
    for edit in edits:
        everywhere = edit.what in moves and edit.term == ""
        if not everywhere and edit.term not in known:
            raise ModelError(f"In {where}, the model has no term {show(edit.term)}.")
        if edit.what in MOVES and edit.what not in moves:
            raise ModelError(f"In {where} stands {edit.what!r}, which is no edit of a term.")


def _check_history(history: tuple[Edit, ...], edits: tuple[Edit, ...]) -> None:
    """Refuse a history in which an edit that is in force does not stand."""
    rest = iter(history)
    if not all(any(one == edit for one in rest) for edit in edits):
        raise ModelError("The model's 'history' lacks an edit of it: use an undamaged copy.")
