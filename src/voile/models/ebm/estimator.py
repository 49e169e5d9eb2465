"""EBMClassifier and EBMRegressor: private additive models with the manners of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from voile.errors import DataError, SettingError
from voile.explaining import explain_global, explain_local
from voile.models.ebm import export, files
from voile.models.ebm.edit import Editor
from voile.models.ebm.fit import Settings, fit_model
from voile.models.ebm.interpret_model import to_interpret
from voile.models.ebm.model import AdditiveModel
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.public_rows import encode_public
from voile.privacy.receipt import Receipt
from voile.privacy.vault import protect
from voile.schema import Category, Number, Schema

Auto = Literal["auto"]
Direction = Literal["increasing", "decreasing"]


_COLUMN_VECTOR = "A column-vector y was passed when a 1d array was expected: give y.ravel()."
_NO_LARGEST = (
    "Weights need a public largest value, so that no row counts for more: weights above 1 count as "
    "1. Give largest_weight=..., chosen without looking at the weights."
)


def _is_array(X: object) -> TypeGuard[NDArray[Any]]:
    """Whether X has a shape but no names, so that columns are told apart by place alone."""
    return not hasattr(X, "columns") and hasattr(X, "shape")


def _check_two_dimensions(X: object) -> None:
    if _is_array(X) and len(X.shape) < 2:
        raise DataError(
            "Expected a 2D array of shape (rows, columns), got one of fewer dimensions. Reshape "
            "your data: array.reshape(-1, 1) for one column, array.reshape(1, -1) for one row."
        )


class _EBM(BaseEstimator):  # type: ignore[misc]
    """What the two estimators share: fitting, explaining, editing, storing."""

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        method: Literal["rounds", "cyclic"] = "rounds",
        rounds: int | Auto = "auto",
        bins: int | Auto = "auto",
        monotone: Mapping[str, Direction] | None = None,
        largest_weight: float | None = None,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger
        self.method = method
        self.rounds = rounds
        self.bins = bins
        self.monotone = monotone
        self.largest_weight = largest_weight
        self.random_state = random_state

    def _fit(self, X: object, y: object, sample_weight: object, target: Number | Category) -> Self:
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the target values, or the name of the target column."
            )
        _check_two_dimensions(X)
        if getattr(y, "shape", ())[1:] == (1,):
            warnings.warn(_COLUMN_VECTOR, DataConversionWarning, stacklevel=3)
        settings = Settings(
            method=self.method,
            rounds=None if self.rounds == "auto" else self.rounds,
            bins=None if self.bins == "auto" else self.bins,
            monotone=dict(self.monotone or {}),
            random_state=self.random_state,
        )
        schema = self.schema
        known = None if schema is None else schema.target
        if known is not None and type(known) is not type(target):
            raise SettingError(
                f"{type(self).__name__} needs a target that is a {type(target).__name__}. Got "
                f"{known!r} instead: use the other estimator, or correct the schema."
            )
        largest = 1.0 if self.largest_weight is None else self.largest_weight
        if sample_weight is not None and self.largest_weight is None:
            warnings.warn(_NO_LARGEST, UserWarning, stacklevel=3)
        table = protect(
            X,
            y,
            schema=schema,
            target=known or target,
            weights=sample_weight,
            largest_weight=largest,
        )
        budget = Budget(self.epsilon, self.delta)
        ledger = Ledger(budget) if self.ledger is None else self.ledger
        what = f"{type(self).__name__}.fit"
        self.model_ = fit_model(table, budget, ledger, settings, what)
        self._describe(X)
        return self

    def _describe(self, X: object = None) -> None:
        """Set what scikit-learn expects of a fitted estimator."""
        self.n_features_in_ = X.shape[1] if _is_array(X) else len(self.model_.schema)
        # Where columns are told apart by place alone, another number of them is a mistake.
        by_place = _is_array(X) or (isinstance(X, list) and self.schema is None)
        self._width = self.n_features_in_ if by_place else None
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(list(self.model_.schema), dtype=object)

    @classmethod
    def _from_model(cls, model: AdditiveModel) -> Self:
        receipt = model.receipt
        result = cls(epsilon=receipt.epsilon, delta=receipt.delta, schema=model.schema)
        result.model_ = model
        result._describe()
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _scores(self, X: object) -> NDArray[np.float64]:
        check_is_fitted(self)
        _check_two_dimensions(X)
        if _is_array(X) and self._width not in (None, X.shape[1]):
            raise DataError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self._width} features as input: give the columns of the fit."
            )
        return self.model_.scores(encode_public(X, self.model_.schema))

    # -- the model ----------------------------------------------------------------------------

    @property
    def receipt_(self) -> Receipt:
        """The privacy guarantee, and every look at the rows behind it."""
        check_is_fitted(self)
        return self.model_.receipt

    def explain_global(self) -> Any:
        """Shape functions, importances and private counts of all terms (costs nothing).

        Returns
        -------
        GlobalExplanation
        """
        check_is_fitted(self)
        return explain_global(self.model_)

    def explain_local(self, X: object) -> Any:
        """Contribution of every column to each row's score; they add up to it exactly.

        Parameters
        ----------
        X : table of shape (rows, columns)

        Returns
        -------
        LocalExplanation
            Values of shape (rows, columns, outputs).
        """
        check_is_fitted(self)
        return explain_local(self.model_, X)

    def edit(self, who: str | None = None) -> Editor:
        """Start editing; costs nothing, and the receipt stays as it is.

        Parameters
        ----------
        who : str, optional
            Author, for the history; the user's login name by default.

        Returns
        -------
        Editor
            Give its ``model`` to `with_model` for an estimator that predicts with it.
        """
        check_is_fitted(self)
        return Editor(self.model_, who)

    def with_model(self, model: AdditiveModel | Editor) -> Self:
        """The same estimator with another (edited) model; this one stays as it was."""
        check_is_fitted(self)
        result = type(self)(**self.get_params(deep=False))
        result.model_ = model.model if isinstance(model, Editor) else model
        result._describe()
        result._width, result.n_features_in_ = self._width, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            result.feature_names_in_ = self.feature_names_in_
        return result

    def original(self) -> Self:
        """The model as it was trained, whatever was edited since."""
        check_is_fitted(self)
        return self.with_model(self.model_.original or self.model_)

    def save(self, path: str | Path) -> Path:
        """Write the model as JSON; `voile.load` reads it back."""
        check_is_fitted(self)
        return files.write(self.model_, path)

    def to_csv(self, path: str | Path) -> Path:
        """Write the score table, one line per bin."""
        check_is_fitted(self)
        return export.write_csv(self.model_, path)

    def to_excel(self, path: str | Path) -> Path:
        """Write the score table as a workbook (extra ``excel``)."""
        check_is_fitted(self)
        return export.write_excel(self.model_, path)

    def to_interpret(self) -> Any:
        """An equal model of the interpret package (extra ``interpret``)."""
        check_is_fitted(self)
        return to_interpret(self.model_)


class EBMClassifier(ClassifierMixin, _EBM):  # type: ignore[misc]
    """A private additive classifier: one readable curve of log-odds per column.

    Parameters
    ----------
    epsilon, delta : float
        Budget of one fit; ``epsilon=inf`` trains without noise and without a guarantee.
    schema : Schema, optional
        What is public: bounds, levels, classes. What it lacks is found privately, for a share of
        the budget.
    ledger : Ledger, optional
        Where the fit is recorded; by default one of its own.
    method : {"rounds", "cyclic"}
        "rounds": a few noised histograms of all columns, smoothed. "cyclic": Algorithm 2 of Nori et
        al. (2021) made sound, for comparison; far less accurate, binary or regression only.
    rounds : int or "auto"
        Looks at the rows; 20, or 26 for regression (300 epochs for "cyclic").
    bins : int or "auto"
        Most intervals of a number, by the noised row count and the noise: between 6 and 64.
    monotone : mapping of column name to "increasing" or "decreasing", optional
    largest_weight : float, optional
        Largest ``sample_weight`` a row can have, a public fact: a larger one counts as this, and
        noise is added as if every row had it. 1 if not given.
    random_state : int, optional
        Seeds the public random splits of "cyclic"; never noise.

    Attributes
    ----------
    model_ : AdditiveModel
        Frozen: terms, scores, standard errors, private counts.
    classes_ : ndarray of shape (classes,)
        Classes of the schema, in its order.
    receipt_ : Receipt

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Category, EBMClassifier, Number, Schema
    >>> X = np.linspace(0, 10, 2000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 4, "yes", "no")
    >>> schema = Schema({"dose": Number(0, 10)}, target=Category(["no", "yes"]))
    >>> model = EBMClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> print(model.predict([[0.5], [9.5]]))
    ['no' 'yes']
    """

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : data frame, array, mapping, or path of Parquet files; shape (rows, columns)
        y : array of shape (rows,), or the name of the target column
        sample_weight : array of shape (rows,), or the name of a column of Parquet files, optional
            Private too. Counts in the model are then sums of weights.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, Category())
        return self

    def _describe(self, X: object = None) -> None:
        super()._describe(X)
        classes = self.model_.classes
        # numpy would turn ['no', 1] into text, and a prediction must be the class as it was given.
        mixed = len({type(one) for one in classes}) > 1
        self.classes_ = np.array(classes, dtype=object if mixed else None)

    def decision_function(self, X: object) -> NDArray[np.float64]:
        """Log-odds of the second class, shape (rows,); with more classes (rows, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: object) -> NDArray[np.float64]:
        """Probability of each class, shape (rows, classes)."""
        scores = self._scores(X)
        return self.model_.respond(scores)

    def predict(self, X: object) -> NDArray[Any]:
        """Most probable class of each row, shape (rows,)."""
        places = np.argmax(self.predict_proba(X), axis=1)
        chosen: NDArray[Any] = self.classes_[places]
        return chosen


