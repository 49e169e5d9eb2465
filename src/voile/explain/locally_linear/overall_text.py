"""A bank of linear maps as plain text: what print() shows, and sentences that pages use too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voile.explain.ebm.text import VERDICTS, cut_text
from voile.explain.picture_shape import picture_text
from voile.explain.wording import noisy, percent, short, signed, wrapped
from voile.models.verdict import error_bars_text, nothing_text, something_text

if TYPE_CHECKING:
    from voile.explain.locally_linear.overall import LocallyLinearExplanation
    from voile.privacy.receipt import Receipt

MOST_CLASSES, MOST_FEATURES, MOST_NAME = 20, 6, 28

MOSTLY = 0.7
"""Above this part of the length of a linear map, noise is more than half of its square."""


def no_rows_text(receipt: Receipt) -> str:
    """Say that no training row is shown, and what linear maps without noise may give away."""
    if receipt.has_guarantee:
        return (
            "No row of the training table is shown: the model holds none, only linear maps with "
            "privacy noise in them."
        )
    return (
        "The model holds no row of the training table. But there is no guarantee: its linear maps "
        "may resemble one."
    )


def linear_maps_count(maps: int) -> str:
    """Count linear maps: "1 linear map", "5 linear maps"."""
    return f"{maps} {'linear map' if maps == 1 else 'linear maps'}"


def size_text(bank: LocallyLinearExplanation) -> str:
    """How many linear maps and classes there are."""
    classes = len(bank.outputs)
    each = "its class" if classes == 1 else f"each of {classes} classes"
    return f"{linear_maps_count(bank.maps)} for {each}"


def spread_text(bank: LocallyLinearExplanation, k: int) -> str:
    """Over how many maps the weight of a class spreads."""
    if bank.maps == 1:
        return "one linear map"
    return f"the weight spreads over about {short(float(bank.active[k]), digits=2)} of {bank.maps}"


def noise_text(bank: LocallyLinearExplanation, k: int) -> str:
    """How much of what is seen its errors may be; nothing if there are none."""
    noise, what = float(bank.noise[k]), "noise and sampling error" if bank.whole else "noise"
    if noise == 0:
        return ""
    if not np.isfinite(noise):
        return f"{what} unknown"
    if noise >= 1:
        return f"{what} as strong as what is seen"
    told = f"{what} {percent(noise)} of what is seen"
    return f"{told}: mostly error" if noise > MOSTLY else told


def teacher_text(bank: LocallyLinearExplanation) -> str:
    """From what the linear maps were learned, if not from the rows; else nothing."""
    if bank.taught_by is None:
        return ""
    return f"The linear maps were learned from a teacher: {bank.taught_by}."


def ranking_text(bank: LocallyLinearExplanation) -> str:
    """How the shares of the maps were found; nothing if there is but one."""
    if bank.maps == 1:
        return ""
    return (
        "How much a linear map counts differs from row to row. The shares told here are for inputs "
        "that the linear maps themselves describe as typical of the class; no row was read."
    )


def strongest(bank: LocallyLinearExplanation, k: int) -> list[int]:
    """Features that tell a class apart most, the strongest first.

    Without those of columns that cannot be told from nothing.
    """
    nothing = bank.nothing
    order = map(int, np.argsort(-np.abs(bank.contrast[k]), kind="stable"))
    return [j for j in order if bank.features[j].column not in nothing]


def strongest_text(bank: LocallyLinearExplanation, k: int, *, most: int = 5) -> str:
    """What tells a class apart, in a few words."""
    return ", ".join(
        f"{cut_text(bank.features[j].name, MOST_NAME)} {signed(float(bank.contrast[k, j]))}"
        for j in strongest(bank, k)[:most]
    )


def verdicts_text(bank: LocallyLinearExplanation) -> str:
    """Which columns tell a class from the others, in a sentence; nothing if it is not known."""
    if not bank.verdicts:
        return ""
    names = [cut_text(name, MOST_NAME) for name in bank.columns]
    found = something_text(names, bank.verdicts)
    return f"Columns that tell the classes apart: {found}. {VERDICTS}"


def bank_text(bank: LocallyLinearExplanation) -> str:
    """A few lines per class: how the weight spreads and what tells it apart."""
    lines = [f"Model of {size_text(bank)}: a score is a blend of what the linear maps say"]
    for text in (verdicts_text(bank), nothing_text(bank.nothing)):
        lines += wrapped(text)
    for k, name in enumerate(bank.outputs[:MOST_CLASSES]):
        about = "; ".join(text for text in (spread_text(bank, k), noise_text(bank, k)) if text)
        lines.append(f"  '{cut_text(name, 40)}': {about}")
        if bank.image_shape is None:
            lines += [_feature_line(bank, k, j) for j in strongest(bank, k)[:MOST_FEATURES]]
    left = len(bank.outputs) - MOST_CLASSES
    if left > 0:
        lines.append(f"  ... and {left} more classes: to_frame() has them")
    if bank.image_shape is not None:
        lines.append(f"  Pictures of {picture_text(bank.image_shape)}: to_html() draws them.")
    elif bank.features:
        lines += wrapped(
            "Numbers: what a step of the feature adds to the score of the class beyond the mean "
            f"of all classes; ± is {error_bars_text(whole=bank.whole)}."
        )
    told = (*(teacher_text(bank), ranking_text(bank), no_rows_text(bank.receipt), bank.cost),)
    return "\n".join(
        [*lines, *(line for text in (*told, bank.receipt.guarantee) for line in wrapped(text))]
    )


def _feature_line(bank: LocallyLinearExplanation, k: int, j: int) -> str:
    number = noisy(float(bank.contrast[k, j]), float(bank.contrast_errors[k, j]))
    return f"    {cut_text(bank.features[j].name, MOST_NAME):<{MOST_NAME}}  {number}"
