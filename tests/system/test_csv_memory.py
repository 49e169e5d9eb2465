"""A table of ordinary size needs ordinary memory, also where addresses are limited."""

import os
import subprocess
import sys

import pytest

LIMIT = 1500 * 2**20
"""Bytes of addresses: libraries alone take half of them, on two cores."""

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
sys.argv = ["voile", "train", "t.csv", "--target", "ill", "--no-evaluate"]
from voile.cli.app import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_sixty_thousand_rows_need_less_than_a_gigabyte_and_a_half_of_addresses(tmp_path):
    lines = [",".join([*(f"c{j}" for j in range(12)), "ward", "ill"])]
    for i in range(60_000):
        numbers = (f"{(i * 7919 + j * 104_729) % 100_003 / 1000:.3f}" for j in range(12))
        lines.append(",".join([*numbers, "ABC"[i % 3], "yes" if i * 37 % 101 < 50 else "no"]))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    # One thread of each kind: what they take does not tell of the table.
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(limit=LIMIT)],
        cwd=tmp_path,
        env={**os.environ, **dict.fromkeys(threads, "1")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t.voile").exists()
