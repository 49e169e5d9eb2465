"""The public names are a written list, and importing Voile is light."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from source_tree import SOURCE, Module

PUBLIC_NAMES = [
    "Budget",
    "Category",
    "Date",
    "EBMClassifier",
    "EBMRegressor",
    "Federation",
    "GLVQClassifier",
    "GMLVQClassifier",
    "LVQ1Classifier",
    "Ledger",
    "LocallyLinearClassifier",
    "Number",
    "PrivateExplainer",
    "Receipt",
    "Schema",
    "Unit",
    "VoileError",
    "__version__",
    "forecast",
    "hold_out",
    "load",
    "protect",
    "read_table",
    "summarize",
]

HEAVY = {
    "dp_accounting",
    "numba",
    "pandas",
    "plotly",
    "polars",
    "scipy",
    "sklearn",
    "sqlalchemy",
    "statsmodels",
    "torch",
}
"""Libraries that take long to import: loaded when they are needed, not before."""


def read_public_names(module: Module) -> list[str]:
    """The list written as ``__all__``."""
    for node in module.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets):
            return list(ast.literal_eval(node.value))
    return []


def run_python(text: str, folder: Path = SOURCE) -> str:
    done = subprocess.run(
        [sys.executable, "-c", text],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    return done.stdout


def find_heavy_imports(name: str, folder: Path = SOURCE) -> set[str]:
    """The heavy libraries that importing ``name`` in a fresh process brings along."""
    text = f"import sys, {name}; print(*{{one.split('.')[0] for one in sys.modules}})"
    return HEAVY & set(run_python(text, folder).split())


def test_public_names_are_the_written_list():
    init = Module("voile", (SOURCE / "voile/__init__.py").read_text(encoding="utf-8"), True)
    assert sorted(read_public_names(init)) == sorted(PUBLIC_NAMES)


def test_every_public_name_can_be_had_and_is_listed_by_dir():
    text = (
        "import voile; print(*[n for n in voile.__all__ if hasattr(voile, n) and n in dir(voile)])"
    )
    assert sorted(run_python(text).split()) == sorted(PUBLIC_NAMES)


@pytest.mark.parametrize("name", ["voile", "voile.cli.app", "voile.datasets"])
def test_importing_is_light(name):
    assert find_heavy_imports(name) == set()


def test_a_planted_public_name_is_found():
    assert read_public_names(Module("voile", '__all__ = ["Budget", "Extra"]')) == [
        "Budget",
        "Extra",
    ]
    assert read_public_names(Module("voile", '__all__: list[str] = ["A"]')) == ["A"]
    assert read_public_names(Module("voile", "x = 1")) == []


def test_a_planted_heavy_import_is_found(tmp_path):
    (tmp_path / "sqlalchemy.py").write_text("")
    (tmp_path / "weighty.py").write_text("import sqlalchemy\n")
    assert find_heavy_imports("weighty", tmp_path) == {"sqlalchemy"}


def test_packages_are_reached_without_an_import_of_their_own():
    code = "import voile; voile.audit.lower_bound; voile.federated.Federation"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("package", ["voile.audit", "voile.datasets", "voile.federated"])
def test_no_module_hides_a_public_name_of_its_package(package):
    names = import_module(package).__all__
    assert [name for name in names if find_spec(f"{package}.{name}")] == []


def test_importing_reads_no_description_of_a_data_set():
    text = (
        "import voile.datasets; from voile.datasets.stored_set import read_set; "
        "print(read_set.cache_info().currsize)"
    )
    assert run_python(text).strip() == "0"
