"""A table that classifiers are fitted to, and the checks of scikit-learn that they cannot pass."""

import numpy as np
import pandas as pd

from voile import Category, Number, Schema

EXPECTED_FAILURES = {
    "check_estimators_empty_data_messages": (
        "An error for an empty table would tell that it is empty, and the message that is asked "
        "for holds the exact number of rows."
    ),
    "check_classifiers_regression_target": (
        "Whether a target is refused may not depend on its values: classes come from the schema or "
        "from private discovery."
    ),
}

COLUMNS = {"age": Number(0, 100), "job": Category(["nurse", "clerk"]), "pay": Number(-5, 5)}
SCHEMA = Schema(COLUMNS, target=Category(["no", "yes"]))


def make_frame(rows=2001):
    """Numbers, a category, missing values in both, values outside the bounds and the levels."""
    generator = np.random.default_rng(5)
    age = generator.uniform(-5, 105, rows).round(1)
    pay = generator.normal(size=rows)
    job = generator.choice(["nurse", "clerk", "other one"], rows).astype(object)
    score = np.clip(age, 0, 100) / 20 + (job == "nurse") + pay
    pay[::50] = np.nan
    job[::70] = None
    return pd.DataFrame(
        {"age": age, "job": job, "pay": pay, "label": np.where(score > 3.2, "yes", "no")}
    )


FRAME = make_frame()
X, Y = FRAME[list(COLUMNS)], FRAME["label"]
