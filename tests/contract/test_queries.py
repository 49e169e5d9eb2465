"""No row moves a sum further than its query says: every query, both relations, exact integers."""

import dataclasses
import importlib
import inspect
import math
import pkgutil
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.errors import SchemaError, SettingError
from voile.privacy import queries
from voile.privacy.budget import Relation
from voile.privacy.discovery import LogCells, TreeCells
from voile.privacy.queries import (
    CategoryCounts,
    NumberCounts,
    Query,
    RowCount,
    Together,
)
from voile.privacy.query_kernels import clipped_total
from voile.privacy.sources.table import TableSource
from voile.schema import Category, Number, Schema

ROUNDING = Fraction(1, 10**12)
SCHEMA = Schema({"n": Number(-2, 3), "u": Number(), "c": Category(["a", "b", 1])})

WILD = [0.0, -0.0, 5e-324, -1e-310, 1e-170, -1e-154, 1e-9, 0.1, -0.3, 1.0, 3.7, -1e3, 1e12]
WILD += [-1e30, 1e153, 1.3e154, -1e160, 1e308, math.inf, -math.inf, math.nan]


# -- tables and their neighbours -------------------------------------------------------------------

numbers = st.one_of(
    st.sampled_from([None, "x", "", " 2 ", True, 10**400, -(10**30), [1], b"1", *WILD]),
    st.floats(-3, 4),
    st.floats(),
)
levels = st.sampled_from(["a", "b", 1, True, 1.0, None, math.nan, "", "zzz", 7, [], object(), b"a"])
rows = st.tuples(numbers, numbers, levels)
tables = st.lists(rows, max_size=6)
grids = st.integers(-60, 10).map(lambda power: 2.0**power)


def source_of(table):
    names = list(SCHEMA)
    return TableSource(
        {name: [row[i] for row in table] for i, name in enumerate(names)}, None, SCHEMA
    )


def total_of(table, query, grid):
    return [int(value) for value in source_of(table).total(query, grid)]


def wrapped(number):
    """As 64 bits hold it; noise is added in the same arithmetic."""
    return (number + 2**63) % 2**64 - 2**63


def moves(before, after):
    return [wrapped(b - a) for a, b in zip(before, after, strict=True)]


def assert_within(difference, query, relation, grid):
    units = 1 / Fraction(grid)
    allowed = Fraction(query.sensitivity(relation)) * units * (1 + ROUNDING)
    assert sum(d * d for d in difference) <= allowed**2
    allowed = Fraction(query.sensitivity_l1(relation)) * units * (1 + ROUNDING)
    assert sum(abs(d) for d in difference) <= allowed
    allowed = Fraction(query.sensitivity_max(relation)) * units * (1 + ROUNDING)
    assert max(abs(d) for d in difference) <= allowed


def assert_neighbours_are_close(query, table, row, other, grid):
    without = total_of(table, query, grid)
    with_row, with_other = (total_of([*table, r], query, grid) for r in (row, other))
    assert_within(moves(without, with_row), query, Relation.ADD_REMOVE, grid)
    assert_within(moves(without, with_other), query, Relation.ADD_REMOVE, grid)
    assert_within(moves(with_row, with_other), query, Relation.REPLACE_ONE, grid)


# -- every query there is --------------------------------------------------------------------------

intervals = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).filter(
    lambda pair: pair[0] < pair[1]
)
simple = {
    RowCount: st.just(RowCount()),
    CategoryCounts: st.just(CategoryCounts("c", 3)),
    NumberCounts: st.builds(
        NumberCounts,
        st.sampled_from(["n", "u"]),
        st.lists(st.floats(allow_nan=False), max_size=5, unique=True).map(sorted).map(tuple),
    ),
    LogCells: st.builds(LogCells, st.sampled_from(["n", "u"])),
    TreeCells: st.builds(
        lambda column, pair: TreeCells(column, *pair),
        st.sampled_from(["n", "u"]),
        st.one_of(st.just((-2.0, 3.0)), st.just((0.0, 5e-324)), intervals),
    ),
}
strategies = {
    **simple,
    Together: st.lists(st.one_of(*simple.values()), min_size=1, max_size=3).map(
        lambda parts: Together(tuple(parts))
    ),
}
"""How to draw an instance of each query over SCHEMA. A new query needs a line here."""


def all_modules():
    for found in pkgutil.walk_packages(voile.__path__, "voile."):
        if found.name.endswith("__main__"):
            continue  # importing it runs the command
        try:
            importlib.import_module(found.name)
        except ImportError as error:
            if (error.name or "").startswith("voile"):
                raise  # only what belongs to an optional package may be left out


def concrete_queries():
    all_modules()
    found, waiting = set(), [Query]
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if not inspect.isabstract(cls) and cls.__module__.startswith("voile."):
            found.add(cls)
    return found


