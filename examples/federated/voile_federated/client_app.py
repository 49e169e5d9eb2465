"""One hospital: its rows, its own ledger, and a agent that answers what was paid for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from voile.federated.flower.client import client_app, name_of

if TYPE_CHECKING:
    from flwr.app import Context

    from voile.privacy.clients.agent import ClientAgent


def open_agent(context: Context) -> ClientAgent:
    """The client's table and ledger, from the node's configuration or made up.

    ``--node-config`` may have ``rows`` (a Parquet file with the schema's columns and "target") and
    ``folder`` (where the client's ledger and memory are kept from one job to the next).
    """
    # Here, since Flower reads this module anew for each message, and most only pass through.
    from voile import Budget, Ledger, protect
    from voile.federated.vocabulary import learn_questions
    from voile.privacy.clients.agent import ClientAgent
    from voile_federated.tables import TARGET, deal_out, make_rows, schema_of

    learn_questions()
    config, node, name = context.run_config, context.node_config, name_of(context)
    schema = schema_of(config)
    if "rows" in node:
        table = protect(str(node["rows"]), TARGET, schema=schema)
    else:
        clients, number = int(str(config["clients"])), int(str(node["partition-id"]))
        rows = deal_out(make_rows(config)[0], clients, config)[number]
        table = protect(rows.columns, rows.target, schema=schema)
    usual = Path(tempfile.gettempdir()) / f"voile-federated-{context.run_id}" / name
    folder = Path(str(node.get("folder", usual)))
    folder.mkdir(parents=True, exist_ok=True)
    budget = Budget(float(str(config["client-epsilon"])), 2 * float(str(config["delta"])))
    ledger = Ledger(folder / "ledger.db", budget, dataset=name)
    return ClientAgent(table, ledger, name=name, memory=folder / "memory.json")


app = client_app(open_agent)
