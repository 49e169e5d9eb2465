"""Maps that learn from a richer private model, on public inputs: no access to private rows.

The teacher's answers follow from what its training released, so whatever is learned from them has
the teacher's guarantee, and costs nothing more. Named by Harder et al. (2020) as future work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from voile.errors import DataError, SettingError
from voile.models.descent import Adam
from voile.models.locally_linear.inputs import Inputs
from voile.models.locally_linear.model import LocallyLinearModel
from voile.models.locally_linear.settings import Schedule, Settings, check, choose
from voile.models.locally_linear.train import Trained, freeze, start_weights
from voile.privacy.budget import Budget
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable
from voile.progress import progress_bar
from voile.schema import Category, Schema
from voile.schema.columns import Level

Floats = NDArray[np.float64]

MADE_UP_ROWS = 20_000

ROWS_GIVEN_AS_PUBLIC = (
    "The model learned from a teacher's answers about rows that were given as public: the "
    "guarantee does not cover those rows."
)
_LOT = 512


def receipt_of(teacher: object) -> Receipt:
    """The teacher's receipt; refuses one without."""
    for name in ("receipt_", "receipt"):
        found = getattr(teacher, name, None)
        if isinstance(found, Receipt):
            return found
    raise SettingError(
        f"The teacher, a {type(teacher).__name__}, has no receipt, so nobody knows what its "
        "answers give away: give a model of this library, or set its 'receipt_' to the "
        "voile.Receipt of its training."
    )


def classes_of(teacher: object, answers: Floats) -> tuple[Level, ...]:
    """The teacher's classes, or their numbers if it does not name them."""
    found = getattr(teacher, "classes_", None)
    named = range(answers.shape[1]) if found is None else np.asarray(found, dtype=object).tolist()
    if len(named) != answers.shape[1]:
        raise SettingError(
            f"The teacher names {len(named)} classes and gives {answers.shape[1]} probabilities: "
            "they must be as many."
        )
    return tuple(one.item() if isinstance(one, np.generic) else one for one in named)


def make_up(schema: Schema, rows: int, random_state: int | None) -> dict[str, Any]:
    """Rows drawn evenly from the public bounds and levels, each column on its own."""
    rng = np.random.default_rng(random_state)
    made: dict[str, Any] = {}
    for name, column in schema.items():
        if isinstance(column, Category):
            levels = np.array(column.levels, dtype=object)
            made[name] = levels[rng.integers(0, len(levels), rows)]
        elif column.lower is not None and column.upper is not None:
            made[name] = rng.uniform(column.lower, column.upper, rows)
    return made


def schema_of(teacher: object, own: Schema | None) -> Schema:
    """Names, kinds, bounds and levels: the student's, or the teacher's; nothing is read off rows.

    Raises
    ------
    SettingError
        If it is not complete.
    """
    found = own or getattr(getattr(teacher, "model_", None), "schema", None)
    if isinstance(found, Schema) and found.with_target(None).known:
        return found.with_target(None).with_unit(None)
    raise SettingError(
        "Learning from a teacher needs a complete schema, because nothing is read off the rows: "
        "give bounds of all numbers and levels of all categories, such as Schema({'x0': "
        "Number(0, 255), ...}), or a teacher of this library, which has one."
    )


