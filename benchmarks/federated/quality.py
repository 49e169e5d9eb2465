"""Training across clients: readable models, networks, heat maps, trust, and the paper beside them.

Run ``python benchmarks/federated/quality.py [options]``; all of it takes about an hour of one core.

    --parts a,b          of models, placement, maps, trust, paper, leakage (default: all)
    --sets a,b           of mnist, fashion_mnist, blood_cells, adult
    --models a,b         of EBM, GMLVQ, maps, CNN
    --lies a,b           how rows lie: of pooled, iid, dirichlet
    --seeds N            trainings of each kind (default 1; 3 for heat maps)
    --quick              mnist and adult, one epsilon, no paper and no leakage: about eight minutes
    --out DIR            where federated.json and .md go (default: a temporary folder)

models     Maps, networks (pictures), additive models and prototypes (adult) over 100 clients
           (adult: 10 unequal ones), IID and Dirichlet(.3), every client every round, beside the
           pooled fit.
placement  Where the noise of a network goes: uniform, selective (Grad-CAM of the released
           network), the shuffled control, sparse, and a clipped run without noise.
maps       Grad-CAM of private networks against plain ones, relative to two plain seeds, with
           floors.
trust      One additive model under each way to trust: accuracy, seconds and bytes of a round.
paper      Tables 1 and 2 of Li et al. (2023) on a small scale (`paper.py`).
leakage    What an update gives away (`networks/leakage.py`).

Epsilons are at delta 1e-5 (adult: 1e-6), per example, with a trusted aggregator unless said.
Settings are the defaults everywhere. The status is 1 if a bar fails (`report.py`).
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.federated import report as federated_report
from benchmarks.federated.report import Findings, ModelCell, PlacementCell, TrustCell
from benchmarks.kit.script import machine, note, numbers, parser_of, read_options, some_of
from benchmarks.locally_linear import data as locally_linear_data
from benchmarks.locally_linear.data import Split
from voile import (
    Category,
    EBMClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    Number,
    Schema,
)
from voile.federated.federation import Federation
from voile.federated.partition import split_dirichlet, split_iid, split_sizes

PARTS = ("models", "placement", "maps", "trust", "paper", "leakage")
SETS = ("mnist", "fashion_mnist", "blood_cells", "adult")
MODELS = ("EBM", "GMLVQ", "maps", "CNN")
LIES = ("pooled", "iid", "dirichlet")
CLIENTS, ALPHA = 100, 0.3
UNEQUAL = (40, 20, 12, 9, 7, 5, 3, 2, 1, 1)
"""Shares of adult's rows, in percent: ten hospitals of very different size."""


@dataclass(frozen=True)
class Task:
    """A set, its split, and how its rows lie with clients."""

    name: str
    schema: Schema
    delta: float
    split: Split
    image_shape: tuple[int, ...] | None

    @property
    def train(self) -> tuple[Any, Any]:
        rows = self.split.rows
        if self.image_shape is not None:
            rows = rows.reshape(len(rows), -1)
        return rows, self.split.classes

    @property
    def test(self) -> tuple[Any, Any]:
        rows = self.split.test_rows
        if self.image_shape is not None:
            rows = rows.reshape(len(rows), -1)
        return rows, self.split.test_classes

    def lies(self, how: str, seed: int) -> list[np.ndarray]:
        """Row numbers of each client."""
        count = len(self.split.classes)
        if self.image_shape is None:
            if how == "iid":
                return split_sizes(count, [float(one) for one in UNEQUAL], seed)
            return split_dirichlet(self.split.classes, len(UNEQUAL), ALPHA, seed)
        if how == "iid":
            return split_iid(count, CLIENTS, seed)
        return split_dirichlet(self.split.classes, CLIENTS, ALPHA, seed)

    def federation(self, how: str, seed: int, **terms: Any) -> Federation:
        rows, classes = self.train
        take = (lambda part: rows.iloc[part]) if hasattr(rows, "iloc") else rows.__getitem__
        parts = [(take(part), classes[part]) for part in self.lies(how, seed)]
        return Federation.local(parts, self.schema, **terms)


def load(name: str) -> Task:
    one = locally_linear_data.load(name)
    split = one.split(0)
    schema = one.schema
    if one.image_shape is not None:
        pixels = {f"pixel {i}": Number(0, 255) for i in range(one.features)}
        # The official number of rows is public: networks choose their lots by it.
        schema = Schema(pixels, target=Category(list(one.levels)), rows=len(split.classes))
    assert schema is not None
    return Task(name, schema, one.delta, split, one.image_shape)


def entrants(task: Task) -> dict[str, Any]:
    """Makers of models by name: epsilon and a public seed."""
    if task.image_shape is None:
        return {
            "EBM": lambda eps, seed: EBMClassifier(epsilon=eps, delta=task.delta),
            "GMLVQ": lambda eps, seed: GMLVQClassifier(
                epsilon=eps, delta=task.delta, random_state=seed
            ),
            "maps": lambda eps, seed: LocallyLinearClassifier(
                epsilon=eps, delta=task.delta, random_state=seed
            ),
        }
    from voile.models.networks.estimator import NetworkClassifier

    shape = task.image_shape
    return {
        "maps": lambda eps, seed: LocallyLinearClassifier(
            epsilon=eps, delta=task.delta, image_shape=shape, random_state=seed
        ),
        "CNN": lambda eps, seed: NetworkClassifier(
            epsilon=eps, delta=task.delta, image_shape=shape, random_state=seed
        ),
    }


