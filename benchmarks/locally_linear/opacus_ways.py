"""Locally linear maps trained by Opacus, in every way that it offers for them.

Not a script: see `quality.py`. Needs torch and opacus (``pip install opacus``); without them
`installed` says so.
"""

import importlib.util
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

THREADS = 2
SECOND_MOMENT = 0.99


@dataclass(frozen=True, slots=True)
class Lesson:
    """The very task that the library has: its points, its start, its lots.

    Attributes
    ----------
    points : ndarray of shape (rows, size + 1)
        Rows as the maps see them, and the constant input.
    classes : ndarray of shape (rows,)
    start : ndarray of shape (classes, maps, size + 1)
        Weights before the first step.
    beta, clip, noise, rate, learning_rate : float
        Inverse temperature; bound of a row's gradient; noise per bound; part of the rows in a lot;
        size of Adam's steps.
    """

    points: Floats
    classes: Whole
    start: Floats
    beta: float
    clip: float
    noise: float
    rate: float
    learning_rate: float


@dataclass(frozen=True, slots=True)
class Way:
    """One way to use Opacus.

    Attributes
    ----------
    name : str
        As the tables call it.
    mode : {"hooks", "functorch", "ghost"}
        Its `grad_sample_mode`.
    at_once : int or None
        Rows of a lot that are worked on at once; None: all.
    loader : bool
        Whether lots come from Opacus's own data loader, row by row, or are cut out of the tensor.
    """

    name: str
    mode: str
    at_once: int | None = None
    loader: bool = False


WAYS = (
    Way("Opacus, per-sample gradients", "hooks"),
    Way("Opacus, per-sample gradients, 512 rows at once", "hooks", 512),
    Way("Opacus, functorch, 512 rows at once", "functorch", 512),
    Way("Opacus, ghost clipping", "ghost"),
    Way("Opacus, ghost clipping, 1,024 rows at once", "ghost", 1_024),
    Way("Opacus, ghost clipping, its own data loader", "ghost", loader=True),
)


def installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("torch", "opacus"))


def maps_module(start: Floats, beta: float) -> Any:
    """The maps as one linear layer, for which Opacus has rules of its own, and the blending."""
    import torch

    classes, maps, size = start.shape

    class Maps(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(size, classes * maps, bias=False)
            with torch.no_grad():
                self.linear.weight.copy_(torch.as_tensor(start.reshape(-1, size)))

        def forward(self, points: Any) -> Any:
            scores = self.linear(points).view(-1, classes, maps)
            return (torch.softmax(beta * scores, dim=2) * scores).sum(dim=2)

    return Maps()


class Trainer:
    """A private training by Opacus that can be continued, some steps at a time."""

    def __init__(self, way: Way, lesson: Lesson) -> None:
        import torch
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(THREADS)
        self.way, self.lesson = way, lesson
        self.points = torch.as_tensor(lesson.points, dtype=torch.float32)
        self.classes = torch.as_tensor(lesson.classes)
        data = TensorDataset(self.points, self.classes)
        # Its sampling rate is one over the number of lots.
        lots = DataLoader(data, batch_size=-(-len(data) // max(round(1 / lesson.rate), 1)))
        self.module = maps_module(lesson.start, lesson.beta)
        self.loss = torch.nn.CrossEntropyLoss(reduction="sum")
        adam = torch.optim.Adam(
            self.module.parameters(), lr=lesson.learning_rate, betas=(0.9, SECOND_MOMENT)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = PrivacyEngine().make_private(
                module=self.module,
                optimizer=adam,
                criterion=self.loss,
                data_loader=lots,
                noise_multiplier=lesson.noise,
                max_grad_norm=lesson.clip,
                loss_reduction="sum",
                grad_sample_mode=way.mode,
            )
        if way.mode == "ghost":
            self.model, self.optimizer, self.loss, self.loader = made
        else:
            self.model, self.optimizer, self.loader = made
        # A lot is worked on in parts, as Opacus's own BatchMemoryManager does it.
        self.model.allow_grad_accumulation()

    def lots(self) -> Iterator[tuple[Any, Any]]:
        """Poisson lots without end."""
        import torch

        while True:
            if self.way.loader:
                yield from self.loader
            else:
                drawn = torch.rand(len(self.points)) < self.lesson.rate
                yield self.points[drawn], self.classes[drawn]

    def step(self, points: Any, classes: Any) -> None:
        """One step by one lot."""
        size = self.way.at_once or max(len(points), 1)
        parts = range(0, len(points), size)
        for start in parts:
            part = slice(start, start + size)
            self.optimizer.signal_skip_step(do_skip=start != parts[-1])
            self.loss(self.model(points[part]), classes[part]).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def train(self, steps: int) -> float:
        """So many steps; returns the seconds."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            for _, (points, classes) in zip(range(steps), self.lots(), strict=False):
                self.step(points, classes)
            return time.perf_counter() - start

    @property
    def weights(self) -> Floats:
        """Shape (classes, maps, size + 1)."""
        found = self.module.linear.weight.detach().numpy().astype(np.float64)
        return np.asarray(found.reshape(self.lesson.start.shape))


def clipped_sum(lesson: Lesson) -> Floats:
    """Sum of all rows' clipped gradients by the closed form, in plain numpy: what is to be found.

    A row adds c_mk z with c_mk = (p_k - y_k) s_mk (1 + beta (g_mk - f_k)), cut to norm `clip`.
    """
    from scipy.special import softmax

    classes, maps, size = lesson.start.shape
    flat = lesson.points @ lesson.start.reshape(-1, size).T
    scores = flat.reshape(-1, classes, maps)
    shares = softmax(lesson.beta * scores, axis=2)
    blended = (shares * scores).sum(axis=2)
    push = softmax(blended, axis=1) - np.eye(classes)[lesson.classes]
    pulls = push[:, :, None] * shares * (1.0 + lesson.beta * (scores - blended[:, :, None]))
    lengths = np.sqrt((pulls**2).sum(axis=(1, 2)) * (lesson.points**2).sum(axis=1))
    cut = np.minimum(1.0, lesson.clip / np.maximum(lengths, 1e-300))
    return np.einsum("nkm,nd->kmd", pulls * cut[:, None, None], lesson.points)
