"""NetworkClassifier: a private neural network for images, with scikit-learn's interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import nn

from voile.models.classes import Classes
from voile.models.classifier import ScoringClassifier
from voile.models.fit import FitJob
from voile.models.networks.files import SavedNetwork
from voile.models.networks.fit import fit_model
from voile.models.networks.model import NetworkModel
from voile.models.networks.settings import Placement, Settings
from voile.privacy.ledger import Ledger
from voile.schema import Schema

Auto = Literal["auto"]


class TorchClassifier(ScoringClassifier):
    """A classifier of images whose model is a network."""

    model_: NetworkModel

    def to_torch(self) -> nn.Module:
        """The network as a torch module: pixels from 0 to 1, (rows, channels, height, width)."""
        check_is_fitted(self)
        return self.model_.to_torch()


class NetworkClassifier(TorchClassifier):
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
    classes : list, optional
        The classes of the target, where no schema lists them: ``[0, 1]``. Without them they are
        found privately.
    architecture : str
        "cnn", "resnet8", "resnet18", or a name given to `architectures.register`.
    image_shape : tuple of int
        (height, width) or (height, width, channels): columns are the pixels of pictures, row by
        row, channels last. An array of pictures needs none.
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

    _settings_kind = Settings

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        classes: Classes | None = None,
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
        self.classes = classes
        self.architecture = architecture
        self.image_shape = image_shape
        self.placement = placement
        self.public_images = public_images
        self.lot = lot
        self.steps = steps
        self.learning_rate = learning_rate
        self.clip = clip
        self.random_state = random_state

    def fit(self, X: object, y: object = None) -> Self:
        """Train on private rows.

        Parameters
        ----------
        X : data frame, array, mapping, or path of Parquet files; shape (rows, pixels)
            An array of shape (rows, height, width[, channels]) holds pictures.
        y : array of shape (rows,), or the name of the target column

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _train(self, job: FitJob, settings: Settings) -> NetworkModel:
        return fit_model(job, settings)

    @classmethod
    def _told_by(cls, model: NetworkModel) -> dict[str, Any]:
        return {
            "architecture": model.description.architecture,
            "image_shape": model.image_shape,
            "placement": model.placement,
            "random_state": model.description.seed,
        }

    def _write(self, path: str | Path) -> Path:
        return SavedNetwork.write(self.model_, path, self.training_settings_)


def load_estimator(data: Any) -> NetworkClassifier:
    """A fitted estimator from what `save` wrote."""
    return NetworkClassifier._from_model(SavedNetwork.model_of(data), data)
