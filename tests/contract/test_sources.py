"""A sum does not depend on where the rows lie: memory or disk, blocks, files, threads."""

import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from voile.errors import DataError, SchemaError, VaultError
from voile.privacy.discovery import LogCells, TreeCells
from voile.privacy.noise import fixed_noise
from voile.privacy.queries import CategoryCounts, NumberCounts, RowCount, Together
from voile.privacy.sources import parquet as parquet_module
from voile.privacy.sources import source as source_module
from voile.privacy.sources import table as table_module
from voile.privacy.sources.parquet import ParquetSource
from voile.privacy.sources.source import TARGET
from voile.privacy.sources.table import TableSource
from voile.schema import Category, Number, Schema

ROWS = 1000
BLOCK = 64
SCHEMA = Schema(
    {"n": Number(-2, 2), "u": Number(), "c": Category(["x", "y"]), "w": Category()},
    target=Category(["no", "yes"]),
)
QUERIES = [
    RowCount(),
    NumberCounts("n", (-1.0, 0.0, 0.5)),
    CategoryCounts("c", 2),
    CategoryCounts(TARGET, 2),
    LogCells("u"),
    TreeCells("n", -2.0, 2.0),
    Together((RowCount(), CategoryCounts("c", 2), NumberCounts("n", (0.0,)))),
]
GRID = 2.0**-20


def columns():
    generator = np.random.default_rng(0)
    n = generator.normal(scale=2, size=ROWS)
    n[::17] = np.nan
    u = generator.lognormal(sigma=20, size=ROWS)
    u[5], u[6] = np.inf, -np.inf
    c = generator.choice(["x", "y", "z", None], ROWS)
    w = generator.choice(["one", "two", "", None], ROWS)
    return {"n": n, "u": u, "c": c, "w": w, "y": generator.choice(["no", "yes"], ROWS)}


def arrow():
    return pa.table(
        {
            name: pa.array(list(values) if values.dtype == object else values)
            for name, values in columns().items()
        }
    )


def coded(table):
    """The same table with dictionary-encoded text."""
    for i, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.field(name).type):
            table = table.set_column(i, name, table.column(name).dictionary_encode())
    return table


def in_pandas(_):
    return TableSource(pd.DataFrame(columns()), "y", SCHEMA)


def in_polars(_):
    return TableSource(pl.from_arrow(arrow()), "y", SCHEMA)


def in_arrow(_):
    return TableSource(arrow(), "y", SCHEMA)


def in_arrow_dictionaries(_):
    return TableSource(coded(arrow()), "y", SCHEMA)


def in_mapping(_):
    own = columns()
    target = own.pop("y")
    return TableSource({name: list(values) for name, values in own.items()}, list(target), SCHEMA)


def in_array(_):
    own = columns()
    target = own.pop("y")
    array = np.empty((ROWS, 4), dtype=object)
    for i, values in enumerate(own.values()):
        array[:, i] = values
    return TableSource(array, target, SCHEMA)


def one_file(folder, **options):
    pq.write_table(arrow(), folder / "rows.parquet", **options)
    return ParquetSource(folder / "rows.parquet", "y", SCHEMA)


