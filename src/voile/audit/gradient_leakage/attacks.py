"""Rebuild images from one update of a network with public weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.gradient_leakage.analytic import (
    FirstLayer,
    find_first_layer,
    infer_labels,
    rebuild_rows,
)
from voile.audit.gradient_leakage.findings import Reconstruction
from voile.audit.gradient_leakage.gradients import (
    Floats,
    Shape,
    check_images,
    check_labels,
    check_shape,
    check_update,
    copy_module,
    count_classes,
)
from voile.audit.gradient_leakage.measures import Score, measure_images
from voile.audit.gradient_leakage.searches import SearchPath, Target, search_cosine_tv, search_dlg
from voile.errors import DataError, SettingError

if TYPE_CHECKING:
    from torch.nn import Module

METHODS = ("analytic", "dlg", "cosine_tv")

VARIATIONS = (1e-3, 1e-1, 1e-2, 1e-4)
"""Weights of the total variation, one for each restart in turn: noise wants a larger one."""

_STARTS = 715_517
"""Sets starts apart from all else that is drawn with the same seed: made-up images drawn with
``default_rng(0)`` must not be what the attack with seed 0 begins with."""

_MATCHED = 1e-10
"""Distance of updates from which on no restart is needed."""


def attack(
    module: Any,
    update: ArrayLike,
    image_shape: tuple[int, ...],
    classes: int,
    *,
    method: str = "best",
    labels: ArrayLike | None = None,
    images: int | None = None,
    clean: ArrayLike | None = None,
    steps: int = 300,
    restarts: int = 2,
    seed: int = 0,
    reference: ArrayLike | None = None,
    public_mean: ArrayLike | None = None,
) -> Reconstruction:
    """Rebuild the images behind one update.

    Parameters
    ----------
    module : Module
        Maps (images, *image_shape) with values from 0 to 1 to scores (images, classes), with the
        weights at which the update was made. It is not changed. Layers that behave differently
        in training are taken as in use.
    update : array of shape (parameters,)
        Gradient of the cross-entropy, summed or averaged over the images, in the order of
        ``module.parameters()``. Its length does not matter, only its direction. Descending from
        the weights gives minus a gradient: turn the sign first.
    image_shape : tuple of int
        (channels, height, width) or (height, width).
    classes : int
    method : {"best", "analytic", "dlg", "cosine_tv"}
        ``"best"`` tries all that apply and takes the one with the highest PSNR against
        ``reference``: an enemy with an oracle, stronger than a real one.
    labels : array of int, "optimise", or None
        Classes, if the enemy knows them. None reads them off the last layer's gradient;
        "optimise" lets ``dlg`` find them with the images (other methods read them off).
    images : int, optional
        How many to rebuild: by default as many as labels, else one.
    clean : array of bool, shape (parameters,), optional
        Coordinates that the enemy knows to be without noise; others are then not used.
    steps : int
        Iterations of a search.
    restarts : int
        Searches from different starts; for ``cosine_tv`` also with different weights of the total
        variation. The best by PSNR if there is a reference, else by its objective. There are no
        more once one matches the update to 1e-10.
    seed : int
        Of the starts.
    reference : array of shape (true images, *image_shape), optional
        The true images, to choose and to measure by.
    public_mean : array of shape image_shape, optional
        A guess that needs no update, to compare with.

    Returns
    -------
    Reconstruction
        With an update of zeros, which says nothing, grey images.
    """
    if method == "best" and reference is None:
        raise SettingError(
            "The best method is chosen by the true images: give them as reference, or name a method"
            f" ({', '.join(METHODS)})."
        )
    tried = attack_all(
        module,
        update,
        image_shape,
        classes,
        methods=METHODS if method == "best" else (method,),
        labels=labels,
        images=images,
        clean=clean,
        steps=steps,
        restarts=restarts,
        seed=seed,
        reference=reference,
        public_mean=public_mean,
    )
    if not tried:
        raise SettingError(
            "The closed form needs a first layer that is fully connected, has a bias and sees every"
            " pixel; this module has none (a convolution does not serve): take 'dlg' or"
            " 'cosine_tv'."
        )
    return tried[0]


def attack_all(
    module: Any,
    update: ArrayLike,
    image_shape: tuple[int, ...],
    classes: int,
    *,
    methods: tuple[str, ...],
    labels: ArrayLike | None,
    images: int | None,
    clean: ArrayLike | None,
    steps: int,
    restarts: int,
    seed: int,
    reference: ArrayLike | None,
    public_mean: ArrayLike | None = None,
) -> list[Reconstruction]:
    """What each of several methods finds, the best by PSNR first; parameters as of `attack`.

    The closed form is left out where it does not apply.
    """
    wrong = [one for one in methods if one not in METHODS]
    if wrong:
        raise SettingError(f"method is {wrong[0]!r}: give 'best' or one of {', '.join(METHODS)}.")
    if steps < 1 or restarts < 1:
        raise SettingError(f"steps is {steps} and restarts {restarts}: give 1 or more.")
    if seed < 0:
        raise SettingError(f"seed is {seed}: give 0 or more.")
    shape, exact = check_shape(image_shape), copy_module(module)
    vector = check_update(update, exact)
    if count_classes(exact, shape) != classes:
        raise DataError(
            f"module has {count_classes(exact, shape)} outputs and classes is {classes}: they must"
            " be equal."
        )
    mask = _check_clean(clean, len(vector))
    optimise = isinstance(labels, str)
    if optimise and labels != "optimise":
        raise SettingError(f"labels is {labels!r}: give integers, 'optimise', or None.")
    given = None if labels is None or optimise else np.asarray(labels)
    count = images if images is not None else 1 if given is None else max(given.size, 1)
    if count < 1:
        raise SettingError(f"images is {count}: give 1 or more.")
    known = (
        infer_labels(exact, vector, classes, count)
        if given is None
        else check_labels(given, count, classes)
    )
    truth = None if reference is None else check_images(reference, name="reference")
    if truth is not None and truth.shape[1:] != shape:
        raise DataError(f"reference has images of shape {truth.shape[1:]}, not {shape}.")
    search = _Search(
        module, exact, vector, shape, classes, count, known, mask, optimise, truth, public_mean
    )
    found = [
        one
        for name in methods
        if (one := search.run(name, steps, restarts, np.random.default_rng([seed, _STARTS])))
        is not None
    ]
    return sorted(found, key=lambda one: -(one.gain or 0.0))


def _check_clean(clean: ArrayLike | None, size: int) -> NDArray[np.bool_] | None:
    if clean is None:
        return None
    mask = np.asarray(clean)
    if mask.shape != (size,) or mask.dtype != np.bool_:
        raise DataError(f"clean must hold {size} truth values, one per parameter.")
    return mask if mask.any() else None


class _Search:
    """One update under attack, by any method."""

    def __init__(
        self,
        module: Any,
        exact: Module,
        update: Floats,
        shape: Shape,
        classes: int,
        count: int,
        labels: NDArray[np.int64],
        clean: NDArray[np.bool_] | None,
        optimise: bool,
        truth: Floats | None,
        public_mean: ArrayLike | None,
    ) -> None:
        self.module, self.update, self.shape, self.classes = module, update, shape, classes
        self.exact, self.count, self.labels, self.clean = exact, count, labels, clean
        self.optimise, self.truth, self.public_mean = optimise, truth, public_mean
        self.target = Target(exact, update, shape, count, labels, clean)

    def run(
        self, method: str, steps: int, restarts: int, rng: np.random.Generator
    ) -> Reconstruction | None:
        """What a method finds; None if it does not apply."""
        if method == "analytic":
            layer = find_first_layer(self.exact, self.shape)
            if layer is None:
                return None
            if not self.target.is_silent:
                return self._record(method, self._solve(layer))
        if self.target.is_silent:
            grey = np.full((self.count, *self.shape), 0.5)
            return self._record(method, SearchPath(grey, (), (0,), grey[None]))
        found: list[Reconstruction] = []
        for restart in range(restarts):
            start = rng.uniform(0.0, 1.0, (self.count, *self.shape))
            if method == "dlg":
                scores = rng.normal(size=(self.count, self.classes)) if self.optimise else None
                schedule = search_dlg(self.target, start, steps, start_labels=scores)
            else:
                single = copy_module(self.module, double=False)
                target = Target(
                    single, self.update, self.shape, self.count, self.labels, self.clean
                )
                weight = VARIATIONS[restart % len(VARIATIONS)]
                schedule = search_cosine_tv(target, start, steps, weight)
            found.append(self._record(method, schedule))
            if self.target.judge(schedule.images) < _MATCHED:
                break
        return self._best(found)

    def _solve(self, layer: FirstLayer) -> SearchPath:
        """The closed form's image, or images, of its candidates."""
        flat, joint = rebuild_rows(layer, self.update, self.clean)
        candidates = flat.reshape(-1, *self.shape)
        if self.truth is None:
            # All rows together are one image's; of several, single rows are shown.
            first = joint if self.count > 1 and len(candidates) > joint else 0
            chosen = candidates[first : first + self.count]
        else:
            chosen = self._likest(candidates)
        spare = np.full((self.count - len(chosen), *self.shape), 0.5)
        images = np.concatenate([chosen, spare])
        return SearchPath(images, (self.target.judge(images),), (0,), images[None])

    def _likest(self, candidates: Floats) -> Floats:
        """The candidates that are nearest to the true images, for an enemy with an oracle."""
        from scipy.optimize import linear_sum_assignment
        from scipy.spatial.distance import cdist

        assert self.truth is not None
        truth = self.truth.reshape(len(self.truth), -1)
        errors = cdist(candidates.reshape(len(candidates), -1), truth, "sqeuclidean")
        spreads = np.maximum(truth.var(axis=1), 1e-12)  # of the grey guess: gains are compared
        gains = -np.log(np.maximum(errors / truth.shape[1], 1e-12) / spreads)
        rows, columns = linear_sum_assignment(gains, maximize=True)
        best = np.argsort(-gains[rows, columns], kind="stable")[: self.count]
        return np.asarray(candidates[rows[best]])

    def _record(self, method: str, schedule: SearchPath) -> Reconstruction:
        scores: tuple[Score, ...] = ()
        if self.truth is not None:
            scores = measure_images(schedule.images, self.truth, public_mean=self.public_mean)
        return Reconstruction(
            images=schedule.images,
            method=method,
            labels=tuple(int(one) for one in self.labels),
            objective=schedule.objective,
            iterations=schedule.iterations,
            snapshots=schedule.snapshots,
            scores=scores,
        )

    def _best(self, found: list[Reconstruction]) -> Reconstruction:
        if self.truth is not None:
            return max(found, key=lambda one: one.gain or 0.0)
        return min(found, key=lambda one: self.target.judge(one.images))
