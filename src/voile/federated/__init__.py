"""Training together without pooling rows: federations, agents of clients, networks, partitions.

>>> from voile.federated import Federation
"""

from typing import TYPE_CHECKING

from voile.lazy import load_later

if TYPE_CHECKING:
    from voile.federated.fedavg.estimator import FedAvgClassifier
    from voile.federated.federation import Federation
    from voile.federated.partition import split_dirichlet, split_iid, split_sizes
    from voile.federated.vocabulary import learn_questions
    from voile.models.networks.estimator import NetworkClassifier
    from voile.privacy.clients.agent import ClientAgent
    from voile.privacy.clients.channel import Channel, LocalChannel, Silence

# Loaded on first use: networks need torch, which the rest does without.
_HOMES = {
    "Channel": "voile.privacy.clients.channel",
    "ClientAgent": "voile.privacy.clients.agent",
    "FedAvgClassifier": "voile.federated.fedavg.estimator",
    "Federation": "voile.federated.federation",
    "LocalChannel": "voile.privacy.clients.channel",
    "NetworkClassifier": "voile.models.networks.estimator",
    "Silence": "voile.privacy.clients.channel",
    "learn_questions": "voile.federated.vocabulary",
    "split_dirichlet": "voile.federated.partition",
    "split_iid": "voile.federated.partition",
    "split_sizes": "voile.federated.partition",
}

__all__ = [
    "Channel",
    "ClientAgent",
    "FedAvgClassifier",
    "Federation",
    "LocalChannel",
    "NetworkClassifier",
    "Silence",
    "learn_questions",
    "split_dirichlet",
    "split_iid",
    "split_sizes",
]


__getattr__ = load_later(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__
