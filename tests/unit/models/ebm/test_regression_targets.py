"""Targets of a regression: what their type says is no number is refused before anything is paid."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from voile import Budget, EBMRegressor, Ledger, Number, Schema
from voile.errors import DataError

SCHEMA = Schema({"age": Number(0, 100)}, target=Number(0, 1))
X = {"age": np.linspace(0, 100, 200)}
TEXTS = ["yes", "no"] * 100
TRUTHS = [True, False] * 100


@pytest.mark.parametrize(
    ("target", "of"),
    [
        (np.array(TEXTS), "text"),
        (np.array(TEXTS).astype("S"), "text"),
        (pd.Series(TEXTS, dtype="string"), "text"),
        (pd.Series(TEXTS, dtype="category"), "text"),
        (pl.Series(TEXTS), "text"),
        (pl.Series(TEXTS, dtype=pl.Enum(["yes", "no"])), "text"),
        (pa.array(TEXTS), "text"),
        (pa.array(TEXTS).dictionary_encode(), "text"),
        (np.array(TRUTHS), "truth values"),
        (pd.Series(TRUTHS, dtype="boolean"), "truth values"),
        (pl.Series(TRUTHS), "truth values"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__module__,
)
def test_classes_are_refused_before_paying(target, of):
    ledger = Ledger(Budget(epsilon=1, delta=1e-6))
    with pytest.raises(DataError, match=f"is of {of}, and regression needs numbers") as error:
        EBMRegressor(epsilon=0.5, schema=SCHEMA, ledger=ledger).fit(X, target)
    assert "EBMClassifier" in str(error.value)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("target", [np.arange(200) % 2, pd.Series(np.arange(200) / 200)])
def test_numbers_are_taken(target):
    EBMRegressor(epsilon=0.5, schema=SCHEMA).fit(X, target)
