"""From noised sums of error parts to RMSE, MAE, bias and R2, with intervals: post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation.error_queries import ERROR_CUTS
from voile.models.evaluation.intervals import Counted, lost, reach_of
from voile.models.evaluation.measure import Measure

Floats = NDArray[np.float64]

UNIT = "units of the target"
_LOWEST = {"RMSE": 0.0, "MAE": 0.0, "bias": -1.0}
"""The least that each can be, in widths of the target's range."""

_ROWS = np.ones(5)
_FIRST = np.array([0.0, 0.5, -0.5, 1.0, -1.0])
_SIZE = np.abs(_FIRST)
_SQUARE = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
"""How sums over rows follow from sums of `error_parts`."""


@dataclass(frozen=True)
class Clip:
    """What the sizes of errors, once counted, say of the errors themselves.

    Attributes
    ----------
    clip : float
        Largest size that stands clear of the noise, in units of the target; the width of the
        target's range if all do.
    hidden, hidden_sizes, hidden_squares : float
        Rows beyond the clip that the counts allow, and by how much their sizes and squares could
        raise the sums, in units of the clip and its square: upper ends.
    kurtosis : float
        Mean fourth power of the clipped errors, divided by the square of their mean square.
    width, confidence : float
        Of the target's range; of intervals.
    sizes : Counted
        The counts themselves.
    """

    clip: float
    hidden: float
    hidden_sizes: float
    hidden_squares: float
    kurtosis: float
    width: float
    confidence: float
    sizes: Counted

    @classmethod
    def of(cls, sizes: Counted, width: float, confidence: float) -> Clip:
        """Choose the clip by counts of sizes."""
        counts = sizes.values[:-1]
        # Thirty cells: noise alone passes four standard errors once in a thousand evaluations.
        filled = np.flatnonzero(counts > max(4.0 * sizes.noise, 0.5))
        last = int(filled[-1]) if len(filled) else len(ERROR_CUTS)
        clip = float(ERROR_CUTS[last]) * width if last < len(ERROR_CUTS) else width
        # Targets and predictions lie in the range: no error is larger than its width.
        ends = np.append(ERROR_CUTS, 1.0) * width / clip
        edges = np.minimum(np.concatenate([[0.0], ends]), 1.0)
        weights = np.maximum(counts, 0.0)
        middles = (edges[1:] + edges[:-1]) / 2
        beyond = np.maximum(ends, 1.0)
        rows = max(float(weights.sum()), 1.0)
        second, fourth = (float((weights * middles**k).sum()) / rows for k in (2, 4))
        return cls(
            clip,
            _most(counts, (beyond > 1.0).astype(float), sizes, confidence),
            _most(counts, beyond - 1.0, sizes, confidence),
            _most(counts, beyond**2 - 1.0, sizes, confidence),
            max(fourth / max(second**2, 1e-12), 1.0),
            width,
            confidence,
            sizes,
        )

    def between(self, farther: float, power: int) -> tuple[float, float]:
        """By how much sums of powers would be larger, were errors clipped farther away.

        Parameters
        ----------
        farther : float
            Another clip; nothing if it is nearer.
        power : int

        Returns
        -------
        more, variance : float
            In the target's units to that power; by the noise of the counts.
        """
        edges = np.concatenate([[0.0], ERROR_CUTS, [1.0]]) * self.width
        edges = np.clip(edges, self.clip, max(farther, self.clip))
        # Whatever lies beyond the farther clip counts as that. Large errors are rarer than less
        # large ones: within a cell the mean is nearer to its lower end, at about a third.
        low, high = edges[:-1] ** power, edges[1:] ** power
        gains = low + (high - low) / 3.0 - self.clip**power
        counts = self.sizes.values[:-1]
        return float(gains @ counts), float(gains @ gains) * self.sizes.noise**2


def _most(counts: Floats, weights: Floats, sizes: Counted, confidence: float) -> float:
    """Upper end of the weighted sum of true counts."""
    reach = reach_of(confidence) * sizes.noise * math.sqrt(float((weights**2).sum()))
    return max(float((weights * counts).sum()), 0.0) + reach


