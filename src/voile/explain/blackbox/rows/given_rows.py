"""How a user's rows come, and how rows must look that are handed to the user's model."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError, SchemaError, SettingError
from voile.explain.blackbox.rows.table_form import (
    Container,
    GivenColumn,
    TableForm,
    describe_table,
    tabulate_records,
)
from voile.explain.blackbox.rows.word_table import (
    check_vocabulary,
    join_words,
    tabulate_words,
    texts_in,
)
from voile.explain.given_values import Texts, tell_rows
from voile.models.pixels import flatten_pictures
from voile.models.training import is_array
from voile.privacy.public_rows import encode_public
from voile.schema import Number, Schema

_PIXELS = {
    "uint8": Number(0, 255, whole=True, missing=False),
    "bool": Number(0, 1, whole=True, missing=False),
}
"""Types of pixels that say what is public of them; no library chooses them by the values."""

_PRESENT = Number(0, 1, whole=True, missing=False)
"""Whether a text contains a word."""


@dataclass(frozen=True)
class GivenRows:
    """Names, order, types and container of a user's rows: public facts, never a value.

    Made by `read_rows`.

    Attributes
    ----------
    form : TableForm
        Of the table, or of the table of pixels or words.
    image_shape : tuple of int, or None
        (height, width) or (height, width, channels) of rows that are pictures.
    as_pictures : bool
        Whether pictures came in their shape, so that the model is handed such; flat otherwise.
    vocabulary : tuple of str
        Of rows that are texts.
    texts_to_model : bool
        Whether the model is handed texts of the words that are present.
    """

    form: TableForm
    image_shape: tuple[int, ...] | None = None
    as_pictures: bool = False
    vocabulary: tuple[str, ...] = ()
    texts_to_model: bool = False

    # -- to the model ---------------------------------------------------------------------------

    def rebuild(self, columns: Mapping[str, NDArray[Any]], rows: int, schema: Schema) -> object:
        """Encoded rows as the model knows them: container, names, order and types of the user's.

        Parameters
        ----------
        columns : mapping of str to ndarray of shape (rows,)
            Numbers as floats (NaN: missing), categories as codes (levels, then other, then
            missing). Those that the model does not read are left out.
        rows : int
        schema : Schema
            Complete: what the codes mean.

        Returns
        -------
        data frame, array, mapping or list
            Where there was a path: a pandas frame, or a pyarrow Table without pandas.

        Raises
        ------
        SchemaError
            If the levels of a column cannot be values of its type.
        """
        if self.texts_to_model:
            return join_words(columns, self.vocabulary)
        table = self.form.rebuild(columns, rows, schema)
        if self.image_shape is None or not self.as_pictures:
            return table
        return np.asarray(table).reshape(rows, *self.image_shape)

    # -- from the user --------------------------------------------------------------------------

    def encode(self, Z: object, schema: Schema) -> dict[str, NDArray[Any]]:
        """Encode rows that a user asks about, or a single one.

        Parameters
        ----------
        Z : table, or one row
            As `read_rows` takes them (but no path); one row may be a mapping, a pandas Series, a
            flat list or array, a text, or a picture.
        schema : Schema
            Complete.

        Returns
        -------
        dict of str to ndarray of shape (rows,)
            As `voile.privacy.public_rows.encode_public` gives them.
        """
        return encode_public(self._tabulate(Z, schema), schema)

    def tell(self, Z: object, schema: Schema) -> tuple[Texts, Texts]:
        """The same rows as text, and how values were read where that differs.

        Returns
        -------
        given, read_as : tuple of tuple of str, each (rows, columns)
            In the schema's order; "" where a value was read as given.
        """
        schema = schema.with_unit(None)
        table = self._tabulate(Z, schema)
        return tell_rows(schema, table, encode_public(table, schema))

    def _tabulate(self, Z: object, schema: Schema) -> object:
        """Rows, or a single one, as a table that can be encoded."""
        if isinstance(Z, (str, os.PathLike)) and not self.vocabulary:
            raise DataError("Rows to explain must be given themselves, not by a path: read them.")
        if self.vocabulary:
            texts = [Z] if isinstance(Z, str) else texts_in(Z)
            if texts is not None:
                return tabulate_words(texts, self.vocabulary)
            if isinstance(Z, np.ndarray) and Z.shape[-1:] == (len(self.vocabulary),):
                # By place, even if a word looks like the name of a column without one ("x0").
                return dict(zip(self.vocabulary, np.atleast_2d(Z).T, strict=True))
        if self.image_shape is not None:
            Z = _pictures_of(Z, self.image_shape)
        return tabulate_records(_rows_of(Z, len(schema)))


def read_rows(
    X: object,
    *,
    schema: Schema | None,
    names_read: Sequence[str] | None = None,
    vocabulary: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    pixel_range: tuple[float, float] | None = None,
    texts_to_model: bool = False,
) -> tuple[object, Schema | None, GivenRows]:
    """Read how rows are given: names, types and shapes, never values.

    Parameters
    ----------
    X : table, array of pictures, texts, or path of Parquet files
        A pandas, polars or pyarrow table, an array of shape (rows, columns), a mapping from names
        to columns, a list of rows or of mappings, the path of a Parquet file or folder; pictures
        of shape (rows, height, width[, channels]); a sequence of texts with a `vocabulary`.
    schema : Schema, optional
        What is public.
    names_read : sequence of str, optional
        Names of the columns that the model reads (``BlackBox.names_read``). Other columns of a
        data frame are not handed to it.
    vocabulary : sequence of str, optional
        Public words. A text becomes a row with a column per word: 1 if it contains it, else 0.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) if the columns are pixels, row by row,
        channels last. Pictures that come in their shape need none.
    pixel_range : tuple of float, optional
        Public bounds of pixels that the schema does not describe; those of uint8 and truth values
        are known.
    texts_to_model : bool
        Whether the model reads texts; otherwise it is handed the table of words.

    Returns
    -------
    X_for_protect : object
        The rows for `voile.protect`.
    schema : Schema or None
        Theirs; None leaves it to `voile.protect` to make one of the types.
    given : GivenRows

    Raises
    ------
    SchemaError
        If the model may read columns that the schema does not describe.
    DataError, SettingError
        If rows, vocabulary or shape do not fit each other.
    """
    if vocabulary is not None:
        return _read_texts(X, check_vocabulary(vocabulary), schema, texts_to_model)
    if texts_to_model or (isinstance(X, (list, tuple)) and texts_in(X) is not None):
        raise SettingError(
            "Texts are read by their words: give a public list of them as 'vocabulary'."
        )
    shape = tuple(getattr(X, "shape", ()))
    if is_array(X) and len(shape) in (3, 4) and image_shape is None:
        image_shape = shape[1:]
    if image_shape is not None:
        return _read_pictures(X, tuple(image_shape), pixel_range, schema, names_read)
    if pixel_range is not None:
        raise SettingError("A 'pixel_range' is for pictures: give their 'image_shape', too.")
    rows, described, form = describe_table(X, schema, names_read)
    return rows, described, GivenRows(form)


def _read_texts(
    X: object, vocabulary: tuple[str, ...], schema: Schema | None, texts_to_model: bool
) -> tuple[object, Schema, GivenRows]:
    texts = texts_in(X, expected=True)
    if texts is None:
        raise DataError(
            "A 'vocabulary' is for texts, and these rows are none: give a list of texts, or leave "
            "the vocabulary out (a table of words is a table like any other)."
        )
    if schema is None:
        schema = Schema(dict.fromkeys(vocabulary, _PRESENT))
    elif tuple(schema) != vocabulary:
        raise SchemaError(
            "The columns of the schema must be the words of the vocabulary, in its order: leave "
            "the schema out, or correct it."
        )
    kind = np.dtype(np.int64)
    words = tuple(GivenColumn(word, place, kind) for place, word in enumerate(vocabulary))
    given = GivenRows(
        TableForm(Container.ARRAY, words), vocabulary=vocabulary, texts_to_model=texts_to_model
    )
    return tabulate_words(texts, vocabulary), schema, given


def _read_pictures(
    X: object,
    image_shape: tuple[int, ...],
    pixel_range: tuple[float, float] | None,
    schema: Schema | None,
    names_read: Sequence[str] | None,
) -> tuple[object, Schema | None, GivenRows]:
    if len(image_shape) not in (2, 3) or not all(
        isinstance(side, (int, np.integer)) and side > 0 for side in image_shape
    ):
        raise SettingError(
            f"The 'image_shape' must be (height, width) or (height, width, channels). Got "
            f"{image_shape!r} instead."
        )
    came = (len(X), *_shape_of(X[0])) if isinstance(X, list) and X else _shape_of(X)
    rows, described, form = describe_table(flatten_pictures(X, image_shape), schema, names_read)
    if schema is None:
        described = _with_pixels(Schema.from_frame(rows), form, pixel_range)
    if described is None or len(described) != math.prod(image_shape):
        raise DataError(
            f"Pictures of shape {image_shape} have {math.prod(image_shape)} pixels, and the rows "
            f"another number of columns: correct 'image_shape', or the columns."
        )
    shaped = len(came) > 2
    given = GivenRows(form, came[1:] if shaped else image_shape, as_pictures=shaped)
    return rows, described, given


def _with_pixels(
    schema: Schema, form: TableForm, pixel_range: tuple[float, float] | None
) -> Schema:
    """The schema with the public range of its pixels."""
    kinds = {str(one.kind) for one in form.columns}
    pixel = _PIXELS.get(kinds.pop()) if len(kinds) == 1 else None
    if pixel_range is not None:
        pixel = Number(*pixel_range)
    if pixel is None:
        raise SchemaError(
            "Nothing is said about the range of these pixels: give a public 'pixel_range' such as "
            "(0, 1), a schema, or pictures of type uint8."
        )
    return Schema(dict.fromkeys(schema, pixel))


def _pictures_of(Z: object, image_shape: tuple[int, ...]) -> object:
    """Pictures, or a single one, as rows of pixels; a frame as it is."""
    if hasattr(Z, "columns") or isinstance(Z, Mapping):
        return Z
    shape = _shape_of(Z)
    single = shape in (tuple(image_shape), (*image_shape, 1), (*image_shape[:2],))
    if single and np.prod(shape) == np.prod(image_shape):
        Z = np.asarray(Z)[np.newaxis]
    return flatten_pictures(Z, image_shape)


def _shape_of(X: Any) -> tuple[int, ...]:
    try:
        return tuple(np.shape(X))
    except ValueError:  # lists that are no array, which is said where they are read
        return ()


def _rows_of(Z: object, width: int) -> object:
    """A table, also if a single row is given."""
    if isinstance(Z, Mapping):
        return Z if all(map(_is_column, Z.values())) else {key: [Z[key]] for key in Z}
    if isinstance(Z, np.ndarray):
        return Z.reshape(1, -1) if Z.ndim == 1 and (width > 1 or len(Z) == 1) else Z
    if isinstance(Z, (list, tuple)):
        return Z if not Z or _is_column(Z[0]) or isinstance(Z[0], Mapping) else [list(Z)]
    if hasattr(Z, "to_dict") and hasattr(Z, "iloc") and not hasattr(Z, "columns"):
        return {key: [value] for key, value in Z.to_dict().items()}
    return Z


def _is_column(values: object) -> bool:
    """Whether it holds several values, so that it is not a value itself."""
    if isinstance(values, (str, bytes)) or getattr(values, "ndim", 1) == 0:
        return False
    return hasattr(values, "__len__")