def test_every_query_has_a_strategy_here():
    missing = {cls.__qualname__ for cls in concrete_queries() - set(strategies)}
    assert not missing, f"give {missing} a strategy in this file, so that their bounds are tested"


@pytest.mark.parametrize("cls", strategies, ids=lambda cls: cls.__name__)
def test_no_row_moves_a_sum_by_more_than_the_sensitivity(cls):
    @settings(max_examples=60)
    @given(strategies[cls], tables, rows, rows, grids)
    def check(query, table, row, other, grid):
        assert type(query) is cls
        assert_neighbours_are_close(query, table, row, other, grid)

    check()


def cut(share, bound, grid):
    """Clip and cut one row's share, in exact arithmetic."""
    exact = [Fraction(float(value)) for value in share]
    square = sum(value * value for value in exact)
    assert square <= Fraction(bound) ** 2 * (1 + ROUNDING), (
        "counts are within the bound as they are"
    )
    return [math.trunc(value / Fraction(grid)) for value in exact]


@pytest.mark.parametrize("cls", simple, ids=lambda cls: cls.__name__)
def test_kernels_add_up_the_shares(cls):
    @settings(max_examples=40)
    @given(simple[cls], st.lists(rows, min_size=1, max_size=4), grids)
    def check(query, table, grid):
        (block,) = source_of(table).blocks(query.columns)
        parts = [cut(share, query.bound, grid) for share in query.shares(block)]
        expected = [wrapped(sum(column)) for column in zip(*parts, strict=True)]
        assert total_of(table, query, grid) == expected

    check()


@settings(max_examples=30)
@given(strategies[Together], tables, grids)
def test_together_is_the_parts_end_to_end(query, table, grid):
    parts = [value for part in query.parts for value in total_of(table, part, grid)]
    assert total_of(table, query, grid) == parts
    assert [v for part in query.split(np.array(parts)) for v in part] == parts


# -- the default path: any shares, clipped ---------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Looked(Query):
    """Shares looked up by the number in the row: as wild as a test likes."""

    wild: np.ndarray
    bound: float
    signed: bool = True
    columns = ("u",)

    @property
    def size(self):
        return self.wild.shape[1]

    def shares(self, block):
        return self.wild[block["u"].astype(np.int64)]


def expected_units(share, bound, grid, signed):
    """The documented rule in Python floats, one operation after the other."""
    share = [0.0 if value < 0 and not signed else value for value in map(float, share)]
    square = 0.0
    for value in share:
        square += value * value
    if not math.isfinite(square):
        return [0] * len(share)
    limit = bound * (1.0 - (len(share) + 16) * 2.3e-16)
    norm = math.sqrt(square)
    scale = 1.0 if norm <= limit else limit / norm
    most = 2**63 - 1024
    return [max(-most, min(most, int(value * scale * (1.0 / grid)))) for value in share]


def wild_matrix(seed, size):
    generator = np.random.default_rng(seed)
    pool = WILD if seed % 2 else [v for v in WILD if abs(v) < 1e150]
    matrix = generator.choice(pool, (4, size)) * generator.choice([1.0, 0.7, -1.1], (4, size))
    if size > 10:  # one wild entry must not always hide all the others
        matrix[:2, 5:] = generator.normal(size=(2, size - 5))
    return matrix


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("signed", [True, False])
def test_any_share_is_clipped_to_the_bound(size, signed):
    @settings(max_examples=60 if size < 1000 else 25)
    @given(st.integers(0, 10**6), st.sampled_from([1e-140, 1e-9, 0.7, 1.0, 55.5, 1e140]), grids)
    def check(seed, bound, grid):
        query = Looked(wild_matrix(seed, size), bound, signed)
        parts = [total_of([(0, i, "a")], query, grid) for i in range(4)]
        for share, part in zip(query.wild, parts, strict=True):
            assert part == expected_units(share, bound, grid, signed)
            # Without any tolerance: the clip aims below the bound by more than its rounding error.
            assert sum(v * v for v in part) <= (Fraction(bound) / Fraction(grid)) ** 2
            assert signed or min(part) >= 0
        whole = [wrapped(sum(column)) for column in zip(*parts, strict=True)]
        assert total_of([(0, i, "a") for i in range(4)], query, grid) == whole
        assert_neighbours_are_close(query, [(0, 0, "a")], (0, 1, "a"), (0, 2, "a"), grid)

    check()


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_shares_just_above_the_bound_are_cut_below_it(size):
    generator = np.random.default_rng(size)
    for excess in (1.0, 1 + 1e-16 * size, 1 + 1e-15 * size, 1.5):
        shares = generator.normal(size=(1, size))
        shares *= excess / np.linalg.norm(shares)
        part = clipped_total(shares, 1.0, 2.0**-58)
        assert sum(int(v) ** 2 for v in part) <= Fraction(2) ** 116


