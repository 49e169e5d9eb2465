"""interpret-core's private additive models under attack, through their public interface.

Settings are the library's own, bounds of the target are given, feature types are stated and the
random state is None, as its documentation asks; the only liberty is one thread.

Not a script: see `incumbents.py`.
"""

import importlib.util
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.audit.incumbents_attacks import EPSILON, Attack, Table
from benchmarks.audit.incumbents_tables import CATEGORY, COUNT, TARGET

DELTA = 1e-6
BREAKS = 3.0
"""The attacks must show more, where 1 was claimed."""


def is_there() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("interpret") is not None


def attacks() -> list[Attack]:
    """The known breaks."""
    name = f"interpret-core {version('interpret-core')}"
    return [
        Attack(name, "nominal", CATEGORY, fit_nominal, DELTA, BREAKS),
        Attack(name, "A, B and C listed", CATEGORY, fit_listed, DELTA, BREAKS),
        Attack(name, "", TARGET, fit_regression, DELTA, BREAKS),
        Attack(name, "", COUNT, fit_counted, DELTA, BREAKS),
    ]


def fit_nominal(table: Table) -> float:
    """Whether the bins tell of a third category."""
    return has_third(classifier(table, "nominal"))


def fit_listed(table: Table) -> float:
    """The same, with all three categories declared beforehand."""
    return has_third(classifier(table, ["A", "B", "C"]))


def has_third(model: Any) -> float:
    """1.0 if the bins are not just A and B: a third category was there.

    Only categories that occur are counted. A rare one gets a bin of its own, if noise makes its
    count large, or is merged with A or B; their counts of 500, with noise of standard deviation
    38, do not fall below the limit of 31 by themselves.
    """
    (levels,) = model.bins_[0]
    return float(set(levels) != {"A", "B"})


def fit_regression(table: Table) -> list[float]:
    """Rows in either bin, rounded, by the model's own scores and noisy counts.

    Every round moves a bin's score f by rate * rows * (1000 - f) / noisy rows: boosting starts at 0
    and the target is never centred. Solving for the rows gives them to about a tenth.
    """
    from interpret.privacy import DPExplainableBoostingRegressor

    model = DPExplainableBoostingRegressor(
        feature_names=["x"],
        feature_types=["nominal"],
        epsilon=EPSILON,
        delta=DELTA,
        privacy_bounds={},
        privacy_target_min=1000.0,
        privacy_target_max=1001.0,
        random_state=None,
        n_jobs=1,
    ).fit(features(table), np.array(table["y"]))
    found = rows_by_scores(
        model.intercept_ + np.asarray(model.term_scores_[0])[1:3],
        np.asarray(model.bin_weights_[0])[1:3],
        float(table["y"][0]),
        model.learning_rate,
        model.max_rounds,
    )
    return [float(round(rows)) for rows in found]


def rows_by_scores(
    scores: np.ndarray, noisy_rows: np.ndarray, target: float, rate: float, rounds: int
) -> list[float]:
    """Rows of each bin, from what boosting towards one target left of the gap."""
    left = np.clip(1.0 - scores / target, 0.0, None) ** (1.0 / rounds)
    return [float(one) for one in noisy_rows / rate * (1.0 - left)]


def fit_counted(table: Table) -> float:
    """The weight of the training rows, as the model stores it: their exact number."""
    return float(classifier(table, "nominal").bag_weights_[0])


def classifier(table: Table, kind: str | list[str]) -> Any:
    """The incumbent on a table of one category."""
    from interpret.privacy import DPExplainableBoostingClassifier

    return DPExplainableBoostingClassifier(
        feature_names=["x"],
        feature_types=[kind],
        epsilon=EPSILON,
        delta=DELTA,
        privacy_bounds={},
        random_state=None,
        n_jobs=1,
    ).fit(features(table), np.array(table["y"]))


def features(table: Table) -> np.ndarray:
    """One column of text."""
    return np.array(table["x"], dtype=object)[:, None]
