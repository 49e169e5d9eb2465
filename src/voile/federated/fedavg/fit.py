"""One fit by federated averaging: what is paid, the rounds, and what the receipt says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.federated.fedavg.placement import target_layers
from voile.federated.fedavg.settings import (
    PLACED,
    ROUNDS_ACCESS,
    Settings,
    check_schema,
    plan_shape,
)
from voile.federated.fedavg.work import COUNTED_BOUND, ClientUpdate, LocalTraining, PublishedUpload
from voile.models.fit import FitJob, looking_at_rows
from voile.models.networks.architectures import Description, initial_weights
from voile.models.networks.images import KeptImages, Standard
from voile.models.networks.model import NetworkModel
from voile.privacy.accounting import compose
from voile.privacy.budget import Budget, NeighbouringRelation
from voile.privacy.clients.sampling import unprotected_client_sum
from voile.privacy.clients.terms import CLIENT
from voile.privacy.clients.updates import client_sum
from voile.privacy.events import Gaussian, Plan, Step, Unprotected
from voile.privacy.grant import Grant, Ticket
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import keep
from voile.progress import progress_bar

Floats = NDArray[np.float64]
Turn = Callable[[Ticket, Floats, int], Floats]
"""A round: the weights before it, and its number, to the weights after it."""

_WHOLE = "for whole clients"
"""In the server's ledger: its line counts clients; clients have words of their own for it."""

_PLACEMENTS = {
    "dp_faithful": "everywhere",
    "random_faithful": "random",
    "gradcam_faithful": "gradcam",
}


@dataclass(frozen=True, eq=False)
class RoundSchedule:
    """What follows from settings and public facts, and is the same in every round.

    Attributes
    ----------
    settings : Settings
    description : Description
    bits : int
        Of the kept pixels.
    clients : int
        Public: how many there are.
    budget : Budget
        Of the guarantee for clients; nominal in published modes.
    """

    settings: Settings
    description: Description
    bits: int
    clients: int
    budget: Budget

    @property
    def standard(self) -> Standard:
        """How pixels become inputs."""
        return Standard(self.settings.means, self.settings.spreads, self.bits)

    @property
    def published_scale(self) -> float:
        """Standard deviation of the published noise for a client with a single row."""
        return self.settings.published_scale(self.budget.epsilon, self.budget.delta)

    def training(self, weights: Floats, turn: int, clip: float | None = None) -> LocalTraining:
        """What a client does in a round."""
        one, settings = self.description, self.settings
        return LocalTraining(
            architecture=one.architecture,
            image_shape=one.image_shape,
            classes=one.classes,
            network_seed=one.seed,
            weights=weights,
            means=settings.means,
            spreads=settings.spreads,
            bits=self.bits,
            epochs=settings.local_epochs,
            batch=settings.local_batch,
            learning_rate=settings.learning_rate,
            seed=one.seed + turn,
            gradient_clip=clip,
        )


def fit_model(job: FitJob, settings: Settings, clients: int) -> NetworkModel:
    """Pay, train round by round, and freeze what came out.

    Parameters
    ----------
    job : FitJob
        Its table's rows lie with the clients.
    settings : Settings
        With a random_state.
    clients : int
        Public: how many there are.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit a ledger; nothing was spent by the one that refuses.
    """
    schema, seed = job.table.schema, settings.random_state
    assert seed is not None
    classes = check_schema(schema, settings)
    description = Description(settings.architecture, settings.network_shape, classes, seed)
    module = description.build()  # what cannot be trained costs nothing
    kept = KeptImages(schema)
    schedule = RoundSchedule(settings, description, kept.bits, clients, job.budget)
    if settings.noise in PLACED:
        target_layers(module)
    unit: str | None
    if settings.noise == "client":
        plan = job.plan(plan_shape(settings.fraction, settings.rounds))
        unit, take_turn = CLIENT, _protect(job, schedule)
    else:
        plan = Plan((Step(ROUNDS_ACCESS, Unprotected(settings.rounds)),))
        unit, take_turn = None, (_publish if settings.published else _average)(job, schedule)
    grant = job.ledger.pay(
        plan, job.table, f"{job.what} ({_WHOLE})" if unit else job.what, unit=unit
    )
    keep(job.table, kept.columns, kept.prepare)
    weights = initial_weights(description)
    with looking_at_rows(), progress_bar("rounds", settings.rounds) as progress:
        for turn in range(settings.rounds):
            weights = take_turn(grant.take(ROUNDS_ACCESS), weights, turn)
            progress(turn + 1)
    receipt = _receipt(job, schedule, grant)
    return NetworkModel(
        schema,
        description,
        weights,
        schedule.standard,
        settings.image_shape,
        settings.noise,
        receipt,
    )


def _average(job: FitJob, schedule: RoundSchedule) -> Turn:
    """Plain federated averaging (McMahan et al. 2017), clients weighted by their rows."""
    server = _FedAvgServer(schedule.settings)

    def turn(ticket: Ticket, weights: Floats, number: int) -> Floats:
        work = ClientUpdate(schedule.training(weights, number), COUNTED_BOUND, counted=True)
        mean = _mean_of_some(job, schedule, ticket, work)
        return weights if mean is None else server.step(weights, mean)

    return turn


