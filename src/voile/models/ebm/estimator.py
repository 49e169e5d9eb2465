"""EBMClassifier and EBMRegressor: private additive models with scikit-learn's interface."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from voile.errors import SettingError
from voile.models.classes import Classes
from voile.models.ebm import export
from voile.models.ebm.edit import Editor
from voile.models.ebm.files import SavedEBM
from voile.models.ebm.fit import fit_model
from voile.models.ebm.interactions import Interactions
from voile.models.ebm.interpret_model import to_interpret
from voile.models.ebm.model import EBMModel
from voile.models.ebm.objectives import Objective
from voile.models.ebm.settings import Direction, Method, Settings
from voile.models.estimator import PrivateEstimator
from voile.models.fit import FitJob
from voile.privacy.ledger import Ledger
from voile.schema import Category, Level, Number, Schema

Auto = Literal["auto"]
Floats = NDArray[np.float64]

_NO_LARGEST = (
    "Weights need a public largest value, so that no row counts for more: weights above 1 count as "
    "1. Give largest_weight=..., chosen without looking at the weights."
)


class _EBM(PrivateEstimator):
    """What the two estimators share: fitting, explaining, editing, storing."""

    _settings_kind = Settings
    model_: EBMModel

    objective: Objective = "squared"
    quantile: float = 0.5
    exposure: str | None = None

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        method: Method = "rounds",
        rounds: int | Auto = "auto",
        bins: int | Auto = "auto",
        monotone: Mapping[str, Direction] | None = None,
        interactions: Interactions = "auto",
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
        self.interactions = interactions
        self.largest_weight = largest_weight
        self.random_state = random_state

    def _weighing(self, sample_weight: object) -> dict[str, object]:
        """How rows are weighed; warns if nothing public bounds a weight."""
        if sample_weight is not None and self.largest_weight is None:
            warnings.warn(_NO_LARGEST, UserWarning, stacklevel=3)
        largest = 1.0 if self.largest_weight is None else self.largest_weight
        return {"weights": sample_weight, "largest_weight": largest}

    def _train(self, job: FitJob, settings: Settings) -> EBMModel:
        return fit_model(job, settings)

    def _answer(self, X: object, answer: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """What is made of the scores of all rows, part by part: between, only a part is held."""
        rows = self._read(X)  # first: it says what is wrong before a fit
        model, start = self.model_, 0
        result: NDArray[Any] = np.zeros(0)
        for columns in rows.parts(model.rows_at_once):
            part = answer(model.scores(columns))
            if start == 0:
                result = np.empty((rows.rows, *part.shape[1:]), dtype=part.dtype)
            result[start : start + len(part)] = part
            start += len(part)
        return result

    def _own_columns(self, X: object) -> object:
        return self.model_.own_columns(X)

    # -- the model ----------------------------------------------------------------------------

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

    def with_model(self, model: EBMModel | Editor) -> Self:
        """The same estimator with another (edited) model; this one stays as it was."""
        check_is_fitted(self)
        result = type(self)(**self.get_params(deep=False))
        result.model_ = model.model if isinstance(model, Editor) else model
        result._describe_like(self)
        return result

    def original(self) -> Self:
        """The model as it was trained, whatever was edited since."""
        check_is_fitted(self)
        return self.with_model(self.model_.original or self.model_)

    def _write(self, path: str | Path) -> Path:
        return SavedEBM.write(self.model_, path, self.training_settings_)

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
        Budget of one fit; ``epsilon=inf`` trains without noise and without a guarantee. Delta is by
        default 1e-6, and at most 0.01 / rows where the schema tells the number of rows.
    schema : Schema, optional
        What is public: bounds, levels, classes. What it lacks is found privately, for a share of
        the budget.
    ledger : Ledger, optional
        Where the fit is recorded; by default one of its own.
    classes : list, optional
        The classes of the target, where no schema lists them: ``[0, 1]``. Without them they are
        found privately.
    positive : class, optional
        Which of two classes explanations, reports and exports speak of (its log-odds, its
        probability); by default the second, or yes where yes and no are found. `classes_`, and with
        it ``predict_proba`` and ``decision_function``, is sorted then, as scikit-learn has it.
    method : {"rounds", "cyclic"}
        "rounds": a few noised histograms of all columns, smoothed. "cyclic": Algorithm 2 of Nori et
        al. (2021) made sound, for comparison; far less accurate, binary or regression only.
    rounds : int or "auto"
        Looks at the rows; 20, or 26 for regression (300 epochs for "cyclic").
    bins : int or "auto"
        Most intervals of a number, by the noised row count and the noise: between 6 and 96.
    monotone : mapping of column name to "increasing" or "decreasing", optional
    largest_weight : float, optional
        Largest ``sample_weight`` a row can have, a public fact: a larger one counts as this, and
        noise is added as if every row had it. 1 if not given.
    interactions : "auto", int, or list of pairs of column names
        Pairs of columns that get a term of their own, for what they do together. "auto" chooses the
        few that are clear, privately, for 4 % of the rounds' budget, or none; a number chooses at
        most so many; ``[("latitude", "longitude")]`` names them, which costs nothing to choose; 0
        is for a model without.
    random_state : int, optional
        Seeds the public random splits of "cyclic"; never noise.

    Attributes
    ----------
    model_ : EBMModel
        Frozen: terms, scores, standard errors, private counts.
    classes_ : ndarray of shape (classes,)
        Classes of the schema, in its order; sorted if there is a ``positive`` one.
    receipt_ : Receipt
    training_settings_ : dict, or None
        Parameters of the fit as plain data; None if a file of an earlier version lacks them.

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

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        classes: Classes | None = None,
        positive: Level | None = None,
        method: Method = "rounds",
        rounds: int | Auto = "auto",
        bins: int | Auto = "auto",
        monotone: Mapping[str, Direction] | None = None,
        interactions: Interactions = "auto",
        largest_weight: float | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            ledger=ledger,
            method=method,
            rounds=rounds,
            bins=bins,
            monotone=monotone,
            interactions=interactions,
            largest_weight=largest_weight,
            random_state=random_state,
        )
        self.classes = classes
        self.positive = positive

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
        return self._fit(X, y, **self._weighing(sample_weight))

    def decision_function(self, X: object) -> Floats:
        """Log-odds of the last of two `classes_`, (rows,); of more, scores, (rows, classes)."""
        return self._answer(X, self._decide)

    def _decide(self, scores: Floats) -> Floats:
        if scores.shape[1] > 1:
            return scores
        return self._by_class(np.column_stack([-scores[:, 0], scores[:, 0]]))[:, 1]

    def predict_proba(self, X: object) -> Floats:
        """Probability of each class, shape (rows, classes)."""
        return self._answer(X, self._chances)

    def _chances(self, scores: Floats) -> Floats:
        return self._by_class(self.model_.respond(scores))

    def predict(self, X: object) -> NDArray[Any]:
        """Most probable class of each row, shape (rows,)."""
        places = self._answer(X, lambda scores: np.argmax(self._chances(scores), axis=1))
        chosen: NDArray[Any] = self.classes_[places]
        return chosen


class EBMRegressor(RegressorMixin, _EBM):  # type: ignore[misc]
    """A private additive regression: one readable curve per column, in the target's units.

    Parameters, methods and attributes are those of `EBMClassifier`, but for the classes; the
    schema's target is a ``Number``, whose bounds are found privately if they are not given.

    Parameters
    ----------
    objective : {"squared", "poisson", "gamma", "quantile"}
        What is told of the target: its typical value; the mean of a count or rate; the mean of a
        positive amount, whose errors grow with it; or a quantile. Counts and amounts have a log
        link: effects multiply the prediction.
    quantile : float
        Which quantile, for ``objective="quantile"``.
    exposure : str, optional
        For counts and amounts, the column of the schema that the mean is proportional to, such as
        the years that a contract was watched. It needs public bounds above 0, and is no term.

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

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        objective: Objective = "squared",
        quantile: float = 0.5,
        exposure: str | None = None,
        method: Method = "rounds",
        rounds: int | Auto = "auto",
        bins: int | Auto = "auto",
        monotone: Mapping[str, Direction] | None = None,
        interactions: Interactions = "auto",
        largest_weight: float | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            ledger=ledger,
            method=method,
            rounds=rounds,
            bins=bins,
            monotone=monotone,
            interactions=interactions,
            largest_weight=largest_weight,
            random_state=random_state,
        )
        self.objective = objective
        self.quantile = quantile
        self.exposure = exposure

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Train on private rows; see `EBMClassifier.fit`."""
        return self._fit(X, y, **self._weighing(sample_weight))

    def _expected_target(self) -> Number | Category:
        return Number()

    @classmethod
    def _told_by(cls, model: EBMModel) -> dict[str, Any]:
        name = None if model.exposure is None else model.exposure.name
        told = {"objective": model.objective, "quantile": model.quantile, "exposure": name}
        return told if model.objective != "squared" else {}

    def predict(self, X: object, exposure: object = None) -> Floats:
        """Predicted target of each row, inside the target's bounds, shape (rows,).

        Parameters
        ----------
        X : table of shape (rows, columns)
            If it has names, the column of the exposure may lack.
        exposure : number, array of shape (rows,), or the name of that column of X, optional
            Of a model with an exposure. What is outside its public bounds counts as the bound.
            Without it predictions are rates, per unit of exposure.
        """
        if exposure is None:
            return self._answer(X, lambda scores: self.model_.respond(scores))
        check_is_fitted(self)
        known = self.model_.exposure
        if known is None:
            raise SettingError(
                "This model has no exposure: leave it out, or train with exposure='name of the "
                "column'."
            )
        scores = self._answer(X, np.asarray)
        given = known.read(exposure, X, self.model_.rows_schema, len(scores))
        return self.model_.respond_to(scores, given)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """R2 of the predictions; with an exposure, of those for the exposures that X has."""
        check_is_fitted(self)
        exposure = None if self.model_.exposure is None else self.model_.exposure.name
        return float(r2_score(y, self.predict(X, exposure), sample_weight=sample_weight))


def load_estimator(data: Any) -> EBMClassifier | EBMRegressor:
    """A fitted estimator from what `save` wrote."""
    model = SavedEBM.model_of(data)
    kind = EBMClassifier if model.classes else EBMRegressor
    result: EBMClassifier | EBMRegressor = kind._from_model(model, data)
    return result
