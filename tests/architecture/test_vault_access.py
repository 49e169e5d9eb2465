"""Only modules under voile.privacy open the vault or reach the rows behind it."""

import ast

import pytest
from source_tree import Module, find_violations, is_within

OPENER = "open_rows"
ROW_MODULES = ("voile.privacy.sources", "voile.privacy.encode")


def find_vault_access(module: Module) -> list[str]:
    if is_within(module.name, "voile.privacy"):
        return []
    found = set()
    for one in module.imports:
        if one.name == OPENER or any(is_within(one.path, rows) for rows in ROW_MODULES):
            found.add(f"{module.name}:{one.line} imports {one.path}")
        elif one.name == "*" and is_within(one.module, "voile"):
            found.add(f"{module.name}:{one.line} imports everything of {one.module}")
    for path, line in module.dotted_names:
        if any(is_within(path, rows) for rows in ROW_MODULES):
            found.add(f"{module.name}:{line} uses {path}")
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr == OPENER:
            found.add(f"{module.name}:{node.lineno} uses .{OPENER}")
        elif isinstance(node, ast.Constant) and node.value == OPENER:
            found.add(f"{module.name}:{node.lineno} names {OPENER!r}")
    return sorted(found)


def test_only_the_privacy_package_opens_the_vault():
    assert find_violations(find_vault_access) == []


@pytest.mark.parametrize(
    "text",
    [
        "from voile.privacy.vault import open_rows",
        "from voile.privacy.vault import open_rows as look",
        "from voile.privacy import vault\nvault.open_rows(table)",
        "from voile.privacy.vault import *",
        "import voile.privacy.vault as v\ngetattr(v, 'open_rows')",
        "from voile.privacy.sources.memory import MemorySource",
        "from voile.privacy import sources",
        "from ..privacy.sources import memory",
        "import voile.privacy\nvoile.privacy.encode.encode_table",
        "from voile.privacy.encode import encode_table",
        "import importlib\nimportlib.import_module('voile.privacy.sources')",
    ],
)
def test_planted_access_is_found(text):
    assert find_vault_access(Module("voile.summary.tables", text)) != []
    assert find_vault_access(Module("voile.privacy.mechanisms", text)) == []


def test_the_public_side_of_the_vault_passes():
    text = "from voile.privacy.vault import PrivateTable, protect\nfrom voile.privacy import ledger"
    assert find_vault_access(Module("voile.summary.tables", text)) == []
