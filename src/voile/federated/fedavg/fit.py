"""One fit by federated averaging: what is paid, the rounds, and what the receipt says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from voile.federated.fedavg.placement import target_layers
from voile.federated.fedavg.settings import PLACED, Settings, check_schema
from voile.federated.fedavg.work import COUNTED_BOUND, ClientUpdate, LocalTraining, PublishedUpload
from voile.federated.networks.architectures import Description, initial_weights
from voile.federated.networks.images import KeptImages, Standard
from voile.federated.networks.model import NetworkModel
from voile.models.progress import progress_bar
from voile.privacy.accounting import compose
from voile.privacy.budget import Budget, Relation
from voile.privacy.calibrate import calibrate, gaussian_share, poisson_share
from voile.privacy.clients.sampling import unprotected_client_sum
from voile.privacy.clients.terms import CLIENT
from voile.privacy.clients.updates import client_sum
from voile.privacy.events import Gaussian, Plan, Step, Unprotected
from voile.privacy.grant import Grant
from voile.privacy.ledger import Ledger
from voile.privacy.receipt import Receipt, write_receipt
from voile.privacy.vault import PrivateTable, keep

Floats = NDArray[np.float64]

ROUNDS_LOOK = "rounds"

_WHOLE = "for whole clients"
"""In the server's ledger: its line counts clients; clients have words of their own for it."""

_INTERRUPTED = (
    "Training was interrupted: nothing of it is released, and what it was to cost stays spent in "
    "the ledgers, because the rows were looked at."
)

_PLACEMENTS = {
    "dp_faithful": "everywhere",
    "random_faithful": "random",
    "gradcam_faithful": "gradcam",
}


@dataclass(frozen=True, eq=False)
class Job:
    """What a fit works with.

    Attributes
    ----------
    table : PrivateTable
        Rows at the clients.
    clients : int
        Public: how many clients there are.
    budget : Budget
        Of the promise for clients; nominal in published modes.
    ledger : Ledger
    settings : Settings
    what : str
        For the ledger.
    seed : int
        Public chance.
    """

    table: PrivateTable
    clients: int
    budget: Budget
    ledger: Ledger
    settings: Settings
    what: str
    seed: int


def fit_model(job: Job) -> NetworkModel:
    """Pay, train round by round, and freeze what came out.

    Raises
    ------
    BudgetExceeded
        If the plan does not fit a ledger; nothing was spent by the one that refuses.
    """
    settings, schema = job.settings, job.table.schema
    description = Description(
        settings.architecture, settings.network_shape, check_schema(schema, settings), job.seed
    )
    module = description.build()  # what cannot be trained costs nothing
    if settings.noise in PLACED:
        target_layers(module)
    if settings.published:
        settings.published_scale(job.budget.epsilon, job.budget.delta)
    unit: str | None
    run: Callable[[Job, Grant, _Course], Floats]
    if settings.noise == "client":
        plan = plan_for_clients(job.budget, settings, job.ledger.relation)
        unit, run = CLIENT, _protect
    else:
        plan = Plan((Step(ROUNDS_LOOK, Unprotected(settings.rounds)),))
        unit, run = None, (_publish if settings.published else _average)
    what = f"{job.what} ({_WHOLE})" if unit else job.what
    grant = job.ledger.pay(plan, job.table, what, unit=unit)
    kept = KeptImages(schema)
    course = _Course(description, settings, kept.bits)
    keep(job.table, kept.columns, kept.prepare)
    try:
        weights = run(job, grant, course)
    except KeyboardInterrupt as interruption:
        interruption.add_note(_INTERRUPTED)
        raise
    receipt = _receipt(job, grant)
    shape = tuple(int(one) for one in settings.image_shape)
    return NetworkModel(
        schema, description, weights, course.standard, shape, settings.noise, receipt
    )


def plan_for_clients(
    budget: Budget, settings: Settings, relation: Relation = Relation.ADD_REMOVE
) -> Plan:
    """All rounds of a promise for whole clients, with the noise that the budget asks for."""
    rate, rounds = settings.fraction, settings.rounds
    if rate < 1.0:
        step = poisson_share(ROUNDS_LOOK, 1.0, rate=rate, count=rounds)
    else:
        step = gaussian_share(ROUNDS_LOOK, 1.0, count=rounds)
    return calibrate(budget, Plan((step,)), relation)


@dataclass(frozen=True, eq=False)
class _Course:
    """What is the same in every round."""

    description: Description
    settings: Settings
    bits: int

    @property
    def standard(self) -> Standard:
        return Standard(self.settings.pixel_mean, self.settings.pixel_spread, self.bits)

    def training(self, weights: Floats, turn: int, clip: float | None = None) -> LocalTraining:
        one, settings = self.description, self.settings
        return LocalTraining(
            architecture=one.architecture,
            image_shape=one.image_shape,
            classes=one.classes,
            network_seed=one.seed,
            weights=weights,
            means=settings.pixel_mean,
            spreads=settings.pixel_spread,
            bits=self.bits,
            epochs=settings.local_epochs,
            batch=settings.local_batch,
            learning_rate=settings.learning_rate,
            seed=one.seed + turn,
            gradient_clip=clip,
        )


