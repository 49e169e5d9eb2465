"""Explanations of a prototype model: its typical points, and why single rows are near to them.

Everything here is computed from the released values of the model and from rows that the caller
holds anyway, so it costs nothing. No row of the training table can be shown: the model has none.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.errors import DataError
from voile.explain.given_values import Texts, explain_features, tell_features
from voile.explain.lvq.border import View, find_joint_move, find_single_moves
from voile.explain.lvq.local import (
    Change,
    JointChange,
    LVQLocalExplanation,
    PrototypeDecision,
)
from voile.explain.lvq.overall import MOST_PAIRS, LVQExplanation
from voile.explaining import explains
from voile.models.lvq.evidence import ClassEvidence
from voile.models.lvq.model import LVQModel
from voile.models.verdict import ColumnVerdict, allow_for_many, judge
from voile.privacy.public_rows import encode_public
from voile.schema.scale import step_of

Floats = NDArray[np.float64]

UNITS = "squared distance"


@explains(LVQModel)
def explain_global(model: LVQModel) -> LVQExplanation:
    """Show a whole model: every prototype with its noise, and what the distance looks at."""
    features, matrix = model.features, model.relevance
    diagonal = np.diag(matrix)
    picture = model.image_shape is not None
    related = () if picture else _most_relevant(diagonal)
    unscaled = features.in_units(np.zeros(len(features))) + features.width_in_units(
        model.prototypes
    )
    values = features.in_units(model.prototypes)
    # A rounding error beyond a bound is none that anybody could see.
    beyond = np.abs(unscaled - values) > 1e-9 * features.width_in_units(np.ones(len(features)))
    p_values = _p_values(model)
    return LVQExplanation(
        outputs=tuple(map(str, model.classes)),
        units=UNITS,
        receipt=model.receipt,
        model_kind=model.kind,
        mechanism=model.mechanism,
        features=explain_features(model.features),
        verdicts=_verdicts(p_values),
        labels=tuple(map(int, model.labels)),
        values=values,
        standard_errors=features.width_in_units(model.whole_errors),
        beyond=tuple(map(int, beyond.sum(axis=1))),
        means=features.in_units(model.means),
        counts=model.counts,
        distance_from_mean=model.distance_from_mean,
        relevance=diagonal,
        related=related,
        pairs=matrix[np.ix_(related, related)],
        image_shape=model.image_shape,
        noise_errors=None
        if model.evidence is None
        else features.width_in_units(model.prototype_errors),
        evidence=_in_units(model),
        p_values=p_values,
    )


def _p_values(model: LVQModel) -> Floats | None:
    """Of each column, allowing for all of them; None for pictures, or if nothing is known."""
    evidence = model.evidence
    if evidence is None or model.image_shape is not None:
        return None
    names = [one.column for one in model.features.each]
    places = [[j for j, name in enumerate(names) if name == own] for own in dict.fromkeys(names)]
    return allow_for_many([evidence.p_value(own) for own in places])


def _verdicts(p_values: Floats | None) -> tuple[ColumnVerdict, ...]:
    return () if p_values is None else tuple(judge(p) for p in p_values.tolist())


def _in_units(model: LVQModel) -> ClassEvidence | None:
    """The evidence in the columns' own units."""
    found, features = model.evidence, model.features
    if found is None:
        return None
    widths = features.width_in_units(np.ones(len(features)))
    middle = features.in_units(np.zeros(len(features)))
    return replace(
        found,
        estimates=middle + found.estimates * widths,
        noise_variances=found.noise_variances * widths**2,
        sampling_variances=found.sampling_variances * widths**2,
        prototype_variances=found.prototype_variances * widths**2,
    )