def small_groups(folder):
    return one_file(folder, row_group_size=BLOCK // 3)


def large_groups(folder):
    return one_file(folder, row_group_size=5 * BLOCK + 1)


def no_dictionaries(folder):
    return one_file(folder, use_dictionary=False)


def dictionary_file(folder):
    pq.write_table(coded(arrow()), folder / "rows.parquet", row_group_size=130)
    return ParquetSource(str(folder / "rows.parquet"), "y", SCHEMA)


def many_files(folder):
    """Files of different types and sizes, one of them empty, some dictionary-encoded."""
    table = arrow()
    wide = table.schema.set(2, pa.field("c", pa.large_string()))
    pq.write_table(table.slice(0, 10), folder / "a.parquet")
    pq.write_table(coded(table.slice(10, 500)), folder / "b.parquet", row_group_size=90)
    pq.write_table(table.slice(0, 0), folder / "c.parquet")
    pq.write_table(table.slice(510).cast(wide), folder / "d.parquet", row_group_size=1000)
    return ParquetSource(folder, "y", SCHEMA)


MAKERS = [in_polars, in_arrow, in_arrow_dictionaries, in_mapping, in_array]
MAKERS += [one_file, small_groups, large_groups, no_dictionaries, dictionary_file, many_files]


@pytest.fixture(params=[BLOCK, 65_536])
def block_rows(request, monkeypatch):
    set_block_rows(monkeypatch, request.param)
    return request.param


def set_block_rows(monkeypatch, rows):
    monkeypatch.setattr(table_module, "BLOCK_ROWS", rows)
    monkeypatch.setattr(parquet_module, "BLOCK_ROWS", rows)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_every_source_gives_the_same_integers(make, tmp_path, block_rows):
    source, reference = make(tmp_path), in_pandas(tmp_path)
    for query in QUERIES:
        assert source.total(query, GRID).tolist() == reference.total(query, GRID).tolist()
    assert source.tally("w") == reference.tally("w")


def test_the_reference_counts_what_is_there():
    source, own = in_pandas(None), columns()
    assert source.total(RowCount(), 1.0).tolist() == [ROWS]
    counts = source.total(CategoryCounts("c", 2), 1.0).tolist()
    values = own["c"].tolist()
    assert counts == [values.count(v) for v in ("x", "y", "z", None)]
    words = own["w"].tolist()
    assert source.tally("w") == {word: words.count(word) for word in ("one", "two", "")}
    missing = source.total(NumberCounts("n", ()), 1.0).tolist()[-1]
    assert missing == int(np.isnan(own["n"]).sum())


@pytest.mark.parametrize("workers", [1, 2, 7, None])
def test_the_number_of_threads_does_not_matter(workers, tmp_path, monkeypatch):
    set_block_rows(monkeypatch, 16)
    monkeypatch.setattr(source_module.os, "cpu_count", lambda: workers)
    monkeypatch.setattr(source_module.os, "process_cpu_count", lambda: workers, raising=False)
    for source in (in_pandas(None), many_files(tmp_path)):
        assert source.total(RowCount(), 1.0).tolist() == [ROWS]
        assert source.tally("w") == in_pandas(None).tally("w")
        whole = source.total(TreeCells("n", -2.0, 2.0), GRID)
        assert whole.tolist() == in_pandas(None).total(TreeCells("n", -2.0, 2.0), GRID).tolist()


# -- what is kept per row --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [in_pandas, dictionary_file, small_groups, many_files])
def test_kept_values_stay_with_their_rows(make, tmp_path, monkeypatch):
    set_block_rows(monkeypatch, BLOCK)
    source = make(tmp_path)

    def remember(block):
        block.kept["n"] = block["n"].copy()

    source.keep(["n"], remember)
    seen = []

    def compare(block):
        assert np.array_equal(block.kept["n"], block["n"], equal_nan=True)
        block.kept["visits"] = block.kept.get("visits", np.zeros(block.rows)) + 1
        seen.append(block.rows)

    # Whatever columns a query reads, the cuts are the same: Arrow's own batches are not.
    for names in (["n"], ["n", "c"], ["w", "n"], [TARGET, "n"]):
        source.keep(names, compare)
    assert sum(seen) == 4 * ROWS

    def count_rows(block):
        assert len(block.kept["n"]) == block.rows
        assert (block.kept["visits"] == 4).all()

    source.keep([], count_rows)


@pytest.mark.parametrize("make", [in_pandas, small_groups])
def test_another_schema_starts_with_nothing_kept(make, tmp_path):
    source = make(tmp_path)
    source.keep(["n"], lambda block: block.kept.update(n=block["n"]))
    other = source.with_schema(SCHEMA.with_column("u", Number(0, 1)))
    found = []
    other.keep(["n"], lambda block: found.append(dict(block.kept)))
    assert found == [{}]


@pytest.mark.parametrize("make", [in_pandas, one_file])
def test_jobs_on_the_same_rows_keep_apart(make, tmp_path):
    source = make(tmp_path)
    one, other = source.apart(), source.apart()
    one.keep((), lambda block: block.kept.update(bin=np.zeros(block.rows)))
    other.keep((), lambda block: block.kept.update(bin=np.ones(block.rows)))
    assert all((block.kept["bin"] == 0).all() for block in one.blocks(()))
    assert all((block.kept["bin"] == 1).all() for block in other.blocks(()))
    assert all(not block.kept for block in source.blocks(()))
    np.testing.assert_array_equal(one.total(QUERIES[2], GRID), source.total(QUERIES[2], GRID))


def test_a_chosen_part_of_a_block_keeps_copies():
    source = in_pandas(None)
    source.keep(["n"], lambda block: block.kept.update(n=block["n"].copy()))
    (block,) = source.blocks(["n"])
    mask = np.arange(ROWS) % 3 == 0
    part = block.where(mask)
    assert part.rows == mask.sum()
    assert np.array_equal(part["n"], block["n"][mask], equal_nan=True)
    part.kept["n"][:] = 99.0
    assert not (block.kept["n"] == 99.0).any()


# -- Poisson sampling ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "parquet"])
def test_poisson_sampling_takes_each_row_with_the_rate(kind, tmp_path, monkeypatch):
    set_block_rows(monkeypatch, 10_000)
    rows, cells, rate = 200_000, 20, 0.1
    values = pa.table({"n": np.arange(rows) * (cells / rows)})
    schema = Schema({"n": Number(0, cells)})
    if kind == "table":
        source = TableSource(values, None, schema)
    else:
        pq.write_table(values, tmp_path / "rows.parquet", row_group_size=7_000)
        source = ParquetSource(tmp_path / "rows.parquet", None, schema)
    query = NumberCounts("n", tuple(float(i) for i in range(1, cells)))
    with fixed_noise(5):
        first = source.total(query, 1.0, rate=rate)
        second = source.total(query, 1.0, rate=rate)
    assert first.tolist() != second.tolist()
    each = rows / cells
    spread = np.sqrt(each * rate * (1 - rate))
    for counts in (first[:-1], second[:-1]):
        errors = (counts - each * rate) / spread
        assert np.abs(errors).max() < 6
        # Independent of one another: neither always the same number nor all together.
        assert 8 < (errors**2).sum() < 60
        assert abs(errors.sum()) / np.sqrt(cells) < 6
    with fixed_noise(5):
        assert source.total(query, 1.0, rate=rate).tolist() == first.tolist()


# -- no word about values --------------------------------------------------------------------------


def test_files_of_different_types_are_read_by_their_own(tmp_path):
    """Converting to the types of the first file would name the value that does not fit."""
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int8())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": pa.array([300], pa.int64())}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"a": ["secret", "4"]}), tmp_path / "3.parquet")
    pq.write_table(pa.table({"b": [1.0]}), tmp_path / "4.parquet")
    source = ParquetSource(tmp_path, None, Schema({"a": Number(0, 10)}))
    assert source.total(NumberCounts("a", (3.0,)), 1.0).tolist() == [2, 2, 2]