def _average(job: Job, grant: Grant, course: _Course) -> Floats:
    """Plain federated averaging (McMahan et al. 2017), clients weighted by their rows."""
    weights, server = initial_weights(course.description), _Server(job.settings)
    with progress_bar("rounds", job.settings.rounds) as progress:
        for turn in range(job.settings.rounds):
            work = ClientUpdate(course.training(weights, turn), COUNTED_BOUND, counted=True)
            found = _sum_of_some(job, grant, work)
            if found is not None:
                weights = server.step(weights, found)
            progress(turn + 1)
    return weights


def _publish(job: Job, grant: Grant, course: _Course) -> Floats:
    """The published modes: the mean of noised weights, clients weighted by their rows."""
    settings = job.settings
    weights = initial_weights(course.description)
    scale = settings.published_scale(job.budget.epsilon, job.budget.delta)
    with progress_bar("rounds", settings.rounds) as progress:
        for turn in range(settings.rounds):
            training = course.training(weights, turn, settings.clip)
            work = PublishedUpload(
                training,
                scale,
                _PLACEMENTS[settings.noise],
                settings.noisy_share,
                settings.shorten_noised,
            )
            found = _sum_of_some(job, grant, work)
            weights = weights if found is None else found
            progress(turn + 1)
    return weights


def _sum_of_some(job: Job, grant: Grant, work: ClientUpdate | PublishedUpload) -> Floats | None:
    """Mean over the rows of the clients that took part; None if there were none."""
    ticket = grant.take(ROUNDS_LOOK)
    values = unprotected_client_sum(job.table, work, ticket, job.settings.fraction).values
    # A vector that was shortened was shortened with its number of rows.
    return None if values[-1] < 1e-6 else values[:-1] / values[-1]


def _protect(job: Job, grant: Grant, course: _Course) -> Floats:
    """A promise for whole clients (McMahan et al. 2018): noised sums of clipped updates."""
    settings = job.settings
    weights, server = initial_weights(course.description), _Server(settings)
    # How many clients there are is public; how many were chosen is not.
    expected = settings.fraction * job.clients
    with progress_bar("rounds", settings.rounds) as progress:
        for turn in range(settings.rounds):
            work = ClientUpdate(course.training(weights, turn), settings.clip)
            total = client_sum(job.table, work, grant.take(ROUNDS_LOOK)).values
            weights = server.step(weights, total / expected)
            progress(turn + 1)
    return weights


class _Server:
    """What the server does with a mean update; released values only."""

    def __init__(self, settings: Settings) -> None:
        self._rate, self._momentum = settings.server_learning_rate, settings.server_momentum
        self._speed: Floats | None = None

    def step(self, weights: Floats, update: Floats) -> Floats:
        """The next weights."""
        before = 0.0 if self._speed is None else self._momentum * self._speed
        self._speed = before + update
        return np.asarray(weights + self._rate * self._speed)


def _receipt(job: Job, grant: Grant) -> Receipt:
    settings = job.settings
    if settings.noise != "client":
        receipt = write_receipt(grant, Budget(math.inf, job.budget.delta))
        return replace(receipt, notes=(_where(job), *_no_guarantee(job)))
    receipt = write_receipt(grant, job.budget)
    if not receipt.guarantee and not math.isfinite(receipt.epsilon):
        return replace(receipt, notes=(_where(job), "There was no noise, and so no guarantee."))
    for_row = _row_epsilon(grant.plan, job.ledger.relation, job.budget.delta)
    notes = (
        _where(job),
        "This protects each client, with all of its rows, from everybody who sees the model, the "
        "other clients included; the aggregator saw the exact update of each client that it asked, "
        "knows whom it asked, and is trusted with both.",
        f"For a single row of a client it is ({for_row:.4g}, {job.budget.delta:.3g})-differential "
        "privacy: a row can change all of its client's update.",
        "Clients must not be told in which rounds others were asked.",
    )
    return replace(receipt, notes=notes)


def _row_epsilon(plan: Plan, relation: Relation, delta: float) -> float:
    """What a promise for clients is for one row, which turns its client's update into another.

    That is a client replaced: twice the change of a client left out, where all take part.
    """
    events = plan.events
    if relation is Relation.ADD_REMOVE:
        events = tuple(
            replace(one, noise_multiplier=one.noise_multiplier / 2)
            if isinstance(one, Gaussian)
            else one
            for one in events
        )
    return compose(events, Relation.REPLACE_ONE).epsilon(delta)


def _where(job: Job) -> str:
    return f"Federated: rows lay with {job.clients} clients and did not leave them."


def _no_guarantee(job: Job) -> tuple[str, ...]:
    settings, budget = job.settings, job.budget
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
