"""Seconds and memory of the EBM benchmark: what has to be measured in a process of its own.

Called by `quality.py`; what a fresh process does begins with "fit_".

How many times as fast a fit is depends on the table and on the machine. The incumbent takes 300
rounds over all columns, one column and tree at a time, of one bag, on one core: its seconds grow
with columns times rows, beside a part for the steps themselves (a third at 260,000 rows), and
hardly with its bins. Ours looks 20 times at all columns at once (26 for numbers), on all cores;
what it does between looks grows with columns and bins, and most with pairs, whose grids have many
cells, but not with rows. So the ratio grows with rows and with cores, is smaller for numbers, which
take more looks, and smaller where pairs are chosen, which the incumbent has none of.

The incumbent computes residuals with the processor's vector instructions. For classes AVX-512 makes
a fit about eight times as fast as none, and AVX2 six times, so the ratio of one machine is not that
of another: it is told without them, too. The
incumbent's own default (n_jobs=-2: all cores but one) starts a process for its one bag where there
are three cores or more, which makes it slower there and its work look like that of other programs:
here it has one job.
"""

import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.ebm import data as ebm_data
from benchmarks.ebm import peers as ebm_peers
from benchmarks.ebm import synthetic as ebm_synthetic
from benchmarks.kit.script import note
from benchmarks.kit.timing import Moment, apart, others_since, peak_megabytes

EPSILON = 1.0
ROUNDS = {"adult": 7, "big_binary": 3, "big_regression": 3}
BIG_ROWS = 260_000
SCALE_ROWS = 10_000_000
VECTORS = {"AVX2": 2, "none": 0}
"""Vector instructions that the incumbent is allowed, by the flags of interpret-core."""

ANSWERED_ROWS, FITTED_ROWS, TRIES = 1_000_000, 60_000, 3


@dataclass(frozen=True, slots=True)
class Race:
    """Fits of one table by turns.

    Attributes
    ----------
    name : str
        The table.
    rows : int
        Its rows.
    seconds : dict of str to list of float
        Per model, each timed fit; one fit before them was not counted.
    ratio : float or None
        Median of the incumbent over the median of ours: how many times as fast ours is.
    others : float or None
        How many cores other programs kept busy meanwhile.
    cores : int or None
        Of the machine: ours uses all of them, the incumbent one.
    fewer_vectors : dict of str to float
        Seconds of one fit of the incumbent where it may use AVX2 at most, and no vector
        instructions at all, relative to that of ours.
    """

    name: str
    rows: int
    seconds: dict[str, list[float]]
    ratio: float | None
    others: float | None
    cores: int | None = None
    fewer_vectors: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answers:
    """Millions of rows per CPU second that a fitted model predicts, from data frames.

    Attributes
    ----------
    rows : int
        Rows of 14 numbers that are predicted at once.
    millions : dict of str to float
        Per model, the best of some tries.
    """

    rows: int
    millions: dict[str, float]


@dataclass(frozen=True, slots=True)
class FirstFit:
    """Seconds of the first and second fit of a process, without and with compiled code on disk."""

    name: str
    empty_cache: dict[str, float]
    filled_cache: dict[str, float]
    others: float | None


def table(name: str) -> ebm_data.DataSet:
    if name.startswith("big_"):
        return ebm_data.big(BIG_ROWS, task=name.removeprefix("big_"))
    return ebm_data.load(name)


def race(name: str, entrants: tuple[ebm_peers.Entrant, ...]) -> Race:
    """Fit all rows of a table, the models taking turns after one fit each that does not count."""
    one = table(name)
    rows = np.arange(len(one.target))
    frames = {entrant.name: entrant.features(one) for entrant in entrants}
    seconds: dict[str, list[float]] = {entrant.name: [] for entrant in entrants}
    start = Moment.now()
    for turn in range(ROUNDS[name] + 1):
        for entrant in entrants:
            _, took = ebm_peers.fit(entrant, one, frames[entrant.name], rows, EPSILON)
            if turn:
                seconds[entrant.name].append(took)
    medians = {model: statistics.median(took) for model, took in seconds.items()}
    both = "ours" in medians and "incumbent" in medians
    ratio = medians["incumbent"] / medians["ours"] if both else None
    others = others_since(start)
    fewer = {}
    if both:
        took = with_fewer_vectors(one, frames["incumbent"], rows)
        fewer = {kind: seconds / medians["ours"] for kind, seconds in took.items()}
    return Race(name, len(rows), seconds, ratio, others, os.cpu_count(), fewer)


