"""Flower's processes on this machine alone: started, watched, and ended whatever happens."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

HOST = "127.0.0.1"
CONNECTION = "loopback"
APP = Path(__file__).resolve().parent
_PAUSE = 2.0
"""Seconds before a process that has ended is started again."""


class ExampleError(RuntimeError):
    """The example cannot go on; the message says where to look."""


class Loopback:
    """Processes with their logs in one folder; leaving the ``with`` block ends them all.

    Parameters
    ----------
    folder : path
        Gets logs, Flower's own files and, in a deployment, keys and certificates.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.logs = folder / "logs"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._kept: dict[str, Callable[[], object]] = {}
        self._ended: dict[str, float] = {}
        self._files: list[IO[bytes]] = []
        self.logs.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # -- processes ----------------------------------------------------------------------------

    def environment(self, owner: str = "user") -> dict[str, str]:
        """For a process of one owner; Flower keeps its files apart for each."""
        home = self.folder / "flower" / owner
        home.mkdir(parents=True, exist_ok=True)
        found = dict(os.environ)
        found.update(
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{found.get('PATH', '')}",
            FLWR_HOME=str(home),
            FLWR_TELEMETRY_ENABLED="0",
            FLWR_DISABLE_UPDATE_CHECK="1",
            FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION="1",
            FLWR_SUPEREXEC_TASK_POLL_INTERVAL="0.1",
            RAY_USAGE_STATS_ENABLED="0",
            OMP_NUM_THREADS="1",
            OPENBLAS_NUM_THREADS="1",
            PYTHONUNBUFFERED="1",
        )
        return found

    def start(
        self, name: str, command: Sequence[str | Path], owner: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own, so that all it starts ends with it."""
        log = (self.logs / f"{name}.log").open("ab")
        self._files.append(log)
        process = subprocess.Popen(
            [str(part) for part in command],
            env=self.environment(owner or name),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.processes[name] = process
        return process

    def kill(self, name: str) -> None:
        """End a process and all it started, at once and without a goodbye."""
        process = self.processes.pop(name)
        _signal(process, signal.SIGKILL)
        process.wait()

    def keep(self, name: str, start: Callable[[], object]) -> None:
        """Start a process, and again whenever it has ended, as a service manager does."""
        self._kept[name] = start
        start()

    def _look_after(self) -> None:
        for name, start in self._kept.items():
            if self.processes[name].poll() is None:
                continue
            since = self._ended.setdefault(name, time.monotonic())
            if time.monotonic() - since >= _PAUSE:
                del self._ended[name]
                self.kill(name)  # what it left behind
                start()

    def stop(self) -> None:
        """End everything: kindly first, then not."""
        self._kept.clear()
        for process in self.processes.values():
            _signal(process, signal.SIGTERM)
        end = time.monotonic() + 10
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(end - time.monotonic(), 0.01))
            _signal(process, signal.SIGKILL)  # also what the process left behind
            process.wait()
        self.processes.clear()
        for file in self._files:
            file.close()
        self._files.clear()

    # -- Flower's command ---------------------------------------------------------------------

    def connect(self, port: int, certificate: Path | None) -> None:
        """Tell the ``flwr`` command where the SuperLink is."""
        how = "insecure = true" if certificate is None else f'root-certificates = "{certificate}"'
        text = (
            f'[superlink]\ndefault = "{CONNECTION}"\n\n'
            f'[superlink.{CONNECTION}]\naddress = "{HOST}:{port}"\n{how}\n'
        )
        path = Path(self.environment()["FLWR_HOME"]) / "config.toml"
        path.write_text(text, encoding="utf-8")

    def flwr(self, *words: str | Path) -> str:
        """Run the ``flwr`` command and return what it prints."""
        done = subprocess.run(
            ["flwr", *map(str, words)],
            env=self.environment(),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise ExampleError(f"flwr {words[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def run_app(self, config: Mapping[str, object], *more: str) -> None:
        """Submit the app; what the server prints goes to the log "run"."""
        words = [word for key, value in config.items() for word in ("-c", f"{key}={toml(value)}")]
        self.start("run", ["flwr", "run", APP, CONNECTION, *words, *more, "--stream"], "user")

    def finish(self, seconds: float) -> None:
        """Wait until the run has ended well."""
        run = self.processes["run"]
        self.wait_until(lambda: run.poll() is not None, seconds, "the run to end")
        found = self.flwr("ls", CONNECTION, "--format", "json")
        status = str(json.loads(found[found.index("{") :])["runs"][0]["status"])
        if status != "finished:completed":
            last = "\n".join(self.log_of("run").splitlines()[-15:])
            raise ExampleError(f"The run ended as {status!r}:\n{last}\nLogs: {self.logs}")

    def wait_until(self, what: Callable[[], bool], seconds: float, words: str) -> None:
        """Wait for something that the processes bring about."""
        end = time.monotonic() + seconds
        while not what():
            self._look_after()
            if time.monotonic() > end:
                raise ExampleError(f"Waited {seconds:g} s for {words}: look into {self.logs}.")
            time.sleep(0.1)

    def log_of(self, name: str) -> str:
        """What a process has printed so far."""
        return (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((HOST, port), 1).close()
    except OSError:
        return False
    return True


def toml(value: object) -> str:
    """A value as Flower's command reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(str(value)) if isinstance(value, str | Path) else repr(value)


def _signal(process: subprocess.Popen[bytes], what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, what)
