"""One fit of a network: what is looked at, and what is made of what comes out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from voile.errors import DataError
from voile.models.fit import FitJob, frozen
from voile.models.networks.architectures import Description, initial_weights
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.model import NetworkModel
from voile.models.networks.queries import Brightness, NetworkSteps
from voile.models.networks.settings import (
    BRIGHTNESS_ACCESS,
    Schedule,
    Settings,
    check,
    choose,
    plan_shape,
)
from voile.models.networks.threads import one_thread
from voile.models.networks.train import JUDGED, Placer, train
from voile.models.setting_checks import count_found_classes
from voile.privacy.grant import Grant
from voile.privacy.mechanisms import gaussian_sum
from voile.privacy.vault import PrivateTable, keep
from voile.schema import Schema

IMAGES_GIVEN_AS_PUBLIC = (
    "Where the noise went was judged on images that were given as public: the guarantee does not "
    "cover those images."
)


def fit_model(job: FitJob, settings: Settings) -> NetworkModel:
    """Pay, carry out, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit the ledger; nothing was spent.
    """
    schema = job.table.schema
    check(schema, settings)
    schedule = choose(settings, job.budget, schema, sampled=job.table.rows_per_unit == 1)
    seed = settings.random_state
    if seed is None:
        # Public randomness; it is saved with the network.
        seed = int(np.random.default_rng().integers(2**31))
    # A network that cannot be built, or public images of another shape, cost nothing.
    Description(settings.architecture, settings.picture, 2, seed).build()
    images = _public_images(settings)
    plan = job.plan(plan_shape(schema, schedule, job.budget.delta))
    with one_thread():
        (query, complete), receipt = job.carry_out(
            plan, lambda table, grant: _release(table, grant, schedule, seed, images)
        )
    if images is not None and settings.placement in JUDGED:
        receipt = replace(receipt, notes=(*receipt.notes, IMAGES_GIVEN_AS_PUBLIC))
    return NetworkModel(
        complete,
        query.description,
        query.weights,
        query.standard,
        settings.shape,
        settings.placement,
        receipt,
    )


def _release(
    table: PrivateTable,
    grant: Grant,
    schedule: Schedule,
    seed: int,
    images: NDArray[np.float32] | None,
) -> tuple[NetworkSteps, Schema]:
    """The network with its trained weights, and the complete schema."""
    settings = schedule.settings
    classes = count_found_classes(table.schema)
    kept = KeptImages(table.schema)
    keep(table, kept.columns, kept.prepare)
    bright = Brightness(settings.picture[0], kept.bits)
    release = gaussian_sum(table, bright, grant.take(BRIGHTNESS_ACCESS))
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
        schedule.clip,
    )
    public = None
    if images is not None:
        public = torch.from_numpy((images - means[:, None, None]) / spreads[:, None, None]).float()
    placer = Placer(settings.placement, public, np.random.default_rng(seed))
    weights = train(table, grant, query, schedule, rows, placer)
    return replace(query, weights=frozen(weights)), table.schema


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