def test_a_bound_whose_squares_vanish_is_refused():
    # 1e-170 squared is zero: its norm would look like nothing, however small the bound.
    for bound in (1e-200, 0.0, -1.0, 1e160, math.inf, math.nan):
        with pytest.raises(SettingError, match="rescale"):
            clipped_total(np.array([[1e-170]]), bound, 2.0**-60)


def test_pieces_of_a_block_add_up_to_the_block(monkeypatch):
    wild = np.random.default_rng(0).normal(size=(50, 3))
    query, table = Looked(wild, 0.8), [(0, i, "a") for i in range(50)]
    whole = total_of(table, query, 2.0**-40)
    monkeypatch.setattr(queries, "_DENSE", 21)
    assert total_of(table, query, 2.0**-40) == whole


# -- the checks above would notice -----------------------------------------------------------------


class MissingInOneCell(TreeCells):
    """The mistake of counting a missing value three times in the same cell."""

    def cells(self, block):
        nodes = super().cells(block)
        return [np.where(cells >= self.size - 3, self.size - 1, cells) for cells in nodes]


class Unclipped(Looked):
    def total(self, block, grid):
        return (np.nan_to_num(self.shares(block)) / grid).astype(np.int64).sum(axis=0)


class HalfTheBound(NumberCounts):
    def sensitivity(self, relation):
        return super().sensitivity(relation) * 0.999999

    def sensitivity_l1(self, relation):
        return super().sensitivity_l1(relation)


class SaysUnsigned(Unclipped):
    """Negative shares under the smaller bound of those that have none."""

    signed = False


@pytest.mark.parametrize(
    ("query", "row", "other"),
    [
        (MissingInOneCell("n", -2.0, 3.0), (None, 0, "a"), (1.0, 0, "a")),
        (Unclipped(np.array([[1.0], [1.1]]), 1.0), (0, 1, "a"), (0, 0, "a")),
        (HalfTheBound("n", (0.0,)), (1.0, 0, "a"), (-1.0, 0, "a")),
        (SaysUnsigned(np.array([[1.0], [-1.0]]), 1.0, False), (0, 0, "a"), (0, 1, "a")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wrong_bound_is_caught(query, row, other):
    with pytest.raises(AssertionError):
        assert_neighbours_are_close(query, [], row, other, 2.0**-20)


# -- what a query may not do -----------------------------------------------------------------------


class Misshapen(Looked):
    size = 3


class TwicePerRow(Looked):
    def shares(self, block):
        return np.repeat(super().shares(block), 2, axis=0)


class OneTooMany(RowCount):
    def cells(self, block):
        return [*super().cells(block), *super().cells(block)]


class RowsTwice(RowCount):
    def cells(self, block):
        return [np.zeros(2 * block.rows, dtype=np.int64)]


@pytest.mark.parametrize(
    "query",
    [Misshapen(np.ones((1, 1)), 1.0), TwicePerRow(np.ones((1, 1)), 1.0), OneTooMany(), RowsTwice()],
    ids=lambda query: type(query).__name__,
)
def test_shares_of_another_shape_are_refused(query):
    with pytest.raises(SettingError, match="shape"):
        total_of([(0, 0, "a")], query, 1.0)


def test_a_query_on_a_column_of_another_kind_says_nothing_of_the_rows():
    source = TableSource({"a": ["secret"]}, None, Schema({"a": Category()}))
    for query in (CategoryCounts("a", 2), NumberCounts("a", (0.0,))):
        with pytest.raises(SettingError) as caught:
            source.total(query, 1.0)
        assert "secret" not in str(caught.value)


def test_more_levels_in_the_schema_than_in_the_query_is_no_error_that_depends_on_rows():
    for values in (["a", "b"], ["b", 1], [None, None]):
        source = TableSource({"c": values}, None, Schema({"c": Category(["a", "b", 1])}))
        assert source.total(CategoryCounts("c", 1), 1.0).sum() == 2


@pytest.mark.parametrize("values", [[], [1.0]])
def test_unknown_columns_are_refused_with_and_without_rows(values):
    source = TableSource({"a": values}, None, Schema({"a": Number(0, 1)}))
    for query in (CategoryCounts("b", 2), NumberCounts("\0target", (0.0,))):
        with pytest.raises(SchemaError):
            source.total(query, 1.0)


def test_cuts_must_increase():
    with pytest.raises(SettingError, match="increase"):
        NumberCounts("a", (1.0, 1.0))


def test_a_bad_bound_is_refused_however_many_rows_there_are():
    class Vast(queries.RowCount):
        bound = 1e200

    messages = set()
    for rows in ([], [1.0]):
        source = TableSource({"a": rows}, None, Schema({"a": Number(0, 1)}))
        with pytest.raises(SettingError) as caught:
            source.total(Vast(), 1.0)
        messages.add(str(caught.value))
    assert len(messages) == 1