def score(task: Task, model: Any) -> float:
    """AUROC of two classes, accuracy of more."""
    rows, classes = task.test
    if task.image_shape is None:
        return float(roc_auc_score(classes == model.classes_[1], model.decision_function(rows)))
    return float(np.mean(model.predict(rows) == classes))


def run_models(
    task: Task, epsilons: tuple[float, ...], options: argparse.Namespace, found: Findings
) -> None:
    for name, make in entrants(task).items():
        if name not in options.models:
            continue
        for eps in epsilons:
            for how in options.lies:
                values, seconds, traffic = [], [], None
                for seed in range(options.seeds):
                    model = make(eps, seed)
                    begun = time.process_time()
                    if how == "pooled":
                        model.set_params(schema=task.schema).fit(*task.train)
                    else:
                        federation = task.federation(how, seed)
                        model.fit_federated(federation)
                        traffic = federation.traffic
                    seconds.append(time.process_time() - begun)
                    values.append(score(task, model))
                cell = ModelCell(
                    task.name,
                    name,
                    eps,
                    how,
                    tuple(values),
                    max(seconds),
                    0 if traffic is None else traffic.questions,
                    0 if traffic is None else traffic.sent + traffic.received,
                    model.receipt_.epsilon,
                )
                found.models.append(cell)
                note(f"{task.name} {name} eps {eps:g} {how}: {values} in {max(seconds):.0f} CPU-s")


def run_placement(task: Task, eps: float, seeds: int, found: Findings) -> None:
    from voile.models.networks.estimator import NetworkClassifier

    kinds = [("uniform", eps), ("selective", eps), ("shuffled", eps), ("sparse", eps)]
    for placement, at in [*kinds, ("uniform", math.inf)]:
        values = []
        for seed in range(seeds):
            model = NetworkClassifier(
                epsilon=at,
                delta=task.delta,
                schema=task.schema,
                image_shape=task.image_shape,
                placement=placement,
                random_state=seed,
            ).fit(*task.train)
            values.append(score(task, model))
        name = "clipped, no noise" if math.isinf(at) else placement
        found.placements.append(
            PlacementCell(task.name, name, at, tuple(values), model.receipt_.epsilon)
        )
        note(f"{task.name} {name}: {values}")


def run_trust(task: Task, eps: float, found: Findings) -> None:
    for trust, terms in (
        ("aggregator", {}),
        ("shares", {"colluders": 2, "dropouts": 1}),
        ("nobody", {}),
    ):
        federation = task.federation("iid", 0, trust=trust, **terms)
        begun = time.perf_counter()
        model = EBMClassifier(epsilon=eps, delta=task.delta).fit_federated(federation)
        seconds = time.perf_counter() - begun
        traffic = federation.traffic
        found.trust.append(
            TrustCell(
                task.name,
                trust,
                len(federation.terms.clients),
                score(task, model),
                traffic.questions,
                seconds / traffic.questions,
                (traffic.sent + traffic.received)
                / traffic.questions
                / len(federation.terms.clients),
            )
        )
        note(f"trust {trust}: {found.trust[-1]}")


def settings(options: argparse.Namespace) -> dict[str, object]:
    return {
        "parts": options.parts,
        "sets": options.sets,
        "seeds": options.seeds,
        "epsilons": options.eps,
        "clients": CLIENTS,
        "alpha": ALPHA,
        **machine("torch", "captum", "flwr"),
    }


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--parts", type=some_of(PARTS, "part"), default=PARTS)
    parser.add_argument("--sets", type=some_of(SETS, "set"), default=SETS)
    parser.add_argument("--models", type=some_of(MODELS, "model"), default=MODELS)
    parser.add_argument("--lies", type=some_of(LIES, "way to lie"), default=LIES)
    parser.add_argument("--eps", type=numbers, default=(2.0, 8.0))
    parser.add_argument("--seeds", type=int, default=1)
    options = read_options(parser, arguments, "federated", seeds=1)
    if options.quick:
        options.sets = tuple(one for one in options.sets if one in ("mnist", "adult"))
        options.eps = options.eps[:1]
        options.parts = tuple(p for p in options.parts if p not in ("paper", "leakage", "maps"))
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    import torch

    torch.set_num_threads(1)
    found = Findings(settings(options))
    for name in options.sets:
        try:
            task = load(name)
        except FileNotFoundError as error:
            note(str(error))
            continue
        if "models" in options.parts:
            epsilons = options.eps if task.image_shape is not None else (1.0,)
            run_models(task, epsilons, options, found)
        if "placement" in options.parts and name == "mnist":
            run_placement(task, options.eps[0], options.seeds, found)
        if "maps" in options.parts and name == "mnist":
            from benchmarks.federated import maps as federated_maps

            rows, classes = task.train
            tests, truth = task.test
            found.maps = federated_maps.measure(
                task.schema, rows, classes, tests, truth, options.eps[0], max(options.seeds, 3)
            )
        if "trust" in options.parts and name == "adult":
            run_trust(task, 1.0, found)
        federated_report.write(found, options.out)  # a run that is stopped keeps what it had
    if "paper" in options.parts:
        from benchmarks.federated import paper as federated_paper

        found.paper = federated_paper.run_paper()
    if "leakage" in options.parts:
        from benchmarks.networks import leakage as federated_leakage

        found.leakage = federated_leakage.judge(federated_leakage.measure(3, 200))
    federated_report.write(found, options.out)
    print(federated_report.markdown(found))
    note(f"Written to {options.out}")
    return 1 if found.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
