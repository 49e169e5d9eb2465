"""Rows of the sets that come with scikit-learn and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np

from voile.datasets.data_set import DataSet
from voile.datasets.stored_set import StoredSet
from voile.errors import MissingExtra


def read_packaged(entry: StoredSet, package: str) -> DataSet:
    """Read a table, or pictures, from the package that ships them.

    Raises
    ------
    MissingExtra
        If the package is not installed.
    """
    read = _of_statsmodels if package == "statsmodels" else _of_sklearn
    X, y = read(entry)
    return DataSet(X, y, entry.facts.schema, entry.facts, None, package)


def _of_statsmodels(entry: StoredSet) -> tuple[Any, Any]:
    try:
        import statsmodels.datasets
    except ImportError:
        raise MissingExtra("statsmodels", "demo") from None
    import pyarrow as pa

    frame = getattr(statsmodels.datasets, entry.facts.name).load_pandas().data
    X = pa.table({name: frame[name].to_numpy() for name in entry.facts.schema})
    return X, frame[entry.target].to_numpy(dtype=np.float64)


def _of_sklearn(entry: StoredSet) -> tuple[Any, Any]:
    import pyarrow as pa
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{entry.facts.name}")()
    if entry.facts.image_shape is not None:
        return np.asarray(bunch.data), bunch.target.astype(np.int64)
    X = pa.table(dict(zip(entry.facts.schema, bunch.data.T.copy(), strict=True)))
    if "target_names" in bunch:
        return X, bunch.target_names.astype(object)[bunch.target]
    return X, bunch.target.astype(np.float64)
