"""Damaged copies of a file, by chance that a number decides: of its bytes, or of its JSON."""

import copy
import json
import random
import re

DEEP = 100_000
_DEEP_TEXT = "[" * DEEP + "]" * DEEP
_HUGE_WHOLE = "1" + "0" * 5_000

_VALUES = (
    *(None, True, False, 0, 1, -1, 2, 3, 255, 10**6, 10**12, -(10**12), 2**63, 2**64, 10**30),
    *(10**400, -(10**400), 0.5, -0.0, 1.5, 1e-320, 5e-324, 1e12, 1e100, 1e155, 1e200, 1e308),
    *(-1e308, float("nan"), float("inf"), float("-inf"), "", "x", "0", "1", "inf", "nan", "NaN"),
    *("\ud800", "a\udcffb", "a\0b", "\x1b[31m", "\u202e", "é" * 40, "x" * 10_000, "<script>", "%s"),
    *("{}", "2026-01-01", "=1+1", [], {}, [[]], [None], [{}], {"": None}, {"a": 1}, ["x", "y"]),
    *([1, 2, 3], [0.5, 0.5], [[1.0, 2.0], [3.0, 4.0]], [[1], [1, 2]], [True], {"kind": ["x"]}),
    *({"object": "x"}, {"pairs": [[[], 1]]}, {"pairs": [["a", 1], ["a", 2]]}, [10**12, 10**12]),
)
"""What may stand in the place of any value."""

_TOKENS = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"-0.0", b"1e-400", b"null", b"true"),
    *(b'"\\ud800"', b'"\\u0000"', b'"a\\udc80"', b"[]", b"{}", b"[", b"]", b"{", b"}", b",", b":"),
    *(b'"', b"\\", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\r"),
    *(b"\x1a", b"&a ", b"*a ", b"!!python/object:os.system ", b"- ", b"? ", b"| ", b"# ", b"'"),
    *(
        _HUGE_WHOLE.encode(),
        b"1e5000",
        b"0x10",
        b"+1",
        b"01",
        b"1_000",
        b".5",
        b"5.",
        b"\xe2\x80\xa8",
    ),
)

_JUNK = (
    *(b"", b" ", b"\n", b"\0", b"\xef\xbb\xbf", b"\xff\xfe", b"null", b"[]", b"{}", b"0", b'""'),
    *(b"PK\x03\x04" + bytes(26), b"SQLite format 3\0" + bytes(84), b"\x1f\x8b\x08" + bytes(20)),
    *(b"PAR1" + bytes(20) + b"PAR1", b"ARROW1\0\0" + bytes(30), b"\x80\x04\x95" + bytes(20)),
    *(b"\x93NUMPY" + bytes(20), b"%PDF-1.7\n", _DEEP_TEXT.encode(), (b'{"a":' * DEEP), b"{" * DEEP),
    *(_HUGE_WHOLE.encode(), b'"\\ud800"', b"NaN", b"Infinity", b"1e999", b"%YAML 9.9\n---\n"),
    *(b"a: &a [*a]", b"? [a]\n: b", b"!!binary x", b"2026-13-45", b"- " * 3_000, b"{a: " * 3_000),
)


def mutate_bytes(raw, chance):
    """A damaged copy of bytes."""
    way = chance.randrange(14)
    if way == 0:
        return chance.choice(_JUNK)
    if way == 1:
        return raw[: chance.randrange(len(raw) + 1)]
    if way == 2:
        return _recoded(raw, chance)
    if way == 3:
        return bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
    damaged = bytearray(raw)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
        _damage(damaged, chance)
    return bytes(damaged)


def _damage(damaged, chance):
    place = chance.randrange(len(damaged) + 1)
    length = chance.choice((1, 1, 2, 8, 64, 512))
    match chance.randrange(7):
        case 0 | 1 if damaged:
            damaged[place % len(damaged)] ^= 1 << chance.randrange(8)
        case 2 if damaged:
            damaged[place % len(damaged)] = chance.randrange(256)
        case 3:
            damaged[place:place] = chance.choice(_TOKENS)
        case 4:
            del damaged[place : place + length]
        case 5:
            damaged[place:place] = damaged[place : place + length]
        case _:
            source = chance.randrange(len(damaged) + 1)
            damaged[place : place + length] = damaged[source : source + length]


