"""The folder of public sets that benchmarks read.

It is the one that ``VOILE_DATA`` names; when unset, ``../shared/data`` beside the checkout. Run
``python benchmarks/kit/data_folder.py`` to see what it holds. Files are those of `voile.datasets`,
but only here: a benchmark must not run on another copy by chance.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are a package

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.kit.script import note
from voile import datasets

T = TypeVar("T")


def folder() -> Path:
    """Where the public sets are."""
    given = os.environ.get("VOILE_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[3] / "shared/data"


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


def load_all(load: Callable[[str], T], names: Iterable[str]) -> Iterator[T]:
    """The sets that can be had, one after the other; says which were skipped."""
    for name in names:
        try:
            yield load(name)
        except FileNotFoundError as error:
            note(f"skipped {name}: {error}")


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
