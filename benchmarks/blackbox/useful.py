"""Whether explanations are of use: peers, groups, other models, density and overfitting.

Not a script: see `quality.py`.
"""

import importlib.util
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.blackbox import models as explainer_models
from benchmarks.blackbox.data import Task, take
from benchmarks.blackbox.loss import Plan, losses
from benchmarks.blackbox.measures import (
    DEFAULT,
    NARROW,
    PAPER,
    SETTINGS,
    STRONGEST,
    Estimate,
    Reference,
    Setting,
    open_explainer,
    shared,
    stack,
)
from benchmarks.blackbox.models import Remembered
from benchmarks.kit.script import note

Floats = NDArray[np.float64]

LIME_SAMPLES, LIME_TRAINING = 5_000, 2_000
PAPER_LIME = 3.9


@dataclass(frozen=True, slots=True)
class PeerCell:
    """Top five shared with a peer that is not private.

    Attributes
    ----------
    set, peer, setting : str
    of : str
        What is compared: "features" (words), or whole columns.
    epsilon : float
    asked : int
    private, exact : Estimate
        Of five, by the private explanation and by the exact one.
    chance : float
        What five at random share on average.
    """

    set: str
    peer: str
    setting: str
    of: str
    epsilon: float
    asked: int
    private: Estimate
    exact: Estimate
    chance: float


@dataclass(frozen=True, slots=True)
class ModelCell:
    """Loss when another model is explained, with what it was trained."""

    set: str
    kind: str
    trained: str
    accuracy: float
    epsilon: float
    strategy: str
    setting: str
    loss: Estimate
    zero: float
    agreement: float


@dataclass(frozen=True, slots=True)
class DensityCell:
    """Loss in one quarter of the asked rows by how many private rows are near."""

    set: str
    strategy: str
    setting: str
    epsilon: float
    quarter: int
    effective: float
    loss: Estimate


@dataclass(frozen=True, slots=True)
class GroupCell:
    """Loss of the asked rows of one group, by `PrivateExplainer.quality_by`."""

    set: str
    by: str
    group: str
    setting: str
    epsilon: float
    asked: int
    loss: Estimate
    agreement: float
    best_agreement: float
    shared: float


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


# -- peers -----------------------------------------------------------------------------------------


def lime_words(task: Task, model: Any, rows: Any) -> list[Floats]:
    """Weights of LIME's tabular explainer for each word, per asked row."""
    from lime.lime_tabular import LimeTabularExplainer

    names = list(task.schema)
    frame_type = type(task.rows)
    sample = np.asarray(take(task.rows, slice(0, LIME_TRAINING)))

    def predict(words: Any) -> Floats:
        return np.asarray(model.predict_proba(frame_type(words, columns=names)))

    explainer = LimeTabularExplainer(
        sample,
        feature_names=names,
        categorical_features=list(range(len(names))),
        random_state=0,
        mode="classification",
    )
    found = []
    for row in np.asarray(rows):
        told = explainer.explain_instance(
            row, predict, num_features=len(names), num_samples=LIME_SAMPLES
        ).as_map()[1]
        weights = np.zeros(len(names))
        for j, value in told:
            # LIME's feature is "as in the asked row": an absent word has the opposite sign.
            weights[j] = value if row[j] else -value
        found.append(weights)
    return found


def shap_columns(task: Task, pipeline: Any, rows: Any) -> list[Floats]:
    """SHAP values of the forest for each column, per asked row."""
    import shap

    encode, model = pipeline[0], pipeline[-1]
    found = shap.TreeExplainer(model).shap_values(encode.transform(rows))
    # Older versions give a list, an array per class.
    told = np.asarray(found[1] if isinstance(found, list) else found[..., 1])
    places = {name: i for i, name in enumerate(task.schema)}
    sums = np.zeros((len(told), len(places)))
    for j, feature in enumerate(encode.get_feature_names_out()):
        name = feature.split("__", 1)[1]
        column = max((c for c in places if name == c or name.startswith(f"{c}_")), key=len)
        sums[:, places[column]] += told[:, j]
    return list(sums)


def by_column(reference: Reference, phi: Floats, z: Floats) -> Floats:
    """What each column adds at z beside the mean row: phi (z - mean), summed over its features."""
    from voile.explain.blackbox.rows.points import PointSpace

    space = PointSpace(reference.task.schema)
    parts = phi * (z - reference.points.mean(axis=0))
    places = {name: i for i, name in enumerate(reference.task.schema)}
    sums = np.zeros(len(places))
    for part, feature in zip(parts, space.features.each, strict=True):
        sums[places[feature.column]] += part
    return sums


