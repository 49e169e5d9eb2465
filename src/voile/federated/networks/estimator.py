"""NetworkClassifier: a private neural network for images, with the manners of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from voile.federated.networks.files import SavedNetwork
from voile.federated.networks.fit import fit_model
from voile.federated.networks.model import NetworkModel
from voile.federated.networks.settings import Placement, Settings
from voile.models.estimator import PrivateEstimator, is_array
from voile.models.locally_linear.fit import with_range
from voile.models.locally_linear.pictures import flatten_pictures
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Schema

Floats = NDArray[np.float64]
T = TypeVar("T")
Auto = Literal["auto"]


class NetworkClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Private classes of images by a neural network, trained on noised sums of clipped gradients.

    DP-SGD (Abadi et al. 2016) over Poisson-sampled lots, with exact sums: what one image adds is
    bounded to the bit and does not depend on the others.

    Parameters
    ----------
    epsilon, delta : float
        Budget of one fit; ``epsilon=inf`` trains without noise and without a guarantee.
    schema : Schema, optional
        What is public: bounds of pixels, classes, expected number of rows. Range and classes that
        it lacks are found privately, for a share of the budget.
    ledger : Ledger, optional
        Where the fit is recorded; by default one of its own.
    architecture : str
        "cnn", "resnet8", "resnet18", or a name given to `architectures.register`.
    image_shape : tuple of int
        (height, width) or (height, width, channels): columns are the pixels of pictures, row by
        row, channels last.
    placement : {"uniform", "selective", "shuffled", "sparse"}
        Where the noise goes: everywhere the same; less on channels that Grad-CAM finds important in
        the network released so far (or, as a control, on shuffled ones); or only on the largest
        initial weights, the others staying as they are. All have the same guarantee.
    public_images : ndarray of shape (rows, height, width[, channels]), optional
        Images that anybody may see, on which importance is judged ("selective", "shuffled"); made
        up without them. Nothing covers them, and the receipt says so.
    lot : int, float or "auto"
        Expected rows of a lot (then the schema must say ``rows``), or a part of the rows.
    steps, learning_rate, clip : number or "auto"
        Number of lots, length of steps per coordinate, bound of a row's gradient.
    random_state : int, optional
        Seeds public choices (the initial weights); never noise.

    Attributes
    ----------
    model_ : NetworkModel
    classes_ : ndarray of shape (classes,)
    receipt_ : Receipt
    training_settings_ : dict, or None
        Parameters of the fit as plain data; None if a file of an earlier version lacks them.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        architecture: str = "cnn",
        image_shape: tuple[int, ...] | None = None,
        placement: Placement = "uniform",
        public_images: NDArray[Any] | None = None,
        lot: int | float | Auto = "auto",
        steps: int | Auto = "auto",
        learning_rate: float | Auto = "auto",
        clip: float | Auto = "auto",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger
        self.architecture = architecture
        self.image_shape = image_shape
        self.placement = placement
        self.public_images = public_images
        self.lot = lot
        self.steps = steps
        self.learning_rate = learning_rate
        self.clip = clip
        self.random_state = random_state

    def _settings(self) -> Settings:
        shape = self.image_shape
        return Settings(
            image_shape=tuple(shape) if isinstance(shape, list) else shape,
            architecture=self.architecture,
            placement=self.placement,
            public_images=self.public_images,
            lot=_or_none(self.lot),
            steps=_or_none(self.steps),
            learning_rate=_or_none(self.learning_rate),
            clip=_or_none(self.clip),
            random_state=None if self.random_state is None else self.random_state,
        )

    def fit(self, X: object, y: object = None) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : data frame, array, mapping, or path of Parquet files; shape (rows, pixels)
            An array of shape (rows, height, width[, channels]) will do, too.
        y : array of shape (rows,), or the name of the target column

        Returns
        -------
        self
        """
        self._settings()  # refuses before rows are looked at
        X = self._flat(X)
        table, budget, ledger = self._protect(X, y, Category())
        if is_array(X) and X.dtype == np.uint8:
            # The type is public, and with it the range.
            table = table.with_schema(with_range(table.schema, 255.0))
        self.model_ = self._train(table, budget, ledger, f"{type(self).__name__}.fit")
        self._describe(X)
        return self

    def _train(
        self,
        table: PrivateTable,
        budget: Budget,
        ledger: Ledger,
        what: str,
        seed: int | None = None,
    ) -> NetworkModel:
        settings = self._settings()
        if settings.random_state is None:
            settings = replace(settings, random_state=seed)
        return fit_model(table, budget, ledger, settings, what)

    def _flat(self, X: object) -> object:
        """Pictures as rows of pixels."""
        shape = self.image_shape
        return X if shape is None else flatten_pictures(X, tuple(shape))

    def _encode(self, X: object) -> dict[str, Any]:
        return super()._encode(self._flat(X))

    def _describe(self, X: object = None) -> None:
        super()._describe(X)
        model: NetworkModel = self.model_
        self._set_classes(model.classes)

    @classmethod
    def _told_by(cls, model: NetworkModel) -> dict[str, Any]:
        return {
            "architecture": model.description.architecture,
            "image_shape": model.image_shape,
            "placement": model.placement,
            "random_state": model.description.seed,
        }

    def decision_function(self, X: object) -> Floats:
        """Scores of the classes.

        Returns
        -------
        ndarray of shape (rows, classes), or (rows,) for two classes
            For two classes, that of the second minus that of the first: its log odds.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: object) -> Floats:
        columns = self._encode(X)
        model: NetworkModel = self.model_
        return model.decide(columns)

    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, shape (rows, classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: object) -> NDArray[Any]:
        """Class with the highest score of each row, shape (rows,)."""
        scores = self._scores(X)
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen

    def to_torch(self) -> nn.Module:
        """The network as a torch module: pixels from 0 to 1, (rows, channels, height, width)."""
        check_is_fitted(self)
        model: NetworkModel = self.model_
        return model.to_torch()

    def _write(self, path: str | Path) -> Path:
        return SavedNetwork.write(self.model_, path, self.training_settings_)


def _or_none(value: T | Auto) -> T | None:
    if isinstance(value, str) and value == "auto":
        return None
    return value


def load_estimator(data: Any) -> NetworkClassifier:
    """A fitted estimator from what `save` wrote."""
    return NetworkClassifier._from_model(SavedNetwork.model_of(data), data)
