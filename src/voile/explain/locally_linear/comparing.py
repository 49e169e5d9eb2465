"""Which weights of maps are compared, and how many comparisons a reader could have made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voile.errors import SettingError
from voile.explain.comparison import Comparison

if TYPE_CHECKING:
    from voile.explain.locally_linear.overall import LocallyLinearExplanation


def compare(
    explanation: LocallyLinearExplanation, column: str, first: object, second: object
) -> Comparison:
    """Compare the weights of two levels, or of two columns (docs/proofs/verdicts.md)."""
    evidence = explanation.evidence
    places = explanation.places_of(column)
    if evidence is None or explanation.image_shape is not None:
        why = (
            "its model does not hold the sampling error: train it anew with this version"
            if evidence is None
            else "it is one of pictures: to_html() leaves what may be nothing grey"
        )
        raise SettingError(f"Nothing of this explanation can be compared, because {why}.")
    if second is None:
        one, other = _number(explanation, column), _number(explanation, str(first))
        names, common = (column, str(first)), np.zeros(evidence.classes)
    else:
        one, other = (_level(explanation, places, column, side) for side in (first, second))
        names = str(first), str(second)
        common = evidence.shared[:, explanation.columns.index(column)]
    if one == other:
        raise SettingError(f"{names[0]!r} is compared with itself: give two that differ.")
    picked = [1] if evidence.classes == 2 else list(range(evidence.classes))
    noise, sampling = (
        found[picked][:, [one, other]].sum(axis=1)
        for found in (evidence.noise_variances, evidence.sampling_variances)
    )
    # What all levels share belongs to the offset, and cancels.
    left = np.maximum(1.0 - 2.0 * common[picked] / np.maximum(noise + sampling, 1e-300), 0.0)
    count = len(explanation.features)
    return Comparison.of(
        column=column if second is not None else f"{column} and {first}",
        sides=names,
        outputs=tuple(explanation.outputs[k] for k in picked),
        units="weight in the score, beyond the mean of all classes",
        differences=evidence.estimates[picked, one] - evidence.estimates[picked, other],
        variances=(noise * left, sampling * left),
        compared=count * (count - 1) / 2 * len(picked),
    )


def _number(explanation: LocallyLinearExplanation, column: str) -> int:
    places = explanation.places_of(column)
    if explanation.features[places[0]].level is not None:
        raise SettingError(
            f"Column {column!r} is a category: compare two of its levels, as in "
            f"compare({column!r}, 'A', 'B')."
        )
    return places[0]


def _level(
    explanation: LocallyLinearExplanation, places: list[int], column: str, asked: object
) -> int:
    levels = [explanation.features[j].level for j in places]
    if levels == [None]:
        raise SettingError(
            f"Column {column!r} is a number: name another column to compare its weight with, as in "
            f"compare({column!r}, 'other')."
        )
    if str(asked) not in levels:
        known = ", ".join(map(repr, levels))
        raise SettingError(f"Column {column!r} has no level {asked!r}: it has {known}.")
    return places[levels.index(str(asked))]
