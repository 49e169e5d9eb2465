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
from voile.models.evaluation.answers import watched
from voile.models.evaluation.error_queries import ErrorSizes, ErrorSums, GroupErrors
from voile.models.evaluation.queries import (
    ClassScores,
    ConfusionCells,
    GroupCells,
    Prepared,
    ScoreCells,
    ScorePart,
)
from voile.models.evaluation.strategy import best_strategy
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


def score_query(kind, classes, cuts, chosen, *, by_class):
    """Mixtures of the cells of every score that is watched."""
    scored = watched(model_of(kind, classes))
    strategy = best_strategy(len(cuts) + 1, min(chosen, len(cuts)))
    parts = tuple(ScorePart(i, cuts, strategy) for i in range(len(scored)))
    query = ClassScores(parts, scored) if by_class else ScoreCells(parts)
    return prepared_for(query, kind, classes)


kinds = st.sampled_from(list(KINDS))
cuts = st.lists(st.floats(-8, 8), min_size=1, max_size=5, unique=True).map(sorted).map(tuple)
either = st.sampled_from([2, 3])
clips = st.sampled_from([1e-9, 0.3, 5.0, 1e9])
scored = (kinds, either, cuts, st.integers(0, 5))

evaluated = {
    ConfusionCells: st.builds(lambda k, c: prepared_for(ConfusionCells(c), k, c), kinds, either),
    GroupCells: st.builds(lambda k, c: prepared_for(GroupCells(c, "c", 3), k, c), kinds, either),
    ScoreCells: st.builds(lambda *how: score_query(*how, by_class=False), *scored),
    ClassScores: st.builds(lambda *how: score_query(*how, by_class=True), *scored),
    ErrorSizes: st.floats(-3, 4).map(
        lambda constant: prepared_for(ErrorSizes(5.0, constant), "additive", 0)
    ),
    GroupErrors: clips.map(lambda clip: prepared_for(GroupErrors(clip, "c", 3), "additive", 0)),
    ErrorSums: st.builds(
        lambda clip, other, constant, at: prepared_for(
            ErrorSums(clip, other, constant, at), "additive", 0
        ),
        clips,
        clips,
        st.floats(-3, 4),
        cuts,
    ),
}
"""How to draw an instance of each question of an evaluation."""
