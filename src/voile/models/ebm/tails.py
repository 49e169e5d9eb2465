"""What the clip of a regression hides: a second look at every curve, by rounds with a wide clip.

A narrow clip costs little noise. But where residuals are far beyond it, the curves tell typical
values instead of means, and rows far from all others are reached slowly or never. If the released
sizes of residuals say that much is hidden, some of the rounds are asked with a clip that hides next
to nothing. Their sums are linear in the scores, so they are averaged as they are, whenever they
were taken. What they add to the curves is drawn to nothing, or to multiples of the curves that are
there, as far as the noise explains it. A round costs the same with any clip: docs/proofs/ebm.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.binning import ColumnBins
from voile.models.ebm.losses import SquaredLoss
from voile.models.ebm.pairs import ColumnPairs
from voile.models.ebm.queries import whole_mixing
from voile.models.ebm.smoothing import (
    PRIOR_LENGTH,
    Scales,
    Smoothed,
    Smoother,
    correlation,
    share_out,
    smooth,
)
from voile.models.ebm.terms import MoreOfTerm, TermState
from voile.privacy.mechanisms import Release

Floats = NDArray[np.float64]

_MUCH = 0.45
"""Part of the squared residuals beyond the clip: from there on two of three rounds are wide."""

_LIKE = 0.7
"""Part of the prior that says: as the curve that is there, but for its size."""

_NOTHING = 0.6
"""Weight of the prior that a column has nothing hidden."""

_CLEAR = 3.0
"""Bins with rows at so many standard errors clear of zero shape the curve that is multiplied."""

_DISCOUNT, _MORE = 0.85, 0.5
"""Weight of a wide round relative to the next, and standard errors of its count that a bin counts
more: with more rows than there are, several rounds reach what one would pass."""

_CLEAR_TAIL = 2.0
"""Standard errors that a tail stands clear of the noise."""

_OLDER, _SWEEPS = 0.6, 6


def _scales() -> Scales:
    values = np.array([1e-6, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
    logs = np.log(np.array([_NOTHING, *[(1 - _NOTHING) / 7] * 7]))
    return Scales(values, logs)


_FEW = _scales()


@dataclass(frozen=True)
class WideClip:
    """A clip that hides next to nothing.

    Attributes
    ----------
    cap : float
    inside : float
        Part of the residuals that it leaves as they are.
    second_moment : float
        That and the mean square of what the narrow clip leaves.
    hidden : float
        Mean square of what the narrow clip takes away and this one leaves, as far as it stands
        clear of the noise.
    """

    cap: float
    inside: float
    second_moment: float
    hidden: float

    def is_for(self, number: int) -> bool:
        """Whether a round is to be asked with it."""
        return number % 3 != 0 and self.hidden > _MUCH * self.second_moment


@dataclass(eq=False)
class _Column:
    """Sums of one column with the wide clip, averaged, and what follows."""

    term: TermState
    counts: Floats
    known: NDArray[np.bool_]
    sums: Floats
    scores: Floats
    weight: float = 0.0
    variance: float = 0.0
    share: float = 0.0
    scale: float = 0.0
    smoothed: Smoothed | None = None

    def take_in(self, sums: Floats, variance: float) -> None:
        """Another round."""
        old, fresh = _DISCOUNT * self.weight, 1.0 / variance
        self.sums = (old * self.sums + fresh * sums) / (old + fresh)
        self.variance = (old**2 * self.variance + fresh) / (old + fresh) ** 2
        self.weight = old + fresh


class Tails:
    """What the rounds with the wide clip say of all columns.

    Parameters
    ----------
    terms : list of TermState
        Columns, and perhaps pairs, which are left out.
    bins : tuple of ColumnBins
    offsets : ndarray of shape (columns + 1,)
    rows : float
    pairs : ColumnPairs or None
    """

    def __init__(
        self,
        terms: list[TermState],
        bins: tuple[ColumnBins, ...],
        offsets: NDArray[np.int64],
        rows: float,
        pairs: ColumnPairs | None,
    ) -> None:
        self._columns = []
        for term, one in zip(terms, bins, strict=False):
            counts = np.maximum(one.counts, 0.0) + _MORE * np.maximum(one.count_errors, 1.0)
            known = one.counts > _CLEAR * one.count_errors
            zeros = np.zeros(len(counts))
            self._columns.append(_Column(term, counts, known, zeros, zeros))
        self._offsets, self._rows, self._pairs = offsets, rows, pairs
        self.level, self.level_variance = 0.0, 0.0

    def share_out(self, deviation: float) -> tuple[list[NDArray[np.int64]], list[Floats]]:
        """Mixing matrices of the next round, and what undoes them.

        Parameters
        ----------
        deviation : float
            Standard deviation of the noise of a sum that gets the whole round.
        """
        terms = [one.term for one in self._columns]
        shares = np.full(len(terms), 1.0 / len(terms))
        if self._columns[0].weight:
            counts, weights = [c.counts for c in self._columns], [t.weights for t in terms]
            scales = [max(one.scale, 1e-12) for one in self._columns]
            precision = 8.0 / deviation**2
            shares = share_out([t.smoother for t in terms], counts, weights, scales, precision)
        mixing = []
        for one, share in zip(self._columns, shares / shares.sum(), strict=True):
            one.share = float(share)
            mixing.append(whole_mixing(one.term.smoother.mixing, float(np.sqrt(share))))
        inverse = [1.0 / m if m.ndim == 1 else np.linalg.inv(m) for m in mixing]
        return mixing, [np.asarray(m, dtype=np.float64) for m in inverse]

    def take_in(
        self, sums: list[Floats], variance: float, curves: Floats, intercept: float
    ) -> None:
        """A round's sums over the bins of each column, at the present scores."""
        told = self._explained(curves, intercept)
        for one, own, part in zip(self._columns, sums, told, strict=True):
            one.take_in(own + part, variance / one.share)

    def solve(self, curves: Floats, intercept: float, clip: WideClip) -> None:
        """Find what to add to the curves, shape (cells,), and to the intercept."""
        told = self._explained(curves, intercept)
        left = [one.sums - part for one, part in zip(self._columns, told, strict=True)]
        self._find_level(left, clip)
        left = [own - one.counts * self.level for one, own in zip(self._columns, left, strict=True)]
        for k, (one, own) in enumerate(zip(self._columns, left, strict=True)):
            slope = one.counts[:, None]
            part = slice(int(self._offsets[k]), int(self._offsets[k + 1]))
            one.smoothed = smooth(
                _like(one.term, curves[part] * one.known),
                own[:, None],
                np.zeros_like(slope),
                slope,
                slope * clip.second_moment,
                one.term.weights,
                one.variance,
                max(clip.hidden, 1e-3 * clip.second_moment),
                _FEW,
            )
            one.scale = float(one.smoothed.scales[0])
        self._sweep(left)

    def _explained(self, curves: Floats, intercept: float) -> list[Floats]:
        """Sums that scores of all columns explain, per column."""
        counts = np.concatenate([one.counts for one in self._columns])
        found = counts * (intercept + curves)
        if self._pairs is not None:
            found = found + self._pairs.others(curves)
        return np.split(found, self._offsets[1:-1])

    def _find_level(self, left: list[Floats], clip: WideClip) -> None:
        noises = [one.term.smoother.noise.sum() * one.variance for one in self._columns]
        weights = 1.0 / np.array(noises)
        total = float(weights @ [own.sum() for own in left]) / float(weights.sum())
        variance = 1.0 / float(weights.sum()) / self._rows**2 + clip.second_moment / self._rows
        level = total / self._rows
        self.level = level * max(0.0, 1.0 - variance / max(level**2, 1e-300))
        self.level_variance = variance

    def _sweep(self, left: list[Floats]) -> None:
        """All columns together, as far as the tables of pairs tell."""
        for one in self._columns:
            one.scores = np.zeros(len(one.term.counts))
        means = None if self._pairs is None else self._pairs.means(self.scores)
        for _ in range(_SWEEPS):
            for k, one in enumerate(self._columns):
                own = left[k]
                if self._pairs is not None and means is not None:
                    own = own - self._pairs.others_of(k, means)
                assert one.smoothed is not None
                one.scores = one.smoothed.only(own, one.counts)
                if self._pairs is not None and means is not None:
                    self._pairs.renew(k, means, one.scores)

    @property
    def scores(self) -> Floats:
        """What is added to the curves, shape (cells,)."""
        return np.concatenate([one.scores for one in self._columns])

    def told(self, clip: WideClip, per_unit: float, *, noisy: bool) -> list[MoreOfTerm]:
        """What is added to each column.

        Parameters
        ----------
        clip : WideClip
            That was solved with.
        per_unit : float
            Largest total weight of one privacy unit, whose rows may all say the same.
        noisy : bool
            Whether there was noise.
        """
        result = []
        for one in self._columns:
            assert one.smoothed is not None
            response, noise = one.smoothed.response[0], one.term.smoother.noise
            covariance = np.diag(noise) if noise.ndim == 1 else noise
            spread = ((response @ covariance) * response).sum(axis=1) * one.variance
            # The smoothing takes rows for independent ones of weight 1.
            more = (per_unit - 1.0) * clip.second_moment * (response**2 @ one.counts)
            variance = one.smoothed.variance[0] + np.maximum(more, 0.0)
            result.append(MoreOfTerm(one.scores, noisy * spread, variance))
        return result


