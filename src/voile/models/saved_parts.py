"""Parts that every saved model has: its head, schema and receipt, read strictly.

A model's file may also have the settings of its training (`voile.models.training_settings`), which
belong to the estimator: the readers of frozen models let them stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from voile.errors import ModelError, VoileError
from voile.models.fields import read_fields, read_text
from voile.models.training_settings import FIELD as SETTINGS
from voile.privacy.receipt import Receipt
from voile.schema import Schema
from voile.strict import show


def read_head(
    data: object, kind: str, version: int, names: Sequence[str], optional: Sequence[str] = ()
) -> Mapping[str, Any]:
    """All fields of a model of this kind and format; refuses any other."""
    if not isinstance(data, Mapping) or data.get("kind") != kind:
        raise ModelError(f"This is not a model: its 'kind' is not {kind!r}. Give a saved model.")
    found = data.get("format", version)
    if type(found) is not int or found != version:
        raise ModelError(
            f"The model has format {show(found)}, and this version of Voile reads format "
            f"{version}: use the version that wrote it ({show(data.get('voile'))})."
        )
    content = read_fields(data, names, "the model", optional=(*optional, SETTINGS))
    read_text(content["voile"], "'voile'")
    return content


def read_schema(data: object) -> Schema:
    """A complete schema with a target."""
    try:
        schema = Schema.from_dict(data)
    except ValueError as error:
        raise ModelError(f"The model's schema cannot be read. {error}") from error
    if not schema or schema.target is None or not schema.known:
        facts = schema.missing_facts or ("it needs a column and a target",)
        raise ModelError(f"The model's schema is not complete: {', '.join(facts)}.")
    return schema


def read_receipt(data: object) -> Receipt:
    """A receipt that says what was written, and nothing more."""
    if not isinstance(data, Mapping):
        raise ModelError("The model has no receipt: use an undamaged copy.")
    try:
        receipt = Receipt.from_dict(data)
        kept = receipt.to_dict()
    except (VoileError, ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise ModelError(f"The model's receipt cannot be read. {error}") from error
    # The sentence is worded anew from the numbers; everything else must be what was written.
    if {**kept, "guarantee": None} != {**data, "guarantee": None}:
        raise ModelError(
            "The model's receipt has unknown or altered fields: use an undamaged copy."
        )
    return receipt
