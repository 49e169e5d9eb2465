"""Edits of a trained model: a person changes scores, says why, and can take everything back.

Editing reads no rows: it is post-processing, costs nothing, and leaves the receipt as it is. Every
change is an `Edit` that is stored with the model and can be applied again to another one. What is
taken back stays in the model's history, with who took it back and when.

What an edit does to the standard errors: a score that a person
gave has none; interpolated, smoothed and scaled scores are linear in the old ones and get the error
that follows (bins, and cells of pairs, taken as independent); the nearest monotone or convex curve
keeps the old errors, because a projection is not linear, and brings a curve no farther from the
true one if that one has the shape.
"""

from __future__ import annotations

import datetime as dt
import getpass
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from voile.errors import ModelError, SettingError, VoileError
from voile.models.ebm.model import EBMModel
from voile.models.ebm.operations import apply_edit, to_settings
from voile.models.ebm.part_names import PartName, find_part
from voile.models.history import REDO, REVERT, UNDO, Edit
from voile.schema.columns import Level
from voile.schema.dates import Moment
from voile.strict import is_text

Range = tuple[float, float] | tuple[Moment, Moment]
"""Two ends of a number's range, or of a date's."""

Side = Range | Sequence[Level | None] | Level | None
"""Part of one side of a pair: a range, levels, or None for missing values."""


class Editor:
    """Changes a model step by step; the model it was given stays as it is.

    Methods return the editor, so that they can be chained. Each takes ``why``, the reason, which is
    kept in the history.

    Ranges are ``between=(a, b)``: values from a up to, but without, b; if b is the column's upper
    bound, with it. Of whole numbers and days both ends belong to the range; ends of dates are given
    as in ``Date``. A bin that a or b cuts through is split there, so that exactly the range
    changes; its private count, and the count's error, are divided by width.

    A pair of columns is named by both, in either order: ``("age", "ward")``, or ``"age & ward"``
    unless a column is called so. Parts of its grid are given by column, as in
    ``where={"age": (30, 50), "ward": ["B", "C"]}``; a column left out means all of its values,
    missing ones included, and None means missing values. Cells that a border cuts through are split
    there, too; the counts of levels that were one part are divided evenly.

    ``output`` chooses a class of a model with three or more: its label or, if that is no label, its
    position. Without it, all classes change. A model of two classes has one score, that of the
    second class, in log-odds; a regression has one, in the target's units.

    Parameters
    ----------
    model : EBMModel
        A trained or already edited model.
    who : str or None
        The author of the changes; by default the name of the user.

    Examples
    --------
    >>> editor = Editor(model, who="Dr. Weber")                            # doctest: +SKIP
    >>> editor.monotone("age", why="risk rises with age")                  # doctest: +SKIP
    >>> editor.set("job", 0.0, levels=["nurse"], why="not to be used")     # doctest: +SKIP
    >>> editor.model                                                       # doctest: +SKIP
    """

    def __init__(self, model: EBMModel, who: str | None = None) -> None:
        self._who = _text(_user() if who is None else who, "who")
        self._model = model
        self._past: list[_EditStep] = []
        self._future: list[_EditStep] = []

    @property
    def model(self) -> EBMModel:
        """The model with all changes so far; the given one itself if there are none."""
        return self._model

    @property
    def history(self) -> tuple[Edit, ...]:
        """Everything done since training, what was taken back included; also by those before."""
        return self._model.history

    # -- changes --------------------------------------------------------------------------------

    def set(
        self,
        term: PartName,
        value: float,
        *,
        between: Range | None = None,
        levels: Sequence[Level] | Level | None = None,
        missing: bool = False,
        where: Mapping[str, Side] | None = None,
        output: object = None,
        why: str = "",
    ) -> Self:
        """Give the score in a range, of some levels, of missing values, or in part of a pair.

        Parameters
        ----------
        term : str or tuple of two str
            Name of the column, or of both columns of a pair.
        value : float
            The score, finite. It has no noise: its standard error becomes 0.
        between : pair of float or dates, or None
            A range of a number or date.
        levels : list of levels or None
            Levels of a category; "(other)" stands for those that are not listed.
        missing : bool
            Missing values. Exactly one of `between`, `levels` and `missing` must be given.
        where : mapping of str to range, levels or None, or None
            Of a pair, instead: the part of one column or of both.
        """
        return self._apply(
            "set",
            term,
            why,
            value=value,
            between=between,
            levels=_listed(levels),
            missing=True if missing else None,
            where=where,
            output=output,
        )

    def interpolate(
        self, term: PartName, between: Range, *, output: object = None, why: str = ""
    ) -> Self:
        """Draw a straight line over a range, from the bin before it to the bin after it.

        Linear in the bins' centres. At an end of the column, the one neighbour's score is taken.
        """
        return self._apply("interpolate", term, why, between=between, output=output)

    def smooth(
        self,
        term: PartName,
        strength: float = 1.0,
        between: Range | None = None,
        *,
        where: Mapping[str, Side] | None = None,
        output: object = None,
        why: str = "",
    ) -> Self:
        """Smooth a curve, or a range of it, by penalised bends (Whittaker), weighted by counts.

        Parameters
        ----------
        term : str or tuple of two str
            Name of a numeric column, or a pair with one at least. A pair is smoothed along each of
            its numbers and ordered levels; levels without an order each by themselves.
        strength : float
            > 0, without a unit: 1 evens out neighbours, 1000 leaves a gentle curve.
        between : pair of float or None
            Only this range; scores outside neither change nor matter.
        where : mapping of str to range, levels or None, or None
            The same of a pair, by column.
        """
        return self._apply(
            "smooth", term, why, strength=strength, between=between, where=where, output=output
        )

    def monotone(
        self,
        term: PartName,
        direction: Literal["increasing", "decreasing"] = "increasing",
        between: Range | None = None,
        *,
        output: object = None,
        why: str = "",
    ) -> Self:
        """Take the nearest curve that only rises or only falls (isotonic regression by counts)."""
        return self._apply(
            "monotone", term, why, direction=direction, between=between, output=output
        )

    def convex(
        self,
        term: PartName,
        shape: Literal["convex", "concave"] = "convex",
        *,
        output: object = None,
        why: str = "",
    ) -> Self:
        """Take the nearest curve that bends only upwards ("convex") or downwards ("concave")."""
        return self._apply("convex", term, why, shape=shape, output=output)

    def drop(self, term: PartName, *, why: str = "") -> Self:
        """Take a column out of the model: all its scores become 0, missing values included.

        So do those of all pairs that it is in: predictions no longer need the column. A pair that
        is dropped by its own name leaves both columns as they are.

        The intercept stays: scores are centred in training, so the mean that would have to be added
        is about 0. After other edits it may not be, and predictions then shift by it.
        """
        return self._apply("drop", term, why)

    def scale(self, term: PartName, factor: float, *, output: object = None, why: str = "") -> Self:
        """Multiply all scores of a column or pair, and their errors, by a finite factor."""
        return self._apply("scale", term, why, factor=factor, output=output)

    # -- and back -------------------------------------------------------------------------------

    def undo(self, *, why: str = "") -> Self:
        """Take the last change back, also one that was stored with the given model.

        The change stays in the history, and so does who took it back, and when.
        """
        if not self._past:
            self._past.append(_EditStep(_before_last_edit(self._model), self._model.edits[-1]))
        step = self._past.pop()
        self._future.append(_EditStep(self._model, step.change))
        self._go_to(step.model, UNDO, why, step.change)
        return self

    def redo(self, *, why: str = "") -> Self:
        """Make the change again that `undo` took back last."""
        if not self._future:
            raise ModelError("There is nothing to redo: no change was taken back since the last.")
        step = self._future.pop()
        self._past.append(_EditStep(self._model, step.change))
        self._go_to(step.model, REDO, why, step.change)
        return self

    def revert(self, *, why: str = "") -> Self:
        """Go back to the model as it was trained; `undo` takes this back.

        No edit is in force then; all of them stay in the history.
        """
        if self._model.original is not None:
            before = self._model
            self._go_to(before.original, REVERT, why)
            self._past.append(_EditStep(before, self._model.history[-1]))
            self._future.clear()
        return self

    def _go_to(
        self, model: EBMModel | None, move: str, why: str, change: Edit | None = None
    ) -> None:
        """Take another state of the model, whose history goes on from the present one."""
        assert model is not None
        about = {} if change is None else {"what": change.what, "when": change.when}
        made = self._edit(move, "" if change is None else change.term, why, about)
        self._model = replace(model, history=(*self._model.history, made))

    def _apply(self, what: str, term: PartName, why: str, **settings: object) -> Self:
        name = find_part(self._model, term).name
        edit = self._edit(what, name, why, to_settings(self._model, settings))
        changed = apply_edit(self._model, edit)
        self._past.append(_EditStep(self._model, edit))
        self._future.clear()
        self._model = changed
        return self

    def _edit(self, what: str, term: str, why: str, settings: Mapping[str, Any]) -> Edit:
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        return Edit(what, term, settings, _text(why, "why"), self._who, now)


