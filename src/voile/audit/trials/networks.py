"""Trials of networks that are trained on noised gradients: a canary that lights one dark pixel.

The gradient of such an image (a Dirac canary: Nasr et al. 2021, 2023) lies where no other row's
does and reaches the clip in every step, so an insider finds nearly all that the noise lets through.
The published noise placements, which guarantee nothing, are attacked beside it.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from voile.audit.trials.trial import Trial, at_large_delta
from voile.errors import MissingExtra
from voile.privacy.receipt import Receipt
from voile.privacy.vault import PrivateTable
from voile.schema import Category, Number, Schema

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[Any]]

FAMILY = "networks"

_SIDE = 4
_ROWS = 20
_CLASSES = ("left", "right")
_CLIP = 1e-3
"""So small that the canary's gradient reaches it in every step."""

SAMPLED_RUNS = 1000


class PixelNetwork(BaseEstimator):  # type: ignore[misc]
    """A `NetworkClassifier` with a network so small that it is fitted in milliseconds.

    It makes the network known wherever it is fitted: in processes that an audit started, too.

    Parameters
    ----------
    epsilon, delta, schema, placement, lot, steps
        As for `NetworkClassifier`.
    side : int
        Height and width of images.
    convolution : bool
        Whether there is one before the dense layer: importance is that of its channels.
    """

    ledger = None

    def __init__(
        self,
        *,
        epsilon: float = 8.0,
        delta: float = 1e-5,
        schema: Schema | None = None,
        placement: Literal["uniform", "selective", "shuffled", "sparse"] = "uniform",
        lot: float = 1.0,
        steps: int = 2,
        side: int = _SIDE,
        convolution: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.placement = placement
        self.lot = lot
        self.steps = steps
        self.side = side
        self.convolution = convolution

    def fit(self, X: object, y: object) -> Self:
        """Train on rows."""
        return self._take(self._network().fit(X, y))

    def fit_table(self, table: PrivateTable, *, seed: int | None = None) -> Self:
        """Train on rows that are watched."""
        network = self._network().set_params(ledger=self.ledger)
        return self._take(network.fit_table(table, seed=seed))

    def _take(self, fitted: Any) -> Self:
        self.receipt_: Receipt = fitted.receipt_
        self.weights_: Floats = fitted.model_.weights
        return self

    def _network(self) -> Any:
        name = make_known(convolution=self.convolution)
        from voile.models.networks.estimator import NetworkClassifier

        return NetworkClassifier(
            epsilon=self.epsilon,
            delta=self.delta,
            schema=self.schema,
            architecture=name,
            image_shape=(self.side, self.side),
            placement=self.placement,
            lot=self.lot,
            steps=self.steps,
            clip=_CLIP,
            learning_rate=1e-3,
            random_state=0,
        )


class FinalWeights:
    """What everybody sees of a `PixelNetwork`: how far its weights at the canary's pixel moved.

    Parameters
    ----------
    network : PixelNetwork
        Unfitted.
    """

    def __init__(self, network: PixelNetwork) -> None:
        self._network = network

    def __call__(self, rows: Rows) -> float:
        """The difference between both classes' weights there, after one fit."""
        weights = clone(self._network).fit(*rows).weights_.reshape(len(_CLASSES), -1)
        return float(weights[1, -1] - weights[0, -1])


class PublishedNoise:
    """Federated averaging with noise as published, and a row found by weights it left exact.

    The attacker trains with and without the row himself, without noise, and asks which of the two
    results the released weights are closer to, coordinate by coordinate. A noised coordinate can
    mislead him by no more than the two differ there; one without noise never does.

    Parameters
    ----------
    noise : {"dp_faithful", "random_faithful", "gradcam_faithful"}
    epsilon, delta : float
        What the noise is computed from; no guarantee.
    without, with_row : (X, y)
        The rows of the attacked client in either world.
    """

    def __init__(
        self, noise: str, epsilon: float, delta: float, without: Rows, with_row: Rows
    ) -> None:
        self._noise, self._epsilon, self._delta = noise, epsilon, delta
        self._worlds = without, with_row
        self._guesses: tuple[Floats, Floats] | None = None

    def __call__(self, rows: Rows) -> float:
        """How much closer the weights are to those with the row."""
        if self._guesses is None:
            without, with_row = (self._weights(world, factor=1e-9) for world in self._worlds)
            self._guesses = without, with_row
        without, with_row = self._guesses
        seen = self._weights(rows)
        return float((np.abs(seen - without) - np.abs(seen - with_row)).sum())

    def _weights(self, rows: Rows, factor: float = 1.0) -> Floats:
        name = make_known(convolution=True)
        from voile.federated.fedavg.estimator import FedAvgClassifier
        from voile.federated.federation import Federation

        model = FedAvgClassifier(
            noise=self._noise,  # type: ignore[arg-type]
            epsilon=self._epsilon,
            delta=self._delta,
            architecture=name,
            image_shape=(_SIDE, _SIDE),
            rounds=1,
            fraction=1.0,
            local_batch=5,
            noise_factor=factor,
            random_state=0,
        )
        clients = [rows, _other_rows(1)]
        weights: Floats = model.fit_federated(Federation.local(clients, _schema())).model_.weights
        return weights


def make_known(*, convolution: bool) -> str:
    """Register the network of these trials, and say its name."""
    try:
        from voile.models.networks.architectures import names, register
    except ImportError as error:
        raise MissingExtra("torch", "federated") from error
    name = "audit: a convolution and a layer" if convolution else "audit: a layer"
    if name not in names():
        register(name, _make_convolution if convolution else _make_layer)
    return name


def _make_layer(image_shape: tuple[int, int, int], classes: int) -> Any:
    from torch import nn

    # Without a bias a dark image moves next to nothing.
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(image_shape), classes, bias=False))


