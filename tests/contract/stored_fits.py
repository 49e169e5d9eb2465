"""Jobs that train a model of every family, with each mechanism that is quick."""

from functools import partial

import numpy as np
from stored_insides import explain_images, tiny_network, torch
from stored_results import NEARLY, Job, describe_record
from stored_tables import (
    A_NUMBER,
    PEOPLE,
    PIXELS,
    SIDE,
    THREE_CLASSES,
    TWO_CLASSES,
    asked,
    patients,
    people,
    pictures,
    three_classes,
    two_classes,
)

from voile import (
    Category,
    EBMClassifier,
    EBMRegressor,
    Federation,
    GLVQClassifier,
    GMLVQClassifier,
    LocallyLinearClassifier,
    LVQ1Classifier,
    Number,
    Schema,
)
from voile.federated import split_dirichlet, split_iid, split_sizes

TRUSTS = ("aggregator", "shares", "nobody")
PLACEMENTS = ("uniform", "selective", "shuffled", "sparse")
AVERAGING = ("client", "none", "dp_faithful", "random_faithful", "gradcam_faithful")
LOTS = {"sampling_rate": 0.25, "steps": 12}
"""The same for all maps: a price that was found is known the next time."""

DRAWN = {
    *("ebm-two-classes", "ebm-three-classes", "ebm-number", "linear-table", "linear-pictures"),
    *("gmlvq-gaussian", "gmlvq-three-classes", "glvq-pictures"),
}
"""Models whose pages are stored, too."""


def shown():
    """Pictures that somebody holds and asks about."""
    return pictures(3, 9)[0]


def known(estimator, schema, table, **settings):
    given = {"epsilon": 4.0, "random_state": 0, **settings}
    return estimator(schema=schema, **given).fit(*table())


def of_table(name, estimator, schema, table, **settings):
    train = partial(known, estimator, schema, table, **settings)
    return Job(name, train=train, asked=asked, pages=name in DRAWN)


def of_pictures(name, estimator, **settings):
    given = {"image_shape": (SIDE, SIDE), **settings}
    train = partial(known, estimator, PIXELS, flat, **given)
    return Job(name, train=train, asked=flat_shown, pages=name in DRAWN)


def flat():
    images, labels = pictures()
    return images.reshape(len(images), -1), labels


def flat_shown():
    return shown().reshape(3, -1)


def ebm_found():
    """With nothing known but kinds: bounds, levels and classes are found privately."""
    X, y = two_classes(1500)
    kinds = Schema({"age": Number(), "ward": Category(), "dose": Number()}, target=Category())
    return EBMClassifier(epsilon=30.0, schema=kinds, rounds=3, random_state=0).fit(X, y)


def ebm_weighted():
    X, y = two_classes()
    weights = np.where(X["age"] > 60, 2.0, 0.5)
    model = EBMClassifier(epsilon=4.0, schema=TWO_CLASSES, rounds=3, largest_weight=2.0)
    return model.fit(X, y, sample_weight=weights)


def ebm_edited():
    model = known(EBMClassifier, TWO_CLASSES, two_classes, rounds=4)
    editor = model.edit("Dr. Weber").monotone("age", why="risk rises with age")
    editor = editor.set("ward", 0.0, levels=["C"], why="closed since May").smooth("dose")
    return model.with_model(editor.drop("dose", why="not asked any more").undo(why="it is"))


def linear_from_teacher():
    teacher = known(EBMClassifier, TWO_CLASSES, two_classes, rounds=3)
    return LocallyLinearClassifier(schema=TWO_CLASSES, random_state=0).learn_from(teacher)


def federated(estimator, trust, clients, schema, table, **settings):
    X, y = table()
    names = list(X)
    parts = [
        ({name: X[name][some] for name in names}, y[some])
        for some in split_sizes(len(y), clients, seed=1)
    ]
    model = estimator(epsilon=4.0, random_state=0, **settings)
    with Federation.local(parts, schema, trust=trust) as federation:
        return model.fit_federated(federation)


def federated_ebm(trust):
    train = partial(
        federated, EBMClassifier, trust, [200, 150, 50], TWO_CLASSES, two_classes, rounds=3
    )
    return Job(f"federation-{trust}", train=train, asked=asked)


def network(placement):
    from voile.federated import NetworkClassifier

    torch.set_num_threads(1)
    given = {} if placement in ("uniform", "sparse") else {"public_images": pictures(12, 5)[0]}
    model = NetworkClassifier(
        epsilon=8.0,
        schema=PIXELS,
        architecture=tiny_network(),
        image_shape=(SIDE, SIDE),
        placement=placement,
        lot=60,
        steps=12,
        random_state=0,
        **given,
    )
    return model.fit(*pictures())