def learn(
    teacher: Any,
    X: object,
    schema: Schema | None,
    settings: Settings,
    *,
    rows_are_public: bool = False,
) -> LocallyLinearModel:
    """Train maps to give the teacher's probabilities.

    Parameters
    ----------
    teacher : object
        With ``predict_proba`` and a receipt.
    X : table of shape (rows, columns), or None
        Public rows; None makes some up from the schema.
    schema : Schema, optional
        Bounds and levels; without one, those of the teacher.
    settings : Settings
    rows_are_public : bool
        Whether anybody may see ``X``: what is made of it is in the model, and nothing covers it.
    """
    receipt = receipt_of(teacher)
    for name in ("projection", "clip", "sampling_rate", "copies"):
        if getattr(settings, name) not in (None, False):
            raise SettingError(
                f"The '{name}' is for training on private rows: leave it out when learning from a "
                "teacher."
            )
    if isinstance(X, PrivateTable):
        raise DataError(
            "A teacher is asked about public rows, which anybody may see: give public or made-up "
            "rows, not a protected table."
        )
    if X is not None and rows_are_public is not True:
        raise SettingError(
            "The rows X leave traces in the model, which the teacher's receipt does not cover: if "
            "anybody may see them, say so with rows_are_public=True; if not, leave them out, and "
            "rows are made up from the schema."
        )
    public = schema_of(teacher, schema)
    if X is None:
        if settings.image_shape:
            raise SettingError(
                "Rows can be made up for tables, not for pictures: give public pictures X, and "
                "rows_are_public=True."
            )
        X = make_up(public, MADE_UP_ROWS, settings.random_state)
    else:
        notes = dict.fromkeys((*receipt.notes, ROWS_GIVEN_AS_PUBLIC))
        receipt = replace(receipt, notes=tuple(notes))
    answers = _ask(teacher, X)
    described = public.with_target(Category(classes_of(teacher, answers)))
    check(described, settings)
    schedule = choose(settings, Budget(np.inf, 0.0), sampled=True)
    columns = encode_public(X, described)
    if len(answers) != len(next(iter(columns.values()))):
        raise DataError("The teacher must give one line of probabilities per row of X.")
    inputs = _look_around(schedule.uncentred(described), columns, schedule)
    points = inputs.place(inputs.transform(inputs.read(columns, len(answers))))
    with progress_bar("learning", schedule.steps) as progress:
        trained = _follow(points, answers, schedule, progress)
    return freeze(inputs, schedule, trained, receipt, type(teacher).__name__)


def _ask(teacher: Any, X: object) -> Floats:
    if not hasattr(teacher, "predict_proba"):
        raise SettingError(
            f"The teacher, a {type(teacher).__name__}, has no predict_proba: give a classifier "
            "that has."
        )
    answers = np.asarray(teacher.predict_proba(X), dtype=np.float64)
    if answers.ndim != 2 or answers.shape[1] < 2 or not len(answers):
        raise DataError(
            "The teacher's predict_proba must give an array of shape (rows, classes), with two "
            f"classes or more. Got shape {answers.shape} instead."
        )
    sums = answers.sum(axis=1)
    if not (
        np.isfinite(answers).all() and (answers >= 0).all() and np.allclose(sums, 1, atol=1e-3)
    ):
        raise DataError("The teacher's answers are no probabilities: they must sum to 1 per row.")
    return np.asarray(answers / sums[:, None])


def _look_around(plain: Inputs, columns: dict[str, Any], schedule: Schedule) -> Inputs:
    """Inputs with the mean of the public rows."""
    if schedule.centring == "none":
        return plain
    rows = len(next(iter(columns.values())))
    features = plain.read(columns, rows)
    length = float(np.linalg.norm(features, axis=1).mean())
    return plain.with_centre(plain.directions(features).mean(axis=0), length)


def _follow(
    points: Floats, answers: Floats, schedule: Schedule, progress: Callable[[int], None]
) -> Trained:
    """Descend the cross-entropy with the teacher's probabilities."""
    rows, classes = answers.shape
    weights = start_weights(schedule, classes, points.shape[1])
    inputs = np.column_stack([points, np.full(rows, schedule.bias)])
    rate = schedule.learning_rate_for(classes)
    adam = Adam(weights, rate, schedule.steps, schedule.average)
    order = np.random.default_rng(schedule.settings.random_state).permutation(rows)
    lot = min(_LOT, rows)
    for number in range(schedule.steps):
        start = (number * lot) % max(rows - lot + 1, 1)
        some = order[start : start + lot]
        adam.step(_gradient(inputs[some], answers[some], adam.weights, schedule.beta))
        progress(number + 1)
    return Trained(adam.mean, np.zeros_like(adam.mean))


def _gradient(inputs: Floats, answers: Floats, weights: Floats, beta: float) -> Floats:
    """Mean gradient of the cross-entropy with soft answers, in the shape of the weights."""
    classes, maps, size = weights.shape
    scores = (inputs @ weights.reshape(-1, size).T).reshape(-1, classes, maps)
    shares = softmax(beta * scores, axis=2)
    blended = (shares * scores).sum(axis=2, keepdims=True)
    push = softmax(blended[:, :, 0], axis=1) - answers
    pulls = push[:, :, None] * shares * (1.0 + beta * (scores - blended))
    flat = pulls.reshape(len(inputs), -1).T @ inputs / len(inputs)
    return np.asarray(flat.reshape(weights.shape))