def _make_convolution(image_shape: tuple[int, int, int], classes: int) -> Any:
    from torch import nn

    channels, height, width = image_shape
    return nn.Sequential(
        nn.Conv2d(channels, 4, 1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(4 * height * width, classes, bias=False),
    )


def trials(epsilon: float = 8.0, delta: float = 1e-5) -> tuple[Trial, ...]:
    """Audits of `NetworkClassifier`, and of the published modes of `FedAvgClassifier`.

    Parameters
    ----------
    epsilon, delta : float
        The claim. Sampled lots have another of the same strength: see `at_large_delta`.
    """
    rows, canary = _other_rows(0), _canary()
    schema = _schema()

    def network(**settings: Any) -> PixelNetwork:
        return PixelNetwork(**{"epsilon": epsilon, "delta": delta, "schema": schema, **settings})

    middle = at_large_delta(epsilon, delta)
    found = [
        Trial(FAMILY, "one pixel, all rows in every step", network(), rows, canary),
        Trial(
            FAMILY,
            "one pixel, sampled lots",
            network(lot=0.8, steps=4, **middle),
            rows,
            canary,
            method="rates",
            quick=SAMPLED_RUNS,
        ),
    ]
    # More steps than importances are kept for: they are found anew from released weights.
    for placement, steps in (("selective", 12), ("shuffled", 12), ("sparse", 2)):
        placed = network(placement=placement, steps=steps, convolution=True)
        found.append(Trial(FAMILY, f"one pixel, noise placed: {placement}", placed, rows, canary))
    # Adam blurs what the sums have shown: this finds a quarter of the noise, but not half of it.
    found.append(
        Trial(
            FAMILY,
            "one pixel, seen in the final weights",
            FinalWeights(network(steps=4)),
            rows,
            canary,
            epsilon=epsilon,
            delta=delta,
            method="gaussian",
        )
    )
    return (*found, *_published(epsilon, delta))


def _published(epsilon: float, delta: float) -> list[Trial]:
    rows, (image, label) = _other_rows(0), _canary()
    joined = np.vstack([rows[0], image]), np.append(rows[1], label)
    return [
        Trial(
            FAMILY,
            f"published noise ({noise}), one row of a client",
            PublishedNoise(noise, epsilon, delta, rows, joined),
            rows,
            (image, label),
            epsilon=math.inf,
            delta=delta,
            settings={
                "note": f"Its authors call this epsilon {epsilon:g}, delta {delta:g}; its receipt "
                "says that there is no guarantee."
            },
        )
        for noise in ("dp_faithful", "random_faithful", "gradcam_faithful")
    ]


def _schema() -> Schema:
    pixels = {f"pixel {i}": Number(0, 255) for i in range(_SIDE * _SIDE)}
    return Schema(pixels, target=Category(list(_CLASSES)))


def _other_rows(seed: int) -> Rows:
    """Dim images, dark in their lower half."""
    rng = np.random.default_rng(seed)
    images = np.zeros((_ROWS, _SIDE * _SIDE))
    images[:, : _SIDE * _SIDE // 2] = rng.integers(0, 60, size=(_ROWS, _SIDE * _SIDE // 2))
    return images, np.array(_CLASSES)[np.arange(_ROWS) % 2]


def _canary() -> tuple[Floats, str]:
    """Bright where all others are dark."""
    image = np.zeros(_SIDE * _SIDE)
    image[-1] = 255.0
    return image, _CLASSES[1]
