"""The questions that Voile's own models ask, made known to a client agent.

A agent understands only classes that were declared as sendable in its process. A client that
imports nothing but the agent would refuse the questions of every model.
"""

from __future__ import annotations

from importlib import import_module

TABLE_QUESTIONS = (
    "voile.privacy.discovery.bounds",
    "voile.privacy.discovery.tree",
    "voile.models.ebm.cyclic",
    "voile.models.ebm.grid_counts",
    "voile.models.ebm.misses",
    "voile.models.ebm.objectives",
    "voile.models.ebm.pair_cells",
    "voile.models.ebm.pairs",
    "voile.models.ebm.queries",
    "voile.models.locally_linear.inputs",
    "voile.models.locally_linear.pictures",
    "voile.models.locally_linear.projections",
    "voile.models.locally_linear.queries",
    "voile.models.pixels",
    "voile.models.lvq.metric_steps",
    "voile.models.lvq.plain",
    "voile.models.lvq.queries",
    "voile.models.lvq.space",
)
"""Modules that declare questions about tables."""

NETWORK_QUESTIONS = (
    "voile.federated.fedavg.work",
    "voile.models.networks.images",
    "voile.models.networks.queries",
)
"""Modules that declare questions of networks; they need torch."""


def learn_questions(*, networks: bool = False) -> None:
    """Make a client understand what the models ask.

    Parameters
    ----------
    networks : bool
        Also what networks ask; needs torch.
    """
    for module in TABLE_QUESTIONS + (NETWORK_QUESTIONS if networks else ()):
        import_module(module)
