"""What is proposed from names and types: dates, whole numbers, classes, codes and identifiers."""

import datetime as dt

import pandas as pd
import polars as pl
import pytest

from voile.errors import SchemaError
from voile.schema import Category, Date, Number, Schema
from voile.schema.frames import FrameColumn, describe_frame
from voile.schema.kind_checks import refuse_meaningless_numbers
from voile.schema.kinds import Kind
from voile.schema.names import looks_like_identifier
from voile.schema.proposal import (
    looks_like_code,
    propose_column,
    propose_target,
)


def propose(name, kind=Kind.NUMBER, **more):
    return propose_column(FrameColumn(name, name, kind, **more))


@pytest.mark.parametrize(
    ("name", "kind", "whole", "column"),
    [
        ("visits", Kind.NUMBER, True, Number(whole=True)),
        ("visits", Kind.NUMBER, False, Number()),
        ("age", Kind.NUMBER, True, Number(0, 120, whole=True)),
        ("age", Kind.NUMBER, False, Number(0, 120)),
        ("birth_year", Kind.NUMBER, False, Number(1900, 2100, whole=True)),
        ("month", Kind.NUMBER, False, Number(1, 12, whole=True)),
        ("admitted", Kind.DATE, False, Date()),
        ("seen_at", Kind.TIME, False, Date(time=True)),
        ("stay", Kind.DURATION, False, Number()),
        ("smoker", Kind.BOOLEAN, False, Category([False, True])),
        ("ward", Kind.OTHER, False, Category()),
    ],
)
def test_columns(name, kind, whole, column):
    found = propose(name, kind, whole=whole)
    assert found.column == column
    assert found.use
    assert not found.doubtful


@pytest.mark.parametrize(
    "name",
    [
        "zip",
        "ZIP code",
        "PLZ",
        "postal_code",
        "icd10",
        "ICD-10-GM",
        "icd9_code",
        "diag_1",
        "diagnosis",
        "drg",
        "naics",
        "AtcCode",
    ],
)
def test_codes_are_categories_that_a_person_decides_on(name):
    assert looks_like_code(name)
    for kind in (Kind.NUMBER, Kind.OTHER):
        found = propose(name, kind)
        assert found.column == Category()
        assert found.doubtful
        assert "looks like a code" in found.why
    # The type of a date or a truth value says more than the name.
    assert not propose(name, Kind.DATE).doubtful


@pytest.mark.parametrize("name", ["code_blue_minutes", "zipper", "icdar", "decoded", "diagonal"])
def test_other_names_are_no_codes(name):
    assert not looks_like_code(name)
    assert not propose(name).doubtful


@pytest.mark.parametrize("name", ["patient_id", "ID", "customer", "CustomerNumber", "email"])
def test_identifiers_are_not_used_unless_a_person_says_so(name):
    assert looks_like_identifier(name)
    found = propose(name)
    assert not found.use
    assert found.doubtful


@pytest.mark.parametrize(
    ("kind", "whole", "column", "words"),
    [
        (Kind.NUMBER, True, Category(), "taken for classes"),
        (Kind.NUMBER, False, Number(), "for classes: kind: category"),
        (Kind.BOOLEAN, False, Category([False, True]), "by its kind"),
        (Kind.OTHER, False, Category(), "give the classes"),
    ],
)
def test_targets(kind, whole, column, words):
    found = propose_target(FrameColumn("ill", "ill", kind, whole=whole))
    assert found.column == column
    assert words in found.why


def test_types_of_frames():
    frame = pd.DataFrame(
        {
            "day": pd.array([dt.date(2024, 1, 1)], dtype="date32[pyarrow]"),
            "moment": pd.to_datetime(["2024-01-01T08:00"]),
            "count": [1],
            "size": [1.5],
            "word": pd.array(["a"], dtype="string"),
        }
    )
    kinds = {one.name: (one.kind, one.whole, one.text) for one in describe_frame(frame)}
    assert kinds == {
        "day": (Kind.DATE, False, False),
        "moment": (Kind.TIME, False, False),
        "count": (Kind.NUMBER, True, False),
        "size": (Kind.NUMBER, False, False),
        "word": (Kind.OTHER, False, True),
    }
    # Whole numbers are proposed to people, and never taken from a type unseen.
    assert Schema.from_frame(frame)["count"] == Number()
    enum = pl.DataFrame({"pain": pl.Series(["a"], dtype=pl.Enum(["a", "b"]))})
    assert Schema.from_frame(enum)["pain"] == Category(["a", "b"])


def test_meaningless_numbers_are_refused_by_name_and_type():
    columns = describe_frame(pd.DataFrame({"age": [1.0], "zip": [10115]}))
    with pytest.raises(SchemaError, match="'zip' looks like a code"):
        refuse_meaningless_numbers(columns, None)
    refuse_meaningless_numbers(columns, "zip")  # it is what is predicted
    refuse_meaningless_numbers(describe_frame(pd.DataFrame({"zip": ["10115"]})), None)
