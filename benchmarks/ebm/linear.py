"""Private linear models of diffprivlib as estimators, whose fits are made in another Python.

Not a script: see `peers.py`. Features are one-hot levels and numbers scaled by their bounds.
Settings are the library's. Its least squares knows no ridge: the noise can leave a sum of squares
without a minimum, and at usual epsilons does.
"""

import atexit
import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.ebm.encoding import longest, scaled
from voile import Schema

Array = NDArray[np.float64]
_START = "import sys; sys.path.insert(0, sys.argv[1]); import linear_worker; linear_worker.main()"
_workers: dict[str, tuple["subprocess.Popen[str]", str]] = {}


def start(python: str) -> tuple["subprocess.Popen[str]", str]:
    """The worker of that Python, and the library's version; started once.

    Raises
    ------
    RuntimeError
        If that Python cannot import diffprivlib.
    """
    if python not in _workers:
        process = subprocess.Popen(
            [python, "-c", _START, str(Path(__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(process.kill)
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise RuntimeError(f"{python} has no diffprivlib that can be imported.")
        _workers[python] = process, str(json.loads(first)["version"])
    return _workers[python]


def version(python: str) -> str | None:
    """The version of diffprivlib that a Python has, or None."""
    try:
        return start(python)[1]
    except (OSError, RuntimeError):
        return None


@dataclass(slots=True)
class ForeignLinear:
    """Logistic regression for two classes, least squares for a number; epsilon alone, no delta.

    Attributes
    ----------
    python : str
        An interpreter that has diffprivlib.
    epsilon : float
    schema : Schema
        Public bounds, levels and target.
    task : str
        "binary" or "regression".
    """

    python: str
    epsilon: float
    schema: Schema
    task: str
    coefficients: Array = field(init=False)
    intercept: float = field(init=False)

    def fit(self, frame: pd.DataFrame, target: Array) -> "ForeignLinear":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.npz"
            np.savez(path, features=scaled(frame, self.schema), target=self._scale(target))
            found = self._ask(path)
        self.coefficients = np.array(found["coefficients"])
        self.intercept = found["intercept"]
        return self

    def decision_function(self, frame: pd.DataFrame) -> Array:
        return scaled(frame, self.schema) @ self.coefficients + self.intercept

    def predict_proba(self, frame: pd.DataFrame) -> Array:
        chance = expit(self.decision_function(frame))
        return np.stack([1 - chance, chance], axis=1)

    def predict(self, frame: pd.DataFrame) -> Array:
        """The number, within its bounds."""
        middle, half = self._ends()
        return middle + half * np.clip(self.decision_function(frame), -1, 1)

    def _ask(self, path: Path) -> dict:
        process, _ = start(self.python)
        assert process.stdin is not None
        assert process.stdout is not None
        request = {
            "file": str(path),
            "task": self.task,
            "epsilon": self.epsilon,
            "length": longest(self.schema),
        }
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        found = json.loads(line) if line else {"error": "the worker stopped"}
        if "error" in found:
            raise RuntimeError(found["error"])
        return dict(found)

    def _ends(self) -> tuple[float, float]:
        low, high = self.schema.target.lower, self.schema.target.upper
        return (low + high) / 2, (high - low) / 2

    def _scale(self, target: Array) -> Array:
        if self.task == "binary":
            return np.asarray(target)
        middle, half = self._ends()
        return np.clip((np.asarray(target, dtype=float) - middle) / half, -1, 1)