def with_fewer_vectors(
    one: ebm_data.DataSet, frame: pd.DataFrame, rows: NDArray[np.int64]
) -> dict[str, float]:
    """Seconds of a fit of the incumbent with fewer of the processor's vector instructions."""
    from interpret import develop

    usual = develop.get_option("acceleration")
    took = {}
    try:
        for kind, allowed in VECTORS.items():
            develop.set_option("acceleration", allowed)
            _, took[kind] = ebm_peers.fit(ebm_peers.INCUMBENT, one, frame, rows, EPSILON)
    finally:
        develop.set_option("acceleration", usual)
    return took


def races(entrants: tuple[ebm_peers.Entrant, ...]) -> list[Race]:
    private = tuple(entrant for entrant in entrants if entrant.private)
    found = []
    for name in ROUNDS:
        try:
            found.append(race(name, private))
        except FileNotFoundError as error:
            note(f"skipped {name}: {error}")
    return found


def answers(entrants: tuple[ebm_peers.Entrant, ...]) -> Answers:
    """Class probabilities of a large table; fitted to a part of it."""
    one = ebm_data.big(ANSWERED_ROWS, task="binary")
    few, found = np.arange(FITTED_ROWS), {}
    for entrant in entrants:
        frame = entrant.features(one)
        model, _ = ebm_peers.fit(entrant, one, frame, few, EPSILON)
        took = []
        for _ in range(TRIES + 1):
            start = time.process_time()
            model.predict_proba(frame)
            took.append(time.process_time() - start)
        found[entrant.name] = ANSWERED_ROWS / min(took[1:]) / 1e6
    return Answers(ANSWERED_ROWS, found)


def first_fit(name: str) -> FirstFit:
    """How long a user waits for the first model, compilation included."""
    start = Moment.now()
    with tempfile.TemporaryDirectory() as folder:
        empty = apart(fit_twice, name, NUMBA_CACHE_DIR=folder)
        filled = apart(fit_twice, name, NUMBA_CACHE_DIR=folder)
    return FirstFit(name, empty, filled, others_since(start))


def memory(name: str, model: str) -> float:
    """Peak megabytes of a process that reads a set and fits one model to all of it."""
    return apart(fit_for_memory, name, model)["peak_megabytes"]


def write_big(path: Path, rows: int, task: str) -> None:
    """Write a table of numbers and its target piece by piece."""
    writer = None
    for frame, target in ebm_synthetic.big_pieces(rows, task=task, dtype="float32"):
        piece = pa.Table.from_pandas(frame.assign(target=target), preserve_index=False)
        writer = writer or pq.ParquetWriter(path, piece.schema)
        writer.write_table(piece)
    if writer is not None:
        writer.close()


def scale(rows: int, task: str = "binary") -> dict[str, float | None]:
    """Fit ours to a Parquet file of many rows, in a process that never had them in memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.parquet"
        write_big(path, rows, task)
        size = path.stat().st_size / 2**20
        start = Moment.now()
        fitted = apart(fit_file, str(path), task)
        others = others_since(start)
        return {"rows": rows, "file_megabytes": size, **fitted, "others": others}


def fit_twice(name: str) -> dict[str, float]:
    one = ebm_data.load(name)
    rows = np.arange(len(one.target))
    took = [ebm_peers.fit(ebm_peers.OURS, one, one.frame, rows, EPSILON)[1] for _ in range(2)]
    return {"first_seconds": took[0], "second_seconds": took[1]}


def fit_for_memory(name: str, model: str) -> dict[str, float]:
    one, entrant = table(name), ebm_peers.ENTRANTS[model]
    before = peak_megabytes()
    rows = np.arange(len(one.target))
    _, took = ebm_peers.fit(entrant, one, entrant.features(one), rows, EPSILON)
    peak = peak_megabytes()
    return {"before_megabytes": before, "peak_megabytes": peak, "seconds": took}


def fit_file(path: str, task: str) -> dict[str, float]:
    import voile

    kind = voile.EBMClassifier if task == "binary" else voile.EBMRegressor
    schema = ebm_data.big_schema(task=task)
    before = peak_megabytes()
    start = time.perf_counter()
    kind(epsilon=EPSILON, delta=ebm_peers.DELTA, schema=schema).fit(path, "target")
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "before_megabytes": before,
        "peak_megabytes": peak_megabytes(),
    }
