"""Additive models as dictionaries and JSON files: a faithful writer and a strict reader.

The format::

    {"format": 1, "kind": "voile ebm", "voile": "<version that wrote it>",
     "link": "logit", "classes": ["no", "yes"],
     "intercept": [-1.2], "intercept_errors": [0.01],
     "terms": [{"name": "age", "kind": "number", "edges": [17.0, 30.5, 90.0],
                "scores": [[-0.8], [0.3], [0.0]], "standard_errors": ...,
                "counts": [120.4, 300.1, 0.0], "count_errors": ...},
               {"name": "job", "kind": "category", "levels": ["clerk", "nurse"], ...}],
     "schema": ..., "receipt": ...,
     "edits": [{"what": "set", "term": "age", "settings": {...}, "why": "", "who": "", "when": ""}],
     "original": {"intercept": ..., "intercept_errors": ..., "terms": ...},
     "settings": ...}

Bins are in the order of `Term`. Floats come back to the bit. JSON has no infinity, so an error that
is infinite (nothing is known) is ``null``. ``original`` is there only if people edited the model,
``history`` only if they took edits back (it has the form of ``edits``, which are those in force),
and ``settings`` only if those of the training are known (`voile.models.training_settings`).
Whatever the reader does not know, it refuses: a model decides about people, so a damaged file must
not be guessed at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from voile.errors import ModelError
from voile.models.ebm.model import AdditiveModel, Link, Term
from voile.models.fields import (
    LARGEST,
    MODEL,
    Floats,
    is_same,
    read_errors,
    read_fields,
    read_list,
    read_table,
)
from voile.models.history import MOVES, Edit, read_edits
from voile.models.json_files import write_json
from voile.models.saved_parts import read_head, read_receipt, read_schema
from voile.models.training_settings import Settings, add_settings
from voile.schema import Category, Number, Schema
from voile.strict import show
from voile.version import __version__

FORMAT = 1
KIND = "voile ebm"

_LINKS: Mapping[str, Link] = {"identity": "identity", "logit": "logit", "softmax": "softmax"}
_CHANGEABLE = ("intercept", "intercept_errors", "terms")
_FIXED = ("format", "kind", "voile", "link", "classes", "schema", "receipt", "edits")
_TABLES = ("scores", "standard_errors", "counts", "count_errors")


# -- writing ------------------------------------------------------------------------------------


def to_dict(model: AdditiveModel) -> dict[str, Any]:
    """Write a model as plain dictionaries, lists, text and numbers.

    Raises
    ------
    ModelError
        If the model contradicts itself, so that it could not be read back.
    """
    _check_original(model)
    data = {
        "format": FORMAT,
        "kind": KIND,
        "voile": __version__,
        "link": model.link,
        "classes": list(model.classes),
        **_facts_to_dict(model),
        "schema": model.schema.to_dict(),
        "receipt": model.receipt.to_dict(),
        "edits": [edit.to_dict() for edit in model.edits],
    }
    if model.history != model.edits:
        data["history"] = [edit.to_dict() for edit in model.history]
    if model.original is not None:
        data["original"] = _facts_to_dict(model.original)
    from_dict(data)  # better no file than one that cannot be read
    return data


def write(model: AdditiveModel, path: str | Path, settings: Settings | None = None) -> Path:
    """Write a model, and the settings of its training, to a JSON file, wholly or not at all.

    Raises
    ------
    ModelError
        If the model contradicts itself, or the file cannot be written.
    """
    return write_json(add_settings(to_dict(model), settings), path)


def _check_original(model: AdditiveModel) -> None:
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


def _facts_to_dict(model: AdditiveModel) -> dict[str, Any]:
    """Write what an edit can change."""
    for term in model.terms:
        if model.schema.get(term.name) != term.column:
            raise ModelError(
                f"Term {term.name!r} of the model has another column than the schema says: "
                f"{term.column!r} and {model.schema.get(term.name)!r}."
            )
    return {
        "intercept": model.intercept.tolist(),
        "intercept_errors": _errors_to_list(model.intercept_errors),
        "terms": [_term_to_dict(term) for term in model.terms],
    }


def _term_to_dict(term: Term) -> dict[str, Any]:
    if isinstance(term.column, Number):
        bins: dict[str, Any] = {"kind": "number", "edges": term.edges.tolist()}
    else:
        bins = {"kind": "category", "levels": list(term.column.levels or ())}
    return {
        "name": term.name,
        **bins,
        "scores": term.scores.tolist(),
        "standard_errors": [_errors_to_list(row) for row in term.standard_errors],
        "counts": term.counts.tolist(),
        "count_errors": _errors_to_list(term.count_errors),
    }


def _errors_to_list(errors: Floats) -> list[float | None]:
    return [None if error == math.inf else error for error in errors.tolist()]


# -- reading ------------------------------------------------------------------------------------


def from_dict(data: object) -> AdditiveModel:
    """Read a model from the form `to_dict` gives; refuse anything else.

    Raises
    ------
    ModelError
        Naming the place: a field that is missing, unknown or of the wrong type, tables whose
        shapes do not fit the bins, numbers that are not finite, and whatever else contradicts
        the schema.
    """
    content = read_head(
        data, KIND, FORMAT, (*_FIXED, *_CHANGEABLE), optional=("original", "history")
    )
    schema, receipt = read_schema(content["schema"]), read_receipt(content["receipt"])
    link, outputs = _read_link(content, schema)
    edits = _read_edits(content["edits"], schema, "'edits'")
    history = edits
    if "history" in content:
        history = _read_edits(content["history"], schema, "'history'", MOVES)
        _check_history(history, edits)
    if bool(edits) != ("original" in content):
        raise ModelError(
            "A model has 'edits' if and only if it has its 'original'. One of them is missing: use "
            "an undamaged copy."
        )

    def read_facts(facts: Mapping[str, Any], where: str) -> AdditiveModel:
        most, shape = _largest_score(schema), (outputs,)
        return AdditiveModel(
            terms=_read_terms(facts["terms"], schema, outputs, where),
            intercept=read_table(
                facts["intercept"], shape, f"'intercept' of {where}", least=-most, most=most
            ),
            intercept_errors=read_errors(
                facts["intercept_errors"], shape, f"'intercept_errors' of {where}", most=most
            ),
            link=link,
            schema=schema,
            receipt=receipt,
        )

    model = replace(read_facts(content, "the model"), history=history)
    if not edits:
        return model
    facts = read_fields(content["original"], _CHANGEABLE, "'original'")
    return replace(model, edits=edits, original=read_facts(facts, "the original"))


def _read_link(content: Mapping[str, Any], schema: Schema) -> tuple[Link, int]:
    """The link, and how many outputs it has for the schema's target."""
    name = content["link"]
    if not isinstance(name, str) or name not in _LINKS:
        raise ModelError(
            f"The model's 'link' must be one of {', '.join(map(repr, _LINKS))}. Got "
            f"{show(name)} instead."
        )
    classes = tuple(schema.target.levels or ()) if isinstance(schema.target, Category) else ()
    stored = read_list(content["classes"], "'classes'")
    if not is_same(stored, classes):
        raise ModelError("The model's 'classes' are not those of its schema.")
    fits = {
        "identity": isinstance(schema.target, Number),
        "logit": len(classes) == 2,
        "softmax": len(classes) > 0,
    }
    if not fits[name]:
        raise ModelError(f"The link {name!r} of the model does not fit {schema.target!r}.")
    return _LINKS[name], len(classes) if name == "softmax" else 1


