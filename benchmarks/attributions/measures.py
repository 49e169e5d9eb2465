"""How alike explanations are, how rough, and how true to the model that they explain.

Not a script: see `quality.py`. Explanations have shape (pictures, pixels) throughout, and what
comes back has one number per picture.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from scipy.stats import rankdata

Floats = NDArray[np.float64]

TOP_SHARE = 0.1
"""Part of the pixels that counts as the top."""

FRACTIONS = np.linspace(0.0, 1.0, 29)
"""Parts of the lit pixels that are taken away, or put in, along a curve."""


def cosine(one: Floats, other: Floats) -> Floats:
    """Cosine of the angle; 0 if one of the two is nothing."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / np.where(lengths > 0, lengths, 1.0))


def spearman(one: Floats, other: Floats) -> Floats:
    """Correlation of the ranks of the pixels."""
    ranks = [rankdata(values, axis=1) for values in (one, other)]
    return cosine(*(each - each.mean(axis=1, keepdims=True) for each in ranks))


def overlap(one: Floats, other: Floats, share: float = TOP_SHARE) -> Floats:
    """Part of the pixels of greatest size that two explanations have in common."""
    count = max(round(share * one.shape[1]), 1)
    tops = [
        np.argsort(-np.abs(values), axis=1, kind="stable")[:, :count] for values in (one, other)
    ]
    same = [np.isin(a, b, assume_unique=True).mean() for a, b in zip(*tops, strict=True)]
    return np.asarray(same)


def roughness(values: Floats, side: int) -> Floats:
    """Mean difference of neighbours over the mean size: 1.41 for independent noise, 0 if flat."""
    grid = values.reshape(-1, side, side)
    steps = [np.abs(np.diff(grid, axis=axis)).mean(axis=(1, 2)) for axis in (1, 2)]
    size = np.abs(grid).mean(axis=(1, 2))
    return np.asarray((steps[0] + steps[1]) / 2 / np.where(size > 0, size, 1.0))


MEASURES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "spearman": spearman,
    "cosine": cosine,
    "overlap": overlap,
}


def alike(one: Floats, other: Floats) -> dict[str, float]:
    """All measures of likeness, as means over the pictures."""
    return {name: float(measure(one, other).mean()) for name, measure in MEASURES.items()}


def curve(
    scores: Callable[[Floats], Floats],
    pictures: Floats,
    classes: NDArray[np.int64],
    worth: Floats,
    *,
    insert: bool,
) -> Floats:
    """Mean probability of the class as pixels go black (or come back), greatest worth first.

    Only lit pixels are counted: making a black one black is no change.

    Returns
    -------
    ndarray of shape (pictures, fractions)
    """
    lit = pictures > 0
    # Black pixels last; the place of each pixel as a part of the lit ones.
    order = np.argsort(np.where(lit, -worth, np.inf), axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(order.shape[1])[None], axis=1)
    places = places / np.maximum(lit.sum(axis=1, keepdims=True), 1)
    rows = np.arange(len(pictures))
    found = []
    for part in FRACTIONS:
        touched = places < part
        shown = np.where(touched if insert else ~touched, pictures, 0.0)
        found.append(softmax(scores(shown), axis=1)[rows, classes])
    return np.stack(found, axis=1)


def area(found: Floats) -> Floats:
    """Area under each curve, from 0 to 1."""
    return np.asarray(np.trapezoid(found, FRACTIONS, axis=1))


def faithfulness(
    scores: Callable[[Floats], Floats],
    pictures: Floats,
    classes: NDArray[np.int64],
    worth: Floats,
) -> dict[str, float]:
    """Areas under the curves of deletion (low is good) and insertion (high is good)."""
    return {
        name: float(area(curve(scores, pictures, classes, worth, insert=insert)).mean())
        for name, insert in (("deletion", False), ("insertion", True))
    }
