"""Noise-aware smoothing: from noised sums per bin to scores, as post-processing.

The scores of a term have a Gaussian prior: neighbouring bins of a number vary together, as do
levels that have an order; other levels of a category do not. Its scale is averaged over by the
likelihood of the released sums, so a column whose sums look like noise is drawn to zero and a
strong one is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.side_by_side import side_by_side

Floats = NDArray[np.float64]

SCALES: Floats = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0])
"""Variances of the scores that are averaged over, relative to the loss's unit."""

_TYPICAL, _SPREAD = 0.25, 2.0
"""Centre and width (of the logarithm) of the prior on that variance."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Variances of the scores that are averaged over, relative to the loss's unit, and their prior.

    Attributes
    ----------
    values, logs : ndarray of shape (scales,)
        The variances, and the logarithms of their weights.
    """

    values: Floats
    logs: Floats


USUAL = Scales(SCALES, -(np.log(SCALES / _TYPICAL) ** 2) / (2 * _SPREAD**2))

PRIOR_LENGTH = 1.0
"""Distance over which scores vary together, as a part of all bins."""

_SHAPES = [(1e-6, 1.0)] + [
    (length, plain) for length in (0.15, 0.5, 1.5, 10.0) for plain in (0.3, 0.05)
]
"""Candidates for the shape of the noise: correlation length, and part of plain noise."""


_NUMBERS_AT_ONCE = 2**17


@dataclass(frozen=True, eq=False)
class Smoother:
    """Prior and noise shape of one term.

    Attributes
    ----------
    root : ndarray of shape (bins, bins), or None
        Lower triangular root of the prior's correlation; None for independent bins.
    mixing : ndarray of shape (bins, bins) or (bins,)
        What multiplies the sums before noise is added; its columns have norm 1.
    noise : ndarray of shape (bins, bins) or (bins,)
        Covariance of the noise on the unmixed sums, per unit of noise variance.
    shape : tuple of float
        Correlation length and plain part of the noise before it is unmixed; (0, 1) for none.
    """

    root: Floats | None
    mixing: Floats
    noise: Floats
    shape: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """How the scores of a term follow from its sums.

    Attributes
    ----------
    response : ndarray of shape (outputs, bins, bins) or (outputs, bins)
        Derivative of the scores by the sums, for standard errors.
    level : ndarray of shape (outputs, bins)
        Weights of the sums in the level that is left to the intercept: without it, scores average
        to zero over the rows, and a bin without rows is drawn to that zero.
    scales : ndarray of shape (outputs,)
        Mean of the prior variance, given the sums.
    variance : ndarray of shape (outputs, bins)
        Of the scores around the truth, given the sums: noise, sampling error and what smoothing
        takes away together.
    """

    response: Floats
    level: Floats
    scales: Floats
    variance: Floats

    def scores(self, sums: Floats, slope: Floats) -> Floats:
        """Scores for sums that are linear in them, at the scale of the prior that was found.

        All of shape (bins, outputs).
        """
        if len(self.level) == 1:
            return self.only(sums[:, 0], slope[:, 0])[:, None]
        levels: Floats = np.matmul(self.level[:, None, :], sums.T[:, :, None])[:, 0, 0]
        levelled = sums - slope * levels
        if self.response.ndim == 2:
            return np.asarray(self.response.T * levelled)
        return np.asarray(np.matmul(self.response, levelled.T[:, :, None])[:, :, 0].T)

    def only(self, sums: Floats, slope: Floats) -> Floats:
        """The same for the only output, of shape (bins,)."""
        levelled = sums - slope * float(self.level[0] @ sums)
        if self.response.ndim == 2:
            return np.asarray(self.response[0] * levelled)
        return np.asarray(self.response[0] @ levelled)


def correlation(bins: int, length: float, apart: int = 1) -> Floats:
    """exp(-distance / length) between bins in an order; the last ones, ``apart``, stand alone."""
    place = np.arange(bins - apart) / max(bins - apart, 1)
    result = np.eye(bins)
    result[:-apart, :-apart] = np.exp(-np.abs(place[:, None] - place) / length)
    return result


def noise_shape(bins: int, length: float, plain: float, apart: int = 1) -> Floats:
    """A candidate for the noise's shape: correlated over a length, and partly plain."""
    return (1 - plain) * correlation(bins, length, apart) + plain * np.eye(bins)


def plain_smoother(bins: int) -> Smoother:
    """For levels without an order, or a number with a single interval."""
    return Smoother(None, np.ones(bins), np.ones(bins))


