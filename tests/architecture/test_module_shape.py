"""Modules are small, say in one sentence what they are, and are named after something."""

import ast
import re

import pytest
from source_tree import Module, find_violations

EMPTY_NAMES = {"base", "common", "helper", "helpers", "misc", "util", "utils"}
MOST_LINES = 400
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")


def find_bad_shape(module: Module) -> list[str]:
    found = []
    last = module.name.split(".")[-1]
    if last.strip("_") in EMPTY_NAMES:
        found.append(f"{module.name}: the name says nothing about what is inside")
    first_line = (ast.get_docstring(module.tree) or "").split("\n")[0]
    if not re.fullmatch(r"[\"'`(]*[A-Z0-9].*[.?!][\"'`)]*", first_line):
        found.append(f"{module.name}: the docstring's first line is no sentence: {first_line!r}")
    lines = module.text.count("\n")
    if lines > MOST_LINES:
        found.append(f"{module.name}: {lines} lines, and {MOST_LINES} are the most")
    found += [
        f"{module.name}:{number} is unfinished"
        for number, line in enumerate(module.text.splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    return found


def test_modules_have_a_good_shape():
    assert find_violations(find_bad_shape) == []


GOOD = '"""What may be spent."""\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("voile.privacy.utils", GOOD),
        ("voile.models.ebm._common", GOOD),
        ("voile.models.base", GOOD),
        ("voile.privacy.budget", ""),
        ("voile.privacy.budget", "x = 1\n"),
        ("voile.privacy.budget", '"""Budget"""\n'),
        ("voile.privacy.budget", '"""lower case."""\n'),
        ("voile.privacy.budget", '"""A sentence that goes on\nin the next line."""\n'),
        ("voile.privacy.budget", GOOD + "x = 1\n" * MOST_LINES),
        ("voile.privacy.budget", GOOD + "x = 1  # TODO: think\n"),
        ("voile.privacy.budget", GOOD + "# FIXME\n"),
    ],
)
def test_a_planted_bad_shape_is_found(name, text):
    assert find_bad_shape(Module(name, text)) != []


def test_a_good_shape_passes():
    assert find_bad_shape(Module("voile.privacy.budget", GOOD + "x = 1\n" * 399)) == []
    assert find_bad_shape(Module("voile.privacy.database", '"""`Book` keeps it.\n\nMore."""')) == []