def _largest_score(schema: Schema) -> float:
    """Of a regression, scores are in the target's unit."""
    target = schema.target
    if not isinstance(target, Number) or target.lower is None or target.upper is None:
        return LARGEST
    return LARGEST * max(1.0, abs(target.lower), abs(target.upper))


def _read_terms(data: object, schema: Schema, outputs: int, where: str) -> tuple[Term, ...]:
    places = read_list(data, f"'terms' of {where}")
    names = [place.get("name") if isinstance(place, Mapping) else None for place in places]
    if names != list(schema):
        raise ModelError(
            f"The terms of {where} must be the schema's columns, in order: "
            f"{', '.join(map(repr, schema))}. Got {show(names)} instead."
        )
    return tuple(
        _read_term(place, schema, name, outputs, f"term {name!r} of {where}")
        for name, place in zip(schema, places, strict=True)
    )


def _read_term(data: object, schema: Schema, name: str, outputs: int, where: str) -> Term:
    column = schema[name]
    is_number = isinstance(column, Number)
    kind, borders = ("number", "edges") if is_number else ("category", "levels")
    content = read_fields(data, ("name", "kind", borders, *_TABLES), where)
    if content["kind"] != kind:
        raise ModelError(f"In {where}, 'kind' must be {kind!r}, as in the schema.")
    stored = read_list(content[borders], f"'{borders}' of {where}")
    cuts = np.empty(0)
    if isinstance(column, Number):
        limits = {"least": -math.inf, "most": math.inf}
        edges = read_table(stored, (len(stored),), f"'edges' of {where}", **limits)
        if len(edges) < 2 or edges[0] != column.lower or edges[-1] != column.upper:
            raise ModelError(f"The 'edges' of {where} must begin and end at {column!r}.")
        if not (np.diff(edges) > 0).all():
            raise ModelError(f"The 'edges' of {where} must increase strictly.")
        cuts = edges[1:-1]
        bins = len(edges)  # one more than intervals: missing values have a bin of their own
    else:
        if not is_same(stored, column.levels or ()):
            raise ModelError(f"The 'levels' of {where} are not those of the schema.")
        bins = len(stored) + 2
    shape, most = (bins, outputs), _largest_score(schema)
    return Term(
        name=name,
        column=column,
        cuts=cuts,
        scores=read_table(content["scores"], shape, f"'scores' of {where}", least=-most, most=most),
        standard_errors=read_errors(
            content["standard_errors"], shape, f"'standard_errors' of {where}", most=most
        ),
        counts=read_table(content["counts"], (bins,), f"'counts' of {where}", least=0.0),
        count_errors=read_errors(content["count_errors"], (bins,), f"'count_errors' of {where}"),
    )


def _read_edits(
    data: object, schema: Schema, where: str, moves: tuple[str, ...] = ()
) -> tuple[Edit, ...]:
    """Edits of terms that the model has, and what took some of them back."""
    edits = read_edits(data, MODEL, where)
    for edit in edits:
        everywhere = edit.what in moves and edit.term == ""
        if not everywhere and edit.term not in schema:
            raise ModelError(f"In {where}, the model has no term {show(edit.term)}.")
        if edit.what in MOVES and edit.what not in moves:
            raise ModelError(f"In {where} stands {edit.what!r}, which is no edit of a term.")
    return edits


def _check_history(history: tuple[Edit, ...], edits: tuple[Edit, ...]) -> None:
    """Refuse a history in which an edit that is in force does not stand."""
    rest = iter(history)
    if not all(any(one == edit for one in rest) for edit in edits):
        raise ModelError("The model's 'history' lacks an edit of it: use an undamaged copy.")
