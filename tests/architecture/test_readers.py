"""Every function that reads what others wrote is among those that damaged files are tried on."""

import ast

import pytest
from reader_table import READERS
from source_tree import Module, find_violations, read_modules

NAMES = {"from_dict", "from_json", "from_yaml", "from_bytes", "load_estimator"}
"""Functions of these names read; so do public ones called ``load`` or ``read`` that take a path.

And so do classes that the codec reads."""

PARSERS = {"json.loads", "json.load", "yaml.safe_load", "np.load"}
"""Whoever calls one of these reads, too."""

ELSEWHERE = {
    "voile.codec": "reads for all others",
    "voile.strict": "reads for all others",
    "voile.audit.runs": "runs of an audit that it wrote itself; its tests damage them",
    "voile.cli.schema": "asks YAML for the name in a line that it wrote itself",
    "voile.datasets.stored_files": "files of known digests",
    "voile.datasets.stored_set": "descriptions of sets, files of this package",
    "voile.explain.blackbox.answers.answer": "answers in a ledger",
    "voile.explain.blackbox.synthetic.summary": "summaries in a ledger",
    "voile.federated.flower.resident": "the order of the process that started it",
    "voile.privacy.ledger.answers": "answers in a ledger",
    "voile.privacy.ledger.job_lines": "federated jobs in a ledger; its tests damage them",
    "voile.privacy.ledger.sql": "the ledger itself",
    "voile.privacy.signing": "private keys of the house itself; its tests damage them",
    "voile.report.kit.theme": "colours and looks of figures, files of this package",
    "voile.schema.yaml_text": "schemas, through Schema",
    "voile.models.networks.per_example_engine": "weights in memory",
}
"""Modules whose reading is not in the table, and why."""


def find_readers(module):
    """Dotted names of the functions of a module that read what others wrote."""
    found = []

    def visit(node, prefix):
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.ClassDef):
                if any(ast.unparse(base).split("[")[0] == "Readable" for base in one.bases):
                    found.append(f"{prefix}.{one.name}")
                visit(one, f"{prefix}.{one.name}")
            elif isinstance(one, ast.FunctionDef):
                path = [arg.arg for arg in one.args.args if arg.arg not in ("self", "cls")][:1]
                opens = one.name in ("load", "read") and path == ["path"]
                if one.name in NAMES or opens or _parses(one):
                    found.append(f"{prefix}.{one.name}")

    visit(module.tree, module.name)
    return found


def _parses(function):
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(ast.unparse(call.func) in PARSERS for call in calls)


COVERED = {name for reader in READERS.values() for name in reader.reads}


def is_covered(name, module):
    # A class in the table covers its methods.
    parts = name.split(".")
    ways = {".".join(parts[:length]) for length in range(2, len(parts) + 1)}
    return bool(ways & COVERED) or module.name in ELSEWHERE


def find_uncovered(module):
    return [name for name in find_readers(module) if not is_covered(name, module)]


def test_every_reader_is_in_the_table():
    assert find_violations(find_uncovered) == [], "add them to tests/system/reader_table.py"


def test_what_the_table_names_is_there():
    there = {name for module in read_modules() for name in _everything(module)}
    assert there >= COVERED
    assert {module.name for module in read_modules()} >= set(ELSEWHERE)


def _everything(module):
    names = []

    def visit(node, prefix):
        for one in ast.iter_child_nodes(node):
            if isinstance(one, (ast.ClassDef, ast.FunctionDef)):
                names.append(f"{prefix}.{one.name}")
                visit(one, f"{prefix}.{one.name}")

    visit(module.tree, module.name)
    return names


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    @classmethod\n    def from_dict(cls, data): ...",
        "class A(Record, Readable): ...",
        "def load(path): ...",
        "def peek(text):\n    return json.loads(text)",
    ],
)
def test_a_planted_reader_is_found(text):
    assert find_uncovered(Module("voile.models.new", text))
