"""FedAvgClassifier: federated averaging with the published noise, or a guarantee for clients."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Self

from voile.errors import SettingError
from voile.federated.fedavg.files import SavedAverage
from voile.federated.fedavg.fit import fit_model
from voile.federated.fedavg.settings import Noise, Settings
from voile.federated.federation import Federation
from voile.models.fit import FitJob
from voile.models.networks.estimator import TorchClassifier
from voile.models.networks.model import NetworkModel
from voile.privacy.budget import Budget
from voile.privacy.ledger import Ledger
from voile.privacy.origins import own_ledger
from voile.privacy.vault import PrivateTable
from voile.schema import Schema


class FedAvgClassifier(TorchClassifier):
    """Images classified by a network that clients train by turns, and a server averages.

    Four modes are there to be compared with, and guarantee nothing; one protects whole clients. To
    protect single rows, use `NetworkClassifier.fit_federated`, or a model that learns from sums.

    Parameters
    ----------
    noise : {"client", "none", "dp_faithful", "random_faithful", "gradcam_faithful"}
        "client": a guarantee for each whole client, noise by a trusted aggregator (DP-FedAvg,
        McMahan et al. 2018). "none": plain averaging. The others are as published by Li et al.
        2023, and their receipts say "no guarantee": noise on all weights ("dp"), or left out for
        some filters, chosen by Grad-CAM or at random.
    epsilon, delta : float
        Budget of one fit for a client; in published modes what their noise is computed from.
        ``delta="auto"`` is clients ** -1.1 for "client" and 1e-5 otherwise.
    schema : Schema, optional
        The federation's; it may be left out.
    ledger : Ledger, optional
        Where the fit is recorded; by default one of its own. Modes without a guarantee need one
        without a limit.
    architecture : str
        "cnn", "resnet8", "resnet18", or a name given to `architectures.register`.
    image_shape : tuple of int
        (height, width) or (height, width, channels): columns are the pixels of pictures, row by
        row, channels last.
    rounds : int
    fraction : float
        Probability that a client takes part in a round, by a coin of its own.
    local_epochs, local_batch : int
        Passes of a client over its rows in a round, and rows of a step.
    learning_rate : float
        Of the clients' steps.
    server_learning_rate, server_momentum : float
        What the server does with the mean update; plain averaging is 1 and 0. Clients are weighted
        by their rows, but for "client", where all count the same.
    clip : float
        Norm to which a client's whole update is shortened ("client"), or each step's gradient (5 as
        published).
    noisy_share : float
        Part of the target layers' filters that are noised in "gradcam_faithful" and
        "random_faithful": .75, .5 or .25 as published.
    shorten_noised : bool
        Whether filters that noise made longer than the shortest kept one are shortened
        ("gradcam_faithful"): the paper's prose asks for it, its Algorithm 1 does not.
    noise_factor : float
        Raises the published noise.
    pixel_mean, pixel_spread : float, or tuple of float per channel
        Public: how pixels from 0 to 1 are standardised.
    random_state : int, optional
        Seeds public choices (initial weights, the order of rows); neither noise nor who takes part.

    Attributes
    ----------
    model_ : NetworkModel
    classes_ : ndarray of shape (classes,)
    receipt_ : Receipt
    training_settings_ : dict, or None
        Parameters of the fit as plain data; None if a file of an earlier version lacks them.
    """

    _settings_kind = Settings
    delta: float | str  # type: ignore[assignment]

    def __init__(
        self,
        *,
        noise: Noise = "client",
        epsilon: float = 8.0,
        delta: float | str = "auto",
        schema: Schema | None = None,
        ledger: Ledger | None = None,
        architecture: str = "cnn",
        image_shape: tuple[int, ...] = (28, 28),
        rounds: int = 100,
        fraction: float = 0.1,
        local_epochs: int = 1,
        local_batch: int = 100,
        learning_rate: float = 0.1,
        server_learning_rate: float = 1.0,
        server_momentum: float = 0.0,
        clip: float | str = "auto",
        noisy_share: float = 0.25,
        shorten_noised: bool = False,
        noise_factor: float = 1.0,
        pixel_mean: float | tuple[float, ...] = 0.5,
        pixel_spread: float | tuple[float, ...] = 0.5,
        random_state: int | None = None,
    ) -> None:
        self.noise = noise
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.ledger = ledger
        self.architecture = architecture
        self.image_shape = image_shape
        self.rounds = rounds
        self.fraction = fraction
        self.local_epochs = local_epochs
        self.local_batch = local_batch
        self.learning_rate = learning_rate
        self.server_learning_rate = server_learning_rate
        self.server_momentum = server_momentum
        self.clip = clip
        self.noisy_share = noisy_share
        self.shorten_noised = shorten_noised
        self.noise_factor = noise_factor
        self.pixel_mean = pixel_mean
        self.pixel_spread = pixel_spread
        self.random_state = random_state

    def fit(self, X: object, y: object = None) -> Self:
        """Refused: averaging needs clients; see `fit_federated`."""
        raise SettingError(
            "FedAvgClassifier trains on clients: use fit_federated(Federation.local(...)),"
            " or NetworkClassifier for rows in one table."
        )

    def fit_table(self, table: PrivateTable, *, seed: int | None = None) -> Self:
        """Refused, as `fit` is: how many clients hold the rows must be public."""
        return self.fit(table)

    def fit_federated(self, federation: Federation) -> Self:  # type: ignore[override]
        """Train with the clients of a federation, whose rows stay where they are.

        Parameters
        ----------
        federation : Federation
            With trust "aggregator"; its schema must be complete.

        Returns
        -------
        self
            Its receipt says who is protected from whom, or that nobody is.
        """
        settings = self._settings()
        self._check_agreed(federation.schema)
        clients = len(federation.terms.clients)
        delta = self.delta
        if delta == "auto":
            delta = min(clients**-1.1, 0.1) if settings.noise == "client" else 1e-5
        budget = Budget(self.epsilon, delta)  # type: ignore[arg-type]
        if settings.published and not (math.isfinite(budget.epsilon) and budget.epsilon > 0):
            raise SettingError(
                "The published noise needs an epsilon > 0 that is finite: use noise='none'."
            )
        ledger = self.ledger
        if ledger is None:
            ledger = own_ledger(
                budget if settings.noise == "client" else Budget(math.inf, budget.delta)
            )
        what = f"{type(self).__name__}.fit_federated"
        with federation.join(ledger) as joint:
            job = FitJob(joint.table, budget, ledger, what)
            self.model_ = fit_model(job, self._settings(joint.seed), clients)
        self._describe()
        return self

    @classmethod
    def _told_by(cls, model: NetworkModel) -> dict[str, Any]:
        return {
            "noise": model.placement,
            "architecture": model.description.architecture,
            "image_shape": model.image_shape,
            "pixel_mean": model.standard.means,
            "pixel_spread": model.standard.spreads,
            "random_state": model.description.seed,
        }

    def _write(self, path: str | Path) -> Path:
        return SavedAverage.write(self.model_, path, self.training_settings_)


def load_estimator(data: Any) -> FedAvgClassifier:
    """A fitted estimator from what `save` wrote."""
    return FedAvgClassifier._from_model(SavedAverage.model_of(data), data)