@dataclass(frozen=True)
class ErrorFigures:
    """Means of the errors of some rows, in units of the clip, and how uncertain they are.

    Attributes
    ----------
    clip : Clip
    sums : Counted
        Of the five `error_parts`.
    """

    clip: Clip
    sums: Counted

    @property
    def rows(self) -> float:
        """Estimated number of rows."""
        return float(_ROWS @ self.sums.values)

    @property
    def known(self) -> bool:
        """Whether the number of rows stands clear of its noise."""
        reach = max(reach_of(self.clip.confidence), 3.0)
        return self.rows > max(reach * self.sums.noise * math.sqrt(len(_ROWS)), 1.0)

    @property
    def over(self) -> float:
        """What sums are divided by."""
        return max(self.rows, 1.0)

    @cached_property
    def mean(self) -> float:
        """Mean error."""
        return min(max(float(_FIRST @ self.sums.values) / self.over, -1.0), 1.0)

    @cached_property
    def size(self) -> float:
        """Mean size."""
        return min(max(float(_SIZE @ self.sums.values) / self.over, 0.0), 1.0)

    @cached_property
    def square(self) -> float:
        """Mean square."""
        return min(max(float(_SQUARE @ self.sums.values) / self.over, 0.0), 1.0)

    def noise(self, which: Floats, value: float) -> float:
        """Variance of a mean by the privacy noise: that of its sum, and of the rows it is over."""
        slope = (which - value * _ROWS) * (self.sums.noise / self.over)
        return float(slope @ slope)

    def sample(self, spread: float) -> float:
        """Variance of a mean by the sample, from the variance of one row's figure."""
        return self.sums.together * max(spread, 0.0) / self.over

    @property
    def square_noise(self) -> float:
        """Variance of the mean square by the privacy noise."""
        return self.noise(_SQUARE, self.square)

    @property
    def square_sample(self) -> float:
        """Variance of the mean square by the sample."""
        return self.sample((self.clip.kurtosis - 1.0) * self.square**2)

    def variances(self) -> dict[str, float]:
        """Variance of each measure, noise and sample, in squares of the target's units."""
        unit = self.clip.clip**2
        root = max(self.square, math.sqrt(self.square_noise), 1e-12)
        mean, size = self.mean, self.size
        return {
            "RMSE": unit * (self.square_noise + self.square_sample) / (4.0 * root),
            "MAE": unit * (self.noise(_SIZE, size) + self.sample(self.square - size**2)),
            "bias": unit * (self.noise(_FIRST, mean) + self.sample(self.square - mean**2)),
        }

    def measures(self) -> list[Measure]:
        """RMSE, MAE and bias, with intervals that allow for what the noise may hide."""
        clip, width = self.clip.clip, self.clip.width
        if not self.known:
            return [lost(name, low * width, width, UNIT) for name, low in _LOWEST.items()]
        reach = reach_of(self.clip.confidence)
        rows = max(self.rows - reach * self.sums.noise * math.sqrt(len(_ROWS)), 1.0)
        hidden = {
            "RMSE": self.clip.hidden_squares / rows,
            "MAE": self.clip.hidden_sizes / rows,
            "bias": self.clip.hidden_sizes / rows,
        }

        def told(name: str, value: float, low: float, high: float, noise: float) -> Measure:
            low, high = max(low * clip, _LOWEST[name] * width), min(high * clip, width)
            return Measure(name, value * clip, low, high, math.sqrt(noise) * clip, UNIT)

        square, root = self.square, math.sqrt(self.square)
        spread = reach * math.sqrt(self.square_noise + self.square_sample)
        slope = 1.0 / (4.0 * max(square, math.sqrt(self.square_noise), 1e-12))
        found = [
            told(
                "RMSE",
                root,
                math.sqrt(max(square - spread, 0.0)),
                math.sqrt(square + spread + hidden["RMSE"]),
                self.square_noise * slope,
            )
        ]
        for name, which, value in (("MAE", _SIZE, self.size), ("bias", _FIRST, self.mean)):
            noise = self.noise(which, value)
            far = reach * math.sqrt(noise + self.sample(square - value**2))
            below = far + (hidden[name] if name == "bias" else 0.0)
            found.append(told(name, value, value - below, value + far + hidden[name], noise))
        return found


