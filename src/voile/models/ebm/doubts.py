"""How far trained terms may be wrong: evidence, chance, and bins that nobody is known to be in.

All of it follows from released values: docs/proofs/verdicts.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from voile.models.ebm.evidence import TermEvidence
from voile.models.ebm.score_steps import ScoreSteps
from voile.models.ebm.terms import weigh_term
from voile.models.ebm.training_state import LARGEST_SPREAD

Floats = NDArray[np.float64]

_KNOWN = 3.0
"""Standard errors of its count that a bin with rows stands clear of none."""

_NO_EVIDENCE = 100.0
"""Times its square that an estimate is uncertain where no rows are known to be."""


class Doubts(ScoreSteps):
    """What a training says of its own errors."""

    def _weigh(self, k: int, *, noisy: bool) -> TermEvidence:
        """What the released sums say of a term by themselves."""
        term, spread = self.terms[k], self._others(self._spreads(), k)
        cross = self._cross()
        left = 0.0 if cross is None or not self._is_column(k) else cross[self._at(k)]
        base, per_unit = self._base(k), self.table.weight_per_unit
        state = (term, self.loss, self.intercept, self._part(k) + base, spread, left, self.unit)
        if self._is_column(k):
            found = weigh_term(*state).of_units(per_unit, noisy=noisy)
            guesses = self._guessed()[self._at(k)] * (found.estimates**2 + self.unit)
            doubt = _NO_EVIDENCE * guesses
            return replace(found, sampling_variances=found.sampling_variances + doubt)
        found = weigh_term(*state, np.asarray(base), self._joined.rows_of(k).part)
        found = found.of_units(per_unit, noisy=noisy)
        doubt = self._joined.doubt(k, self.scores)
        return replace(found, sampling_variances=found.sampling_variances + doubt)

    def _guessed(self) -> Floats:
        """1 for bins of columns that no rows are known to be in, 0 for others, shape (cells, 1).

        What such a bin was given by the noise stays there: no sum speaks against it.
        """
        result = np.zeros((len(self.scores), 1))
        for k, one in enumerate(self.bins):
            known = one.counts >= np.maximum(_KNOWN * one.count_errors, 0.5)
            # Intervals are made of rows, and vary with their neighbours.
            known[: len(known) - one.apart if len(one.cuts) else 0] = True
            result[self._at(k), 0] = ~known
        return result

    def _intercept_sampling(self) -> Floats:
        """Standard deviation of the intercept by who was among the rows, shape (outputs,)."""
        spread = np.minimum(self._spreads().sum(axis=0), LARGEST_SPREAD)[:, None]
        zero, rows = np.zeros((1, self.outputs)), max(self.target.rows, 1.0)
        scatter = self.loss.variance(self.intercept, zero, spread)[0]
        slope = self.loss.curvature(self.intercept, zero, spread)[0]
        per_unit = self.table.weight_per_unit
        return np.asarray(np.sqrt(per_unit * scatter / rows) / np.maximum(slope, 1e-9))
