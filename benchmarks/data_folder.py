"""The folder of public sets that benchmarks read.

It is the one that ``VOILE_DATA`` names; when unset, ``../shared/data`` beside the checkout. Run
``python benchmarks/data_folder.py`` to see what it holds. Files are those of `voile.datasets`, but
only here: a benchmark must not run on another copy by chance.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from voile import datasets


def folder() -> Path:
    """Where the public sets are."""
    given = os.environ.get("VOILE_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


def path_of(file: str) -> Path:
    """A file of the folder.

    Raises
    ------
    FileNotFoundError
        If it is not there; the message names the remedy.
    """
    path = folder() / file
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: set VOILE_DATA to the folder that has it")
    return path


def read(name: str) -> pd.DataFrame:
    """A table with all of its columns."""
    return pd.read_parquet(path_of(f"{name}.parquet"))


def read_pictures(name: str) -> dict[str, NDArray]:
    """The arrays of a set of pictures."""
    with np.load(path_of(f"{name}.npz")) as file:
        return dict(file)


def main() -> int:
    print(f"{folder()} ({'there' if folder().is_dir() else 'missing'})")
    for name in datasets.names():
        facts = datasets.describe(name)
        files = [folder() / f"{name}.{ending}" for ending in ("parquet", "npz")]
        if any(file.exists() for file in files):
            print(f"{name:<15}{facts.rows:>8,} rows x {facts.features:<6,}{facts.title}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
