"""What every private estimator shares: scikit-learn's interface, ledger and explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from voile.errors import DataError, ModelError, SettingError
from voile.explaining import Wish, explain_global, explain_local, suggest_changes
from voile.models import training_settings
from voile.models.json_files import sign_file
from voile.models.training import TableTraining, check_two_dimensions, is_array
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.public_rows import PublicRows, read_public
from voile.privacy.receipt import Receipt
from voile.privacy.signing import SigningKey, find_key
from voile.rendering import draw_card, write_report
from voile.schema import Category

if TYPE_CHECKING:
    from voile.models.evaluation.record import Evaluation


class PrivateEstimator(TableTraining):
    """Fitting on private rows, reading public ones, receipt and explanations."""

    def _describe(self) -> None:
        """Set what scikit-learn expects of a fitted estimator, and note how it was trained."""
        self._trained_with: training_settings.Settings | None
        self._trained_with = training_settings.record_settings(self)
        self.n_features_in_: int = len(getattr(self.model_, "rows_schema", self.model_.schema))
        self._width: int | None = None
        if isinstance(self.model_.schema.target, Category):
            self._set_classes(self.model_.classes)

    def _describe_rows(self, X: object) -> None:
        """The same of how the rows of the fit looked."""
        if is_array(X):
            self.n_features_in_ = X.shape[1]
        # Where columns are told apart by place alone, another number of them is a mistake.
        if is_array(X) or (isinstance(X, list) and self.schema is None):
            self._width = self.n_features_in_
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(list(self.model_.schema), dtype=object)

    def _describe_like(self, other: Self) -> None:
        """Take over how the rows of another estimator's fit looked, and its settings."""
        self._describe()
        self._trained_with = other.training_settings_
        self._width, self.n_features_in_ = other._width, other.n_features_in_
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    @classmethod
    def _told_by(cls, model: Any) -> dict[str, Any]:
        """Parameters that a frozen model itself tells."""
        return {}

    @classmethod
    def _from_model(cls, model: Any, saved: Mapping[str, Any] | None = None) -> Self:
        """A fitted estimator of a frozen model.

        Parameters
        ----------
        model : frozen model
        saved : mapping, optional
            The file it was read from; it may tell the settings of the training.
        """
        told, known = cls._told_by(model), None
        parameters = {"epsilon": model.receipt.epsilon, "delta": model.receipt.delta, **told}
        if saved is not None and training_settings.FIELD in saved:
            known = training_settings.read_settings(saved[training_settings.FIELD], cls)
            given = training_settings.restore_parameters(known, cls)
            training_settings.check_agreement(given, told)
            if given.get("image_shape", ()) is None:
                del given["image_shape"]  # the array of pictures said it, and the model tells
            parameters |= given
        result = cls(**parameters, schema=getattr(model, "rows_schema", model.schema))
        if known is not None:
            try:
                result._settings()
            except SettingError as error:
                raise ModelError(f"The settings of the training cannot be. {error}") from error
        result.model_ = model
        result._describe()
        result._trained_with = known
        return result

    def _set_classes(self, classes: tuple[Any, ...]) -> None:
        """Classes in the model's order; sorted if a positive one is asked for, which is last there.

        scikit-learn takes the last of two sorted classes for the positive one: its scores would be
        of the other.
        """
        order = list(range(len(classes)))
        if self.positive is not None:
            order.sort(key=lambda place: (isinstance(classes[place], str), classes[place]))
        self._class_order = order
        sorted_classes = [classes[place] for place in order]
        # numpy would turn ['no', 1] into text, and a prediction must be the class as it was given.
        mixed = len({type(one) for one in classes}) > 1
        self.classes_ = np.array(sorted_classes, dtype=object if mixed else None)

    def _by_class(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns of the model's classes, shape (rows, classes), in the order of `classes_`."""
        kept = self._class_order == sorted(self._class_order)
        return columns if kept else columns[:, self._class_order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _encode(self, X: object) -> dict[str, Any]:
        """Public rows as encoded columns; refuses another number of columns than the fit had."""
        rows = self._read(X)
        return rows.part(0, rows.rows)

    def _read(self, X: object) -> PublicRows:
        """Public rows, to be encoded part by part."""
        check_is_fitted(self)
        check_two_dimensions(X)
        if is_array(X) and self._width not in (None, X.shape[1]):
            raise DataError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self._width} features as input: give the columns of the fit."
            )
        own = self._own_columns(X)
        return read_public(own, self.model_.schema, may_lack=getattr(self.model_, "unused", ()))

    def _own_columns(self, X: object) -> object:
        """The rows without what the model does not read."""
        return X

    @property
    def receipt_(self) -> Receipt:
        """The privacy guarantee, and every access to the rows behind it."""
        check_is_fitted(self)
        receipt: Receipt = self.model_.receipt
        return receipt

    @property
    def training_settings_(self) -> training_settings.Settings | None:
        """Parameters at the time of the fit, as plain data; None if a file did not record them."""
        check_is_fitted(self)
        return getattr(self, "_trained_with", None)

    def explain_global(self) -> Any:
        """Explain the whole model, from released values alone (costs nothing).

        Returns
        -------
        Explanation
            A record that prints itself, draws itself in a notebook, and gives JSON.
        """
        check_is_fitted(self)
        return explain_global(self.model_)

    def explain_local(self, X: object) -> Any:
        """Explain the answers for rows that the caller holds (costs nothing).

        Parameters
        ----------
        X : table of shape (rows, columns)

        Returns
        -------
        Explanation
        """
        check_is_fitted(self)
        return explain_local(self.model_, X)

    def counterfactuals(
        self,
        X: object,
        want: object = None,
        *,
        change: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        directions: Mapping[str, str] | None = None,
        most: int = 3,
        among: object = None,
        sure: bool = False,
    ) -> Any:
        """Tell what would have to change in rows for another answer (costs nothing).

        It tells what the model would answer, not what would happen to somebody who changes
        something.

        Parameters
        ----------
        X : table of shape (rows, columns)
            Rows that the caller holds.
        want : object
            A class; a probability such as ">= 0.7" or {"ill": "<= 20 %"}; of a regression a number
            (to be reached from where the row is), a range (low, high), or ">= 30". By default
            another class than the present one.
        change : sequence of str, optional
            Columns that may change: those that somebody can do something about. By default all.
        keep : sequence of str
            Columns that may not.
        directions : mapping of str to "up" or "down", optional
            Columns that may only rise or only fall: {"age": "up"}.
        most : int
            How many suggestions, which change different columns.
        among : table of shape (rows, columns), optional
            Rows that are no private ones, such as those of `PrivateExplainer.sample`: how usual a
            changed row is among them is told, too.
        sure : bool
            Whether the suggested rows must get what is wanted *clearly*: with the errors of the
            model's own scores allowed for. The smallest change ends just beyond the border, where
            these decide.

        Returns
        -------
        Counterfactuals
            A record that prints itself, draws itself in a notebook, and gives JSON. Of additive
            models and of prototypes it says where it is proven that nothing smaller does.

        Raises
        ------
        SettingError
            If something is wanted that the model does not answer, or a column is unknown.
        """
        check_is_fitted(self)
        wish = Wish(
            want=want,
            change=change,
            keep=keep,
            directions=directions,
            most=most,
            among=among,
            sure=sure,
        )
        return suggest_changes(self.model_, X, wish)

    def score_private(
        self,
        X: object,
        y: object,
        *,
        epsilon: float = 0.5,
        delta: float | None = None,
        ledger: Ledger | None = None,
        groups: Sequence[str] = (),
        confidence: float = 0.95,
    ) -> Evaluation:
        """How good the model is on private rows, with noise and intervals; costs budget.

        Parameters
        ----------
        X : table of shape (rows, columns), or path of Parquet files
            Rows that the model has not seen (`voile.hold_out`), or the figures flatter it.
        y : array of shape (rows,), or the name of the target column
        epsilon, delta : float
            Price of the evaluation; delta by the rule of a fit where it is None.
        ledger : Ledger, optional
            Where it is recorded; by default the estimator's own, or one in memory.
        groups : sequence of str
            Categories by whose levels the figures are told, too.
        confidence : float
            Of the intervals, which cover privacy noise and sampling together.

        Returns
        -------
        Evaluation
            Classification: AUROC (two classes), accuracy, balanced accuracy, calibration.
            Regression: RMSE, MAE, bias. It prints and draws itself, and gives JSON.

        Raises
        ------
        BudgetExceeded
            If it does not fit the ledger; nothing was spent.
        """
        check_is_fitted(self)
        check_two_dimensions(X)
        from voile.models.evaluation.evaluate import evaluate

        return evaluate(
            self.model_,
            type(self).__name__,
            self._flat(X),
            y,
            budget=Budget.of_job(epsilon, delta, self.model_.schema.rows),
            ledger=self.ledger if ledger is None else ledger,
            groups=groups,
            confidence=confidence,
        )

    def report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        evaluation: Any = None,
        ledger: Ledger | None = None,
        rows: object = None,
    ) -> Path:
        """Write a report of the model: one HTML file that needs no network (costs nothing).

        Parameters
        ----------
        path : str or path
            Where to write it.
        title : str, optional
        evaluation : Evaluation, optional
            How good the model is, as a record of `score_private`.
        ledger : Ledger, optional
            Of the data set: the report then tells everything that was ever done with it.
        rows : table of shape (rows, columns), optional
            Rows that the caller holds, to be explained. They stand in the file for all to read.

        Returns
        -------
        path
            Of the file: what the model is and shows, explanations of rows, its cost and limits.
        """
        check_is_fitted(self)
        shown = None if rows is None else self._flat(rows)
        return write_report(
            self, path, title=title, evaluation=evaluation, ledger=ledger, rows=shown
        )

    def save(self, path: str | Path, *, key: SigningKey | str | Path | None = None) -> Path:
        """Write the model as JSON, signed if there is a ``key``; `voile.load` reads it back."""
        check_is_fitted(self)
        signer = None if key is None else find_key(key)
        place = self._write(path)
        return place if signer is None else sign_file(place, signer)

    def _write(self, path: str | Path) -> Path:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        if self.__sklearn_is_fitted__():
            return draw_card(self)
        text: str = super()._repr_html_()
        return text

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # scikit-learn's own would show its diagram, of a fitted model too.
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