@dataclass(frozen=True)
class AgainstMean:
    """The errors of a model beside those of the mean of the same rows.

    Attributes
    ----------
    model, constant : ErrorFigures
        Of the model, and of a constant near the mean.
    away, away_fourth : float
        Mean square and fourth power of prediction minus the constant, in the target's units.
    farthest : float
        How far predictions may be from the constant.
    """

    model: ErrorFigures
    constant: ErrorFigures
    away: float
    away_fourth: float
    farthest: float

    @cached_property
    def residual(self) -> float:
        """Mean square error of the model, in squares of the target's units."""
        return self.model.square * self.model.clip.clip**2

    @cached_property
    def whole(self) -> float:
        """Variance of the target: the mean square error of the mean."""
        own = self.constant
        return max(own.square - own.mean**2, 1e-12) * own.clip.clip**2

    @cached_property
    def _parts(self) -> tuple[float, float, float, float, float]:
        """Variances of both by noise and by the sample, and the latter's of their difference."""
        one, two = self.model.clip.clip**4, self.constant.clip.clip**4
        difference = self.model.sample(4.0 * self.away * self.residual + self.away_fourth)
        model, constant = self.model.square_sample * one, self.constant.square_sample * two
        # What the two have in common cannot be more than the smaller has.
        least = (math.sqrt(model) - math.sqrt(constant)) ** 2
        return (
            self.model.square_noise * one,
            self.constant.square_noise * two,
            model,
            constant,
            max(difference, least),
        )

    def _hidden_squares(self, figures: ErrorFigures) -> float:
        """What rows beyond a clip may add to the mean square."""
        return figures.clip.hidden_squares * figures.clip.clip**2 / figures.over

    @property
    def _hidden_gain(self) -> float:
        """What rows far from the mean may add to the difference of the mean squares.

        Of errors e0 of the mean and e of the model, e0^2 - e^2 = d (2 e0 - d), where d is how far
        the prediction is from the mean.
        """
        clip, far = self.constant.clip, self.farthest
        sizes = (clip.hidden + clip.hidden_sizes) * clip.clip
        return (2.0 * far * sizes + far**2 * clip.hidden) / self.constant.over

    def difference(self) -> tuple[float, float]:
        """Mean square error of the model minus that of the mean, both clipped alike; variance."""
        first, second, _, _, difference = self._parts
        more, noise = self._alike(2)
        return self.residual - self.whole + more, first + second + difference + noise

    def size_difference(self) -> tuple[float, float]:
        """The same of the mean sizes of errors, which differ by no more than predictions do."""
        parts = [
            (one.size * one.clip.clip, one.noise(_SIZE, one.size) * one.clip.clip**2)
            for one in (self.model, self.constant)
        ]
        more, noise = self._alike(1)
        difference = parts[0][0] - parts[1][0] + more
        return difference, parts[0][1] + parts[1][1] + self.model.sample(self.away) + noise

    def _alike(self, power: int) -> tuple[float, float]:
        """What clipping both as far as the farther one adds to the difference; its variance."""
        one, two = self.model, self.constant
        own, noise = one.clip.between(two.clip.clip, power)
        other, more_noise = two.clip.between(one.clip.clip, power)
        return (own - other) / one.over, (noise + more_noise) / one.over**2

    def r2(self) -> Measure:
        """Share of the target's variance that the predictions take away."""
        confidence = self.model.clip.confidence
        reach = reach_of(confidence)
        first, second, model, constant, difference = self._parts
        part = self.residual / self.whole
        doubt = math.sqrt(second + constant)
        if not (self.model.known and self.constant.known) or self.whole <= reach * doubt:
            return lost("R2", -math.inf, 1.0)
        both = (model + constant - difference) / 2.0
        noise = (first + part**2 * second) / self.whole**2
        sample = (model + part**2 * constant - 2.0 * part * both) / self.whole**2
        # The whole is uncertain, too: by how much at its lower end.
        far = (
            reach * math.sqrt(noise + max(sample, 0.0)) * self.whole / (self.whole - reach * doubt)
        )
        value = 1.0 - part
        # What the noise may hide: gross errors of the model, which are gross for the mean, too; and
        # rows far from the mean that the model may get right, as far as its predictions go.
        low = min(value, value * self.whole / (self.whole + self._hidden_squares(self.model))) - far
        found = 1.0 - self.residual / (self.whole + self._hidden_squares(self.constant))
        high = max(value, min(found, value + self._hidden_gain / self.whole)) + far
        return Measure("R2", value, low, min(high, 1.0), math.sqrt(noise))
