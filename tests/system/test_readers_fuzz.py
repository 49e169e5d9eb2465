"""Damaged files and messages: whatever stands in them, nothing but an error of Voile comes out.

Each reader of `reader_table` is given copies of an undamaged file with bytes flipped, cut, doubled
and put in, with values of its JSON replaced by others, and files of other kinds. What it lets
through is used as a person would. The chance is that of numbers: a failure names them, and
``damaged_copies`` gives the same file again.
"""

import random

import pytest
from mutations import damaged_copies, mutate_bytes, mutate_json
from reader_table import READERS, Reader, quietly

from needs import find_missing, needs
from voile.errors import DataError, VoileError

FAST = {"ebm": 5, "lvq": 5, "maps": 5, "explanation": 5, "evaluation": 10}
"""Copies in the fast part, by the first word of the reader; else 25. Pages take their time."""

SLOW = 90
"""Copies of each reader in the slow part."""


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return {
        name: reader.seed(tmp_path_factory.mktemp("seed"))
        for name, reader in READERS.items()
        if not find_missing(*reader.needed)
    }


each_reader = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(*one.needed)) for name, one in READERS.items()]
)


def find_escapes(reader, raw, others, folder, count, seed):
    """What came out of a reader and is no error of Voile, with the number of the copy."""
    path, escaped = folder / reader.name, []
    for number, damaged in damaged_copies(raw, others, count, seed):
        path.write_bytes(damaged)
        try:
            quietly(reader.run, path)
        except VoileError:
            continue
        except Exception as error:
            escaped.append(f"copy {number} of seed {seed}: {type(error).__name__}: {error}"[:200])
    return escaped


@each_reader
def test_damaged_files_are_refused_or_can_be_used(name, seeds, tmp_path):
    path = tmp_path / READERS[name].name
    path.write_bytes(seeds[name])
    quietly(READERS[name].run, path)  # undamaged, it can
    count = FAST.get(name.split()[0].strip(","), 25)
    assert find_escapes(READERS[name], seeds[name], [], tmp_path, count, seed=0) == []


@pytest.mark.slow
@each_reader
def test_thousands_of_damaged_files(name, seeds, tmp_path):
    others = list(seeds.values())
    assert find_escapes(READERS[name], seeds[name], others, tmp_path, SLOW, seed=1) == []


def test_a_reader_that_lets_a_foreign_error_out_is_found(tmp_path):
    def careless(path):
        if path.read_bytes()[:1] != b"{":
            raise DataError("no file of ours")
        raise KeyError("kind")

    careless_reader = Reader(lambda folder: b"", careless, ())
    raw = b'{"kind": "x", "numbers": [1, 2.5, null]}'
    assert find_escapes(careless_reader, raw, [], tmp_path, 40, seed=0)


def test_the_same_number_damages_a_file_in_the_same_way():
    raw = READERS["receipt"].seed(None)
    one, other = (list(damaged_copies(raw, [], 50, seed=3)) for _ in range(2))
    assert one == other
    assert len({damaged for _, damaged in one}) > 40


def test_damage_is_of_many_kinds():
    data = {"a": [1.5, {"b": None}], "c": "text", "d": True}
    texts = {mutate_json(data, random.Random(number)) for number in range(300)}
    assert len(texts) > 200
    for part in ("NaN", "Infinity", "\\ud800", "\\u0000", "1e+308", "[[[["):
        assert any(part in text for text in texts), part
    raws = [mutate_bytes(b'{"a": 1}\n', random.Random(number)) for number in range(600)]
    for part in (b"\xff\xfe", b"\xef\xbb\xbf", b"PK\x03\x04", b"\r\n", b"1e999"):
        assert any(part in raw for raw in raws), part
    assert b"" in raws
