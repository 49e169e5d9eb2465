"""Rows that a caller brings to a finished model: encoded like private ones, kept by nobody.

They are not behind the vault: whoever asks for a prediction holds them already. The same encoding
as inside the vault makes a value mean the same in training and in prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.privacy.encode import encode_frame
from voile.schema import Schema


def encode_public(X: object, schema: Schema) -> dict[str, NDArray[Any]]:
    """Encode rows to predict for.

    Parameters
    ----------
    X : data frame, array, mapping or list of rows, shape (rows, columns)
    schema : Schema
        Complete, as stored in a model.

    Returns
    -------
    dict of str to ndarray of shape (rows,)
        Numbers as float64 (clamped to their bounds; missing: NaN), categories as int32 codes
        (levels, then other, then missing).
    """
    # Who a row belongs to matters in training alone; rows to predict for need not say it.
    rows = encode_frame(X, schema.with_unit(None))
    return {name: np.asarray(values) for name, values in rows.items()}
