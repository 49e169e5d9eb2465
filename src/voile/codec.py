"""Frozen dataclasses as plain data and back: a strict codec that follows their annotations.

Whatever stands in a file otherwise than the annotation says is refused: a truth value is no number,
text is never made a number, an unknown, missing or repeated name is an error with its place. By
hand, because msgspec lets unknown names of dataclasses and repeated names pass and cattrs makes
numbers of text; neither knows arrays with shapes, what ``null`` stands for, names in another order
or our errors, so that about as much code would stand around them.

What an annotation does not tell, `voile.stored.Stored` and `voile.arrays.Array` in it do. A class
may have a ``file_order``: the names in the order of the file, where ``...`` stands for all other
fields, a class variable for a constant that must stand there (its format, its kind) and a property
for what is written for people and not read back ("name=property" if it has another name there). Its
``check_read`` refuses what fits each annotation and cannot be as a whole.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import lru_cache
from types import EllipsisType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union

import numpy as np

from voile.arrays import Array
from voile.errors import VoileError
from voile.stored import (
    PLAIN,
    USUAL,
    Coder,
    Stored,
    array_coder,
    as_is,
    choice_coder,
    number_coder,
    read_text,
    read_whole,
)
from voile.strict import Strict, Unfit, show

T = TypeVar("T")

Order = tuple[str | EllipsisType, ...]
"""Names in the order of the file; ``...`` stands for all other fields."""

NOT_GIVEN = object()


def encode(record: object) -> dict[str, Any]:
    """A record as plain dictionaries, lists, text and numbers."""
    cls: type = type(record)
    return _struct(cls).write(record)


def decode(cls: type[T], data: object, strict: Strict) -> T:
    """A record or another value from plain data; anything else is refused with the reader's error.

    Parameters
    ----------
    cls : type
        A dataclass, what dataclasses of several kinds are derived from, or a tuple or dict of them.
    data : object
        Dictionaries, lists, text and numbers.
    strict : Strict
        Whose error is raised, and what it says is read.
    """
    home: type = cls
    whole = isinstance(cls, type) and is_dataclass(cls)
    try:
        found: T = _struct(home).read(data) if whole else _coder(cls).read(data)
    except Unfit as unfit:
        raise strict.error(unfit.told(strict.what)) from unfit
    except VoileError as error:
        if isinstance(error, strict.error):
            raise
        raise strict.error(f"In {strict.what} stands what cannot be. {error}") from error
    return found


class Writable:
    """Whatever is written as plain data by its annotations."""

    __slots__ = ()

    file_order: ClassVar[Order] = (...,)
    indent: ClassVar[int | None] = 2

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return encode(self)

    def to_json(self, *, indent: int | EllipsisType | None = ...) -> str:
        """As JSON text; ``indent`` is that of `json.dumps`."""
        spaces = self.indent if isinstance(indent, EllipsisType) else indent
        return json.dumps(self.to_dict(), indent=spaces, allow_nan=False)


class Readable(Writable):
    """Whatever is also read back, by the reader ``strict``."""

    __slots__ = ()

    strict: ClassVar[Strict]

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` gave; anything else is refused with an error of its place."""
        return decode(cls, cls.strict.plain(data), cls.strict)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` gave."""
        return cls.from_dict(cls.strict.parse(text))


# -- values --------------------------------------------------------------------------------------


def _coder(hint: Any, stored: Stored = USUAL) -> Coder:
    """The coder of an annotation."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        if isinstance(args[1], Array):
            return array_coder(args[0], args[1])
        return _coder(args[0], args[1])
    if hint in PLAIN:
        return Coder(PLAIN[hint], as_is)
    if hint is int:
        return Coder(lambda data: read_whole(data, stored), as_is)
    if hint is float:
        return number_coder(stored)
    if origin is Literal:
        known = {(type(one), one) for one in args}
        return choice_coder(lambda data: (type(data), data) in known, args, as_is)
    if origin in (Union, types.UnionType):
        return _union_coder(args, stored)
    if origin in (tuple, list):
        return _list_coder(origin, args)
    if origin is Sequence:  # whatever it is, it is read back as a tuple
        return _list_coder(tuple, (*args, ...))
    if origin in (Mapping, dict):
        return _mapping_coder(_coder(args[1]))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        coder = choice_coder(lambda data: data in list(hint), tuple(map(str, hint)), hint)
        return Coder(coder.read, str)
    if hasattr(hint, "from_dict"):
        return Coder(lambda data: _read_by(hint.from_dict, data), lambda value: value.to_dict())
    if isinstance(hint, type):
        return Coder(lambda data: _struct(hint).read(data), encode)
    raise TypeError(f"No codec is known for {hint!r}.")


def _read_by(read: Callable[[object], Any], data: object) -> Any:
    """What has a reader of its own."""
    try:
        return read(data)
    except VoileError as error:
        raise Unfit(f"cannot be read. {error}") from error


def _union_coder(args: tuple[Any, ...], stored: Stored) -> Coder:
    coders = [_coder(one, stored) for one in args if one is not type(None)]
    empty = len(coders) < len(args)

    def read(data: object) -> Any:
        if data is None and empty:
            return None
        for coder in coders[:-1]:
            try:
                return coder.read(data)
            except Unfit:
                continue
        return coders[-1].read(data)

    def write(value: Any) -> Any:
        if value is None:
            return None
        return coders[0].write(value) if len(coders) == 1 else plain(value)

    return Coder(read, write)


def plain(value: Any) -> Any:
    """Plain data of a value by what it is, for what has no one annotation."""
    if is_dataclass(value):
        return encode(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    return value


def _list_coder(kind: type, args: tuple[Any, ...]) -> Coder:
    many = kind is list or args[1:] == (...,)
    each = [_coder(one) for one in (args[:1] if many else args)]
    first = each[0]

    def read(data: object) -> Any:
        if type(data) is not list:
            raise Unfit("must be a list", data)
        if not many and len(data) != len(each):
            raise Unfit(f"must be a list of length {len(each)}", data)
        found = []
        for i, one in enumerate(data):
            try:
                found.append((first if many else each[i]).read(one))
            except Unfit as unfit:
                unfit.within(f"number {i + 1}")
                raise
        return kind(found)

    def write(value: Any) -> list[Any]:
        if many:
            return list(value) if first.write is as_is else [first.write(one) for one in value]
        return [coder.write(one) for coder, one in zip(each, value, strict=True)]

    return Coder(read, write)


def _mapping_coder(each: Coder) -> Coder:
    def read(data: object) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise Unfit("must be a mapping", data)
        found = {}
        for name, one in data.items():
            try:
                found[read_text(name)] = each.read(one)
            except Unfit as unfit:
                unfit.within(show(name))
                raise
        return found

    return Coder(read, lambda value: {name: each.write(one) for name, one in value.items()})


# -- classes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """One name of a class in the file."""

    name: str
    attribute: str
    coder: Coder | None
    """None for a constant, and for what is not read back."""
    constant: object = NOT_GIVEN
    default: object = NOT_GIVEN
    """Of what is left out where it is this."""
    may_lack: bool = False
    inside: str = ""


class _Struct:
    """How a class stands in a file."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self._places = tuple(_places(cls))
        self._names: dict[str, set[str]] = {"": {place.inside for place in self._places} - {""}}
        for place in self._places:
            self._names.setdefault(place.inside, set()).add(place.name)
        constants = {one.name for one in self._places if one.constant is not NOT_GIVEN}
        self._has_kind = "kind" in constants

    def write(self, record: object) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for place in self._places:
            value = getattr(record, place.attribute)
            # An array is never equal to what is left out.
            if type(value) is not type(place.default) or value != place.default:
                home = data.setdefault(place.inside, {}) if place.inside else data
                home[place.name] = plain(value) if place.coder is None else place.coder.write(value)
        return data

    def read(self, data: object) -> Any:
        if not isinstance(data, Mapping):
            raise Unfit("must be a mapping, a JSON object", data)
        self._check_constants(data)
        if self._has_kind and (home := _kinds(self._cls)[data["kind"]]) is not self._cls:
            return _struct(home).read(data)
        data, values = self._fields_of(data), {}
        for place in self._places:
            if place.coder is None or (place.may_lack and place.name not in data):
                continue
            if place.name not in data:
                raise Unfit(f"has no {place.name!r}: use an undamaged copy.")
            try:
                values[place.attribute] = place.coder.read(data[place.name])
            except Unfit as unfit:
                unfit.within(f"'{place.name}'")
                raise
        found = self._cls(**values)
        if hasattr(found, "check_read"):
            found.check_read()
        return found

    def _fields_of(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in a mapping, and in those inside it that hold some of its fields."""
        found: dict[str, Any] = {}
        for inside, names in self._names.items():
            part = data.get(inside) if inside else data
            if not isinstance(part, Mapping):
                raise Unfit("must be a mapping", part).within(f"'{inside}'")
            for name in part:
                if name not in names:
                    raise Unfit(
                        f"has the unknown field {show(name)}: use the version that wrote it."
                    )
            found |= part
        return found

    def _check_constants(self, data: Mapping[str, Any]) -> None:
        """Refuse a format that is not read here, and a kind that the class is not."""
        for place in self._places:
            if place.constant is NOT_GIVEN:
                continue
            if place.name not in data:
                raise Unfit(f"has no {place.name!r}: use an undamaged copy.")
            found = data[place.name]
            known = _kinds(self._cls) if place.name == "kind" else {place.constant}
            if type(found) is type(place.constant) and found in known:
                continue
            if place.name == "kind":
                raise Unfit(f"is of kind {show(found)} and no {self._cls.__name__}: give one.")
            raise Unfit(
                f"has format {show(found)}, this version of voile reads format "
                f"{show(place.constant)}: use the version that wrote it."
            )


@lru_cache(maxsize=1024)
def _struct(cls: type) -> _Struct:
    return _Struct(cls)


def _kinds(cls: type) -> dict[object, type]:
    """A class and those derived from it, by the kind that stands in the file."""
    kind = getattr(cls, "kind", None)
    found: dict[object, type] = {kind: cls} if isinstance(kind, str) and kind else {}
    derived: list[type] = cls.__subclasses__()
    for one in derived:
        found |= _kinds(one)
    return found


def _places(cls: type) -> typing.Iterator[_Place]:
    hints = typing.get_type_hints(cls, include_extras=True)
    own = {one.name: one for one in fields(cls)}
    order: Order = getattr(cls, "file_order", (...,))
    others = [name for name in own if name not in order]
    for entry in order:
        for name in others if isinstance(entry, EllipsisType) else [entry]:
            if name in own:
                yield _place_of_field(own[name], hints[name])
            elif typing.get_origin(hints.get(name)) is ClassVar:
                yield _Place(name, name, None, constant=getattr(cls, name))
            else:
                yield _place_of_property(cls, name)


def _place_of_field(field: Field[Any], hint: Any) -> _Place:
    stored = USUAL
    for one in typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ():
        stored = one if isinstance(one, Stored) else stored
    default: object = NOT_GIVEN
    if stored.optional:
        default = field.default
    return _Place(
        stored.name or field.name,
        field.name,
        _coder(hint),
        default=default,
        may_lack=stored.optional or stored.later,
        inside=stored.inside,
    )


def _place_of_property(cls: type, name: str) -> _Place:
    """What is written for people: the name of a property, or "name in the file=property"."""
    written, _, attribute = name.partition("=")
    if not hasattr(cls, attribute or name):
        raise TypeError(f"The file of a {cls.__name__} cannot have {name!r}: it has none.")
    return _Place(written, attribute or name, None)
