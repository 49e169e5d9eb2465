"""Options of the two commands, the app's configuration they make, and the summary at the end."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from loopback import APP, ExampleError


def add_options(parser: argparse.ArgumentParser, *, clients: int, rounds: int) -> None:
    """What both commands take."""
    parser.add_argument("--clients", type=int, default=clients, help=f"default {clients}")
    parser.add_argument("--model", choices=("ebm", "maps", "lvq"), default="ebm")
    parser.add_argument("--data", choices=("income", "digits"), default="income")
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument(
        "--rounds", type=int, default=rounds, help="of the model; 0: its own choice"
    )
    parser.add_argument("--partition", choices=("iid", "dirichlet"), default="dirichlet")
    parser.add_argument("--alpha", type=float, default=0.3, help="of the uneven partition")
    parser.add_argument("--trust", choices=("aggregator", "shares", "nobody"), default="aggregator")
    parser.add_argument("--output", type=Path, default=Path("federated-output"))


def app_config(options: argparse.Namespace, **own: object) -> dict[str, object]:
    """The app's settings as ``flwr run -c`` takes them."""
    options.output = options.output.resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    for old in ("result.json", "journal.jsonl", "server-ledger.db"):
        # The rows are made up, so each rehearsal may begin with an empty ledger.
        (options.output / old).unlink(missing_ok=True)
    names = ("clients", "model", "data", "epsilon", "rounds", "partition", "alpha", "trust")
    config = {name: getattr(options, name) for name in names}
    config["rounds-of-model"] = config.pop("rounds")
    config["client-epsilon"] = 2 * options.epsilon
    config["dropouts"] = 1 if options.clients > 2 else 0
    return {**config, "output": str(options.output), **own}


def read_config(changes: Mapping[str, object]) -> dict[str, object]:
    """The app's whole configuration: its pyproject.toml, with changes."""
    text = (APP / "pyproject.toml").read_text(encoding="utf-8")
    usual: dict[str, object] = tomllib.loads(text)["tool"]["flwr"]["app"]["config"]
    return {**usual, **changes}


def show_results(output: Path, seconds: float) -> None:
    """What the server wrote down."""
    path = output / "result.json"
    if not path.exists():
        raise ExampleError(f"The run left no result in {output}.")
    result = json.loads(path.read_text(encoding="utf-8"))
    print((output / "receipt.txt").read_text(encoding="utf-8"))
    print()
    print(f"Clients    {', '.join(result['clients'])}")
    print(
        f"Accuracy   {result['accuracy']:.1%} on rows it never saw "
        f"(always the commonest class: {result['accuracy_of_the_commonest_class']:.1%})"
    )
    megabytes = (result["bytes_sent"] + result["bytes_received"]) / 1e6
    print(f"Traffic    {result['questions']} questions, {megabytes:.2f} MB")
    for one in result["incidents"]:
        print(f"Incident   {one['client']} at {one['at']}: {one['reason']}")
    print(f"Time       {seconds:.0f} s from start to end")
    print(f"Results    {output} (model.json, model.html, receipt.json)")
