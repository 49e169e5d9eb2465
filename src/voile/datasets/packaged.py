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
    import pyarrow as pa

    facts = entry.facts
    if package == "statsmodels":
        frame = _statsmodels_frame(facts.name)
        X = pa.table({name: frame[name].to_numpy() for name in facts.schema})
        y = frame[entry.target].to_numpy(dtype=np.float64)
        return DataSet(X, y, facts.schema, facts, None, package)
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{facts.name}")()
    if facts.image_shape is not None:
        X, y = np.asarray(bunch.data), bunch.target.astype(np.int64)
        return DataSet(X, y, facts.schema, facts, None, package)
    X = pa.table(dict(zip(facts.schema, bunch.data.T.copy(), strict=True)))
    if "target_names" in bunch:
        y = bunch.target_names.astype(object)[bunch.target]
    else:
        y = bunch.target.astype(np.float64)
    return DataSet(X, y, facts.schema, facts, None, package)


def _statsmodels_frame(name: str) -> Any:
    try:
        import statsmodels.datasets
    except ImportError:
        raise MissingExtra("statsmodels", "demo") from None
    return getattr(statsmodels.datasets, name).load_pandas().data
