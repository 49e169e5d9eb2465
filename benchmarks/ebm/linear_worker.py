"""Linear models of diffprivlib, fitted on request in a Python of its own (see `linear.py`).

A line of JSON in, a line of JSON out. The rows are in the file that is named. Needs numpy and
diffprivlib alone, since diffprivlib does not import beside scikit-learn 1.9.
"""

import json
import sys
import warnings
from typing import Any

import numpy as np


def fit(request: dict[str, Any]) -> dict[str, Any]:
    """Coefficients and intercept; bounds and the length of a row are public and given."""
    from diffprivlib.models import LinearRegression, LogisticRegression

    rows = np.load(request["file"])
    if request["task"] == "binary":
        model = LogisticRegression(
            epsilon=request["epsilon"], data_norm=request["length"], max_iter=1000
        )
    else:
        model = LinearRegression(epsilon=request["epsilon"], bounds_X=(-1, 1), bounds_y=(-1, 1))
    model.fit(rows["features"], rows["target"])
    return {
        "coefficients": np.ravel(model.coef_).tolist(),
        "intercept": float(np.ravel(model.intercept_)[0]),
    }


def answer(line: str) -> dict[str, Any]:
    """What a fit gave, or its error."""
    try:
        return fit(json.loads(line))
    # The benchmark reports it beside the set, as it does for every other model.
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Say the version, then answer line by line."""
    import diffprivlib

    warnings.simplefilter("ignore")
    print(json.dumps({"version": diffprivlib.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)