def shaped_smoother(
    counts: Floats,
    curvature: Floats,
    variance: Floats,
    noise_variance: float,
    unit: float,
    apart: int = 1,
) -> Smoother:
    """For bins in an order: choose the noise that the prior makes cheapest.

    One row is in one bin, so any mixing matrix whose columns have norm 1 costs the same privacy
    (docs/proofs/ebm.md). The shape with the least expected error of the score is taken.

    Parameters
    ----------
    counts, curvature, variance : ndarray of shape (bins,)
        Released row counts; slope and variance of a bin's sum.
    noise_variance : float
        Variance of the noise on one sum if all rounds were one.
    unit : float
        Typical variance of the scores.
    apart : int
        How many bins at the end have no place in the order: missing, or other and missing.
    """
    bins = len(counts)
    prior = correlation(bins, PRIOR_LENGTH, apart)
    weights = counts / counts.sum()
    shapes, inverses = _shapes(bins, apart)
    # Of each score's prior variance, the part that the sums explain.
    known = curvature[:, None] * prior * (_TYPICAL * unit)
    spread = noise_variance * inverses + known * curvature
    spread[:, np.arange(bins), np.arange(bins)] += variance
    explained = np.einsum("sab,ab->sb", np.linalg.solve(spread, known[None]), known)
    best = int(np.argmax(explained @ weights))
    values, vectors = np.linalg.eigh(shapes[best])
    mixing = (vectors * np.sqrt(values)) @ vectors.T
    # Columns of the symmetric root have norm sqrt(diagonal) = 1; rounding must not make it more.
    mixing /= np.maximum(np.linalg.norm(mixing, axis=0), 1.0)
    root: Floats = np.asarray(np.linalg.cholesky(prior), dtype=np.float64)
    noise: Floats = np.asarray(np.linalg.inv(mixing.T @ mixing), dtype=np.float64)
    return Smoother(root, mixing, noise, _SHAPES[best])


@lru_cache(maxsize=128)
def _shapes(bins: int, apart: int) -> tuple[Floats, Floats]:
    """All candidate shapes for a number of bins, and their inverses."""
    shapes = np.stack([noise_shape(bins, length, plain, apart) for length, plain in _SHAPES])
    return shapes, np.asarray(np.linalg.inv(shapes), dtype=np.float64)


