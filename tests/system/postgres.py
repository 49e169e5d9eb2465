"""A throw-away PostgreSQL server in a temporary folder, reached by a unix socket."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import pytest

from needs import find_missing, find_postgresql


class Server:
    """Started on entry, stopped and deleted on exit; may be stopped and started in between."""

    def __init__(self) -> None:
        missing = find_missing("PostgreSQL", "psycopg")
        programs = find_postgresql()
        if missing or programs is None:
            pytest.skip(f"needs {', '.join(missing)}")
        self._programs = programs
        self._user = None
        if os.getuid() == 0:  # the server refuses to run as root
            names = {one.pw_name for one in pwd.getpwall()}
            self._user = "postgres" if "postgres" in names else "nobody"

    def __enter__(self) -> Self:
        # Not pytest's folder: the path of a unix socket has at most 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="voile-pg-", dir="/tmp"))
        if self._user is not None:
            account = pwd.getpwnam(self._user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        try:
            self._run("initdb", "-A", "trust", "-U", "voile", "-E", "UTF8", "--locale=C")
            self.start()
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        return f"postgresql://voile:s3cret@/postgres?host={self.folder}"

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=50"
        self._run("pg_ctl", "start", "-w", "-s", "-l", self.folder / "log", "-o", options)

    def stop(self, mode: str = "immediate") -> None:
        if (self.folder / "data" / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-s", "-m", mode)

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [str(self._programs / program), "-D", str(self.folder / "data"), *map(str, arguments)],
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )
