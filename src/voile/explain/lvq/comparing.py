"""Which classes or prototypes are compared, and how many comparisons a reader could have made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voile.errors import SettingError
from voile.explain.comparison import Comparison
from voile.explain.lvq.text import prototype_name

if TYPE_CHECKING:
    from voile.explain.lvq.overall import LVQExplanation


def compare(explanation: LVQExplanation, column: str, first: object, second: object) -> Comparison:
    """Compare two classes, or two prototypes, in a column (docs/proofs/verdicts.md)."""
    places = explanation.places_of(column)
    evidence, noise_errors = explanation.evidence, explanation.noise_errors
    if evidence is None or noise_errors is None:
        raise SettingError(
            "Nothing of this model can be compared, because it does not hold the sampling error: "
            "train it anew with this version (mechanism='center_of_attention' never does)."
        )
    classes = [str(side) in explanation.outputs for side in (first, second)]
    if all(classes):
        one, other = (explanation.outputs.index(str(side)) for side in (first, second))
        names = [f"mean of '{explanation.outputs[k]}'" for k in (one, other)]
        values, count = evidence.estimates, len(explanation.outputs)
        noise, sampling = evidence.noise_variances, evidence.sampling_variances
    else:
        one, other = (_prototype(explanation, side) for side in (first, second))
        labels, outputs = explanation.labels, explanation.outputs
        names = [f"prototype {prototype_name(labels, outputs, p)}" for p in (one, other)]
        values, count = explanation.values, len(labels)
        noise = noise_errors**2
        sampling = explanation.standard_errors**2 - noise
    if one == other:
        raise SettingError(f"{first!r} is compared with itself: give two that differ.")
    levels = tuple(explanation.features[j].level for j in places)
    number = levels == (None,)
    return Comparison.of(
        column=column,
        sides=(names[0], names[1]),
        outputs=(column,) if number else tuple(map(str, levels)),
        units="in the column's unit" if number else "shares of rows",
        differences=np.asarray(values[one, places] - values[other, places]),
        variances=(
            noise[one, places] + noise[other, places],
            sampling[one, places] + sampling[other, places],
        ),
        compared=count * (count - 1) / 2 * len(explanation.features),
    )


def _prototype(explanation: LVQExplanation, asked: object) -> int:
    """The number of a prototype, by its name or by its class if that has no other."""
    labels, outputs = explanation.labels, explanation.outputs
    names = [prototype_name(labels, outputs, p) for p in range(len(labels))]
    for p, name in enumerate(names):
        if str(asked) in (name, name.replace("'", ""), outputs[labels[p]]) and (
            str(asked) != outputs[labels[p]] or labels.count(labels[p]) == 1
        ):
            return p
    known = ", ".join([*map(repr, outputs), *(f'"{name}"' for name in names if " no. " in name)])
    raise SettingError(f"There is no class or prototype {asked!r} to compare: give {known}.")