def test_names_with_dots_are_names(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "a.b": [5.0]}), tmp_path / "1.parquet")
    source = ParquetSource(tmp_path, None, Schema({"a": Number(0, 9), "a.b": Number(0, 9)}))
    for name, expected in (("a", [1, 0, 0]), ("a.b", [0, 1, 0])):
        assert source.total(NumberCounts(name, (3.0,)), 1.0).tolist() == expected


def test_wrong_files_are_refused_when_they_are_given(tmp_path):
    schema = Schema({"a": Number(0, 1)})
    with pytest.raises(DataError, match="check the path"):
        ParquetSource(tmp_path / "nothing", None, schema)
    pq.write_table(pa.table({"b": [1.0]}), tmp_path / "1.parquet")
    with pytest.raises(DataError, match="no column 'a'"):
        ParquetSource(tmp_path, None, schema)
    with pytest.raises(DataError, match="name of a column"):
        ParquetSource(tmp_path, [1.0], schema.with_target(Number()))
    twice = pa.table([[1.0], [2.0]], names=["a", "a"])
    pq.write_table(twice, tmp_path / "2.parquet")
    with pytest.raises(DataError, match="more than once"):
        ParquetSource(tmp_path, None, schema)
    (tmp_path / "3.parquet").write_text("not parquet")
    with pytest.raises(DataError, match="check the path"):
        ParquetSource(tmp_path, None, schema)


