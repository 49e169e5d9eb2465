"""Every field of a message is of the type it is annotated with, or the message is refused."""

import dataclasses
import enum
import importlib
import math
import pkgutil
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import voile
from voile import Category, Number, Schema
from voile.errors import DataError
from voile.privacy import wire
from voile.privacy.events import Event, Gaussian, Plan
from voile.privacy.queries import NumberCounts, Query, RowCount
from voile.privacy.wire import Packer, Unpacker, sendable
from voile.privacy.wire_types import UNFIT, field_checks


class Colour(enum.StrEnum):
    RED = "red"


@sendable
@dataclasses.dataclass(frozen=True, eq=False)
class Typed:
    """A field of each kind that travels."""

    whole: int = 0
    number: float = 0.0
    truth: bool = False
    text: str = ""
    data: bytes = b""
    maybe: float | None = None
    rule: Literal["a", "b", 1] = "a"
    many: tuple[float, ...] = ()
    pair: tuple[int, str] = (0, "")
    named: Mapping[str, int] = dataclasses.field(default_factory=dict)
    floats: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros(2))
    wholes: NDArray[np.int64] | None = None
    schema: Schema | None = None
    plan: Plan | None = None
    event: Event | None = None
    query: Query | None = None
    count: RowCount | None = None
    parts: tuple[Query, ...] = ()
    anything: Any = None
    thing: object = None


def arrive(**fields):
    value = object.__new__(Typed)
    for one in dataclasses.fields(Typed):
        own = one.default if one.default is not dataclasses.MISSING else one.default_factory()
        object.__setattr__(value, one.name, fields.pop(one.name, own))
    assert not fields
    packed, unpacker = Packer().pack(value), Unpacker()
    unpacker.hold(packed.parts)
    return unpacker.unpack(packed.body)


GOOD = {
    "whole": [5, -(2**70), np.int32(3)],
    "number": [1.5, math.nan, -math.inf, 7, np.float32(0.5), 2**53 - 1],
    "truth": [True, np.bool_(False)],
    "text": ["", "é", "\0target"],
    "data": [b"", b"\xff"],
    "maybe": [None, 1.0, 3],
    "rule": ["a", "b", 1],
    "many": [(), (1.0, 2, math.nan)],
    "pair": [(1, "a")],
    "named": [{}, {"a": 1}],
    "floats": [np.zeros((2, 3)), np.zeros(0), np.array(1.0)],
    "wholes": [None, np.arange(3)],
    "schema": [None, Schema({"a": Number(0, 1)}, target=Category([0, 1]))],
    "plan": [Plan.of(a=Gaussian(1, 2.0))],
    "event": [Gaussian(1, 2.0)],
    "query": [RowCount(), NumberCounts("a", (0.0,))],
    "count": [RowCount()],
    "parts": [(), (RowCount(), NumberCounts("a", (0.0,)))],
    "anything": [1, "a", np.zeros(2), [1]],
    "thing": [(1, None)],
}

BAD = {
    "whole": [True, 1.0, "1", None, np.zeros(1, np.int64)],
    "number": [True, "1.0", None, 2**53, 10**400, np.zeros(())],
    "truth": [1, 0, None, "True"],
    "text": [b"a", 1, None, "\ud800"],
    "data": ["a", None, np.zeros(3, np.uint8)],
    "maybe": [False, "x", ()],
    "rule": ["c", True, 1.0, None, ("a",), np.zeros(2)],
    "many": [[1.0], (1.0, "a"), (True,), 1.0, np.zeros(2)],
    "pair": [(1,), (1, "a", 2), ("a", 1), [1, "a"]],
    "named": [{"a": 1.0}, {"\ud800": 1}, (), [("a", 1)]],
    "floats": [np.zeros(2, np.float32), np.zeros(2, np.int64), 1.0, None, (1.0,)],
    "wholes": [np.zeros(2), np.zeros(2, np.int32), np.zeros(2, np.uint64), 3],
    "schema": [{"a": 1}, RowCount(), 1],
    "plan": [Gaussian(1, 2.0), {}],
    "event": [Plan.of(a=Gaussian(1, 2.0))],
    "query": [Schema({"a": Number(0, 1)}), 5, "RowCount"],
    "count": [NumberCounts("a", (0.0,))],
    "parts": [(RowCount(), 5), [RowCount()], RowCount()],
}


@pytest.mark.parametrize("name", GOOD)
def test_what_belongs_into_a_field_arrives(name):
    for value in GOOD[name]:
        found = getattr(arrive(**{name: value}), name)
        if isinstance(value, np.ndarray):
            assert found.dtype == value.dtype
            assert found.shape == value.shape
        elif not isinstance(value, Query | tuple):
            assert found == value or value != value


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_belong_into_a_field_is_refused_by_name(name):
    for value in BAD[name]:
        with pytest.raises(DataError, match=rf"'{name}' of a Typed"):
            arrive(**{name: value})


def test_whole_numbers_become_floats_where_floats_are_meant():
    assert type(arrive(number=7).number) is float
    assert [type(one) for one in arrive(many=(1, 2.5)).many] == [float, float]


def test_every_class_that_travels_has_fields_that_are_checked():
    for module in pkgutil.walk_packages(voile.__path__, "voile."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    own = [cls for cls in wire._CLASSES.values() if cls.__module__.startswith("voile.")]
    assert len(own) > 40
    for cls in own:
        assert list(field_checks(cls)) == [one.name for one in dataclasses.fields(cls) if one.init]


@pytest.mark.parametrize(
    "hint",
    [
        list[int],
        dict[str, int],
        set,
        complex,
        type,
        Mapping,
        Mapping[int, str],
        NDArray[Any],
        NDArray[np.object_],
        NDArray[np.floating],
        "int | Nobody",
        tuple[list[int], ...],
    ],
    ids=str,
)
def test_annotations_that_say_nothing_checkable_are_errors_of_the_class(hint):
    cls = dataclasses.make_dataclass("Untyped", [("field", hint)], frozen=True)
    with pytest.raises(TypeError, match="Untyped"):
        field_checks(cls)


def test_enums_and_derived_classes_are_told_apart():
    cls = dataclasses.make_dataclass("Coloured", [("colour", Colour)], frozen=True)
    check = field_checks(cls)["colour"]
    assert check(Colour.RED) is Colour.RED
    assert check("red") is UNFIT
