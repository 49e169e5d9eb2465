"""What the files of all models have: a head, a schema, a receipt; how they are written and read.

A model's file may also have the settings of its training (`voile.models.training_settings`), which
belong to the estimator: the readers of frozen models let them stand. Whatever the reader does not
know, it refuses: a model decides about people, so a damaged file must not be guessed at.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from voile.arrays import freeze_arrays
from voile.codec import Order, Readable, decode
from voile.errors import ModelError
from voile.models.json_files import MODEL, read_json, write_json
from voile.models.training_settings import Settings, add_settings
from voile.privacy.receipt import Receipt
from voile.schema import Category, Schema
from voile.schema.columns import Level
from voile.stored import Stored
from voile.strict import Strict, show
from voile.version import __version__

M = TypeVar("M")

LARGEST = 1e30
"""Numbers in tables of models are no larger: far beyond any noise, and their powers are finite."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedModel(Readable, Generic[M]):
    """What stands in the file of a model.

    Attributes
    ----------
    voile : str
        The version that wrote it.
    classes : tuple
        Of the target, in order; empty if that is a number.
    schema : Schema
        Complete, with a target.
    receipt : Receipt
    settings : object
        Of the training, where they are known.
    """

    strict: ClassVar[Strict] = MODEL
    format: ClassVar[int] = 1
    kind: ClassVar[str] = ""
    file_order: ClassVar[Order] = (
        *("format", "kind", "voile", ..., "schema", "receipt", "settings"),
    )

    voile: str = __version__
    classes: tuple[object, ...]
    schema: Schema
    receipt: Receipt
    settings: Annotated[object, Stored(optional=True)] = None

    def __post_init__(self) -> None:
        freeze_arrays(self, MODEL)

    @classmethod
    @abstractmethod
    def of(cls, model: M) -> Self:
        """What is written of a model."""

    @abstractmethod
    def build(self) -> M:
        """The model, if all its parts fit each other (ModelError)."""

    @property
    def known_classes(self) -> tuple[Level, ...]:
        """Classes by the schema."""
        target = self.schema.target
        return tuple(target.levels or ()) if isinstance(target, Category) else ()

    @classmethod
    def data_of(cls, model: M) -> dict[str, Any]:
        """A model as plain dictionaries, lists, text and numbers.

        Raises
        ------
        ModelError
            If the model contradicts itself, so that it could not be read back.
        """
        data = cls.of(model).to_dict()
        cls.model_of(data)  # better no file than one that cannot be read
        return data

    @classmethod
    def model_of(cls, data: object) -> M:
        """A model from what `data_of` gave; anything else is refused.

        Raises
        ------
        ModelError
            Naming the place.
        """
        content = cls._check_head(data)
        saved = decode(cls, content, MODEL)
        schema = saved.schema
        if not schema or schema.target is None or not schema.known:
            facts = schema.missing_facts or ("it needs a column and a target",)
            raise ModelError(f"The model's schema is not complete: {', '.join(facts)}.")
        if not is_same(saved.classes, saved.known_classes):
            raise ModelError("The model's 'classes' are not those of its schema: use another copy.")
        # The sentence is worded anew from the numbers; everything else must be what was written.
        kept, given = saved.receipt.to_dict(), content["receipt"]
        if {**kept, "guarantee": None} != {**given, "guarantee": None}:
            raise ModelError(
                "The model's receipt has unknown or altered fields: use an undamaged copy."
            )
        return saved.build()

    @classmethod
    def _check_head(cls, data: object) -> Mapping[str, Any]:
        """Refuse what is no model of this kind, or of another format."""
        if not isinstance(data, Mapping) or data.get("kind") != cls.kind:
            raise ModelError(
                f"This is not a model: its 'kind' is not {cls.kind!r}. Give a saved model."
            )
        found = data.get("format", cls.format)
        if type(found) is not int or found != cls.format:
            raise ModelError(
                f"The model has format {show(found)}, and this version of Voile reads format "
                f"{cls.format}: use the version that wrote it ({show(data.get('voile'))})."
            )
        return data

    @classmethod
    def write(cls, model: M, path: str | Path, settings: Settings | None = None) -> Path:
        """Write a model, and the settings of its training, to a JSON file, wholly or not at all.

        Raises
        ------
        ModelError
            If the model contradicts itself, or the file cannot be written.
        """
        return write_json(add_settings(cls.data_of(model), settings), path)

    @classmethod
    def read(cls, path: str | Path) -> M:
        """Read a model back from a file.

        Raises
        ------
        ModelError
            If it is not, or no longer, such a model.
        """
        return read_json(path, cls.model_of)


def check_several(classes: Sequence[object], what: str) -> None:
    """Refuse a classifier whose target has not two classes or more (ModelError)."""
    if len(classes) < 2:
        raise ModelError(f"In {what}, the target must have two classes or more.")


def check_features(names: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse features that are not those of the schema (ModelError)."""
    if not is_same(names, expected):
        raise ModelError("In a model, the features are not those of the schema: use another copy.")


def check_image(shape: Sequence[int] | None, pixels: int, dimensions: Sequence[int]) -> None:
    """Refuse a shape of pictures that does not fit the features (ModelError)."""
    if shape is None:
        return
    count = 1
    for one in shape:
        count *= one
    if len(shape) not in dimensions or count != pixels:
        raise ModelError(
            f"In a model, image_shape {show(list(shape))} does not fit {pixels} features: use an "
            "undamaged copy."
        )


def is_same(stored: Sequence[object], expected: Sequence[object]) -> bool:
    """Whether levels are the same, also in type: 1 is not true here."""
    pairs = zip(stored, expected, strict=False)
    return len(stored) == len(expected) and all(
        type(one) is type(other) and one == other for one, other in pairs
    )