@explains(LVQModel, rows=True)
def explain_local(model: LVQModel, X: object) -> LVQLocalExplanation:
    """Show why some rows got their class, and what would have to change for another.

    Parameters
    ----------
    model : LVQModel
    X : data frame, array, mapping or list of rows, shape (rows, columns)
        Rows that the caller holds; they are not kept behind the vault.

    Returns
    -------
    LVQLocalExplanation
        With the metric L, the parts ``(x - v)_j (L (x - v))_j - (x - w)_j (L (x - w))_j`` of the
        features j add up to the difference of the squared distances to the nearest prototype v of
        another class and to the nearest one w of the row's class.
    """
    if not len(model.labels):
        raise DataError("The model has no prototypes: train it on a table with rows.")
    # Who is protected matters in training alone: rows to explain need not say whose they are.
    columns = encode_public(X, model.schema.with_unit(None))
    teller = _Teller(model)
    centre = model.features.in_units(model.centre)
    given, read_as = tell_features(model.schema, teller.features, X, columns, centre)
    points = model.points(columns) if given else np.zeros((0, len(model.features)))
    return LVQLocalExplanation(
        outputs=tuple(map(str, model.classes)),
        units=UNITS,
        receipt=model.receipt,
        features=teller.features,
        verdicts=_verdicts(_p_values(model)),
        labels=tuple(map(int, model.labels)),
        prototypes=model.features.in_units(model.prototypes),
        standard_errors=model.features.width_in_units(model.whole_errors),
        whole=model.evidence is not None,
        decisions=teller.tell(points, given, read_as),
        image_shape=model.image_shape,
    )