@pytest.mark.parametrize("make", [in_pandas, one_file], ids=lambda make: make.__name__)
def test_a_source_tells_nothing(make, tmp_path):
    source = make(tmp_path)
    assert str(source) == repr(source) == f"<{type(source).__name__}: rows private>"
    (block,) = source.blocks(["n"])
    assert repr(block) == "<Block of private rows>"
    for thing in (source, block):
        with pytest.raises(VaultError):
            pickle.dumps(thing)


def test_a_target_that_was_not_given_cannot_be_asked_for(tmp_path):
    own = columns()
    own.pop("y")
    source = TableSource(own, None, SCHEMA)
    with pytest.raises(SchemaError, match="target"):
        source.total(CategoryCounts(TARGET, 2), 1.0)
    pq.write_table(arrow(), tmp_path / "rows.parquet")
    with pytest.raises(SchemaError, match="target"):
        ParquetSource(tmp_path / "rows.parquet", None, SCHEMA).tally(TARGET)
    with pytest.raises(DataError, match="'new'"):
        source.with_schema(SCHEMA.with_column("new", Number(0, 1)))


# -- memory ----------------------------------------------------------------------------------------

MEMORY_LIMIT = 220_000_000

MEASURE = """
    import json, sys
    import pyarrow.parquet as pq
    from voile.privacy.queries import NumberCounts, Together
    from voile.privacy.sources.parquet import ParquetSource
    from voile.schema import Number, Schema

    names = [f"x{i}" for i in range(16)]
    schema = Schema({name: Number(0, 1000) for name in names})
    query = Together(tuple(NumberCounts(name, (500.0,)) for name in names))

    def peak():  # ru_maxrss would begin at the peak of the process that started this one
        status = open("/proc/self/status").read()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    ParquetSource(sys.argv[2], None, schema).total(query, 1.0)  # imports, thread pools
    before = peak()
    total = ParquetSource(sys.argv[1], None, schema).total(query, 1.0)
    after = peak()
    whole = pq.read_table(sys.argv[1])
    print(json.dumps([after - before, peak() - after, int(total.sum())]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_holds_a_few_blocks_of_a_large_file(tmp_path):
    part = pa.table({f"x{i}": (np.arange(100_000) * (i + 1) % 1000) * 1.0 for i in range(16)})
    with pq.ParquetWriter(tmp_path / "large.parquet", part.schema) as writer:
        for _ in range(20):
            writer.write_table(part, row_group_size=100_000)
    pq.write_table(part.slice(0, 70_000), tmp_path / "small.parquet")
    files = [str(tmp_path / "large.parquet"), str(tmp_path / "small.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MEASURE), *files],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, by_whole_table, counted = json.loads(done.stdout)
    assert counted == 16 * 2_000_000
    assert grown < MEMORY_LIMIT
    assert grown + by_whole_table > MEMORY_LIMIT, "the limit would not notice a whole-table read"
