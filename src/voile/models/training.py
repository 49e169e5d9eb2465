"""Every way to train: rows, a private table, a federation; and whether it is the first one.

All end in one: `fit` protects rows, a federation or an audit holds them already, and a family of
models makes a frozen model of the table.

An estimator and its copies are one family, so that repeated fits without a ledger are noticed: a
grid search or cross-validation fits clones on copies of rows, neither the estimators nor the tables
are the same objects, and only where the clones come from tells that they belong together.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Protocol, Self, TypeGuard

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning

from voile.errors import DataError, SettingError
from voile.models.classes import Classes, declare_classes
from voile.models.fit import FitJob
from voile.models.setting_checks import CheckedSettings
from voile.privacy.budget import Budget
from voile.privacy.discovery import warn_of_guesses
from voile.privacy.ledger import Ledger
from voile.privacy.origins import family_use, new_family, note_sent, own_ledger
from voile.privacy.vault import PrivateTable, protect
from voile.schema import Category, Level, Number, Schema
from voile.schema.frames import describe_frame
from voile.schema.kind_checks import refuse_meaningless_numbers

_COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected: give y.ravel()."


def is_array(X: object) -> TypeGuard[NDArray[Any]]:
    """Whether X has a shape but no names, so that columns are told apart by place alone."""
    return not hasattr(X, "columns") and hasattr(X, "shape")


def check_two_dimensions(X: object) -> None:
    """Refuse a single column or row that is not a table."""
    if is_array(X) and len(X.shape) < 2:
        raise DataError(
            "Expected a 2D array of shape (rows, columns), got one of fewer dimensions. Reshape "
            "your data: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row."
        )


class Joint(Protocol):
    """A job that clients have joined."""

    @property
    def table(self) -> PrivateTable:
        """Their rows, to be summed over."""

    @property
    def seed(self) -> int:
        """Public randomness, the same after a restart."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class Federated(Protocol):
    """What `fit_federated` needs of a federation (`voile.federated.Federation`)."""

    @property
    def schema(self) -> Schema:
        """What all clients agreed is public."""

    def join(self, ledger: Ledger) -> Joint:
        """Begin a job."""


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


class TableTraining(Family):
    """Training on private rows, wherever they lie.

    Subclasses set ``epsilon``, ``delta``, ``schema``, ``ledger`` and the fields of their settings
    in ``__init__``, and make a frozen model of a job in ``_train``.
    """

    epsilon: float
    delta: float | None
    schema: Schema | None
    ledger: Ledger | None
    classes: Classes | None = None
    positive: Level | None = None
    model_: Any

    _settings_kind: ClassVar[type[CheckedSettings]]
    """The family's settings."""

    def _fit(self, X: object, y: object, **weighing: Any) -> Self:
        """Put rows into the vault, and train on the table that this gives."""
        self._settings()  # refuses before rows are looked at
        X = self._flat(X)
        table = self._protect(X, y, **weighing)
        budget = self._budget(table.schema)
        self._fit_job(table, budget, self._ledger_for(budget, tuple(table.schema)), "fit")
        self._describe_rows(X)
        return self

    def _flat(self, X: object) -> object:
        """Rows as a table; pictures as rows of pixels."""
        return X

    def _protect(self, X: object, y: object, **weighing: Any) -> PrivateTable:
        """Check what was given, and put the rows into the vault; nothing is spent yet."""
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the target values, or the name of the target column."
            )
        check_two_dimensions(X)
        if getattr(y, "shape", ())[1:] == (1,):
            warnings.warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        schema = self.schema
        if schema is None:
            refuse_meaningless_numbers(describe_frame(X), y)
        known = None if schema is None else schema.target
        if known is not None:
            self._check_target(known)
        return protect(X, y, schema=schema, target=known or self._expected_target(), **weighing)

    def fit_table(self, table: PrivateTable, *, seed: int | None = None) -> Self:
        """Train on a private table: the one way to a model, whatever holds the rows.

        Parameters
        ----------
        table : PrivateTable
            From `voile.privacy.vault.protect`, a federation, or an audit. Its schema counts.
        seed : int, optional
            Public randomness where ``random_state`` is None.

        Returns
        -------
        self
        """
        budget = self._budget(table.schema)
        ledger = self._ledger_for(budget, tuple(table.schema))
        return self._fit_job(table, budget, ledger, "fit_table", seed)

    def fit_federated(self, federation: Federated) -> Self:
        """Train on the rows of all clients of a federation, which stay where they are.

        The same model as from the rows in one table, however unevenly they lie: training asks for
        sums over rows, and integers add up exactly in any order.

        Parameters
        ----------
        federation : voile.federated.Federation

        Returns
        -------
        self
            Its receipt says who is protected from whom.
        """
        self._check_agreed(federation.schema)
        self._check_target(federation.schema.target)
        budget = self._budget(federation.schema)
        ledger = own_ledger(budget) if self.ledger is None else self.ledger
        with federation.join(ledger) as joint:
            return self._fit_job(joint.table, budget, ledger, "fit_federated", joint.seed)

    def _check_agreed(self, schema: Schema) -> None:
        """Refuse a federation that agreed on another schema (SettingError)."""
        if self.schema is not None and self.schema != schema:
            raise SettingError(
                "The estimator's schema is not the one that the federation agreed on: leave it out."
            )

    def _fit_job(
        self,
        table: PrivateTable,
        budget: Budget,
        ledger: Ledger,
        how: str,
        seed: int | None = None,
    ) -> Self:
        """The end of every way to train."""
        self._check_target(table.schema.target)
        target = declare_classes(table.schema.target, self.classes, self.positive)
        if target != table.schema.target:
            table = table.with_schema(table.schema.with_target(target))
        what, lasting = f"{type(self).__name__}.{how}", self.ledger is not None
        job = FitJob(table, budget, ledger, what, lasting, self.positive)
        self.model_ = self._train(job, self._settings(seed))
        self._describe()
        warn_of_guesses(self.model_.receipt.notes)
        return self

    def _budget(self, schema: Schema) -> Budget:
        """What a fit may cost; without a delta, by the public row count."""
        return Budget.of_job(self.epsilon, self.delta, schema.rows)

    def _expected_target(self) -> Number | Category:
        """What kind of target is learned."""
        return Category()

    def _check_target(self, target: Number | Category | None) -> None:
        expected = type(self._expected_target())
        if type(target) is not expected:
            raise SettingError(
                f"{type(self).__name__} needs a target that is a {expected.__name__}. Got "
                f"{target!r} instead: use the other estimator, or correct the schema."
            )

    def _settings(self, seed: int | None = None) -> Any:
        """The settings, checked; SettingError if no fit can have them.

        ``seed`` is public randomness where the user gave none.
        """
        return self._settings_kind.of(self, seed)

    def _train(self, job: FitJob, settings: Any) -> Any:
        """The frozen model."""
        raise NotImplementedError

    def _describe(self) -> None:
        """Set what scikit-learn expects of a fitted estimator."""
        raise NotImplementedError

    def _describe_rows(self, X: object) -> None:
        """The same of how the rows of the fit looked."""
        raise NotImplementedError
