"""diffprivlib under attack, in a Python of its own (see `incumbents_worker.py`).

Not a script: see `incumbents.py`.
"""

import atexit
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.audit.incumbents_attacks import Attack, Table
from benchmarks.audit.incumbents_tables import (
    CLASS,
    CLASS_COUNT,
    EXTREME,
    FOLDS,
    LEVER,
    OTHER_END,
    OTHER_LABEL,
    SHIFT,
    TWO_BINS,
    TWO_BINS_MORE,
)

WORKER = Path(__file__).with_name("incumbents_worker.py")
ABSENT = (
    "diffprivlib: not attacked. It does not import beside scikit-learn 1.9; name a Python that has "
    "it (python -m venv dpl; dpl/bin/pip install diffprivlib 'scikit-learn<1.6') by "
    "--diffprivlib-python dpl/bin/python."
)

NOTES = {
    "linear_slope": "known: issues 104 and 105 of the library, open",
    "folds": "sklearn.clone copies the accountant: 50 fits, and it reports 0 spent",
    "forest_votes": "one row more moves a row of every tree",
}

_workers: dict[tuple[int, str], tuple[subprocess.Popen[str], str]] = {}


@dataclass(frozen=True)
class ForeignFit:
    """A fit of the worker, by name.

    Attributes
    ----------
    python : str
        The interpreter that has the library.
    fit : str
    """

    python: str
    fit: str

    def __call__(self, table: Table) -> list[float]:
        return list(self._ask(table)["released"])

    def warnings_about(self, table: Table) -> list[str]:
        """Kinds of warnings about leaks that this table gives."""
        return list(self._ask(table)["warnings"])

    def _ask(self, table: Table) -> dict[str, Any]:
        process, _ = start(self.python)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"fit": self.fit, "table": table}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"The worker stopped in {self.fit!r}: {process.wait()}.")
        return dict(json.loads(line))


def start(python: str) -> tuple[subprocess.Popen[str], str]:
    """The worker of this process, and the library's version; started once."""
    key = (os.getpid(), python)
    if key not in _workers:
        process = subprocess.Popen(
            [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(process.kill)
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise RuntimeError(f"{python} has no diffprivlib that can be imported.")
        _workers[key] = process, str(json.loads(first)["version"])
    return _workers[key]


def is_there(python: str | None) -> bool:
    """Whether that Python can import the library."""
    if python is None:
        return False
    try:
        start(python)
    except (OSError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return False
    return True


def attacks(python: str) -> list[Attack]:
    """What was thought to break, then what was thought to hold."""
    name = f"diffprivlib {start(python)[1]}"
    shown: list[tuple[str, Any, str, float]] = [
        ("GaussianNB, bounds given", CLASS, "bayes_classes", 1.0),
        ("LogisticRegression, norm given", CLASS, "logistic_classes", 1.0),
        ("LinearRegression, bounds given", LEVER, "linear_slope", 1.0),
        ("GaussianNB, BudgetAccountant(1)", FOLDS, "folds", 0.75),
        ("GaussianNB", CLASS_COUNT, "bayes_rows", 1.0),
        ("StandardScaler", CLASS_COUNT, "scaler_rows", 1.0),
        ("RandomForestClassifier, bounds and classes given", SHIFT, "forest_votes", 1.0),
        ("histogram, range given", TWO_BINS, "histogram_bins", 10.0),
        ("RandomForestClassifier, 1 tree", OTHER_LABEL, "forest_vote", 8.0),
        ("GaussianNB", EXTREME, "unbounded_bayes", 1.0),
        ("StandardScaler", EXTREME, "unbounded_scaler", 1.0),
        ("mean", EXTREME, "unbounded_mean", 1.0),
    ]
    open_questions: list[tuple[str, Any, str, float]] = [
        ("RandomForestClassifier, classes given", CLASS, "forest_classes", 0.25),
        ("LinearRegression, bounds -10 to 10", LEVER, "linear_slope_symmetric", 1.0),
        ("histogram, range given", TWO_BINS_MORE, "histogram_bins", 5.0),
        ("mean, bounds given", OTHER_END, "bounded_mean", 5.0),
        ("StandardScaler, bounds given", OTHER_END, "bounded_scaler", 2.0),
        ("GaussianNB, bounds given", OTHER_LABEL, "bounded_bayes", 2.0),
        ("LogisticRegression, norm given", OTHER_LABEL, "bounded_logistic", 1.0),
    ]
    return [
        Attack(
            name,
            how,
            pair,
            ForeignFit(python, fit),
            0.0,
            breaks,
            share=share,
            note=NOTES.get(fit, ""),
        )
        for rows, breaks in ((shown, 0.0), (open_questions, None))
        for how, pair, fit, share in rows
    ]
