"""YAML as people read it: a strict reader, and a writer of letters instead of escapes.

YAML 1.1 reads more than it seems to: 01067 is the number 567, 12:30 is 750, and "no" is false. What
stands in a schema must mean what it looks like, so whatever is read otherwise needs quotes; so does
what only looks like a number (08123, 1e3), or else one more code would change how the others are
read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from voile.errors import SchemaError
from voile.strict import MOST_DEEP

_TAG = "tag:yaml.org,2002:"
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)?\.[0-9]*([eE][-+][0-9]+)?|[-+]?\.(inf|nan)", re.I)
_LIKE_NUMBER = re.compile(
    r"[-+]?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?"
    r"|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+"
)
"""Numbers to some reader of YAML or to a person."""
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}


def read_yaml(text: str) -> object:
    """Read YAML by the safe loader, after checking what that loader lets pass.

    Raises
    ------
    SchemaError
        If the text is no YAML, or means something else than it seems to.
    """
    try:
        return _read(text)
    except SchemaError:
        raise
    except yaml.reader.ReaderError as error:
        raise SchemaError(
            f"The schema is not valid YAML: its character {error.position + 1} is none of a text. "
            "Remove it."
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        where = _place(getattr(error, "problem_mark", None))
        raise SchemaError(
            f"The schema is not valid YAML: it cannot be read{where}. Check indentation (no tabs), "
            "colons, quotes and brackets there, and dates."
        ) from error


def write_yaml(data: Mapping[str, Any]) -> str:
    """Write a dictionary as YAML, ending in a line break."""
    return yaml.dump(
        dict(data),
        Dumper=_Writer,
        sort_keys=False,
        default_flow_style=None,
        width=100,
        allow_unicode=True,
    )


def _read(text: str) -> object:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        # Here, where nothing is built yet: the loader needs minutes for thousands of brackets.
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_DEEP:
            raise SchemaError("The schema is nested too deeply: write it as columns and levels.")
        if isinstance(event, yaml.AliasEvent):
            raise SchemaError(
                f"The schema uses a YAML alias{_place(event.start_mark)}: write the value out."
            )
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None:
        _refuse_what_misleads(root)
    return yaml.safe_load(text)


def _refuse_what_misleads(root: yaml.Node) -> None:
    """Refuse what the loader would read in silence, and otherwise than it was meant.

    Of a key that stands twice it would keep the last. Dates and empty values mean something as
    bounds, but are no levels.
    """
    nodes: list[tuple[yaml.Node, bool]] = [(root, False)]
    while nodes:
        node, of_levels = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[tuple[str, str]] = set()
            for key, _ in node.value:
                identity = (key.tag, str(key.value))
                if identity in seen:
                    raise SchemaError(
                        f"The schema says {key.value!r} twice{_place(key.start_mark)}: keep one."
                    )
                seen.add(identity)
            for key, value in reversed(node.value):
                nodes += [(value, key.value == "levels"), (key, False)]
        elif isinstance(node, yaml.SequenceNode):
            nodes += [(one, of_levels) for one in reversed(node.value)]
        elif isinstance(node, yaml.ScalarNode):
            _refuse_scalar(node, of_levels=of_levels)


def _refuse_scalar(node: yaml.ScalarNode, *, of_levels: bool) -> None:
    """Refuse one text, number or truth value that is not what it looks like."""
    text, kind = str(node.value), node.tag.removeprefix(_TAG)
    read = {
        "bool": "" if text.lower() in ("true", "false") else "true or false",
        "int": "" if _WHOLE.fullmatch(text) else "another number",
        "float": "" if _FRACTION.fullmatch(text) else "another number",
        "str": "text" if node.style is None and _LIKE_NUMBER.fullmatch(text) else "",
        "timestamp": "a date" if of_levels else "",
        "null": "nothing" if of_levels else "",
        "merge": "an order to merge",
        "value": "an order",
    }.get(kind, "")
    if not read:
        return
    if kind == "null" and not text:
        raise SchemaError(
            f"The schema has a level without a text{_place(node.start_mark)}: write it, or leave "
            "it out. Missing values need no level."
        )
    remedy = f'write "{text}" for the word'
    if kind == "bool":
        remedy += ", or true or false"
    elif kind == "timestamp":
        remedy = f'write "{text}" in quotes, or kind: date for a column of dates'
    elif kind in ("int", "float", "str"):
        remedy = f'write "{text}" in quotes, or a number as 1067 or 12.5'
    raise SchemaError(
        f"The schema says {text} without quotes{_place(node.start_mark)}, which YAML reads as "
        f"{read}: {remedy}."
    )


def _place(mark: Any) -> str:
    """Say where in a YAML text something is."""
    return "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"


class _Writer(yaml.SafeDumper):
    """Writes letters of all scripts as they are, and escapes what cannot be seen."""

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Write a text in quotes; the usual one escapes its umlauts, or shows what controls."""
        self.write_indicator(f'"{"".join(map(_escaped, text))}"', True)


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    number = ord(letter)
    if number <= 0xFF:
        return f"\\x{number:02X}"
    return f"\\u{number:04X}" if number <= 0xFFFF else f"\\U{number:08X}"


def _write_text(writer: _Writer, text: str) -> yaml.Node:
    plain = text.isprintable() and not _LIKE_NUMBER.fullmatch(text)
    return writer.represent_scalar(f"{_TAG}str", text, style=None if plain else '"')


_Writer.add_representer(str, _write_text)
