"""How many clients a guarantee for whole clients needs: figures from public numbers alone.

The mean update of a round has noise of standard deviation sigma C / (q n) in each of its d
coordinates (sigma from the accountant, C the clip, q the rate, n clients), so the noise has a
length of about sqrt(d) sigma C / (q n), beside updates of length C at most. Only n can make it
small: more clients in a round, at a sampling rate that hides each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from voile.errors import SettingError
from voile.federated.fedavg.settings import plan_shape
from voile.models.setting_checks import is_count, is_number
from voile.privacy.budget import Budget
from voile.privacy.calibrate import calibrate
from voile.privacy.events import Gaussian, PoissonGaussian

_MOST_CLIENTS = 2**40
_DELTA_POWER = 1.1


@dataclass(frozen=True)
class ClientNoise:
    """The noise that a guarantee for whole clients asks for.

    Attributes
    ----------
    epsilon, delta : float
    clients, rounds : int
    fraction : float
        Rate at which clients are sampled.
    noise_multiplier : float
        Noise of a round's sum, in clips.
    parameters : int
        Of the network.
    """

    epsilon: float
    delta: float
    clients: int
    rounds: int
    fraction: float
    noise_multiplier: float
    parameters: int

    @property
    def per_round(self) -> float:
        """Expected number of clients in a round."""
        return self.fraction * self.clients

    @property
    def per_coordinate(self) -> float:
        """Standard deviation of a coordinate of the mean update, in clips."""
        return self.noise_multiplier / self.per_round

    @property
    def length(self) -> float:
        """Length of the noise in the mean update, in clips: above 1 it outweighs any update."""
        return math.sqrt(self.parameters) * self.per_coordinate


def client_noise(
    clients: int,
    *,
    epsilon: float = 8.0,
    delta: float | None = None,
    rounds: int = 100,
    fraction: float = 0.1,
    parameters: int = 26_010,
) -> ClientNoise:
    """The noise for so many clients.

    Parameters
    ----------
    clients : int
    epsilon : float
    delta : float, optional
        clients ** -1.1 by default.
    rounds : int
    fraction : float
        Rate at which clients are sampled.
    parameters : int
        Of the network; 26,010 for "cnn" on images of 28 x 28.
    """
    if not is_count(clients, 2, _MOST_CLIENTS):
        raise SettingError(f"The 'clients' must be a whole number >= 2. Got {clients!r} instead.")
    if not is_count(rounds, 1) or not is_count(parameters, 1):
        raise SettingError("The 'rounds' and 'parameters' must be whole numbers >= 1.")
    if not (is_number(fraction) and 0.0 < fraction <= 1.0):
        raise SettingError(f"The 'fraction' must be in (0, 1]. Got {fraction!r} instead.")
    chosen = clients**-_DELTA_POWER if delta is None else delta
    budget = Budget(epsilon, chosen)
    if budget.unlimited:
        raise SettingError("An infinite epsilon needs no noise, and no number of clients.")
    event = calibrate(budget, plan_shape(fraction, rounds)).events[0]
    assert isinstance(event, (Gaussian, PoissonGaussian))
    return ClientNoise(
        epsilon, chosen, clients, rounds, fraction, event.noise_multiplier, parameters
    )


def clients_needed(
    *,
    length: float = 1.0,
    epsilon: float = 8.0,
    rounds: int = 100,
    fraction: float = 0.1,
    parameters: int = 26_010,
) -> ClientNoise:
    """The fewest clients (to a tenth) with which the noise is no longer than ``length`` clips.

    Parameters
    ----------
    length : float
        Largest length of the noise in a round's mean update, in clips.
    epsilon : float
        At delta = clients ** -1.1.
    rounds : int
    fraction : float
        Rate at which clients are sampled.
    parameters : int
        Of the network.

    Returns
    -------
    ClientNoise
        Of that many clients.

    Notes
    -----
    Fewer clients per round do not help: a lower rate lowers sigma less than it lowers the clients
    in the mean. Fewer parameters and rounds do.
    """
    if not (is_number(length) and 0.0 < length < math.inf):
        raise SettingError(f"The 'length' must be a number > 0. Got {length!r} instead.")

    def noise(clients: int) -> ClientNoise:
        return client_noise(
            clients, epsilon=epsilon, rounds=rounds, fraction=fraction, parameters=parameters
        )

    # sigma grows slowly (through delta), so this approaches the answer from below in a few steps.
    found = noise(max(math.ceil(1.0 / fraction), 2))
    while found.length > length:
        more = math.ceil(found.clients * max(found.length / length, 1.01))
        if more > _MOST_CLIENTS:
            raise SettingError("No number of clients is enough: ask for less.")
        found = noise(_rounded_up(more))
    return found


def _rounded_up(clients: int) -> int:
    """To two digits, upwards."""
    unit: int = 10 ** max(len(str(clients)) - 2, 0)
    return -(-clients // unit) * unit
