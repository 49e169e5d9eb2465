"""Several pretended hospitals in one process, by Flower's simulation, with one command.

    python examples/federated/simulation.py
    python examples/federated/simulation.py --model maps --data digits --epsilon 8 --clients 10

The same app as `flwr run examples/federated`; this command also starts and ends what Flower needs,
works without the internet, and leaves nothing behind but the results.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback import HOST, ExampleError, Loopback, answers, free_port
from settings import add_options, app_config, show_results


def main() -> int:
    """Start a SuperLink for simulations, train, show what came out, end it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    add_options(parser, clients=4, rounds=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="voile-simulation-"))
    start = time.monotonic()
    config = app_config(options, agent="here")
    # One process for all clients: two would each have a agent for the same client.
    processors = os.cpu_count() or 1
    pretend = f"num-supernodes={options.clients} client-resources-num-cpus={processors}"
    print(f"Logs: {folder / 'logs'}")
    try:
        with Loopback(folder) as place:
            port = free_port()
            place.start(
                "superlink",
                [
                    "flower-superlink", "--insecure", "--simulation",
                    "--host", HOST, "--port", str(port),
                    "--disable-runtime-dependency-installation",
                ],
            )  # fmt: skip
            place.wait_until(lambda: answers(port), 60, "the SuperLink")
            place.connect(port, None)
            place.run_app(config, "--federation-config", pretend)
            print(f"Training with {options.clients} pretended clients")
            place.finish(600)
            show_results(options.output, time.monotonic() - start)
    except ExampleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
