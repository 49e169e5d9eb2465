"""Models to evaluate, of every kind and over one set of columns, and the questions of them."""

from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

from voile import (
    EBMClassifier,
    EBMRegressor,
    GMLVQClassifier,
    LocallyLinearClassifier,
    Number,
    Schema,
)
from voile.models.evaluation.queries import (
    ClassMargins,
    ConfidenceCells,
    ConfusionCells,
    ErrorSizes,
    ErrorSums,
    GroupCells,
    GroupErrors,
    MarginCells,
    Prepared,
)
from voile.schema import Category

TWO, THREE = Category(["a", "b"]), Category(["a", "b", 1])
KINDS = {
    "additive": (EBMClassifier, {"rounds": 2}),
    "prototypes": (GMLVQClassifier, {}),
    "maps": (LocallyLinearClassifier, {}),
}


@lru_cache(maxsize=16)
def model_of(kind, classes):
    """A trained model; some noise makes its numbers as crooked as real ones are."""
    target = {0: Number(-2, 3), 2: TWO, 3: THREE}[classes]
    features = {"n": Number(-2, 3), "u": Number(-1e3, 1e3), "c": Category(["a", "b", 1])}
    schema = Schema(features, target=target)
    rng = np.random.default_rng(classes)
    X = {
        "n": rng.uniform(-2, 3, 400),
        "u": rng.uniform(-1e3, 1e3, 400),
        "c": rng.choice(np.array(["a", "b", 1], dtype=object), 400),
    }
    if classes == 0:
        return EBMRegressor(epsilon=20, schema=schema, rounds=2).fit(X, X["n"]).model_
    y = np.array([target.levels[int(v > 0) + (v > 1.5) * (classes - 2)] for v in X["n"]], object)
    cls, settings = KINDS[kind]
    return cls(epsilon=20, schema=schema, random_state=0, **settings).fit(X, y).model_


def prepared_for(query, kind, classes):
    """Say how rows are prepared for a query, as the other queries of models do."""
    model = model_of(kind, classes)
    object.__setattr__(query, "layout", Prepared(model, model.schema, ("c",)))
    return query


kinds = st.sampled_from(list(KINDS))
cuts = st.lists(st.floats(-8, 8), min_size=1, max_size=5, unique=True).map(sorted).map(tuple)
either = st.sampled_from([2, 3])

evaluated = {
    ConfusionCells: st.builds(lambda k, c: prepared_for(ConfusionCells(c), k, c), kinds, either),
    GroupCells: st.builds(lambda k, c: prepared_for(GroupCells(c, "c", 3), k, c), kinds, either),
    MarginCells: st.builds(lambda k, at: prepared_for(MarginCells(at), k, 2), kinds, cuts),
    ClassMargins: st.builds(lambda k, at: prepared_for(ClassMargins(at), k, 2), kinds, cuts),
    ConfidenceCells: st.builds(lambda k, at: prepared_for(ConfidenceCells(at), k, 3), kinds, cuts),
    ErrorSizes: st.just(0).map(lambda _: prepared_for(ErrorSizes(5.0), "additive", 0)),
    GroupErrors: st.sampled_from([1e-9, 0.3, 5.0, 1e9]).map(
        lambda clip: prepared_for(GroupErrors(clip, "c", 3), "additive", 0)
    ),
    ErrorSums: st.sampled_from([1e-9, 0.3, 5.0, 1e9]).map(
        lambda clip: prepared_for(ErrorSums(clip), "additive", 0)
    ),
}
"""How to draw an instance of each question of an evaluation."""
