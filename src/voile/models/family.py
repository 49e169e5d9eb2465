"""An estimator and its copies as one family, so that repeated fits without a ledger are noticed.

A grid search or cross-validation fits clones on copies of rows: neither the estimators nor the
tables are the same objects, and only where the clones come from tells that they belong together.
"""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.origins import family_use, new_family, note_sent, own_ledger


class Family(BaseEstimator):  # type: ignore[misc]
    """What clones and pickles of an estimator have in common: the name of their family."""

    ledger: Ledger | None
    _family: str | None = None

    def _name_family(self) -> str:
        if self._family is None:
            self._family = new_family()
        return self._family

    def _ledger_for(self, budget: Budget, columns: tuple[str, ...]) -> Ledger:
        """The ledger that was given, or one for a fit on such columns alone."""
        if self.ledger is not None:
            return self.ledger
        return own_ledger(budget, family_use(self._name_family(), columns))

    def __sklearn_clone__(self) -> Self:
        copy: Self = super().__sklearn_clone__()
        copy._family = self._name_family()
        return copy

    def __getstate__(self) -> Any:
        if self.ledger is None and not hasattr(self, "model_"):
            note_sent(self._name_family())
        return super().__getstate__()
