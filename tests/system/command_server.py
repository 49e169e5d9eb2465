"""Runs commands of `voile`, each in a process of its own that begins with everything loaded.

A page of the documentation has up to twenty commands, and loading the libraries takes most of the
time of each. This program loads them once, does nothing with them (so that no thread of theirs is
lost), and forks for every command that it reads from its standard input, a line of JSON each; the
exit code is a line of its standard output. Fresh processes are tried by `test_command.py`.
"""

import importlib
import json
import os
import sys
from pathlib import Path

LOADED = [
    "voile.audit",
    "voile.cli.app",
    "voile.datasets",
    "voile.explain.blackbox.explainer",
    "voile.models.ebm.estimator",
    "voile.models.lvq.estimator",
    "voile.planning",
    "voile.privacy.files.table_files",
    "voile.privacy.holdout",
    "voile.privacy.ledger",
    "voile.report.audit",
    "voile.report.model",
    "voile.report.plan",
]


def run_command(words: list[str]) -> int:
    """Fork, run one command there, and tell its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        # What the command prints is shown where errors are: our own output has exit codes alone.
        os.dup2(2, 1)
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        sys.argv = ["voile", *words]
        from voile.cli.app import main

        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(run_command(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
