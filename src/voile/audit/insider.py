"""The insider: an attacker inside the vault, for estimators of Voile.

It knows all rows, sees every noised sum of a training, and works out the exact likelihood of what
was released with a canary and without it. See `voile.privacy.insider`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from voile.audit.joining import add_row, last_row
from voile.errors import SettingError
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.events import Gaussian
from voile.privacy.insider import InsiderFit, watch
from voile.privacy.ledger import Ledger
from voile.privacy.receipt import Receipt


def is_watchable(fit: object) -> bool:
    """Whether an insider can watch: an estimator that trains on sums over rows."""
    return hasattr(fit, "fit_table") and hasattr(fit, "schema")


class Insider:
    """Fits of an estimator, watched for some canaries.

    Parameters
    ----------
    estimator : estimator of Voile, unfitted
        With a schema that has a target, without a ledger: every run has its own.
    dataset : (X, y)
        Table of shape (rows, columns), and its target; without the canaries.
    canaries : sequence of (x, y)
        Rows.
    instead_of : (x, y), optional
        A row whose place the only canary takes: where it is not there, this row is. The guarantee
        is then one about replaced rows.
    """

    def __init__(
        self, estimator: Any, dataset: Any, canaries: Sequence[Any], instead_of: Any = None
    ) -> None:
        if not (isinstance(dataset, tuple) and len(dataset) == 2):
            raise SettingError("Give the rows of an estimator as (X, y).")
        if estimator.schema is None or estimator.schema.target is None:
            raise SettingError(
                "An insider needs a schema with a target: give the estimator schema=Schema(..., "
                "target=...), or audit it by a function fit= and score=."
            )
        if getattr(estimator, "ledger", None) is not None:
            raise SettingError("Every run of an audit spends: leave the estimator's ledger out.")
        self._estimator, self._dataset = estimator, dataset
        self._replacing = instead_of is not None
        watched = [*canaries, instead_of] if self._replacing else canaries
        self._canaries = [last_row(add_row(dataset, one)) for one in watched]

    def scores(self, present: Sequence[bool]) -> NDArray[np.float64]:
        """Log-likelihood ratios of "there" to "not there", of one fit; one for each canary."""
        return self._fit(present)[1].scores

    def receipt(self) -> Receipt:
        """The guarantee of a fit, which is made here."""
        return self._fit(self._present(False))[0]

    def watched(self) -> frozenset[str]:
        """Steps of the plan at which the insider sees sums, of a fit that is made here."""
        return frozenset(self._fit(self._present(False))[1].scores_by_step)

    def __call__(self, there: bool) -> NDArray[np.float64]:
        """The score of the only canary, then its parts by the steps of the plan.

        The sum is the best test if the noise is what it is declared to be. The parts betray a step
        without noise, which the declared noise makes small in the sum.
        """
        rows = self._fit(self._present(there))[1]
        parts = rows.scores_by_step
        scores = [rows.scores, *parts.values()] if len(parts) > 1 else [rows.scores]
        # Of a canary and the row that it replaces, the difference is the ratio of the two worlds.
        return np.concatenate([-np.diff(one) for one in scores] if self._replacing else scores)

    def _present(self, there: bool) -> list[bool]:
        return [there, not there] if self._replacing else [there] * len(self._canaries)

    def _fit(self, present: Sequence[bool]) -> tuple[Receipt, InsiderFit]:
        copy = clone(self._estimator)
        relation = (
            NeighbouringRelation.REPLACE_ONE if self._replacing else NeighbouringRelation.ADD_REMOVE
        )
        known = None if copy.schema is None else copy.schema.rows
        budget = Budget.of_job(copy.epsilon, copy.delta, known)
        copy.ledger = Ledger(budget, relation=relation)
        X, y = self._dataset
        rows = watch(X, y, self._canaries, present, copy.schema)
        copy.fit_table(rows.table, seed=rows.seed)
        if rows.accesses == 0:
            raise SettingError(
                f"{type(copy).__name__} made no noised sum that an insider could watch (without "
                "noise there is nothing to audit): give a function fit= and score=."
            )
        return copy.receipt_, rows


def all_gaussian(receipt: Receipt) -> bool:
    """Whether all accesses are Gaussian sums over all rows, so that mu says all."""
    return all(type(line.event) is Gaussian for line in receipt.lines)