def averaged(noise):
    from voile.federated import FedAvgClassifier

    torch.set_num_threads(1)
    parts = [(X.reshape(len(X), -1), y) for X, y in (pictures(20, seed) for seed in range(6))]
    model = FedAvgClassifier(
        noise=noise,
        epsilon=8.0,
        architecture=tiny_network(),
        image_shape=(SIDE, SIDE),
        rounds=3,
        fraction=1.0,
        local_batch=10,
        random_state=3,
    )
    schema = Schema(dict(PIXELS), target=PIXELS.target)
    with Federation.local(parts, schema) as federation:
        return model.fit_federated(federation)


def heat_maps(folder):
    model = network("uniform")
    found = {}
    for method in ("grad_cam", "integrated_gradients", "smooth_grad"):
        record = explain_images(model, shown(), method=method, steps=8, samples=4)
        found |= describe_record(record, method, folder)
    return found


def splits(folder):
    labels = three_classes(120)[1]
    given = {
        "iid": split_iid(120, 4, seed=1),
        "sizes": split_sizes(120, [60, 40, 20], seed=1),
        "dirichlet": split_dirichlet(labels, 3, 0.5, seed=1),
    }
    lines = [
        f"{name}: {[np.asarray(one).tolist() for one in parts]}" for name, parts in given.items()
    ]
    return {"splits.txt": "\n".join(lines)}


PROTOTYPES = {"lvq1": LVQ1Classifier, "glvq": GLVQClassifier, "gmlvq": GMLVQClassifier}
MECHANISMS = {
    "gaussian": {"prototypes_per_class": 2},
    "sgd": {"epochs": 3, "rate": 0.1},
    "sample_aggregate": {"groups": 8},
    "center_of_attention": {"groups": 150, "epsilon": 8.0},
}
TRAINED_BY = {
    "lvq1": ("gaussian", "sample_aggregate", "center_of_attention"),
    "glvq": tuple(MECHANISMS),
    "gmlvq": ("gaussian", "sgd"),
}

JOBS = [
    of_table("ebm-two-classes", EBMClassifier, TWO_CLASSES, two_classes, rounds=4),
    of_table("ebm-three-classes", EBMClassifier, THREE_CLASSES, three_classes, rounds=4, bins=8),
    of_table("ebm-number", EBMRegressor, A_NUMBER, patients, rounds=4),
    of_table("ebm-cyclic", EBMClassifier, TWO_CLASSES, two_classes, rounds=4, method="cyclic"),
    of_table(
        "ebm-monotone", EBMRegressor, A_NUMBER, patients, rounds=3, monotone={"age": "increasing"}
    ),
    of_table("ebm-people", EBMClassifier, PEOPLE, people, rounds=3),
    Job("ebm-found", train=ebm_found, asked=asked),
    Job("ebm-weighted", train=ebm_weighted, asked=asked),
    Job("ebm-edited", train=ebm_edited, asked=asked, pages=True),
    of_table("linear-table", LocallyLinearClassifier, THREE_CLASSES, three_classes, **LOTS),
    of_table(
        "linear-readable",
        LocallyLinearClassifier,
        TWO_CLASSES,
        two_classes,
        **LOTS,
        preset="readable",
    ),
    Job("linear-from-teacher", train=linear_from_teacher, asked=asked),
    of_pictures("linear-pictures", LocallyLinearClassifier, maps=2, **LOTS),
    of_pictures(
        "linear-projection", LocallyLinearClassifier, **LOTS, maps=2, projection=12, copies=False
    ),
    *(
        of_table(
            f"{kind}-{name.replace('_', '-')}",
            estimator,
            TWO_CLASSES,
            two_classes,
            mechanism=name,
            **settings,
        )
        for kind, estimator in PROTOTYPES.items()
        for name, settings in MECHANISMS.items()
        if name in TRAINED_BY[kind]
    ),
    of_table("gmlvq-three-classes", GMLVQClassifier, THREE_CLASSES, three_classes),
    of_pictures("glvq-pictures", GLVQClassifier),
    *(federated_ebm(trust) for trust in TRUSTS),
    Job(
        "federation-glvq",
        train=partial(federated, GLVQClassifier, "shares", [300, 100], TWO_CLASSES, two_classes),
        asked=asked,
    ),
    Job(
        "federation-linear",
        train=partial(
            federated,
            LocallyLinearClassifier,
            "aggregator",
            [300, 100],
            TWO_CLASSES,
            two_classes,
            **LOTS,
        ),
        asked=asked,
    ),
    Job("splits", run=splits),
    *(
        Job(
            f"network-{name}",
            train=partial(network, name),
            asked=shown,
            tolerance=NEARLY,
            needs_torch=True,
        )
        for name in PLACEMENTS
    ),
    *(
        Job(
            f"fedavg-{name.replace('_', '-')}",
            train=partial(averaged, name),
            asked=flat_shown,
            tolerance=NEARLY,
            needs_torch=True,
        )
        for name in AVERAGING
    ),
    Job("heat-maps", run=heat_maps, tolerance=NEARLY, needs_torch=True),
]