class EBMRegressor(RegressorMixin, _EBM):  # type: ignore[misc]
    """A private additive regression: one readable curve per column, in the target's units.

    Parameters, methods and attributes are those of `EBMClassifier`; the schema's target is a
    ``Number``, whose bounds are found privately if they are not given.

    Examples
    --------
    >>> import numpy as np
    >>> from voile import EBMRegressor, Number, Schema
    >>> X = np.linspace(0, 10, 5000).reshape(-1, 1)
    >>> schema = Schema({"size": Number(0, 10)}, target=Number(0, 100))
    >>> model = EBMRegressor(epsilon=2.0, schema=schema).fit(X, X[:, 0] ** 2)
    >>> bool(model.predict([[9.0]])[0] > model.predict([[2.0]])[0] + 30)
    True
    """

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Train on private rows; see `EBMClassifier.fit`."""
        self._fit(X, y, sample_weight, Number())
        return self

    def predict(self, X: object) -> NDArray[np.float64]:
        """Predicted target of each row, inside the target's bounds, shape (rows,)."""
        scores = self._scores(X)
        return self.model_.respond(scores)


def load_estimator(path: str | Path) -> EBMClassifier | EBMRegressor:
    """Read what `save` wrote."""
    model = files.read(path)
    kind = EBMRegressor if model.link == "identity" else EBMClassifier
    result: EBMClassifier | EBMRegressor = kind._from_model(model)
    return result