def peer_cells(
    reference: Reference, peer: str, epsilon: float, asked: int, seeds: int
) -> list[PeerCell]:
    """Compare the default strategy with LIME (words) or SHAP (columns)."""
    task, model = reference.task, reference.model.model
    rows = take(reference.asked, slice(0, asked))
    columns = peer == "SHAP"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own
        theirs = (shap_columns if columns else lime_words)(task, model, rows)

    def told(phi: Floats, k: int) -> Floats:
        return by_column(reference, phi, reference.places[k]) if columns else phi

    results = []
    first = [
        open_explainer(task, reference.model, "summary", epsilon, PAPER, seed=s).explainer
        for s in range(seeds)
    ]
    for setting in SETTINGS.values():
        private = []
        for one in first:
            found = (
                one.with_model(None, **setting.options(task))
                .explain_slopes(rows)
                .coefficients[..., 0]
            )
            private.append([shared(told(found[k], k), theirs[k]) for k in range(len(theirs))])
        d = reference.features
        exact = [
            shared(told(reference.exact(setting, k).theta[:d], k), theirs[k])
            for k in range(len(theirs))
        ]
        of = len(task.schema) if columns else d
        results.append(
            PeerCell(
                task.name,
                peer,
                setting.name,
                "columns" if columns else "features",
                epsilon,
                len(theirs),
                Estimate.of(private),
                Estimate.of(exact),
                STRONGEST**2 / of,
            )
        )
        note(
            f"{task.name}, {setting.name}: shares {results[-1].private.value:.2f} of 5 with {peer} "
            f"(exact {results[-1].exact.value:.2f})"
        )
    return results


# -- other models ----------------------------------------------------------------------------------


def explain_model(
    task: Task,
    model: Any,
    asked: Any,
    names: tuple[str, str],
    epsilon: float,
    plan: Plan,
    strategies: Sequence[str] = ("summary", "interactive"),
) -> list[ModelCell]:
    """Loss of explanations of one model, all questions of the sample within epsilon."""
    remembered = Remembered(model)
    reference = Reference(task, remembered, asked)
    accuracy = explainer_models.accuracy(model, task)
    found = losses(reference, (PAPER, DEFAULT), (epsilon,), strategies, plan, plan.slow)
    return [
        ModelCell(
            task.name,
            *names,
            accuracy,
            epsilon,
            one.strategy,
            one.setting,
            one.loss,
            one.zero,
            one.agreement.value,
        )
        for one in found
    ]


def private_models(
    task: Task, asked: Any, epsilon: float, plan: Plan, trained: Sequence[float]
) -> list[ModelCell]:
    """Section 6.3: models that were trained with privacy themselves."""
    results = []
    for kind in explainer_models.PRIVATE:
        for budget in trained:
            model = explainer_models.private(kind, task, budget)
            words = "no privacy" if math.isinf(budget) else f"eps {budget:g}"
            results += explain_model(task, model, asked, (kind, words), epsilon, plan)
    return results


def overfitted(
    task: Task,
    asked: Any,
    epsilon: float,
    plan: Plan,
    depths: Sequence[int | None] = (5, 10, 20, None),
    trees: int = 100,
) -> list[ModelCell]:
    """Section 6.5: forests that learn their rows more and more by heart."""
    results = []
    for depth in depths:
        model = explainer_models.forest(task, trees=trees, depth=depth)
        words = f"depth {explainer_models.depth_text(depth)}"
        results += explain_model(task, model, asked, ("forest", words), epsilon, plan)
    return results


def density(
    reference: Reference,
    epsilon: float,
    plan: Plan,
    settings: Sequence[Setting] = (PAPER, DEFAULT, NARROW),
    strategies: Sequence[str] = ("summary", "release"),
) -> list[DensityCell]:
    """Section 6.4: quarters of the asked rows by the effective share of the table around them."""
    task, results = reference.task, []
    count = min(plan.asked, task.most_asked)
    rows = take(reference.asked, slice(0, count))
    for strategy in strategies:
        for setting in settings:
            runs = []
            for seed in range(plan.seeds):
                one = open_explainer(
                    task, reference.model, strategy, epsilon, setting, queries=count, seed=seed
                )
                runs.append(reference.measure(one.explainer.explain_slopes(rows), setting))
            near, lost = runs[0].effective, stack(runs, "loss")
            order = np.argsort(near, kind="stable")
            results += [
                DensityCell(
                    task.name,
                    strategy,
                    setting.name,
                    epsilon,
                    number + 1,
                    float(near[part].mean()),
                    Estimate.of(lost[:, part]),
                )
                for number, part in enumerate(np.array_split(order, 4))
            ]
    return results


def groups(
    reference: Reference,
    epsilon: float,
    columns: Sequence[str],
    asked: int,
    seeds: int,
    settings: Sequence[Setting] = (PAPER, DEFAULT),
) -> list[GroupCell]:
    """What each group pays, on rows held out, which stand in for public ones."""
    task, results = reference.task, []
    # The same random_state: `quality_by` asks about the same rows; the noise is new each time.
    made = [
        open_explainer(task, reference.model, "summary", epsilon, PAPER).explainer
        for _ in range(seeds)
    ]
    for setting in settings:
        for column in columns:
            found = [
                one.with_model(None, **setting.options(task)).quality_by(
                    column, task.others, asked=asked
                )
                for one in made
            ]
            for number, first in enumerate([*found[0].groups, found[0].overall]):
                same = [[*one.groups, one.overall][number] for one in found]
                values = [one.loss for one in same]
                spread = float(np.std(values, ddof=1)) / math.sqrt(seeds) if seeds > 1 else None
                results.append(
                    GroupCell(
                        task.name,
                        column,
                        first.group,
                        setting.name,
                        epsilon,
                        first.rows,
                        Estimate(float(np.mean(values)), first.loss_error, spread),
                        float(np.mean([one.agreement for one in same])),
                        first.best_agreement,
                        float(np.mean([one.shared for one in same])),
                    )
                )
    return results
