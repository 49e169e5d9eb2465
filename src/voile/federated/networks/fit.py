"""One fit from budget to frozen network: what is paid when, and what is made of what comes out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from voile.errors import DataError
from voile.federated.networks.architectures import Description, initial_weights
from voile.federated.networks.images import KeptImages, Standard
from voile.federated.networks.model import NetworkModel
from voile.federated.networks.queries import Brightness, NetworkSteps
from voile.federated.networks.settings import Course, Settings, check, choose
from voile.federated.networks.threads import one_thread
from voile.federated.networks.train import JUDGED, STEPS_LOOK, Placer, train
from voile.models.locally_linear.fit import RANGE_LOOK, find_range, with_range
from voile.models.progress import progress_bar
from voile.models.setting_checks import count_found_classes
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate, gaussian_share, poisson_share
from voile.privacy.discovery import complete, discovery_shape
from voile.privacy.events import Plan, Step
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.receipt import write_receipt
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Schema

BRIGHTNESS_LOOK = "brightness and row count"

_RANGE, _BRIGHTNESS, _CLASSES = 0.005, 0.01, 0.02
"""Shares of mu^2: for the pixels' range, their mean and spread, and classes nobody listed."""

IMAGES_GIVEN_AS_PUBLIC = (
    "Where the noise went was judged on images that were given as public: the guarantee does not "
    "cover those images."
)

_INTERRUPTED = (
    "Training was interrupted: nothing of it is released, and what it was to cost stays spent in "
    "the ledger, because the rows were looked at."
)


def fit_model(
    table: PrivateTable, budget: Budget, ledger: Ledger, settings: Settings, what: str
) -> NetworkModel:
    """Pay, carry out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    check(table.schema, settings)
    course = choose(settings, budget, table.schema, sampled=table.rows_per_unit == 1)
    seed = settings.random_state
    if seed is None:
        # Public chance; it is saved with the network.
        seed = int(np.random.default_rng().integers(2**31))
    # A network that cannot be built, or public images of another shape, cost nothing.
    Description(settings.architecture, settings.picture, 2, seed).build()
    images = _public_images(settings)
    plan = calibrate(budget, Plan(tuple(_shape(table.schema, course, budget))), ledger.relation)
    grant = ledger.pay(plan, table, what)
    try:
        with one_thread():
            return _carry_out(table, grant, budget, course, settings, seed, images)
    except KeyboardInterrupt as interruption:
        interruption.add_note(_INTERRUPTED)
        raise


def _shape(schema: Schema, course: Course, budget: Budget) -> list[Step]:
    """All looks, with their shares of mu^2."""
    steps: list[Step] = []
    known = with_range(schema, 1.0)
    left = 1.0 - _BRIGHTNESS
    if known is not schema:
        steps.append(gaussian_share(RANGE_LOOK, _RANGE))
        left -= _RANGE
    found = discovery_shape(known, _CLASSES, budget.delta)
    if found:
        left -= _CLASSES
    steps += found
    steps.append(gaussian_share(BRIGHTNESS_LOOK, _BRIGHTNESS))
    if course.rate < 1.0:
        steps.append(poisson_share(STEPS_LOOK, left, rate=course.rate, count=course.steps))
    else:
        steps.append(gaussian_share(STEPS_LOOK, left, count=course.steps))
    return steps


def _carry_out(
    table: PrivateTable,
    grant: Grant,
    budget: Budget,
    course: Course,
    settings: Settings,
    seed: int,
    images: NDArray[np.float32] | None,
) -> NetworkModel:
    if RANGE_LOOK in grant.plan:
        table = find_range(table, grant.take(RANGE_LOOK))
    table = complete(table, grant)
    classes = count_found_classes(table.schema)
    kept = KeptImages(table.schema)
    keep(table, kept.columns, kept.prepare)
    bright = Brightness(settings.picture[0], kept.bits)
    release = gaussian_sum(table, bright, grant.take(BRIGHTNESS_LOOK))
    rows, means, spreads = bright.split(release.values)
    standard = Standard(tuple(map(float, means)), tuple(map(float, spreads)), kept.bits)
    description = Description(settings.architecture, settings.picture, classes, seed)
    query = NetworkSteps(
        settings.architecture,
        settings.picture,
        classes,
        seed,
        initial_weights(description),
        standard,
        course.clip,
    )
    public = None
    if images is not None:
        public = torch.from_numpy((images - means[:, None, None]) / spreads[:, None, None]).float()
    placer = Placer(settings.placement, settings.kept_share, public, np.random.default_rng(seed))
    with progress_bar("training", course.steps) as progress:
        weights = train(table, grant, query, course, rows, placer, progress)
    weights.setflags(write=False)
    assert settings.image_shape is not None
    receipt = write_receipt(grant, budget)
    if images is not None and settings.placement in JUDGED:
        receipt = replace(receipt, notes=(*receipt.notes, IMAGES_GIVEN_AS_PUBLIC))
    return NetworkModel(
        table.schema,
        description,
        weights,
        standard,
        settings.image_shape,
        settings.placement,
        receipt,
    )


def _public_images(settings: Settings) -> NDArray[np.float32] | None:
    """Public images as (rows, channels, height, width), pixels from 0 to 1."""
    if settings.public_images is None:
        return None
    images = np.asarray(settings.public_images)
    channels, height, width = settings.picture
    if images.ndim < 2 or not len(images) or images[0].size != channels * height * width:
        raise DataError(
            f"The 'public_images' must have shape (rows, {height}, {width}, {channels}). Got "
            f"{images.shape} instead."
        )
    top = 255.0 if images.dtype == np.uint8 else 1.0
    found = images.reshape(len(images), height, width, channels).astype(np.float32) / top
    if not np.isfinite(found).all():
        raise DataError("The 'public_images' must be finite numbers from 0 to 1, or uint8.")
    return np.ascontiguousarray(np.clip(found, 0.0, 1.0).transpose(0, 3, 1, 2))
