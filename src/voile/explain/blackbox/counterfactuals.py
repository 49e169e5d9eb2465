"""What would have to change for another answer of a black box, from its synthetic population.

The black box is asked about made-up rows: the asked row with some values changed to those that
released figures show to be usual. Everything here is post-processing of the summary; it costs
nothing, and no private row takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from voile.errors import SettingError
from voile.explain.blackbox.answers.questions import Questions
from voile.explain.blackbox.rows.black_box import AnswerKind, BlackBox
from voile.explain.blackbox.synthetic.summary import SyntheticRows
from voile.explain.counterfactuals.actions import check_sure, read_actions
from voile.explain.counterfactuals.goals import AnswerUnit, ModelAnswers
from voile.explain.counterfactuals.record import Counterfactuals
from voile.explain.counterfactuals.ruler import rule_by_rows
from voile.explain.counterfactuals.suggest import AskedModel
from voile.explain.counterfactuals.usual import Others
from voile.privacy.receipt import Receipt
from voile.progress import progress_bar
from voile.schema import Schema

Floats = NDArray[np.float64]

METHOD = (
    "Suggestions were searched for: no change in one of them is needless, and numbers go no "
    "further than needed; that nothing smaller exists is not proven. The black box was asked about "
    "every suggested row."
)
_OTHERS: WeakKeyDictionary[SyntheticRows, Others] = WeakKeyDictionary()
"""How usual rows are takes half a second to know, and is the same for all questions."""

_COST = "costs nothing: computed from the summary that was paid for once"


def find_counterfactuals(
    questions: Questions,
    ask: Callable[[dict[str, NDArray[Any]], int], Floats],
    drawn: SyntheticRows,
    known: Floats,
    receipt: Receipt,
    Z: object,
    want: object,
    *,
    change: Sequence[str] | None,
    keep: Sequence[str],
    directions: Mapping[str, str] | None,
    most: int,
    sure: bool,
    public: bool,
) -> Counterfactuals:
    """What would have to change in some rows.

    Parameters
    ----------
    questions : Questions
    ask : callable
        From encoded columns and their number of rows to what the black box says of them, in its own
        unit, shape (rows, outputs).
    drawn : SyntheticRows
    known : ndarray of shape (rows, outputs)
        What the black box says of these, in its own unit.
    receipt : Receipt
    Z : table of shape (rows, columns), or one row
    want, change, keep, directions, most, sure
        As `PrivateExplainer.counterfactuals` takes them.
    public : bool
        Whether public rows stand in for synthetic ones.
    """
    schema, black_box = questions.schema.with_unit(None), questions.black_box
    if questions.given.image_shape is not None:
        raise SettingError(
            "What would have to change is asked of columns, and these rows are pictures: use "
            "explain(), which draws a heat map."
        )
    read = {one.name for one in questions.given.form.columns}
    actions = read_actions(
        schema,
        change=change,
        keep=keep,
        directions=directions,
        most=most,
        unused=[name for name in schema if name not in read],
    )
    others = _others(schema, drawn, public=public)
    answers = _read_answers(black_box)

    def ask_all(columns: Mapping[str, NDArray[Any]], count: int) -> Floats:
        return _both_classes(black_box, ask(dict(columns), count))

    model = AskedModel(
        schema,
        answers,
        ask_all,
        actions,
        others.ruler,
        others,
        _both_classes(black_box, known),
        sure=check_sure(sure),
    )
    asked = questions.read(Z)
    with progress_bar("searching", asked.rows) as progress:
        found = model.suggest(asked.columns, questions.given.tell(Z, schema), want, progress)
    return Counterfactuals(
        outputs=answers.names,
        units=answers.unit,
        receipt=receipt,
        cost=_COST,
        columns=tuple(schema),
        changeable=actions.told,
        chosen=actions.chosen,
        unit=answers.unit,
        ruler=others.ruler.told,
        among=others.told,
        effective=others.effective,
        sure=model.sure,
        method=METHOD,
        rows=found,
    )


def _others(schema: Schema, drawn: SyntheticRows, *, public: bool) -> Others:
    """Synthetic rows as those by which it is judged how usual a row is; made once for them."""
    if drawn not in _OTHERS:
        rows = "public rows that stand in for the private ones" if public else "synthetic rows"
        ruler = rule_by_rows(schema, drawn.columns, drawn.weights, f"of the {rows}")
        _OTHERS[drawn] = Others(schema, drawn.columns, drawn.weights, ruler, f"the {rows}")
    return _OTHERS[drawn]


def _read_answers(black_box: BlackBox) -> ModelAnswers:
    """What a black box answers with, where one of two classes has its mirror image beside it."""
    if black_box.answer is AnswerKind.NUMBERS:
        if len(black_box.outputs) > 1:
            raise SettingError(
                f"The model has {len(black_box.outputs)} outputs: say which one should change, by "
                "explainer.with_model(model, output=...)."
            )
        return ModelAnswers("number", (), ("prediction",), *black_box.bounds)
    classes = black_box.classes or ()
    if len(classes) > 2:
        classes = tuple(classes[place] for place in black_box.places)
    unit: AnswerUnit = "label" if black_box.answer is AnswerKind.LABELS else "probability"
    return ModelAnswers(unit, classes, tuple(map(str, classes)))


def _both_classes(black_box: BlackBox, found: Floats) -> Floats:
    """Answers with those of the other class where one of two is explained."""
    if len(black_box.classes or ()) != 2:
        return found
    return np.hstack([1.0 - found, found] if black_box.places == (1,) else [found, 1.0 - found])
