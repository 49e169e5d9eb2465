"""A rehearsal of the real thing on one machine: TLS, authenticated SuperNodes, one command.

    python examples/federated/deployment.py
    python examples/federated/deployment.py --trust shares --kill
    python examples/federated/deployment.py --trouble

Each pretended hospital has its own rows, keys, ledger and processes. They talk over the loopback
interface alone; everything is ended at the end, also after an error.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from certificates import make_node_files, make_server_files
from loopback import CONNECTION, HOST, ExampleError, Loopback, answers, free_port
from settings import add_options, app_config, read_config, show_results
from trouble import DROPOUTS, Trouble, show_accounts

SITES = ("north", "east", "south", "west", "centre", "coast", "hills", "island")


class Deployment(Loopback):
    """A SuperLink with TLS that knows its SuperNodes by their keys.

    Parameters
    ----------
    folder : path
    sites : sequence of str
        Names of the hospitals.
    """

    def __init__(self, folder: Path, sites: Sequence[str]) -> None:
        super().__init__(folder)
        self.sites, self.port = tuple(sites), free_port()
        self.server = make_server_files(folder / "keys")
        self.nodes = {name: make_node_files(folder / "keys", name) for name in sites}

    def start_superlink(self) -> None:
        """The SuperLink, and the public keys of those who may take part."""
        self.start(
            "superlink",
            [
                "flower-superlink", "--host", HOST, "--port", str(self.port),
                "--ssl-ca-certfile", self.server.authority,
                "--ssl-certfile", self.server.certificate,
                "--ssl-keyfile", self.server.key,
                "--enable-supernode-auth",
                "--disable-runtime-dependency-installation",
            ],
        )  # fmt: skip
        self.wait_until(lambda: answers(self.port), 60, "the SuperLink")
        self.connect(self.port, self.server.authority)
        with ThreadPoolExecutor() as pool:  # each is a command that takes a second or two
            list(pool.map(self._register, self.nodes))

    def _register(self, name: str) -> None:
        public = self.nodes[name].public
        self.flwr("supernode", "register", public, CONNECTION, "--name", name)

    def start_supernode(
        self, name: str, config: Mapping[str, object], key: Path | None = None, tls: bool = True
    ) -> subprocess.Popen[bytes]:
        """A hospital's SuperNode; other keys, or none at all, are for showing that they fail."""
        safety = [
            "--root-certificates", self.server.authority,
            "--auth-supernode-private-key", key or self.nodes[name].private,
        ] if tls else ["--insecure"]  # fmt: skip
        about = " ".join(f'{key}="{value}"' for key, value in config.items())
        return self.start(
            name,
            [
                "flower-supernode", *safety,
                "--superlink", f"{HOST}:{self.port}",
                "--host", HOST, "--port", str(free_port()),
                "--max-retries", "3",
                "--node-config", about,
            ],
        )  # fmt: skip

    def open_sites(self, config: Mapping[str, object]) -> None:
        """Give each hospital its own rows, and start its SuperNode."""
        for name in write_rows(self.folder / "sites", self.sites, config):
            self.open_site(name)

    def open_site(self, name: str) -> None:
        """Start a hospital's SuperNode on its rows, ledger and memory."""
        folder = self.folder / "sites" / name
        about = {"client-name": name, "rows": folder / "rows.parquet", "folder": folder}
        self.start_supernode(name, about)

    def restart(self, name: str) -> None:
        """Start a killed SuperNode again, until the SuperLink lets it in.

        A SuperLink counts a SuperNode that was killed as connected for up to a minute after its
        last sign of life, and refuses a second one with its key until then.
        """
        self.keep(name, lambda: self.open_site(name))


def write_rows(folder: Path, sites: Sequence[str], config: Mapping[str, object]) -> dict[str, Path]:
    """A Parquet file for each hospital."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from voile_federated.tables import TARGET, deal_out, make_rows

    paths = {}
    parts = deal_out(make_rows(config)[0], len(sites), config)
    for name, rows in zip(sites, parts, strict=True):
        paths[name] = folder / name / "rows.parquet"
        paths[name].parent.mkdir(parents=True)
        pq.write_table(pa.table({**rows.columns, TARGET: rows.target}), paths[name])
    return paths


def main() -> int:
    """Start everything, train, show what came out, end everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    add_options(parser, clients=3, rounds=8)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kill", action="store_true", help="kill one SuperNode in the middle")
    which.add_argument(
        "--trouble",
        action="store_true",
        help="kill one for good, kill and restart another, delay a third (shares, 5 clients)",
    )
    options = parser.parse_args()
    if options.trouble:
        options.trust, options.clients = "shares", 5
    if not 1 <= options.clients <= len(SITES):
        parser.error(f"--clients must be from 1 to {len(SITES)}")
    sites = SITES[: options.clients]
    folder = Path(tempfile.mkdtemp(prefix="voile-deployment-"))
    start = time.monotonic()
    own: dict[str, object] = {"authenticated": True, "timeout": 30.0, "agent": "resident"}
    if options.trouble:
        own["dropouts"] = DROPOUTS
    config = app_config(options, **own)
    print(f"Logs: {folder / 'logs'}")
    try:
        with Deployment(folder, sites) as place:
            place.start_superlink()
            print(f"SuperLink with TLS on {HOST}:{place.port}; {len(sites)} keys registered")
            place.open_sites(read_config(config))
            place.run_app(config)
            print(f"Training with {', '.join(sites)} (about five seconds a round)")
            if options.kill:
                victim = sites[-1]
                place.wait_until(lambda: "ROUND 6]" in place.log_of(victim), 180, "the sixth round")
                place.kill(victim)
                print(f"Killed the SuperNode of {victim}")
            if options.trouble:
                Trouble(place, *sites[2:]).make(print)
            place.finish(600)
            show_results(options.output, time.monotonic() - start)
        if options.trouble:
            show_accounts(folder / "sites", sites, options.output)
    except ExampleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
