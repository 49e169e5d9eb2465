"""The server: asks all hospitals for noised sums, trains, and writes down what came out."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voile import EBMClassifier, GLVQClassifier, Ledger, LocallyLinearClassifier
from voile.federated.federation import Federation
from voile.federated.flower.server import server_app
from voile.privacy.budget import Budget
from voile_federated.tables import make_rows, schema_of

if TYPE_CHECKING:
    from flwr.app import Context

    from voile.privacy.clients.channel import Channel

MODELS: dict[str, Any] = {
    "ebm": EBMClassifier,
    "maps": LocallyLinearClassifier,
    "lvq": GLVQClassifier,
}
ROUNDS = {"ebm": "rounds", "maps": "steps"}
"""What a model calls its rounds; LVQ needs few and chooses them itself."""


def train(channel: Channel, context: Context) -> None:
    """Train the model that the configuration names, over all clients."""
    config = context.run_config
    if config["model"] not in MODELS:
        raise ValueError(f"model is {config['model']!r}: it can be one of {sorted(MODELS)}.")
    usual = Path(tempfile.gettempdir()) / f"voile-federated-{context.run_id}"
    output = Path(str(config["output"]) or usual)
    output.mkdir(parents=True, exist_ok=True)
    print(f"Clients: {', '.join(channel.clients)}", flush=True)

    budget = Budget(float(str(config["epsilon"])), float(str(config["delta"])))
    ledger = Ledger(output / "server-ledger.db", budget, dataset=f"run {context.run_id}")
    trust: Any = config["trust"]
    federation = Federation(
        channel,
        schema_of(config),
        trust=trust,
        dropouts=int(str(config["dropouts"])),
        colluders=int(str(config["colluders"])),
        journal=output / "journal.jsonl",
        retries=0,
    )
    name, rounds = str(config["model"]), int(str(config["rounds-of-model"]))
    model = MODELS[name](epsilon=budget.epsilon, delta=budget.delta, ledger=ledger)
    if rounds and name in ROUNDS:
        model.set_params(**{ROUNDS[name]: rounds})
    if config["data"] == "digits" and name != "ebm":
        model.set_params(image_shape=(8, 8))
    model.fit_federated(federation)
    _write_down(model, federation, make_rows(config)[1], output)


def _write_down(model: Any, federation: Federation, public: Any, output: Path) -> None:
    guessed = np.asarray(model.predict(public.columns))
    accuracy = float(np.mean(guessed == public.target))
    base = max(float(np.mean(public.target == one)) for one in set(public.target.tolist()))
    model.save(output / "model.json")
    (output / "receipt.txt").write_text(str(model.receipt_), encoding="utf-8")
    (output / "receipt.json").write_text(model.receipt_.to_json(), encoding="utf-8")
    model.explain_global().to_html(output / "model.html")
    traffic = federation.traffic
    result = {
        "clients": list(federation.terms.clients),
        "accuracy": accuracy,
        "accuracy_of_the_commonest_class": base,
        "questions": traffic.questions,
        "bytes_sent": traffic.sent,
        "bytes_received": traffic.received,
        "seconds": traffic.seconds,
        "incidents": [vars(one) for one in federation.incidents],
    }
    (output / "result.json").write_text(json.dumps(result, indent=2), encoding="utf-8")
    print(model.receipt_)
    print(
        f"\n{type(model).__name__}: {accuracy:.1%} right on rows it never saw (always the "
        f"commonest class: {base:.1%}); {traffic.questions} questions, "
        f"{(traffic.sent + traffic.received) / 1e6:.2f} MB, {traffic.seconds:.0f} s."
    )
    for one in federation.incidents:
        print(f"Incident: {one.client} at {one.at}: {one.reason}")
    print(f"Results: {output.resolve()} (model.json, model.html, receipt.json)", flush=True)


app = server_app(train)
