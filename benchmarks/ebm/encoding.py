"""Tables of the EBM benchmark as the numbers that peers take, by public facts alone.

Not a script: see `peers.py`. Bounds and levels are those of the schema; nothing is read off rows.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from voile import Schema

Array = NDArray[np.float64]


def codes(frame: pd.DataFrame, schema: Schema) -> Array:
    """Numbers within their bounds, and places of levels; a level that is not listed comes last.

    Parameters
    ----------
    frame : DataFrame
        Without missing numbers.
    schema : Schema

    Returns
    -------
    ndarray of shape (n, k)
    """
    found = np.empty((len(frame), len(schema)))
    for j, name in enumerate(schema):
        if name in schema.numbers:
            lower, upper = schema[name].lower, schema[name].upper
            found[:, j] = np.clip(frame[name].to_numpy(dtype=float), lower, upper)
        else:
            place = {str(level): i for i, level in enumerate(schema[name].levels)}
            found[:, j] = frame[name].astype(str).map(place).fillna(len(place)).to_numpy()
    return found


def counts(schema: Schema) -> list[int]:
    """Places per column: 0 for numbers, levels and one more for categories."""
    return [0 if name in schema.numbers else len(schema[name].levels or ()) + 1 for name in schema]


def scaled(frame: pd.DataFrame, schema: Schema) -> Array:
    """Numbers in [-1, 1], and a column of 0 and 1 per level."""
    values, parts = codes(frame, schema), []
    for j, (name, levels) in enumerate(zip(schema, counts(schema), strict=True)):
        if levels:
            parts.append(np.eye(levels)[values[:, j].astype(int)])
        else:
            lower, upper = schema[name].lower, schema[name].upper
            half = (upper - lower) / 2 or 1.0
            parts.append(((values[:, j] - lower) / half - 1)[:, None])
    return np.concatenate(parts, axis=1)


def longest(schema: Schema) -> float:
    """The largest length that a row of `scaled` can have."""
    return float(np.sqrt(len(schema)))
