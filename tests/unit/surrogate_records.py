"""Local explanations of black boxes made by hand, for tests: no black box was asked."""

import numpy as np
from explained_models import make_receipt

from voile.explain import ExplainedFeature, LocalSurrogate

UNITS = "the model's own unit"
REVIEW = (
    "A wonderful film, and I was bored by none of it: the plot is brilliant, the acting less so. "
    "Brilliant music; a Film to see again, awful posters or not."
)
WORDS = ("brilliant", "wonderful", "awful", "bored", "film", "plot", "waste", "boring", "superb")


def number(name, lower=0.0, upper=1.0):
    return ExplainedFeature(name=name, column=name, level=None, lower=lower, upper=upper)


def levels(column, names):
    return tuple(
        ExplainedFeature(name=f"{column} = {one}", column=column, level=one, lower=0.0, upper=1.0)
        for one in names
    )


def make_surrogate(features, rows=2, outputs=("yes",), *, error=0.02, seed=0, **changed):
    """An explanation whose arrays are drawn at random, in the sizes they really have."""
    rng = np.random.default_rng(seed)
    features = tuple(features)
    count, several = len(features), len(outputs)
    columns = tuple(dict.fromkeys(one.column for one in features))
    strengths = rng.uniform(-1, 1, (rows, count))
    picked = rng.integers(0, 100, rows)
    given = [["0.25"] * len(columns) for _ in range(rows)]
    for i in range(rows):
        for c, column in enumerate(columns):
            places = [j for j, one in enumerate(features) if one.column == column]
            if features[places[0]].level is not None:
                own = places[picked[i] % len(places)]
                strengths[i, places] = 0.0
                strengths[i, own] = 1.0
                given[i][c] = features[own].level
    made = {
        "features": features,
        "given": tuple(map(tuple, given)),
        "read_as": tuple(("",) * len(columns) for _ in range(rows)),
        "values": rng.normal(0, 0.3, (rows, count, several)),
        "standard_errors": np.full((rows, count, several), error),
        "strengths": strengths,
        "scales": rng.uniform(0.2, 0.6, count),
        "intercepts": rng.uniform(0.3, 0.6, (rows, several)),
        "intercept_errors": np.full((rows, several), error),
        "scores": rng.uniform(0.2, 0.9, (rows, several)),
        "agreement": rng.uniform(0.6, 1.0, (rows, several)),
        "r2": rng.uniform(0.2, 0.9, (rows, several)),
        "effective_share": rng.uniform(0.05, 0.9, rows),
        "distance": rng.uniform(0.2, 1.4, rows),
        "answered": ("summary",) * rows,
        "steps": (0,) * rows,
        "weight": "stable, c = 1",
        "radius": 5.0,
        "has_intercept": True,
        "outputs": tuple(outputs),
        "units": UNITS,
        "receipt": make_receipt(),
    }
    return LocalSurrogate(**{**made, **changed})


def census_surrogate(rows=2, **changed):
    features = (
        number("age", 17, 90),
        *levels("workclass", ["Private", "Federal-gov", "Self-emp-inc"]),
        number("hours per week", 1, 99),
        *levels("sex", ["Female", "Male"]),
    )
    return make_surrogate(features, rows, (">50K",), **changed)


def review_surrogate(outputs=("positive",), text=REVIEW, words=WORDS, **changed):
    given = {"given": ((),), "read_as": ((),)}
    features = tuple(map(number, words))
    more = {"words": True, "texts": (text,), "error": 0.1, **given, **changed}
    return make_surrogate(features, 1, outputs, **more)


def picture_surrogate(shape=(6, 5), rows=2, outputs=("a face",), **changed):
    size = int(np.prod(shape))
    features = tuple(number(f"pixel {j}") for j in range(size))
    empty = ((),) * rows
    more = {"picture": shape, "given": empty, "read_as": empty, **changed}
    return make_surrogate(features, rows, outputs, **more)