class _Teller:
    """A model with what is the same for all rows, among it the metric L."""

    def __init__(self, model: LVQModel) -> None:
        self.model = model
        self.features = explain_features(model.features)
        self.metric: Floats = model.omega.T @ model.omega
        self.numbers = np.array([one.level is None for one in self.features], dtype=bool)
        places: dict[str, list[int]] = {}
        for j, one in enumerate(self.features):
            places.setdefault(one.column, []).append(j)
        self.places = places
        ones = np.ones(len(self.features))
        self._zero, self._unit = (
            model.features.in_units(0 * ones),
            model.features.width_in_units(ones),
        )
        with np.errstate(invalid="ignore"):  # an unknown error times nothing
            self._errors: Floats = model.whole_errors
            self._spread: Floats = self._errors**2 @ self.metric**2

    def in_units(self, point: Floats) -> Floats:
        """The same as the features' own, in one step for all."""
        lowest = np.where(self.numbers, -1.0, 0.0)
        return np.asarray(self._zero + self._unit * np.clip(point, lowest, 1.0))

    def tell(self, points: Floats, given: Texts, read_as: Texts) -> tuple[PrototypeDecision, ...]:
        """Explain rows, given as points and as texts."""
        if not len(points):
            return ()
        model = self.model
        # The model itself says which class wins: rounding must not tell another story.
        predicted = model.class_distances(points).argmin(axis=1)
        several = len(model.classes) > 1
        confidence = model.confidence(points) if several else np.ones(len(points))
        moved, own = points @ self.metric, model.prototypes @ self.metric
        return tuple(
            self._tell_one(
                points[i],
                moved[i] - own,
                predicted=int(predicted[i]),
                confidence=float(confidence[i]),
                given=given[i],
                read_as=read_as[i],
            )
            for i in range(len(points))
        )

    def _tell_one(
        self,
        point: Floats,
        slopes: Floats,
        *,
        predicted: int,
        confidence: float,
        given: tuple[str, ...],
        read_as: tuple[str, ...],
    ) -> PrototypeDecision:
        differences = point - self.model.prototypes
        parts = differences * slopes
        distances = np.maximum(parts.sum(axis=1), 0.0)
        own = np.asarray(self.model.labels == predicted)
        right = int(np.argmin(np.where(own, distances, np.inf)))
        wrong = -1 if own.all() else int(np.argmin(np.where(own, np.inf, distances)))
        view = View(
            distances,
            slopes,
            own,
            np.where(self.numbers, np.minimum(-1.0 - point, 0.0), 0.0),
            np.where(self.numbers, np.maximum(1.0 - point, 0.0), 0.0),
        )
        picked = [right] if wrong < 0 else [right, wrong]
        return PrototypeDecision(
            predicted=predicted,
            confidence=confidence,
            right=right,
            wrong=wrong,
            right_distance=float(distances[right]),
            wrong_distance=float(distances[wrong]) if wrong >= 0 else np.inf,
            gap_error=self._gap_error(slopes, picked),
            contributions=parts[wrong] - parts[right] if wrong >= 0 else np.zeros(len(point)),
            part_errors=self._part_errors(differences, slopes, picked),
            values=self.in_units(point),
            given=given,
            read_as=read_as,
            changes=self._changes(point, view, predicted),
            joint=self._joint(point, view, right),
        )

    def _gap_error(self, slopes: Floats, picked: list[int]) -> float:
        if len(picked) < 2:
            return 0.0
        with np.errstate(invalid="ignore"):
            parts = (2 * slopes[picked] * self._errors[picked]) ** 2
        evidence = self.model.evidence
        total = float(np.sqrt(parts.sum())) * (1.0 if evidence is None else evidence.gap_share)
        return np.inf if np.isnan(total) else total

    def _part_errors(self, differences: Floats, slopes: Floats, picked: list[int]) -> Floats:
        """Standard deviation of each column's contribution, to first order.

        A part ``a_j (L a)_j`` changes with coordinate k of the prototype by ``a_j L_jk``, and by
        ``(L a)_j`` more if k is j.
        """
        total = np.zeros(len(self.places))
        if len(picked) < 2:
            return total
        firsts = [places[0] for places in self.places.values()]
        diagonal = np.diag(self.metric)
        with np.errstate(invalid="ignore"):
            for p in picked:
                a, slope, squared = differences[p], slopes[p], self._errors[p] ** 2
                alone = (slope + a * diagonal) ** 2 * squared
                alone += a**2 * (self._spread[p] - diagonal**2 * squared)
                each = alone[firsts]
                for i, places in enumerate(self.places.values()):
                    if not self.numbers[places[0]]:
                        moved = self.metric[:, places] @ a[places]
                        moved[places] += slope[places]
                        each[i] = squared @ moved**2
                total += each
        return np.sqrt(np.maximum(total, 0.0))

    def _changes(self, point: Floats, view: View, predicted: int) -> tuple[Change, ...]:
        model = self.model
        found = find_single_moves(view)
        changes = []
        for j in np.flatnonzero(found.toward >= 0):
            moved = point.copy()
            moved[j] += found.moves[j]
            to_class, size = int(model.labels[found.toward[j]]), abs(float(found.moves[j])) / 2
            if step_of(self.features[j].scale):
                self._step_beyond(moved, point, int(j))
                size = abs(float(moved[j] - point[j])) / 2
                to_class = int(model.class_distances(moved[None]).argmin())
                if to_class == predicted or abs(moved[j]) > 1.0:
                    continue  # the border lies between two values
            changes.append(
                Change(
                    column=self.features[j].column,
                    value=float(self.in_units(moved)[j]),
                    level=None,
                    size=size,
                    to_class=to_class,
                )
            )
        changes += self._level_changes(point, predicted)
        return tuple(sorted(changes, key=lambda one: one.size))

    def _step_beyond(self, moved: Floats, point: Floats, j: int) -> None:
        """Move a whole number or a day on to the next one beyond the border."""
        step = step_of(self.features[j].scale)
        steps = (self._zero[j] + self._unit[j] * moved[j]) / step
        steps = np.floor(steps) if moved[j] < point[j] else np.ceil(steps)
        moved[j] = (steps * step - self._zero[j]) / self._unit[j]

    def _level_changes(self, point: Floats, predicted: int) -> list[Change]:
        """Other levels of a category that give another class."""
        levels = np.flatnonzero(~self.numbers).tolist()
        if not levels:
            return []
        moved = np.repeat(point[None], len(levels), axis=0)
        for i, j in enumerate(levels):
            moved[i, self.places[self.features[j].column]] = 0.0
            moved[i, j] = 1.0
        classes = self.model.class_distances(moved).argmin(axis=1)
        return [
            Change(
                column=self.features[j].column,
                value=None,
                level=self.features[j].level,
                size=float(np.linalg.norm(moved[i] - point)) / 2,
                to_class=int(classes[i]),
            )
            for i, j in enumerate(levels)
            if classes[i] != predicted
        ]

    def _joint(self, point: Floats, view: View, right: int) -> JointChange | None:
        found = find_joint_move(view, right)
        if found is None:
            return None
        return JointChange(
            values=self.in_units(point + found.move),
            size=found.length / 2,
            toward=found.toward,
            flips=found.wins,
        )


def _most_relevant(diagonal: Floats) -> tuple[int, ...]:
    """The features that matter most, in their own order."""
    order = np.argsort(-diagonal, kind="stable")[:MOST_PAIRS]
    return tuple(sorted(map(int, order)))
