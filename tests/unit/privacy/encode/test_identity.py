"""Ids: one person is one person, however the id is typed or written, and no id is an error."""

import datetime as dt
import uuid
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.odd_values import SECRET, odd_values
from voile import Number, Schema, Unit, hold_out
from voile.privacy.budget import NeighbouringRelation
from voile.privacy.encode import Identity, encode_values, loosely
from voile.privacy.encode.identity import identity_of
from voile.privacy.queries import RowCount
from voile.privacy.sources.parquet import ParquetSource
from voile.privacy.sources.table import TableSource
from voile.privacy.sources.units import UnitRows
from voile.schema.frames import adopt_column

SOME_UUID = uuid.UUID("9f0c52e4-7b1d-4c3e-a6a1-2e00d4b1c300")
WHOLE = [
    *(12, 12.0, "12", " 12 ", "12.0", "12.00", b"12", bytearray(b"12"), memoryview(b"12"), "12\n"),
    *(Decimal("12"), Decimal("12.00"), Decimal("1.2E+1"), "\ufeff12", "12\0", np.bytes_(b"12")),
    *(kind(12) for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16)),
    *(kind(12) for kind in (np.uint32, np.uint64, np.float16, np.float32, np.float64)),
    *(np.longdouble(12), np.str_("12"), np.void(b"12"), pd.Timedelta(12, "s"), "\u00a012"),
]
MOMENT = [
    *("2020-01-31", "2020-01-31 00:00:00", "2020-01-31T00:00:00Z", "2020-01-31 00:00:00+00:00"),
    *("2020-01-31t02:00:00+02:00", dt.date(2020, 1, 31), dt.datetime(2020, 1, 31)),
    *(pd.Timestamp("2020-01-31", tz="UTC"), np.datetime64("2020-01-31"), b"2020-01-31"),
    *(pd.Timestamp("2020-01-31"), np.datetime64("2020-01-31T00:00", "ns"), "2020-01-31 00:00 UTC"),
]
UNIQUE = [
    *(SOME_UUID, str(SOME_UUID), str(SOME_UUID).upper(), SOME_UUID.hex, SOME_UUID.bytes),
    *(SOME_UUID.urn, "{" + str(SOME_UUID) + "}", str(SOME_UUID).encode(), np.void(SOME_UUID.bytes)),
    np.bytes_(SOME_UUID.bytes),
]
NONE = [
    *(None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN"), "", "  "),
    *("nan", "NaN", "NA", "N/A", "None", "null", "<NA>", "NaT", b"", np.inf, -np.inf, [12], {}),
    *((12,), 12j, object(), Fraction(12), 2.0**53, float(2**60), np.float32(2**24), 10**5000),
    *(np.float16(2048), "9007199254740993.0", Decimal("1E+100000"), np.array([12]), int, 1e300),
]
PADDED = ["Jörg", "Jörg\0\0", " Jörg", "Jörg".encode(), "Jörg\0\0\0".encode(), np.str_("Jörg")]
SAME = [
    WHOLE,
    PADDED,
    MOMENT,
    UNIQUE,
    [True, "true", "TRUE", 1, np.True_, "1.0"],
    ["-7", -7, "-7.0"],
]
DOUBTFUL = [
    ["12", "0012", "012.0", "+12", "１２", "1.2e1", "'12'", '"0012', "1 2", "12\u200b", "١٢"],
    ["ab", "AB", "a b", "ａｂ", "\tAb", "a\u00adb"],
    ["Müller", "MU\u0308LLER", "müller"],
]
LARGE = [2**53, 2**53 + 1, 2**63, 10**18 + 1, 10**400, 10**31 + 7]


@pytest.mark.parametrize("alike", SAME)
def test_an_id_is_the_same_in_every_type(alike):
    assert len({identity_of(one) for one in alike} - {None}) == 1
    assert None not in [identity_of(one) for one in alike]


def test_ids_that_differ_are_told_apart():
    different = [identity_of(group[0]) for group in SAME]
    assert len(set(different)) == len(SAME)
    strict = {identity_of(one) for one in (1.5, "1.25", "ann", "bob", SOME_UUID.int, -1, "x-1")}
    assert len({loosely(one) for one in strict}) == 7


@pytest.mark.parametrize("value", NONE, ids=range(len(NONE)))
def test_what_is_missing_or_has_lost_digits_is_no_id(value):
    assert identity_of(value) is None


@pytest.mark.parametrize("alike", DOUBTFUL)
def test_spellings_in_doubt_are_alike_but_not_the_same(alike):
    strict = {identity_of(one) for one in alike}
    assert len(strict) > 1
    assert len({loosely(one) for one in strict}) == 1


@pytest.mark.parametrize("whole", LARGE, ids=range(len(LARGE)))
def test_large_ids_keep_all_digits(whole):
    texts = {identity_of(one) for one in (whole, str(whole), f" {whole} ", str(whole).encode())}
    assert len(texts) == 1
    for near in (whole - 1, whole + 1):
        assert loosely(identity_of(near)) != loosely(identity_of(whole))
    if whole < 2**64:
        assert identity_of(np.uint64(whole)) == identity_of(whole)


def containers(values):
    """The same ids in everything that can hold them."""
    yield values
    yield np.array(values, object)
    for make in (np.array, pd.array, pl.Series, pa.array):
        try:
            made = make(values)
        except Exception:  # not every library takes every mixture
            continue
        yield made
        if make is pa.array:
            yield made.dictionary_encode()
        elif make is pd.array:
            yield pd.Series(made).astype("category")


@pytest.mark.parametrize(
    "values",
    [
        *([12, 7, 12], [12.0, 7.0, 12.0], ["12", "7", "12"], [b"12", b"7", b"12"], [True, False]),
        *([SOME_UUID.bytes, b"x" * 16], [str(SOME_UUID), "ann"], [2**60 + 1, 2**60], ["a", "Ä"]),
        *([dt.date(2020, 1, 31), dt.date(2020, 2, 1)], [Decimal("12.00"), Decimal("0.50")]),
        *([dt.datetime(2020, 1, 31, 8, 30)], [1.5, 2.25], [None, "12"], [None, 12], [np.nan, 1.0]),
    ],
)
def test_every_container_gives_the_same_ids(values):
    expected = [identity_of(one) for one in values]
    for held in containers(values):
        found = encode_values(adopt_column(held, "ids"), Identity()).tolist()
        assert found == expected, type(held)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_narrow_floats_in_columns(kind):
    values = np.array([12, 12.25, 0.1, 60000, np.nan], kind)
    for held in (values, pd.Series(values), pa.array(values)):
        found = encode_values(adopt_column(held, "ids"), Identity()).tolist()
        assert found == ["12", "12.25", "0.1", "60000" if kind is np.float32 else None, None]


def test_text_that_is_none():
    broken = pa.array([b"\xff\xfe"]).cast(pa.string(), safe=False)
    as_read = b"\xff\xfe".decode(errors="surrogateescape")
    assert encode_values(adopt_column(broken, "ids"), Identity()).tolist() == ["#fffe"]
    assert identity_of(as_read) == identity_of(b"\xff\xfe") == "#fffe"
    assert identity_of("\ud800") is not None


def test_no_id_is_an_error_or_speaks(capfd):
    odd = list(odd_values().values())
    for value in odd:
        identity_of(value)
    encode_values(odd, Identity())
    assert SECRET not in "".join(capfd.readouterr())


@settings(max_examples=300)
@given(st.one_of(st.text(), st.binary(), st.integers(), st.floats(), st.decimals(), st.uuids()))
def test_forms_are_text_and_the_loose_one_follows_from_the_strict(value):
    strict = identity_of(value)
    assert strict is None or isinstance(loosely(strict), str)
    if isinstance(value, str) and strict is not None and value.isprintable():
        assert identity_of(f" {value} ") == identity_of(value.encode()) == strict
    if isinstance(value, int):
        assert identity_of(str(value)) == strict


# -- who is counted --------------------------------------------------------------------------------

PEOPLE = {
    "twelve": WHOLE[:12],
    "one or two": ["0012", "012"],
    "upper": ["AB"],
    "lower": ["ab", " ab "],
    "both": ["Cd", "cD"],
    "moment": MOMENT[:5],
    "unique": UNIQUE[:5],
    "unknown": [None, "", np.nan],
}
VISITS = st.lists(
    st.sampled_from(sorted(PEOPLE)).flatmap(
        lambda who: st.tuples(st.just(who), st.sampled_from(PEOPLE[who]))
    ),
    max_size=24,
)


def source_of(visits, most):
    rows = {"who": [one for _, one in visits], "a": [0.5] * len(visits)}
    return TableSource(rows, None, Schema({"a": Number(0, 1)}, unit=Unit("who", most)))


def rows_used(visits, most):
    """Numbers of the rows that are used."""
    places = {"who": [one for _, one in visits], "a": list(range(len(visits)))}
    schema = Schema({"a": Number(0, 1000)}, unit=Unit("who", most))
    blocks = TableSource(places, None, schema).blocks(["a"])
    return [int(row) for block in blocks for row in block["a"]]


@settings(max_examples=300, deadline=None)
@given(VISITS, st.integers(1, 4), st.sampled_from(sorted(PEOPLE)))
def test_a_person_moves_so_many_rows_whether_doubtful_ids_are_one_or_two(visits, most, person):
    """Persons with several spellings, persons alike to others, and rows of nobody."""
    without = [one for one in visits if one[0] != person]
    kept = [row for row, one in enumerate(visits) if one[0] != person]
    used = set(rows_used(visits, most))
    left = {kept[row] for row in rows_used(without, most)}
    assert len(used ^ left) <= most
    assert used <= left or left <= used  # one way: all come, or all go
    change = source_of(visits, most).total(RowCount(), 1.0) - source_of(without, most).total(
        RowCount(), 1.0
    )
    assert abs(change[0]) <= most * RowCount().sensitivity(NeighbouringRelation.ADD_REMOVE)


@given(VISITS, st.integers(1, 4))
def test_merged_or_parted_either_reading_of_a_pair_is_bounded(visits, most):
    """The pair "0012" and "012", or "Cd" and "cD", may be one person: together they go."""
    for pair in (("upper", "lower"), ("both",), ("twelve", "one or two")):
        without = [one for one in visits if one[0] not in pair]
        assert abs(len(rows_used(visits, most)) - len(rows_used(without, most))) <= most


def test_one_person_in_two_types_counts_once():
    visits = [("twelve", 12), ("twelve", "12"), ("twelve", 12.0), ("seven", 7)]
    assert rows_used(visits, 1) == [0, 3]
    assert rows_used(visits, 2) == [0, 1, 3]
    assert rows_used([("a", "AB"), ("b", "ab")], 1) == []
    assert rows_used([("a", "AB"), ("b", "ab")], 2) == [0, 1]
    assert rows_used([("unknown", None), ("unknown", "nan")], 3) == []


def test_files_of_different_types_are_about_the_same_people(tmp_path):
    pq.write_table(pa.table({"who": [12, 7], "a": [0.1, 0.2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"who": ["12", "8"], "a": [0.3, 0.4]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"who": [12.0, None], "a": [0.5, 0.6]}), tmp_path / "c.parquet")
    names = pa.array(["12", "9"]).dictionary_encode()
    pq.write_table(pa.table({"who": names, "a": [0.7, 0.8]}), tmp_path / "d.parquet")
    for most, count in ((1, 4), (2, 5), (9, 7)):
        source = ParquetSource(tmp_path, None, Schema({"a": Number(0, 1)}, unit=Unit("who", most)))
        assert source.total(RowCount(), 1.0)[0] == count


@pytest.mark.parametrize("alike", [*SAME, *DOUBTFUL])
def test_nobody_is_in_both_parts(alike):
    who = [*alike, *range(1000, 1020)] * 2
    own = np.array([place % (len(alike) + 20) < len(alike) for place in range(len(who))])
    for _ in range(6):
        _, _, learned, held = hold_out({"who": who}, np.arange(len(who)), share=0.5, unit="who")
        assert own[learned].sum() in (0, 2 * len(alike))
        assert own[held].sum() in (0, 2 * len(alike))


@pytest.mark.parametrize("text", ["1.2345678901234568e+16", "1.23457E+11", "1.5e+3", "1e+16"])
def test_a_number_that_may_have_lost_digits_is_no_id(text):
    assert identity_of(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *[("1.5000e+3", 1500), ("1,000", 1000), ("1'000", 1000), ("1,234,567", 1234567)],
        *[("12,0", 12), ("12,00", 12), ('="12"', 12), ("1_000", 1000), ("5E10", 50_000_000_000)],
    ],
)
def test_numbers_as_sheets_write_them_may_be_the_plain_ones(text, number):
    assert loosely(identity_of(text)) == loosely(identity_of(number))


def test_ids_as_sheets_write_them_are_never_used_twice():
    for other in ("1,000", "1'000", '="1000"', "1000,0", "1.00000E+03", "1e+3"):
        units = UnitRows(Unit("p", rows=1))
        units.add([1000])
        units.add([other])
        assert sum(int(block.sum()) for block in units.choose()) <= 1