def _publish(job: FitJob, schedule: RoundSchedule) -> Turn:
    """The published modes: the mean of noised weights, clients weighted by their rows."""
    settings, scale = schedule.settings, schedule.published_scale

    def turn(ticket: Ticket, weights: Floats, number: int) -> Floats:
        work = PublishedUpload(
            schedule.training(weights, number, settings.bound),
            scale,
            _PLACEMENTS[settings.noise],
            settings.noisy_share,
            settings.shorten_noised,
        )
        mean = _mean_of_some(job, schedule, ticket, work)
        return weights if mean is None else mean

    return turn


def _protect(job: FitJob, schedule: RoundSchedule) -> Turn:
    """A guarantee for whole clients (McMahan et al. 2018): noised sums of clipped updates."""
    settings, server = schedule.settings, _FedAvgServer(schedule.settings)
    # How many clients there are is public; how many were chosen is not.
    expected = settings.fraction * schedule.clients

    def turn(ticket: Ticket, weights: Floats, number: int) -> Floats:
        work = ClientUpdate(schedule.training(weights, number), settings.bound)
        total = client_sum(job.table, work, ticket).values
        return server.step(weights, total / expected)

    return turn


def _mean_of_some(
    job: FitJob, schedule: RoundSchedule, ticket: Ticket, work: ClientUpdate | PublishedUpload
) -> Floats | None:
    """Mean over the rows of the clients that took part; None if there were none."""
    fraction = schedule.settings.fraction
    values = unprotected_client_sum(job.table, work, ticket, fraction).values
    # A vector that was shortened was shortened with its number of rows.
    return None if values[-1] < 1e-6 else values[:-1] / values[-1]


class _FedAvgServer:
    """What the server does with a mean update; released values only."""

    def __init__(self, settings: Settings) -> None:
        self._rate, self._momentum = settings.server_learning_rate, settings.server_momentum
        self._speed: Floats | None = None

    def step(self, weights: Floats, update: Floats) -> Floats:
        """The next weights."""
        before = 0.0 if self._speed is None else self._momentum * self._speed
        self._speed = before + update
        return np.asarray(weights + self._rate * self._speed)


def _receipt(job: FitJob, schedule: RoundSchedule, grant: Grant) -> Receipt:
    where = f"Federated: rows lay with {schedule.clients} clients and did not leave them."
    if schedule.settings.noise != "client":
        receipt = write_receipt(grant, Budget(math.inf, job.budget.delta))
        return replace(receipt, notes=(where, *_no_guarantee(schedule)))
    receipt = write_receipt(grant, job.budget)
    if not receipt.has_guarantee and not math.isfinite(receipt.epsilon):
        return replace(receipt, notes=(where, "There was no noise, and so no guarantee."))
    for_row = _row_epsilon(grant.plan, job.ledger.relation, job.budget.delta)
    notes = (
        where,
        "This protects each client, with all of its rows, from everybody who sees the model, the "
        "other clients included; the aggregator saw the exact update of each client that it asked, "
        "knows whom it asked, and is trusted with both.",
        f"For a single row of a client it is ({for_row:.4g}, {job.budget.delta:.3g})-differential "
        "privacy: a row can change all of its client's update.",
        "Clients must not be told in which rounds others were asked.",
    )
    return replace(receipt, notes=notes)


def _row_epsilon(plan: Plan, relation: NeighbouringRelation, delta: float) -> float:
    """What a guarantee for clients is for one row, which turns its client's update into another.

    That is a client replaced: twice the change of a client left out, where all take part.
    """
    events = plan.events
    if relation is NeighbouringRelation.ADD_REMOVE:
        events = tuple(
            replace(one, noise_multiplier=one.noise_multiplier / 2)
            if isinstance(one, Gaussian)
            else one
            for one in events
        )
    return compose(events, NeighbouringRelation.REPLACE_ONE).epsilon(delta)


def _no_guarantee(schedule: RoundSchedule) -> tuple[str, ...]:
    settings, budget = schedule.settings, schedule.budget
    if settings.noise == "none":
        return ("Updates of clients were averaged without noise: nobody is protected by it.",)
    nominal = (
        f"The published algorithm calls this epsilon {budget.epsilon:g}, delta {budget.delta:g}"
    )
    if settings.noise_factor != 1.0:
        nominal += f" (its noise is raised by the factor {settings.noise_factor:g})"
    reasons = [
        f"{nominal}. It is no guarantee: its noise is for a change of 2 x learning rate x clip / "
        "rows, and a row changes every step of training after the first that it is in."
    ]
    if settings.noise in PLACED:
        reasons.append(
            f"{1 - settings.noisy_share:.0%} of the filters of chosen layers were sent without any "
            "noise, and which ones they were shows in what was sent: both are exact functions of "
            "private rows."
        )
    return tuple(reasons)
