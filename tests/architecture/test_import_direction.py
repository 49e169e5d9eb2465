"""Imports point one way, from the command down to the schema."""

import ast
import re

import pytest
from source_tree import Module, find_violations

LAYERS = {
    "schema": set(),
    "privacy": {"schema"},
    "datasets": {"schema"},
    "summary": {"schema", "privacy"},
    "models": {"schema", "privacy"},
    "planning": {"schema", "privacy", "models"},
    "explain": {"schema", "privacy", "summary", "models"},
    "audit": {"schema", "privacy", "summary", "models", "explain", "federated"},
    "federated": {"schema", "privacy", "summary", "models"},
    "report": {"schema", "privacy", "summary", "models", "planning", "explain", "audit"}
    | {"federated"},
    "cli": {"schema", "privacy", "datasets", "summary", "models", "planning", "explain", "audit"}
    | {"federated", "report"},
}
"""Each part of Voile, and the parts it may import besides itself."""

FREE = {"arrays", "codec", "errors", "explaining", "figure_request", "files", "record", "rendering"}
FREE |= {"lazy", "progress", "stored", "strict", "version"}
"""What all may import, and what imports no part of Voile (but each other)."""

NAMES_ABOVE = {"voile.models.load": {"federated"}}
"""Who may name modules of which layers above as text: `load` reads networks, which need torch."""

MODULE_NAME = re.compile(r"voile(\.[a-z_]+)+\.?")


def find_named_modules(module: Module) -> list[str]:
    """Texts that name modules of layers above: whoever imports by them goes around the order."""
    if module.layer in ("", "__main__"):
        return []
    allowed = FREE | LAYERS.get(module.layer, set()) | {module.layer}
    allowed |= NAMES_ABOVE.get(module.name, set())
    wrong = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            target = node.value.split(".")[1] if MODULE_NAME.fullmatch(node.value) else ""
            if target in LAYERS and target not in allowed:
                wrong.append(f"{module.name}:{node.lineno} names {node.value}, which lies above it")
    return wrong


def find_wrong_imports(module: Module) -> list[str]:
    if module.layer in ("", "__main__"):
        return []
    if module.layer not in LAYERS and module.layer not in FREE:
        return [f"{module.name}: '{module.layer}' has no place in the order of the layers"]
    allowed = FREE | LAYERS.get(module.layer, set()) | {module.layer}
    wrong = []
    for one in module.imports:
        parts = one.path.split(".")
        if parts[0] != "voile":
            continue
        target = parts[1] if len(parts) > 1 else ""
        if target not in LAYERS and target not in FREE:
            wrong.append(f"{module.name}:{one.line} imports {one.path}, not the defining module")
        elif target not in allowed:
            wrong.append(f"{module.name}:{one.line} imports {one.path}, which lies above it")
    return wrong


def test_imports_point_one_way():
    assert find_violations(find_wrong_imports) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("voile.schema.column", "from voile.privacy.budget import Budget"),
        ("voile.schema.column", "from ..privacy.budget import Budget"),
        ("voile.privacy.ledger", "import voile.models.ebm"),
        ("voile.privacy.ledger", "from voile import models"),
        ("voile.privacy.ledger", "def f():\n    from voile.summary import summarize"),
        ("voile.privacy.ledger", "importlib.import_module('voile.cli.app')"),
        ("voile.models.ebm.train", "from voile.summary.tables import Summary"),
        ("voile.models.ebm.train", "from voile import Budget"),
        ("voile.models.ebm.train", "import voile"),
        ("voile.federated.client", "from voile.explain.explanation import Explanation"),
        ("voile.report.html", "from voile.cli.app import main"),
        ("voile.errors", "from voile.privacy.budget import Budget"),
        ("voile.attic.things", "x = 1"),
    ],
)
def test_a_planted_wrong_import_is_found(name, text):
    assert find_wrong_imports(Module(name, text)) != []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("voile.privacy.ledger", "from voile.schema import Schema\nfrom .budget import Budget"),
        ("voile.federated.client", "from voile.models.ebm.train import grow"),
        ("voile.cli.demo", "from voile import report\nfrom voile.version import __version__"),
        ("voile.schema.column", "from voile.errors import SchemaError\nimport numpy as np"),
        ("voile", "from voile.cli.app import main"),
    ],
)
def test_right_imports_pass(name, text):
    assert find_wrong_imports(Module(name, text)) == []


def test_no_text_names_a_module_above():
    assert find_violations(find_named_modules) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "voile.rendering",
            "DRAWN_BY = {'LocallyLinearExplanation': 'voile.report.locally_linear.model_page'}",
        ),
        ("voile.explaining", "name = 'voile.explain.ebm.explain'"),
        ("voile.models.ebm.estimator", "def f():\n    return load('voile.report.ebm')"),
        ("voile.privacy.vault", "place = f'voile.models.{name}'"),
        ("voile.models.load", "READERS = ['voile.report.model']"),
    ],
)
def test_a_planted_name_of_a_module_above_is_found(name, text):
    assert find_named_modules(Module(name, text)) != []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("voile", "HOMES = {'load': 'voile.models.load'}"),
        ("voile.audit.trials.catalogue", "FAMILIES = ('voile.audit.trials.ebm',)"),
        ("voile.models.ebm.files", "KIND = 'voile ebm'\nLOG = 'voile.clients'"),
        ("voile.privacy.ledger", "TOLD = 'drawn by voile.report.kit.page'"),
    ],
)
def test_other_texts_pass(name, text):
    assert find_named_modules(Module(name, text)) == []
