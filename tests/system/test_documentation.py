"""Every Python snippet of the README and the documentation runs as written."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import voile

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "```python" in page.read_text(encoding="utf-8")
]

MODULES = [
    module.name
    for module in pkgutil.walk_packages(voile.__path__, "voile.")
    if module.name != "voile.__main__"
] + ["voile"]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_examples_in_docstrings_are_true(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0


def test_some_docstrings_have_examples():
    tried = sum(doctest.testmod(importlib.import_module(module)).attempted for module in MODULES)
    assert tried >= 10


def test_there_are_snippets():
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run_in_order(page, tmp_path):
    """All snippets of a page form one program, run in an empty folder."""
    snippets = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join(snippets), encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
