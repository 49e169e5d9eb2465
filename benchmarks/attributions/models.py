"""The models of the attribution benchmark: a CNN by DP-SGD, and locally linear maps.

Not a script: see `quality.py`. The CNN is the paper's smaller one: 26,010 numbers, two layers
of convolutions and two dense ones (Figure 8, M_b), with tanh, which stands noise better than ReLU.
torch, opacus and captum are imported where they are needed, so that the rest works without them.
"""

import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.kit.data_folder import read_pictures
from voile import Category, LocallyLinearClassifier, Number, Schema

Floats = NDArray[np.float64]

DELTA = 1e-5
SIDE = 28
SETS = ("mnist", "fashion_mnist")

LOT, CLIP, RATE, MOMENTUM = 2_048, 0.1, 2.0, 0.9
"""DP-SGD: expected size of a Poisson lot, bound of a gradient, size and inertia of steps."""

AT_ONCE = 256
"""Rows whose gradients are held at a time."""

PLAIN_LOT, PLAIN_RATE = 128, 1e-3
"""Without privacy: Adam on small lots."""

IG_STEPS, SMOOTH_SAMPLES, SMOOTH_NOISE = 32, 32, 0.15


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures from 0 to 1 in rows of 784 pixels, and their classes from 0 to 9."""

    name: str
    train: NDArray[np.uint8]
    train_classes: NDArray[np.int64]
    test: NDArray[np.uint8]
    test_classes: NDArray[np.int64]


def load(name: str, rows: int | None = None) -> Pictures:
    """One set; the first `rows` training pictures only.

    Raises
    ------
    FileNotFoundError
        If it is not in the folder.
    """
    file = read_pictures(name)
    parts = [file[part] for part in ("x_train", "x_test")]
    pixels = [part.reshape(len(part), -1) for part in parts]
    classes = [file[part].astype(np.int64) for part in ("y_train", "y_test")]
    return Pictures(name, pixels[0][:rows], classes[0][:rows], pixels[1], classes[1])


def missing() -> str | None:
    """What has to be installed before CNNs can be trained and explained, in words."""
    wanted = {"torch": "voile[federated]", "captum": "voile[federated]", "opacus": "opacus"}
    absent = [name for name in wanted if importlib.util.find_spec(name) is None]
    if not absent:
        return None
    ways = dict.fromkeys(f"pip install '{wanted[name]}'" for name in absent)
    commands = " and ".join(ways).replace("'opacus'", "opacus")
    return f"{', '.join(absent)} cannot be imported, which this benchmark needs: {commands}"


class Maps:
    """Locally linear maps and their explanations."""

    kind = "maps"

    def __init__(self, epsilon: float, seed: int, **settings: Any) -> None:
        pixels = {f"pixel_{k:03}": Number(0, 255) for k in range(SIDE * SIDE)}
        self.model = LocallyLinearClassifier(
            epsilon=epsilon,
            delta=DELTA,
            schema=Schema(pixels, target=Category(list(range(10)))),
            image_shape=(SIDE, SIDE),
            random_state=seed,
            **settings,
        )

    def fit(self, data: Pictures, epochs: int) -> "Maps":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit(data.train, data.train_classes)
        return self

    def _columns(self, pictures: Floats) -> dict[str, Floats]:
        """Pictures from 0 to 1 as encoded columns; reading 784 columns as tables takes too long."""
        return dict(zip(self.model.model_.schema, 255.0 * pictures.T, strict=True))

    def scores(self, pictures: Floats) -> Floats:
        """Scores of the classes for pictures from 0 to 1, shape (rows, classes)."""
        return self.model.model_.decide(self._columns(pictures))

    def explain(self, pictures: Floats, classes: NDArray[np.int64]) -> dict[str, Floats]:
        """What each pixel means to the class, shape (rows, pixels) each.

        The weighted filter of the class, less its mean over the classes (all may share what never
        matters to an answer); the same times the input, which compares pixels with black; the
        library's own contributions, which compare them with the average picture; and the filter
        that counts most.
        """
        model, rows = self.model.model_, np.arange(len(pictures))
        seen = model.spread(self._columns(pictures))
        shares = model.contributions(model.map_scores(seen.points))
        filters = -np.einsum("ikm,kmj->ij", shares, model.linear_maps) / shares.shape[1]
        for k in np.unique(classes):
            filters[classes == k] += shares[classes == k, k] @ model.linear_maps[k]
        average = self.model.explain_global().average
        strengths = seen.scale[:, None] * seen.features - seen.shift[:, None] * average
        centred = model.linear_maps - model.linear_maps.mean(axis=0)
        return {
            "filter": filters,
            "filter x input": filters * seen.features,
            "contributions": filters * strengths,
            "top filter": centred[classes, shares[rows, classes].argmax(axis=1)],
        }


class Cnn:
    """A small CNN, by DP-SGD or plainly, and gradient attributions of its scores."""

    kind = "cnn"

    def __init__(self, epsilon: float, seed: int) -> None:
        self.epsilon, self.seed = epsilon, seed
        self.spent: float | None = None

    def _build(self) -> Any:
        from torch import nn

        return nn.Sequential(
            nn.Conv2d(1, 16, 8, 2, padding=3),
            nn.Tanh(),
            nn.MaxPool2d(2, 1),
            nn.Conv2d(16, 32, 4, 2),
            nn.Tanh(),
            nn.MaxPool2d(2, 1),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 32),
            nn.Tanh(),
            nn.Linear(32, 10),
        )

    def fit(self, data: Pictures, epochs: int) -> "Cnn":
        import torch

        lot = min(LOT, max(len(data.train) // 30, 1))
        torch.manual_seed(self.seed)
        inputs = tensor(data.train / 255.0)
        targets = torch.as_tensor(data.train_classes)
        network = self._build()
        if math.isinf(self.epsilon):
            train_plainly(network, inputs, targets, epochs)
        else:
            self.spent = train_privately(network, inputs, targets, epochs, self.epsilon, lot=lot)
        self.network = network.eval()
        return self

    def scores(self, pictures: Floats) -> Floats:
        import torch

        with torch.no_grad():
            parts = [self.network(part) for part in tensor(pictures).split(2_000)]
        return np.concatenate([part.numpy() for part in parts]).astype(np.float64)

    def explain(self, pictures: Floats, classes: NDArray[np.int64]) -> dict[str, Floats]:
        """Integrated gradients from black, as in the paper not times the input, and SmoothGrad.

        Of the score of the class less the mean score, as for the filters.
        """
        import torch
        from captum.attr import IntegratedGradients, NoiseTunnel, Saliency

        def centred(inputs: Any) -> Any:
            scores = self.network(inputs)
            return scores - scores.mean(dim=1, keepdim=True)

        torch.manual_seed(0)
        gradients: dict[str, list[Floats]] = {"IG": [], "SmoothGrad": []}
        integrated = IntegratedGradients(centred, multiply_by_inputs=False)
        smooth = NoiseTunnel(Saliency(centred))
        targets = torch.as_tensor(classes)
        for some, wanted in zip(tensor(pictures).split(50), targets.split(50), strict=True):
            found = integrated.attribute(some, target=wanted, n_steps=IG_STEPS)
            gradients["IG"].append(flat(found))
            found = smooth.attribute(
                some,
                target=wanted,
                nt_type="smoothgrad",
                nt_samples=SMOOTH_SAMPLES,
                stdevs=SMOOTH_NOISE,
                abs=False,
            )
            gradients["SmoothGrad"].append(flat(found))
        result = {name: np.concatenate(parts) for name, parts in gradients.items()}
        return {**result, "IG x input": result["IG"] * pictures}


def tensor(pictures: NDArray[Any]) -> Any:
    import torch

    return torch.as_tensor(np.asarray(pictures, dtype=np.float32).reshape(-1, 1, SIDE, SIDE))


def flat(found: Any) -> Floats:
    return np.asarray(found.detach().numpy(), dtype=np.float64).reshape(len(found), -1)


def train_plainly(
    network: Any, inputs: Any, targets: Any, epochs: int, lot: int = PLAIN_LOT
) -> None:
    """Adam on shuffled lots, in place."""
    import torch

    optimizer = torch.optim.Adam(network.parameters(), PLAIN_RATE)
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs)).split(lot):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(inputs[rows]), targets[rows]).backward()
            optimizer.step()


def train_privately(
    network: Any,
    inputs: Any,
    targets: Any,
    epochs: int,
    epsilon: float,
    *,
    delta: float = DELTA,
    lot: int = LOT,
    clip: float = CLIP,
    optimizer: Callable[[Any], Any] | None = None,
    ghost: bool = False,
) -> float:
    """DP-SGD by Opacus on Poisson lots, in place; returns the epsilon that its accountant tells.

    With `ghost`, lengths of gradients are found without the gradients: faster for dense layers.
    """
    import torch
    from opacus import PrivacyEngine
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    if optimizer is None:
        made = torch.optim.SGD(network.parameters(), RATE, momentum=MOMENTUM)
    else:
        made = optimizer(network.parameters())
    rows = torch.utils.data.TensorDataset(inputs, targets)
    loader = torch.utils.data.DataLoader(rows, batch_size=min(lot, len(inputs)))
    loss = torch.nn.CrossEntropyLoss()
    more = {"grad_sample_mode": "ghost", "criterion": loss} if ghost else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine(accountant="prv")
        private, steps, *other, lots = engine.make_private_with_epsilon(
            module=network,
            optimizer=made,
            data_loader=loader,
            target_epsilon=epsilon,
            target_delta=delta,
            epochs=epochs,
            max_grad_norm=clip,
            poisson_sampling=True,
            **more,
        )
        loss = other[0] if ghost else loss
        private.train()
        for _ in range(epochs):
            # Lots are summed up in pieces, which is faster; noise is added once a lot.
            whole = nullcontext(lots)
            pieces = BatchMemoryManager(
                data_loader=lots, max_physical_batch_size=AT_ONCE, optimizer=steps
            )
            with whole if ghost else pieces as parts:
                for some, wanted in parts:
                    steps.zero_grad()
                    loss(private(some), wanted).backward()
                    steps.step()
        spent = float(engine.get_epsilon(delta))
        private.remove_hooks()
    return spent


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained model, the seconds that took, and its accuracy on all test pictures."""

    model: Any
    epsilon: float
    seed: int
    seconds: float
    accuracy: float
    right: NDArray[np.bool_]


def train(make: Callable[[float, int], Any], data: Pictures, eps: float, seed: int, epochs: int):
    """Fit one model and see which test pictures it gets right."""
    start = time.perf_counter()
    model = make(eps, seed).fit(data, epochs)
    seconds = time.perf_counter() - start
    right = model.scores(data.test / 255.0).argmax(axis=1) == data.test_classes
    return Fitted(model, eps, seed, seconds, float(right.mean()), right)
