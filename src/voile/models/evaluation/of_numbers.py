"""The quality of a regression: root mean square, mean size and mean of its errors, by group too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.evaluation.access import LEAST_ROWS, access, level_names, of_group, pay
from voile.models.evaluation.intervals import Counted, lost, reach_of
from voile.models.evaluation.queries import ERROR_CUTS, ErrorSizes, ErrorSums, GroupErrors
from voile.models.evaluation.record import (
    Evaluation,
    GroupScores,
    Measure,
    digest_of_edits,
    plain_number,
)
from voile.models.fit import FitJob
from voile.privacy.calibrate import gaussian_step
from voile.privacy.grant import Grant
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Schema

Floats = NDArray[np.float64]

_SIZES, _SUMS = "sizes of errors", "errors"
_UNIT = "units of the target"
_LOWEST = {"RMSE": 0.0, "MAE": 0.0, "bias": -1.0}
"""The least that each can be, in widths of the target's range."""


@dataclass(frozen=True)
class Errors:
    """What the sizes of errors, once counted, say of the errors themselves.

    Attributes
    ----------
    clip : float
        Largest size that stands clear of the noise, in units of the target; the width of the
        target's range if all do.
    hidden, hidden_sizes, hidden_squares : float
        Rows beyond the clip that the counts allow, and by how much their sizes and squares could
        raise the sums, in units of the clip and its square: upper ends.
    fourth : float
        Mean fourth power of the clipped errors, in units of the clip's.
    width, confidence : float
        Of the target's range; of intervals.
    """

    clip: float
    hidden: float
    hidden_sizes: float
    hidden_squares: float
    fourth: float
    width: float
    confidence: float

    @classmethod
    def of(cls, sizes: Counted, width: float, confidence: float) -> Errors:
        """Choose the clip by the counts of `ErrorSizes`."""
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
        return cls(
            clip,
            _most(counts, (beyond > 1.0).astype(float), sizes, confidence),
            _most(counts, beyond - 1.0, sizes, confidence),
            _most(counts, beyond**2 - 1.0, sizes, confidence),
            float((weights * middles**4).sum() / max(weights.sum(), 1.0)),
            width,
            confidence,
        )

    def measures(self, sums: Counted) -> list[Measure]:
        """RMSE, MAE and bias from the four sums of some rows, with intervals."""
        rows, first, second, absolute = (float(one) for one in sums.values)
        reach, clip, width = reach_of(self.confidence), self.clip, self.width
        if rows <= max(reach, 3.0) * sums.noise or rows < 1.0:
            return [lost(name, low, width, _UNIT) for name, low in _LOWEST.items()]
        noise = sums.noise / rows
        mean, size = first / rows, max(absolute / rows, 0.0)
        square = max(second / rows, 0.0)

        def around(value: float, spread: float, raised: float) -> tuple[float, float, float]:
            # Noise of the sum and of the number of rows it is divided by; chance; what is hidden.
            own = noise * math.sqrt(1.0 + value**2)
            chance = sums.together * max(spread, 0.0) / rows
            total = reach * math.sqrt(own**2 + chance)
            return own, total, total + raised / max(rows - reach * sums.noise, 1.0)

        def told(name: str, value: float, low: float, high: float, own: float) -> Measure:
            low, high = max(low * clip, _LOWEST[name] * width), min(high * clip, width)
            return Measure(name, value * clip, low, high, own * clip, _UNIT)

        root = math.sqrt(square)
        own, below, above = around(square, self.fourth - square**2, self.hidden_squares)
        slope = 1.0 / (2.0 * max(root, math.sqrt(own), 1e-12))
        by_size = around(size, square - size**2, self.hidden_sizes)
        by_mean = around(mean, square - mean**2, self.hidden_sizes)
        lowest = math.sqrt(max(square - below, 0.0))
        return [
            told("RMSE", root, lowest, math.sqrt(square + above), own * slope),
            told("MAE", size, size - by_size[1], size + by_size[2], by_size[0]),
            told("bias", mean, mean - by_mean[2], mean + by_mean[2], by_mean[0]),
        ]


def _most(counts: Floats, weights: Floats, sizes: Counted, confidence: float) -> float:
    """Upper end of the weighted sum of true counts."""
    reach = reach_of(confidence) * sizes.noise * math.sqrt(float((weights**2).sum()))
    return max(float((weights * counts).sum()), 0.0) + reach


def evaluate_numbers(
    job: FitJob, model: Any, kind: str, groups: tuple[str, ...], confidence: float
) -> Evaluation:
    """Measure a regression on protected rows."""
    table, target = job.table, model.schema.target
    width = float(target.upper) - float(target.lower)
    shape = [gaussian_step(_SIZES, 0.4), gaussian_step(_SUMS, 0.4)]
    shape += [gaussian_step(of_group(name), 0.4) for name in groups]
    grant = pay(job, model, groups, shape)
    sizes = access(table, ErrorSizes(width), grant, _SIZES)
    errors = Errors.of(sizes, width, confidence)
    sums = access(table, ErrorSums(errors.clip), grant, _SUMS)
    rows = float(sums.values[0])
    told, notes = _group_errors(table, grant, model.schema, groups, errors)
    if errors.clip < width:
        notes.append(
            f"Errors beyond {plain_number(errors.clip)} count as that much in the estimates. The "
            f"noise could hide up to about {errors.hidden:,.0f} rows with larger ones: the "
            "intervals reach as far as those would bring them. A narrower range of the target "
            "makes them narrower."
        )
    return Evaluation(
        model=kind,
        target="regression",
        rows=rows,
        confidence=confidence,
        measures=tuple(errors.measures(sums)),
        classes=(),
        confusion=(),
        reliability=(),
        groups=tuple(told),
        receipt=write_receipt(grant, job.budget),
        notes=tuple(notes),
        entry=model.receipt.entry,
        edits=digest_of_edits(model),
    )


def _group_errors(
    table: PrivateTable, grant: Grant, schema: Schema, groups: tuple[str, ...], errors: Errors
) -> tuple[list[GroupScores], list[str]]:
    told, notes = [], []
    for name in groups:
        levels = level_names(schema, name)
        query = GroupErrors(errors.clip, name, len(levels) - 2)
        sums = access(table, query, grant, of_group(name))
        silent = []
        for level, values in zip(levels, sums.values.reshape(len(levels), 4), strict=True):
            if values[0] < LEAST_ROWS * sums.noise or values[0] < 1.0:
                silent.append(level)
                continue
            found = errors.measures(Counted(values, sums.noise, sums.together))
            told.append(GroupScores(name, level, float(values[0]), tuple(found)))
        if silent:
            notes.append(f"Too few rows to tell, by {name}: {', '.join(silent)}.")
    return told, notes