def _recoded(raw, chance):
    text = raw.decode("utf-8", "replace")
    return chance.choice(
        (
            b"\xef\xbb\xbf" + raw,
            text.encode("utf-16"),
            text.encode("utf-32"),
            text.encode("latin-1", "replace"),
            raw.replace(b"\n", b"\r\n"),
            raw.replace(b"\n", b"\r"),
            raw.replace(b" ", b"\0"),
            raw + raw,
            raw[::-1],
            raw + b"\0" * 100,
            raw.upper(),
        )
    )


def mutate_json(data, chance):
    """Text of JSON (or nearly) whose structure is damaged in one to three places."""
    damaged = [copy.deepcopy(data)]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _change(damaged, chance)
    text = json.dumps(damaged[0])
    way = chance.randrange(12)
    if way == 0:
        return _say_twice(text, chance)
    if way == 1:
        return text.replace("null", _DEEP_TEXT, 1)
    if way == 2:
        numbers = list(re.finditer(r"(?<=[ \[])-?\d+(\.\d+)?(e-?\d+)?(?=[,\]}])", text))
        if numbers:
            found = chance.choice(numbers)
            other = chance.choice(("1e999", "-1e999", "-0", "NaN", "1E400", _HUGE_WHOLE, "1e-400"))
            return text[: found.start()] + other + text[found.end() :]
    return text


def _say_twice(text, chance):
    names = list(re.finditer(r'"(\w+)": ', text))
    if not names:
        return text
    name = chance.choice(names)
    value = json.dumps(chance.choice(_VALUES))
    return text[: name.start()] + f'"{name[1]}": {value}, ' + text[name.start() :]


def _places(tree):
    """Every (holder, key) in a tree, the deep ones not more often than the others."""
    found, waiting = [], [tree]
    while waiting:
        holder = waiting.pop()
        keys = holder.keys() if isinstance(holder, dict) else range(len(holder))
        inside = [(holder, key) for key in keys]
        # Of long lists a few will do: otherwise nothing but numbers of tables would change.
        found += inside if len(inside) < 60 else inside[:4] + inside[-2:]
        for _, key in inside[:6] + inside[-2:] if isinstance(holder, list) else inside:
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])
    return found


def _change(tree, chance):
    places = _places(tree)
    holder, key = chance.choice(places)
    value = holder[key]
    match chance.randrange(13):
        case 0 | 1 | 2 | 3:
            holder[key] = copy.deepcopy(chance.choice(_VALUES))
        case 4 if holder is not tree:
            del holder[key]
        case 5:
            other, name = chance.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case 6 if isinstance(holder, dict):
            holder[chance.choice(("x", "", "a\0b", "\ud800", "kind", "format"))] = holder.pop(key)
        case 7 if isinstance(holder, dict):
            name = chance.choice(("x", "", "\ud800", "notes"))
            holder[name] = copy.deepcopy(chance.choice(_VALUES))
        case 8 if isinstance(value, list):
            value.append(copy.deepcopy(chance.choice((*_VALUES, *value[:3]))))
        case 9 if isinstance(value, list) and value:
            value.pop(chance.randrange(len(value)))
        case 10 if isinstance(value, (int, float)) and not isinstance(value, bool):
            by = chance.choice((-1, 0, 0.5, 2, 1e6, 1e300, 1 + 1e-9))
            if abs(value) <= 1e300:  # so that it can be made a number of another type
                ways = (value * by, float(value), int(value), value + by, str(value))
                holder[key] = chance.choice(ways)
        case 11:
            holder[key] = chance.choice(([value], {"a": value}, [value, value]))
        case _:
            if isinstance(value, list):
                chance.shuffle(value)
            else:
                holder[key] = copy.deepcopy(chance.choice(_VALUES))


def damaged_copies(raw, others, count, seed):
    """Bytes, ``count`` times, each by a chance of its own: the number decides it alone.

    Parameters
    ----------
    raw : bytes
        The file.
    others : sequence of bytes
        Files of other kinds, to be taken for this one.
    count, seed : int
    """
    try:
        data = json.loads(raw)
    except ValueError:
        data = None
    for number in range(count):
        chance = random.Random(f"{seed} {number}")
        way = chance.random()
        if way < 0.02 and others:
            yield number, chance.choice(others)
        elif data is not None and way < 0.75:
            yield number, mutate_json(data, chance).encode("utf-8", "surrogatepass")
        else:
            yield number, mutate_bytes(raw, chance)