@dataclass(frozen=True)
class _EditStep:
    """A state of the model to go to, and the change that lies between."""

    model: EBMModel
    change: Edit


def replay(model: EBMModel, edits: Iterable[Edit]) -> EBMModel:
    """Apply stored edits to a model, for instance to one trained anew with another budget.

    On the model that they were made for, they give the same scores to the bit.

    Parameters
    ----------
    model : EBMModel
        Needs the terms, bounds, levels and classes that the edits name.
    edits : iterable of Edit
        In order; appended to the model's history as they are.

    Raises
    ------
    ModelError
        If an edit does not fit the model; it names the edit.
    """
    for number, edit in enumerate(edits, 1):
        try:
            model = apply_edit(model, edit)
        except VoileError as error:
            raise ModelError(
                f"Edit {number} ({edit.what!r} of {edit.term!r}) does not fit the model. {error}"
            ) from error
    return model


def _before_last_edit(model: EBMModel) -> EBMModel:
    if model.original is None:
        raise ModelError("There is nothing to undo: the model is as it was trained.")
    return replay(model.original, model.edits[:-1])


def _listed(levels: object) -> object:
    """A single level as a list of it."""
    return [levels] if isinstance(levels, str | int | float | np.generic) else levels


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in a container
        return "unknown"


def _text(text: object, name: str) -> str:
    if not isinstance(text, str) or not is_text(text):
        raise SettingError(f"An edit's {name!r} must be text. Got {text!r} instead.")
    return text