def _like(term: TermState, curve: Floats) -> Smoother:
    """The smoother of a term whose prior holds multiples of a curve, besides what it held."""
    smoother, bins = term.smoother, len(curve)
    plain = smoother.root is None
    prior = np.eye(bins) if plain else correlation(bins, PRIOR_LENGTH, term.apart)
    centred = curve - term.weights @ curve
    size = float(term.weights @ centred**2)
    if size > 0:
        prior = (1 - _LIKE) * prior + _LIKE * np.outer(centred, centred) / size
    noise = np.diag(smoother.noise) if smoother.noise.ndim == 1 else smoother.noise
    root = np.asarray(np.linalg.cholesky(prior + 1e-9 * np.eye(bins)))
    return Smoother(root, smoother.mixing, noise, smoother.shape)


def pooled(old: Release, new: Release) -> Release:
    """Sizes of residuals by several accesses: older ones count less."""
    values = _OLDER * old.values + (1 - _OLDER) * new.values
    error = np.hypot(_OLDER * old.standard_error, (1 - _OLDER) * new.standard_error)
    return replace(new, values=values, standard_error=float(error))


def wide_clip(
    sizes: Floats, masses: Floats, limits: Floats, error: float, narrow: SquaredLoss
) -> WideClip:
    """The smallest clip beyond which nothing stands clear of the noise.

    Parameters
    ----------
    sizes, masses, limits : ndarray of shape (cells,)
        As for `squared_loss`.
    error : float
        Standard deviation of the rows of each size.
    narrow : SquaredLoss
    """
    total = max(float(masses.sum()), 1.0)
    beyond = np.cumsum(masses[::-1])[::-1]
    doubt = error * np.sqrt(np.arange(len(masses), 0, -1))
    clear = np.flatnonzero(beyond > _CLEAR_TAIL * doubt)
    last = int(clear[-1]) if len(clear) else 0
    cap = max(float(limits[last]), narrow.cap)
    excess = np.maximum(np.minimum(sizes, cap) - narrow.cap, 0.0) ** 2 * (limits <= cap)
    # Noised rows, as they are: those of positive noise alone would look like a tail.
    surely = excess @ masses - _CLEAR_TAIL * error * np.linalg.norm(excess)
    hidden = max(float(surely), 0.0) / total
    left = float(np.maximum(masses, 0.0) @ np.minimum(sizes, narrow.cap) ** 2) / total
    inside = float(np.clip(masses[: last + 1].sum() / total, 0.5, 1.0))
    return WideClip(cap, inside, max(left + hidden, 1e-12), hidden)