def smooth(
    smoother: Smoother,
    residual: Floats,
    scores: Floats,
    curvature: Floats,
    variance: Floats,
    weights: Floats,
    noise_variance: float,
    unit: float,
    scales: Scales = USUAL,
) -> Smoothed:
    """How to smooth noised sums, linearised at the present scores, each output by itself.

    Parameters
    ----------
    smoother : Smoother
    residual : ndarray of shape (bins, outputs)
        Released sums minus what the present scores explain.
    scores, curvature, variance : ndarray of shape (bins, outputs)
        Present scores; slope and variance of each bin's sum.
    weights : ndarray of shape (bins,)
        Share of rows in each bin.
    noise_variance : float
        Variance of the noise on the averaged sums, before its shape.
    unit : float
        Typical variance of the scores.
    scales : Scales
    """
    kind = _smooth_plain if smoother.root is None else _smooth_shaped
    bins, outputs = residual.shape
    # Matrices of many outputs at once, as long as they stay in the processor's cache.
    step = max(_NUMBERS_AT_ONCE // bins**2, 1)
    parts = []
    for start in range(0, outputs, step):
        own = slice(start, start + step)
        left, now, slope, scatter = (
            np.ascontiguousarray(one[:, own].T) for one in (residual, scores, curvature, variance)
        )
        parts.append(
            kind(smoother, left, now, slope, scatter, weights, noise_variance, unit, scales)
        )
    if len(parts) == 1:
        return parts[0]
    return Smoothed(
        np.concatenate([part.response for part in parts]),
        np.concatenate([part.level for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.variance for part in parts]),
    )


def _smooth_plain(
    smoother: Smoother,
    residual: Floats,
    scores: Floats,
    curvature: Floats,
    variance: Floats,
    weights: Floats,
    noise_variance: float,
    unit: float,
    scales: Scales,
) -> Smoothed:
    """`smooth` for bins without an order; arrays of shape (outputs, bins)."""
    inverse = 1.0 / (noise_variance * smoother.noise + variance)
    precision = curvature**2 * inverse
    pull = precision * scores + curvature * inverse * residual
    pull = pull - precision * (pull.sum(axis=1) / precision.sum(axis=1))[:, None]
    found, kept = _shrink(precision, pull, unit, scales)
    response = kept * curvature * inverse
    reach = (response * curvature) @ weights
    level = weights * response / np.maximum(reach, 1e-300)[:, None]
    return Smoothed(response, level, found, kept)


def _smooth_shaped(
    smoother: Smoother,
    residual: Floats,
    scores: Floats,
    curvature: Floats,
    variance: Floats,
    weights: Floats,
    noise_variance: float,
    unit: float,
    scales: Scales,
) -> Smoothed:
    """`smooth` for bins in an order; arrays of shape (outputs, bins)."""
    assert smoother.root is not None
    bins = np.arange(len(weights))
    covariance = np.repeat((noise_variance * smoother.noise)[None], len(residual), axis=0)
    covariance[:, bins, bins] += variance
    inverse = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    precision = curvature[:, :, None] * inverse * curvature[:, None, :]
    pull = _apply(precision, scores) + curvature * _apply(inverse, residual)
    rows = precision.sum(axis=2)
    pull = pull - rows * (pull.sum(axis=1) / rows.sum(axis=1))[:, None]
    spectrum, vectors = np.linalg.eigh(smoother.root.T @ precision @ smoother.root)
    basis = smoother.root @ vectors
    turned = basis.transpose(0, 2, 1)
    found, kept = _shrink(np.maximum(spectrum, 0.0), _apply(turned, pull), unit, scales)
    response = (basis * kept[:, None, :]) @ turned @ (curvature[:, :, None] * inverse)
    reach = weights @ _apply(response, curvature)[:, :, None]
    level = (weights @ response) / np.maximum(reach, 1e-300)
    spread = (basis**2 * kept[:, None, :]).sum(axis=2)
    return Smoothed(response, level, found, spread)


def _apply(matrices: Floats, vectors: Floats) -> Floats:
    """Each matrix times its own vector, shape (outputs, bins)."""
    return np.asarray(np.matmul(matrices, vectors[:, :, None])[:, :, 0])


def _shrink(
    spectrum: Floats, projected: Floats, unit: float, scales: Scales
) -> tuple[Floats, Floats]:
    """Mean prior variance, (outputs,), and what is kept of each direction, (outputs, bins).

    Averaged over the candidates by their likelihood.
    """
    taus = scales.values * unit
    shrunk = 1.0 / (1.0 / taus[:, None] + spectrum[:, None, :])
    likelihood = 0.5 * (projected[:, None, :] ** 2 * shrunk).sum(axis=2)
    likelihood -= 0.5 * np.log1p(taus[:, None] * spectrum[:, None, :]).sum(axis=2)
    likelihood += scales.logs
    chance = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    return np.asarray(chance @ taus), np.matmul(chance[:, None, :], shrunk)[:, 0, :]


def share_out(
    smoothers: list[Smoother],
    curvatures: list[Floats],
    weights: list[Floats],
    scales: list[float],
    precision: float,
) -> Floats:
    """Shares of a round for the terms that make the expected error of the score least.

    Marginal gains are made equal by multiplicative steps; 30 % is always split evenly, so that no
    column is lost to an early mistake.

    Parameters
    ----------
    smoothers, curvatures, weights
        Per term: shape, slope of each bin's sum, share of rows in each bin.
    scales : list of float
        Per term: prior variance of the scores.
    precision : float
        1 / noise variance of a sum that gets the whole budget of all rounds.

    Returns
    -------
    ndarray of shape (terms,)
        Positive, sum 1.
    """

    def gain(k: int) -> tuple[Floats, Floats]:
        """How precisely a term's directions are told, and how much each weighs."""
        if smoothers[k].root is None:
            return curvatures[k] ** 2 * precision, weights[k]
        values, spread = _directions(smoothers[k], curvatures[k].tobytes())
        return np.maximum(values, 0.0) * precision, weights[k] @ spread

    gains = side_by_side(gain, range(len(smoothers)))
    count = len(gains)
    # Terms of the same number of bins side by side: there are forty steps.
    alike = [
        np.array([k for k, (values, _) in enumerate(gains) if len(values) == bins])
        for bins in dict.fromkeys(len(values) for values, _ in gains)
    ]
    tables = [(own, *(np.stack([gains[k][part] for k in own]) for part in (0, 1))) for own in alike]
    inverse = 1.0 / np.array(scales)[:, None]
    shares, slopes = np.full(count, 1.0 / count), np.empty(count)
    for _ in range(40):
        for own, v, g in tables:
            slopes[own] = (g * v / (inverse[own] + shares[own, None] * v) ** 2).sum(axis=1)
        shares = shares * np.sqrt(slopes)
        shares = np.maximum(shares / max(shares.sum(), 1e-300), 1e-4 / count)
        shares /= shares.sum()
    return 0.7 * shares + 0.3 / count


@lru_cache(maxsize=64)
def _directions(smoother: Smoother, slope: bytes) -> tuple[Floats, Floats]:
    """How precisely each direction of the scores is told, and its squares in each bin.

    Kept, because slopes of squared loss stay the same in all rounds.
    """
    assert smoother.root is not None
    mixed = (smoother.mixing * np.frombuffer(slope)) @ smoother.root
    values, vectors = np.linalg.eigh(mixed.T @ mixed)
    return values, (smoother.root @ vectors) ** 2
