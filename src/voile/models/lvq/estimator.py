"""LVQ1Classifier, GLVQClassifier and GMLVQClassifier: private prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from voile.errors import SettingError
from voile.models.classes import Classes
from voile.models.fit import FitJob
from voile.models.lvq.files import SavedLVQ
from voile.models.lvq.fit import fit_model
from voile.models.lvq.model import Kind, LVQModel, Mechanism
from voile.models.lvq.settings import Settings
from voile.models.picture_rows import PictureRows
from voile.privacy.ledger import Ledger
from voile.schema import Level, Schema

Floats = NDArray[np.float64]


class _LVQ(ClassifierMixin, PictureRows):  # type: ignore[misc]
    """What the three estimators share."""

    _settings_kind = Settings
    _kind: Kind

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        classes: Classes | None = None,
        positive: Level | None = None,
        prototypes_per_class: int | Mapping[Any, int] | Literal["auto"] = 1,
        mechanism: Mechanism = "gaussian",
        typical: float = 0.2,
        image_shape: tuple[int, int] | None = None,
        groups: int | Literal["auto"] = "auto",
        rate: float = 0.01,
        epochs: int = 50,
        clip: float = 0.5,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger
        self.classes = classes
        self.positive = positive
        self.prototypes_per_class = prototypes_per_class
        self.mechanism = mechanism
        self.typical = typical
        self.image_shape = image_shape
        self.groups = groups
        self.rate = rate
        self.epochs = epochs
        self.clip = clip
        self.random_state = random_state

    def fit(self, X: object, y: object = None) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : data frame, array, mapping, or path of Parquet files; shape (rows, columns)
            An array of shape (rows, height, width) holds pictures.
        y : array of shape (rows,), or the name of the target column

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _settings(self, seed: int | None = None, **more: object) -> Settings:
        settings: Settings = super()._settings(seed, kind=self._kind, **more)
        return settings

    @property
    def _knows_range(self) -> bool:
        # Tables of pixels have their bounds found as those of any other table.
        return self._inferred is not None

    def _train(self, job: FitJob, settings: Settings) -> LVQModel:
        return fit_model(job, settings)

    def _describe(self) -> None:
        super()._describe()
        model: LVQModel = self.model_
        self.prototypes_ = model.features.in_units(model.prototypes)
        places = np.argsort(self._class_order)
        self.prototype_labels_ = self.classes_[places[model.labels]]
        self.relevances_ = np.diag(model.relevance).copy()

    @classmethod
    def _told_by(cls, model: LVQModel) -> dict[str, Any]:
        return {"mechanism": model.mechanism, "image_shape": model.image_shape}

    def _points(self, X: object) -> Floats:
        columns = self._encode(X)
        model: LVQModel = self.model_
        return model.points(columns)

    def decision_function(self, X: object) -> Floats:
        """How much nearer the nearest prototype of a class is than that of any other.

        Returns
        -------
        ndarray of shape (rows, classes), or (rows,) for two classes
            Relative distance in [-1, 1]: (d_other - d_own) / (d_other + d_own), d squared
            distances; positive for the class that is predicted. For two classes, that of the
            second.
        """
        points = self._points(X)
        far = self._by_class(self.model_.class_distances(points))
        lowest = np.partition(far, 1, axis=1)
        best = far.argmin(axis=1)
        other = np.repeat(lowest[:, :1], far.shape[1], axis=1)
        other[np.arange(len(far)), best] = lowest[:, 1]
        with np.errstate(invalid="ignore"):
            found = (other - far) / np.maximum(other + far, 1e-300)
        found = np.where(np.isfinite(found), found, -1.0)
        # A row at the same distance of both is nobody's more than the other's.
        return found[:, 1] if far.shape[1] == 2 else found

    def predict(self, X: object, *, reject: float | None = None) -> NDArray[Any]:
        """Class of the nearest prototype of each row, shape (rows,).

        Parameters
        ----------
        X : table of shape (rows, columns)
        reject : float, optional
            Rows whose confidence is below it get None instead of a class (dtype object).
        """
        points = self._points(X)
        far = self._by_class(self.model_.class_distances(points))
        chosen: NDArray[Any] = self.classes_[far.argmin(axis=1)]
        if reject is None:
            return chosen
        if not 0.0 <= reject <= 1.0:
            raise SettingError(f"The 'reject' must be from 0 to 1. Got {reject!r} instead.")
        answered = chosen.astype(object)
        answered[self.model_.confidence(points) < reject] = None
        return answered

    def confidence(self, X: object) -> Floats:
        """Relative distance (d2 - d1) / (d2 + d1) of the nearest class and the next, shape (rows,).

        0: as near to another class; 1: at a prototype's very place.
        """
        points = self._points(X)
        confidence: Floats = self.model_.confidence(points)
        return confidence

    def _write(self, path: str | Path) -> Path:
        return SavedLVQ.write(self.model_, path, self.training_settings_)

    @property
    def distance_from_mean_(self) -> Floats:
        """How far each prototype is from its private class mean; see `LVQModel`."""
        check_is_fitted(self)
        found: Floats = self.model_.distance_from_mean
        return found


class GLVQClassifier(_LVQ):
    """Private prototypes by generalised learning vector quantization: typical points per class.

    A row gets the class of the nearest prototype. Prototypes are trained so that rows are nearer to
    one of their own class than to others, by whole-table sums with Gaussian noise.

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
    prototypes_per_class : int, mapping of class to int, or "auto"
        "auto" takes more than one where the noise can tell them apart.
    mechanism : {"gaussian", "sgd", "sample_aggregate", "center_of_attention"}
        "gaussian" is the accurate one. The others are the published ways (Brinkrolf et al. 2019)
        with sound accounting, for comparison.
    typical : float
        From 0 (as accurate as can be) to 1 (prototypes are the private class means): how strongly
        prototypes are held at typical places.
    image_shape : tuple of int, optional
        (height, width) if the columns are the pixels of pictures, for explanations. An array of
        shape (rows, height, width) needs none.
    groups : int or "auto"
        Disjoint groups of "sample_aggregate" (50) and "center_of_attention" (15).
    rate, epochs, clip : float
        Sampling rate, passes and bound of a row's gradient for "sgd".
    random_state : int, optional
        Seeds public choices; never noise.

    Attributes
    ----------
    prototypes_ : ndarray of shape (prototypes, features)
        In the columns' own units, inside their bounds.
    prototype_labels_ : ndarray of shape (prototypes,)
    relevances_ : ndarray of shape (features,)
        Diagonal of the metric, summing to 1.
    model_ : LVQModel
    classes_ : ndarray of shape (classes,)
    receipt_ : Receipt
    training_settings_ : dict, or None
        Parameters of the fit as plain data; None if a file of an earlier version lacks them.

    Examples
    --------
    >>> import numpy as np
    >>> from voile import Category, GLVQClassifier, Number, Schema
    >>> X = np.random.default_rng(0).normal(size=(2000, 2)) + np.repeat([[0, 0], [4, 4]], 1000, 0)
    >>> y = np.repeat(["well", "ill"], 1000)
    >>> schema = Schema(
    ...     {"a": Number(-5, 10), "b": Number(-5, 10)}, target=Category(["well", "ill"])
    ... )
    >>> model = GLVQClassifier(epsilon=1.0, schema=schema).fit(X, y)
    >>> print(model.predict([[0, 0], [4, 4]]))
    ['well' 'ill']
    """

    _kind: Kind = "glvq"


class GMLVQClassifier(_LVQ):
    """Private prototypes with a metric that says which features matter.

    Parameters, methods and attributes are those of `GLVQClassifier`. The metric is read off one
    released matrix; where the noise would drown it (few rows, many columns), all features count
    alike and the model equals that of `GLVQClassifier`.
    """

    _kind: Kind = "gmlvq"


class LVQ1Classifier(_LVQ):
    """Private prototypes by Kohonen's first rule: the nearest moves to its own, away from others.

    Parameters, methods and attributes are those of `GLVQClassifier`, which is more accurate.
    """

    _kind: Kind = "lvq1"


BY_KIND: dict[Kind, type[_LVQ]] = {
    "glvq": GLVQClassifier,
    "gmlvq": GMLVQClassifier,
    "lvq1": LVQ1Classifier,
}


def load_estimator(data: Any) -> GLVQClassifier | GMLVQClassifier | LVQ1Classifier:
    """A fitted estimator from what `save` wrote."""
    model = SavedLVQ.model_of(data)
    result: Any = BY_KIND[model.kind]._from_model(model, data)
    return result  # type: ignore[no-any-return]
