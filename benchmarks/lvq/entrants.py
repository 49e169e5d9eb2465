"""The models of the prototype benchmark, behind one face, and the paper's own figures.

Not a script: see `quality.py`.
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import voile
from benchmarks.ebm.data import DataSet
from benchmarks.lvq.steps import CLIP, EPOCHS, RATE, PaperNoise

DELTA = 1e-5
SEVERAL_FROM = 2.5
"""Least epsilon at which a fixed number of several prototypes is tried."""

WIDE = ("mnist", "hapt_har561")

PAPER_EPSILONS = (0.75, 1.5, 2.5)
PAPER = {
    "mnist": {"glvq": (0.1893, 0.1871, 0.1871), "gmlvq": (0.2188, 0.1721, 0.1673)},
    "hapt_har561": {"glvq": (0.1121, 0.1123, 0.1121), "gmlvq": (0.1116, 0.1048, 0.1038)},
    "segment": {"glvq": (0.4793, 0.1792, 0.1635), "gmlvq": (0.2642, 0.1745, 0.1696)},
}
"""Error rates of Table 1 (there hapt_har561 is Motion), at `PAPER_EPSILONS`."""

PAPER_OPEN = {
    "mnist": {"glvq": 0.1853, "gmlvq": 0.1484},
    "hapt_har561": {"glvq": 0.1111, "gmlvq": 0.0897},
    "segment": {"glvq": 0.1458, "gmlvq": 0.0870},
}
"""The same without privacy (L-BFGS)."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """One model to compare.

    Attributes
    ----------
    name : str
        As the options call it.
    label : str
        As the tables call it.
    build : callable
        Makes an unfitted model for a set, an epsilon and a seed of public choices.
    private : bool
        Whether epsilon means anything to it.
    several : bool
        Whether it has several prototypes per class, or may have.
    one_fold : bool
        Whether wide sets are run on one fold only: minutes a fit.
    slow : bool
        Whether wide sets are run only if asked for: an hour a fold.
    """

    name: str
    label: str
    build: Callable[[DataSet, float, int], Any]
    private: bool = True
    several: bool = False
    one_fold: bool = False
    slow: bool = False

    def epsilons(
        self, asked: tuple[float, ...], more: tuple[float, ...]
    ) -> tuple[float | None, ...]:
        """At which epsilons to run it; `more` are for telling several prototypes from one."""
        if not self.private:
            return (None,)
        if self.several or self.name in ("glvq", "gmlvq"):
            found = tuple(sorted({*asked, *more}))
            least = 0.0 if self.name.endswith("auto") or not self.several else SEVERAL_FROM
            return tuple(epsilon for epsilon in found if epsilon >= least)
        return asked


@dataclass(frozen=True, slots=True)
class Outcome:
    """Error rate on rows that were not trained on, and the wall time of `fit`."""

    error: float
    seconds: float


def run(
    entrant: Entrant,
    one: DataSet,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    epsilon: float | None,
    seed: int = 0,
) -> Outcome:
    model = entrant.build(one, math.inf if epsilon is None else epsilon, seed)
    features, target = one.frame.iloc[train], one.target[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        model.fit(features, target)
        seconds = time.perf_counter() - start
        wrong = np.asarray(model.predict(one.frame.iloc[test])) != one.target[test]
    return Outcome(float(wrong.mean()), seconds)


def ours(kind: str, **settings: Any) -> Callable[[DataSet, float, int], Any]:
    """Builds a model of the library."""

    def build(one: DataSet, epsilon: float, seed: int) -> Any:
        make = getattr(voile, f"{kind}Classifier")
        facts = {"epsilon": epsilon, "delta": DELTA, "schema": one.schema, "random_state": seed}
        return make(**facts, **settings)

    return build


def paper_noise(kind: Any) -> Callable[[DataSet, float, int], Any]:
    def build(one: DataSet, epsilon: float, seed: int) -> Any:
        return PaperNoise(kind, epsilon, DELTA, one.schema, seed=seed)

    return build


def several(kind: str, count: int | str) -> Entrant:
    shown = "automatic number of prototypes" if count == "auto" else f"{count} prototypes"
    build = ours(kind, prototypes_per_class=count)
    return Entrant(f"{kind.lower()}_{count}", f"{kind}, {shown}", build, several=True)


SGD = {"mechanism": "sgd", "rate": RATE, "epochs": EPOCHS, "clip": CLIP}
UNSOUND = "the paper's noise, *no sound guarantee*"

ENTRANTS = {
    entrant.name: entrant
    for entrant in (
        Entrant("glvq", "GLVQ", ours("GLVQ")),
        Entrant("gmlvq", "GMLVQ", ours("GMLVQ")),
        Entrant("lvq1", "LVQ1", ours("LVQ1")),
        Entrant("means", "private class means", ours("GLVQ", typical=1.0)),
        Entrant("glvq_sgd", "GLVQ, DP-SGD", ours("GLVQ", **SGD), one_fold=True),
        Entrant("gmlvq_sgd", "GMLVQ, DP-SGD", ours("GMLVQ", **SGD), one_fold=True, slow=True),
        Entrant("glvq_paper", f"GLVQ, {UNSOUND}", paper_noise("glvq"), one_fold=True),
        Entrant("gmlvq_paper", f"GMLVQ, {UNSOUND}", paper_noise("gmlvq"), one_fold=True, slow=True),
        Entrant(
            "sample_aggregate",
            "GLVQ, sample and aggregate",
            ours("GLVQ", mechanism="sample_aggregate", groups=50),
        ),
        Entrant(
            "center_of_attention",
            "GLVQ, centre of attention",
            ours("GLVQ", mechanism="center_of_attention", groups=15),
        ),
        *(several(kind, count) for count in (3, 5, "auto") for kind in ("GLVQ", "GMLVQ")),
        Entrant("glvq_open", "GLVQ", ours("GLVQ"), private=False),
        Entrant("gmlvq_open", "GMLVQ", ours("GMLVQ"), private=False),
    )
}
NAMES = tuple(ENTRANTS)
