"""The models of the hospital benchmark, behind one face.

Not a script: see `quality.py`. The deep networks are the paper's (three dense layers of 128) and
need torch; with privacy, opacus too.
"""

import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from threadpoolctl import threadpool_limits

import voile
from benchmarks.attributions.models import train_plainly, train_privately
from benchmarks.hospital.data import PATIENT, Task, one_hot

DELTA = 2e-5
FINDING = 0.1
"""Part of epsilon and of delta for finding the four most frequent classes."""

WIDTH = 128
PLAIN_EPOCHS, PLAIN_LOT = 8, 256
PRIVATE_EPOCHS, PRIVATE_LOT, CLIP, RATE = 15, 2_048, 1.0, 0.003


@dataclass(frozen=True, eq=False)
class Answer:
    """A fitted model as far as it is judged: classes, and probabilities of rows."""

    classes: NDArray[Any]
    chances: Callable[[pd.DataFrame], NDArray[np.float64]]
    model: Any = None
    found: tuple[str, ...] = ()
    graded: bool = True


@dataclass(frozen=True, slots=True)
class Entrant:
    """One model to compare.

    Attributes
    ----------
    name, label : str
    fit : callable
        Makes an `Answer` of a task, the rows to train on, an epsilon and a seed.
    private : tuple of bool
        Whether it is run at epsilon, and without privacy.
    unit : int
        Encounters of a patient that are used, where the patient is protected; 0: the row is.
    needs : tuple of str
        Modules that have to be installed.
    only : str
        The one task it is for; "": all.
    """

    name: str
    label: str
    fit: Callable[[Task, NDArray[np.int64], float, int], Answer]
    private: tuple[bool, ...] = (True, False)
    unit: int = 0
    needs: tuple[str, ...] = ()
    only: str = ""

    def absent(self) -> list[str]:
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Scores on rows of other patients, and the wall time of the fit."""

    accuracy: float
    balanced: float
    auc: float | None
    seconds: float
    found: tuple[str, ...] = ()


def judge(answer: Answer, task: Task, rows: NDArray[np.int64], seconds: float) -> Outcome:
    truth, chances = task.target[rows], answer.chances(task.frame.iloc[rows])
    guesses = answer.classes[chances.argmax(axis=1)]
    with warnings.catch_warnings():
        # Classes that are guessed and never true, where classes were found privately.
        warnings.simplefilter("ignore")
        balanced = float(balanced_accuracy_score(truth, guesses))
    auc = None
    if answer.graded and set(answer.classes) == set(truth):
        each = [
            roc_auc_score(truth == name, chances[:, k]) for k, name in enumerate(answer.classes)
        ]
        auc = float(np.mean(each))
    return Outcome(float(np.mean(guesses == truth)), balanced, auc, seconds, answer.found)


def run(
    entrant: Entrant,
    task: Task,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    epsilon: float,
    seed: int,
) -> tuple[Outcome, Answer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        answer = entrant.fit(task, train, epsilon, seed)
        seconds = time.perf_counter() - start
        return judge(answer, task, test, seconds), answer


def answer_of(model: Any, found: tuple[str, ...] = ()) -> Answer:
    classes, graded = np.asarray(model.classes_, dtype=object), hasattr(model, "predict_proba")

    def chances(frame: pd.DataFrame) -> NDArray[np.float64]:
        rows = frame.drop(columns=PATIENT)
        if graded:
            return np.asarray(model.predict_proba(rows))
        # Prototypes give a class and no probability.
        return np.asarray(np.asarray(model.predict(rows))[:, None] == classes, dtype=np.float64)

    return Answer(classes, chances, model, found, graded)


def ours(kind: str, unit: int = 0, **settings: Any) -> Callable[..., Answer]:
    """A model of the library; it trains on rows with a public class."""

    def fit(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
        schema = task.per_patient(unit) if unit else task.schema
        facts: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "schema": schema}
        if kind != "EBM":
            facts["random_state"] = seed
        frame = task.frame.iloc[rows]
        frame = frame if unit else frame.drop(columns=PATIENT)
        model = getattr(voile, f"{kind}Classifier")(**facts, **settings)
        return answer_of(model.fit(frame, task.target[rows]))

    return fit


def open_classes(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
    """The classes are left open: whatever is frequent enough is found by the fit itself."""
    model = voile.LocallyLinearClassifier(
        epsilon=epsilon, delta=DELTA, schema=task.open(), maps=2, random_state=seed
    )
    model.fit(task.frame.iloc[rows].drop(columns=PATIENT), task.target[rows])
    return answer_of(model, tuple(map(str, model.classes_)))


def found_classes(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
    """The four most frequent classes by noised counts, and a fit on them, from one ledger."""
    ledger = voile.Ledger(voile.Budget(epsilon, DELTA)) if math.isfinite(epsilon) else None
    target, parts = task.target[rows], (FINDING, 1.0 - FINDING)
    budgets = [(epsilon * part, DELTA * part) for part in parts]
    summary = voile.summarize(
        {"class": target},
        epsilon=budgets[0][0],
        delta=budgets[0][1],
        schema=voile.Schema({"class": voile.Category()}),
        ledger=ledger,
    )
    column = summary["class"]
    # The last two are "other" and "missing".
    counted = sorted(zip(column.counts[:-2], column.levels[:-2], strict=True), reverse=True)
    four = [name for _, name in counted[:4]]
    schema = voile.Schema(dict(task.schema.items()), target=voile.Category(four))
    model = voile.LocallyLinearClassifier(
        epsilon=budgets[1][0],
        delta=budgets[1][1],
        schema=schema,
        ledger=ledger,
        maps=2,
        random_state=seed,
    )
    # Rows of other classes stay: they are not listed, so they teach nothing.
    model.fit(task.frame.iloc[rows].drop(columns=PATIENT), target)
    return answer_of(model, tuple(four))


def codes_of(task: Task, target: NDArray[Any]) -> NDArray[np.int64]:
    place = {name: k for k, name in enumerate(task.schema.target.levels)}
    return np.array([place[name] for name in target], dtype=np.int64)


def network_of(inputs: int, classes: int) -> Any:
    from torch import nn

    return nn.Sequential(
        nn.Linear(inputs, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, WIDTH),
        nn.Tanh(),
        nn.Linear(WIDTH, classes),
    )


def deep(unit: int = 0) -> Callable[..., Answer]:
    """The paper's network, plainly or by DP-SGD; for patients, on the first encounter of each."""

    def fit(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
        import torch

        if unit:
            rows = rows[~task.frame[PATIENT].iloc[rows].duplicated().to_numpy()]
        torch.manual_seed(seed)
        inputs = torch.as_tensor(one_hot(task, task.frame.iloc[rows]))
        codes = torch.as_tensor(codes_of(task, task.target[rows]))
        network = network_of(inputs.shape[1], len(task.schema.target.levels))
        if math.isinf(epsilon):
            train_plainly(network, inputs, codes, PLAIN_EPOCHS, PLAIN_LOT)
        else:
            train_privately(
                network,
                inputs,
                codes,
                PRIVATE_EPOCHS,
                epsilon,
                delta=DELTA,
                lot=PRIVATE_LOT,
                clip=CLIP,
                optimizer=lambda weights: torch.optim.Adam(weights, RATE),
                ghost=True,
            )

        def chances(frame: pd.DataFrame) -> NDArray[np.float64]:
            with torch.no_grad():
                scores = network(torch.as_tensor(one_hot(task, frame)))
            return np.asarray(torch.softmax(scores, dim=1).numpy(), dtype=np.float64)

        return Answer(np.array(task.schema.target.levels, dtype=object), chances)

    return fit


def logistic(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
    model = LogisticRegression(max_iter=500)
    with threadpool_limits(1):  # many small products: threads are in each other's way
        model.fit(one_hot(task, task.frame.iloc[rows]), task.target[rows].astype(str))

    def chances(frame: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(model.predict_proba(one_hot(task, frame)))

    return Answer(model.classes_.astype(object), chances)


def majority(task: Task, rows: NDArray[np.int64], epsilon: float, seed: int) -> Answer:
    """The first class for all: the most frequent one, from knowledge of the field."""
    classes = np.array(task.schema.target.levels, dtype=object)
    return Answer(classes, lambda frame: np.eye(len(classes))[np.zeros(len(frame), dtype=int)])


TORCH = ("torch",)
OPACUS = ("torch", "opacus")
MAPS = "LocallyLinear"

ENTRANTS = (
    Entrant("maps_2", "locally linear maps, 2 per class", ours(MAPS, maps=2)),
    Entrant("maps_auto", "locally linear maps, automatic", ours(MAPS)),
    Entrant("ebm", "EBM", ours("EBM")),
    Entrant("glvq", "GLVQ", ours("GLVQ")),
    Entrant("deep_private", "DNN, DP-SGD", deep(), (True,), needs=OPACUS),
    Entrant("deep", "DNN", deep(), (False,), needs=TORCH),
    Entrant("logistic", "logistic regression", logistic, (False,)),
    Entrant("majority", "always the first class", majority, (False,)),
    Entrant(
        "maps_found",
        "maps, 2 per class, the four classes found privately",
        found_classes,
        (True,),
        only="conditions",
    ),
    Entrant(
        "maps_open",
        "maps, 2 per class, classes left open",
        open_classes,
        (True,),
        only="conditions",
    ),
    *(
        Entrant(
            f"maps_auto_patient_{n}",
            f"locally linear maps, automatic, {n} encounter{'s' if n > 1 else ''} each",
            ours(MAPS, unit=n),
            (True,),
            unit=n,
        )
        for n in (1, 2, 4)
    ),
    Entrant("maps_2_patient_1", "maps, 2 per class", ours(MAPS, 1, maps=2), (True,), unit=1),
    Entrant("ebm_patient_1", "EBM", ours("EBM", unit=1), (True,), unit=1),
    Entrant("glvq_patient_1", "GLVQ", ours("GLVQ", unit=1), (True,), unit=1),
    Entrant("deep_patient_1", "DNN, DP-SGD", deep(1), (True,), unit=1, needs=OPACUS),
)
BY_NAME = {entrant.name: entrant for entrant in ENTRANTS}
WHOLE_TABLE = ("maps_found", "maps_open")
"""Models that train on all rows, whatever their class."""
