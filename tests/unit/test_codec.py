"""The codec writes frozen dataclasses by their annotations, and reads nothing else back."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from voile.arrays import Array, Floats, freeze_arrays
from voile.codec import Order, Readable, Writable, decode, encode
from voile.errors import DataError, LedgerError, SettingError
from voile.privacy.budget import NeighbouringRelation
from voile.record import Record
from voile.stored import Count, Size, Stored, Unknown
from voile.strict import Strict

STRICT = Strict(DataError, "a thing")


@dataclass(frozen=True)
class Part:
    name: str
    size: Unknown
    level: str | None = None

    def check_read(self):
        if self.name == self.level:
            raise SettingError("A part is no level of itself.")


@dataclass(frozen=True)
class Thing(Readable):
    strict: ClassVar[Strict] = STRICT
    format: ClassVar[int] = 3
    kind: ClassVar[str] = "thing"
    file_order: ClassVar[Order] = ("format", "kind", ..., "told=words", "parts")

    parts: tuple[Part, ...]
    relation: Annotated[NeighbouringRelation, Stored(name="neighbours")]
    place: tuple[Size, Size] | None
    where: Annotated[str, Stored(inside="home")]
    since: Annotated[str, Stored(inside="home", later=True)] = "ever"
    notes: Annotated[tuple[str, ...], Stored(optional=True)] = ()
    counts: Mapping[str, Count] | None = None
    share: Annotated[float, Stored(digits=2, null=math.nan)] = 0.123

    @property
    def words(self):
        return f"{len(self.parts)} parts"


@dataclass(frozen=True)
class OtherThing(Thing):
    kind: ClassVar[str] = "other"

    more: int = 1


THING = Thing(
    (Part("a", 1.5), Part("b", math.inf, "x")), NeighbouringRelation.ADD_REMOVE, (2, 3), "here"
)
DATA = {
    "format": 3,
    "kind": "thing",
    "neighbours": str(NeighbouringRelation.ADD_REMOVE),
    "place": [2, 3],
    "home": {"where": "here", "since": "ever"},
    "counts": None,
    "share": 0.12,
    "told": "2 parts",
    "parts": [
        {"name": "a", "size": 1.5, "level": None},
        {"name": "b", "size": None, "level": "x"},
    ],
}


def test_a_record_is_written_in_the_order_of_its_file():
    assert json.dumps(THING.to_dict()) == json.dumps(DATA)
    assert THING.to_json() == json.dumps(DATA, indent=2)
    assert THING.to_json(indent=None) == json.dumps(DATA)


def test_a_record_comes_back():
    back = Thing.from_json(THING.to_json())
    assert back.parts == THING.parts
    assert back.relation is NeighbouringRelation.ADD_REMOVE
    assert back.place == (2, 3)
    assert back.share == 0.12


def test_what_files_of_before_lack_is_the_default():
    data = {**DATA, "home": {"where": "here"}, "notes": ["one"]}
    del data["told"]
    back = Thing.from_dict(data)
    assert (back.since, back.notes) == ("ever", ("one",))
    assert list(encode(back))[-2:] == ["told", "parts"]


def test_the_kind_finds_the_class():
    assert type(Thing.from_dict({**DATA, "kind": "other", "more": 2})) is OtherThing
    with pytest.raises(DataError, match="of kind 'thing' and no OtherThing"):
        OtherThing.from_dict(DATA)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 4}, "format 4, this version of voile reads format 3"),
        ({"format": True}, "format True"),
        ({"kind": "nothing"}, "'nothing'"),
        ({"kind": ["thing"]}, "thing"),
        ({"more": 1}, "A thing has the unknown field 'more'"),
        ({"where": "here"}, "unknown field 'where'"),
        ({"home": {"where": "here", "when": 1}}, "unknown field 'when'"),
        ({"home": []}, "'home' must be a mapping"),
        ({"home": {}}, "has no 'where'"),
        ({"place": [2, 0]}, "number 2 of 'place' must be a whole number >= 1. Got 0 instead"),
        ({"place": [2]}, "'place' must be a list of length 2"),
        ({"place": [2, True]}, "whole number"),
        ({"counts": {"a": -1}}, "'a' of 'counts' must be a whole number >= 0"),
        ({"neighbours": "all"}, "'neighbours' must be one of"),
        ({"share": math.inf}, "finite"),
        ({"parts": [{"name": "a", "size": -1, "level": None}]}, "'size' of number 1 of 'parts'"),
        ({"parts": [{"name": 1, "size": 1, "level": None}]}, "must be text. Got 1 instead"),
        ({"parts": [{"name": "a", "size": 1}]}, "number 1 of 'parts' has no 'level'"),
        ({"parts": [{"name": "a", "size": 1, "level": "a"}]}, "no level of itself"),
        ({"parts": "a"}, "'parts' must be a list"),
    ],
)
def test_whatever_is_otherwise_is_refused_with_its_place(change, message):
    with pytest.raises(DataError, match=message):
        Thing.from_dict({**DATA, **change})


@pytest.mark.parametrize("name", [one for one in DATA if one != "told"])
def test_every_name_is_needed(name):
    with pytest.raises(DataError, match=name):
        Thing.from_dict({one: value for one, value in DATA.items() if one != name})


def test_the_reader_of_a_file_says_what_was_read():
    with pytest.raises(LedgerError, match="In a plan, number 1 must be a mapping"):
        decode(tuple[Part, ...], [1], Strict(LedgerError, "a plan"))


# -- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    names: tuple[str, ...]
    values: Annotated[Floats, Array("names", "values_wide")]
    errors: Annotated[Floats, Array("names", least=0.0, null=math.inf)]
    labels: Annotated[NDArray[np.int64], Array("names", least=0, most=9)]
    places: Annotated[NDArray[np.int64], Array("names")]

    def __post_init__(self):
        freeze_arrays(self, STRICT)

    @property
    def values_wide(self):
        return self.values.shape[1] if self.values.ndim == 2 else 0


ROWS = {
    "names": ["a", "b"],
    "values": [[1.0, 2], [0.5, -3.5]],
    "errors": [0.5, None],
    "labels": [3, 9],
    "places": [-1, 7],
}


def test_arrays_come_back_frozen():
    table = decode(Table, ROWS, STRICT)
    assert encode(table) == ROWS
    assert table.errors[1] == math.inf
    assert table.labels.dtype == np.int64
    for name in ("values", "errors", "labels"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(table, name)[0] = 1
    given = np.zeros((2, 1))
    assert Table(("a", "b"), given, [1, 2], [0, 0], [0, 0]).values is not given


def test_arrays_without_rows_have_their_width():
    empty = Table((), np.zeros((0, 3)), [], [], [])
    assert decode(Table, encode(empty), STRICT).values.shape == (0, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [[1.0, 2.0], [0.5]]}, "shape"),
        ({"values": [[1.0, 2.0]]}, "values of a thing must have shape"),
        ({"values": [1.0, 2.0]}, "shape"),
        ({"values": [[1.0, None], [0.5, 1.0]]}, "'values' must be finite numbers. Got None"),
        ({"values": [[1.0, "2"], [0.5, 1.0]]}, "Got '2' instead"),
        ({"values": [[1.0, True], [0.5, 1.0]]}, "Got True instead"),
        ({"values": [[1.0, math.nan], [0.5, 1.0]]}, "Got nan instead"),
        ({"values": [[1.0, 10**400], [0.5, 1.0]]}, "finite"),
        ({"values": [[1.0, 1e101], [0.5, 1.0]]}, "up to 1e.100"),
        ({"values": {}}, "list"),
        ({"errors": [-0.5, None]}, ">= 0"),
        ({"errors": [math.inf, None]}, "finite"),
        ({"labels": [1.0, 2]}, "whole"),
        ({"labels": [1, 10]}, "<= 9"),
        ({"places": [1, 2**64]}, "whole numbers up to"),
    ],
)
def test_arrays_of_another_form_are_refused(change, message):
    with pytest.raises(DataError, match=message):
        decode(Table, {**ROWS, **change}, STRICT)


# -- records --------------------------------------------------------------------------------------


def test_a_record_that_is_no_table_says_so():
    class Lone(Record):
        pass

    with pytest.raises(SettingError, match="to_dict"):
        Lone().to_frame()


def test_what_json_cannot_hold_is_not_written():
    @dataclass(frozen=True)
    class Endless(Writable):
        size: float = math.inf

    with pytest.raises(ValueError, match="JSON"):
        Endless().to_json()
