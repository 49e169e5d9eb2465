"""Attack the updates of several images, sent in several ways, and set the results side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from voile.audit.gradient_leakage.attacks import METHODS, attack_all
from voile.audit.gradient_leakage.findings import LeakageReport, ModeFindings, Reconstruction
from voile.audit.gradient_leakage.gradients import (
    Floats,
    check_images,
    check_labels,
    copy_module,
    count_classes,
    count_parameters,
)
from voile.audit.gradient_leakage.measures import measure_images
from voile.audit.gradient_leakage.modes import Mode, SeenUpdate
from voile.errors import DataError, SettingError


def leakage_report(
    module: Any,
    images: ArrayLike,
    labels: ArrayLike,
    modes: Mapping[str, Mode | SeenUpdate | ArrayLike],
    *,
    targets: int | None = None,
    methods: tuple[str, ...] = METHODS,
    steps: int = 300,
    restarts: int = 2,
    most: int = 4,
    knows_labels: bool = True,
    public_mean: ArrayLike | None = None,
    strangers: ArrayLike | None = None,
    seed: int = 0,
) -> LeakageReport:
    """Let every attack try every mode on every image, and keep the best.

    Parameters
    ----------
    module : torch.nn.Module
        As of `attack`.
    images : array of shape (images, *shape)
        From 0 to 1.
    labels : array of shape (images,)
        Classes as numbers from 0.
    modes : mapping of str to mode
        What the enemy sees: a callable as of `voile.audit.gradient_leakage.modes`, or a finished
        update from elsewhere: one vector (or `SeenUpdate`) of all ``images`` together, or an
        array of shape (targets, parameters), one of each image.
    targets : int, optional
        How many images, from the front, are attacked in turn; by default all. In larger lots the
        images that follow stand beside them.
    methods : tuple of str
        Of "analytic", "dlg", "cosine_tv"; the first is left out where it does not apply.
    steps, restarts, seed : int
        As of `attack`.
    most : int
        Of a larger lot, so many images are rebuilt; those count on which the attack gained most.
    knows_labels : bool
        Whether the enemy is told the classes, or reads them off the update.
    public_mean : array of shape (*shape,), optional
        A guess that needs no update, to compare with.
    strangers : array of shape (strangers, *shape), optional
        Images of the same kind that are in no lot, best as many as the largest lot or several
        times so many. What an attack rebuilds is compared with them, too: a large lot gives away
        what images have in common, and a match with strangers is as good then.

    Returns
    -------
    LeakageReport
        Noise is drawn by the operating system's entropy: noised modes differ between runs.
    """
    pixels, copied = check_images(images), copy_module(module)
    classes = count_classes(copied, pixels.shape[1:])
    known = check_labels(labels, len(pixels), classes)
    others = None if strangers is None else check_images(strangers, name="strangers")
    if others is not None and others.shape[1:] != pixels.shape[1:]:
        raise DataError(f"strangers have shape {others.shape[1:]}, images {pixels.shape[1:]}.")
    count = len(pixels) if targets is None else targets
    if not 1 <= count <= len(pixels):
        raise SettingError(f"targets is {count}: give 1 to {len(pixels)}, the number of images.")
    if not modes or not methods or most < 1:
        raise SettingError("Give at least one mode, one method, and most of 1 or more.")
    settings = {
        "methods": methods,
        "steps": steps,
        "restarts": restarts,
        "seed": seed,
        "public_mean": public_mean,
    }
    found = []
    for name, mode in modes.items():
        attacks, lot = [], 1
        for seen, order in _send(mode, module, pixels, known, count):
            lot = seen.lot
            rebuilt = min(lot, most)
            own = known[order[:rebuilt]] if knows_labels else None
            attacks.append(
                _attack(module, seen, pixels[order[:lot]], own, rebuilt, classes, settings)
            )
        gains = (
            () if others is None else tuple(_on_strangers(one[0], others, lot) for one in attacks)
        )
        found.append(ModeFindings(str(name), lot, tuple(attacks), gains))
    return LeakageReport(
        modes=tuple(found),
        truth=pixels.copy(),
        parameters=count_parameters(copied),
        knows_labels=knows_labels,
    )


def _send(
    mode: Any, module: Any, images: Floats, labels: NDArray[np.int64], targets: int
) -> list[tuple[SeenUpdate, NDArray[np.int64]]]:
    """What is seen of each target, and the order in which images stand behind it."""
    orders = [np.roll(np.arange(len(images)), -i) for i in range(targets)]
    if callable(mode):
        sent = [mode(module, images[order], labels[order]) for order in orders]
        updates = [one if isinstance(one, SeenUpdate) else SeenUpdate(_vector(one)) for one in sent]
        return list(zip(updates, orders, strict=True))
    if isinstance(mode, SeenUpdate):
        return [(mode, orders[0])]
    ready = _vector(mode)
    if ready.ndim == 1:
        return [(SeenUpdate(ready, lot=len(images)), orders[0])]
    if ready.ndim != 2 or len(ready) != targets:
        raise DataError(
            f"A finished update has shape {ready.shape}: give one vector of all images together, or"
            f" {targets} of them, one for each target."
        )
    return [(SeenUpdate(one), order) for one, order in zip(ready, orders, strict=True)]


def _vector(update: ArrayLike) -> Floats:
    try:
        return np.asarray(update, np.float64)
    except (TypeError, ValueError, RuntimeError):
        raise DataError("A mode gave no vector of numbers: give a flat array.") from None


def _on_strangers(found: Reconstruction, strangers: Floats, lot: int) -> float:
    """Largest gain on a lot of strangers, the mean over as many lots as there are."""
    sets = max(1, len(strangers) // lot)
    gains = [
        max(one.gain for one in measure_images(found.images, strangers[i * lot : (i + 1) * lot]))
        for i in range(sets)
    ]
    return float(np.mean(gains))


def _attack(
    module: Any,
    seen: SeenUpdate,
    truth: Floats,
    labels: NDArray[np.int64] | None,
    rebuilt: int,
    classes: int,
    settings: Mapping[str, Any],
) -> tuple[Reconstruction, ...]:
    found = attack_all(
        module,
        seen.vector,
        truth.shape[1:],
        classes,
        labels=labels,
        images=rebuilt,
        clean=seen.clean,
        reference=truth,
        **settings,
    )
    if not found:
        raise SettingError("No attack applies to this module: leave methods at their default.")
    return tuple(found)
